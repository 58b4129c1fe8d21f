"""The small numpy transformer computes the same as the torch model."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from posenc import checks
from posenc.book import experiments, tiny
from posenc.book.experiments import Settings


@pytest.mark.parametrize("encoding", tiny.ENCODINGS)
def test_scores_and_gradients_are_torchs(encoding):
    model = experiments.init_model(Settings(encoding=encoding), 3)
    with torch.no_grad():  # avoid weights of 1 and biases of 0, and make some rows short
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
        model.words.weight *= 0.05
    named = dict(model.named_parameters())
    weights = {name: weight.detach().numpy().copy() for name, weight in named.items()}
    made = tiny.initial_weights(0)
    assert {n: w.shape for n, w in weights.items()} == {n: made[n].shape for n in made}
    tokens, answers = tiny.order(np.random.default_rng(0), 16, 11)
    scores = model(torch.from_numpy(tokens), torch.arange(11))[:, -1]
    loss = F.cross_entropy(scores, torch.tensor(answers))
    ours = tiny.Pass(weights, tokens, encoding)
    np.testing.assert_allclose(ours.scores, scores.detach(), rtol=0, atol=2e-5)
    assert ours.loss(answers) == pytest.approx(loss.item(), abs=1e-5)
    loss.backward()
    gradients = ours.gradients(answers)
    for name, weight in named.items():
        np.testing.assert_allclose(gradients[name], weight.grad, rtol=0, atol=2e-5, err_msg=name)


def test_steps_are_torchs():
    model = experiments.init_model(Settings(encoding="ALiBi"), 0)
    start = {name: torch.from_numpy(each) for name, each in tiny.initial_weights(7).items()}
    model.load_state_dict(start)
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    decay = torch.optim.lr_scheduler.LinearLR(optimizer, 1, 0, 9)
    rng = np.random.default_rng(1_000_007)
    for _ in range(9):
        tokens, answers = map(torch.from_numpy, tiny.order(rng, 16, 8))
        optimizer.zero_grad()
        F.cross_entropy(model(tokens, torch.arange(8))[:, -1], answers).backward()
        optimizer.step()
        decay.step()
    found = tiny.train("ALiBi", 7, seq_len=8, steps=9)
    for name, weight in model.named_parameters():
        # Scores don't depend on the biases of keys: their gradients are rounding.
        close = 1e-3 if name.endswith("to_qkv.bias") else 1e-5
        np.testing.assert_allclose(found[name], weight.detach(), rtol=0, atol=close, err_msg=name)


@pytest.mark.parametrize("encoding", tiny.ENCODINGS)
def test_a_decoder_keeps_the_laws(encoding):
    decoder = tiny.Decoder(tiny.train(encoding, steps=5), encoding)
    relative = encoding != "sinusoidal"
    checks.check_decoder(decoder.full, decoder.step, relative=relative).raise_if_failed()
    tokens, _ = tiny.order(np.random.default_rng(0), 3, 9)
    causal = experiments.init_model(Settings(encoding=encoding, causal=True), 0)
    given = {name: torch.from_numpy(each) for name, each in decoder.model.weights.items()}
    there = torch.func.functional_call(causal, given, (torch.from_numpy(tokens), torch.arange(9)))
    np.testing.assert_allclose(decoder.full(tokens), there.detach(), rtol=0, atol=2e-5)
    _, cache = decoder.step(tokens[:, :4])
    last, _ = decoder.step(tokens[:, 4:], cache)  # positions continue from the cache
    np.testing.assert_allclose(last, there[:, 4:].detach(), rtol=0, atol=2e-5)


def test_the_question_is_asked_as_in_the_experiments():
    tokens, answers = tiny.order(np.random.default_rng(0), 500, 9)
    a, b = ((tokens == letter).argmax(axis=1) for letter in (tiny.A, tiny.B))
    assert np.array_equal(a < b, answers)
    assert {*a, *b} == {*range(8)}
    assert 0.4 < answers.mean() < 0.6
    assert (tokens[:, -1] == tiny.QUESTION).all()
    assert ((tokens >= 8).sum(axis=1) == 3).all()
    with pytest.raises(ValueError, match="seq_len must be at least 3, got 2"):
        tiny.train("none", seq_len=2)
    with pytest.raises(ValueError, match="must be one of none, sinusoidal, rotary, ALiBi"):
        tiny.train("rope")


def test_a_start_is_drawn_as_torch_draws_it():
    weights = tiny.initial_weights(7)
    for name in ("layers.0.attention.to_qkv", "layers.1.mlp.3"):
        drawn = weights[f"{name}.weight"] * weights[f"{name}.weight"].shape[1] ** 0.5
        assert 0.99 < min(drawn.max(), -drawn.min()) <= np.abs(drawn).max() <= 1
    assert weights["words.weight"].std() == pytest.approx(1, abs=0.1)
    large = np.array([[1000, 0], [0, 0]], np.float32)
    assert tiny.softmax(large).tolist() == [[1, 0], [0.5, 0.5]]


def test_a_comparison_names_the_middle_and_the_spread():
    head, line = tiny.compare(["ALiBi"], [12, 8], [0, 1, 2], seq_len=9, steps=3)
    assert head.split() == ["length", "12", "length", "8"]
    assert head.index("length 8") == line.index(".", line.index(")")) - 1  # above its column
    models = [tiny.train("ALiBi", seed, seq_len=9, steps=3) for seed in range(3)]
    found = sorted(tiny.accuracy(model, "ALiBi", 12) for model in models)
    assert line.startswith(f"ALiBi       {found[1]:.2f} ({found[0]:.2f}–{found[2]:.2f}) ")
    assert tiny.accuracy(tiny.train("sinusoidal"), "sinusoidal", 16) > 0.95
