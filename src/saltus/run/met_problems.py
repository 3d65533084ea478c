"""The contact problems of a stored step: it is made again, and the problems that it solves are kept.

The step runs as plain Python from the stored state (rehearse.py). What a scheme remembers is not
stored, so that the step is made as the first of a run; where that leads elsewhere, the steps before it are made as
well. A scheme that refuses the step, because it chooses degrees by what it learned, makes it in parts. A step counts as
remade only if it ends where the stored one ends.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.build.model import AbsentModel, CompiledModel, compile_model
from saltus.compile.types import State
from saltus.contact import ContactProblem
from saltus.errors import FunctionError, SettingError
from saltus.reaction.react import SLIDING
from saltus.results.records import NodeValues
from saltus.run.rehearse import Rehearsal, listening
from saltus.schemes.plan import SchemePlan
from saltus.status import Status

if TYPE_CHECKING:
    from saltus.problem import Problem
    from saltus.solution import Solution

SAME = 1e-5  # relative difference of the ends up to which a step counts as the stored one


@dataclasses.dataclass(frozen=True, eq=False)
class MetProblem:
    """A contact problem that a step solved.

    Attributes
    ----------
    problem
        The problem in reduced form, joints eliminated; its names are those of the contacts that take part.
    P
        Impulses that the solver found [N s].
    positions
        Whether it corrects positions: then P and u are not impulses and velocities, and friction is left out.
    """

    problem: ContactProblem
    P: np.ndarray
    positions: bool


def met_problems(
    solution: Solution, step: int, problem: Problem | None = None, h: float | None = None
) -> tuple[MetProblem, ...]:
    """Return the contact problems of a step in the order in which they were solved, see `Solution.contact_problem`."""
    k = _number(solution, step)
    plan, model = _plan(solution, problem)
    failed = k == len(solution.t) - 1
    if not failed and not solution._whole(np.array([k + 1]))[0]:
        raise SettingError(
            f"step {step} was not kept from its start to its end, so that it cannot be made again: keep all steps, "
            "save='steps' (saltus run: without --keep)"
        )
    size = _step_size(solution, k, h)
    nearest = np.inf
    for before in (0, 1, 2):  # steps that are made before it, to fill the memory of the scheme
        if k < before or (before and not np.all(solution._whole(np.arange(k - before + 1, k + 1)))):
            continue
        # a step that ended at an event was longer when it was tried
        for longer in (1.0, 1.0 + 1e-6, 1.5) if not failed and h is None else (1.0,):
            made = _MadeAgain(model, plan, solution)
            try:
                difference = made.steps(k, before, longer, size, failed)
            except FunctionError as error:
                raise SettingError(f"step {step} cannot be made again: {error}") from error
            if difference <= SAME:
                return tuple(made.met)
            nearest = min(nearest, difference)
    if failed:
        raise SettingError(
            f"the step that failed at t = {solution.t[k]:.9g} s does not fail again with h = {size:.3g} s: "
            "give the h that its message names"
        )
    raise SettingError(
        f"step {step} cannot be made again: from the state at t = {solution.t[k]:.9g} s it ends elsewhere, by "
        f"{nearest:.1e} of its velocities; the model is not that of the run, or the scheme remembers too much"
    )


def chosen(met: tuple[MetProblem, ...], number: int | None) -> int:
    """Return the number of a problem of a step: the given one, or the last of the largest ones."""
    if number is None:
        # what is iterated is solved best at last; positions only where there is nothing else
        return max(range(len(met)), key=lambda k: (not met[k].positions, met[k].problem.n, k))
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not -len(met) <= number < len(met):
        raise SettingError(f"number is {number!r}: the step solved problems 0 to {len(met) - 1}")
    return int(number) % len(met)


def check_met(solution: Solution, step: int, met: tuple[MetProblem, ...]) -> None:
    """Raise when a step solved no contact problem, and name the nearest one that did."""
    if met:
        return
    reacted = np.flatnonzero(np.any(solution.impulse != 0.0, axis=1))
    near = ""
    if reacted.size:
        best = reacted[np.argmin(np.abs(reacted - _number(solution, step)))]
        near = f"; the nearest step with contact is {best}"
    raise SettingError(f"no contact takes part in step {step}, so that it solved no contact problem{near}")


def _number(solution: Solution, step: int) -> int:
    steps = len(solution.t) - 1
    last = steps - 1 if solution.success or solution.status is Status.INTERRUPTED else steps
    if isinstance(step, bool) or not isinstance(step, int | np.integer) or not -steps <= step <= last:
        more = f", or {steps} for the one that failed" if last == steps else ""
        raise SettingError(f"step is {step!r}: the run has steps 0 to {steps - 1}{more}")
    return int(step) if step >= 0 else steps + int(step)


def _plan(solution: Solution, problem: Problem | None) -> tuple[SchemePlan, CompiledModel | AbsentModel]:
    """Return the scheme and the model of a solution, the model from a problem where the solution has none."""
    scheme, model = solution.scheme, solution._model
    if not hasattr(scheme, "plan"):
        raise SettingError(
            f"the scheme {scheme.name!r} of the file is not part of saltus: solve again to see its problems"
        )
    if isinstance(model, NodeValues):
        if problem is None:
            raise SettingError("a loaded solution has no model: give the problem it was made from as problem=...")
        system = problem.system
        values = solution.parameters or None
        found = _said(system, len(problem.q0), len(problem.v0), values)
        stored = _said(solution.system, solution.q.shape[1], solution.v.shape[1], values)
        if found != stored:
            raise SettingError(f"the problem has {found}, but the run has {stored}: give the problem of the run")
        model = compile_model(system, problem.t_span[0], problem.q0, problem.v0, parameters=values)
    if not len(solution.system.contacts):
        raise SettingError("the system has no contact, so that its steps solve no contact problem")
    span = float(solution.t[0]), float(solution.t[-1])
    return scheme.plan(model.layout).over(model, span, solution.q[0].copy()), model


def _said(system: Any, nq: int, nv: int, values: Any) -> str:
    """Return what tells systems apart: sizes, contacts with their numbers, joints."""
    laws = zip(system.contact_names, system.laws(values), strict=True)
    contacts = [f"{name} (e {e:g}, mu {mu:g})" for name, (e, mu, _) in laws]
    joints = ", ".join(system.joint_names) or "none"
    return f"{nq} positions, {nv} velocities, contacts {', '.join(contacts) or 'none'}, joints {joints}"


def _step_size(solution: Solution, k: int, h: float | None) -> float:
    if h is not None:
        if not 0.0 < h < np.inf:
            raise SettingError(f"h is {h!r}: a step size must be a positive number of seconds")
        return float(h)
    if len(solution.t) == 1:
        raise SettingError("the first step failed, and no step says how long it was: give h")
    end = min(k + 1, len(solution.t) - 1)
    return float(solution.t[end] - solution.t[end - 1])


class _MadeAgain:
    """Steps of a run made again, and the problems of the last of them."""

    def __init__(self, model: CompiledModel | AbsentModel, plan: SchemePlan, solution: Solution):
        self.model, self.plan, self.solution = model, plan, solution
        self.met: list[MetProblem] = []
        self.active: tuple[str, ...] | None = None  # contacts of the velocity problem; positions are corrected without
        self.laws: list[tuple[int, tuple[float, ...]]] | None = None  # theirs
        self.rehearsal = Rehearsal(model, listening(plan, self._keep, reacting=self._name))

    def steps(self, k: int, before: int, longer: float, size: float, failed: bool) -> float:
        """Make step k after some steps before it; return how far its end is from the stored one, relative."""
        memory = np.zeros(self.plan.memory.floats)
        for j in range(k - before, k):
            memory = self._stretch(j, memory, longer).memory
        self.met.clear()
        if failed:
            t, state = float(self.solution.t[k]), self._stored(k, memory)
            return 0.0 if self.rehearsal.step(t, size, state)[0] == int(self.solution.status) else np.inf
        return self._apart(k, self._stretch(k, memory, longer))

    def _stretch(self, k: int, memory: np.ndarray, longer: float) -> State:
        """Go from one stored time to the next: by one step, or by several where the scheme refuses the one."""
        begin, end = (float(t) for t in self.solution.t[k : k + 2])
        t, h, state = begin, longer * (end - begin), self._stored(k, memory)
        for _ in range(40):  # a scheme that refuses more steps than that never gets to the next stored time
            known = len(self.met)
            status, new, header = self.rehearsal.step(t, h, state)
            reached = t + float(header.h_used)
            arrived = abs(reached - end) <= SAME * (end - begin)
            if status != 0 or (arrived and self._apart(k, new) <= SAME):
                return new
            if header.error > 1.0:
                del self.met[known:]  # nobody accepted it
                h = min(header.next_h, 0.9 * h) if header.next_h > 0.0 else 0.5 * h
            elif arrived or reached > end:
                return new
            else:
                t, state, h = reached, new, longer * (end - reached)
        return state

    def _stored(self, k: int, memory: np.ndarray) -> State:
        state = self.plan.state(self.model.layout).record
        state.q[:], state.v[:], state.memory[:] = self.solution.q[k], self.solution.v[k], memory
        return state

    def _apart(self, k: int, state: State) -> float:
        """Return how far a state is from the stored end of a step, relative to the motion and to the position."""
        solution, h = self.solution, self.solution.t[k + 1] - self.solution.t[k]
        speed = max(np.abs(solution.v[k : k + 2]).max(), np.abs(np.diff(solution.q[k : k + 2], axis=0)).max() / h)
        # velocities of what rests are rounding errors: they count against those that the contacts stopped
        speed = max(speed, *(np.abs(met.problem.b).max() for met in self.met if not met.positions), 0.0)
        place = max(np.abs(solution.q[k : k + 2]).max(), h * speed)
        v, q = (np.abs(a - b).max() for a, b in ((state.v, solution.v[k + 1]), (state.q, solution.q[k + 1])))
        return float(max(v / max(speed, 1e-300), q / max(place, 1e-300)))

    def _keep(self, contacts, P, status) -> None:
        problem = ContactProblem.from_kernel(contacts, self.active, self.laws)
        self.met.append(MetProblem(problem, P * problem.units, self.active is None))

    def _name(self, active) -> None:
        names = self.model.system.contact_names
        taking_part = [] if active is None else [c for c in range(len(names)) if active[c] in (1, SLIDING)]
        self.active = None if active is None else tuple(names[c] for c in taking_part)
        self.laws = None if active is None else [self.model.law_of(c) for c in taking_part]
