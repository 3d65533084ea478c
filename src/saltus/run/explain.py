"""Why a step failed: it is made again as plain Python, to see a function of the user or the contacts fail."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from saltus.compile.types import State
from saltus.contact.problem import ContactProblem
from saltus.errors import FunctionError, SaltusError
from saltus.laws import BILATERAL
from saltus.reaction.react import REACTING
from saltus.results.names import velocity_names
from saltus.run.chatter import SlidingMode, sliding_mode
from saltus.run.rehearse import Rehearsal, listening
from saltus.schemes.plan import SchemePlan
from saltus.status import Status

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel


class _Explain(NamedTuple):
    """Tuned numbers of this file."""

    refused: float = 10.0  # how much longer than the last step those were that were refused before it
    # gap over the largest coordinate up to which a contact counts as held where a sliding mode is looked for
    held: float = 1e-9
    little: float = 1e-4  # of a step: time over which the rate of a gap is taken
    places: tuple[float, ...] = (1e-4, 0.01, 0.1, 0.5, 1.0)  # of a step, at which it is compared with that of the rows
    wrong: float = 1e-3  # of the parts of a row velocity: what it may differ by from the rate of its gap
    little_mobility: float = 1e-6  # of that without friction: what a force hardly pushes apart
    rounding: float = 1e-15  # of the coordinates: what a gap is not known better than
    most_rows: int = 1000  # rows up to which a failed contact problem is diagnosed: linear programs take seconds there


EXPLAIN = _Explain()


def explain(
    model: CompiledModel, plan: SchemePlan, status: Status, error: Exception | None, t: float, h: float, state: State
) -> tuple[str, Exception | None]:
    """Return the message of a failed run and the exception that caused it, if a rehearsal finds one."""
    where = f"step at t = {t:.9g} s with h = {h:.3g} s, q = {_short(state.q)}, v = {_short(state.v)}"
    if status is Status.SLIDING_MODE:
        found = slides(model, t, h, state)
        return f"{found.sentence if found else status.sentence} {where[0].upper()}{where[1:]}", None
    longest = EXPLAIN.refused * h if status is Status.STEP_TOO_SMALL else h
    cause = None if error is not None else _call_functions(model, t, longest, state)
    if cause is None and (error is not None or status is Status.NONFINITE):
        cause = _error_of(model, plan, t, h, state) or error
    if cause is not None:
        return f"{cause}\n  in the {where}", cause
    names = _culprits(model, plan, status, t, h, state)
    return f"{status.sentence} {where[0].upper()}{where[1:]}{names}", None


def _call_functions(model: CompiledModel, t: float, h: float, state: State) -> Exception | None:
    """Call the user's functions at the start of the step and where free motion leads; return what goes wrong."""
    rate = model.functions.get("q_dot")
    try:
        q_dot = state.v if rate is None else rate(t, state.q, state.v)
        for time, q in ((t, state.q), (t + h, state.q + h * q_dot)):
            for key, function in model.functions.items():
                if not key.startswith("reset "):  # called only at its event, which this state is not
                    function.fill(time, q, state.v, np.empty(function.size))
            if "M" in model.functions:
                M = model.functions["M"](time, q, state.v)
                smallest = float(np.linalg.eigvalsh(M.reshape(len(state.v), -1))[0])
                if not smallest > 0.0:
                    where = f"at t = {time:.9g}, q = {_short(q)}"
                    return FunctionError(
                        f"M is not positive definite {where}: its smallest eigenvalue is {smallest:.6g}"
                    )
    except FunctionError as error:
        return error
    return None


def _culprits(model: CompiledModel, plan: SchemePlan, status: Status, t: float, h: float, state: State) -> str:
    """Return who is to blame: what a diagnosis of the contact problem proves, else all that could be."""
    contacts, joints = model.system.contact_names, model.system.joint_names
    if status is Status.JAMMED:
        return f"; contacts: {', '.join(jamming(model, t, state) or contacts)}"
    if status in (Status.CONTACT_STALLED, Status.CONTACT_UNSOLVABLE, Status.JOINTS_CONTRADICT):
        try:
            found = _diagnosed(model, plan, status, t, h, state)
        except Exception as error:  # whatever goes wrong here must not hide how the run ended
            found = f"The diagnosis of its contacts failed ({type(error).__name__}: {error})"
        if found:
            return f". {found}"
    if status in (Status.CONTACT_STALLED, Status.CONTACT_UNSOLVABLE):
        return f"; contacts: {', '.join(contacts)}"
    if status in (Status.JOINTS_CONTRADICT, Status.DRIFT_STALLED):
        return f"; joints: {', '.join(joints)}"
    if status is Status.GAP_MISSED:
        return _wrong_rows(model, t, h, state)
    if status is Status.STEP_TOO_SMALL:
        return _unbounded(model, t, state)
    return ""


def _unbounded(model: CompiledModel, t: float, state: State) -> str:
    """Return a sentence about closed contacts whose force grows beyond all bounds, where there are any."""
    gaps, units = np.zeros(int(model.layout.nc + model.layout.nj)), model.interpreted()
    units.gap(t, state.q, units.par, gaps)
    closed = EXPLAIN.held * (1.0 + float(np.abs(state.q).max(initial=0.0)))
    near = dict(zip(model.system.contact_names, gaps, strict=False))
    names = [repr(name) for name in jamming(model, t, state, EXPLAIN.little_mobility) if abs(near[name]) <= closed]
    if not names:
        return ""
    return (
        f". The force at {', '.join(names)} grows beyond all bounds while it slides (Painleve): with so much friction "
        "no rigid motion goes on from here; take a smaller mu or a spring in place of the contact"
    )


def _wrong_rows(model: CompiledModel, t: float, h: float, state: State) -> str:
    """Return a sentence about contacts and joints whose rows are not the gradient of their gap, where there is one."""
    if not h > 0.0:
        return ""
    layout, units, system = model.layout, model.interpreted(), model.system
    nc, nj, nr, nw = int(layout.nc), int(layout.nj), int(layout.nr), int(layout.nw)
    W, w, q_dot = np.zeros(nw), np.zeros(nr), np.zeros(len(state.q))
    gaps = [np.zeros(nc + nj) for _ in range(2)]
    units.rate(state.q, state.v, units.par, q_dot)
    rounding = EXPLAIN.rounding * (1.0 + float(np.abs(state.q).max())) / (EXPLAIN.little * h)
    for place in EXPLAIN.places:  # W may go wrong right behind the start
        for side, gap in zip((-0.5, 0.5), gaps, strict=True):
            ahead = (place + side * EXPLAIN.little) * h
            units.gap(t + ahead, state.q + ahead * q_dot, units.par, gap)
        units.kinematics(t + place * h, state.q + place * h * q_dot, units.par, W, w)
        for j, name in enumerate([*system.contact_names, *system.joint_names]):
            row = int(layout[layout.contact_row + j]) if j < nc else nr - nj + j - nc
            parts = _dense(model, layout.W_ptr, layout.W_col, W, row, len(state.v)) * state.v
            by_rows, rate = float(parts.sum() + w[row]), float(gaps[1][j] - gaps[0][j]) / (EXPLAIN.little * h)
            if abs(by_rows - rate) > EXPLAIN.wrong * (float(np.abs(parts).sum()) + abs(w[row])) + rounding:
                return (
                    f". The gap of {name!r} changes by {rate:.4g} m/s behind it, by its W by {by_rows:.4g} m/s: W is "
                    "not the gradient of the gap; correct it or leave it out"
                )
    return ""


def _diagnosed(model: CompiledModel, plan: SchemePlan, status: Status, t: float, h: float, state: State) -> str:
    """Return what a diagnosis says about the contact problem of the failed step; nothing where there is none."""
    from saltus.contact.diagnosis import diagnose  # here, because only failures need linear programming

    problem = recorded_problem(model, plan, t, h, state)
    if status is Status.JOINTS_CONTRADICT and (problem is None or np.any(problem.kinds != BILATERAL)):
        problem = _joints_at(model, t, h, state)  # held on acceleration level, where no contact solver is asked
    if problem is None or problem.n > EXPLAIN.most_rows:
        return ""
    found = diagnose(problem)
    return "" if found.verdict == "solvable" else found.message


# ---- velocities that slide along a jump of the force


def slides(
    model: CompiledModel, t: float, h: float, state: State, components: Sequence[int] | None = None
) -> SlidingMode | None:
    """Return the sliding mode near a state that steps of about h do not leave, None where there is none."""
    layout, units = model.layout, model.interpreted()
    nc, nj, nr = int(layout.nc), int(layout.nj), int(layout.nr)
    rate = model.functions.get("q_dot")

    @functools.lru_cache(maxsize=2)
    def answers(t: float, place: bytes) -> np.ndarray:
        """Return the matrix that gives accelerations of forces; what is held takes its share, without friction."""
        q, g = np.frombuffer(place).copy(), np.zeros(nc + nj)
        W, _, M = _kinematics(model, t, q)
        units.gap(t, q, units.par, g)
        closed = np.flatnonzero(g[:nc] <= EXPLAIN.held * (1.0 + np.abs(q).max()))
        held = [*(int(layout[layout.contact_row + c]) for c in closed), *range(nr - nj, nr)]
        made = np.linalg.solve(M, np.eye(len(M)))
        if not held:
            return made
        X = made @ W[held].T
        return made - X @ np.linalg.pinv(W[held] @ X) @ X.T

    def acceleration(t, q, v):
        f = np.zeros(len(v))
        units.force(t, q, v, units.par, f)
        return answers(t, q.tobytes()) @ f

    try:
        with np.errstate(all="ignore"):
            found = sliding_mode(
                acceleration, lambda q, v: v if rate is None else rate(t, q, v), t, h, state.q.copy(), state.v.copy(),
                components,
            )  # fmt: skip
    except (FunctionError, np.linalg.LinAlgError, ArithmeticError, ValueError):
        return None  # a state beside this one at which the model has no values is no proof of anything
    names = velocity_names(model.system, len(state.q), len(state.v))
    return None if found is None else dataclasses.replace(found, names=names)


# ---- the contact problem of a step


def recorded_problem(model: CompiledModel, plan: SchemePlan, t: float, h: float, state: State) -> ContactProblem | None:
    """Return the contact problem of the step from a state: the last one that failed, else the last one solved.

    Its blocks are the active contacts with joints eliminated, named as in the system; where the joints themselves
    contradict each other, the blocks are the rows of the joints. None where the step met no contact problem.
    """
    seen: dict[bool, ContactProblem] = {}  # by whether it failed

    def keep(made: Callable[[], ContactProblem], status: int) -> None:
        try:
            seen[status != 0] = made()
        except SaltusError:  # numbers that are not finite make no problem
            pass

    def solved(contacts, P, status):
        keep(lambda: ContactProblem.from_kernel(contacts, _active_names(model, contacts)), status)

    def joined(W_joint, v_before, target, room, status):
        if status != 0:
            keep(lambda: _joint_problem(model, W_joint, REACTING(room).X, v_before, target), status)

    _error_of(model, listening(plan, solved, joined), t, h, state)
    return seen.get(True, seen.get(False))


def _active_names(model: CompiledModel, contacts) -> list[str]:
    """Return the names of the contacts that a problem consists of."""
    blocks, rows = contacts.blocks.reshape(-1, 3), contacts.rows.reshape(-1, 4)
    names, c = [], -1
    for first in blocks[:, 1]:
        # contacts are in order, and the entries of their first row begin where those of the system do
        c += 1
        while _begin(model, model.layout.W_ptr, int(model.layout[model.layout.contact_row + c])) != rows[first, 0]:
            c += 1
        names.append(model.system.contact_names[c])
    return names


def _joint_problem(model: CompiledModel, W, X, v, target) -> ContactProblem:
    """Return the rows of the joints as a problem of bilateral rows: conditions W, answers X, velocity v."""
    layout = model.layout
    nv, nj, nr = int(layout.nv), int(layout.nj), int(layout.nr)
    rows = [_dense(model, layout.W_ptr, layout.W_col, W, r, nv) for r in range(nr - nj, nr)]
    answers = [_dense(model, layout.X_ptr, layout.X_col, X, r, nv) for r in range(nr - nj, nr)]
    b = np.array(rows) @ v + target[nr - nj : nr]
    return ContactProblem(np.array(rows) @ np.array(answers).T, b, kinds=[BILATERAL] * nj, names=_joint_rows(model))


def _joints_at(model: CompiledModel, t: float, h: float, state: State) -> ContactProblem:
    """Return the joints at the end of the step and the velocity at its start as a problem of bilateral rows."""
    W, w, M = _kinematics(model, t + h, state.q)
    nj = int(model.layout.nj)
    W, w = W[len(w) - nj :], w[len(w) - nj :]
    D = W @ np.linalg.solve(M, W.T)
    return ContactProblem(D, W @ state.v + w, kinds=[BILATERAL] * nj, names=_joint_rows(model))


def jamming(model: CompiledModel, t: float, state: State, least: float = 0.0) -> tuple[str, ...]:
    """Return the contacts that a force drives together when friction opposes their slip: D_NN <= mu D_NT . s.

    least: share of D_NN that must be left of it.
    """
    layout, names = model.layout, []
    W, w, M = _kinematics(model, t, state.q)
    for c, name in enumerate(model.system.contact_names):
        row, end = (int(layout[layout.contact_row + k]) for k in (c, c + 1))
        slip, mu = W[row + 1 : end] @ state.v + w[row + 1 : end], float(model.units.mu[c])
        speed = float(np.linalg.norm(slip))
        if speed > 0.0 and mu > 0.0:
            force = W[row] - mu * (slip / speed) @ W[row + 1 : end]
            if not W[row] @ np.linalg.solve(M, force) > least * (W[row] @ np.linalg.solve(M, W[row])):
                names.append(name)
    return tuple(names)


def _kinematics(model: CompiledModel, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows of W, w and M, dense."""
    layout, units = model.layout, model.interpreted()
    nv, nr = int(layout.nv), int(layout.nr)
    W, w, M = np.zeros(int(layout.nw)), np.zeros(nr), np.zeros(int(layout.profile_size))
    units.kinematics(t, q, units.par, W, w)
    units.mass(t, q, units.par, M)
    return (
        np.array([_dense(model, layout.W_ptr, layout.W_col, W, r, nv) for r in range(nr)]),
        w,
        model.profile.unpack(M),
    )


def _dense(model: CompiledModel, pointers: int, columns: int, values: np.ndarray, row: int, nv: int) -> np.ndarray:
    begin, end, made = _begin(model, pointers, row), _begin(model, pointers, row + 1), np.zeros(nv)
    np.add.at(made, model.layout[columns + begin : columns + end], values[begin:end])
    return made


def _begin(model: CompiledModel, pointers: int, row: int) -> int:
    return int(model.layout[pointers + row])


def _joint_rows(model: CompiledModel) -> list[str]:
    """Return the name of the joint that each joint row belongs to."""
    sizes = zip(model.system.joint_names, model.joint_sizes, strict=True)
    return [name for name, size in sizes for _ in range(size)]


# ---- one step made again


def _error_of(model: CompiledModel, plan: SchemePlan, t: float, h: float, state: State) -> Exception | None:
    """Make one step again; return what the user's functions raise."""
    try:
        Rehearsal(model, plan).step(t, h, state)
    except FunctionError as error:
        return error
    except (ArithmeticError, ValueError) as error:
        # the functions themselves are finite, but plain Python raises where a derivative of one is not
        return FunctionError(f"a derivative of a model function is not finite: {type(error).__name__}: {error}")
    return None


def _short(values: np.ndarray) -> str:
    return np.array2string(values, precision=6, threshold=12)
