"""Positional encodings: tables, rotations and biases in numpy.

`posenc.nn` has them for torch, `posenc.config` reads a model's ``config.json``, `posenc.checks`
tests an implementation. `posenc.book` is for the book alone, and changes with it.
"""

from posenc.attention import (
    alibi_bias,
    alibi_slopes,
    rotary_turns,
    rotate_pairs,
    t5_buckets,
)
from posenc.config import read_config
from posenc.encoding import (
    angular_frequencies,
    binary_encoding,
    offset_kernel,
    shift_matrix,
    sinusoidal_encoding,
    wavelengths,
)
from posenc.scaling import rotary_frequencies

__all__ = [
    "__version__",
    "alibi_bias",
    "alibi_slopes",
    "angular_frequencies",
    "binary_encoding",
    "offset_kernel",
    "read_config",
    "rotary_frequencies",
    "rotary_turns",
    "rotate_pairs",
    "shift_matrix",
    "sinusoidal_encoding",
    "t5_buckets",
    "wavelengths",
]
__version__ = "1.0.0"
