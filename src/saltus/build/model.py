"""From a System to compiled model units: probe, trace, differentiate, lay out, emit, link.

Units are written as one generated module per structure; parameter values live in an array, so that another value
compiles nothing. Functions that cannot be traced become opaque units with derivatives by differences.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import os
import re
import sys
import warnings
import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from saltus.build.compare import Comparison
from saltus.build.frictions import friction_numbers, has_units, in_units, kind_of, row_units
from saltus.build.marks import Unmarked, mark_of
from saltus.build.user_function import UserFunction, parameters_in
from saltus.compile import opaque, seam
from saltus.compile.differences import scratch_size
from saltus.compile.expression import MOST_OPERATIONS, reachable
from saltus.compile.interval import bounds
from saltus.compile.modules import module_from, module_name
from saltus.compile.native import NativeUnit, absent_unit, compile_text, runnable
from saltus.compile.nature import Kind, nature_of, phase_rate
from saltus.compile.par_layout import ParLayout, Slot
from saltus.compile.pin import pin
from saltus.compile.switches import Switches, Table
from saltus.compile.tape import Tape, tape_of
from saltus.compile.trace import (
    HELPERS,
    IMPORTS,
    Expr,
    Trace,
    Unrepeatable,
    Untraceable,
    depends_on,
    differentiate,
    directional,
    emit,
    operation_count,
    substitute,
)
from saltus.compile.types import Model
from saltus.compile.unit import Pinned
from saltus.errors import FunctionError, ModelError, SlowFunctionWarning
from saltus.event import Event, event_names, joined_reset
from saltus.family import straight
from saltus.laws import KERNELS, LAWS
from saltus.memory import layout as lay
from saltus.memory.profile import Profile
from saltus.parameters import Parameter, as_changes, has_parameter, run_values
from saltus.reaction.impacts import impact_law
from saltus.system import Contact, Joint, System

NO_SLOTS = ParLayout(())
EVERYWHERE = lay.M_CONSTANT | lay.W_CONSTANT | lay.RATE_IDENTITY  # masses and rows of one state are those of all
AFFINE_OPERATIONS = frozenset({"var", "add", "sub", "mul", "div", "neg"})  # affine where their derivatives are constant
COMPUTABLE = AFFINE_OPERATIONS | {"num"}  # what can be computed from numbers alone
SMALL_BOXES = 1e-6, 1e-9  # of the coordinates: bounds of a gap that are as wide in the second one help nobody
UNITS = ("mass", "force", "jacobian", "gap", "kinematics", "curvature", "rate", "retract", "switch", "surface",
         "reset")  # fmt: skip
SIGNATURES = {
    "mass": "t, q, par, out",
    "force": "t, q, v, par, out",
    "jacobian": "t, q, v, par, out_q, out_v",
    "gap": "t, q, par, out",
    "kinematics": "t, q, par, W, w",
    "curvature": "t, q, v, par, out",
    "rate": "q, v, par, out",
    "retract": "q, par",
    "switch": "t, q, v, par, out",
    "surface": "t, q, v, par, out",
    "reset": "number, t, q, v, par",
}


# which of the user's functions, by the first word of their names, stand behind a unit
CALLED_BY = {
    "mass": ("M", "mass"), "force": ("f", "force"), "jacobian": ("f", "force"), "gap": ("gap", "constraint"),
    "kinematics": ("gap", "slip", "W"), "curvature": ("slip",), "rate": ("q_dot",), "retract": ("retract",),
    "switch": ("function",), "surface": (), "reset": ("reset",),
}  # fmt: skip


@dataclasses.dataclass(frozen=True, eq=False)
class CompiledModel:
    """A system ready to run.

    Attributes
    ----------
    units
        The `Model` record of compiled units and arrays that kernels take.
    probed
        The user's functions by name, as they were called when the model was traced.
    rows
        Contact and axis of each row of the contacts.
    kinds
        Law of each contact, by number.
    in_units
        Whether some of these laws have units of their own.
    start
        Time, q and v that the functions were probed at.
    events
        The events of the run, in the order of their numbers.
    tables
        The tables in its functions, of which the cell is held.
    switch_names
        What the switching functions are, in the order of their numbers.
    opaque_names
        Functions of the user that could not be traced, so that nobody sees their kinks.
    calls_python
        Whether some of them are called as plain Python.
    module
        Name of the generated module, which holds the digest of its text.
    par_layout
        What lies in `par`.
    first, values
        Values of the parameters as they were written down, and those of this model.
    checked
        Tolerances within which the start, for which the model was compiled, is known to be right.
    inertia
        Masses and rows of that start once somebody asked for them (flight/promise.py).
    inertia_fixed
        Whether no parameter is in them.
    rows_checked
        Whether the rows of the start are known to be right (build/start.py).
    comparison
        What its units are held against, once more after its first run.
    joint_sizes
        Rows of each joint.
    codes
        Machine code of the kinds of families, which lives as long as the model.
    curved
        Whether the unit `curvature` and the tape of the gaps are there; schemes on velocity level do without them.
    """

    system: System
    units: Model
    profile: Profile
    probed: dict[str, UserFunction]
    rows: tuple[tuple[str, str], ...]
    kinds: tuple[int, ...]
    start: tuple[float, np.ndarray, np.ndarray]
    events: tuple[Event, ...] = ()
    tables: tuple[Table, ...] = ()
    switch_names: tuple[str, ...] = ()
    opaque_names: tuple[str, ...] = ()
    calls_python: bool = False
    module: str = ""
    par_layout: ParLayout = NO_SLOTS
    first: dict[str, Any] = dataclasses.field(default_factory=dict)
    values: dict[str, Any] = dataclasses.field(default_factory=dict)
    checked: set[float] = dataclasses.field(default_factory=set)
    inertia: Any = None
    inertia_fixed: bool = False
    rows_checked: bool = False
    in_units: bool = False
    comparison: Comparison = dataclasses.field(default_factory=Comparison)
    joint_sizes: tuple[int, ...] = ()
    codes: tuple[Any, ...] = ()
    curved: bool = True

    @functools.cached_property
    def functions(self) -> dict[str, UserFunction]:
        """The user's functions by name, for messages and rehearsals, with the parameters of this model."""
        return {name: dataclasses.replace(one, values=self.values) for name, one in self.probed.items()}

    @property
    def event_names(self) -> tuple[str, ...]:
        return event_names(self.events)

    @property
    def layout(self) -> lay.Layout:
        return self.units.layout

    def law_of(self, contact: int) -> tuple[int, tuple[float, ...]]:
        """Return kind and friction numbers of a contact in this run."""
        return self.kinds[contact], friction_numbers(self.system.contacts[contact], self.values or None)

    def row_units(self) -> np.ndarray | None:
        """Return what a unit of the kernels' impulses is in each row of the contacts; None where all are 1."""
        if not self.in_units:
            return None
        laws = zip(self.system.contacts, self.kinds, strict=True)
        return np.concatenate([row_units(contact, kind, self.values or None) for contact, kind in laws])

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the contacts, then of the events, as the table of events numbers them."""
        return (*self.system.contact_names, *self.event_names)

    @functools.cached_property
    def name_array(self) -> np.ndarray:
        """The same as an array, which is never empty, then those of the switching functions."""
        return np.array((*self.names, *self.switch_names) or ("",))

    @functools.cached_property
    def pinned(self):
        """The units as the march takes them."""
        return pin(self.units)

    def pinned_for(self, tol: float | None):
        """Return the units of one run: modes of switching functions belong to it, not to the model.

        tol: tolerance of a scheme that holds modes; tables whose knots are finer than it are not held.
        """
        return pin(self.units_for(tol)) if self.layout.ns else self.pinned

    def units_for(self, tol: float | None) -> Model:
        """Return the units with modes of their own; see `pinned_for`."""
        par = self.units.par.copy()
        for table in self.tables:
            if tol is not None and table.passed(tol):
                par[table.slot + 1] = 1.0
        return self.units._replace(par=par)

    def __reduce__(self):
        """Pickle what the model is made of: compiled code and its addresses belong to this process."""
        return AbsentModel, (self.system, *self.start, self.events, self.values)

    def at(self, t: float, q: np.ndarray, v: np.ndarray, changes: dict[str, Any]) -> CompiledModel:
        """Return the same model for another start and other values of its parameters: nothing is traced for them."""
        values = run_values(self.first, changes) if changes or self.first else {}
        same = all(_same(value, self.values[name]) for name, value in values.items())
        old_t, old_q, old_v = self.start
        if same and t == old_t and q.tobytes() == old_q.tobytes() and v.tobytes() == old_v.tobytes():
            return self
        changed: dict[str, Any] = {}
        numbers: dict[str, np.ndarray] = {}
        if not same:
            par = self.units.par.copy()
            self.par_layout.write(par, values)
            e, mu, e_t = self.system.laws(values).T.copy()  # rows behind each other, as kernels take vectors
            numbers = {"par": par, "e": e, "mu": mu, "e_t": e_t}
            changed = {"units": self.units._replace(**numbers), "values": values}
        known = int(self.layout.features) & EVERYWHERE == EVERYWHERE and (same or self.inertia_fixed)
        inertia = self.inertia if known else None
        made = object.__new__(CompiledModel)  # a copy of everything; dataclasses.replace takes five times as long
        made.__dict__.update(self.__dict__, start=(t, q, v), checked=set(), inertia=inertia, **changed)
        made.__dict__["rows_checked"] = known and self.rows_checked
        made.__dict__.pop("functions", None)  # they know the values
        made.__dict__.pop("gaps_at_start", None)
        pinned = made.__dict__.pop("pinned", None) if not same else None
        if isinstance(pinned, Pinned):  # what did not change is not taken apart once more
            made.__dict__["pinned"] = pinned.replaced(**numbers)
        return made

    def is_sound(self) -> bool:
        """Tell whether all functions are finite and the mass is positive definite where the run begins."""
        t, q, v = self.start
        q, v = q.copy(), v.copy()  # what can be written to is handed over faster
        units, par, layout = self.units, self.units.par, self.layout
        force, gaps = np.empty(len(v)), np.empty(int(layout.nc + layout.nj))
        runnable(units.force)(t, q, v, par, force)
        runnable(units.gap)(t, q, par, gaps)
        self.__dict__["gaps_at_start"] = gaps  # which `check_start` asks for next
        found = [force, gaps]
        if not int(layout.features) & lay.RATE_IDENTITY:
            found.append(np.empty(len(q)))
            runnable(units.rate)(q, v, par, found[-1])
        if int(layout.features) & lay.HAS_RETRACT:
            found.append(q.copy())
            runnable(units.retract)(found[-1], par)
        if any(contact.slip is not None for contact in self.system.contacts):
            found += [np.empty(int(layout.nw)), np.empty(int(layout.nr))]
            runnable(units.kinematics)(t, q, par, *found[-2:])
        if self.events:
            crossings = np.empty(int(layout.ne))
            runnable(units.switch)(t, q, v, par, crossings)
            found.append(crossings[: len(self.events)])
        for number, event in enumerate(self.events):
            if event.reset is not None:
                found += [q.copy(), v.copy()]
                runnable(units.reset)(number, t, *found[-2:], par)
        if not all(map(_finite, found)):
            return False
        if not self.system.bodies and not callable(self.system.M) and not has_parameter(self.system.M):
            return True
        packed = np.empty(int(layout.profile_size))
        runnable(units.mass)(t, q, par, packed)
        return _finite(packed) and mass_complaint(self.profile.unpack(packed)) is None

    def interpreted(self) -> Model:
        """Return the same model as plain Python that calls the user's own functions before the generated ones."""
        plain = {name: seam.interpreted(getattr(self.units, name)) for name in UNITS}
        functions = self.functions
        if self.codes:  # of families only some rows are known by name
            from saltus.build.families import row_functions

            functions = functions | row_functions(self.system, self.rows, self.joint_sizes, self.values or None)
        for name, unit in plain.items():
            checked = {key: f for key, f in functions.items() if key.split(" ")[0] in CALLED_BY[name]}
            if checked:
                plain[name] = _checking(
                    unit, SIGNATURES[name].split(", "), checked, int(self.layout.nv), self.event_names
                )
        units = self.units
        return Model(**plain, par=units.par, e=units.e, mu=units.mu, e_t=units.e_t, layout=self.layout)


class AbsentModel:
    """A model that came out of a pickle: it is compiled when something of it is asked for."""

    def __init__(
        self, system: System, t: float, q: np.ndarray, v: np.ndarray, events: tuple[Event, ...],
        values: dict[str, Any] | None = None,
    ):  # fmt: skip
        self._made_of = system, t, q, v, events, values

    def __reduce__(self):
        return AbsentModel, self._made_of

    @functools.cached_property
    def _compiled(self) -> CompiledModel:
        return compile_model(*self._made_of)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # a question of Python about this object, not about the model
            raise AttributeError(name)
        return getattr(self._compiled, name)


def _checking(unit, names: list[str], functions: dict[str, UserFunction], nv: int, events: tuple[str, ...]):
    """Return a unit that first calls the user's functions, so that a failure names them and their arguments."""

    def run(*arguments):
        given = dict(zip(names, arguments, strict=True))
        called = list(functions.values())
        if "number" in given:  # of all resets only that of its event
            called = [f for key, f in functions.items() if key == _reset_of(events[given["number"]])]
        for function in called:
            state = given.get("t", 0.0), given["q"], given.get("v", np.zeros(nv))
            if all(np.all(np.isfinite(part)) for part in state):  # else another function failed before
                function.fill(*state, np.empty(function.size))
        return unit(*arguments)

    return run


def _reset_of(event: str) -> str:
    return f"reset of event {event!r}"


def compile_model(
    system: System, t: float, q: np.ndarray, v: np.ndarray, events: tuple[Event, ...] = (), parameters: Any = None,
    curved: bool = True,
) -> CompiledModel:  # fmt: skip
    """Check, trace and compile a system and the events of its run for states like (t, q, v).

    A system is traced once, whatever its start and its parameters are, as long as nothing its functions use changed.

    parameters: values of parameters by name, others keep their first value. curved: whether accelerations of contacts
    and joints, and proofs that gaps stay open, will be asked for; without them less is compiled.
    """
    changes = as_changes(parameters)
    try:
        mark = _mark(system, events), len(q), len(v)
    except Unmarked:
        return _build(system, t, q, v, events, changes, curved)[0]
    known = getattr(system, "_compiled", None)
    if known is not None and known[0] == mark and (known[1].curved or not curved):
        made = known[1].at(t, q, v, changes)
        if made is known[1]:
            return made
        if made.is_sound():
            object.__setattr__(system, "_compiled", (mark, made))
            return made
    made, opaque_parts = _build(system, t, q, v, events, changes, curved)  # it says what is wrong where something is
    if not opaque_parts:  # what cannot be traced is announced in every run
        object.__setattr__(system, "_compiled", (mark, made))
    return made


def _build(system: System, t, q, v, events, changes, curved: bool) -> tuple[CompiledModel, bool]:
    """Return the model, and whether some of its functions could not be traced."""
    if system.bodies:
        from saltus.build.families import FamilyBuilder  # most systems have none

        try:
            return FamilyBuilder(system, t, q, v, events, changes, curved=curved).build(), False
        except Untraceable:
            pass  # written out row by row, where functions need not be traced
    builder = Builder(system, t, q, v, events, changes, curved=curved)
    try:
        return builder.build(), bool(builder.opaque)
    except Untraceable as error:  # derivatives of functions that were traced
        raise ModelError(
            f"the functions of this system are too large together: {error}; write repeated parts as families of bodies "
            "and contacts, and large linear forces as K and C"
        ) from error


def check_sizes(system: System, q: np.ndarray, v: np.ndarray) -> None:
    """Raise ModelError where a state does not fit the bodies of a system."""
    bodies = system.all_bodies
    for letter, given, wanted in (("q0", len(q), bodies.nq), ("v0", len(v), bodies.nv)):
        if system.bodies and given != wanted:
            raise ModelError(f"{letter} has {given} entries, but the {len(bodies)} bodies have {wanted} together")


def _finite(numbers: np.ndarray) -> bool:
    # of a few numbers Python knows it three times sooner than numpy
    return all(map(math.isfinite, numbers.tolist())) if numbers.size < 16 else bool(np.isfinite(numbers).all())


def _same(one: float | np.ndarray, other: float | np.ndarray) -> bool:
    return one == other if isinstance(one, float) else np.array_equal(one, other)


def mass_complaint(value: np.ndarray) -> str | None:
    """Return what is wrong with a mass matrix, None where nothing is."""
    scale = np.max(np.abs(value), initial=0.0)
    if not np.allclose(value, value.T, rtol=0.0, atol=1e-10 * scale):
        worst = np.unravel_index(np.argmax(np.abs(value - value.T)), value.shape)
        i, j = (int(k) for k in worst)
        return f"M is not symmetric: M[{i}, {j}] = {value[i, j]} but M[{j}, {i}] = {value[j, i]}; make it symmetric"
    smallest = float(np.linalg.eigvalsh(value)[0])
    if smallest > 1e-14 * scale:
        return None
    return (
        f"M is not positive definite at q0: its smallest eigenvalue is {smallest:.6g}; "
        "check signs and units, every motion needs a positive mass"
    )


def _pieces(system: System, events: tuple[Event, ...]) -> tuple[Any, ...]:
    """Return all objects that a user wrote down for a system and the events of its run."""
    return system, *system.bodies, *system.forces, *system.contact_parts, *system.joint_parts, *events


def _contents(system: System, events: tuple[Event, ...]) -> Iterator[Any]:
    """Yield everything of a system and of events in which functions and numbers stand."""
    for one in _pieces(system, events):
        for name in _fields(type(one)):
            yield getattr(one, name)


def _mark(system: System, events: tuple[Event, ...]):
    """Return what is the same only if system and events still mean the same."""
    marks = []
    for one in _pieces(system, events):
        fields = [getattr(one, name) for name in _fields(type(one))]
        marks += [None if field is None else mark_of(field) for field in fields]  # most are None
    return tuple(marks)


PARTS = frozenset({"contacts", "joints", "bodies", "forces", "scene"})  # with turns of their own; drawings move nothing


@functools.cache
def _fields(kind: type) -> tuple[str, ...]:
    """Return the fields that count: tables of whole numbers cannot change, and what a layer keeps means nothing."""
    fixed = PARTS if kind is System else {"faces"}
    return tuple(field.name for field in dataclasses.fields(kind) if field.name not in fixed)


@dataclasses.dataclass
class _Row:
    """One row of W: sparse entries, w and zeta as expressions, or None when it comes from differences.

    Without entries and with w = None it belongs to a family, whose loops write it.
    """

    columns: list[int]
    entries: Sequence[Expr] | None
    w: Expr | None
    zeta: Expr | None


@dataclasses.dataclass
class _OpaqueUse:
    """An opaque function in the generated module: how it is called and where its parameters begin."""

    call: str  # name of its unit in the module
    par: str  # text of its parameters


def _by_numba() -> bool:
    """Whether traced models are compiled by numba, to compare: SALTUS_MODELS=numba. Seconds, and the same bits."""
    return os.environ.get("SALTUS_MODELS") == "numba"


def _level_of_caller() -> int:
    """Return the stack level of the first frame outside of saltus, where a warning should point."""
    package, level, frame = __name__.split(".")[0], 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level


def law_of_impacts(contacts: Sequence[Contact]) -> int:
    """Return the number of the law of impacts that these contacts have in common."""
    tangential = any(isinstance(c.e_t, Parameter) or c.e_t > 0.0 for c in contacts)
    return impact_law(contacts[0].impact if contacts else "newton", tangential)


class Builder:
    """Builder of a system that is written out.

    written: the system to build where it is not that; curved: see `compile_model`.
    """

    def __init__(
        self, system: System, t: float, q: np.ndarray, v: np.ndarray, events: tuple[Event, ...],
        changes: dict[str, Any], written: System | None = None, curved: bool = True,
    ):  # fmt: skip
        self.curved = curved
        self.given, self.t0, self.q0, self.v0, self.events, self.changes = system, t, q, v, events, changes
        self.system = straight(system) if written is None else written
        check_sizes(system, q, v)
        self.nq, self.nv = len(q), len(v)
        self.trace = Trace()
        for found in parameters_in(*_contents(system, events)):  # first in `par`, in a row
            self.trace.declare(found)
        first = {name: value for name, (_, value) in self.trace.named.items()}
        # names that only the trace will find are judged at the end
        self.values = run_values(first, {name: value for name, value in changes.items() if name in first})
        self.t = self.trace.variable("t")
        self.q, self.v = self.trace.variables("q", self.nq), self.trace.variables("v", self.nv)
        self.functions: dict[str, UserFunction] = {}
        self.kinds: list[int] = []  # law of each contact
        self.opaque: list[opaque.Opaque] = []
        self.opaque_names: list[str] = []
        self.opaque_par: list[np.ndarray] = []
        self.arrays: list[np.ndarray] = []  # constant arrays behind the traced parameters
        self.switching = Switches(self.trace)
        self.held: list[Expr] = []  # all expressions whose branches are held
        self.geometry: list[Expr] = []  # of them gaps, slips and constraints
        self.held_by_name: dict[str, np.ndarray] = {}  # the same by the names of their functions
        self.tape: Tape | None = None  # gaps for proofs that they stay open
        self.unproven = False  # whether there are gaps without such proofs
        self.plain: dict[str, np.ndarray] = {}  # what was traced, before branches were held, by the names of functions

    # ---- functions of the user

    def probe(self, function, name, shapes, **options) -> UserFunction:
        start = self.t0, self.q0, self.v0
        made = UserFunction.probe(function, name, *start, shapes, values=self.values, **options)
        self.functions[name] = made
        return made

    def expressions(self, function: UserFunction, *, hold: bool = True) -> np.ndarray | _OpaqueUse:
        """Return the traced result of a function, or its opaque unit; hold: with branches that can be held."""
        try:
            result = self.trace.call(function.function, *function.arguments(self.t, self.q, self.v))
            made = self.trace.as_array(result, function.shape)
            if operation_count(made) > MOST_OPERATIONS:
                raise Untraceable(f"it has more than {MOST_OPERATIONS} operations")
            self.plain[function.name] = made
            if hold:
                made = self.switching.hold(made, function.name)
                self.held += list(made.flat)
                self.held_by_name[function.name] = made
                if function.name.split(" ")[0] in ("gap", "slip", "W", "constraint", "q_dot"):
                    self.geometry += list(made.flat)
            return made
        except Unrepeatable as error:
            raise FunctionError(f"{function.name} does not depend on its arguments alone: {error}") from error
        except (Untraceable, FunctionError) as error:
            return self.make_opaque(function, str(error))

    def make_opaque(self, function: UserFunction, reason: str) -> _OpaqueUse:
        made = opaque.make_opaque(function.function, 0 if function.rate else function.arity, function.fill)
        speed = "called as Python, about 3 us per call" if made.interpreted else "compiled from its source"
        also = f"; its source was not compiled because {made.reason}" if made.reason else ""
        warnings.warn(
            f"{function.name} is {speed}, with derivatives by differences, because it cannot be traced: {reason}{also}",
            SlowFunctionWarning,
            stacklevel=_level_of_caller(),
        )
        name = f"opaque{len(self.opaque)}"
        self.opaque.append(made)
        self.opaque_names.append(function.name)
        return _OpaqueUse(name, f"par_of_{name}")

    # ---- the model, part by part

    def build(self) -> CompiledModel:
        """Return the model; the functions of the system are traced for the last time."""
        try:
            return self._built()
        finally:
            self.trace.end()

    def _built(self) -> CompiledModel:
        self.rate: Any
        self.rate, self.B = self.kinematic_map()
        mass, M_pattern, M_constant = self.mass()
        force, jacobian, f_pattern, f_flags = self.force()
        K, C = self.linear(self.system.K, "K"), self.linear(self.system.C, "C")
        gaps, rows, contact_rows = self.contacts()
        joint_gaps, joint_rows = self.joints()
        rows += joint_rows
        events = self.event_values()
        self.switches = self.switching.found(self.held)
        pattern = M_pattern | f_pattern
        for matrix in (K, C):
            if matrix is not None:
                pattern = pattern | (matrix != 0.0)
                f_flags &= ~lay.F_FREE
        profile = Profile.of(pattern)
        flags = f_flags | (lay.M_CONSTANT if M_constant else 0) | (lay.RATE_IDENTITY if self.rate is None else 0)
        flags |= lay.HAS_RETRACT if self.system.retract is not None else 0
        self.impact_law = law_of_impacts(self.system.contacts)
        moving = [self.t, *self.q]
        if all(r.entries is not None and not any(depends_on(x, moving) for x in (*r.entries, r.w)) for r in rows):
            flags |= lay.W_CONSTANT
            # a slip has no gap
            flags |= lay.G_STRAIGHT if self.arithmetic([x for x, n in (*gaps, *joint_gaps) if n > 0]) else 0
        self.tape = self.gap_tape()
        flags |= self.nature(events)
        waves = self.waves()
        flags |= lay.WAVES if waves is not self.trace.zero else 0
        self.noise = self.trace.table([0.0] * (1 + self.nq + self.nv)) if self.switches else -1
        self.tape_numbers = 0 if self.tape is None else self.trace.table([*self.tape.numbers, 0.0])
        layout = self.layout(profile, rows, contact_rows, len(joint_rows), flags)

        body = {
            "mass": self.emit_mass(mass, profile),
            "force": self.emit_force(force, K, C),
            "jacobian": self.emit_jacobian(jacobian, profile, force, K, C),
            "gap": self.emit_gaps([*gaps, *joint_gaps]),
            "kinematics": self.emit_rows(rows, gaps, joint_gaps),
            "rate": self.emit_rate(),
            "retract": self.emit_retract(),
        }
        if self.curved:
            body["curvature"] = self.emit_curvature(rows, gaps, joint_gaps)
        body |= self.emit_events(events, waves)
        model = self.model_of(body, layout, profile, K, C, self.without_parameters(mass, rows))
        for made in self.opaque:
            weakref.finalize(model, made.release)
        model.comparison.at_start(model)
        return model

    def emit_events(self, events, waves) -> dict[str, str]:
        """Return the functions that only systems with events, switching functions or waves have."""
        body = {}
        if self.events or self.switches:
            body["switch"] = self.emit_switches(events)
        if self.switches or waves is not self.trace.zero:
            body["surface"] = self.emit_surfaces(waves)
        if any(event.reset is not None for event in self.events):
            body["reset"] = self.emit_reset()
        return body

    def model_of(self, body: dict[str, str], layout, profile: Profile, K, C, inertia_fixed: bool) -> CompiledModel:
        """Return the model whose functions have these bodies, compiled, with the values of this run."""
        text, par, par_layout = self.module_text(body)
        first = par_layout.read(par)
        values = run_values(first, self.changes)
        par_layout.write(par, values)
        units = Model(*self.units(text, body), par, *self.system.laws(values).T.copy(), layout)
        labels, start = self.row_labels(), (self.t0, self.q0, self.v0)
        tables = self.switching.tables_of(self.geometry)
        switches = tuple(switch.name for switch in self.switches)
        return CompiledModel(
            self.given,
            units,
            profile,
            self.functions,
            labels,
            tuple(self.kinds),
            start,
            self.events,
            tables,
            switches,
            tuple(self.opaque_names),
            any(made.interpreted for made in self.opaque),
            module_name(text, "model"),
            par_layout,
            first,
            values,
            inertia_fixed=inertia_fixed,
            in_units=any(has_units(kind) for kind in self.kinds),
            comparison=Comparison.of(text, self.functions, K, C),
            joint_sizes=tuple(self.functions[f"constraint of joint {name!r}"].size for name in self.system.joint_names),
            curved=self.curved,
        )

    def units(self, text: str, body: dict[str, str]) -> list[Any]:
        """Return all units of the model, compiled."""
        if seam.is_interpreted():
            module = module_from(text, "model")
            return [getattr(module, name) if name in body else absent_unit(name).py_func for name in UNITS]
        if _by_numba() and not any(made.interpreted for made in self.opaque):
            module = module_from(text, "model")
            return [seam.ready(getattr(module, name)) if name in body else absent_unit(name) for name in UNITS]
        code = compile_text(text, {f"opaque{k}": made.address for k, made in enumerate(self.opaque)})
        return [NativeUnit(code, text, name) if name in body else absent_unit(name) for name in UNITS]

    def nature(self, events: list[Expr | _OpaqueUse]) -> int:
        """Return flags that say what may be expected of the functions between two places (compile/nature.py)."""
        variables = self.t, list(self.q), list(self.v)
        crossing = [
            *(value for value in events if isinstance(value, Expr)),
            *(switch.value for switch in self.switches),
        ]
        opaque_event = len(crossing) < len(events) + len(self.switches)
        wild = opaque_event or nature_of(crossing, *variables, held=True).kind > Kind.TAME
        flags = lay.WILD_SWITCHES if wild else 0
        forces = [x for name in ("f", "M") if name in self.held_by_name for x in self.held_by_name[name].flat]
        opaque_force = any(name in ("f", "M") for name in self.opaque_names)
        if opaque_force or nature_of(forces, *variables, held=True).kind > Kind.TAME:
            flags |= lay.F_WILD
        if self.opaque:
            return flags | lay.WILD
        kind = nature_of([*self.held, *crossing], *variables, held=True).kind
        if kind == Kind.WILD or (kind == Kind.ROOTED and not self.distances_only()):
            return flags | lay.WILD
        return flags | (lay.TRUSTED if kind <= Kind.LINEAR else 0)

    def distances_only(self) -> bool:
        """Tell whether roots stand in joints, and in gaps of which intervals prove that they stay open, alone.

        What is held follows a bend of its surface, so that nothing hides there.
        """
        roots = {"gap": False, "constraint": False, "other": False}
        for name, made in self.held_by_name.items():
            kind = nature_of(made, self.t, list(self.q), list(self.v), held=True).kind
            word = name.split(" ")[0]
            roots[word if word in roots else "other"] |= kind > Kind.TAME
        return not roots["other"] and not (roots["gap"] and (self.tape is None or self.unproven))

    def gap_tape(self) -> Tape | None:
        """Return the gaps of all contacts for interval arithmetic, if they may do anything between two places."""
        names = [f"gap of contact {name!r}" for name in self.system.contact_names]
        if not names or not self.curved or any(name not in self.plain for name in names):
            return None
        gaps = [self.plain[name].reshape(-1)[0] for name in names]
        if nature_of(gaps, self.t, list(self.q), list(self.v), held=True).kind <= Kind.TAME:
            return None
        far = self.trace.number(1.0)  # what can be proven of others still is
        shapes: dict[tuple[str, ...], bool] = {}  # gaps of one family are alike
        for k, gap in enumerate(gaps):
            shape = tuple(node.op for node in reachable([gap]))
            if shape not in shapes:
                shapes[shape] = "div" in shape and self.never_bounded(gap)
            gaps[k] = far if shapes[shape] else gap
        self.unproven = any(gap is far for gap in gaps)
        return None if all(gap is far for gap in gaps) else tape_of(gaps, [self.t, *self.q], slopes=True)

    def never_bounded(self, gap: Expr) -> bool:
        """Tell whether intervals say nothing of a gap, however small the boxes are, around the start and elsewhere.

        A search inside of a gap, as for the roller of a cam, divides by what may vanish in every box: to halve boxes
        around it would cost much and show nothing.
        """
        tape = tape_of([gap], [self.t, *self.q], slopes=True)
        place = np.concatenate([[self.t0], self.q0])
        size = 1.0 + np.abs(place)
        for shift in (0.0, 0.01, -0.003):
            boxes = [(place + (shift - reach) * size, place + (shift + reach) * size) for reach in SMALL_BOXES]
            wide, narrow = (np.ptp(bounds(tape, self.trace.constants, *box)[0]) for box in boxes)
            if narrow < 0.5 * wide:
                return False
        return True

    def waves(self) -> Expr:
        """Return the fastest phase of all sines and cosines [rad/s] as far as it is known."""
        fastest = self.phase()
        return self.trace.zero if fastest is None else fastest

    def phase(self) -> Expr | None:
        """Return the fastest phase, None where nobody knows it."""
        exprs = [*self.held, *(switch.value for switch in self.switches)]
        if not exprs or self.opaque:
            return self.trace.zero
        rate = list(self.v) if self.rate is None else list(self.rate)
        return phase_rate(exprs, self.t, list(self.q), rate, held=True)

    def row_labels(self) -> tuple[tuple[str, str], ...]:
        return tuple(
            (name, axis)
            for name, kind in zip(self.system.contact_names, self.kinds, strict=True)
            for axis in LAWS[kind].AXES
        )

    def kinematic_map(self):
        """Return q_dot (None: v itself) and B = d q_dot / dv as expressions (None: by differences)."""
        system = self.system
        if system.q_dot is None:
            if self.nq != self.nv:
                raise ModelError(
                    f"q0 has {self.nq} entries and v0 has {self.nv}: they must agree, or give q_dot(q, v) = B(q) v"
                )
            return None, None
        function = self.probe(system.q_dot, "q_dot", [(self.nq,)], rate=True)
        self.check_linear_rate(function)
        made = self.expressions(function)
        if isinstance(made, _OpaqueUse):
            return made, None
        B = np.array([[differentiate(x, v) for v in self.v] for x in made], dtype=object)
        return made, B

    def check_linear_rate(self, function: UserFunction) -> None:
        zero = function(self.t0, self.q0, np.zeros(self.nv))
        one = np.arange(1.0, self.nv + 1.0)
        single, double = function(self.t0, self.q0, one), function(self.t0, self.q0, 2.0 * one)
        if np.any(zero != 0.0) or not np.allclose(double, 2.0 * single, rtol=1e-9, atol=1e-300):
            raise ModelError("q_dot(q, v) must be linear in v: B(q) v")

    def mass(self):
        """Return M as array, expressions or opaque unit, its pattern and whether it is constant."""
        M, nv = self.system.M, self.nv
        if has_parameter(M):
            M = self.constant_function(self.square(np.array(M, dtype=object), "M"))
        if callable(M):
            function = self.probe(M, "M", [(nv, nv), *([(1,), ()] if nv == 1 else [])], most=2)
            value = function(self.t0, self.q0, self.v0).reshape(nv, nv)
            self.check_mass(value)
            made = self.expressions(function)
            if isinstance(made, _OpaqueUse):
                return made, np.ones((nv, nv), dtype=bool), False
            made = made.reshape(nv, nv)
            pattern = np.array([[x is not self.trace.zero for x in row] for row in made])
            constant = not any(depends_on(x, [self.t, *self.q]) for x in made.flat)
            return made, pattern, constant
        value = self.square(self.numbers(M, "M"), "M")
        self.check_mass(value)
        return value, value != 0.0, True

    def square(self, value: np.ndarray, name: str) -> np.ndarray:
        """Return a matrix of numbers or parameters: a number stands on the diagonal, a vector is one."""
        nv = self.nv
        if value.ndim == 0:
            value = np.full(nv, value[()], dtype=value.dtype)
        if value.ndim == 1 and value.shape == (nv,):
            full = np.zeros((nv, nv), dtype=value.dtype)
            np.fill_diagonal(full, value)
            return full
        if value.shape != (nv, nv):
            raise ModelError(f"{name} has shape {value.shape}, expected ({nv}, {nv}) because v0 has {nv} entries")
        return value

    def constant_function(self, value: np.ndarray):
        """Return numbers with parameters among them as a function of the state."""
        listed = value.tolist()
        return lambda q: listed

    def check_mass(self, value: np.ndarray) -> None:
        complaint = mass_complaint(value)
        if complaint is not None:
            raise ModelError(complaint)

    def force(self):
        """Return f, its Jacobian entries {(i, j): (f_q B, f_v)}, their pattern and flags."""
        f, nv = self.system.f, self.nv
        full = np.ones((nv, nv), dtype=bool)
        if has_parameter(f):
            f = self.constant_function(np.atleast_1d(np.array(f, dtype=object)))
        if not callable(f):
            value = self.numbers(f, "f")
            if value.ndim == 0 and nv > 1 and float(value) == 0.0:
                value = np.zeros(nv)
            if value.ndim == 0 and nv > 1:
                raise ModelError(f"f is the number {float(value)}, but v0 has {nv} entries: give a vector")
            value = np.atleast_1d(value)
            if value.shape != (nv,):
                raise ModelError(f"f has shape {value.shape}, expected ({nv},) because v0 has {nv} entries")
            return value, {}, ~full, lay.F_FREE | lay.F_LINEAR | lay.J_CONSTANT | lay.F_STEADY
        function = self.probe(f, "f", [(nv,)])
        made = self.expressions(function)
        if isinstance(made, _OpaqueUse):
            return made, None, full, 0
        if self.rate is not None and self.B is None:
            return made, None, full, 0
        entries, linear, constant = {}, True, True
        for i, x in enumerate(made):
            f_q = [differentiate(x, q) if depends_on(x, q) else self.trace.zero for q in self.q]
            for j in range(nv):
                left = f_q[j] if self.B is None else self.dot(f_q, self.B[:, j])
                right = differentiate(x, self.v[j]) if depends_on(x, self.v[j]) else self.trace.zero
                if left is not self.trace.zero or right is not self.trace.zero:
                    entries[i, j] = (left, right)
                    linear = linear and not any(depends_on(y, [*self.q, *self.v]) for y in (left, right))
                    constant = linear and constant and not any(depends_on(y, self.t) for y in (left, right))
        pattern = ~full
        for i, j in entries:
            pattern[i, j] = True
        flags = (0 if entries else lay.F_FREE) | (lay.F_LINEAR if linear else 0) | (lay.J_CONSTANT if constant else 0)
        if nature_of(made, self.t, list(self.q), list(self.v), held=True).kind <= Kind.LINEAR:
            flags |= lay.F_STEADY
        return made, entries, pattern, flags

    def arithmetic(self, exprs) -> bool:
        """Tell whether what moves in expressions is added and multiplied only; derivatives do not see steps."""
        if any(isinstance(x, _OpaqueUse) for x in exprs):
            return False
        moving = [self.t, *self.q, *self.v]
        return all(node.op in AFFINE_OPERATIONS for node in reachable(exprs) if depends_on(node, moving))

    def without_parameters(self, mass, rows: list[_Row]) -> bool:
        """Tell whether masses and rows are plain arithmetic of numbers, so that no parameter of a run changes them."""
        if isinstance(mass, _OpaqueUse) or any(row.entries is None for row in rows):
            return False
        found = list(mass.flat) if mass.dtype == object else []
        found += [x for row in rows for x in (*(row.entries or ()), row.w)]
        inside = reachable(found)
        return all(x.op in COMPUTABLE or (x.op == "par" and not self.trace.is_named(x.payload)) for x in inside)

    def linear(self, matrix, name: str) -> np.ndarray | None:
        if matrix is None:
            return None
        if self.rate is not None:
            raise ModelError(f"{name} needs q_dot = v: put the force of coordinates with their own q_dot into f")
        from scipy import sparse

        if has_parameter(matrix):
            raise ModelError(f"{name} contains a parameter, but {name} must be numbers: put its force into f")
        if callable(matrix):
            raise ModelError(f"{name} must be numbers, not {matrix!r}: put a force that depends on the state into f")
        given = self.numbers(matrix.toarray() if sparse.issparse(matrix) else matrix, name)
        value = np.eye(self.nv) * float(given) if given.ndim == 0 else np.diag(given) if given.ndim == 1 else given
        if value.shape != (self.nv, self.nv):
            wanted = f"({self.nv}, {self.nv}) or ({self.nv},) because v0 has {self.nv} entries"
            raise ModelError(f"{name} has shape {given.shape}, expected {wanted}")
        return value

    def numbers(self, value, name: str) -> np.ndarray:
        try:
            if np.asarray(value).dtype.kind not in "biufO":  # numpy reads "1.0"
                raise TypeError
            array = np.array(value, dtype=float)
        except (TypeError, ValueError, OverflowError) as error:
            either = "numbers or a function" if name in ("M", "f") else "numbers"
            raise ModelError(f"{name} must be {either}, not {value!r}") from error
        if not np.all(np.isfinite(array)):
            place = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            entry = f"{name}[{', '.join(map(str, place))}]" if place else name
            raise ModelError(f"{name} contains a number that is not finite: {entry} = {array[place]}")
        return array

    # ---- rows

    def contacts(self, named: Iterable[tuple[str, Contact]] | None = None):
        """Return gaps, rows and numbers of rows of contacts, of all of them unless they are named."""
        gaps, rows, counts = [], [], []
        for name, contact in named or zip(self.system.contact_names, self.system.contacts, strict=True):
            function = self.probe(contact.gap, f"gap of contact {name!r}", [()], most=2)
            made = self.expressions(function)
            gap = made if isinstance(made, _OpaqueUse) else made.reshape(-1)[0]
            gaps.append((gap, 1))
            normal = self.row_of(gap, function)
            if contact.W is not None:
                normal = self.given_row(contact.W, name, gap, function)
            if not normal.columns:
                raise ModelError(f"gap of contact {name!r} does not depend on q: nothing can close it")
            rows.append(normal)
            count = 1
            kind = self.kind_of(contact, name)
            self.kinds.append(kind)
            if contact.slip is not None:
                slip = self.functions[f"slip of contact {name!r}"]
                if has_units(kind):
                    slip = self.probe(in_units(contact, kind), slip.name, [(LAWS[kind].ROWS - 1,)], least=3)
                made = self.expressions(slip)
                tangential = self.slip_rows(made, slip, name)
                gaps.append((made, -slip.size))  # a negative size: rows without a gap
                rows += tangential
                count += slip.size
            counts.append(count)
        return gaps, rows, counts

    def kind_of(self, contact: Contact, name: str) -> int:
        """Return the law of a contact, as a number: its functions say how many rows there are."""
        slips = rolls = 0
        if contact.slip is not None:
            slips = self.probe(contact.slip, f"slip of contact {name!r}", [(1,), (2,)], least=3).size
        if contact.roll is not None:
            rolls = self.probe(contact.roll, f"roll of contact {name!r}", [(1,), (2,)], least=3).size
            del self.functions[f"roll of contact {name!r}"]  # it is part of the slip, in the units of the law
        return kind_of(contact, slips, rolls, f"contact {name!r}")

    def joints(self, named: Iterable[tuple[str, Joint]] | None = None):
        """Return gaps and rows of joints, of all of them unless they are named."""
        gaps, rows = [], []
        for name, joint in named or zip(self.system.joint_names, self.system.joints, strict=True):
            function = self.probe(joint.constraint, f"constraint of joint {name!r}", None, most=2)
            made = self.expressions(function)
            if isinstance(made, _OpaqueUse):
                gaps.append((made, function.size))
                rows += [_Row(list(range(self.nv)), None, None, None)] * function.size
                continue
            for x in made:
                gaps.append((x, 1))
                row = self.row_of(x, function)
                if not row.columns:
                    raise ModelError(
                        f"constraint of joint {name!r} does not depend on q: a joint must hold some coordinate"
                    )
                rows.append(row)
        return gaps, rows

    def row_of(self, gap, function: UserFunction) -> _Row:
        """Return W = B^T grad g, w = dg/dt and zeta of a gap or constraint."""
        everything = list(range(self.nv))
        if isinstance(gap, _OpaqueUse) or (self.rate is not None and self.B is None):
            q = self.q0 + 1e-3 * np.arange(1.0, self.nq + 1.0)
            moved = [function(self.t0, p, self.v0) for p in (self.q0, q, self.q0 - 2.0 * (q - self.q0))]
            if all(np.array_equal(moved[0], m) for m in moved[1:]):
                return _Row([], None, None, None)
            return _Row(everything, None, None, None)
        g_q = [differentiate(gap, q) if depends_on(gap, q) else self.trace.zero for q in self.q]
        full = g_q if self.B is None else [self.dot(g_q, self.B[:, j]) for j in everything]
        w = differentiate(gap, self.t) if depends_on(gap, self.t) else self.trace.zero
        return self.sparse_row(full, w)

    def given_row(self, W, name: str, gap, gap_function: UserFunction) -> _Row:
        """Return the row of a W that the user gave, checked against a difference quotient of the gap."""
        function = self.probe(W, f"W of contact {name!r}", [(self.nv,)], most=2)
        made = self.expressions(function)
        if isinstance(made, _OpaqueUse) or isinstance(gap, _OpaqueUse):
            raise ModelError(
                f"W of contact {name!r} cannot be traced together with its gap: leave W out, it is derived"
            )
        for q in (self.q0, self.q0 + 0.01 * np.sin(np.arange(1.0, self.nq + 1.0))):
            given, derived = function(self.t0, q, self.v0), self.difference_row(gap_function, q)
            if not np.allclose(given, derived, rtol=1e-5, atol=1e-6 * (1.0 + np.max(np.abs(derived)))):
                raise ModelError(
                    f"W of contact {name!r} is {given}, but differences of its gap give {derived} at q = {q}: "
                    "correct W or leave it out"
                )
        w = differentiate(gap, self.t) if depends_on(gap, self.t) else self.trace.zero
        return self.sparse_row(list(made), w)

    def difference_row(self, gap: UserFunction, q: np.ndarray) -> np.ndarray:
        step = 6e-6 * max(1.0, float(np.max(np.abs(q))))
        row = np.empty(self.nv)
        for j in range(self.nv):
            direction = np.eye(self.nv)[j]
            if self.system.q_dot is not None:
                direction = self.functions["q_dot"](self.t0, q, direction)
            plus, minus = (gap(self.t0, q + s * direction, self.v0) for s in (step, -step))
            row[j] = float(np.ravel(plus - minus)[0]) / (2.0 * step)
        return row

    def check_slip(self, slip: UserFunction, name: str) -> None:
        """Refuse a slip that does not depend on v.

        At the start alone its gradient may vanish: two dominoes that stand side by side slide as they lean.
        """
        one = np.arange(1.0, self.nv + 1.0)
        places = (self.q0, self.q0 + 1e-3 * np.arange(1.0, self.nq + 1.0))
        if all(np.array_equal(slip(self.t0, q, one), slip(self.t0, q, 0.0 * one)) for q in places):
            raise ModelError(f"slip of contact {name!r} does not depend on v: it is a relative velocity")

    def slip_rows(self, made, slip: UserFunction, name: str) -> list[_Row]:
        zero, one = slip(self.t0, self.q0, 0.0 * self.v0), np.arange(1.0, self.nv + 1.0)
        single, double = slip(self.t0, self.q0, one), slip(self.t0, self.q0, 2.0 * one)
        size = max(np.max(np.abs(double)), np.max(np.abs(zero)))
        self.check_slip(slip, name)
        if not np.allclose(double - zero, 2.0 * (single - zero), rtol=0.0, atol=1e-9 * size):
            raise ModelError(f"slip of contact {name!r} is not affine in v: it must be W_T(t, q) v + w_T(t, q)")
        if isinstance(made, _OpaqueUse) or (self.rate is not None and self.B is None):
            return [_Row(list(range(self.nv)), None, None, None)] * slip.size
        rows = []
        for x in made.reshape(-1):
            full = [differentiate(x, v) if depends_on(x, v) else self.trace.zero for v in self.v]
            if any(depends_on(y, list(self.v)) for y in full):
                raise ModelError(f"slip of contact {name!r} is not affine in v: it must be W_T(t, q) v + w_T(t, q)")
            rows.append(self.sparse_row(full, substitute(x, dict.fromkeys(self.v, 0))))
        return rows

    def sparse_row(self, full: list[Expr], w: Expr) -> _Row:
        columns = [j for j, x in enumerate(full) if x is not self.trace.zero]
        entries = [full[j] for j in columns]
        u = w + self.dot(entries, [self.v[j] for j in columns])
        q_dot = list(self.v) if self.rate is None else list(self.rate)
        seeds = {self.t: self.trace.one}
        seeds.update(zip(self.q, q_dot, strict=True))
        return _Row(columns, entries, w, directional(u, seeds))

    def dot(self, left, right) -> Expr:
        total = self.trace.zero
        for x, y in zip(left, right, strict=True):
            if x is not self.trace.zero and y is not self.trace.zero:
                total = total + x * y
        return total

    # ---- integer layout

    def layout(self, profile: Profile, rows: list[_Row], contact_rows: list[int], nj: int, flags: int) -> np.ndarray:
        nv, nr = self.nv, len(rows)
        position = profile.position()
        island = self.islands(profile, rows[nr - nj :])
        members: dict[int, list[int]] = {}
        for p in range(nv):
            members.setdefault(int(island[p]), []).append(p)
        w_ptr, w_col, x_ptr, x_pos = [0], [], [0], []
        counts = [*contact_rows, *[1] * nj]
        for begin, count in zip(np.cumsum(counts) - counts, counts, strict=True):
            block = rows[begin : begin + count]
            # normal and tangential rows of a contact share a pattern, so that a sliding friction can be added to X_N
            touched = {int(island[position[j]]) for row in block for j in row.columns}
            moved = sorted(p for number in touched for p in members[number])
            for row in block:
                w_col += row.columns
                w_ptr.append(len(w_col))
                x_pos += moved
                x_ptr.append(len(x_pos))
        first_row = np.concatenate([[0], np.cumsum(contact_rows, dtype=np.int64), [nr]]) if contact_rows else [0, nr]
        numbers = {
            "nq": self.nq, "nv": nv, "nc": len(contact_rows), "nj": nj, "nr": nr, "features": flags,
            "profile_size": profile.size, "nw": len(w_col), "nx": len(x_pos),
            "ne": len(self.events) + len(self.switches), "ns": len(self.switches), "noise": self.noise,
            "tape_size": 0 if self.tape is None else self.tape.code.size,
            "tape_work": 0 if self.tape is None else self.tape.work, "tape_numbers": self.tape_numbers,
            "holding": -1 if self.switching.holding is None else self.switching.holding,
            "impact_law": self.impact_law,
        }  # fmt: skip
        tables = {
            "perm": profile.perm, "first": profile.first, "start": profile.start,
            "contact_row": first_row, "kind": [KERNELS[kind] for kind in self.kinds],
            "W_ptr": w_ptr, "W_col": w_col, "X_ptr": x_ptr,
            "X_col": [profile.perm[p] for p in x_pos], "X_pos": x_pos,
            "event_table": [x for e in self.events for x in (e.direction, e.terminal, e.reset is not None)]
            + [-1, 0, 0] * len(self.switches),
            "tape": [] if self.tape is None else self.tape.code.reshape(-1),
            "switch_table": [x for switch in self.switches for x in (switch.slot, switch.kind)],
        }  # fmt: skip
        return lay.pack(numbers, tables)

    def islands(self, profile: Profile, joint_rows: list[_Row]) -> np.ndarray:
        """Return a number per position; positions with different numbers cannot move each other."""
        island = profile.component.astype(np.int64)
        position = profile.position()
        for row in joint_rows:
            numbers = np.unique(island[position[row.columns]])
            island[np.isin(island, numbers)] = numbers[0]
        return island

    # ---- source text of the units

    def array_par(self, values: np.ndarray) -> str:
        """Keep a constant array behind the other parameters and return the name of its first place."""
        self.arrays.append(np.asarray(values, dtype=float).ravel())
        return f"ARRAY{len(self.arrays) - 1}"

    def emit_mass(self, mass, profile: Profile) -> str:
        if isinstance(mass, _OpaqueUse):
            nv = self.nv
            return (
                f"    dense = vec(SCRATCH, 0, {nv * nv})\n    {mass.call}(t, q, q, {mass.par}, dense)\n"
                f"    pack_full(dense, {nv}, out)\n"
            )
        if mass.dtype != object:
            start = self.array_par(profile.pack(mass))
            return f"    for i in range({profile.size}):\n        out[i] = par[{start} + i]\n"
        targets = {
            profile.offset(i, j): mass[i, j]
            for i in range(self.nv)
            for j in range(self.nv)
            if mass[i, j] is not self.trace.zero
        }
        return self.emit_sparse("out", targets, profile.size)

    def emit_sparse(self, name: str, targets: dict[int, Expr], size: int) -> str:
        zero = "" if len(targets) == size else f"    for i in range({size}):\n        {name}[i] = 0.0\n"
        return zero + emit([(f"{name}[{place}]", x) for place, x in sorted(targets.items())])

    def emit_force(self, force, K, C) -> str:
        text = self.emit_linear(K, "q") + self.emit_linear(C, "v")
        if isinstance(force, _OpaqueUse):
            return f"    {force.call}(t, q, v, {force.par}, out)\n" + text
        if force.dtype != object:
            start = self.array_par(force)
            return f"    for i in range({self.nv}):\n        out[i] = par[{start} + i]\n" + text
        return emit([(f"out[{i}]", x) for i, x in enumerate(force)]) + text

    def emit_linear(self, matrix, name: str) -> str:
        """Subtract matrix times vector, entry by entry; the places of the entries are kept as parameters too."""
        if matrix is None:
            return ""
        rows, columns = np.nonzero(matrix)
        row, column = self.array_par(rows), self.array_par(columns)
        value = self.array_par(matrix[rows, columns])
        product = f"par[{value} + k] * {name}[int(par[{column} + k])]"
        return f"    for k in range({len(rows)}):\n        out[int(par[{row} + k])] -= {product}\n"

    def emit_jacobian(self, entries, profile: Profile, force, K, C) -> str:
        if entries is None:
            function = force if isinstance(force, _OpaqueUse) else _OpaqueUse("force", "par")
            text = (
                f"    difference_jacobian({function.call}, {function.par}, rate, par, t, q, v, out_q, out_v, SCRATCH)\n"
            )
        else:
            zero = f"    for i in range({profile.size}):\n        out_q[i] = 0.0\n        out_v[i] = 0.0\n"
            targets = [
                (f"{name}[{profile.offset(*place)}]", pair[side])
                for side, name in enumerate(("out_q", "out_v"))
                for place, pair in entries.items()
                if pair[side] is not self.trace.zero
            ]
            text = zero + emit(targets)
        for name, matrix in (("out_q", K), ("out_v", C)):
            if matrix is not None:
                start = self.array_par(profile.pack(matrix))
                text += f"    for i in range({profile.size}):\n        {name}[i] -= par[{start} + i]\n"
        return text

    def emit_gaps(self, gaps) -> str:
        text, targets, at = "", [], 0
        for made, size in gaps:
            if size < 0:
                continue
            if made is None:  # of a family
                at += size
                continue
            if isinstance(made, _OpaqueUse):
                text += f"    {made.call}(t, q, q, {made.par}, vec(out, {at}, {size}))\n"
            else:
                targets.append((f"out[{at}]", made))
            at += size
        return emit(targets) + text

    def emit_rows(self, rows, gaps, joint_gaps) -> str:
        text, targets, entry = "", [], 0
        for r, row in enumerate(rows):
            if row.entries is not None and row.w is not None:
                targets += [(f"W[{entry + k}]", x) for k, x in enumerate(row.entries)]
                targets.append((f"w[{r}]", row.w))
            entry += len(row.columns)
        for made, size, r, entry in self.opaque_rows(rows, gaps, joint_gaps):
            n, nv = abs(size), self.nv
            W, w = f"vec(W, {entry}, {n * nv})", f"vec(w, {r}, {n})"
            if size < 0:
                text += f"    affine_rows({made.call}, {made.par}, t, q, {nv}, {n}, {W}, {w}, SCRATCH)\n"
            else:
                text += (
                    f"    zero = vec(SCRATCH, 0, {nv})\n"
                    f"    difference_rows({made.call}, {made.par}, rate, par, t, q, zero, {n}, {W}, {w}, REST)\n"
                )
        return emit(targets) + text

    def emit_curvature(self, rows, gaps, joint_gaps) -> str:
        targets = [(f"out[{r}]", row.zeta) for r, row in enumerate(rows) if row.zeta is not None]
        text = ""
        for made, size, r, _ in self.opaque_rows(rows, gaps, joint_gaps):
            out = f"vec(out, {r}, {abs(size)})"
            state = f"{int(size < 0)}, t, q, v, {abs(size)}"
            text += f"    difference_curvature({made.call}, {made.par}, rate, par, {state}, {out}, SCRATCH)\n"
        return emit(targets) + text

    def opaque_rows(self, rows, gaps, joint_gaps):
        """Yield (function, size, first row, first entry) of the rows that come from differences."""
        r, entry = 0, 0
        for made, size in [*gaps, *joint_gaps]:
            n = abs(size)
            if rows[r].entries is None:
                if not isinstance(made, _OpaqueUse):
                    raise ModelError("a traced gap needs a q_dot that can be traced: write q_dot without branches")
                yield made, size, r, entry
            entry += sum(len(row.columns) for row in rows[r : r + n])
            r += n

    def emit_rate(self) -> str:
        if self.rate is None:
            return f"    for i in range({self.nq}):\n        out[i] = v[i]\n"
        if isinstance(self.rate, _OpaqueUse):
            return f"    {self.rate.call}(0.0, q, v, {self.rate.par}, out)\n"
        return emit([(f"out[{i}]", x) for i, x in enumerate(self.rate)])

    def emit_retract(self) -> str:
        if self.system.retract is None:
            return ""
        function = self.probe(self.system.retract, "retract", [(self.nq,)], most=1)
        made = self.expressions(function, hold=False)
        copy = "".join(f"    q[{i}] = y{i}\n" for i in range(self.nq))
        if isinstance(made, _OpaqueUse):
            copy = f"    for i in range({self.nq}):\n        q[i] = y[i]\n"
            return f"    y = vec(SCRATCH, 0, {self.nq})\n    {made.call}(0.0, q, q, {made.par}, y)\n" + copy
        return emit([(f"y{i}", x) for i, x in enumerate(made)]) + copy

    def event_values(self) -> list[Expr | _OpaqueUse]:
        """Return the function of every event of the user."""
        made = []
        for name, event in zip(event_names(self.events), self.events, strict=True):
            function = self.probe(event.function, f"function of event {name!r}", [()])
            value = self.expressions(function)
            if not isinstance(value, _OpaqueUse):
                value = value.reshape(-1)[0]
                if not depends_on(value, [self.t, *self.q, *self.v]):
                    raise ModelError(
                        f"function of event {name!r} is constant: it must depend on t, q or v to cross zero"
                    )
            made.append(value)
        return made

    def emit_switches(self, events: list[Expr | _OpaqueUse]) -> str:
        """Write what crosses zero at events of the user, and where branches end."""
        text, targets = "", []
        for k, value in enumerate(events):
            if isinstance(value, _OpaqueUse):
                text += f"    {value.call}(t, q, v, {value.par}, vec(out, {k}, 1))\n"
            else:
                targets.append((f"out[{k}]", value))
        guards = self.switching.guards(self.switches, self.held)
        for k, (switch, guard) in enumerate(zip(self.switches, guards, strict=True)):
            blur = self.switching.blur(switch, self.t, list(self.q), list(self.v), self.noise)
            targets.append((f"out[{len(events) + k}]", self.switching.watched(switch, blur, guard)))
        return emit(targets) + text

    def emit_surfaces(self, waves: Expr) -> str:
        """Write values, noise and cells of the switching functions, not a number where nothing depends on them.

        Behind them stands the fastest phase. The noise is -1 for what depends on the cells of others alone.
        """
        ns = len(self.switches)
        return emit([*self.surface_targets(ns), (f"out[{3 * ns}]", waves)])

    def surface_targets(self, ns: int) -> list[tuple[str, Expr]]:
        """Return values, noise and cells of the switching functions, of which there are ns in all."""
        targets: list[tuple[str, Expr]] = []
        missing = self.trace.number(math.nan)
        guards = self.switching.guards(self.switches, self.held)
        for k, (switch, guard) in enumerate(zip(self.switches, guards, strict=True)):
            value = switch.value if guard is None else self.trace.where(guard, switch.value, missing)
            targets.append((f"out[{k}]", value))
            blur = self.switching.blur(switch, self.t, list(self.q), list(self.v), self.noise)
            targets.append((f"out[{ns + k}]", self.trace.minus_one if blur is self.trace.zero else blur))
            targets.append((f"out[{2 * ns + k}]", self.trace.zero if switch.cell is None else switch.cell))
        return targets

    def emit_reset(self) -> str:
        """Write the state after each event that has a reset, chosen by its number."""
        text, nq, nv = "", self.nq, self.nv
        for k, (name, event) in enumerate(zip(event_names(self.events), self.events, strict=True)):
            if event.reset is None:
                continue
            called = _reset_of(name)
            joined = joined_reset(event.reset, called, self.t0, self.q0, self.v0, self.values)
            function = self.probe(joined, called, [(nq + nv,)], least=3)
            made = self.expressions(function, hold=False)
            text += f"    if number == {k}:\n"
            if isinstance(made, _OpaqueUse):
                y = f"vec(SCRATCH, 0, {nq + nv})"
                text += (
                    f"        {made.call}(t, q, v, {made.par}, {y})\n"
                    f"        for i in range({nq}):\n            q[i] = {y}[i]\n"
                    f"        for i in range({nv}):\n            v[i] = {y}[{nq} + i]\n"
                )
                continue
            # all of the new state is known before any of the old one is lost
            text += emit([(f"y{i}", x) for i, x in enumerate(made)], indent=8)
            text += "".join(f"        q[{i}] = y{i}\n" for i in range(nq))
            text += "".join(f"        v[{i}] = y{nq + i}\n" for i in range(nv))
        return text

    def constant_slots(self) -> list[Slot]:
        """Return what lies among the constants of the trace: parameters, and what the functions contain."""
        slots: list[Slot] = []
        end = len(self.trace.constants)
        named = sorted((offset, name, np.shape(value)) for name, (offset, value) in self.trace.named.items())
        at = 0
        for offset, name, shape in [*named, (end, "", ())]:
            if offset > at:
                slots.append(Slot(f"constants {at}", "constants", at, (offset - at,)))
            if name:
                slots.append(Slot(name, "parameter", offset, shape))
                at = offset + slots[-1].size
        return slots

    def walking(self) -> str:
        """Return what the units call to go through families."""
        return ""

    def module_text(self, body: dict[str, str]) -> tuple[str, np.ndarray, ParLayout]:
        """Return the source of the module, the numbers that it reads, and what they are."""
        values = [np.array(self.trace.constants, dtype=float)]
        slots = self.constant_slots()
        at = len(self.trace.constants)
        names = {}
        for k, array in enumerate(self.arrays):
            names[f"ARRAY{k}"] = str(at)
            slots.append(Slot(f"array {k}", "array", at, array.shape))
            values.append(array)
            at += len(array)
        imports = ""
        for k, made in enumerate(self.opaque):
            names[f"par_of_opaque{k}"] = f"vec(par, {at}, {len(made.values)})"
            imports += f"from {made.module} import opaque as opaque{k}\n"
            slots.append(Slot(f"opaque {k}", "opaque", at, made.values.shape))
            values.append(made.values)
            at += len(made.values)
        helpers = IMPORTS
        if self.opaque:
            # scratch of the difference quotients lies behind the parameters: units allocate nothing
            size = scratch_size(self.nq, self.nv, max((f.size for f in self.functions.values()), default=1))
            names["SCRATCH"] = f"vec(par, {at}, {size})"
            names["REST"] = f"vec(par, {at + self.nv}, {size})"
            slots.append(Slot("scratch", "scratch", at, (size + self.nv,)))
            values.append(np.zeros(size + self.nv))
            helpers += (
                "from saltus.compile.differences import affine_rows, difference_curvature, difference_jacobian\n"
                "from saltus.compile.differences import difference_rows, pack_full\n"
            )
        text = f'"""Model functions, generated by saltus."""\n\n{helpers}'
        text += "from saltus.compile.seam import unit\nfrom saltus.compile.views import vec\n"
        text += "from saltus.compile.types import "
        text += ", ".join(name.upper() for name in UNITS if name in body)
        text += f"\n{imports}"
        text += self.walking()
        called = "".join(body.values())
        used = [made for name, made in HELPERS.items() if f"{name}(" in called]
        if used:
            text += "from saltus.compile.types import A, F, I\n"
        for source, signature in used:
            text += f"\n\n@unit({signature})\n{source}"
        for name in sorted(body, key=lambda unit: unit != "rate"):  # others take the rate as an argument
            lines = body[name] if body[name].strip() else ""
            text += f"\n\n@unit({name.upper()})\ndef {name}({SIGNATURES[name]}):\n{lines}    return 0\n"
        for name, place in names.items():
            text = re.sub(rf"\b{name}\b", place, text)
        par = np.concatenate(values)
        return text, par if len(par) else np.zeros(1), ParLayout(tuple(slots))
