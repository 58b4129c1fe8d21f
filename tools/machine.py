"""What a measurement was made on, as `make bench` records it."""

import os
import platform
from datetime import date
from pathlib import Path


def describe():
    """Describe the machine, without its name, and how busy it is."""
    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        processor = next((x.split(":")[1].strip() for x in lines if "model name" in x), processor)
    return {
        "date": str(date.today()),
        "processor": processor,
        "cores": os.cpu_count(),
        "load": [round(load, 1) for load in os.getloadavg()] if hasattr(os, "getloadavg") else [],
        "system": platform.system(),
    }
