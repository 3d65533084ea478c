"""System, Contact, Joint: the mechanics a user writes down, M(q) dv = f(t, q, v) dt - C v dt - K q dt + W di."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import numbers
from collections.abc import Callable, Container, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from saltus import family as families
from saltus.errors import ModelError
from saltus.family import IMPACT_LAWS, Bodies, BodyFamily, ContactFamily, ForceFamily, JointFamily, Slots, repeated
from saltus.parameters import Parameter, Values

if TYPE_CHECKING:
    from saltus.mechanics.scene import Scene
    from saltus.view.sketch import Sketch

LAW_NUMBERS = ("e", "mu", "e_t", "mu_r")  # what a parameter may stand for
RUN_NUMBERS = ("e", "mu", "e_t")  # of a contact in a run, in the units of its law
Quantity = float | Sequence | np.ndarray | Callable
GAP_ARGUMENTS = {1: ("q",), 2: ("t", "q"), 3: ("t", "q", "v")}
STATE_NAMES = {"t": "the time", "q": "the coordinates", "v": "the velocities"}


@dataclasses.dataclass(frozen=True, eq=False)
class Contact:
    """One contact: 0 <= u_N+ + e u_N-  ⟂  P_N >= 0 when closed, with Coulomb friction if mu > 0.

    Parameters
    ----------
    gap
        Distance g(q) or g(t, q) [m] as a plain function returning a scalar; open where positive.
    e
        Restitution of the normal velocity, 0 <= e <= 1. It, mu and e_t may be parameters, like `p.e` (Parameters).
    mu
        Coefficient of friction, mu >= 0; a positive one needs `slip`. In space also a pair (mu_1, mu_2), both positive:
        friction in an ellipse whose axes are the two directions of `slip` (laws/coulomb_elliptic.py).
    slip
        slip(t, q, v): one (plane) or two (space) tangential relative velocities [m/s], affine in v.
    roll
        roll(t, q, v): relative angular velocity of the bodies in contact [rad/s], in the plane, affine in v. With mu_r
        and mu it gives rolling friction (laws/coulomb_rolling.py).
    mu_r
        Coefficient of rolling friction, a length [m]: the moment against rolling is at most mu_r times the normal
        force.
    e_t
        Restitution of the tangential velocity in impacts, 0 <= e_t <= 1: u_T+ = -e_t u_T- as far as friction can do
        that (a superball: e_t near 1); 0 stops the slip. It needs `slip`, and Newton's law.
    impact
        Law of impacts: "newton", u_N+ = -e u_N-; "poisson", an impulse of expansion of e times that of compression,
        which never gains energy, whatever friction does (reaction/impacts/poisson.py). All contacts of a system have
        the same.
    name
        How messages, plots and events call it.
    W
        Optional gradient of the gap, W(q) or W(t, q) with nv entries, when the derived one is not wanted. It is
        checked once against a difference quotient.
    """

    gap: Callable
    e: float | Parameter = dataclasses.field(default=0.0, kw_only=True)
    mu: float | Parameter | Sequence[float | Parameter] = dataclasses.field(default=0.0, kw_only=True)
    slip: Callable | None = dataclasses.field(default=None, kw_only=True)
    e_t: float | Parameter = dataclasses.field(default=0.0, kw_only=True)
    impact: Literal["newton", "poisson"] = dataclasses.field(default="newton", kw_only=True)
    name: str | None = dataclasses.field(default=None, kw_only=True)
    W: Callable | None = dataclasses.field(default=None, kw_only=True)
    roll: Callable | None = dataclasses.field(default=None, kw_only=True)
    mu_r: float | Parameter = dataclasses.field(default=0.0, kw_only=True)

    def __post_init__(self):
        _text(self.name, "a contact")
        who = f"contact {self.name!r}" if self.name else "a contact"
        if not callable(self.gap):
            raise ModelError(f"gap of {who} must be a function of (q) or (t, q), not {self.gap!r}")
        mu: Any = self.mu
        if isinstance(mu, list | tuple) or (isinstance(mu, np.ndarray) and mu.ndim > 0):
            object.__setattr__(self, "mu", tuple(mu))  # what can be changed afterwards is no law
        for letter in LAW_NUMBERS:
            given = getattr(self, letter)
            for number in given if letter == "mu" and isinstance(given, tuple) else (given,):
                _number(number, f"{letter} of {who}")
        if self.impact not in IMPACT_LAWS:
            raise ModelError(f"impact of {who} is {self.impact!r}: it must be 'newton' or 'poisson'")
        self.law(None, who)

    @property
    def frictions(self) -> tuple[float | Parameter, ...]:
        """The friction numbers as they are given: mu, or the pair of an ellipse, then mu_r where it rolls."""
        mu: Any = self.mu
        sliding = mu if isinstance(mu, tuple) else (mu,)
        return sliding if self.roll is None else (*sliding, self.mu_r)

    def law(self, values: Values | None, who: str) -> tuple[float, float, float]:
        """Return (e, mu, e_t) of a run, of which `values` are the parameters; raises ModelError for impossible ones.

        mu is the first one where there are several: in the units of the law it is the only one.
        """
        first = self.frictions[0] if self.frictions else 0.0  # an empty mu is refused below
        e, mu, e_t = run_number(self.e, values), run_number(first, values), run_number(self.e_t, values)
        if len(self.frictions) == 1 and self.mu_r == 0.0 and 0.0 <= e <= 1.0 and mu == e_t == 0.0:
            return e, mu, e_t
        said = {letter: _spelled(getattr(self, letter), values) for letter in ("e", "e_t", "mu_r")}
        said["mu"] = _spelled(first, values)
        self._check_frictions(values, who)
        if not 0.0 <= e <= 1.0:
            raise ModelError(f"e of {who} is {said['e']}: a restitution lies between 0 and 1")
        if not mu >= 0.0:
            raise ModelError(f"mu of {who} is {said['mu']}: a friction coefficient is not negative")
        if mu > 0.0 and self.slip is None:
            raise ModelError(f"mu of {who} is {said['mu']}, but it has no slip: give slip=lambda t, q, v: ...")
        if not 0.0 <= e_t <= 1.0:
            raise ModelError(f"e_t of {who} is {said['e_t']}: a tangential restitution lies between 0 and 1")
        if e_t > 0.0 and self.slip is None:
            raise ModelError(f"e_t of {who} is {said['e_t']}, but it has no slip: give slip=lambda t, q, v: ... and mu")
        if e_t > 0.0 and self.impact == "poisson":
            raise ModelError(
                f"e_t of {who} is {said['e_t']}: tangential restitution belongs to impact='newton'; take e_t=0"
            )
        return e, mu, e_t

    def _check_frictions(self, values: Values | None, who: str) -> None:
        """Refuse numbers of ellipses and of rolling that make no law."""
        numbers = tuple(run_number(one, values) for one in self.frictions)
        said = ", ".join(_spelled(one, values) for one in self.frictions)
        if isinstance(self.mu, tuple) and len(self.mu) != 2:
            raise ModelError(f"mu of {who} is {self.mu}: it must be one number, or a pair (mu_1, mu_2) in space")
        if isinstance(self.mu, tuple) and not all(number > 0.0 for number in numbers[:2]):
            raise ModelError(
                f"mu of {who} is ({said}): both coefficients of an ellipse must be positive; where one direction is "
                "smooth, give the slip in the other one alone and one mu"
            )
        if isinstance(self.mu, tuple) and self.slip is None:
            raise ModelError(f"mu of {who} is ({said}), but it has no slip: give slip=lambda t, q, v: ...")
        if self.roll is None and run_number(self.mu_r, values) != 0.0:
            raise ModelError(
                f"mu_r of {who} is {_spelled(self.mu_r, values)}, but it has no roll: give roll=lambda t, q, v: ..., "
                "the relative angular velocity"
            )
        if self.roll is None:
            return
        if isinstance(self.mu, tuple) or self.slip is None or not all(number > 0.0 for number in numbers):
            raise ModelError(
                f"{who} rolls with mu = {self.mu} and mu_r = {_spelled(self.mu_r, values)} m: rolling friction needs a "
                "slip, one positive mu and a positive mu_r; without rolling friction leave roll out"
            )
        if self.impact == "poisson" or run_number(self.e_t, values) != 0.0:
            raise ModelError(f"{who} rolls: only Newton's law of impacts with e_t=0 knows rolling friction")


@dataclasses.dataclass(frozen=True, eq=False)
class Joint:
    """A bilateral constraint: constraint(q) = 0 or constraint(t, q) = 0, scalar or vector [m or rad]."""

    constraint: Callable
    name: str | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self):
        _text(self.name, "a joint")
        if not callable(self.constraint):
            who = f"joint {self.name!r}" if self.name else "a joint"
            raise ModelError(f"constraint of {who} must be a function of (q) or (t, q), not {self.constraint!r}")


class Rows(tuple):
    """Contacts or joints one by one, those of families too; `parts` are lists and families as they were given."""

    parts: tuple

    def __new__(cls, rows: Sequence, parts: Sequence):
        made = super().__new__(cls, rows)
        made.parts = tuple(parts)
        return made


@dataclasses.dataclass(frozen=True, eq=False)
class System:
    """A mechanical system with contacts and joints.

    Parameters
    ----------
    M
        Mass: a number (times identity), a vector (diagonal), a matrix, or a function of (q) or (t, q) [kg].
    f
        Force: a number (one degree of freedom), a vector, or a function of (q), (t, q) or (t, q, v) [N].
    contacts, joints
        Lists of `Contact` and `Joint`; with `bodies` also `ContactFamily` and `JointFamily`. Afterwards they hold one
        entry per row.
    K, C
        Linear stiffness [N/m] and damping [N s/m]: the force is f - C v - K q; factored once per step size.
    q_dot
        q_dot(q, v) = B(q) v, linear in v, when coordinates are not the integrals of velocities (quaternions).
    retract
        retract(q) -> q, applied after each step (normalise a quaternion).
    name
        How messages and plots call it.
    coordinates
        Names of the coordinates q, like ("x", "angle"): plots, tables, spectra, messages and files use them. None:
        q[0], q[1], ...
    units
        Units of the coordinates, like ("m", "rad"), with `coordinates` or without; velocities have them per second.
    scene
        What it is made of, by name, where a mechanism made it (`saltus.mechanics.scene.Scene`); a `saltus.view.Sketch`
        of one written by hand.
    bodies, forces
        Families of bodies and of forces between them (family.py). Then M, q_dot and retract are those of the bodies
        and are left out; f, K and C, where they are given, act in addition.
    """

    M: Quantity | None = None
    f: Quantity | None = None
    contacts: Sequence[Any] = ()
    joints: Sequence[Any] = ()
    K: Any = dataclasses.field(default=None, kw_only=True)
    C: Any = dataclasses.field(default=None, kw_only=True)
    q_dot: Callable | None = dataclasses.field(default=None, kw_only=True)
    retract: Callable | None = dataclasses.field(default=None, kw_only=True)
    name: str | None = dataclasses.field(default=None, kw_only=True)
    coordinates: Sequence[str] | None = dataclasses.field(default=None, kw_only=True)
    units: Sequence[str] | None = dataclasses.field(default=None, kw_only=True)
    scene: Scene | Sketch | None = dataclasses.field(default=None, kw_only=True)
    bodies: Sequence[BodyFamily] = dataclasses.field(default=(), kw_only=True)
    forces: Sequence[ForceFamily] = dataclasses.field(default=(), kw_only=True)

    def __post_init__(self):
        _text(self.name, "a system")
        for kind, field in ((BodyFamily, "bodies"), (ForceFamily, "forces")):
            object.__setattr__(self, field, _listed(getattr(self, field), field, (kind,)))
        self._check_bodies()
        rows: tuple[Any, ...] = (
            (Contact, ContactFamily, "contacts", _contact_rows),
            (Joint, JointFamily, "joints", _joint_rows),
        )
        for kind, family, field, written in rows:
            given = getattr(self, field)
            parts = _listed(given.parts if isinstance(given, Rows) else given, field, (kind, family))
            for part in parts:
                if isinstance(part, family):
                    self._check_family(part, field)
            if any(isinstance(part, family) for part in parts):
                bodies = self.all_bodies
                made = [
                    row for part in parts for row in (written(part, bodies) if isinstance(part, family) else [part])
                ]
                parts = Rows(made, parts)
            object.__setattr__(self, field, parts)
        self._check_coordinates()
        name = repeated([*self.contact_names, *self.joint_names])
        if name is not None:
            raise ModelError(f"two contacts or joints are called {name!r}: names must differ")
        laws = [contact.impact for contact in self.contacts]
        if len(set(laws)) > 1:
            other = next(name for name, law in zip(self.contact_names, laws, strict=True) if law != laws[0])
            raise ModelError(
                f"contact {self.contact_names[0]!r} has impact={laws[0]!r}, contact {other!r} another law: an impact "
                "acts on all closed contacts together, so give all of them the same"
            )

    def _check_bodies(self) -> None:
        """Refuse what bodies say already, and families without bodies."""
        if not self.bodies:
            if self.forces:
                raise ModelError(f"force family {self.forces[0].name!r} needs bodies: give System(bodies=[...])")
            for letter, meant in (("M", "mass"), ("f", "force")):
                if getattr(self, letter) is None:
                    raise ModelError(f"{letter} of the system is missing: give its {meant}, or bodies=[...]")
            return
        for letter, meant in (("M", "mass"), ("q_dot", "rate"), ("retract", "retract")):
            if getattr(self, letter) is not None:
                raise ModelError(f"{letter} is given beside bodies: with bodies it is their own {meant}; leave it out")
        families = [family.name for family in self.bodies]
        name = repeated(families) or repeated(self.all_bodies.names)
        if name is not None:
            raise ModelError(f"two bodies or body families are called {name!r}: names must differ")
        for family in self.forces:
            self._check_family(family, "forces")
        name = repeated([one for family in self.forces for one in family.names or ()])
        if name is not None:
            raise ModelError(f"two forces are called {name!r}: names must differ")

    def _check_family(self, family: ForceFamily | JointFamily | ContactFamily, field: str) -> None:
        kind = {"contacts": "contact family", "joints": "joint family", "forces": "force family"}[field]
        if not self.bodies:
            raise ModelError(f"{kind} {family.name!r} needs bodies: give System(bodies=[...])")
        self.all_bodies.check(family, kind)

    @property
    def rate_is_velocity(self) -> bool:
        """Whether q_dot = v."""
        return self.q_dot is None and all(family.rate is None for family in self.bodies)

    @functools.cached_property
    def all_bodies(self) -> Bodies:
        """Bodies of the families, by their numbers."""
        return Bodies(self.bodies)

    @property
    def contact_parts(self) -> tuple[Contact | ContactFamily, ...]:
        """Contacts and their families as they were given."""
        return self.contacts.parts if isinstance(self.contacts, Rows) else tuple(self.contacts)

    @property
    def joint_parts(self) -> tuple[Joint | JointFamily, ...]:
        """Joints and their families as they were given."""
        return self.joints.parts if isinstance(self.joints, Rows) else tuple(self.joints)

    def _check_coordinates(self) -> None:
        """Keep names and units of coordinates as tuples of texts; names differ, from each other and from velocities."""
        for field in ("coordinates", "units"):
            given: Any = getattr(self, field)
            if given is None:
                continue
            listed = tuple(given) if isinstance(given, list | tuple) else ()
            if not listed or not all(isinstance(one, str) for one in listed):
                raise ModelError(f"{field} must be a list of texts, one per coordinate, not {given!r}")
            object.__setattr__(self, field, listed)
        names = self.coordinates or ()
        taken = {*names, *(f"{name}_dot" for name in names)}
        if len(taken) < 2 * len(names) or "" in taken:
            raise ModelError(
                f"coordinates are {names}: names must differ, also from the velocities x_dot, and not be empty"
            )
        if self.units is not None and self.coordinates is not None and len(self.units) != len(names):
            raise ModelError(f"there are {len(names)} coordinates and {len(self.units)} units: give one each")

    def laws(self, values: Values | None = None) -> np.ndarray:
        """Return (e, mu, e_t) of every contact, one row each; values: the parameters of a run, None the first ones."""
        named = zip(self.contact_names, self.contacts, strict=True)
        rows = [contact.law(values, f"contact {name!r}") for name, contact in named]
        return np.array(rows, dtype=float).reshape(len(rows), len(RUN_NUMBERS))

    def _repr_html_(self) -> str:
        from saltus.results.html import system_html

        return system_html(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy or a pickle holds: the fields, not the compiled model, which belongs to this process."""
        state = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return state | {"contacts": self.contact_parts, "joints": self.joint_parts}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields of another system; the rows of its families are written out again."""
        for name, value in state.items():
            object.__setattr__(self, name, value)
        if self.bodies:
            self.__post_init__()

    @property
    def contact_names(self) -> tuple[str, ...]:
        """Names of the contacts, numbered where none is given."""
        return tuple(c.name or f"contact {i}" for i, c in enumerate(self.contacts))

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, numbered where none is given."""
        return tuple(j.name or f"joint {i}" for i, j in enumerate(self.joints))


def _listed(given: Any, field: str, kinds: tuple[type, ...]) -> tuple:
    """Return a list of the user's as a tuple; one alone is a list of one."""
    wanted = kinds[0].__name__
    if isinstance(given, kinds):
        given = (given,)
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise ModelError(f"{field} must be a list of {wanted}, not {given!r}")
    for item in given:
        if not isinstance(item, kinds):
            raise ModelError(f"{field} must be a list of {wanted}, but it contains {item!r}")
    return tuple(given)


def _contact_rows(family: ContactFamily, bodies: Bodies) -> list[Contact]:
    """Return the contacts of a family, one by one."""
    made = []
    for k, name in enumerate(family.names or ()):
        slots, values = Slots(bodies, family.bodies[k]), families.row_values(family.p[k])
        slip = None if family.slip is None else families.row_of_velocity(family.slip, slots, values)
        gap = families.row_of_position(family.gap, slots, values)
        law: dict[str, Any] = {letter: family.law(letter, k) for letter in RUN_NUMBERS}
        made.append(Contact(gap, slip=slip, impact=family.impact, name=name, **law))
    return made


def _joint_rows(family: JointFamily, bodies: Bodies) -> list[Joint]:
    """Return the joints of a family, one by one."""
    made = []
    for k, name in enumerate(family.names or ()):
        slots, values = Slots(bodies, family.bodies[k]), families.row_values(family.p[k])
        made.append(Joint(families.row_of_position(family.constraint, slots, values), name=name))
    return made


def arity(
    function: Callable,
    who: str,
    wanted: str = "(q), (t, q) or (t, q, v)",
    *,
    rate: bool = False,
    allowed: Container[int] = GAP_ARGUMENTS,
) -> int:
    """Return how many of (t, q, v) a function takes: the number of positional parameters without default.

    Arguments are given by their place, whatever they are called; but one that is called t, q or v must be that one.
    rate: two of them are (q, v). allowed: how many there may be.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as error:
        raise ModelError(
            f"{who} has no readable signature: wrap it in lambda q: ..., its arguments {wanted}"
        ) from error
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters):
        raise ModelError(f"{who} takes *args: write its arguments out, {wanted}")
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    taken = [p for p in parameters if p.kind in positional]
    names = [p.name for p in taken if p.default is p.empty]
    if len(names) not in allowed:
        raise ModelError(f"{who} takes {len(names)} arguments: it must take {wanted}")
    meant = ("q", "v") if rate and len(names) == 2 else GAP_ARGUMENTS[len(names)]
    for name, given in zip(names, meant, strict=True):
        if name != given and name in STATE_NAMES:  # what is called v would be q
            raise ModelError(
                f"{who} takes ({', '.join(names)}), but arguments are given by their place: {name!r} would be "
                f"{STATE_NAMES[given]}; write them as {wanted}"
            )
    for p in taken:
        if p.default is not p.empty and p.name in STATE_NAMES and p.name not in meant:
            raise ModelError(
                f"{p.name!r} of {who} has a default value, so that {STATE_NAMES[p.name]} would never be given: take "
                f"the default away, or call it otherwise if it is something else; {who} must take {wanted}"
            )
    return len(names)


def _text(name, who: str) -> None:
    if name is not None and not isinstance(name, str):
        raise ModelError(f"name of {who} must be text, not {name!r}")


def run_number(value, values: Values | None) -> float:
    """Return a number of a law in a run."""
    if isinstance(value, Parameter):
        return float(value.of(value.parameters if values is None else values))
    return float(value)


def _spelled(value, values: Values | None) -> str:
    """Return a number of a law as messages say it."""
    return f"{run_number(value, values)} (parameter {value.label})" if isinstance(value, Parameter) else f"{value}"


def _number(value, who: str) -> None:
    if isinstance(value, Parameter):
        if value.shape != ():
            raise ModelError(
                f"{who} is parameter {value.label} of shape {value.shape}: it must be one number, like {value.label}[0]"
            )
        return
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not np.isfinite(float(value)):
        raise ModelError(f"{who} must be a finite number, not {value!r}")
