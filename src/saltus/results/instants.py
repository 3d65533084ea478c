"""What a run is at any time, by its model: gaps, velocities of contacts, the energy ledger."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.compile.failure import failures_raised
from saltus.compile.seam import ready, row_of, unit
from saltus.compile.types import MODEL_RECORD, A, I
from saltus.errors import SettingError
from saltus.memory.profile import quadratic
from saltus.reaction.react import row_dot
from saltus.results.records import NodeValues

if TYPE_CHECKING:
    from saltus.results.records import Side
    from saltus.solution import Solution


@dataclasses.dataclass(frozen=True)
class EnergyAt:
    """The energy ledger at times [J]: kinetic = kinetic at the start + work - dissipation + defect.

    Attributes
    ----------
    t
        Times [s].
    kinetic
        Kinetic energy.
    work
        Work of the forces f, K, C and of moving constraints since the start.
    dissipation
        What each contact took since the start, one column per contact.
    defect
        What the scheme itself gained or lost since the start.
    """

    t: np.ndarray
    kinetic: np.ndarray
    work: np.ndarray
    dissipation: np.ndarray
    defect: np.ndarray


def gap_at(solution: Solution, t, side: Side) -> np.ndarray:
    """Return the gaps at times, see `Solution.gap_at`."""
    places = solution._places(t, side)
    if loaded(solution):
        values: Any = solution._model
        if values.table is not None:
            made = values.table.gap_at(places.t, side)
        else:
            made = solution.gaps()[_nodes(solution, places.t, "gaps")] if values.gaps is not None else solution.gaps()
    else:
        made = gaps_of(solution, places.t, solution(places.t, side).q)
    return made[0] if np.ndim(t) == 0 else made


def gaps_of(solution: Solution, t: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the gaps of all contacts in states (times, contacts) [m]."""
    model: Any = solution._model
    made = np.empty((len(t), int(model.layout.nc)))
    scratch = np.empty(int(model.layout.nc + model.layout.nj))
    with failures_raised(called=model.calls_python):
        ready(state_gaps)(model.units, t.copy(), q.flatten(), scratch, made.reshape(-1))
    return made


def row_velocities_at(solution: Solution, t, side: Side) -> np.ndarray:
    """Return the relative velocities u of all contact rows at times (times, rows) [m/s]."""
    if loaded(solution):
        raise SettingError("a loaded solution has no model to tell velocities of contacts: events have them, or solve")
    model: Any = solution._model
    places = solution._places(t, side)
    state, rows = solution(places.t, side), len(solution.rows)
    made = np.empty((len(places.t), rows))
    W, w = np.empty(int(model.layout.nw)), np.empty(int(model.layout.nr))
    with failures_raised(called=model.calls_python):
        ready(row_velocities)(
            model.units, rows, places.t.copy(), state.q.flatten(), state.v.flatten(), W, w, made.reshape(-1)
        )
    return made if solution._units is None else made / solution._units[:rows]  # kernels work in the units of laws


def energy_at(solution: Solution, t, side: Side) -> EnergyAt:
    """Return the ledger at times, see `Solution.energy_at`."""
    places = solution._places(t, side)
    times, ledger = places.t, solution.energy
    values: Any = solution._model
    if loaded(solution) and values.table is not None:
        kinetic = values.table.kinetic_at(times, side)
    elif loaded(solution):
        nodes = _nodes(solution, times, "energies")
        if side == "-" and np.any(solution.v[nodes] != solution.v_minus[nodes]):
            raise SettingError("a loaded solution has no model to evaluate before a jump: ask for side='+', or solve")
        kinetic = ledger.kinetic[nodes]
    else:
        state = solution(times, side)
        kinetic = solution._kinetic(times, state.q, state.v)
    defect, lost = ledger.defect, ledger.dissipation
    if len(solution.t) == 1:  # no step: what is there is the start
        share, begin, end = np.zeros((len(times), 1)), np.zeros(len(times), dtype=int), np.zeros(len(times), dtype=int)
    else:
        end = places.end
        begin = end - 1
        share = ((times - solution.t[begin]) / (solution.t[end] - solution.t[begin]))[:, None]
    struck, until = _struck(solution, times, side, end)
    dissipation = lost[begin] + share * (lost[end] - lost[begin] - struck) + until
    deviation = defect[begin] + share[:, 0] * (defect[end] - defect[begin])
    work = kinetic - ledger.kinetic[0] + dissipation.sum(axis=1) - deviation
    if np.ndim(t) == 0:
        return EnergyAt(times[0], kinetic[0], work[0], dissipation[0], deviation[0])
    return EnergyAt(times, kinetic, work, dissipation, deviation)


def _struck(solution: Solution, t: np.ndarray, side: Side, end: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what impacts take in the steps around times, and what they have taken of it by then (times, contacts)."""
    impacts = solution.events[solution.events["kind"] == "impact"]
    impacts = impacts[np.argsort(impacts["t"], kind="stable")]
    names = {name: c for c, name in enumerate(solution.system.contact_names)}
    total = np.zeros((len(impacts) + 1, len(names)))
    if len(impacts):
        total[np.arange(1, len(impacts) + 1), [names[str(name)] for name in impacts["contact"]]] = -impacts["energy"]
        np.cumsum(total, axis=0, out=total)
    first = np.searchsorted(impacts["t"], solution.t[np.maximum(end - 1, 0)], side="right")
    last = np.searchsorted(impacts["t"], solution.t[end], side="right")
    now = np.searchsorted(impacts["t"], t, side="right" if side == "+" else "left")
    whole = total[last] - total[first]
    return whole, total[np.clip(now, first, last)] - total[first]


def loaded(solution: Solution) -> bool:
    """Whether the run came from a file, without the functions of its model."""
    return isinstance(solution._model, NodeValues)


def _nodes(solution: Solution, t: np.ndarray, what: str) -> np.ndarray:
    """Return the numbers of the nodes at times; only there a loaded solution knows what its model said."""
    nodes = np.searchsorted(solution.t, t, side="right") - 1
    missing = t[solution.t[nodes] != t]
    if len(missing):
        raise SettingError(
            f"a loaded solution knows {what} at its kept times alone, not at t = {missing[0]}: list it in t_eval of "
            "solve, or ask before saving"
        )
    return nodes


@unit(I(MODEL_RECORD, A, A, A, A), entry=True)
def state_gaps(model, t, q, g, out):
    """Write the gaps of all contacts in every state; q and out are flat, g has room for contacts and joints."""
    nq, nc = model.layout.nq, model.layout.nc
    for k in range(t.shape[0]):
        model.gap(t[k], row_of(q, k, nq), model.par, g)
        for c in range(nc):
            out[k * nc + c] = g[c]
    return 0


@unit(I(MODEL_RECORD, I, A, A, A, A, A, A), entry=True)
def row_velocities(model, rows, t, q, v, W, w, out):
    """Write u = W^T v + w of the contact rows in every state; q, v and out are flat."""
    nq, nv = model.layout.nq, model.layout.nv
    for k in range(t.shape[0]):
        model.kinematics(t[k], row_of(q, k, nq), model.par, W, w)
        for r in range(rows):
            out[k * rows + r] = w[r] + row_dot(model.layout, W, r, row_of(v, k, nv))
    return 0


@unit(I(MODEL_RECORD, A, A, A, A, A), entry=True)
def kinetic_energies(model, t, q, v, M, out):
    """Write 1/2 v^T M v of every node; q and v are flat."""
    nq, nv = model.layout.nq, model.layout.nv
    for k in range(t.shape[0]):
        model.mass(t[k], row_of(q, k, nq), model.par, M)
        out[k] = 0.5 * quadratic(model.layout, M, row_of(v, k, nv))
    return 0


@unit(I(MODEL_RECORD, A, A, A), entry=True)
def coordinate_rates(model, q, v, out):
    """Write q_dot of every state; q, v and out are flat."""
    nq, nv = model.layout.nq, model.layout.nv
    for k in range(q.shape[0] // nq):
        model.rate(row_of(q, k, nq), row_of(v, k, nv), model.par, row_of(out, k, nq))
    return 0
