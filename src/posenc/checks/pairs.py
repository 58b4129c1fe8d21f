"""Laws on measured pairs: what a table, a layer and a rotation must give, position by position."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from posenc import conventions as conv
from posenc.checks.adapters import MOVES, SCALES, Rotation
from posenc.checks.laws import (
    KINDS,
    Broken,
    Measured,
    Skip,
    compared,
    largest,
    law,
    sign,
)
from posenc.checks.probe import positions_near, type_of
from posenc.conventions import PAIRS, Convention, Waves
from posenc.museum import TABLES, wrong_table

TURNING, TORCH = "table module rotary", "module rotary"
NO_PAIRS = "no two dimensions turn together, neighbors or halves"
ROWS = "shape norm shift offset frequencies unique"
NEAR = 1e-4  # far beyond rounding, far below the effect of a wrong position
IN_UNITS, PLACE = "in units of the bound", "position {}, pair {}"


@law("shape", " ".join(KINDS))
def shape(probe: Any) -> Measured:
    """The shape is the requested one, and all entries are finite.

    Likely: an axis is missing, extra or swapped.
    """
    if probe.kind == "bias":
        return 0.0, 0.0, f"{len(probe.main)} heads"
    if probe.kind == "decoder":
        count = probe.read(probe.tokens).shape[2]
        return 0.0, 0.0, f"{probe.library.name}, {count} scores after each token"
    if probe.kind == "rotary":
        for lead in ((), (2,), (2, 3)):
            probe.call(probe.draw(lead, 5), range(5))  # raises if the shape is another
        return (
            0.0,
            0.0,
            f"{probe.library.name}, widths {', '.join(map(str, probe.widths))}",
        )
    shapes = " and ".join(
        "{} × {}".format(*probe.table(probe.rows, d).shape) for d in probe.widths
    )
    return 0.0, 0.0, f"{shapes}, {type_of(probe.table_of(probe.rows, probe.widths[0]))}"


@law("norm", TURNING, after="batch")
def norm(probe: Any) -> Measured:
    """All rows have the same norm: sin² + cos² = 1 per pair; a rotation preserves it.

    Bound: 6u: an error of 2u in sin and cos changes sin² + cos² by up to 4√2·u.
    Likely: sine and cosine of a pair have different angles, or a factor was applied to one of them.
    """
    found, note, factor = [], "position {1}, width {0}", probe.attention_factor
    if probe.kind == "rotary":
        note += "" if factor == 1 else f", attention factor {factor:.6g}"
        normed = probe.norm_weights(probe.widths[-1]) is not None
        note += ", of what a norm follows" if normed else ""
    elif name := probe.factor[0]:
        note += "" if name == "1" else f", all rows times {name}"
    else:
        times = " and ".join(
            dict.fromkeys(f"{size:.4g}" for size in probe.factor[1].values())
        )
        cause = f"a factor other than {', '.join(SCALES)}"
        cause += "; if it is intended, check the table divided by it"
        raise Broken(f"all rows are multiplied by {times}", cause)
    for d_model in probe.widths:
        matrices, size = probe.turned(d_model), d_model / 2
        if probe.kind == "rotary":
            moving = np.abs(matrices - np.eye(d_model)).max(axis=(0, 1)) > MOVES
            size = np.where(moving, factor**2, 1)
        found.append(np.abs((matrices**2).sum(axis=1) / size - 1).max(axis=1))
    return compared(found, 0, 6 * probe.unit, note, probe.widths)


@law("shift", TURNING, after="batch start norm")
def shift(probe: Any) -> Measured:
    """One matrix, a rotation of each pair, maps every row to the next.

    Bound: 2τ of both rows: √2 for sine and cosine, the rest for the turn, which is fitted.
    Likely: the angles don't grow by the same amount from row to row.

    A pair in a row is off by √2·τ. The fitted turn is off by 3uω + u/30 (see `measure`), less than
    0.58·(τ + τ), at least 2.3u + 2.9uω. Without a layout, a rotation is turned by the step from 0
    to 1, whose own error adds 2·τ(1). A table takes the best matrix: least squares leaves no column
    a larger residual than the true rotation does, whose rows are off by τ and √2·τ, so the root of
    the sum of (1 + √2)²τ² over the rows bounds it.
    """
    later = range(1, probe.rows)
    allowed = probe.taus(range(probe.rows), probe.unit)
    if probe.layout is not None:
        waves = probe.readable[probe.layout][0]
        meant = waves[:-1] * np.exp(1j * conv.measure(waves)[0])
        return compared(
            waves[1:], meant, 2 * (allowed[1:] + allowed[:-1]), PLACE, later
        )
    if probe.kind == "rotary":
        matrices = probe.turned(probe.widths[0])
        meant = matrices[1] @ np.linalg.pinv(matrices[0]) @ matrices[:-1]
        bounds = 2 * (allowed[1:] + allowed[:-1] + allowed[1])[..., None]
        return compared(matrices[1:], meant, bounds, "position {}, dimension {}", later)
    table = probe.turned(probe.widths[0])[..., 0]
    off = table[:-1] @ np.linalg.lstsq(table[:-1], table[1:], rcond=None)[0] - table[1:]
    limit = (1 + math.sqrt(2)) * float(np.linalg.norm(allowed[1:]))
    return compared(
        np.linalg.norm(off, axis=0), 0, limit, "column {}; the best-fitting matrix"
    )


@law("offset", TURNING, after="start norm shift")
def offset(probe: Any) -> Measured:
    """The product of two rows (or the score of two words) depends only on their offset.

    Bound: 4√2 · Σ τ over the pairs of a row; 4(1 + √2)·τ·Σ|q|·max|k| for a score.
    Likely: the angles don't grow by the same amount from row to row.

    In a product of rows, each pair of the first, off by τ in sine and cosine, is multiplied by the
    second, |sin| + |cos| ≤ √2, and vice versa: 2√2·τ. A turned query is off by τ(|q₁| + |q₂|) in
    both dimensions of a pair. Times a turned key, |k₁| + |k₂| ≤ 2·max|k|: 2τ·Σ|q|·max|k| over the
    pairs. A turned pair of the query is at most √2·(|q₁| + |q₂|), so the key's error adds
    2√2·τ·Σ|q|·max|k|. Two products are compared, or two scores.
    """
    d_model = probe.widths[0]
    allowed = probe.taus(range(probe.rows), probe.unit)
    if probe.kind == "rotary":
        q, k = np.random.default_rng(0).normal(size=(2, d_model))
        query, key = (probe.turned(d_model) @ each for each in (q, k))
        size = np.abs(q).sum() * np.abs(k).max() * probe.attention_factor
        sums = (1 + 2**-0.5) * 2**0.5 * size * allowed.max(axis=1)
    else:
        query = key = probe.turned(d_model)[..., 0]
        sums = d_model / 2 * allowed.mean(axis=1)
    products = query @ key.T
    bounds = 2**2.5 * np.maximum(sums[1:, None], sums[None, 1:])
    note = "positions {} and {}, shifted by one"
    return compared(products[1:, 1:], products[:-1, :-1], bounds, note)


@law("identity", TURNING, after="start norm shift")
def identity(probe: Any) -> Measured:
    """Extrapolated to position 0, every sine is 0 and every cosine 1; nothing is turned.

    Bound: 4τ for a line that is fitted to the angles; 2u, τ at position 0, for a rotation.
    Likely: the pairs don't start at the same position.
    """
    if probe.kind != "rotary":
        if probe.fit is None:
            raise Skip("no known convention fits")
        return probe.fit.start, 1.0, IN_UNITS
    factor, sizes = probe.attention_factor, np.ones(probe.widths[0])
    if factor != 1 and probe.layout is not None:
        sizes[np.concatenate(probe.dims)] = factor
    order, limit = permutation(probe), 2 * probe.unit * max(factor, 1)
    note = f"dimension {{}}{order and f'; {order}, which no score notices'}"
    return compared(probe.turned(len(sizes))[0], np.diag(sizes), limit, note)


def permutation(probe: Rotation) -> str:
    """Describe the permutation of a rotation's output, or return ""."""
    order = [*probe.permutation(probe.widths[0])]
    changed = order != sorted(order)
    return f"the output is permuted: {' '.join(map(str, order))}" if changed else ""


@law("frequencies", TURNING, after="start norm shift identity")
def frequencies(probe: Any) -> Measured:
    """Frequencies fall by a constant factor from pair to pair; all widths share a base.

    Bound: 4τ / rows: a line is fitted to the angles.
    Likely: the exponent isn't a known one; if that is intended, pass `frequencies`.
    """
    if probe.layout is None:
        columns = probe.kind != "rotary"
        raise Broken("no pair of columns stays on a circle" if columns else NO_PAIRS)
    if probe.omega is not None:  # requested
        omega, (one, two) = np.asarray(probe.omega), probe.dims
        apart, asked = (
            int(two[0] - one[0]) if probe.layout == "halves" else len(one),
            len(omega),
        )
        invisible = (
            probe.layout == "neighbors" and apart < asked and not omega[apart:].any()
        )
        if apart != asked and not invisible:  # trailing pairs that don't turn
            how = (
                f"{len(one)} pairs turn, {apart} are paired, but {asked} were requested"
            )
            cause = "the pairs span the wrong part of the head: a partial rotation pairs within "
            raise Broken(
                how, f"{cause}its part, a proportional one across the whole head"
            )
        found = np.pad(probe.measured_omega, (0, asked - len(probe.measured_omega)))
        limit = conv.fitted(omega, probe.rows) / probe.rows
        return compared(conv.wrapped(found - omega), 0, limit, "pair {}")
    if probe.fit is not None:
        found = probe.fit.convention.base
        if probe.base is None or conv.same_base(found, probe.base):
            return probe.fit.frequency, 1.0, IN_UNITS
        how = f"base {found:.10g}, but {probe.base:.10g} was requested"
        raise Broken(how, "lost setting")
    if probe.kind == "rotary" and probe.axes:
        fits = []
        for axis in range(
            probe.axes
        ):  # the pairs of each by themselves, as in an axial encoding
            omega = np.abs(
                probe.omegas[axis, np.abs(probe.omegas).argmax(axis=0) == axis]
            )
            if len(omega) < PAIRS:
                raise Skip(
                    f"coordinate {axis} turns {len(omega)} pairs: too few for a base"
                )
            waves = np.exp(1j * np.outer(np.arange(probe.rows), omega))
            if not (
                best := conv.agree([[*conv.fits(waves, str(probe.layout), probe.unit)]])
            ):
                raise Broken(
                    f"no known base and exponent fit the pairs of coordinate {axis}"
                )
            fits.append(
                (best.frequency, 1.0, f"coordinate {axis} by itself, {IN_UNITS}")
            )
        return largest(fits)
    if (most := max(waves.shape[1] for waves in probe.readable[probe.layout])) < PAIRS:
        raise Skip(
            f"{most} pairs turn; a base takes at least {PAIRS}: pass larger widths"
        )
    raise Broken("no known base and exponent fit all widths")


@law("convention", TURNING, after="start norm shift identity frequencies")
def convention(probe: Any) -> None:
    """The convention is the requested one.

    Bound: exact, except numbers: base 1e-4, step 1e-5, start 1e-3, as precise as float32 allows.
    Likely: another layout, exponent or start: not a bug by itself, but it doesn't match the
    weights.
    """
    if (asked := probe.asked) is None:
        raise Skip("none was requested")
    if (found := probe.convention) is None:
        raise Broken("none known")
    turning = [waves.shape[1] for waves in probe.readable[probe.layout]]
    if not conv.alike(found, asked) or turning != [
        asked.pairs(d) for d in probe.widths
    ]:
        raise Broken(f"{found}, but {asked} was requested")
    if probe.kind == "rotary" and (order := permutation(probe)):
        raise Broken(f"permuted, but {asked} was requested", order)
    if probe.kind == "rotary" and (first := int(probe.dims[0][0])):
        how = f"dimensions {first} to {probe.dims[1][-1]} of {probe.widths[0]} turn, not the first"
        cause = "a partial rotation turns the first dimensions of a head: slices are swapped"
        raise Broken(how, cause)


@law("unique", TURNING, after="batch start norm shift far frequencies")
def unique(probe: Any) -> Measured:
    """No two rows are equal.

    Bound: 4u√d: two rows of d entries, rounded.
    Likely: positions are rounded, or too few frequencies are different.
    """
    seq_len, d_model = probe.at_most(probe.length), probe.widths[0]
    if probe.kind == "rotary":
        x = np.repeat([[1, 0.5]], d_model // 2, axis=1).repeat(seq_len, axis=0)
        table = probe.call(x, range(seq_len))
    else:
        table = probe.table(seq_len, d_model) / probe.scale
    squares, found = (table**2).sum(axis=1), (math.inf, 0, 0)
    for start in range(0, seq_len - 1, 256):  # in parts, to save memory
        part, later = slice(start, start + 256), table[start:]
        apart = squares[part, None] + squares[start:] - 2 * table[part] @ later.T
        np.fill_diagonal(apart, math.inf)
        one, two = sorted(
            int(each) for each in np.unravel_index(apart.argmin(), apart.shape)
        )
        near = float(np.linalg.norm(later[one] - later[two]))
        found = min(found, (near, start + one, start + two))
    near, one, two = found
    if near <= (limit := 4 * probe.unit * math.sqrt(d_model)):
        raise Broken(f"rows {one} and {two} are {near:.1e} apart")
    return (
        limit / near,
        1.0,
        f"nearest of {seq_len}: rows {one} and {two}, {near:.2g} apart",
    )


@law("axes", "rotary", after="norm")
def axes(probe: Rotation) -> Iterator[Measured]:
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
    omegas, asked = probe.omegas, probe.axis_of_pair
    owner, still = (
        np.abs(omegas).argmax(axis=0),
        np.abs(omegas).max(axis=1) * probe.rows <= MOVES,
    )
    by_pair = f"by pair {' '.join(map(str, owner))}"
    if still.any():
        raise Broken(f"coordinate {int(still.argmax())} turns nothing")
    if asked is not None and [*owner] != [*asked]:
        raise Broken(
            f"coordinates {by_pair}, where {' '.join(map(str, asked))} are asked for"
        )
    if probe.omega_of_axes is not None:
        size = min(omegas.shape[1], probe.omega_of_axes.shape[1])
        meant = probe.omega_of_axes[:, :size]
        limit = conv.fitted(meant.max(axis=0), probe.rows) / probe.rows
        off = conv.wrapped(omegas[:, :size] - meant)
        yield compared(off, 0, limit, "coordinate {}, pair {}")
    mixed = np.random.default_rng(0).integers(0, probe.rows, (5, probe.axes))
    together, apart = probe.matrices_of_axes(mixed), np.eye(probe.widths[0])
    for axis in np.eye(probe.axes, dtype=np.int64):
        apart = probe.matrices_of_axes(axis * mixed) / probe.attention_factor @ apart
    allowed = (2 * probe.axes + 1) * probe.taus(mixed.max(axis=1)).max(axis=1)[
        :, None, None
    ]
    together, note = together / probe.attention_factor, f"coordinates {{}}; {by_pair}"
    yield compared(together, apart, allowed, note, mixed.tolist())


@law(
    "float32", TURNING, after="start norm shift offset identity frequencies far unique"
)
def float32(probe: Any) -> Measured:
    """Entries match the convention's 50-digit values up to position 1 million.

    Bound: τ at each position: frequencies and angles in float32; plus the uncertainty of the fit,
    if base, step or start isn't a round number.
    Likely: errors exceed what float32 explains: a frequency in half precision, or a recurrence that
    is never restarted.
    """
    positions = positions_near(probe.limit)
    if probe.layout is None or (off := probe.off(positions)) is None:
        raise Skip("no convention to compare with")
    note = PLACE if probe.kind == "rotary" else f"{PLACE}, of {probe.limit}"
    return exact_rows(probe, off, positions, note)


def exact_rows(
    probe: Any, off: Waves, positions: list[int], note: str = PLACE
) -> Measured:
    """Compare the distance of sines and cosines from exact ones, with the bounds for these.

    A base, step or start that isn't round is known only as precisely as a line through the rows:
    its slope and its start, each with the error that `measure` derives, add to τ.
    """
    allowed, errors = (
        probe.taus(positions),
        np.maximum(np.abs(off.real), np.abs(off.imag)),
    )
    known = None if probe.omega is not None else probe.convention
    if known is not None and known != probe.asked:
        usual = known.step in conv.USUAL_STEPS and known.first == round(known.first, 2)
        if not usual or conv.digits_of(known.base) > (
            3 if probe.unit <= conv.UNIT else 1
        ):
            part = np.array(positions) / probe.rows + 1
            allowed = allowed + np.outer(part, 4 * probe.taus([probe.rows]))
    if probe.kind == "rotary":
        allowed = allowed.max(axis=1, keepdims=True)
    probe.errors = probe.errors or dict(
        zip(positions, errors.max(axis=1).tolist(), strict=True)
    )
    return compared(errors, 0, allowed, note, positions)


# Signs: what a broken law may look like, in the order in which they are looked for


@sign("table module", f"{ROWS} start steps batch token empty")
def known_table(probe: Any) -> str | None:
    """Compare with the museum's tables, at the requested base and the usual one."""
    d_model = probe.widths[0]
    table = probe.table(probe.rows, d_model)
    if (np.abs(table - table[0]) < 1e-6).all():
        equal = "batch for sequence" if probe.kind == "module" else "all rows are equal"
        return equal if table.any() else "sum thrown away"
    for base in (probe.base or 10_000.0, 10_000.0):
        for name in TABLES:  # rounded positions are looked for below, further out
            off = np.abs(table - wrong_table(name, probe.rows, d_model, base)).max()
            if name != "rounded positions" and off < 0.02:
                return {"swapped power": "minus sign"}.get(name, name)
    steps = np.abs(
        np.diff(probe.table(probe.at_most(probe.length), d_model), axis=0)
    ).max(axis=1)
    return "rounded positions" if int((steps < 1e-6).argmax()) in (256, 2048) else None


@sign("table module", "frequencies")
def no_rule(probe: Any) -> str | None:
    """Look for frequencies that are equal, or whose base changes with the width."""
    found = [
        each for each in probe.readable.get(probe.layout, ()) if each.shape[1] >= PAIRS
    ]
    if found and all(np.ptp(conv.measure(waves)[0]) < 1e-3 for waves in found):
        return "all ones"
    fits = [conv.fits(waves, probe.layout, probe.unit) for waves in found]
    from_one = [any(fit.convention.step == 1 for fit in each) for each in fits]
    return "slipped parenthesis" if len(fits) > 1 and all(from_one) else None


@sign("table module", ROWS)
def other_rows(probe: Any) -> str | None:
    """Look for rows of the right table in another order, or for some that were trained."""
    table = probe.table(probe.rows, probe.widths[0])
    if probe.layout is not None:
        right = Convention(probe.layout, base=probe.base or 10_000.0)
        rows = right.table(probe.rows, probe.widths[0])
        if all(np.abs(rows - row).max(axis=1).min() < 1e-3 for row in table):
            return "axes swapped"
    late, early = (table[-probe.rows // 4 :] ** 2).sum(1), (table**2).sum(1)
    return "trained table" if np.ptp(late) < 1e-3 < np.ptp(early) else None


@sign("rotary", "norm shift offset")
def wrong_factor(probe: Any) -> str | None:
    """Look for another attention factor than the asked, and for angles laid out for other pairs."""
    matrices, asked = probe.turned(probe.widths[0]), probe.attention_factor
    squares = (matrices**2).sum(axis=1)
    size = math.sqrt(squares.max() if squares.max() > 1 + 1e-3 else squares.min())
    if abs(size - asked) >= 1e-3 and np.ptp(squares, axis=0).max() <= 1e-3:
        if asked == 1:
            how = f"everything is multiplied by {size:.6g}: if that is an attention factor, such as"
            return f"{how} YaRN's, pass attention_factor={size:.6g}"
        missing = abs(size - 1) < 1e-3  # else it was applied twice, or is another
        return (
            f"the attention factor, {asked:.6g}, is missing"
            if missing
            else "attention factor"
        )
    cos, half = np.diag(matrices[1]), len(matrices[1]) // 2
    partner = int(np.abs(matrices[1] - np.diag(cos)).argmax(axis=0)[0])
    apart = {
        half: cos[0::2] - cos[1::2],
        1: cos[:half] - cos[half:],
    }  # 0 in the other layout
    if partner not in apart or not np.abs(apart[partner]).max() < MOVES < np.ptp(cos):
        return None
    paired, laid = (
        ("halves", "neighbors") if partner == half else ("neighbors", "halves")
    )
    code = {"neighbors": "`repeat_interleave(2)`", "halves": "`cat((omega, omega))`"}
    cause = f"pairs are {paired}, but their angles are laid out for {laid}"
    return f"{cause}: {code[laid]} is taken for {code[paired]}"


@sign("table module rotary", "identity")
def off_by_one(probe: Any) -> str | None:
    """Look for positions that begin at another number."""
    first = probe.convention.first if probe.convention else 0
    return (
        f"positions are counted from {first:g}, not from 0: start + {first:g}"
        if first
        else None
    )


@sign("rotary", "frequencies")
def wrong_frequencies(probe: Any) -> str | None:
    """Compare the measured frequencies with the requested ones, pair by pair."""
    if probe.omega is None or probe.layout is None:
        return None
    both = zip(probe.measured_omega, probe.omega, strict=False)
    ratio = np.array([found / asked for found, asked in both if asked > 0])
    wrong = np.flatnonzero(np.abs(ratio - 1) >= NEAR)
    if len(ratio) >= PAIRS and wrong.size and not {0, len(ratio) - 1} & {*wrong}:
        how = f"the ramp is wrong: pairs {wrong[0]} to {wrong[-1]} differ, the fastest and the "
        return (
            f"{how}slowest agree; its base, its betas or the original length is another"
        )
    if np.ptp(ratio) < NEAR and len(ratio) > 1:
        return f"all frequencies are {ratio[0]:.6g} times the requested ones"
    return "lost setting"


@sign("rotary", "shift offset frequencies unique")
def lost_shift(probe: Any) -> str | None:
    """Look for two positions in a row with the same turn."""
    waves = probe.readable.get(probe.layout, [np.arange(2.0)[:, None]])[0]
    return (
        "forgotten shift"
        if (np.abs(np.diff(waves, axis=0)).max(1) < 1e-6).any()
        else None
    )
