"""Extrapolated: Aitken-Neville extrapolation of a time stepping in steps without impacts (Studer, Leine, Glocker 2008).

Column j makes n_j steps h/n_j of the scheme. Where all of them agree about the contacts, the columns are combined with
the weights that cancel the leading powers of h/n_j; elsewhere the step is made of small substeps alone.
"""

from __future__ import annotations

import dataclasses
import itertools
import numbers
from collections.abc import Sequence
from math import sqrt
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import handle, head, larger, room_at, row_of, tail, unit, whole
from saltus.compile.types import MODEL, RECORD, RECORDS, STATE, STATES, A, F, I, Record, scheme_handle, step_type
from saltus.compile.workspace import Numbers, Workspace, rooms
from saltus.errors import SettingError
from saltus.laws import friction_rows
from saltus.memory.layout import HAS_RETRACT, RATE_IDENTITY, W_CONSTANT, Layout, sizes_of
from saltus.memory.profile import factor, solve_row
from saltus.memory.record import COLUMN, EVENT
from saltus.memory.vectors import clear, copy
from saltus.reaction.react import row_add, row_dot
from saltus.schemes.plan import SchemeLike, SchemePlan, one_friction
from saltus.schemes.traits import traits_of

# numbers before the substeps of the columns, which begin at SUBSTEPS_AT; weights stand behind them. stale, stale_end:
# of the memory, what is to be forgotten once q and v are combined
SEQUENCE = Numbers("columns dense events stale stale_end even_free even_closed")
SUBSTEPS_AT = SEQUENCE.size


class _Extrapolation(NamedTuple):
    """Tuned numbers of this file."""

    most_columns: int = 8  # weights of more columns amplify rounding
    grip: float = 1.0 - 1e-10  # |P_T| below this share of mu P_N is sticking
    burst: float = 4.0  # a substep with more than this times the mean impulse of the others is an impact
    rounding: float = 1e-12  # what rounding leaves of gaps [m], and of the friction cone relative to |P_T|
    most_moves: int = 4  # Newton steps onto held constraints: they start within the error of a step
    block_header: int = 2  # that number, then how many substeps or where the state inside of the step is


EXTRAPOLATION = _Extrapolation()


class _Substep(NamedTuple):
    """How a contact acts in a substep."""

    open: float = 0.0
    sticking: float = 1.0
    sliding: float = 2.0
    backwards: float = 3.0


SUBSTEP = _Substep()


class _DenseBlock(NamedTuple):
    """What a dense block holds."""

    substates: float = 0.0
    cubic: float = 1.0
    cubic_alone: float = 2.0


DENSE_BLOCK = _DenseBlock()


# left, along, answer, y: of conjugate gradients, see `shortest`
HOLD = Workspace(
    "HoldColumns", lu="size", W="nw", w="nr", X="nx", short="nc + nj", push="nc + nj", left="nc + nj", along="nc + nj",
    answer="nc + nj", y="nv", move="nv", q_dot="nq",
)  # fmt: skip
COMBINE = Workspace("Combine", held="nc + nj", target="nc + nj", g="nc + nj", hold=HOLD)
# now: smooth: 1 as long as the columns agree; rows: events of this one; deepest: violation of them [m]. results: q, v,
# impulse, dissipation and two works of every column, `best` the same of their combination; acting, peak: how each
# contact acts, its largest impulse of one substep. A step may keep what it factored for one h: every column gets a
# room.
WORK = Workspace(
    "Extrapolated", now=Numbers("smooth rows deepest"), one=STATES, two=STATES, substep=RECORDS, v_inside="nv",
    acting="nc", peak="nc", results="(columns + 1) * (nq + nv + nr + nc + 2)", best="nq + nv + nr + nc + 2",
    combine=COMBINE, steps=rooms("inner", "columns + 1"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Extrapolated:
    """Aitken-Neville extrapolation of `scheme` in steps without impacts; small substeps of it in the others.

    Parameters
    ----------
    scheme
        A one-step scheme whose smooth error is a series in powers of h: MoreauJean or PaoliVelocity.
    order
        Order in smooth motion, 2 to 6: the number of columns. Twice as high where the series has even powers only.
        MoreauJean(at="theta") takes one column more for curved contacts.
    sequence
        Substeps of the columns, increasing whole numbers, at least `order` of them; None: 1, 2, 3, ...
    symmetric
        Whether the series has even powers only; None asks the scheme (MoreauJean with theta = 1/2 says yes).
    impact_substeps
        Substeps of the scheme, 2 or more, that make a step whose columns disagree.
    """

    scheme: SchemeLike
    order: int = 2
    sequence: Sequence[int] | None = dataclasses.field(default=None, kw_only=True)
    symmetric: bool | None = dataclasses.field(default=None, kw_only=True)
    impact_substeps: int = dataclasses.field(default=8, kw_only=True)

    def __post_init__(self):
        if isinstance(self.scheme, type) or not hasattr(self.scheme, "plan"):
            raise SettingError(f"Extrapolated needs a scheme such as MoreauJean(), not {self.scheme!r}")
        kind = type(self.scheme).__name__
        if hasattr(self.scheme, "scheme"):
            raise SettingError(f"Extrapolated needs a scheme that wraps no other: give {kind} the extrapolated scheme")
        if traits_of(self.scheme).adaptive or traits_of(self.scheme).locates_events:
            raise SettingError(f"Extrapolated repeats steps, but {kind} chooses where they end: wrap MoreauJean()")
        if traits_of(self.scheme).filters:
            raise SettingError(
                f"Extrapolated needs errors that are a series in h, those of {kind} are none: wrap MoreauJean()"
            )
        if traits_of(self.scheme).fixed_step:
            raise SettingError(f"Extrapolated divides steps, but {kind} cannot change its step: wrap MoreauJean()")
        if not _is_whole(self.order) or not 2 <= self.order <= EXTRAPOLATION.most_columns - 2:
            raise SettingError(
                f"order of Extrapolated is {self.order!r}: it must be 2 to {EXTRAPOLATION.most_columns - 2}"
            )
        if not _is_whole(self.impact_substeps) or self.impact_substeps < 2:
            raise SettingError(f"impact_substeps of Extrapolated is {self.impact_substeps!r}: it must be 2 or more")
        if self.symmetric not in (None, True, False):
            raise SettingError(f"symmetric of Extrapolated is {self.symmetric!r}: it must be True, False or None")
        if self.sequence is None:
            return
        given = tuple(self.sequence) if isinstance(self.sequence, Sequence | np.ndarray) else (self.sequence,)
        if not all(_is_whole(n) and n > 0 for n in given) or any(b <= a for a, b in itertools.pairwise(given)):
            raise SettingError(f"sequence of Extrapolated is {self.sequence!r}: it must be increasing, like (1, 2, 4)")
        if not self.order <= len(given) <= EXTRAPOLATION.most_columns:
            raise SettingError(
                f"sequence of Extrapolated has {len(given)} columns: order {self.order} needs {self.order} to "
                f"{EXTRAPOLATION.most_columns}"
            )
        object.__setattr__(self, "sequence", tuple(int(n) for n in given))

    @property
    def name(self) -> str:
        return f"Extrapolated {self.scheme.name}"

    def substeps(self, layout: Layout) -> tuple[int, ...]:
        """Return the substeps of the columns for a system with this layout."""
        if self.sequence is not None:
            return tuple(self.sequence)
        # then the first substep starts along a curved contact, the others a little beside it: that costs a power
        curved = layout.nc > 0 and not layout.features & W_CONSTANT and traits_of(self.scheme).contact_inside
        return tuple(range(1, self.order + 1 + bool(curved)))

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        one_friction(layout, "Extrapolated")
        inner = self.scheme.plan(layout)
        nq, nv = int(layout.nq), int(layout.nv)
        n = self.substeps(layout)
        even = traits_of(self.scheme).symmetric if self.symmetric is None else self.symmetric
        planar = friction_rows(layout) < 2
        even_closed = bool(even and layout.features & W_CONSTANT and planar)
        stale = range(0) if inner.forget is None else inner.memory.place(inner.forget)
        settings = [len(n), inner.dense, inner.events, stale.start, stale.stop]
        rooms_of = {"memory": inner.memory.floats, "own": inner.memory, "inner": inner.work, "columns": len(n)}
        impact = self.impact_substeps
        return SchemePlan(
            scheme=self,
            step=extrapolated,
            settings=np.array(
                [*settings, even, even_closed, *n, impact, *_weights(n, 1), *_weights(n, 2)], dtype=float
            ),
            inner=inner,
            memory=inner.memory,
            work=WORK.plan({**sizes_of(layout), **inner.tables, **rooms_of}),
            dense=EXTRAPOLATION.block_header + max(nv, (impact - 1) * (nq + 2 * nv) + impact * inner.dense),
            events=max(n[-1], impact) * inner.events,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside steps: cubic where extrapolated, else by the inner scheme around the stored states."""
        q, v = np.empty(start.q.shape), np.empty(start.v.shape)
        for kind, inside in (
            (DENSE_BLOCK.substates, self._substep),
            (DENSE_BLOCK.cubic, _cubic),
            (DENSE_BLOCK.cubic_alone, _cubic),
        ):
            rows = np.flatnonzero(block[:, 0] == kind)
            if len(rows):
                ends = _rows(start, rows), _rows(end, rows)
                q[rows], v[rows] = inside(s[rows], h[rows], *ends, block[rows], side)
        return q, v

    def _substep(self, s, h, start, end, block, side):
        """The inner scheme between the stored states of a step with impacts."""
        nq, nv = start.q.shape[1], start.v.shape[1]
        n, width, states = int(block[0, 1]), nq + 2 * nv, [start]
        for k in range(n - 1):
            at = EXTRAPOLATION.block_header + k * width
            q, v, v_minus = np.split(block[:, at : at + width], [nq, nq + nv], axis=1)
            states.append(SimpleNamespace(q=q, v=v, v_minus=v_minus, q_dot=end.rate(q, v), rate=end.rate))
        states.append(end)
        at = np.floor(s * n) if side == "+" else np.ceil(s * n) - 1.0
        at = np.clip(at, 0, n - 1).astype(int)[:, 0]
        first, last = _picked(states, at), _picked(states, at + 1)
        dense = block[:, EXTRAPOLATION.block_header + (n - 1) * width :].reshape(len(block), n, -1)[
            np.arange(len(at)), at
        ]
        return self.scheme.interpolate(s * n - at[:, None], h / n, first, last, dense, side)


def _is_whole(value) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _weights(n: Sequence[int], power: int) -> np.ndarray:
    """Return the weights of the columns at h -> 0 (Neville's for powers of h^power): product of x_i/(x_i - x_j)."""
    x = 1.0 / np.asarray(n, dtype=float) ** power
    return np.array([np.prod([x[i] / (x[i] - x[j]) for i in range(len(x)) if i != j]) for j in range(len(x))])


def _cubic(s, h, start, end, block, side):
    """Hermite's cubic for q; v is its slope, or a parabola through a stored state where q_dot is not v."""
    rise, early, late = end.q - start.q, h * start.q_dot, h * end.q_dot
    bend, twist = 3.0 * rise - 2.0 * early - late, early + late - 2.0 * rise
    q = start.q + s * (early + s * (bend + s * twist))
    if block[0, 0] == DENSE_BLOCK.cubic_alone:
        return q, (early + s * (2.0 * bend + 3.0 * s * twist)) / h
    place, v_inside = (
        block[:, 1:2],
        block[:, EXTRAPOLATION.block_header : EXTRAPOLATION.block_header + start.v.shape[1]],
    )
    line = start.v + s * (end.v - start.v)
    chord = start.v + place * (end.v - start.v)
    return q, line + s * (1.0 - s) / (place * (1.0 - place)) * (v_inside - chord)


def _rows(node: SimpleNamespace, rows: np.ndarray) -> SimpleNamespace:
    """Return some rows of a node."""
    values = {name: getattr(node, name)[rows] for name in ("q", "v", "v_minus", "q_dot")}
    return SimpleNamespace(**values, rate=node.rate)


def _picked(nodes: list[SimpleNamespace], at: np.ndarray) -> SimpleNamespace:
    """Return for each row the node of that number."""
    row = np.arange(len(at))
    values = {
        name: np.stack([getattr(node, name) for node in nodes])[at, row] for name in ("q", "v", "v_minus", "q_dot")
    }
    return SimpleNamespace(**values, rate=nodes[-1].rate)


@unit(step_type(1))
def extrapolated(model, inner, settings, t, h, state, state_new, record, room):
    """Make all columns and combine them; where they disagree about the contacts, make the column of small substeps.

    in      inner: the scheme that makes the substeps; state
    out     state_new, record
    """
    layout, work, out = model.layout, WORK(room), record.header
    columns, width = whole(SEQUENCE(settings).columns), layout.nq + layout.nv + layout.nr + layout.nc + 2
    # ---- columns; once they disagree only the column for impacts is needed
    now, results, best = work.now, work.results, work.best
    now.smooth, now.deepest, out.reacted, out.residual, violation = 1.0, 0.0, 0.0, 0.0, -1.0
    for j in range(columns + 1):
        impulsive = j == columns
        if (now.smooth == 1.0) == impulsive:
            continue
        made = row_of(results, j, width)
        clear(made)
        clear(work.peak)
        if impulsive:
            out.reacted, now.deepest = 0.0, 0.0
        status = make_column(model, inner, settings, t, h, j, state, state_new, record, work)
        if status != 0:
            return status
        copy(state_new.q, head(made, layout.nq))
        copy(state_new.v, head(tail(made, layout.nq), layout.nv))
        if now.smooth == 1.0 and j == columns - 1:
            violation = combine(
                model, settings, t, h, state.q, work.acting, work.peak, now.deepest, results, best, work.combine
            )
            now.smooth = 1.0 if violation >= 0.0 else 0.0
    chosen = best if now.smooth == 1.0 else row_of(results, columns, width)
    if now.smooth == 1.0:
        take_smooth(model, settings, state_new, record, work)
    else:
        n, stored = whole(settings[SUBSTEPS_AT + columns]), layout.nq + 2 * layout.nv
        record.dense[0], record.dense[1] = DENSE_BLOCK.substates, n
        out.dense_used = EXTRAPOLATION.block_header + (n - 1) * stored + n * whole(SEQUENCE(settings).dense)
    at = layout.nq + layout.nv
    copy(work.substep.v_minus, record.v_minus)
    copy(tail(chosen, at), record.impulse)
    copy(tail(chosen, at + layout.nr), record.dissipation)
    out.h_used, out.error, out.degree = h, 0.0, 0.0
    out.violation, out.events_used = violation if now.smooth == 1.0 else now.deepest, now.rows
    out.force_work, out.drive_work = chosen[width - 2], chosen[width - 1]
    return 0


@unit(I(MODEL, scheme_handle(0), A, F, F, I, STATE, STATE, RECORD, WORK.kind))
def make_column(model, inner, settings, t, h, j, state, state_new, record, work):
    """Make the substeps of a column, the last one for impacts; now.smooth becomes 0 where it disagrees with others."""
    columns, dense, n = (
        whole(SEQUENCE(settings).columns),
        whole(SEQUENCE(settings).dense),
        whole(settings[SUBSTEPS_AT + j]),
    )
    events_room, stored = whole(SEQUENCE(settings).events) * COLUMN.all, model.layout.nq + 2 * model.layout.nv
    one, two, substep, block, impulsive, now = work.one, work.two, work.substep, record.dense, j == columns, work.now
    now.rows = 0.0
    for k in range(n):
        begin = state if k == 0 else (one if k % 2 == 1 else two)
        end = state_new if k == n - 1 else (one if k % 2 == 0 else two)
        events, place = substep.events, EXTRAPOLATION.block_header + (n - 1) * stored + k * dense
        if j >= columns - 1:
            events = head(tail(record.events, whole(now.rows) * COLUMN.all), events_room)
        inside = head(tail(block, place), dense) if impulsive else substep.dense
        part = handle(
            Record(
                substep.header, substep.v_minus, substep.impulse, substep.dissipation, events, inside, record.counters,
                substep.inside,
            )
        )  # fmt: skip
        status = inner.step(
            model, inner.inner, inner.settings, t + k * h / n, h / n, begin, end, part, room_at(work.steps, j)
        )
        if status != 0 and impulsive:
            return status
        if status != 0:  # a column that fails cannot agree with the others
            now.smooth = 0.0
            return 0
        if now.smooth == 1.0 and alike(model, part, work.acting, 1 if j + k == 0 else 0) == 0:
            now.smooth = 0.0
        add_substep(model, j, record, work)
        if impulsive and k < n - 1:
            node = tail(block, EXTRAPOLATION.block_header + k * stored)
            copy(end.q, head(node, model.layout.nq))
            copy(end.v, head(tail(node, model.layout.nq), model.layout.nv))
            copy(substep.v_minus, head(tail(node, model.layout.nq + model.layout.nv), model.layout.nv))
        if k + 1 == n // 2:
            copy(end.v, work.v_inside)
    return 0


@unit(I(MODEL, I, RECORD, WORK.kind))
def add_substep(model, j, record, work):
    """Add impulses, energy and the number of events of a substep to those of its column."""
    layout, substep, out, now, peak = model.layout, work.substep, record.header, work.now, work.peak
    nc, nr, at, header, P = layout.nc, layout.nr, layout.nq + layout.nv, substep.header, substep.impulse
    made = row_of(work.results, j, at + nr + nc + 2)
    now.rows += whole(header.events_used)
    now.deepest = larger(now.deepest, header.violation)
    if header.reacted == 1.0:  # else the impulses are not written
        out.reacted, out.residual = 1.0, larger(out.residual, header.residual)
        for r in range(nr):
            made[at + r] += P[r]
        for c in range(nc):
            made[at + nr + c] += substep.dissipation[c]
            peak[c] = larger(peak[c], P[layout[layout.contact_row + c]])
    made[at + nr + nc] += header.force_work
    made[at + nr + nc + 1] += header.drive_work
    return 0


@unit(I(MODEL, A, STATE, RECORD, WORK.kind))
def take_smooth(model, settings, state_new, record, work):
    """Take the combination of all columns as the step; its dense output is a cubic, or one with a place inside."""
    layout, block, best, out, now = model.layout, record.dense, work.best, record.header, work.now
    nq, nv, n, events = (
        layout.nq,
        layout.nv,
        whole(settings[SUBSTEPS_AT + whole(SEQUENCE(settings).columns) - 1]),
        record.events,
    )
    found, rows = whole(now.rows), 0
    for k in range(found):  # what a scheme takes for impacts on a curved wall is none
        if events[k * COLUMN.all + COLUMN.kind] != EVENT.impact:
            copy(row_of(events, k, COLUMN.all), row_of(events, rows, COLUMN.all))
            rows += 1
    now.rows = rows
    block[0], block[1] = DENSE_BLOCK.cubic, (n // 2) / n
    for i in range(nv):
        block[EXTRAPOLATION.block_header + i] = work.v_inside[i] + block[1] * (best[nq + i] - state_new.v[i])
    out.dense_used = EXTRAPOLATION.block_header + nv
    copy(best, state_new.q)
    copy(tail(best, nq), state_new.v)
    copy(tail(best, nq), work.substep.v_minus)
    for i in range(whole(SEQUENCE(settings).stale), whole(SEQUENCE(settings).stale_end)):
        state_new.memory[i] = 0.0  # it belongs to the finest column
    if (layout.features & RATE_IDENTITY) != 0:
        block[0], out.dense_used = DENSE_BLOCK.cubic_alone, 1.0
    return 0


@unit(F(MODEL, A, F, F, A, A, A, F, A, A, COMBINE.kind))
def combine(model, settings, t, h, q_k, acting, peak, deepest, results, best, work):
    """Write the extrapolated step to `best` and return its violation [m], or -1 where it must not be used.

    acting, peak: how each contact acts, its largest impulse of one substep; deepest: violation of the columns.
    """
    layout, par = model.layout, model.par
    nq, nv, nc, nj, nr = layout.nq, layout.nv, layout.nc, layout.nj, layout.nr
    columns, width = whole(SEQUENCE(settings).columns), best.shape[0]
    finest = row_of(results, columns - 1, width)
    others, even = settings[SUBSTEPS_AT + columns - 1] - 1.0, SEQUENCE(settings).even_free
    for c in range(nc):
        if acting[c] != SUBSTEP.open:
            even = SEQUENCE(settings).even_closed
            if others * peak[c] > EXTRAPOLATION.burst * (finest[nq + nv + layout[layout.contact_row + c]] - peak[c]):
                return -1.0

    weights = head(tail(settings, SUBSTEPS_AT + columns + 1 + (columns if even == 1.0 else 0)), columns)
    for i in range(width):
        best[i] = 0.0
        for j in range(columns):
            best[i] += weights[j] * results[j * width + i]
    q, v = head(best, nq), head(tail(best, nq), nv)
    if (layout.features & HAS_RETRACT) != 0:
        model.retract(q, par)
    if nc + nj == 0:
        return 0.0
    m = nc + nj
    held, target, g = work.held, work.target, work.g
    model.gap(t, q_k, par, target)
    for i in range(m):
        held[i] = 1.0 if i >= nc or acting[i] != SUBSTEP.open else 0.0
    P = head(tail(best, nq + nv), nr)
    if hold(model, t + h, held, target, q, v, P, work.hold) != 0:
        return -1.0
    if admissible(model, P, head(tail(finest, nq + nv), nr)) == 0:
        return -1.0
    violation = 0.0
    model.gap(t + h, q, par, g)
    for i in range(m):
        depth, before = (-g[i], -target[i]) if i < nc else (abs(g[i]), abs(target[i]))
        if not depth <= (larger(before, 0.0) if held[i] == 1.0 else deepest) + EXTRAPOLATION.rounding:
            return -1.0
        violation = larger(violation, depth)
    return violation


@unit(I(MODEL, RECORD, A, I))
def alike(model, part, acting, first):
    """Return 1 when a substep meets the contacts as the first one did, which fills `acting`."""
    layout = model.layout
    header, P = part.header, part.impulse
    for k in range(whole(header.events_used)):
        kind = part.events[k * COLUMN.all + COLUMN.kind]
        if (
            kind != EVENT.impact
            and kind != EVENT.closing
            and kind != EVENT.release
            and kind != EVENT.stick
            and kind != EVENT.slip
        ):
            return 0
    same = 1
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        mode = SUBSTEP.open
        if header.reacted == 1.0 and P[row] > 0.0:
            friction = 0.0
            for r in range(row + 1, end):
                friction += P[r] * P[r]
            mode = SUBSTEP.sticking
            if end > row + 1 and sqrt(friction) >= EXTRAPOLATION.grip * model.mu[c] * P[row]:
                mode = SUBSTEP.backwards if end == row + 2 and P[row + 1] < 0.0 else SUBSTEP.sliding
        if first == 1:
            acting[c] = mode
        elif acting[c] != mode:
            same = 0
    return same


@unit(I(MODEL, A, A))
def admissible(model, P, P_finest):
    """Return 1 when contacts push and friction stays in its cone; what an error of P takes out of it is taken off."""
    layout = model.layout
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if not P[row] >= 0.0:
            return 0
        friction, change = 0.0, 0.0
        for r in range(row + 1, end):
            friction += P[r] * P[r]
            change += (P[r] - P_finest[r]) * (P[r] - P_finest[r])
        friction, most = sqrt(friction), model.mu[c] * P[row]
        if friction > most:
            if friction - most > sqrt(change) + EXTRAPOLATION.rounding * friction:
                return 0
            for r in range(row + 1, end):
                P[r] *= most / friction
    return 1


@unit(I(MODEL, F, A, A, A, A, A, HOLD.kind))
def hold(model, t, held, target, q, v, P, work):
    """Move q until held constraints have the gaps `target`, v until they keep them, both by the shortest way in M.

    P receives the impulses that move v. Without it a gap of the size of the error opens after each
    step, the next forecast finds it open and the contact chatters.
    """
    layout, par = model.layout, model.par
    nq, nv, nc, nj, nr = layout.nq, layout.nv, layout.nc, layout.nj, layout.nr
    m = nc + nj
    lu, W, w, X, short, push = work.lu, work.W, work.w, work.X, work.short, work.push
    move, q_dot = work.move, work.q_dot
    for k in range(EXTRAPOLATION.most_moves + 1):
        model.gap(t, q, par, short)
        worst = 0.0
        for i in range(m):
            # gaps of rounding's size are closed: kept, they would add up from step to step
            short[i] -= target[i] if abs(target[i]) > EXTRAPOLATION.rounding else 0.0
            worst = larger(worst, held[i] * abs(short[i]))
        done = worst <= 1e-3 * EXTRAPOLATION.rounding or k == EXTRAPOLATION.most_moves
        if k == 0 or not done:
            model.mass(t, q, par, lu)
            status = factor(layout, lu)
            if status != 0:
                return status
            model.kinematics(t, q, par, W, w)
            for i in range(m):
                row = layout[layout.contact_row + i] if i < nc else nr - nj + i - nc
                if held[i] == 1.0:
                    solve_row(layout, lu, W, row, X, move)
        if done:
            break
        shortest(model, held, work)
        model.rate(q, move, par, q_dot)
        for i in range(nq):
            q[i] += q_dot[i]
        if (layout.features & HAS_RETRACT) != 0:
            model.retract(q, par)
    for i in range(m):
        row = layout[layout.contact_row + i] if i < nc else nr - nj + i - nc
        short[i] = row_dot(layout, W, row, v) + w[row]
    shortest(model, held, work)
    for i in range(nv):
        v[i] += move[i]
    for i in range(m):
        P[layout[layout.contact_row + i] if i < nc else nr - nj + i - nc] += push[i]
    return 0


@unit(I(MODEL, A, HOLD.kind))
def shortest(model, held, work):
    """Write the shortest move X push with W^T move = -short in held rows; all of them are those of the workspace.

    By conjugate gradients: redundant rows do no harm.
    """
    layout = model.layout
    nv, nc, nj, nr = layout.nv, layout.nc, layout.nj, layout.nr
    m = nc + nj
    W, X, short, move, push = work.W, work.X, work.short, work.move, work.push
    left, along, answer, y = work.left, work.along, work.answer, work.y
    for i in range(nv):
        move[i] = 0.0
    size, first = 0.0, 0.0
    for i in range(m):
        left[i], push[i] = -held[i] * short[i], 0.0
        along[i] = left[i]
        size += left[i] * left[i]
    first = size
    for _ in range(2 * m):
        if size <= 1e-32 * first:
            break
        for i in range(nv):
            y[i] = 0.0
        for i in range(m):
            if held[i] == 1.0:
                row_add(layout, X, layout[layout.contact_row + i] if i < nc else nr - nj + i - nc, along[i], y)
        curvature = 0.0
        for i in range(m):
            answer[i] = 0.0
            if held[i] == 1.0:
                answer[i] = row_dot(layout, W, layout[layout.contact_row + i] if i < nc else nr - nj + i - nc, y)
            curvature += along[i] * answer[i]
        if not curvature > 0.0:
            break
        length, before = size / curvature, size
        size = 0.0
        for i in range(nv):
            move[i] += length * y[i]
        for i in range(m):
            left[i] -= length * answer[i]
            push[i] += length * along[i]
            size += left[i] * left[i]
        for i in range(m):
            along[i] = left[i] + size / before * along[i]
    return 0
