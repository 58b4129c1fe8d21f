"""Positional encodings: functions in numpy, and modules to import where you need them.

For any project: `posenc.nn` (torch), `posenc.config` (reads `config.json`) and `posenc.checks`
(tests an implementation). `posenc.book` holds what only the book uses.
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
from posenc.rotary import rotary_frequencies

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
