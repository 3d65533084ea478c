"""StepDoubling: any one-step scheme with an error estimate from one step h against two steps h/2 (Richardson)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from math import sqrt
from types import SimpleNamespace
from typing import Literal

import numpy as np

from saltus.compile.seam import handle, head, larger, row_of, tail, unit, whole
from saltus.compile.types import LAYOUT, MODEL, RECORD, RECORDS, STATE, STATES, A, F, I, Record, step_type
from saltus.compile.workspace import Numbers, Workspace, room
from saltus.errors import SettingError
from saltus.memory.layout import RATE_IDENTITY, Layout, sizes_of
from saltus.memory.record import COLUMN, EVENT
from saltus.memory.vectors import copy
from saltus.schemes.plan import SchemeLike, SchemePlan
from saltus.schemes.traits import traits_of

ERROR_NORMS = ("max", "rms", "mean")
# how far a step is off: weights of q, scratch, gaps at both ends, rows; off: of q and of v, see `impact_off`; hits:
# what happened in both halves and in the whole step, see `struck`
JUDGE = Workspace(
    "Judge", weight="nq", q_dot="nq", change="nv", g_k="nc + nj", g="nc + nj", W="nw", w="nr",
    off=Numbers("q_off v_off"), hits=Numbers("first second whole_step", integer=True),
)  # fmt: skip
# A step may keep what it factored for one h: half and whole steps get workspaces of their own.
WORK = Workspace(
    "StepDoubling", middle=STATES, first=RECORDS, judge=JUDGE, half_step=room("inner"), whole_step=room("inner")
)
# numbers before rtol and atol of q, then of v, which begin at WEIGHTS_AT
DOUBLED = Numbers("divisor degree_used dense norm velocity")
WEIGHTS_AT = DOUBLED.size


@dataclasses.dataclass(frozen=True)
class StepDoubling:
    """Advance by two half steps of `scheme` and estimate the error of the position from one whole step.

    It also reports what its differences cannot see, for controls to decide on: by how much contacts went deeper, and
    how far an impact may be off its place, which is the length of the half step times the jump of the velocity.

    Parameters
    ----------
    scheme
        Any one-step scheme.
    order
        Order p of the scheme assumed by the estimate |q_h - q_h/2| / (2^p - 1), weighted by
        atol + rtol |q|; the velocity is left out because it jumps. Controls such as Richardson() bring their own order.
    rtol, atol
        Weights of the estimate, scalars or one per coordinate: an error of 1 is at the tolerance. atol in units of q.
    norm
        How the coordinates make one number: "max", "rms" (Euclidean, root of the mean square) or "mean" (of absolute
        values).
    velocities
        Whether v counts too, with the same rtol and atol (in units of v), in steps without impacts.
    """

    scheme: SchemeLike
    order: int = 1
    rtol: float | Sequence[float] = dataclasses.field(default=1e-4, kw_only=True)
    atol: float | Sequence[float] = dataclasses.field(default=1e-4, kw_only=True)
    norm: Literal["max", "rms", "mean"] = dataclasses.field(default="max", kw_only=True)
    velocities: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self):
        if isinstance(self.scheme, type) or not hasattr(self.scheme, "plan"):
            raise SettingError(f"StepDoubling needs a scheme such as MoreauJean(), not {self.scheme!r}")
        who = type(self.scheme).__name__
        if traits_of(self.scheme).fixed_step:
            raise SettingError(f"StepDoubling halves steps, but {who} cannot change its step: wrap MoreauJean()")
        if traits_of(self.scheme).adaptive or traits_of(self.scheme).locates_events:
            raise SettingError(
                f"StepDoubling halves steps, but {who} ends them where it likes: give it tol=... and no wrapper"
            )
        if self.order < 1:
            raise SettingError(f"order of StepDoubling is {self.order}: it must be at least 1")
        if self.norm not in ERROR_NORMS:
            raise SettingError(
                f"norm of StepDoubling is {self.norm!r}: it must be one of {', '.join(map(repr, ERROR_NORMS))}"
            )
        if not isinstance(self.velocities, bool):
            raise SettingError(f"velocities of StepDoubling is {self.velocities!r}: it must be True or False")
        for field in ("rtol", "atol"):
            try:
                values = np.atleast_1d(np.array(getattr(self, field), dtype=float))
            except (TypeError, ValueError) as error:
                raise SettingError(
                    f"{field} of StepDoubling is {getattr(self, field)!r}: it must be numbers"
                ) from error
            if values.ndim != 1 or not np.all(values >= 0.0):
                raise SettingError(f"{field} of StepDoubling is {getattr(self, field)!r}: it must not be negative")
            object.__setattr__(self, field, float(values[0]) if np.ndim(getattr(self, field)) == 0 else tuple(values))
        if not np.any(np.add(np.max(self.rtol), np.max(self.atol)) > 0.0):
            raise SettingError(f"rtol = {self.rtol} and atol = {self.atol} of StepDoubling must not both vanish")

    def with_tolerance(self, rtol, atol) -> StepDoubling:
        """Return the same scheme with other tolerances; None keeps one."""
        given = {"rtol": rtol, "atol": atol}
        return dataclasses.replace(self, **{name: value for name, value in given.items() if value is not None})

    def _weights(self, field: str, nq: int, nv: int) -> list[np.ndarray]:
        """Return a tolerance for each coordinate and for each velocity."""
        values = np.atleast_1d(np.array(getattr(self, field), dtype=float))
        if len(values) not in (1, nq):
            raise SettingError(f"{field} of StepDoubling has {len(values)} entries, but q has {nq}")
        # where v has other entries than q, nothing says which belong together
        own = values if len(values) in (1, nv) else np.max(values)
        return [np.broadcast_to(values, (nq,)), np.broadcast_to(own, (nv,))]

    @property
    def name(self) -> str:
        return f"StepDoubling of {self.scheme.name}"

    def plan(self, layout: Layout) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        inner = self.scheme.plan(layout)
        nq, nv = int(layout.nq), int(layout.nv)
        rooms = {"memory": inner.memory.floats, "own": inner.memory, "inner": inner.work, **inner.tables}
        # events and dense output of the halves go straight into the record of the step
        rooms |= {"events": 0, "dense": 0}
        relative, absolute = self._weights("rtol", nq, nv), self._weights("atol", nq, nv)
        own_settings = [2.0**self.order - 1.0, self.order + 1, inner.dense, ERROR_NORMS.index(self.norm)]
        own_settings.append(float(self.velocities))
        return SchemePlan(
            scheme=self,
            step=step_doubling,
            settings=np.concatenate([own_settings, relative[0], absolute[0], relative[1], absolute[1]]),
            inner=inner,
            memory=inner.memory,
            work=WORK.plan({**sizes_of(layout), **rooms}),
            dense=nq + 2 * nv + 2 * inner.dense,
            events=2 * inner.events,
        )

    def interpolate(self, s, h, start, end, block, side):
        """Return q and v inside steps: each half by the inner scheme around the stored middle state."""
        nq, nv = start.q.shape[1], start.v.shape[1]
        parts = np.split(block, [nq, nq + nv, nq + 2 * nv, (nq + 2 * nv + block.shape[1]) // 2], axis=1)
        middle = SimpleNamespace(q=parts[0], v=parts[1], v_minus=parts[2], rate=end.rate)
        middle.q_dot = end.rate(middle.q, middle.v)
        early = (s < 0.5) | ((s == 0.5) & (side == "-"))
        first, last = _chosen(early, start, middle), _chosen(early, middle, end)
        place = np.where(early, 2.0 * s, 2.0 * s - 1.0)
        return self.scheme.interpolate(place, 0.5 * h, first, last, np.where(early, parts[3], parts[4]), side)


def _chosen(condition: np.ndarray, yes: SimpleNamespace, no: SimpleNamespace) -> SimpleNamespace:
    """Return the states of one or the other node, row by row."""
    names = ("q", "v", "v_minus", "q_dot")
    values = {name: np.where(condition, getattr(yes, name), getattr(no, name)) for name in names}
    return SimpleNamespace(**values, rate=no.rate)


@unit(*(step_type(depth) for depth in (1, 2, 3)))
def step_doubling(model, inner, settings, t, h, state, state_new, record, room):
    """Make a whole step and two halves; the halves are the step, the difference is its error estimate.

    in      inner: the scheme that makes the steps; state
    out     state_new, record of the two halves together, with error, misplaced, delayed and penetration
    """
    layout, work, dense = model.layout, WORK(room), whole(DOUBLED(settings).dense)
    middle, half, hits, out = work.middle, work.first, work.judge.hits, record.header
    status = inner.step(model, inner.inner, inner.settings, t, h, state, state_new, record, work.whole_step)
    if status != 0:
        return status
    hits.whole_step = struck(record.events, out.events_used)
    # only the state of the whole step is needed
    blocks = put_state(layout, state_new.q, state_new.v, record.v_minus, record.dense)
    blocks_of_halves = tail(record.dense, blocks)
    first = handle(
        Record(
            half.header, half.v_minus, half.impulse, half.dissipation, record.events,
            row_of(blocks_of_halves, 0, dense), record.counters, half.inside,
        )
    )  # fmt: skip
    status = inner.step(model, inner.inner, inner.settings, t, 0.5 * h, state, middle, first, work.half_step)
    if status != 0:
        return status
    hits.first = struck(record.events, half.header.events_used)
    events = tail(record.events, whole(half.header.events_used) * COLUMN.all)
    second = handle(
        Record(
            out, record.v_minus, record.impulse, record.dissipation, events, row_of(blocks_of_halves, 1, dense),
            record.counters, record.inside,
        )
    )  # fmt: skip
    status = inner.step(
        model, inner.inner, inner.settings, t + 0.5 * h, 0.5 * h, middle, state_new, second, work.half_step
    )
    if status != 0:
        return status
    hits.second = struck(events, out.events_used)
    misplaced_impacts(model, settings, h, state, state_new, record, work)
    error = difference_of_steps(model, settings, state, state_new, record, work.judge)
    out.penetration = deeper(model, t, h, state.q, state_new.q, work.judge) if layout.nc > 0 else 0.0
    put_state(layout, middle.q, middle.v, half.v_minus, record.dense)
    out.h_used, out.error, out.degree = h, error / DOUBLED(settings).divisor, DOUBLED(settings).degree_used
    out.dense_used = blocks + 2 * dense
    return join_halves(half, record)


@unit(I(LAYOUT, A, A, A, A), small=True)
def put_state(layout, q, v, v_minus, block):
    """Write a state with the left limit of its velocity to the head of a dense block; return where that ends."""
    nq, nv = layout.nq, layout.nv
    copy(q, head(block, nq))
    copy(v, head(tail(block, nq), nv))
    copy(v_minus, head(tail(block, nq + nv), nv))
    return nq + 2 * nv


@unit(I(MODEL, A, F, STATE, STATE, RECORD, WORK.kind))
def misplaced_impacts(model, settings, h, state, state_new, record, work):
    """Write what it means that impacts lie anywhere in their steps: misplaced and delayed of the header."""
    layout, judge, half, middle, block = model.layout, work.judge, work.first, work.middle, record.dense
    nq, nv, weight, hits, off = layout.nq, layout.nv, judge.weight, judge.hits, judge.off
    q_whole, v_whole, v_minus_whole = head(block, nq), head(tail(block, nq), nv), head(tail(block, nq + nv), nv)
    for i in range(nq):
        weight[i] = settings[WEIGHTS_AT + nq + i]
        weight[i] += settings[WEIGHTS_AT + i] * larger(abs(state.q[i]), abs(state_new.q[i]))
    off.q_off, off.v_off = 0.0, 0.0
    if hits.first > 0:
        impact_off(model, settings, hits.first, h, state.v, half.v_minus, middle.v, middle.q, judge)
    if hits.second > 0:
        impact_off(model, settings, hits.second, h, middle.v, record.v_minus, state_new.v, state_new.q, judge)
    if hits.whole_step > 0 and off.q_off == 0.0:
        impact_off(model, settings, hits.whole_step, h, state.v, v_minus_whole, v_whole, q_whole, judge)
    record.header.misplaced, record.header.delayed = off.q_off, off.v_off
    return 0


@unit(F(MODEL, A, STATE, STATE, RECORD, JUDGE.kind))
def difference_of_steps(model, settings, state, state_new, record, judge):
    """Return the difference of one step and two halves in units of the tolerance, in the norm of the settings."""
    layout, weight, off, block = model.layout, judge.weight, judge.off, record.dense
    nq, nv = layout.nq, layout.nv
    largest, squares, absolute, count = 0.0, 0.0, 0.0, nq
    for i in range(nq):
        one = abs(block[i] - state_new.q[i]) / weight[i]
        largest, squares, absolute = larger(largest, one), squares + one * one, absolute + one
    if DOUBLED(settings).velocity == 1.0 and off.q_off == 0.0:
        count += nv
        at = WEIGHTS_AT + 2 * nq
        for i in range(nv):
            one = settings[at + nv + i] + settings[at + i] * larger(abs(state.v[i]), abs(state_new.v[i]))
            one = abs(block[nq + i] - state_new.v[i]) / one
            largest, squares, absolute = larger(largest, one), squares + one * one, absolute + one
    if DOUBLED(settings).norm == 1.0:
        return sqrt(squares / count)
    return absolute / count if DOUBLED(settings).norm == 2.0 else largest


@unit(I(RECORD, RECORD))
def join_halves(half, record):
    """Add the books of the first half to those of the second."""
    header, out = half.header, record.header
    out.residual, out.violation = larger(out.residual, header.residual), larger(out.violation, header.violation)
    out.force_work += header.force_work
    out.drive_work += header.drive_work
    out.events_used += whole(header.events_used)
    # impulses of a half without reactions are not written
    for r in range(record.impulse.shape[0]):
        record.impulse[r] = out.reacted * record.impulse[r] + header.reacted * half.impulse[r]
    for c in range(record.dissipation.shape[0]):
        record.dissipation[c] = out.reacted * record.dissipation[c] + header.reacted * half.dissipation[c]
    out.reacted = larger(out.reacted, header.reacted)
    return 0


@unit(I(A, F))
def struck(events, used):
    """Return 2 when impacts are among the events of a step, 1 when contacts close without, else 0."""
    found = 0
    for k in range(whole(used)):
        kind = events[k * COLUMN.all + COLUMN.kind]
        if kind == EVENT.impact:
            found = 2
        if kind == EVENT.closing and found == 0:
            found = 1
    return found


@unit(I(MODEL, A, I, F, A, A, A, A, JUDGE.kind))
def impact_off(model, settings, hit, h, v_k, v_minus, v, q, judge):
    """Raise `judge.off` to what an impact in this half step leaves open, in units of the tolerances.

    It lies anywhere in the half: q is off by its length times the jump of q_dot, v by what the forces do in its length.
    """
    nq, nv = model.layout.nq, model.layout.nv
    weight, q_dot, change, off = judge.weight, judge.q_dot, judge.change, judge.off
    at = WEIGHTS_AT + 2 * nq
    at_end = hit == 1
    for i in range(nv):
        at_end = at_end or v[i] != v_minus[i]
    for i in range(nv):
        jump, total = v[i] - v_minus[i], v[i] - v_k[i]
        change[i] = jump if abs(jump) > abs(total) else total
        allowed = settings[at + nv + i] + settings[at + i] * larger(abs(v_k[i]), abs(v[i]))
        if at_end:  # an impact inside of the step leaves no left limit to compare with
            off.v_off = larger(off.v_off, abs(v_minus[i] - v_k[i]) / allowed)
    rate = change
    if (model.layout.features & RATE_IDENTITY) == 0:
        model.rate(q, change, model.par, q_dot)
        rate = q_dot
    for i in range(nq):
        off.q_off = larger(off.q_off, 0.5 * h * abs(rate[i]) / weight[i])
    return 0


@unit(F(MODEL, F, F, A, A, JUDGE.kind))
def deeper(model, t, h, q_k, q, judge):
    """Return by how much a contact penetrates deeper than at the start, in units of what the tolerances allow a gap.

    A gap may err by the sum of |W| times the tolerances of the coordinates that move it.
    """
    layout = model.layout
    nq, nv, nc = layout.nq, layout.nv, layout.nc
    weight, g_k, g, W, w = judge.weight, judge.g_k, judge.g, judge.W, judge.w
    model.gap(t + h, q, model.par, g)
    below = False
    for c in range(nc):
        below = below or g[c] < 0.0
    if not below:
        return 0.0
    model.gap(t, q_k, model.par, g_k)
    model.kinematics(t + h, q, model.par, W, w)
    most, largest = 0.0, 0.0
    for i in range(nq):
        most = larger(most, weight[i])
    for c in range(nc):
        depth = -g[c] - larger(-g_k[c], 0.0)
        if depth <= 0.0:
            continue
        first, allowed = layout[layout.contact_row + c], 0.0
        for k in range(layout[layout.W_ptr + first], layout[layout.W_ptr + first + 1]):
            allowed += abs(W[k]) * (weight[layout[layout.W_col + k]] if nq == nv else most)
        largest = larger(largest, depth / allowed)
    return largest
