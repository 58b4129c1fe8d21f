"""A sample of what is slow to test; CI tests all of it weekly."""

import os


def some(of, always=(), one_in=6):
    """All of these with WHOLE=1, as CI sets weekly; otherwise a sample, and those named."""
    whole = os.environ.get("WHOLE")
    return [each for n, each in enumerate(of) if whole or n % one_in == 0 or each in always]
