"""Sinusoidal positional encoding: code shared by several chapters of the book.

The functions here need only numpy. `posenc.nn` has the torch module and `posenc.plots` the plot
helpers; import them explicitly.
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
