"""What a scheme hands to the march: its step unit, settings and the sizes of its buffers."""

from __future__ import annotations

import dataclasses
import functools
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from saltus.compile import seam
from saltus.compile.pin import pin
from saltus.compile.types import RECORDS, STATES, Plain, Reaction, Scheme, Solver, Staged, step_type
from saltus.compile.workspace import Numbers, Room, RoomPlan, Workspace
from saltus.contact import Direct, Lemke
from saltus.contact.problem import check_support
from saltus.contact.residual import residual
from saltus.errors import SettingError
from saltus.laws import LAWS, friction_rows, frictional_cone, frictional_local, frictionless_cone, frictionless_local
from saltus.memory.layout import Layout, sizes_of
from saltus.memory.record import COLUMN, RECORDED
from saltus.reaction.impacts import law_of, newton, reacting_sizes
from saltus.reaction.look import FOUND
from saltus.reaction.react import correct_drift, eliminate_joints, no_drift, no_interval, no_joints, no_part, no_settle

if TYPE_CHECKING:
    from saltus.flight.flight import Flight
    from saltus.flight.promise import Promise

NO_MEMORY = Workspace("NoMemory").plan({})
FLIGHT_PARTS = Plain._fields.index("phase")  # where the parts of a flight begin


class SchemeLike(Protocol):
    """A scheme: frozen settings, a plan for a system, an interpolation inside of its steps.

    `interpolate(s, h, start, end, block, side)` evaluates n steps at once and returns q (n, nq) and v (n, nv):

    s, h
        Places in the steps, 0 to 1, and sizes of the steps [s], both (n, 1).
    start, end
        Nodes around the steps, one row per step: q (n, nq), v (n, nv) right limits, v_minus (n, nv) left limits,
        q_dot (n, nq), and rate(q, v), which gives q_dot of any other states by row. Files store
        q_dot of the states that `interpolate` asks for at s = 1/2 (of both halves for a wrapper): ask for the same
        states at every s, or loaded solutions fail.
    block
        Dense blocks (n, size), all of one size; size 0 for schemes without.
    side
        "+" or "-": which limit is wanted at a break point inside of a step. Grid points themselves are never asked for.

    A scheme that knows its contact forces inside of a step may also have `reaction(s, h, block, rows, side)`, which
    returns the force r at s [N] and its integral since the start of the step [N s], each (n, rows), both without
    impacts; rows counts all reaction rows, contacts first, joints after them. Here grid points are asked for: s = 0 is
    the right limit at the start, s = 1 with "-" the left limit at the end, and s = 1 with "+" the right limit at the
    end, asked for where the step that follows is not known (end of the run, thinned runs). At s = 1 the integral is the
    impulse of the step without its impacts; what the joints take of an impact counts at the end of the step. Without
    `reaction` the force is the average over the step.
    """

    @property
    def name(self) -> str: ...

    def plan(self, layout: Layout) -> SchemePlan: ...

    def interpolate(
        self, s: np.ndarray, h: np.ndarray, start: Any, end: Any, block: np.ndarray, side: str
    ) -> tuple: ...


@dataclasses.dataclass(frozen=True)
class SchemePlan:
    """The pieces of a scheme for one system.

    Attributes
    ----------
    step, settings
        The unit and its numbers.
    inner
        The plan of a wrapped scheme, or the `Plain` record of one that wraps none.
    memory, work
        Plans of what a state remembers and of the workspace.
    dense, events
        Most floats of a dense block and most event rows that one step writes.
    promise
        What fills span, scales and thresholds of a run into the settings; None for schemes that know nothing of them.
    rooms
        Plans of states and records, once they were asked for; the plans of all runs share them.
    forget
        Field of the memory whose numbers a wrapper must set to 0 where it changes q and v after a step; None where
        nothing in the memory hangs on them.
    """

    scheme: SchemeLike
    step: Any
    settings: np.ndarray
    inner: Any
    work: RoomPlan
    dense: int
    events: int
    memory: RoomPlan = NO_MEMORY
    promise: Promise | None = None
    rooms: dict[str, RoomPlan] = dataclasses.field(default_factory=dict, repr=False, compare=False)
    forget: str | None = None

    def state(self, layout: Layout) -> Room:
        """Return room for a state of the system that the plan was made for."""
        if "state" not in self.rooms:
            given = {**sizes_of(layout), "memory": self.memory.floats, "own": self.memory}
            self.rooms["state"] = STATES.plan(given)
        return self.rooms["state"].allocate()

    def record(self, layout: Layout) -> Room:
        """Return room for the record of a step."""
        if "record" not in self.rooms:
            self.rooms["record"] = RECORDS.plan({**sizes_of(layout), **self.tables})
        return self.rooms["record"].allocate()

    @property
    def tables(self) -> dict[str, int]:
        """Sizes of what a step reports in tables; without dense output nobody can look inside of it."""
        inside = FOUND.all if self.dense > 0 else 0
        return {"events": self.events * COLUMN.all, "dense": self.dense, "inside": inside}

    @property
    def depth(self) -> int:
        """How many schemes this one wraps."""
        return 1 + self.inner.depth if isinstance(self.inner, SchemePlan) else 0

    def units(self) -> list[tuple]:
        """Return the units to compile, with their versions."""
        if isinstance(self.inner, SchemePlan):
            inner = self.inner.units()
        else:
            plain = self.inner
            linked = (*plain.solver[:5], plain.react, plain.drift, *plain.staged[1:], *plain[FLIGHT_PARTS:])
            inner = [(unit, unit.unit_signatures[0]) for unit in dict.fromkeys(linked)]
        return [(self.step, step_type(self.depth).signature), *inner]

    def link(self) -> Scheme:
        """Return the units as the march wants them; they must be ready."""
        inner = self.inner.link() if isinstance(self.inner, SchemePlan) else self.inner
        return Scheme(self.step, inner, self.settings)

    def over(self, model, t_span: tuple[float, float], q: np.ndarray) -> SchemePlan:
        """Return the plan of a run over a span that begins at q; the same one for the same run again."""
        if self.promise is None:
            return self
        key = self.promise.key(model, t_span, q)
        known = self._runs.get(key)
        if known is None:
            known = dataclasses.replace(self, settings=self.promise.fill(self.settings, model, t_span, q), promise=None)
            if len(self._runs) >= 16:  # spans and starts, which are few in any study
                self._runs.clear()
            self._runs[key] = known
        return known

    @functools.cached_property
    def _runs(self) -> dict[tuple, SchemePlan]:
        return {}

    @functools.cached_property
    def pinned(self):
        """The linked units as the march takes them."""
        return pin(self.link())

    def interpreted(self) -> Scheme:
        """Return the same pieces as plain Python, for the rehearsal of a step."""
        if isinstance(self.inner, SchemePlan):
            inner = self.inner.interpreted()
        else:
            solver = self.inner.solver
            plain = Solver(*(seam.interpreted(unit) for unit in solver[:5]), solver.settings)
            react, drift = seam.interpreted(self.inner.react), seam.interpreted(self.inner.drift)
            reaction = Reaction(plain, react, drift)
            staged = Staged(reaction, *(seam.interpreted(unit) for unit in self.inner.staged[1:]))
            inner = Plain(
                plain, react, drift, reaction, staged, *(seam.interpreted(u) for u in self.inner[FLIGHT_PARTS:])
            )
        return Scheme(seam.interpreted(self.step), inner, self.settings)


def checked_scale(scale) -> float | tuple[float, ...] | None:
    """Return a scale that can be compared, or refuse it."""
    if scale is None:
        return None
    if isinstance(scale, numbers.Real) and not isinstance(scale, bool):
        values = np.array([float(scale)])
    else:
        try:
            values = np.array([float(value) for value in scale])
        except (TypeError, ValueError):
            raise SettingError(f"scale is {scale!r}: it must be a positive number, or one per coordinate") from None
    if len(values) == 0 or not np.all((values > 0.0) & (values < np.inf)):
        raise SettingError(f"scale is {scale!r}: a scale must be positive and finite, the size that tol is a share of")
    return float(values[0]) if isinstance(scale, numbers.Real) else tuple(values.tolist())


def chosen_solver(given, layout: Layout):
    """Return the contact solver of a scheme: the given one, or the one that suits the system."""
    if given is not None:
        return given
    if layout.nc < 2:
        return Direct()
    if friction_rows(layout) == 0:
        return Lemke()
    from saltus.contact.portfolio import Portfolio  # here, because a ball does without

    return Portfolio()


def newton_only(layout: Layout, name: str) -> None:
    """Refuse tangential restitution and Poisson's law, for schemes whose law is not that of single impacts."""
    law = law_of(layout)
    if law is not newton:
        raise SettingError(f"{name} cannot do {law.WORDS}: use MoreauJean(), EventDriven() or HpTDG()")


def check_numbers(scheme) -> None:
    """Raise SettingError for switches, tolerances, counts and solvers that are none."""
    kind = type(scheme).__name__
    for field in ("projection", "split"):
        if not isinstance(getattr(scheme, field, True), bool | np.bool_):
            raise SettingError(f"{field} of {kind} is {getattr(scheme, field)!r}: it must be True or False")
    for field in ("projection_tolerance", "newton_tolerance", "max_iterations"):
        value = getattr(scheme, field)
        if not isinstance(value, numbers.Real) or not 0.0 < float(value) < np.inf:
            raise SettingError(f"{field} of {kind} is {value!r}: it must be positive")
    if scheme.max_iterations != int(scheme.max_iterations):
        raise SettingError(f"max_iterations of {kind} is {scheme.max_iterations}: it must be a whole number")
    for field in ("closed_tolerance", "rest_tolerance"):
        value = getattr(scheme, field)
        if not isinstance(value, numbers.Real) or not 0.0 <= float(value) < np.inf:
            raise SettingError(f"{field} of {kind} is {value!r}: it must be zero or a little more")
    solver = scheme.solver
    if solver is not None and (isinstance(solver, type) or not hasattr(solver, "room")):
        remedy = f"{solver.__name__}() with brackets" if isinstance(solver, type) else "one such as NSGS()"
        raise SettingError(f"solver of {kind} is {solver!r}, not a contact solver: give {remedy}")


def check_stepping(scheme, *shares: str) -> None:
    """Refuse what cannot be meant: settings that all time steppings have, and shares, which lie between 0 and 1."""
    name = type(scheme).__name__
    for field in shares:
        value = getattr(scheme, field)
        if not isinstance(value, numbers.Real) or not 0.0 <= float(value) <= 1.0:
            raise SettingError(f"{field} of {name} is {value!r}: it must lie between 0 and 1")
    if not isinstance(scheme.closed_tolerance, numbers.Real) or not np.isfinite(float(scheme.closed_tolerance)):
        raise SettingError(f"closed_tolerance of {name} is {scheme.closed_tolerance!r}: it must be finite")
    for field in ("newton_tolerance", "max_iterations"):
        if not getattr(scheme, field) > 0:
            raise SettingError(f"{field} of {name} is {getattr(scheme, field)}: it must be positive")
    if scheme.max_iterations != int(scheme.max_iterations):
        raise SettingError(f"max_iterations of {name} is {scheme.max_iterations}: it must be a whole number")
    solver = scheme.solver
    if solver is not None and (isinstance(solver, type) or not hasattr(solver, "room")):
        remedy = f"{solver.__name__}() with brackets" if isinstance(solver, type) else "one such as NSGS()"
        raise SettingError(f"solver of {name} is {solver!r}, not a contact solver: give {remedy}")


def parabola(scheme, s, h, start, end, block, side):
    """Return q and v inside a step at s in [0, 1]: q quadratic with slope v_k, v linear up to the left limit."""
    q = start.q + s * h * start.q_dot + s * s * (end.q - start.q - h * start.q_dot)
    return q, start.v + s * (end.v_minus - start.v)


def stepping_plan(
    scheme, layout: Layout, step, settings: Numbers, memory: Workspace, work: Workspace, forget: str | None = None
) -> SchemePlan:
    """Return the plan of a time stepping by Newton's law whose settings are named as those of its kernel.

    Tangential restitution and Poisson's law are refused.
    """
    newton_only(layout, type(scheme).__name__)
    solver = chosen_solver(scheme.solver, layout)
    sizes = reacting_sizes(layout, solver)
    return SchemePlan(
        scheme=scheme,
        step=step,
        settings=settings.filled(**{name: float(getattr(scheme, name)) for name in settings.names}),
        inner=reaction_plan(layout, solver, drift=False, any_law=True),
        memory=memory.plan(sizes),
        work=work.plan(sizes),
        dense=0,
        events=RECORDED.events_per_contact * int(layout.nc),
        forget=forget,
    )


def one_friction(layout: Layout, name: str) -> None:
    """Refuse laws with several frictions, for schemes that ask themselves whether a contact sticks or slips."""
    for c in range(layout.nc):
        law = LAWS[layout[layout.kind + c]]
        if len(law.FRICTIONS) > 1:
            raise SettingError(
                f"{name} cannot do {law.NAME} (contact {c}), whose {len(law.FRICTIONS)} frictions stick or slip each "
                "for itself: use MoreauJean(), GeneralizedAlpha() or PaoliVelocity() with a step size h"
            )


def reaction_plan(
    layout: Layout, contact_solver, *, drift: bool, interval=None, settle=None, flight: Sequence = (),
    name: str = "This scheme", any_law: bool = False,
) -> Plain:  # fmt: skip
    """Choose the units that a system needs, so that a ball compiles little.

    Schemes with stages bring two more, those that fly from event to event the four parts of a flight as well. any_law:
    whether all that a scheme knows of friction is what contact solvers tell it; others, which messages call `name`,
    take one friction per contact.
    """
    kinds = [int(layout[layout.kind + c]) for c in range(layout.nc)]
    if not any_law:
        one_friction(layout, name)
    check_support(contact_solver, kinds)
    most = getattr(contact_solver, "most_contacts", None)
    if most is not None and len(kinds) > most:
        raise SettingError(
            f"{contact_solver.name} solves one contact, but the system has {len(kinds)}: take NSGS() or Lemke()"
        )
    frictional = friction_rows(layout) > 0
    solver = Solver(
        contact_solver.kernel,
        frictional_local if frictional else frictionless_local,
        frictional_cone if frictional else frictionless_cone,
        residual,
        eliminate_joints if layout.nj else no_joints,
        contact_solver.settings(),
    )
    correction = correct_drift if drift else no_drift
    acting = law_of(layout).reacting()
    reaction = Reaction(solver, acting, correction)
    staged = Staged(reaction, interval or no_interval, settle or no_settle)
    return Plain(solver, acting, correction, reaction, staged, *(flight or 4 * (no_part,)))


def flight_plan(scheme, layout: Layout, contact_solver, made: Flight, promise: Promise, interval=None) -> SchemePlan:
    """Return the plan of a scheme whose steps are flights from event to event."""
    from saltus.flight.flight import flight
    from saltus.lasting.settle import settle

    return SchemePlan(
        scheme=scheme, step=flight, settings=made.settings,
        inner=reaction_plan(
            layout, contact_solver, drift=False, interval=interval, settle=settle, flight=made.parts,
            name=type(scheme).__name__,
        ),
        memory=made.memory, work=made.work, dense=made.dense, events=made.events, promise=promise,
    )  # fmt: skip


def runge_kutta_plan(
    scheme, layout: Layout, method: str, *, estimates: bool, zeno: float | None, rtol: float, atol: float,
    newton_tolerance: float, window: tuple[float, float] = (0.0, 0.0), anticipates: bool = False, scale=None,
) -> SchemePlan:  # fmt: skip
    """Return the plan of a scheme that flies by a Runge-Kutta method; window: factor and power of the step size.

    The scheme has the settings closed_tolerance, rest_tolerance, projection_tolerance and solver.
    """
    from saltus.flight.phase_implicit import implicit_phase
    from saltus.flight.promise import Promise
    from saltus.flight.runge_kutta_flight import runge_kutta_flight
    from saltus.lasting.interval import solve_interval

    contact_solver = chosen_solver(scheme.solver, layout)
    made = runge_kutta_flight(
        layout, contact_solver, method, estimates=estimates, zeno=zeno, rtol=rtol, atol=atol,
        newton_tolerance=newton_tolerance, projection_tolerance=scheme.projection_tolerance, window=window,
        anticipates=anticipates,
    )  # fmt: skip
    implicit = made.parts[0] is implicit_phase
    closed, rest = scheme.closed_tolerance, scheme.rest_tolerance
    promise = Promise(atol, closed, rest, (1e-3, 1e-13), lasting=True, scale=scale)
    return flight_plan(scheme, layout, contact_solver, made, promise, interval=solve_interval if implicit else None)
