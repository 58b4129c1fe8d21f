"""The small numpy decoder computes the same as the torch model, and keeps the laws."""

import numpy as np
import pytest
import torch

from posenc import checks
from posenc.book import experiments, tiny
from posenc.book.experiments import Settings


@pytest.mark.parametrize("encoding", tiny.ENCODINGS)
def test_a_decoder_is_torchs_and_keeps_the_laws(encoding):
    model = experiments.init_model(Settings(encoding=encoding, causal=True), 3)
    with (
        torch.no_grad()
    ):  # avoid weights of 1 and biases of 0, and make some rows short
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
        model.words.weight *= 0.05
    weights = {
        name: weight.detach().numpy() for name, weight in model.named_parameters()
    }
    made = tiny.initial_weights(0)
    assert {n: w.shape for n, w in weights.items()} == {n: made[n].shape for n in made}
    decoder, tokens = tiny.Decoder(weights, encoding), np.arange(27).reshape(3, 9) % 11
    expected = model(torch.from_numpy(tokens), torch.arange(9)).detach()
    np.testing.assert_allclose(decoder.full(tokens), expected, rtol=0, atol=2e-5)
    _, cache = decoder.step(tokens[:, :4])
    last, _ = decoder.step(tokens[:, 4:], cache)  # positions continue from the cache
    np.testing.assert_allclose(last, expected[:, 4:], rtol=0, atol=2e-5)
    relative = encoding != "sinusoidal"
    decoder = tiny.Decoder(made, encoding)
    checks.check_decoder(
        decoder.full, decoder.step, relative=relative
    ).raise_if_failed()


def test_a_start_is_drawn_as_torch_draws_it():
    weights = tiny.initial_weights(7)
    for name in ("layers.0.attention.to_qkv", "layers.1.mlp.3"):
        drawn = weights[f"{name}.weight"] * weights[f"{name}.weight"].shape[1] ** 0.5
        assert 0.99 < min(drawn.max(), -drawn.min()) <= np.abs(drawn).max() <= 1
    assert weights["words.weight"].std() == pytest.approx(1, abs=0.1)
    with pytest.raises(
        ValueError, match="must be one of none, sinusoidal, rotary, ALiBi"
    ):
        tiny.Decoder(weights, "rope")
