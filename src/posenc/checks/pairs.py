"""Laws on measured pairs: what a table, a layer and a rotation must give, position by position."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posenc.checks.conventions import (
    PAIRS,
    Convention,
    Floats,
    agree,
    alike,
    begin_alike,
    fits,
    fitted,
    measure,
    never_turns,
    rounding,
    same_base,
    split,
    wrapped,
)
from posenc.checks.laws import Cause, law
from posenc.checks.museum import TABLES, wrong_table
from posenc.checks.probe import (
    Broken,
    Measured,
    Skip,
    floats,
    name_of,
    nearest_rows,
    positions_near,
    worst,
)
from posenc.checks.rotations import MOVES, Rotation
from posenc.checks.tables import SCALES, Table

TURNING = "table module rotary"
NO_PAIRS = "no two dimensions turn together, neighbors or halves"

# Signs: what a failure may look like


def known_table(probe: Table) -> Cause:
    """Compare with the museum's tables, at the requested base and the usual one."""
    d_model = probe.widths[0]
    table = probe.table(probe.rows, d_model)
    if table.shape[-1] == 2 * d_model:
        return "doubled class"
    if table.shape != (probe.rows, d_model):
        return None
    if not table.any():
        return "sum thrown away"
    if (np.abs(table - table[0]) < 1e-6).all():
        return "batch for sequence" if probe.kind == "module" else "all rows are equal"
    for base in (probe.base or 10_000.0, 10_000.0):
        for name in TABLES:  # rounded positions are looked for below, further out
            off = np.abs(table - wrong_table(name, probe.rows, d_model, base)).max()
            if name != "rounded positions" and off < 0.02:
                return {"swapped power": "minus sign"}.get(name, name)
    longer = probe.table(probe.at_most(probe.length), d_model)
    same = (np.abs(np.diff(longer, axis=0)) < 1e-6).all(axis=1)
    if same.any() and int(same.argmax()) in (256, 2048):
        return "rounded positions"
    return None


def other_rows(probe: Table) -> Cause:
    """Look for rows of the right table in another order, or for some that were trained."""
    table = probe.main
    if probe.layout is not None:
        right = Convention(probe.layout, base=probe.base or 10_000.0)
        rows = right.table(probe.rows, probe.widths[0])
        if all(np.abs(rows - row).max(axis=1).min() < 1e-3 for row in table):
            return "axes swapped"
    late, early = (table[-probe.rows // 4 :] ** 2).sum(1), (table**2).sum(1)
    return "trained table" if np.ptp(late) < 1e-3 < np.ptp(early) else None


def known_sign(probe: Any) -> Cause:
    """Compare a table or a layer with the museum's tables."""
    return None if probe.kind == "rotary" else known_table(probe)


def table_signs(probe: Any) -> Cause:
    """Look at a table or a layer as a whole."""
    return None if probe.kind == "rotary" else known_table(probe) or other_rows(probe)


def no_rule(probe: Any) -> Cause:
    """Explain frequencies that follow no rule, of a table or a layer."""
    if probe.kind == "rotary" or probe.layout is None:
        return None
    omega = [measure(each)[0] for each in probe.readable[probe.layout]]
    if all(np.ptp(each) < 1e-3 for each in omega):
        return "all ones"
    pairs = [len(each) for each in omega]
    if len(omega) < 2 or any((each <= 0).any() or abs(each[0] - 1) > 1e-3 for each in omega):
        return None
    falls = [-np.diff(np.log(each)) for each in omega]
    bases = [math.exp(fall.mean() * n) for fall, n in zip(falls, pairs, strict=True)]
    even = all(np.ptp(fall) < 1e-2 * fall.mean() for fall in falls)
    same = math.isclose(*bases[:2], rel_tol=0.01)
    return "slipped parenthesis" if even and not same else None


def wrong_factor(probe: Any) -> Cause:
    """Say what the attention factor is, if all turned dimensions have one, and not the asked."""
    if probe.kind != "rotary":
        return None
    squares, asked = (probe.turned(probe.widths[0]) ** 2).sum(axis=1), probe.attention_factor
    size = math.sqrt(squares.max() if squares.max() > 1 + 1e-3 else squares.min())
    if abs(size - asked) < 1e-3 or np.ptp(squares, axis=0).max() > 1e-3:
        return None
    if asked == 1:
        return (
            f"everything is multiplied by {size:.6g}: if that is an attention factor, such as "
            f"YaRN's, pass attention_factor={size:.6g}"
        )
    if abs(size - 1) < 1e-3:
        return f"the attention factor, {asked:.6g}, is missing"
    return "attention factor"  # applied twice, or another


def mixed_angles(probe: Any) -> Cause:
    """Look for halves that are turned by the angles of neighbors, or the other way around."""
    if probe.kind != "rotary":
        return None
    matrix = probe.turned(probe.widths[0])[1]
    cos, half = np.diag(matrix), len(matrix) // 2
    partner = np.abs(matrix - np.diag(cos)).argmax(axis=0)[0]
    neighbors = np.abs(cos[0::2] - cos[1::2]).max() < MOVES < np.ptp(cos)
    halves = np.abs(cos[:half] - cos[half:]).max() < MOVES < np.ptp(cos)
    text = "pairs are {}, but their angles are laid out for {}: `{}` is taken for `{}`"
    names = "cat((omega, omega))", "repeat_interleave(2)"
    if partner == half and neighbors:
        return text.format("halves", "neighbors", names[1], names[0])
    if partner == 1 and halves and half > 1:
        return text.format("neighbors", "halves", *names)
    return None


def off_by_one(probe: Any) -> Cause:
    """Look for positions that begin at another number."""
    known = probe.convention
    if known is None or not known.first:
        return None
    return f"positions are counted from {known.first:g}, not from 0: start + {known.first:g}"


def lost_shift(probe: Any) -> Cause:
    """Look for two positions in a row with the same turn."""
    if probe.kind != "rotary" or probe.layout is None:
        return None
    waves = probe.readable[probe.layout][0]
    return "forgotten shift" if (np.abs(np.diff(waves, axis=0)).max(1) < 1e-6).any() else None


def wrong_frequencies(probe: Any) -> Cause:
    """Compare the measured frequencies with the requested ones, pair by pair."""
    if probe.omega is None or probe.layout is None:
        return None
    size = min(len(probe.measured_omega), len(probe.omega))
    asked = probe.omega[:size]
    ratio = probe.measured_omega[:size][asked > 0] / asked[asked > 0]
    right = np.abs(ratio - 1) < 1e-4
    if len(ratio) >= PAIRS and right[0] and right[-1]:
        wrong = np.flatnonzero(~right)
        return (
            f"the ramp is wrong: pairs {wrong[0]} to {wrong[-1]} differ, the fastest and the "
            "slowest agree; its base, its betas or the original length is another"
        )
    if np.ptp(ratio) < 1e-4 and len(ratio) > 1:
        return f"all frequencies are {ratio[0]:.6g} times the requested ones"
    return "lost setting"


SIGNS = (table_signs, wrong_factor, mixed_angles)

# Laws


@law("shape", TURNING, signs=(table_signs,))
def shape(probe: Any) -> Measured:
    """The shape is the requested one, and all entries are finite.

    Bound: exact.
    Likely: an axis is missing, extra or swapped.
    """
    if probe.kind != "rotary":
        for d_model in probe.widths:
            probe.square(d_model)
        shapes = " and ".join(f"{probe.rows} × {d_model}" for d_model in probe.widths)
        return 0.0, 0.0, f"{shapes}, {name_of(probe.table_of(probe.rows, probe.widths[0]))}"
    d_model = probe.widths[0]
    for given in ((5, d_model), (2, 5, d_model), (2, 3, 5, d_model)):
        probe.call(np.ones(given), range(5))  # raises if the shape is another
    widths = ", ".join(map(str, probe.widths))
    return 0.0, 0.0, f"{probe.library.name}, widths {widths}"


@law("norm", TURNING, after="batch", signs=SIGNS)
def norm(probe: Any) -> Measured:
    """All rows have the same norm: sin² + cos² = 1 per pair; a rotation preserves it.

    Bound: 6u: an error of 2u in sin and cos changes sin² + cos² by up to 4√2·u.
    Likely: sine and cosine of a pair have different angles, or a factor was applied to one of them.
    """
    found, remark = [], ""
    if isinstance(probe, Table):
        probe.only_sinusoids()
        name, sizes = probe.factor
        if not name:
            times = " and ".join(dict.fromkeys(f"{size:.4g}" for size in sizes.values()))
            raise Broken(
                f"all rows are multiplied by {times}",
                f"a factor other than {', '.join(SCALES)}; if it is intended, check the table "
                "divided by it",
            )
        for d_model in probe.widths:
            squares = (probe.unscaled(d_model) ** 2).sum(axis=1) / (d_model / 2)
            found.append(np.abs(squares - 1))
        remark = "" if name == "1" else f", all rows times {name}"
    else:
        factor = probe.attention_factor
        for d_model in probe.widths:
            matrices = probe.turned(d_model)
            squares = (matrices**2).sum(axis=1)
            moving = np.abs(matrices - np.eye(d_model)).max(axis=(0, 1)) > MOVES
            off = np.where(moving, np.abs(squares / factor**2 - 1), np.abs(squares - 1))
            found.append(off.max(axis=1))
        remark = "" if factor == 1 else f", attention factor {factor:.6g}"
        remark += ", of what a norm follows" if probe.norm_weights(d_model) is not None else ""
    error, bound, place = worst(np.array(found), 6 * probe.unit)
    return error, bound, f"position {place[1]}, width {probe.widths[place[0]]}{remark}"


@law("shift", TURNING, after="batch start norm", signs=(*SIGNS, lost_shift))
def shift(probe: Any) -> Measured:
    """One matrix, a rotation of each pair, maps every row to the next.

    Bound: 2τ of both rows: √2 for sine and cosine, the rest for the turn, which is fitted.
    Likely: the angles don't grow by the same amount from row to row.

    A pair in a row is off by τ in sine and cosine, √2·τ together. The turn is fitted, and off by
    3uω + u/30 (see `measure`); 0.58·(τ + τ) is at least 2.3u + 2.9uω, which is more. So the bound
    is 2τ of both rows. Without a layout, a rotation is turned by the step from 0 to 1, whose own
    error adds 2·τ(1). A table's law takes the best matrix: least squares leaves no column a larger
    residual than the true rotation does, whose rows are off by τ and √2·τ, so the root of the sum
    of (1 + √2)²τ² over the rows bounds it.
    """
    if isinstance(probe, Table):
        probe.only_sinusoids()
    if probe.layout is not None:
        waves = probe.readable[probe.layout][0]
        moved = waves[:-1] * np.exp(1j * measure(waves)[0])
        allowed = probe.explained(waves)
        error, bound, place = worst(np.abs(waves[1:] - moved), 2 * (allowed[1:] + allowed[:-1]))
        return error, bound, f"position {place[0] + 1}, pair {place[1]}"
    if isinstance(probe, Rotation):
        matrices = probe.turned(probe.widths[0])
        moved = np.einsum("ij,kjl->kil", matrices[1] @ np.linalg.pinv(matrices[0]), matrices[:-1])
        allowed = probe.tau(range(probe.rows))[:, 0]
        bounds = 2 * (allowed[1:] + allowed[:-1] + allowed[1])[:, None, None]
        error, bound, place = worst(np.abs(matrices[1:] - moved), bounds)
        return error, bound, f"position {place[0] + 1}, dimension {place[1]}"
    table = probe.unscaled(probe.widths[0])
    matrix = np.linalg.lstsq(table[:-1], table[1:], rcond=None)[0]
    left = np.sqrt(((table[:-1] @ matrix - table[1:]) ** 2).sum(axis=0))
    each = rounding(np.arange(1.0, len(table)), np.ones(1), probe.unit)
    limit = (1 + math.sqrt(2)) * math.sqrt((each**2).sum())
    error, bound, place = worst(left, limit)
    return error, bound, f"column {place[0]}; the best-fitting matrix, over all rows"


@law("offset", TURNING, after="start norm shift", signs=(*SIGNS, lost_shift))
def offset(probe: Any) -> Measured:
    """The product of two rows (or the score of two words) depends only on their offset.

    Bound: 4√2 · Σ τ over the pairs of a row; 4(1 + √2)·τ·Σ|q|·max|k| for a score.
    Likely: the angles don't grow by the same amount from row to row.

    In a product of rows, each pair of the first, off by τ in sine and cosine, is multiplied by the
    second, |sin| + |cos| ≤ √2, and vice versa: 2√2·τ. Two products are compared. A turned query is
    off by τ(|q₁| + |q₂|) in both dimensions of a pair. Times a turned key, |k₁| + |k₂| ≤ 2·max|k|:
    2τ·Σ|q|·max|k| over the pairs. A turned pair of the query is at most √2·(|q₁| + |q₂|), so the
    key's error adds 2√2·τ·Σ|q|·max|k|. Two scores are compared.
    """
    if isinstance(probe, Rotation):
        q, k = np.random.default_rng(0).normal(size=(2, probe.widths[0]))
        query, key = (probe.turned(probe.widths[0]) @ each for each in (q, k))
        size = np.abs(q).sum() * np.abs(k).max() * probe.attention_factor
        allowed = (1 + 2**-0.5) * 2**0.5 * size * probe.tau(range(probe.rows))[:, 0]
    else:
        probe.only_sinusoids()
        query = key = probe.unscaled(probe.widths[0])
        if probe.layout is None:
            plain = rounding(np.arange(1.0 * probe.rows), np.ones(1), probe.unit)
            allowed = probe.widths[0] / 2 * plain
        else:
            allowed = probe.explained(probe.readable[probe.layout][0]).sum(axis=1)
    products = query @ key.T
    bounds = 2**2.5 * np.maximum(allowed[1:, None], allowed[None, 1:])
    error, bound, place = worst(np.abs(products[1:, 1:] - products[:-1, :-1]), bounds)
    return error, bound, f"positions {place[0]} and {place[1]}, shifted by one"


@law("identity", TURNING, after="start norm shift", signs=(off_by_one,))
def identity(probe: Any) -> Measured:
    """Extrapolated to position 0, every sine is 0 and every cosine 1; nothing is turned.

    Bound: 4τ for a line that is fitted to the angles; 2u, τ at position 0, for a rotation.
    Likely: the pairs don't start at the same position.
    """
    if not isinstance(probe, Rotation):
        probe.only_sinusoids()
        if probe.fit is None:
            raise Skip("no known convention fits")
        return probe.fit.start, 1.0, "in units of the bound"
    d_model, factor = probe.widths[0], probe.attention_factor
    matrix, asked = probe.turned(d_model)[0], np.eye(d_model)
    if factor != 1 and probe.layout is not None:
        both = np.concatenate(probe.dims)
        asked[both, both] = factor
    error, bound, place = worst(np.abs(matrix - asked), 2 * probe.unit * max(factor, 1))
    order = permuted_as(probe)
    permuted = f"; the output is permuted: {order}, which no score notices" if order else ""
    return error, bound, f"dimension {place[0]}{permuted}"


def permuted_as(probe: Rotation) -> str:
    """Describe the permutation of a rotation's output, or return ""."""
    d_model = probe.widths[0]
    order, plain = probe.permutation(d_model), np.arange(d_model)
    if (order == plain).all():
        return ""
    to_halves = np.argsort(np.argsort(plain % 2, kind="stable"))
    if (order == to_halves).all():
        return "neighbors in, halves out"
    return "halves in, neighbors out" if (order == np.argsort(to_halves)).all() else "another order"


@law(
    "frequencies",
    TURNING,
    after="start norm shift identity",
    signs=(known_sign, no_rule, table_signs, wrong_frequencies, lost_shift),
)
def frequencies(probe: Any) -> Measured:
    """Frequencies fall by a constant factor from pair to pair; all widths share a base.

    Bound: 4τ / rows: a line is fitted to the angles.
    Likely: the exponent isn't a known one; if that is intended, pass `frequencies`.
    """
    if isinstance(probe, Table):
        probe.only_sinusoids()
    if probe.layout is None:
        rotary = isinstance(probe, Rotation)
        raise Broken(NO_PAIRS if rotary else "no pair of columns stays on a circle")
    if probe.omega is not None:
        return requested_frequencies(probe)
    if probe.fit is None:
        if isinstance(probe, Rotation) and probe.axes:
            return frequencies_of_axes(probe)
        if few := probe.explain_too_few_pairs():
            raise Skip(few)
        if all(never_turns(waves) for waves in probe.readable[probe.layout]):
            raise Broken("no pair turns")
        raise Broken("no known base and exponent fit all widths")
    found = probe.fit.convention.base
    if probe.base is not None and not same_base(found, probe.base):
        raise Broken(f"base {found:.10g}, but {probe.base:.10g} was requested", "lost setting")
    return probe.fit.frequency, 1.0, "in units of the bound"


def requested_frequencies(probe: Rotation) -> Measured:
    """Compare the frequencies with requested ones."""
    omega = np.asarray(probe.omega)
    (one, two), asked, found = probe.dims, len(omega), probe.measured_omega
    apart = int(two[0] - one[0]) if probe.layout == "halves" else len(one)
    if probe.layout == "neighbors" and apart < asked and not omega[apart:].any():
        apart = asked  # trailing pairs that don't turn are invisible
    if apart != asked:
        raise Broken(
            f"{len(one)} pairs turn, {apart} are paired, but {asked} were requested",
            "the pairs span the wrong part of the head: a partial rotation pairs within its part, "
            "a proportional one across the whole head",
        )
    found = np.pad(found, (0, asked - len(found)))
    limit = fitted(omega, probe.rows) / probe.rows
    error, bound, place = worst(np.abs(wrapped(found - omega)), limit)
    return error, bound, f"pair {place[0]}"


def frequencies_of_axes(probe: Rotation) -> Measured:
    """Fit the pairs of each axis separately, as in an axial encoding."""
    owner, worst_of = np.abs(probe.omegas).argmax(axis=0), 0.0
    for axis in range(probe.axes):
        omega = np.abs(probe.omegas[axis, owner == axis])
        if len(omega) < PAIRS:
            raise Skip(f"coordinate {axis} turns {len(omega)} pairs: too few for a base")
        waves = np.exp(1j * np.outer(np.arange(probe.rows), omega))
        best = agree([list(fits(waves, str(probe.layout), probe.unit))])
        if best is None:
            raise Broken(f"no known base and exponent fit the pairs of coordinate {axis}")
        worst_of = max(worst_of, best.frequency)
    return worst_of, 1.0, "each coordinate by itself, in units of the bound"


@law("convention", TURNING, after="start norm shift identity frequencies")
def convention(probe: Any) -> Measured:
    """The convention is the requested one.

    Bound: exact, except numbers: base 1e-4, step 1e-5, start 1e-3, as precise as float32 allows.
    Likely: another layout, exponent or start: not a bug by itself, but it doesn't match the
    weights.
    """
    if probe.asked is None:
        raise Skip("none was requested")
    found, asked = probe.convention, probe.asked
    if found is None:
        raise Broken("none known")
    same = alike(found, asked) and begin_alike(found, asked)
    if not same or probe.turning_pairs() != [asked.pairs(d) for d in probe.widths]:
        raise Broken(f"{found}, but {asked} was requested")
    if isinstance(probe, Rotation):
        if order := permuted_as(probe):
            raise Broken(f"{order}, but {asked} was requested", f"the output is permuted: {order}")
        first, last = int(probe.dims[0][0]), int(probe.dims[1][-1])
        if first:
            how = f"dimensions {first} to {last} of {probe.widths[0]} turn, not the first ones"
            raise Broken(how, "a partial rotation turns the first dimensions of a head: slices "
                         "are swapped")  # fmt: skip
    return 0.0, 0.0, ""


@law(
    "unique",
    TURNING,
    after="batch start norm shift far frequencies",
    signs=(table_signs, lost_shift),
)
def unique(probe: Any) -> Measured:
    """No two rows are equal.

    Bound: 4u√d: two rows of d entries, rounded.
    Likely: positions are rounded, or too few frequencies are different.
    """
    d_model = probe.widths[0]
    if isinstance(probe, Table):
        seq_len = probe.at_most(probe.length)
        return nearest_rows(probe.table(seq_len, d_model) / probe.scale, probe.unit)
    seq_len = min(probe.length, probe.limit)
    x = np.ones((seq_len, d_model))
    x[:, d_model // 2 :] = 0.5
    return nearest_rows(probe.call(x, range(seq_len)), probe.unit)


@law("axes", "rotary", after="norm")
def axes(probe: Rotation) -> Measured:
    """Turning by several coordinates equals turning by each in sequence.

    Bound: (2n + 1)τ for n coordinates: a product of n matrices, and the one of all of them.
    Likely: coordinates are swapped, or the sections of the pairs are in the wrong order.

    A product of n matrices, each entry off by τ and two per row, is off by 2nτ; the matrix for all
    coordinates is off by τ.
    """
    if not probe.axes:
        raise Skip("one coordinate")
    if probe.layout is None:
        raise Broken(NO_PAIRS)
    omegas = probe.omegas
    turning = np.abs(omegas) * probe.rows > MOVES
    for axis in range(probe.axes):
        if not turning[axis].any():
            raise Broken(f"coordinate {axis} turns nothing")
    owner = np.abs(omegas).argmax(axis=0)
    if probe.axis_of_pair is not None:
        asked = np.asarray(probe.axis_of_pair)
        if asked.shape != owner.shape:
            raise Broken(f"{len(owner)} pairs, where {len(asked)} are asked for")
        for pair in np.flatnonzero(owner != asked):
            raise Broken(f"pair {pair} turns with coordinate {owner[pair]}, not {asked[pair]}")
    if probe.omega_of_axes is not None:
        size = min(omegas.shape[1], probe.omega_of_axes.shape[1])
        meant = probe.omega_of_axes[:, :size]
        limit = fitted(meant.max(axis=0), probe.rows) / probe.rows
        error, bound, place = worst(np.abs(wrapped(omegas[:, :size] - meant)), limit)
        if error > bound:
            return error, bound, f"coordinate {place[0]}, pair {place[1]}"
    mixed = np.random.default_rng(0).integers(0, probe.rows, (5, probe.axes))
    together, apart = probe.matrices_of_axes(mixed), np.eye(probe.widths[0])
    factor = probe.attention_factor
    for axis in range(probe.axes):
        alone = np.where(np.arange(probe.axes) == axis, mixed, 0)
        apart = probe.matrices_of_axes(alone) / factor @ apart
    allowed = (2 * probe.axes + 1) * probe.tau(mixed.max(axis=1))[:, :, None]
    error, bound, place = worst(np.abs(together / factor - apart), allowed + 0 * apart)
    pairs = " ".join(map(str, owner))
    return error, bound, f"coordinates {mixed[place[0]].tolist()}; by pair {pairs}"


@law("float32", TURNING, after="start norm shift offset identity frequencies far unique")
def float32(probe: Any) -> Measured:
    """Entries match the convention's 50-digit values up to position 1 million.

    Bound: τ at each position: frequencies and angles in float32; plus the uncertainty of the fit,
    if base, step or start isn't a round number.
    Likely: errors exceed what float32 explains: a frequency in half precision, or a recurrence that
    is never restarted.
    """
    if isinstance(probe, Rotation):
        positions = positions_near(probe.limit)
        if probe.layout is None or (exact := probe.exact(positions)) is None:
            raise Skip("no convention to compare with")
        off, allowed = probe.read(positions) - exact, probe.tau(positions)
        if probe.omega is None:
            fastest = probe.measured_omega.max(keepdims=True)
            allowed = allowed + probe.fit_uncertainty(np.array(positions, float), fastest)
        last = ""
    else:
        probe.only_sinusoids()
        known = probe.reference
        if known is None:
            raise Skip("no convention to compare with")
        seq_len, d_model = probe.at_most(probe.longest), probe.widths[0]
        positions = positions_near(seq_len)
        made = floats(probe.table_of(seq_len, d_model)).reshape(seq_len, d_model)[positions]
        off = split(made / probe.scale, known.layout)
        off = off - np.exp(1j * known.angles(positions, seq_len, d_model))
        counted = np.array([seq_len - 1.0 - r if probe.down else r for r in positions])
        allowed = tau_of(probe, known, counted, seq_len)
        last = f", of {seq_len}"
    errors = np.maximum(np.abs(off.real), np.abs(off.imag))
    probe.errors = dict(zip(positions, errors.max(axis=1).tolist(), strict=True))
    error, bound, place = worst(errors, np.broadcast_to(allowed, errors.shape))
    return error, bound, f"position {positions[place[0]]}, pair {place[1]}{last}"


def tau_of(probe: Table, known: Convention, counted: Floats, seq_len: int) -> Floats:
    """Return τ at each position and pair of a table, plus the uncertainty of the fit."""
    omega, where = known.speeds(probe.widths[0], seq_len), counted + known.first
    allowed = rounding(np.outer(where, omega), omega / omega[0], probe.unit)
    return np.asarray(allowed + probe.fit_uncertainty(where, omega))
