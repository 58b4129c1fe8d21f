"""Biases of scores, such as ALiBi's: how they are called, asked, and explained.

`Bias.square` calls the code, and returns (heads, query, key) whatever shape it has; each law
compares two of these, or two parts of one. A cause is the right bias with one thing changed, which
is measured in each trial that fails; `Bias.changes` has them in the order that they are tried.
"""

from functools import partial
from typing import Any

import numpy as np

from posenc._validate import check_choice
from posenc.attention import alibi_bias, alibi_slopes
from posenc.checks.trials import (
    Mistakes,
    Raised,
    Skip,
    Subject,
    Trial,
    Trials,
    WrongShape,
    floats,
    matching,
    user,
)
from posenc.conventions import UNIT, Floats

LENGTH = 24  # of the sequence that most laws ask for
LONG = 300  # beyond T5's last bucket, which begins at 128
MASKED = "if a mask hides later keys, pass causal=True"
ALIBI = (
    "; ALiBi's slopes are 2^(-8h/n), h from 1 on, every other one of 2n beyond a power of two; its "
    "distances have no sign (exhibit H: notebooks/16_batches_and_caches.html#exhibit-h)"
)


class Ended(WrongShape):
    """A bias has fewer rows than were asked for, as a slice of a table has."""


class Bias(Subject):
    """A function seq_len → (seq_len, seq_len) or (heads, seq_len, seq_len), query by key."""

    kind = "bias"
    usage = "`bias(seq_len)`"

    def __init__(
        self, bias: Any, causal: bool = False, expected: Any = "alibi"
    ) -> None:
        super().__init__(bias)
        self.causal, self.expected = causal, expected
        if expected is not None and not callable(expected):
            check_choice("expected, unless a function,", expected, ("alibi",))

    def prepare(self) -> None:
        """Call what is expected: what is wrong with it isn't said of the bias."""
        if callable(self.expected):
            self.square(make=self.expected)

    def square(self, seq_len: int = LENGTH, make: Any = None) -> Floats:
        """Return the bias, (heads, query, key), in float64.

        Under a causal mask, one row may serve all queries; and it is less each row's diagonal,
        since a softmax ignores a constant of a row, and 0 where it is hidden.
        """
        # Whole numbers are as good; what is hidden may be infinite.
        bias = floats(user(make or self.subject, seq_len), finite=False)
        rows = 1 if self.causal and bias.shape[-2:-1] == (1,) else seq_len
        # In front may be heads, and a batch of length 1.
        batch = np.prod(bias.shape[:-3])
        if not bias.size or batch != 1 or bias.shape[-2:] != (rows, seq_len):
            what = f"a bias of shape {bias.shape} for {(seq_len, seq_len)}"
            is_shorter = max(bias.shape[-2:], default=0) < seq_len
            raise Ended(what) if is_shorter else WrongShape(what)
        bias = np.repeat(bias.reshape(-1, rows, seq_len), seq_len // rows, axis=1)
        if self.causal:
            with np.errstate(invalid="ignore"):  # an infinite diagonal is told below
                bias = np.tril(bias - bias.diagonal(axis1=1, axis2=2)[..., None])
        return floats(bias)

    def described(self) -> tuple[None, str]:
        """Say for how many heads ALiBi's slopes are, which the code alone tells."""
        heads = len(self.square())
        is_alibi = self.expected == "alibi"
        return None, f"compared with ALiBi of {heads} heads" if is_alibi else ""

    def trial(self, words: str, given: Floats, meant: Floats) -> Trial:
        """Compare biases: a slope and a product are rounded, on both sides."""
        bound = 4 * UNIT * float(np.abs(meant).max())
        return Trial(words, given, meant, bound, ("head", "query", "key"))

    def explain(self, trials: list[Trial]) -> str:
        """Return which changes of the right bias give the trials that fail, or ""."""
        texts = [
            next(matching(trial, self.changes(trial, trials[-1].meant)), "")
            for trial in trials
            if trial.worst > 1
        ]
        if not all(texts):  # nothing gives one of the trials
            return ""
        if not self.causal:
            texts.append(MASKED)
        return "; ".join(dict.fromkeys(texts))

    def changes(self, trial: Trial, longest: Floats) -> Mistakes:
        """Exchange heads of the right bias; multiply each; change rows or offsets.

        Beside ALiBi's for two heads, a bonus is -1, -1 times that, and slopes of 1/2 and 1/4, for
        1/16 and 1/256, are 8, 64 times that.
        """
        given, right = trial.given, trial.meant
        heads = [int(np.abs(right - head).max(axis=(1, 2)).argmin()) for head in given]
        yield f"heads have the values of the right heads {heads}", right[heads]
        for name, base in {
            "what it is compared with": right,
            "what it is compared with, but later keys' sign": 2 * np.tril(right)
            - right,
        }.items():
            # The multiple that comes nearest, Σ given·base / Σ base² (heads,); of zeros, any does.
            size = np.einsum("hqk,hqk->h", base, base) + 1e-300
            times = np.einsum("hqk,hqk->h", base, given) / size
            multiples = [f"{multiple:.4g}" for multiple in times]
            if len({*multiples}) == 1:  # of all heads
                multiples = multiples[:1]
            text = f"head by head, it is {', '.join(multiples)} times {name}; mind sign and scale"
            if self.expected == "alibi":
                slopes = times * alibi_slopes(len(times))
                text += f", slopes are {slopes[:5]}{ALIBI}"
            yield text, times[:, None, None] * base
        if self.expected is None:  # it is compared with itself, so that laws say more
            return
        yield "all rows are the same: only the key counts", given[:, :1]
        yield "each row is a constant, which a softmax forgets", given[..., :1]
        added = right + (given - right)[..., :1]
        yield "a constant is added to each row, which a softmax forgets", added
        yield other_offsets(trial, longest)


def other_offsets(trial: Trial, longest: Floats) -> tuple[str, Floats]:
    """Find the offset, key - query, whose right values stand at each other.

    The longest right bias has the most offsets; the number of its rows stands for 0. What it has at
    its outermost offsets may be of one beyond, and isn't asked.
    """
    beyond = len(longest[0])
    # Of three rows: 0, 1, -1, 2, -2, 3. If several have the same values, the nearest to 0 is told.
    sources = np.array(sorted(range(beyond, -beyond, -1), key=abs))
    right = by_offset(longest)
    places = [
        np.abs(right[sources] - entry).max(axis=1).argmin()
        for entry in by_offset(trial.given)
    ]
    nearest = sources[places]
    query, key = np.indices(trial.given.shape[1:])
    offsets: Any = key - query
    wrong = np.array(sorted({*offsets[trial.ratio.max(axis=0) > 1]}, key=abs)[:6])
    instead = nearest[wrong]
    made = np.moveaxis(right[nearest[offsets]], 2, 0)  # (heads, queries, keys)
    text = (
        f"{trial.words}: where key - query is {wrong}, it is what it is compared with where that "
        f"is {instead}"
    )
    if beyond in instead:
        text += f" ({beyond} stands for 0)"
    return text, np.where(np.abs(offsets) > beyond - 2, trial.given, made)


def by_offset(bias: Floats) -> Floats:
    """Return the values of each offset, key - query, at that index: (offsets, heads).

    Of three queries and keys, the first row has offsets 0, 1, and 2. The first column has -1 and
    -2, which stand at the end, as negative indices do. At 3, which no entry has, there are zeros.
    """
    return np.hstack([bias[:, 0], 0 * bias[:, :1, 0], bias[:, :0:-1, 0]]).T


def shape(bias: Bias) -> None:
    """Ask for the usual length."""
    bias.square()


def values(bias: Bias) -> Trials:
    """Compare with ALiBi, or with the given function."""
    if bias.expected is None:
        raise Skip("nothing is expected")
    given = bias.square()
    # The slopes depend on the number of heads, which the code tells.
    make = bias.expected if callable(bias.expected) else partial(alibi_bias, len(given))
    yield bias.trial("all entries", given, bias.square(make=make))
    try:
        long, meant = bias.square(LONG), bias.square(LONG, make)
    except (Raised, Ended):  # a bias may have a longest text
        return
    yield bias.trial(f"of {LONG} rows", long, meant)


def offset(bias: Bias) -> Trials:
    """Shift query and key by one."""
    main = bias.square()
    # Entry (q + 1, k + 1) beside (q, k)
    yield bias.trial("shifted by one", main[:, 1:, 1:], main[:, :-1, :-1])


def start(bias: Bias) -> Trials:
    """Ask for a shorter sequence."""
    yield bias.trial("of 9 rows", bias.square(9), bias.square()[:, :9, :9])
