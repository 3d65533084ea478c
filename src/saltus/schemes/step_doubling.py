"""StepDoubling: any one-step scheme with an error estimate from one step h against two steps h/2 (Richardson)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np

from saltus.compile.seam import handle, larger, unit, vec, whole
from saltus.compile.types import Record, State, step_type
from saltus.errors import SettingError
from saltus.layout import NC, NQ, NR, NV
from saltus.record import (
    DEGREE,
    DENSE_USED,
    DRIVE_WORK,
    ERROR,
    EVENT_COLUMNS,
    EVENTS_USED,
    FORCE_WORK,
    H_USED,
    HEADER_SIZE,
    REACTED,
    RESIDUAL,
    VIOLATION,
)
from saltus.schemes.plan import SchemeLike, SchemePlan


@dataclasses.dataclass(frozen=True)
class StepDoubling:
    """Advance by two half steps of `scheme` and estimate the error of the position from one whole step.

    Parameters
    ----------
    scheme
        Any one-step scheme.
    order
        Order p of the scheme assumed by the estimate |q_h - q_h/2| / (2^p - 1), weighted by
        atol + rtol |q|; the velocity is left out because it jumps.
    rtol, atol
        Weights of the estimate, scalars or one per coordinate: an error of 1 is at the tolerance. atol in units of q.
    """

    scheme: SchemeLike
    order: int = 1
    rtol: float | Sequence[float] = dataclasses.field(default=1e-4, kw_only=True)
    atol: float | Sequence[float] = dataclasses.field(default=1e-4, kw_only=True)

    def __post_init__(self):
        if isinstance(self.scheme, type) or not hasattr(self.scheme, "plan"):
            raise SettingError(f"StepDoubling needs a scheme such as MoreauJean(), not {self.scheme!r}")
        if getattr(self.scheme, "fixed_step", False):
            raise SettingError(
                f"StepDoubling halves steps, but {type(self.scheme).__name__} cannot change its step: wrap MoreauJean()"
            )
        if self.order < 1:
            raise SettingError(f"order of StepDoubling is {self.order}: it must be at least 1")
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

    def _weights(self, field: str, nq: int) -> np.ndarray:
        values = np.atleast_1d(np.array(getattr(self, field), dtype=float))
        if len(values) not in (1, nq):
            raise SettingError(f"{field} of StepDoubling has {len(values)} entries, but q has {nq}")
        return np.broadcast_to(values, (nq,))

    @property
    def name(self) -> str:
        return f"StepDoubling of {self.scheme.name}"

    def plan(self, layout: np.ndarray) -> SchemePlan:
        """Return the compiled pieces and sizes for a system with this layout."""
        inner = self.scheme.plan(layout)
        nq, nv, nc, nr = (int(layout[k]) for k in (NQ, NV, NC, NR))
        own = nq + 2 * nv + inner.memory + HEADER_SIZE + nr + nc
        return SchemePlan(
            scheme=self,
            step=step_doubling,
            settings=np.concatenate(
                [
                    [2.0**self.order - 1.0, inner.memory, inner.dense],
                    self._weights("rtol", nq),
                    self._weights("atol", nq),
                ]
            ),
            inner=inner,
            memory=inner.memory,
            work=2 * inner.work + own,
            iwork=inner.iwork,
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
def step_doubling(model, inner, settings, t, h, state, state_new, record, work, iwork):
    # ---- model / settings / in / out / work
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    memory, dense = whole(settings[1]), whole(settings[2])
    q, v, kept = vec(work, 0, nq), vec(work, nq, nv), vec(work, nq + nv, memory)
    at = nq + nv + memory
    v_minus, header = vec(work, at, nv), vec(work, at + nv, HEADER_SIZE)
    at += nv + HEADER_SIZE
    impulse, dissipation = vec(work, at, nr), vec(work, at + nr, nc)
    at += nr + nc
    # a step may keep what it factored for one h: half and whole steps get workspaces of their own
    room = (work.shape[0] - at) // 2
    half_work, whole_work = vec(work, at, room), vec(work, at + room, room)
    middle = handle(State(q, v, kept))

    # ---- whole step, only for its position
    status = inner.step(model, inner.inner, inner.settings, t, h, state, state_new, record, whole_work, iwork)
    if status != 0:
        return status
    block = record.dense
    for i in range(nq):
        block[i] = state_new.q[i]

    # ---- two halves
    blocks = nq + 2 * nv
    first = handle(
        Record(header, v_minus, impulse, dissipation, record.events, vec(block, blocks, dense), record.counters)
    )
    status = inner.step(model, inner.inner, inner.settings, t, 0.5 * h, state, middle, first, half_work, iwork)
    if status != 0:
        return status
    rows = whole(header[EVENTS_USED])
    second = handle(
        Record(
            record.header,
            record.v_minus,
            record.impulse,
            record.dissipation,
            vec(record.events, rows * EVENT_COLUMNS, record.events.shape[0] - rows * EVENT_COLUMNS),
            vec(block, blocks + dense, dense),
            record.counters,
        )
    )
    status = inner.step(
        model, inner.inner, inner.settings, t + 0.5 * h, 0.5 * h, middle, state_new, second, half_work, iwork
    )
    if status != 0:
        return status

    # ---- record
    error = 0.0
    for i in range(nq):
        weight = settings[3 + nq + i] + settings[3 + i] * larger(abs(state.q[i]), abs(state_new.q[i]))
        error = larger(error, abs(block[i] - state_new.q[i]) / (settings[0] * weight))
        block[i] = q[i]
    for i in range(nv):
        block[nq + i], block[nq + nv + i] = v[i], v_minus[i]
    out = record.header
    out[H_USED], out[ERROR], out[DEGREE], out[DENSE_USED] = h, error, 0.0, blocks + 2 * dense
    out[RESIDUAL], out[VIOLATION] = larger(out[RESIDUAL], header[RESIDUAL]), larger(out[VIOLATION], header[VIOLATION])
    out[FORCE_WORK] += header[FORCE_WORK]
    out[DRIVE_WORK] += header[DRIVE_WORK]
    out[EVENTS_USED] += rows
    # impulses of a half without reactions are not written
    for r in range(nr):
        record.impulse[r] = out[REACTED] * record.impulse[r] + header[REACTED] * impulse[r]
    for c in range(nc):
        record.dissipation[c] = out[REACTED] * record.dissipation[c] + header[REACTED] * dissipation[c]
    out[REACTED] = larger(out[REACTED], header[REACTED])
    return 0
