"""A user's code, for mypy: what functions take and return."""

import numpy as np
import torch
from numpy.typing import NDArray

import posenc
from posenc import nn

table: NDArray[np.float64] = posenc.angular_frequencies(8)
slopes: NDArray[np.float32] = posenc.alibi_slopes(8)

x = torch.zeros(2, 3, 5, 8)
turns: tuple[torch.Tensor, torch.Tensor] = nn.rotary_turns(torch.arange(5), 8)
turned: torch.Tensor = nn.rotate_pairs(x, turns=turns, dtype=torch.float32)
rows: torch.Tensor = nn.SinusoidalPositionalEncoding(8, device="cpu")(turned[0])

# Layers of a configuration take tensors and arrays, and return the same.
layers = posenc.read_config({"model_type": "llama", "head_dim": 8}).layers[0]
their_turns: tuple[torch.Tensor, torch.Tensor] = layers.turns(torch.arange(5))
their_rows: torch.Tensor = layers.rotate(x, their_turns, seq_dim=-2)
cos: NDArray[np.float32] = layers.turns([0, 1])[0]
