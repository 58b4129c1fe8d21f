"""A user's code, for mypy: what functions take and return."""

import numpy as np
import torch
from numpy.typing import NDArray

from posenc import angular_frequencies, nn, read_config

Turns = tuple[torch.Tensor, torch.Tensor]
frequencies: NDArray[np.float64] = angular_frequencies(8)

x = torch.zeros(2, 5, 8)
k = torch.arange(5)
turns: Turns = nn.rotary_turns(k, 8)
turned: torch.Tensor = nn.rotate_pairs(x, turns=turns)

# Layers of a configuration take tensors and arrays, and return the same.
config = {"model_type": "llama", "head_dim": 8}
layers = read_config(config).layers[0]
their_turns: Turns = layers.turns(k)
their_rows: torch.Tensor = layers.rotate(x, their_turns)
cos: NDArray[np.float32] = layers.turns([0, 1])[0]
