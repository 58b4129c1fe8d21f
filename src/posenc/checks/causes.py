"""Signs: what a broken law may look like, in the order in which they are looked for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posenc.checks.calls import BATCHES, DRAWN, alone, run_calls
from posenc.checks.conventions import PAIRS, Convention, measure
from posenc.checks.laws import sign
from posenc.checks.museum import TABLES, wrong_table
from posenc.checks.rotations import MOVES

ROWS = "shape norm shift offset frequencies unique"
NEAR = 1e-4  # far beyond rounding, far below the effect of a wrong position


@sign("table module", f"{ROWS} start steps batch token empty")
def known_table(probe: Any) -> str | None:
    """Compare with the museum's tables, at the requested base and the usual one."""
    d_model = probe.widths[0]
    table = probe.main
    if (np.abs(table - table[0]) < 1e-6).all():
        equal = "batch for sequence" if probe.kind == "module" else "all rows are equal"
        return equal if table.any() else "sum thrown away"
    for base in (probe.base or 10_000.0, 10_000.0):
        for name in TABLES:  # rounded positions are looked for below, further out
            off = np.abs(table - wrong_table(name, probe.rows, d_model, base)).max()
            if name != "rounded positions" and off < 0.02:
                return {"swapped power": "minus sign"}.get(name, name)
    steps = np.abs(np.diff(probe.table(probe.at_most(probe.length), d_model), axis=0)).max(axis=1)
    return "rounded positions" if int((steps < 1e-6).argmax()) in (256, 2048) else None


@sign("table module", "frequencies")
def no_rule(probe: Any) -> str | None:
    """Look for frequencies that are equal, or whose base changes with the width."""
    pairs = zip(probe.readable.get(probe.layout, ()), probe.widths, strict=False)
    found = [(waves, d_model) for waves, d_model in pairs if waves.shape[1] >= PAIRS]
    if found and all(np.ptp(measure(waves)[0]) < 1e-3 for waves, _ in found):
        return "all ones"
    fits = [probe.possible(waves, probe.layout, d_model) for waves, d_model in found]
    from_one = [any(fit.convention.step == 1 for fit in each) for each in fits]
    return "slipped parenthesis" if len(fits) > 1 and all(from_one) else None


@sign("table module", ROWS)
def other_rows(probe: Any) -> str | None:
    """Look for rows of the right table in another order, or for some that were trained."""
    table = probe.main
    if probe.layout is not None:
        right = Convention(probe.layout, base=probe.base or 10_000.0)
        rows = right.table(probe.rows, probe.widths[0])
        if all(np.abs(rows - row).max(axis=1).min() < 1e-3 for row in table):
            return "axes swapped"
    late, early = (table[-probe.rows // 4 :] ** 2).sum(1), (table**2).sum(1)
    return "trained table" if np.ptp(late) < 1e-3 < np.ptp(early) else None


@sign("rotary", "norm shift offset")
def wrong_factor(probe: Any) -> str | None:
    """Say what the attention factor is, if all turned dimensions have one, and not the asked."""
    squares, asked = (probe.turned(probe.widths[0]) ** 2).sum(axis=1), probe.attention_factor
    size = math.sqrt(squares.max() if squares.max() > 1 + 1e-3 else squares.min())
    if abs(size - asked) < 1e-3 or np.ptp(squares, axis=0).max() > 1e-3:
        return None
    if asked == 1:
        how = f"everything is multiplied by {size:.6g}: if that is an attention factor, such as "
        return f"{how}YaRN's, pass attention_factor={size:.6g}"
    missing = abs(size - 1) < 1e-3  # else it was applied twice, or is another
    return f"the attention factor, {asked:.6g}, is missing" if missing else "attention factor"


@sign("rotary", "norm shift offset")
def mixed_angles(probe: Any) -> str | None:
    """Look for halves that are turned by the angles of neighbors, or the other way around."""
    matrix = probe.turned(probe.widths[0])[1]
    cos, half = np.diag(matrix), len(matrix) // 2
    partner = int(np.abs(matrix - np.diag(cos)).argmax(axis=0)[0])
    apart = {half: cos[0::2] - cos[1::2], 1: cos[:half] - cos[half:]}  # 0 in the other layout
    if partner not in apart or not np.abs(apart[partner]).max() < MOVES < np.ptp(cos):
        return None
    paired, laid = ("halves", "neighbors") if partner == half else ("neighbors", "halves")
    how = {"neighbors": "`repeat_interleave(2)`", "halves": "`cat((omega, omega))`"}
    cause = f"pairs are {paired}, but their angles are laid out for {laid}"
    return f"{cause}: {how[laid]} is taken for {how[paired]}"


@sign("table module rotary", "identity")
def off_by_one(probe: Any) -> str | None:
    """Look for positions that begin at another number."""
    first = probe.convention.first if probe.convention else 0
    return f"positions are counted from {first:g}, not from 0: start + {first:g}" if first else None


@sign("rotary", "frequencies")
def wrong_frequencies(probe: Any) -> str | None:
    """Compare the measured frequencies with the requested ones, pair by pair."""
    if probe.omega is None or probe.layout is None:
        return None
    size = min(len(probe.measured_omega), len(probe.omega))
    asked = probe.omega[:size]
    ratio = probe.measured_omega[:size][asked > 0] / asked[asked > 0]
    wrong = np.flatnonzero(np.abs(ratio - 1) >= NEAR)
    if len(ratio) >= PAIRS and wrong.size and not {0, len(ratio) - 1} & {*wrong}:
        how = f"the ramp is wrong: pairs {wrong[0]} to {wrong[-1]} differ, the fastest and the "
        return f"{how}slowest agree; its base, its betas or the original length is another"
    if np.ptp(ratio) < NEAR and len(ratio) > 1:
        return f"all frequencies are {ratio[0]:.6g} times the requested ones"
    return "lost setting"


@sign("rotary", "shift offset frequencies unique")
def lost_shift(probe: Any) -> str | None:
    """Look for two positions in a row with the same turn."""
    waves = probe.readable.get(probe.layout, [np.arange(2.0)[:, None]])[0]
    return "forgotten shift" if (np.abs(np.diff(waves, axis=0)).max(1) < 1e-6).any() else None


@sign("rotary", "start steps token empty")
def single_row(probe: Any) -> str | None:
    """Look for a single row that is turned as at another position, or in another layout."""
    d_model, k = probe.widths[0], min(5, probe.rows - 2)
    x, matrices = probe.draw((), 1), probe.measured(d_model)
    out = probe.call(x, [k])[0]
    off = np.abs(matrices @ x[0] - out).max(axis=1)
    nearest = int(off.argmin())
    if off[k] < NEAR:
        return None
    if off[nearest] < NEAR and abs(nearest - k) == 1:
        return f"a single row is turned as at position k {nearest - k:+d}: a step is off by one"
    if off[nearest] < NEAR or np.array_equal(out, probe.call(x, [k + 1])[0]):
        return "offset that sticks"
    order = np.argsort(np.arange(d_model) % 2, kind="stable")
    turned = [matrices[k][np.ix_(turn, turn)] @ x[0] for turn in (order, np.argsort(order))]
    return "mixed layouts" if min(np.abs(each - out).max() for each in turned) < NEAR else None


@sign("rotary", "start")
def by_length(probe: Any) -> str | None:
    """Look for turns that depend on the largest position of a call, as under dynamic NTK."""
    one, two = (probe.matrices([1, k])[0] for k in (2, probe.limit - 1))
    three, four = probe.matrices(range(3))[1], probe.measured(probe.widths[0])[1]
    if max(np.abs(one - two).max(), np.abs(three - four).max()) < NEAR:
        return None
    how = "angles depend on the length of the call, or on its largest position: a base that is "
    return f"{how}computed in each call (dynamic NTK); keys in a cache keep the old one"


@sign("module rotary", "batch")
def by_size(probe: Any) -> str | None:
    """Say at which number of sequences or heads, or at which length, a fault begins."""
    found = zip(DRAWN, run_calls(probe, BATCHES, alone), strict=True)
    right = [shape for shape, (error, bound, _) in found if error <= bound]
    wrong = [shape for shape in DRAWN if shape not in right]
    for axis, name in enumerate(("sequences", "heads", "positions")):
        most = max((shape[axis] for shape in right), default=99)
        if wrong and most < min(shape[axis] for shape in wrong):
            return f"it goes wrong with more than {most} {name}"
    odd = wrong and all(n % 2 for *_, n in wrong) and any(n % 2 == 0 for *_, n in right)
    return "it goes wrong at odd lengths" if odd else None
