"""Positional encodings: functions in numpy, and modules to import where you need them.

For any project: `posenc.nn` (torch), `posenc.config` (reads `config.json`) and `posenc.checks`
(tests an implementation). `posenc.book` holds what only the book uses.
"""

from posenc.config import read_config
from posenc.encoding import (
    angular_frequencies,
    binary_encoding,
    offset_kernel,
    shift_matrix,
    sinusoidal_encoding,
    wavelengths,
)
from posenc.rotary import rotary_frequencies

__all__ = [
    "angular_frequencies",
    "binary_encoding",
    "offset_kernel",
    "read_config",
    "rotary_frequencies",
    "shift_matrix",
    "sinusoidal_encoding",
    "wavelengths",
]
