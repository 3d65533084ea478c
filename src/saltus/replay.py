"""Replay: after a failed step, make it again as plain Python so that the user sees his own function fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from saltus.compile.types import Record, State
from saltus.errors import FunctionError
from saltus.layout import NC, NR, NV
from saltus.record import COUNTERS, EVENT_COLUMNS, HEADER_SIZE
from saltus.schemes.plan import SchemePlan
from saltus.status import Status

if TYPE_CHECKING:
    from saltus.model import CompiledModel


def explain(
    model: CompiledModel, plan: SchemePlan, status: Status, error: Exception | None, t: float, h: float, state: State
) -> tuple[str, Exception | None]:
    """Return the message of a failed run and the exception that caused it, if a replay finds one."""
    where = f"step at t = {t:.9g} s with h = {h:.3g} s, q = {_short(state.q)}, v = {_short(state.v)}"
    cause = None if error is not None else _call_functions(model, t, h, state)
    if cause is None and (error is not None or status is Status.NONFINITE):
        cause = _replay(model, plan, t, h, state) or error
    if cause is not None:
        return f"{cause}\n  in the {where}", cause
    names = _culprits(model, status)
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


def _culprits(model: CompiledModel, status: Status) -> str:
    if status in (Status.CONTACT_STALLED, Status.CONTACT_UNSOLVABLE):
        return f"; contacts: {', '.join(model.system.contact_names)}"
    if status in (Status.JOINTS_CONTRADICT, Status.DRIFT_STALLED):
        return f"; joints: {', '.join(model.system.joint_names)}"
    return ""


def _replay(model: CompiledModel, plan: SchemePlan, t: float, h: float, state: State) -> Exception | None:
    """Make one step interpreted, with the user's functions called directly; return what they raise."""
    layout = model.layout
    nv, nr, nc = int(layout[NV]), int(layout[NR]), int(layout[NC])
    scheme = plan.interpreted()
    new = State(np.zeros_like(state.q), np.zeros_like(state.v), np.zeros_like(state.memory))
    record = Record(
        np.zeros(HEADER_SIZE), np.zeros(nv), np.zeros(nr), np.zeros(nc), np.zeros(plan.events * EVENT_COLUMNS),
        np.zeros(plan.dense), np.zeros(COUNTERS, dtype=np.int64),
    )  # fmt: skip
    work, iwork = np.zeros(plan.work), np.zeros(max(1, plan.iwork), dtype=np.int64)
    try:
        with np.errstate(all="ignore"):
            scheme.step(model.interpreted(), scheme.inner, scheme.settings, t, h, state, new, record, work, iwork)
    except FunctionError as error:
        return error
    except (ArithmeticError, ValueError) as error:
        # the functions themselves are finite, but plain Python raises where a derivative of one is not
        return FunctionError(f"a derivative of a model function is not finite: {type(error).__name__}: {error}")
    return None


def _short(values: np.ndarray) -> str:
    return np.array2string(values, precision=6, threshold=12)
