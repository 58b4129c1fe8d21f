"""Sinusoidal positional encoding: the code that more than one chapter of the book needs.

The functions here need numpy alone. The torch module is `posenc.nn`, the plot helpers are
`posenc.plots`; both are imported when they are used.
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
