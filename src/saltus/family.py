"""Families: one kind of body, force, joint or contact, written once as plain functions and called over rows of data.

    links = BodyFamily("link", 3, 3, mass=lambda q, p: (p[0], p[0], p[1]), p=[[0.1, 8e-5]] * 50)
    pins = JointFamily("pin", constraint=pin, bodies=[[i, i + 1] for i in range(49)], p=[[0.05, -0.05]] * 49)
    system = System(bodies=[links], joints=[pins])

A function of a family sees its own slots alone: `q` and `v` are tuples of vectors, q[0] of the body bodies[row, 0],
q[1] of bodies[row, 1]; `p` is the row of numbers. Mass, force and rate of a body see the vectors of that body. Bodies
are numbered through all families of a system in their order; -1 is the ground, whose slot holds the pose `ground` of
its partner's family, zeros unless that says otherwise, at rest. What a family means is said by `straight`: the same
system written out body by body.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus.errors import ModelError
from saltus.parameters import Parameter, has_parameter

if TYPE_CHECKING:
    from saltus.system import System

GROUND = -1  # number of the ground among the bodies
IMPACT_LAWS = ("newton", "poisson")  # of a contact


@dataclasses.dataclass(frozen=True, eq=False)
class BodyFamily:
    """Bodies of one kind.

    Parameters
    ----------
    name
        What messages call the family, and its bodies where `names` are left out.
    nq, nv
        Coordinates and velocities of one body.
    mass
        mass(q, p): the nv entries of a diagonal or the (nv, nv) mass matrix of one body [kg, kg m^2].
    force
        force(t, q, v, p): nv generalized forces [N, N m]; None for none.
    rate
        rate(q, v, p): the nq derivatives of the coordinates, linear in v; None where they are v.
    retract
        retract(q, p): the coordinates put back where they belong after a step (a quaternion normalised).
    p
        One row of numbers per body; entries may be parameters, like `p.m` (Parameters).
    names
        One name per body.
    ground
        Pose that a slot of this kind of body has where a joint, force or contact names the ground; None for zeros.
    """

    name: str
    nq: int
    nv: int
    mass: Callable
    force: Callable | None = None
    rate: Callable | None = None
    retract: Callable | None = None
    p: Any = dataclasses.field(default=None, kw_only=True)
    names: Sequence[str] | None = dataclasses.field(default=None, kw_only=True)
    ground: Sequence[float] | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        who = _named(self.name, "body family")
        for letter in ("nq", "nv"):
            count = getattr(self, letter)
            if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1:
                raise ModelError(f"{letter} of {who} is {count!r}: it must be a whole number of at least 1")
            object.__setattr__(self, letter, int(count))
        _function(self.mass, "mass", who, ("q", "p"))
        _function(self.force, "force", who, ("t", "q", "v", "p"), optional=True)
        _function(self.rate, "rate", who, ("q", "v", "p"), optional=True)
        _function(self.retract, "retract", who, ("q", "p"), optional=True)
        if self.rate is None and self.nq != self.nv:
            raise ModelError(f"{who} has nq = {self.nq} and nv = {self.nv}: they must agree, or give rate(q, v, p)")
        given = None if self.names is None else len(_texts(self.names, who))
        object.__setattr__(self, "p", _table(self.p, given, who))
        _name_rows(self, len(self.p), who)
        ground = np.zeros(self.nq) if self.ground is None else np.array(self.ground, dtype=float)
        if ground.shape != (self.nq,) or not np.all(np.isfinite(ground)):
            raise ModelError(f"ground of {who} is {self.ground!r}: it must be {self.nq} finite numbers")
        object.__setattr__(self, "ground", tuple(ground.tolist()))

    def __len__(self) -> int:
        return len(self.p)


@dataclasses.dataclass(frozen=True, eq=False)
class ForceFamily:
    """Forces of one kind between bodies: force(t, q, v, p) returns one vector of generalized forces per slot.

    Parameters
    ----------
    name, p, names
        As those of a `BodyFamily`, one row per force.
    force
        force(t, q, v, p): for every slot its nv generalized forces [N, N m]; what acts on the ground is dropped.
    bodies
        (rows, slots) numbers of bodies, -1 for the ground.
    """

    name: str
    force: Callable
    bodies: Any
    p: Any = dataclasses.field(default=None, kw_only=True)
    names: Sequence[str] | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        who = _named(self.name, "force family")
        _function(self.force, "force", who, ("t", "q", "v", "p"))
        _rows_of(self, who)

    def __len__(self) -> int:
        return len(self.bodies)


@dataclasses.dataclass(frozen=True, eq=False)
class JointFamily:
    """Joints of one kind: constraint(t, q, p) = 0, one or more rows.

    Parameters
    ----------
    name, bodies, p, names
        As those of a `ForceFamily`, one row per joint.
    constraint
        constraint(t, q, p): what the joint keeps at zero [m or rad], as many numbers for every row.
    """

    name: str
    constraint: Callable
    bodies: Any
    p: Any = dataclasses.field(default=None, kw_only=True)
    names: Sequence[str] | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        who = _named(self.name, "joint family")
        _function(self.constraint, "constraint", who, ("t", "q", "p"))
        _rows_of(self, who)

    def __len__(self) -> int:
        return len(self.bodies)


@dataclasses.dataclass(frozen=True, eq=False)
class ContactFamily:
    """Contacts of one kind, each of them what a `Contact` is.

    Parameters
    ----------
    name, bodies, p, names
        As those of a `ForceFamily`, one row per contact.
    gap
        gap(t, q, p): the distance [m].
    slip
        slip(t, q, v, p): one or two tangential relative velocities [m/s], affine in v.
    e, mu, e_t
        A number, a parameter, or one per row.
    impact
        "newton" or "poisson", as of a `Contact`.
    faces
        What belongs together as one face, as the layer that made the contacts wrote it down; the engine only keeps it.
    """

    name: str
    gap: Callable
    bodies: Any
    slip: Callable | None = dataclasses.field(default=None, kw_only=True)
    p: Any = dataclasses.field(default=None, kw_only=True)
    e: Any = dataclasses.field(default=0.0, kw_only=True)
    mu: Any = dataclasses.field(default=0.0, kw_only=True)
    e_t: Any = dataclasses.field(default=0.0, kw_only=True)
    impact: Literal["newton", "poisson"] = dataclasses.field(default="newton", kw_only=True)
    names: Sequence[str] | None = dataclasses.field(default=None, kw_only=True)
    faces: Any = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        who = _named(self.name, "contact family")
        _function(self.gap, "gap", who, ("t", "q", "p"))
        _function(self.slip, "slip", who, ("t", "q", "v", "p"), optional=True)
        _rows_of(self, who)
        if self.impact not in IMPACT_LAWS:
            raise ModelError(f"impact of {who} is {self.impact!r}: it must be 'newton' or 'poisson'")
        for letter in ("e", "mu", "e_t"):
            object.__setattr__(self, letter, _one_per_row(getattr(self, letter), letter, len(self), who))

    def __len__(self) -> int:
        return len(self.bodies)

    def law(self, letter: str, row: int) -> Any:
        """Return e, mu or e_t of one row: a number or a parameter."""
        given = getattr(self, letter)
        return given[row] if isinstance(given, tuple) else given


Family = BodyFamily | ForceFamily | JointFamily | ContactFamily


# ---- checks at the door


def _named(name: Any, kind: str) -> str:
    if not isinstance(name, str) or not name:
        raise ModelError(f"name of a {kind} must be text, not {name!r}")
    return f"{kind} {name!r}"


def _function(function: Any, field: str, who: str, arguments: tuple[str, ...], *, optional: bool = False) -> None:
    wanted = f"({', '.join(arguments)})"
    if function is None and optional:
        return
    if not callable(function):
        raise ModelError(f"{field} of {who} must be a function of {wanted}, not {function!r}")
    try:
        taken = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{field} of {who} has no readable signature: write def {field}({', '.join(arguments)})"
        ) from error
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = sum(one.kind in positional and one.default is one.empty for one in taken)
    if needed != len(arguments):
        raise ModelError(f"{field} of {who} takes {needed} arguments: it must take {wanted}")


def _texts(names: Any, who: str) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise ModelError(f"names of {who} must be a list of texts, not {names!r}")
    for one in names:
        if not isinstance(one, str) or not one:
            raise ModelError(f"names of {who} must be texts, but they contain {one!r}")
    return tuple(names)


def _table(p: Any, rows: int | None, who: str) -> np.ndarray:
    """Return the rows of numbers as a (rows, m) array, of objects where some of them are parameters."""
    if p is None:
        if rows is None:
            raise ModelError(f"{who} has neither p nor names: give p, one row of numbers per body")
        p = np.zeros((rows, 0))
    entries = p.tolist() if isinstance(p, np.ndarray) else p
    if not isinstance(entries, list | tuple):
        raise ModelError(f"p of {who} must be a table, one row of numbers per row of the family, not {p!r}")
    made = [list(row) if isinstance(row, list | tuple | np.ndarray) else [row] for row in entries]
    lengths = {len(row) for row in made}
    if len(lengths) > 1:
        odd = next(k for k, row in enumerate(made) if len(row) != len(made[0]))
        raise ModelError(
            f"p of {who} has {len(made[0])} numbers in row 0 and {len(made[odd])} in row {odd}: all rows must be alike"
        )
    if rows is not None and len(made) != rows:
        raise ModelError(f"p of {who} has {len(made)} rows, but there are {rows}: give one row of numbers for each")
    if not made:
        raise ModelError(f"{who} has no rows: leave it out")
    named = has_parameter(made)
    width = len(made[0])
    table = np.empty((len(made), width), dtype=object if named else float)
    if not named:
        try:
            table[:] = np.array(made, dtype=float).reshape(table.shape)
        except (TypeError, ValueError):
            named = True  # some entry is no number: it is found below
        else:
            if np.all(np.isfinite(table)):
                table.setflags(write=False)
                return table
    table = np.empty((len(made), width), dtype=object)
    for k, row in enumerate(made):
        for m, entry in enumerate(row):
            table[k, m] = _entry(entry, f"p[{k}, {m}] of {who}")
    table.setflags(write=False)
    return table


def _entry(value: Any, what: str) -> Any:
    if isinstance(value, Parameter):
        if value.shape != ():
            raise ModelError(f"{what} is parameter {value.label} of shape {value.shape}: it must be one number")
        return value
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not math.isfinite(float(value)):
        raise ModelError(f"{what} is {value!r}: it must be a finite number or a parameter")
    return float(value)


def _rows_of(family: Any, who: str) -> None:
    """Check and keep bodies, p and names of a family whose rows name bodies."""
    bodies: np.ndarray
    try:
        bodies = np.array(family.bodies)
    except ValueError:
        bodies = np.zeros(0, dtype=object)
    if bodies.ndim == 1 and bodies.dtype.kind in "iu":
        bodies = bodies[:, None]
    if bodies.ndim != 2 or bodies.dtype.kind not in "iu" or bodies.shape[1] < 1:
        raise ModelError(
            f"bodies of {who} must be a table of whole numbers, one row of body numbers each, not {family.bodies!r}"
        )
    bodies = bodies.astype(np.int64)
    if not len(bodies):
        raise ModelError(f"{who} has no rows: leave it out")
    bodies.setflags(write=False)
    object.__setattr__(family, "bodies", bodies)
    object.__setattr__(family, "p", _table(family.p, len(bodies), who))
    _name_rows(family, len(bodies), who)


def _name_rows(family: Any, rows: int, who: str) -> None:
    names = family.names
    if names is None:
        names = (family.name,) if rows == 1 else tuple(f"{family.name}.{k}" for k in range(rows))
    names = _texts(names, who)
    if len(names) != rows:
        raise ModelError(f"{who} has {rows} rows, but {len(names)} names: give one name for each")
    if len(set(names)) != rows:
        raise ModelError(f"{who} has two rows called {repeated(names)!r}: names must differ")
    object.__setattr__(family, "names", names)


def repeated(names: Sequence[str]) -> str | None:
    """Return the first name that stands there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _one_per_row(given: Any, letter: str, rows: int, who: str) -> Any:
    """Return a number or a parameter as it is, several as a tuple."""
    if isinstance(given, Parameter) and given.shape != ():
        given = [given[k] for k in range(len(given))]
    if not isinstance(given, list | tuple | np.ndarray):
        return _entry(given, f"{letter} of {who}")
    if len(given) != rows:
        raise ModelError(f"{letter} of {who} has {len(given)} numbers for {rows} rows: give one number or one per row")
    return tuple(_entry(one, f"{letter}[{k}] of {who}") for k, one in enumerate(given))


# ---- where bodies stand


class Bodies:
    """All bodies of a system: their families, and where coordinates and velocities of each begin.

    Attributes
    ----------
    families
        The families in their order.
    family, row
        Number of the family of each body, and its row there.
    q_first, v_first
        Where its coordinates and velocities begin.
    nq, nv
        Sizes of all of them.
    """

    def __init__(self, families: Sequence[BodyFamily]):
        self.families = tuple(families)
        counts = [len(one) for one in families]
        self.family = np.repeat(np.arange(len(counts)), counts)
        self.row = np.concatenate([np.arange(n) for n in counts]) if counts else np.zeros(0, dtype=np.int64)
        sizes_q = np.repeat([one.nq for one in families], counts).astype(np.int64)
        sizes_v = np.repeat([one.nv for one in families], counts).astype(np.int64)
        self.q_first, self.v_first = np.cumsum(sizes_q) - sizes_q, np.cumsum(sizes_v) - sizes_v
        self.nq, self.nv = int(sizes_q.sum()), int(sizes_v.sum())

    def __len__(self) -> int:
        return len(self.family)

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the bodies, by their numbers."""
        return tuple(name for one in self.families for name in one.names or ())

    def check(self, family: ForceFamily | JointFamily | ContactFamily, kind: str) -> None:
        """Raise ModelError where a row names a body that there is not, or none at all."""
        who, bodies = f"{kind} {family.name!r}", family.bodies
        wrong = (bodies < GROUND) | (bodies >= len(self))
        if wrong.any():
            k, s = (int(i) for i in np.argwhere(wrong)[0])
            raise ModelError(
                f"bodies[{k}, {s}] of {who} is {bodies[k, s]}: bodies are numbered from 0 to {len(self) - 1}, "
                f"and {GROUND} is the ground"
            )
        empty = (bodies == GROUND).all(axis=1)
        if empty.any():
            k = int(np.argmax(empty))
            raise ModelError(f"row {k} of {who} names the ground alone: it must name a body")

    def kinds(self, bodies: np.ndarray) -> list[BodyFamily]:
        """Return the family of each slot of a row; the ground is of the kind of the first body beside it."""
        first = next(int(b) for b in bodies if b != GROUND)
        return [self.families[int(self.family[int(b) if b != GROUND else first])] for b in bodies]


# ---- rows written out


def row_values(p: np.ndarray) -> Callable[[], Any]:
    """Return a function that gives the numbers of a row: those of the run, and tracers in a trace."""
    named: tuple[Any, ...] = tuple((k, x) for k, x in enumerate(p) if isinstance(x, Parameter))
    plain = [0.0 if isinstance(x, Parameter) else float(x) for x in p]
    if not named:
        numbers_alone = np.array(plain, dtype=float)
        return lambda: numbers_alone

    def values():
        row = list(plain)
        for k, parameter in named:
            row[k] = parameter + 0.0  # the number of the run, or what stands for it in a trace
        return np.array(row)

    return values


class Slots:
    """The slots of one row: cuts their vectors out of those of the whole system."""

    def __init__(self, bodies: Bodies, numbers: np.ndarray):
        kinds = bodies.kinds(numbers)
        self.cuts_q = tuple(
            None if b == GROUND else slice(int(bodies.q_first[b]), int(bodies.q_first[b]) + kind.nq)
            for b, kind in zip(numbers, kinds, strict=True)
        )
        self.cuts_v = tuple(
            None if b == GROUND else slice(int(bodies.v_first[b]), int(bodies.v_first[b]) + kind.nv)
            for b, kind in zip(numbers, kinds, strict=True)
        )
        self.ground = tuple(np.array(kind.ground, dtype=float) for kind in kinds)
        self.rest = tuple(np.zeros(kind.nv) for kind in kinds)

    def q(self, q):
        """Return the coordinates of every slot."""
        return tuple(self.ground[s] if cut is None else q[cut] for s, cut in enumerate(self.cuts_q))

    def v(self, v):
        """Return the velocities of every slot."""
        return tuple(self.rest[s] if cut is None else v[cut] for s, cut in enumerate(self.cuts_v))


def _as_written(made: Callable, kernel: Callable, *arguments: str) -> Callable:
    """Let messages name the kernel, and let the signature be that of the row."""
    order = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in arguments]
    made.__signature__ = inspect.Signature(order)  # type: ignore[attr-defined]
    made.__wrapped__ = kernel  # type: ignore[attr-defined]
    return made


def row_of_position(kernel: Callable, slots: Slots, values: Callable) -> Callable:
    """Return a gap or a constraint of one row as a function of (t, q)."""
    return _as_written(lambda t, q: kernel(t, slots.q(q), values()), kernel, "t", "q")


def row_of_velocity(kernel: Callable, slots: Slots, values: Callable) -> Callable:
    """Return a slip of one row as a function of (t, q, v)."""
    return _as_written(lambda t, q, v: kernel(t, slots.q(q), slots.v(v), values()), kernel, "t", "q", "v")


# ---- the whole system written out


def straight(system: System) -> System:
    """Return the same system without families: M, f, q_dot and retract of all bodies, one Contact or Joint per row."""
    if not system.bodies:
        return system
    bodies = system.all_bodies
    return dataclasses.replace(
        system,
        M=_mass(bodies),
        f=_force(system, bodies),
        contacts=list(system.contacts),
        joints=list(system.joints),
        q_dot=_rate(bodies),
        retract=_retract(bodies),
        bodies=(),
        forces=(),
    )


def _each(bodies: Bodies) -> list[tuple[BodyFamily, slice, slice, Callable]]:
    """Return every body: its family, where it stands in q and in v, and its numbers."""
    made = []
    for b in range(len(bodies)):
        family, a, c = bodies.families[int(bodies.family[b])], int(bodies.q_first[b]), int(bodies.v_first[b])
        made.append(
            (family, slice(a, a + family.nq), slice(c, c + family.nv), row_values(family.p[int(bodies.row[b])]))
        )
    return made


def _mass(bodies: Bodies) -> Callable:
    each, nv = _each(bodies), bodies.nv

    def M(q):
        made = [[0.0] * nv for _ in range(nv)]
        for family, at_q, at_v, values in each:
            mass, first = family.mass, at_v.start
            block = mass(q[at_q], values())
            for i in range(family.nv):
                row = block[i]
                if np.ndim(row) == 0:
                    made[first + i][first + i] = row
                    continue
                for j in range(family.nv):
                    made[first + i][first + j] = row[j]
        return made

    return M


def _force(system: System, bodies: Bodies) -> Callable:
    each = _each(bodies)
    rows = [
        (family.force, Slots(bodies, family.bodies[k]), row_values(family.p[k]))
        for family in system.forces
        for k in range(len(family))
    ]
    more = of_state(system.f)
    nv = bodies.nv

    def f(t, q, v):
        made = [0.0] * nv
        for family, at_q, at_v, values in each:
            force = family.force
            if force is not None:
                own = force(t, q[at_q], v[at_v], values())
                for i in range(family.nv):
                    made[at_v.start + i] = own[i]
        for force, slots, values in rows:
            parts = force(t, slots.q(q), slots.v(v), values())
            for part, cut in zip(parts, slots.cuts_v, strict=True):
                if cut is not None:
                    for i in range(cut.stop - cut.start):
                        made[cut.start + i] = made[cut.start + i] + part[i]
        if more is not None:
            other = more(t, q, v)
            for i in range(nv):
                made[i] = made[i] + other[i]
        return made

    return f


def of_state(f: Any) -> Callable | None:
    """Return a force of the whole system as a function of (t, q, v)."""
    if f is None:
        return None
    if not callable(f):
        return lambda t, q, v: f
    from saltus.system import arity

    count = arity(f, "f")
    if count == 1:
        return lambda t, q, v: f(q)
    return (lambda t, q, v: f(t, q)) if count == 2 else f


def _rate(bodies: Bodies) -> Callable | None:
    if all(family.rate is None for family in bodies.families):
        return None
    each = _each(bodies)

    def q_dot(q, v):
        made = []
        for family, at_q, at_v, values in each:
            rate = family.rate
            made += list(v[at_v]) if rate is None else list(rate(q[at_q], v[at_v], values()))
        return made

    return q_dot


def _retract(bodies: Bodies) -> Callable | None:
    if all(family.retract is None for family in bodies.families):
        return None
    each = _each(bodies)

    def retract(q):
        made = []
        for family, at_q, _, values in each:
            back = family.retract
            made += list(q[at_q]) if back is None else list(back(q[at_q], values()))
        return made

    return retract
