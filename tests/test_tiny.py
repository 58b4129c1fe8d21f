"""The small transformer in numpy: its arithmetic is that of the torch model."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from posenc import experiments, tiny
from posenc.experiments import Settings


def both(encoding, seq_len=11):
    """The weights of a torch model, for both; sequences; scores and gradients of torch."""
    model = experiments.start(Settings(encoding=encoding), 3)
    with torch.no_grad():  # no weight stays 1 and no bias 0, and some rows are short
        for weight in model.parameters():
            weight += 0.1 * torch.randn_like(weight)
        model.words.weight *= 0.05
    weights = {n: w.detach().numpy().copy() for n, w in model.named_parameters()}
    tokens, answers = tiny.order(np.random.default_rng(0), 16, seq_len)
    scores = model(torch.from_numpy(tokens), torch.arange(seq_len))[:, -1]
    return model, weights, tokens, answers, scores


@pytest.mark.parametrize("encoding", tiny.ENCODINGS)
def test_scores_and_gradients_are_torchs(encoding):
    model, weights, tokens, answers, scores = both(encoding)
    way = tiny.Pass(weights, tokens, encoding)
    np.testing.assert_allclose(way.scores, scores.detach(), rtol=0, atol=2e-5)
    loss = F.cross_entropy(scores, torch.from_numpy(answers))
    assert way.loss(answers) == pytest.approx(loss.item(), abs=1e-5)
    loss.backward()
    found = way.gradients(answers)
    assert found.keys() == weights.keys() == tiny.initial_weights(0).keys()
    for name, weight in model.named_parameters():
        assert tiny.initial_weights(0)[name].shape == weight.shape
        np.testing.assert_allclose(found[name], weight.grad, rtol=0, atol=2e-5, err_msg=name)


def test_steps_are_torchs():
    weights, rng = tiny.initial_weights(0), np.random.default_rng(0)
    others = {name: torch.tensor(weight, requires_grad=True) for name, weight in weights.items()}
    adam, other = tiny.Adam(weights, 3e-3), torch.optim.Adam(others.values(), lr=3e-3)
    for factor in (1, 0.5, 0.25):
        sizes = {name: 10.0 ** rng.integers(-9, 1) for name in weights}
        gradients = {
            name: rng.normal(0, sizes[name], weight.shape).astype(np.float32)
            for name, weight in weights.items()
        }
        adam.step(gradients, factor)
        other.param_groups[0]["lr"] = 3e-3 * factor
        for name, gradient in gradients.items():
            others[name].grad = torch.from_numpy(gradient)
        other.step()
    for name, weight in others.items():
        np.testing.assert_allclose(weights[name], weight.detach(), rtol=0, atol=1e-6)


def test_the_question_is_asked_as_in_the_experiments():
    tokens, answers = tiny.order(np.random.default_rng(0), 500, 9)
    places = [(tokens == letter).argmax(axis=1) for letter in (tiny.A, tiny.B)]
    assert np.array_equal(places[0] < places[1], answers)
    for letter in (tiny.A, tiny.B, tiny.QUESTION):
        assert ((tokens == letter).sum(axis=1) == 1).all()
    assert (tokens[:, -1] == tiny.QUESTION).all()
    assert 0.4 < answers.mean() < 0.6
    names = ("A", "B", "QUESTION", "WIDTH", "HEADS")
    assert [getattr(tiny, n) for n in names] == [getattr(experiments, n) for n in names]
    assert len(experiments.LETTERS) == tiny.VOCABULARY


def test_shares_add_to_one_however_large_the_scores():
    scores = np.array([[1000, 0], [0, 0]], np.float32)
    assert tiny.softmax(scores).tolist() == [[1, 0], [0.5, 0.5]]


def test_a_start_is_drawn_as_torch_draws_it():
    weights = tiny.initial_weights(7)
    words = np.random.default_rng(7).normal(size=(tiny.VOCABULARY, tiny.WIDTH))
    np.testing.assert_array_equal(weights["words.weight"], words.astype(np.float32))
    for name in ("layers.0.attention.to_qkv", "layers.1.mlp.3"):
        reach = weights[f"{name}.weight"].shape[1] ** -0.5
        for drawn in (weights[f"{name}.weight"], -weights[f"{name}.weight"]):
            assert 0.99 * reach < drawn.max() <= reach


@pytest.fixture
def asked(monkeypatch):
    """The sequences that are drawn from here on."""
    drawn = []

    def order(rng, count, seq_len, *, draw=tiny.order):
        tokens, answers = draw(rng, count, seq_len)
        drawn.append(tokens)
        return tokens, answers

    monkeypatch.setattr(tiny, "order", order)
    return drawn


def test_a_seed_decides_the_start_and_the_sequences(asked):
    found = tiny.train("none", 7, seq_len=5, steps=2)
    weights, rng = tiny.initial_weights(7), np.random.default_rng(1_000_007)
    adam = tiny.Adam(weights, 3e-3)
    for number, factor in enumerate((1, 0.5)):
        tokens, answers = tiny.order(rng, 16, 5)
        np.testing.assert_array_equal(asked[number], tokens)
        adam.step(tiny.Pass(weights, tokens, "none").gradients(answers), factor)
    for name, weight in weights.items():
        np.testing.assert_array_equal(found[name], weight, err_msg=name)


def test_no_model_is_trained_on_the_sequences_of_the_test(asked):
    tiny.accuracy(tiny.initial_weights(0), "none", 6)
    tokens, _ = tiny.order(np.random.default_rng(2_000_006), 200, 6)
    np.testing.assert_array_equal(asked[0], tokens)


def test_training_takes_240_steps_unless_told_otherwise(asked):
    tiny.train("none", seq_len=3)
    first, _ = tiny.order(np.random.default_rng(1_000_000), 16, 3)
    np.testing.assert_array_equal(asked[0], first)
    assert len(asked[:-1]) == 240
    asked.clear()
    list(tiny.compare(["none"], [3], [0], seq_len=4))
    assert [tokens.shape for tokens in asked] == [(16, 4)] * 240 + [(200, 3)]


def test_order_is_learned_by_a_model_that_is_told_it():
    assert tiny.accuracy(tiny.train("sinusoidal"), "sinusoidal", 16) > 0.95
    assert 0.4 < tiny.accuracy(tiny.train("none", steps=60), "none", 16) < 0.65


def test_a_comparison_names_the_middle_and_the_spread():
    head, line = tiny.compare(["ALiBi"], [8, 12], [0, 1, 2], steps=3)
    assert head.split() == ["length", "8", "length", "12"]
    assert head.index("length 12") == line.index(".", line.index(")")) - 1  # above its column
    assert line.startswith("ALiBi")
    found = sorted(tiny.accuracy(tiny.train("ALiBi", s, steps=3), "ALiBi", 8) for s in range(3))
    assert f" {found[1]:.2f} ({found[0]:.2f}–{found[2]:.2f}) " in line


def test_an_unknown_encoding_is_named():
    with pytest.raises(ValueError, match="must be one of none, sinusoidal, rotary, ALiBi"):
        tiny.train("rope")


def test_a_sequence_has_room_for_both_letters_and_the_question():
    assert tiny.train("none", seq_len=3, steps=1)
    with pytest.raises(ValueError, match="seq_len must be at least 3, got 2"):
        next(line for line in tiny.compare(["none"], [2], [0], steps=0) if "none" in line)
