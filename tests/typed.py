"""A user's code, for mypy and pyright: what functions take and return."""

import numpy as np
import torch
from numpy.typing import NDArray

import posenc
from posenc import nn

layers = posenc.read_config({"model_type": "llama", "head_dim": 8}).layers[0]
x, k = torch.zeros(2, 3, 5, 8), torch.arange(5)
turns: tuple[torch.Tensor, torch.Tensor] = layers.turns(k)
turned: torch.Tensor = layers.rotate(x, turns, seq_dim=-2)
again: torch.Tensor = nn.rotate_pairs(
    x, turns=nn.rotary_turns(k, 8), dtype=torch.float32
)
rows: torch.Tensor = nn.SinusoidalPositionalEncoding(8, device="cpu")(again[0])
table: NDArray[np.float64] = posenc.angular_frequencies(8)
cos: NDArray[np.float32] = layers.turns([0, 1])[0]
query: NDArray[np.float32] = posenc.rotate_pairs(
    np.ones((5, 8)), [0, 1, 2, 3, 4], pairing="halves"
)
biases: NDArray[np.float32] = posenc.alibi_bias(4, [7], keys=np.arange(8))
version: str = posenc.__version__
