"""The small numpy decoder, which readers break: whole, it reads as in steps."""

import numpy as np
import pytest

from posenc import checks
from posenc.book import tiny


@pytest.mark.parametrize("encoding", ["rotary", "sinusoidal"])
def test_the_decoder_keeps_the_laws_and_a_step_that_forgets_its_offset_does_not(
    encoding,
):
    decoder = tiny.Decoder(tiny.initial_weights(0), encoding)
    relative = encoding == "rotary"
    report = checks.check_decoder(decoder.full, decoder.step, relative=relative)
    report.raise_if_failed()

    def forgets(tokens, cache):
        start = np.broadcast_to(np.arange(tokens.shape[1]), tokens.shape)
        return decoder.step(tokens, cache, positions=start)

    report = checks.check_decoder(decoder.full, forgets, relative=relative)
    assert "steps" in report.failed


def test_order_counts_and_later_words_do_not():
    decoder = tiny.Decoder(tiny.initial_weights(0))
    tokens = np.array([[1, 2, 3, 4], [2, 1, 3, 5]])
    scores = decoder.full(tokens)
    assert scores.shape == (2, 4, tiny.ANSWERS)
    assert np.abs(scores[0, 2] - scores[1, 2]).max() > 0.01
    alone = decoder.full(tokens[:, :2])
    np.testing.assert_allclose(scores[:, :2], alone, rtol=0, atol=1e-5)
