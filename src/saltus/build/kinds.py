"""Kinds: the functions of one family, traced over the slots of one row, and written as loops over its rows.

A kind knows no number of bodies and no place in `par` but those relative to its own row: its text is the same for two
rows and for two thousand. Rows are records in `par`: the fields of INDICES, then for every slot where its coordinates
and velocities begin, then the numbers of the row, those of the bodies' rates, and the places of matrix entries.
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from saltus.compile.expression import MOST_OPERATIONS
from saltus.compile.loops import GROUP, WALK_HEAD
from saltus.compile.nature import Kind as Nature
from saltus.compile.nature import nature_of, phase_rate
from saltus.compile.switches import Switch, Switches
from saltus.compile.trace import (
    HELPERS,
    IMPORTS,
    Expr,
    Trace,
    TracerArray,
    Untraceable,
    depends_on,
    differentiate,
    directional,
    emit,
    operation_count,
    substitute,
)
from saltus.compile.trace_array import ConstantArray
from saltus.errors import FunctionError, ModelError
from saltus.family import BodyFamily, ContactFamily, ForceFamily, JointFamily

INDICES = ("g", "r", "e", "m", "s")  # of a row: its gap, its first row of W, entry of W, mode, switching function
PARAMETER = re.compile(r"\bpar\[(\d+)\]")


@dataclasses.dataclass(frozen=True)
class SlotKind:
    """What stands in a slot: a kind of body, or the ground in its pose.

    Attributes
    ----------
    nq, nv
        Coordinates and velocities.
    rate
        rate(q, v, p) of the body, None where it is v.
    width
        Numbers of the body that its rate may read.
    ground
        Pose of the ground, None for a body.
    """

    nq: int
    nv: int
    rate: Callable | None
    width: int
    ground: tuple[float, ...] | None

    @classmethod
    def of(cls, family: BodyFamily, *, ground: bool = False) -> SlotKind:
        """Return the slot of a body of a family, or of the ground beside it."""
        if ground:
            return cls(family.nq, family.nv, None, 0, tuple(family.ground or ()))
        return cls(family.nq, family.nv, family.rate, 0 if family.rate is None else family.p.shape[1], None)


@dataclasses.dataclass
class LocalRow:
    """One row of W: (slot, velocity) of its entries, the entries, w and zeta."""

    columns: list[tuple[int, int]]
    entries: list[Expr]
    w: Expr
    zeta: Expr


class Kind:
    """One family over one arrangement of slots: its trace and its loops.

    Attributes
    ----------
    fields
        Place in a record of every index.
    width
        Numbers of a record.
    """

    def __init__(self, slots: Sequence[SlotKind], numbers: int):
        self.slots = tuple(slots)
        self.trace = trace = Trace()
        self.t = trace.variable("t")
        self.p_slots = list(range(numbers))
        trace.table([0.0] * numbers)
        self.p = _tracers([trace.parameter(k) for k in self.p_slots])
        self.q = [self._vector("q", s, slot.nq, slot.ground) for s, slot in enumerate(slots)]
        self.v = [
            self._vector("v", s, slot.nv, None if slot.ground is None else (0.0,) * slot.nv)
            for s, slot in enumerate(slots)
        ]
        self.switching = Switches(trace)
        self.held: list[Expr] = []
        self.geometry: list[Expr] = []
        self.forces: list[Expr] = []
        self.rate_slots: list[list[int]] = []
        self.rates = [self._rate(s, slot) for s, slot in enumerate(slots)]
        self.units: dict[str, str] = {}
        self.fields: dict[str, int] = {}
        self.width = 0

    def _vector(self, letter: str, s: int, n: int, fixed: tuple[float, ...] | None) -> Any:
        if fixed is not None:
            return np.array(fixed, dtype=float).view(ConstantArray)
        return _tracers([self.trace.variable(f"{letter}{s}_{i}") for i in range(n)])

    def _rate(self, s: int, slot: SlotKind):
        """Return q_dot of a slot and its matrix B, None for both where it is v or rests."""
        self.rate_slots.append([])
        if slot.rate is None:
            return None
        first = self.trace.table([0.0] * slot.width)
        self.rate_slots[s] = list(range(first, first + slot.width))
        own = _tracers([self.trace.parameter(k) for k in self.rate_slots[s]])
        made = self.call("q_dot", slot.rate, self.q[s], self.v[s], own, shape=(slot.nq,))
        B = [[differentiate(x, v) for v in self.v[s]] for x in made]
        return list(made), B

    # ---- tracing

    def call(self, name: str, function: Callable, *arguments: Any, shape: tuple[int, ...] | None, hold=True):
        """Return a function of the family on the slots as expressions with branches that can be held."""
        result = self.trace.call(function, *arguments)
        return self._as_held(name, self.trace.as_array(result, shape), hold)

    def call_parts(self, name: str, function: Callable, *arguments: Any, sizes: Sequence[int]) -> list[np.ndarray]:
        """Return a result of one vector per slot."""
        result = self.trace.call(function, *arguments)
        if len(result) != len(sizes):
            raise FunctionError(f"{name} returned {len(result)} vectors, expected one for each of {len(sizes)} slots")
        parts = [self.trace.as_array(part, (size,)) for part, size in zip(result, sizes, strict=True)]
        return [self._as_held(name, part, True) for part in parts]

    def _as_held(self, name: str, made: np.ndarray, hold: bool) -> np.ndarray:
        if operation_count(made) > MOST_OPERATIONS:
            raise Untraceable(f"it has more than {MOST_OPERATIONS} operations")
        if not hold:
            return made
        made = self.switching.hold(made, name)
        self.held += list(made.flat)
        word = name.split(" ")[0]
        if word in ("gap", "slip", "constraint", "q_dot"):
            self.geometry += list(made.flat)
        if word in ("mass", "force"):
            self.forces += list(made.flat)
        return made

    @functools.cached_property
    def moving_q(self) -> list[Expr]:
        """All coordinates of bodies."""
        return [x for s, slot in enumerate(self.slots) if slot.ground is None for x in self.q[s]]

    @functools.cached_property
    def moving_v(self) -> list[Expr]:
        """All velocities of bodies."""
        return [x for s, slot in enumerate(self.slots) if slot.ground is None for x in self.v[s]]

    @functools.cached_property
    def places_v(self) -> list[tuple[int, int]]:
        """Slot and number of each of them."""
        return [(s, j) for s, slot in enumerate(self.slots) if slot.ground is None for j in range(slot.nv)]

    @functools.cached_property
    def speeds(self) -> list[Expr]:
        """The derivative of each of the coordinates."""
        made: list[Expr] = []
        for s, slot in enumerate(self.slots):
            if slot.ground is None:
                rate = self.rates[s]
                made += list(self.v[s]) if rate is None else rate[0]
        return made

    def gradient(self, x: Expr) -> list[Expr]:
        """Return (dx/dq) B, one entry per velocity."""
        full: list[Expr] = []
        for s, slot in enumerate(self.slots):
            if slot.ground is not None:
                continue
            x_q = [self._derivative(x, y) for y in self.q[s]]
            rate = self.rates[s]
            if rate is None:
                full += x_q
            else:
                full += [self.dot(x_q, [line[j] for line in rate[1]]) for j in range(slot.nv)]
        return full

    def _derivative(self, x: Expr, y: Expr) -> Expr:
        return differentiate(x, y) if depends_on(x, y) else self.trace.zero

    def dot(self, left: Sequence[Expr], right: Sequence[Expr]) -> Expr:
        """Return a sum of products without those that vanish."""
        total = self.trace.zero
        for x, y in zip(left, right, strict=True):
            if x is not self.trace.zero and y is not self.trace.zero:
                total = total + x * y
        return total

    def row_of(self, x: Expr) -> LocalRow:
        """Return the row of a gap or of a constraint."""
        return self.sparse_row(self.gradient(x), self._derivative(x, self.t))

    def slip_row(self, x: Expr, who: str) -> LocalRow:
        """Return the row of a slip."""
        full = [self._derivative(x, y) for y in self.moving_v]
        if any(depends_on(y, self.moving_v) for y in full):
            raise ModelError(f"slip of {who} is not affine in v: it must be W_T(t, q) v + w_T(t, q)")
        return self.sparse_row(full, substitute(x, dict.fromkeys(self.moving_v, 0)))

    def sparse_row(self, full: list[Expr], w: Expr) -> LocalRow:
        kept = [k for k, x in enumerate(full) if x is not self.trace.zero]
        entries = [full[k] for k in kept]
        u = w + self.dot(entries, [self.moving_v[k] for k in kept])
        seeds = {self.t: self.trace.one}
        seeds.update(zip(self.moving_q, self.speeds, strict=True))
        return LocalRow([self.places_v[k] for k in kept], entries, w, directional(u, seeds))

    def jacobian_of(self, parts: Sequence[tuple[int, np.ndarray]]) -> list[tuple[int, int, int, int, Expr, Expr]]:
        """Return the entries (slot, i, slot, j, (df/dq) B, df/dv) of forces on slots that do not vanish."""
        found = []
        for s, force in parts:
            for i, x in enumerate(force):
                left = self.gradient(x)
                for k, (other, j) in enumerate(self.places_v):
                    right = self._derivative(x, self.moving_v[k])
                    if left[k] is not self.trace.zero or right is not self.trace.zero:
                        found.append((s, i, other, j, left[k], right))
        return found

    # ---- what may be expected of it

    def nature(self, exprs: Sequence[Expr]) -> Nature:
        """Return the worst nature of some expressions with held branches."""
        return nature_of(exprs, self.t, self.moving_q, self.moving_v, held=True).kind if exprs else Nature.CONSTANT

    @functools.cached_property
    def switches(self) -> list[Switch]:
        """The switching functions of one row."""
        return self.switching.found(self.held)

    def waves(self) -> Expr | None:
        """Return the fastest phase of sines and cosines [rad/s], None where nobody knows it."""
        exprs = [*self.held, *(switch.value for switch in self.switches)]
        if not exprs:
            return self.trace.zero
        return phase_rate(exprs, self.t, self.moving_q, self.speeds, held=True)

    @functools.cached_property
    def mode_slots(self) -> list[int]:
        """Places among the constants of the modes that every row has of its own."""
        found: set[int] = set()
        tables = {table.slot for table in self.switching.tables}
        for switch in self.switching.found(self.held):
            found.add(switch.slot)
        for slot in tables:
            found |= {slot, slot + 1}
        return sorted(found)

    # ---- text

    def lay_out(self, entries: int) -> None:
        """Fix the record of a row; entries: how many places of matrix entries it has."""
        names = list(INDICES)
        for s in range(len(self.slots)):
            names += [f"a{s}", f"b{s}"]
        self.fields = {name: k for k, name in enumerate(names)}
        self.p_at = len(names)
        self.rate_at = self.p_at + len(self.p_slots)
        self.entries_at = self.rate_at + sum(len(slots) for slots in self.rate_slots)
        self.width = self.entries_at + entries

    @functools.cached_property
    def _spelled(self) -> dict[int, tuple[str, str]]:
        """Return for every place among the constants that belongs to a row its name and where it is read."""
        made = {slot: (f"p_{k}", f"par[z + {self.p_at + k}]") for k, slot in enumerate(self.p_slots)}
        rate_slots = [slot for slots in self.rate_slots for slot in slots]
        made |= {slot: (f"k_{k}", f"par[z + {self.rate_at + k}]") for k, slot in enumerate(rate_slots)}
        made |= {slot: (f"m_{k}", f"par[m + {k}]") for k, slot in enumerate(self.mode_slots)}
        if self.switching.holding is not None:
            made[self.switching.holding] = "holding", f"par[int(par[base + {GROUP.holding}])]"
        return made

    def loop(self, name: str, targets: Sequence[tuple[str, Expr]], *, add: bool = False, largest: bool = False) -> None:
        """Write a unit that assigns (or adds, or keeps the largest of) expressions for every row."""
        if not targets:
            return
        if add or largest or name == "retract":
            text = emit([(f"y{k}", x) for k, (_, x) in enumerate(targets)], indent=8)
            for k, (place, _) in enumerate(targets):
                made = f"y{k} if y{k} > {place} else {place}" if largest else f"y{k}"
                text += f"        {place} {'+=' if add else '='} {made}\n"
        else:
            text = emit(list(targets), indent=8)
        self.units[name] = self._loop_text(name, text)

    def _loop_text(self, name: str, text: str) -> str:
        named = {self._spelled[k] for k in map(int, PARAMETER.findall(text)) if k in self._spelled}
        text = PARAMETER.sub(lambda m: self._spelled.get(int(m[1]), (f"own[{m[1]}]", ""))[0], text)
        text = text.replace(", par, ", ", own, ")
        reads = [f"        {one} = {place}\n" for one, place in sorted(named, key=_by_number)]
        for one, place in self._states(text):
            reads.append(f"        {one} = {place}\n")
        body = "".join(reads) + text
        indices = [f"        {one} = int(par[z + {place}])\n" for one, place in self.fields.items() if _uses(body, one)]
        before = ""
        if _uses(body, "own"):
            before += f"    own = vec(par, int(par[base + {GROUP.constants}]), {len(self.trace.constants)})\n"
        if _uses(body, "noise"):
            before += f"    noise = int(par[base + {GROUP.noise}])\n"
        if _uses(body, "nq"):
            before += f"    nq = int(par[base + {GROUP.nq}])\n"
        if _uses(body, "ne"):
            before += f"    ne = int(par[base + {GROUP.events}])\n"
        if _uses(body, "ns"):
            before += f"    ns = int(par[par.shape[0] - {WALK_HEAD.all} + {WALK_HEAD.ns}])\n"
        return (
            f"@unit(LOOP)\ndef {name}(t, q, v, par, base, out, more):\n"
            f"{before}    first = int(par[base + {GROUP.first}])\n    for k in range(int(par[base + {GROUP.rows}])):\n"
            f"        z = first + {self.width} * k\n{''.join(indices)}{body}    return 0\n"
        )

    def _states(self, text: str) -> list[tuple[str, str]]:
        """Return how the coordinates, velocities and noises that a text uses are read."""
        found = []
        for s, slot in enumerate(self.slots):
            if slot.ground is not None:
                continue
            for letter, at, n, before in (("q", "a", slot.nq, "1"), ("v", "b", slot.nv, "1 + nq")):
                for i in range(n):
                    found.append((f"{letter}{s}_{i}", f"{letter}[{at}{s} + {i}]"))
                    found.append((f"n{letter}{s}_{i}", f"par[noise + {before} + {at}{s} + {i}]"))
        found.append(("nt", "par[noise]"))
        words = set(re.findall(r"\b[a-z]+\d*_?\d*\b", text))
        return [(one, place) for one, place in found if one in words]

    @functools.cached_property
    def text(self) -> str:
        """The module of this kind."""
        return self.text_without()

    def text_without(self, *names: str) -> str:
        """Return the module of this kind without some of its units."""
        units = [source for name, source in self.units.items() if name not in names]
        called = "".join(units)
        text = f'"""Loops over the rows of a kind of family, generated by saltus."""\n\n{IMPORTS}'
        text += "from saltus.compile.seam import unit\nfrom saltus.compile.types import A, F, I, LOOP\n"
        text += "from saltus.compile.views import vec\n"
        used = [made for name, made in HELPERS.items() if f"{name}(" in called]
        for source, signature in used:
            text += f"\n\n@unit({signature})\n{source}"
        for source in units:
            text += f"\n\n{source}"
        return text

    # ---- switching functions

    def write_switches(self) -> None:
        """Write what crosses zero where branches of a row end, and the surfaces of these."""
        trace, switching = self.trace, self.switching
        waves = self.waves()
        guards = switching.guards(self.switches, self.held)
        events, surfaces = [], []
        missing = trace.number(np.nan)
        for k, (switch, guard) in enumerate(zip(self.switches, guards, strict=True)):
            blur = self._blur(switch)
            events.append((f"out[ne + s + {k}]", switching.watched(switch, blur, guard)))
            value = switch.value if guard is None else trace.where(guard, switch.value, missing)
            surfaces.append((f"out[s + {k}]", value))
            surfaces.append((f"out[ns + s + {k}]", trace.minus_one if blur is trace.zero else blur))
            surfaces.append((f"out[2 * ns + s + {k}]", trace.zero if switch.cell is None else switch.cell))
        self.loop("switch", events)
        self.loop("surface", surfaces)
        if waves is not None and waves is not trace.zero:
            self.loop("phase", [("out[3 * ns]", waves)], largest=True)

    def _blur(self, switch: Switch) -> Expr:
        """Return how far a switching function is uncertain, given the noise of t, q and v."""
        trace, total = self.trace, self.trace.zero
        named = [("nt", self.t)]
        named += [(f"n{x.payload}", x) for x in (*self.moving_q, *self.moving_v)]
        for name, variable in named:
            if switch.value.mask & variable.mask:
                total = total + trace.absolute(differentiate(switch.value, variable)) * trace.variable(name)
        return total


def _tracers(exprs: Sequence[Expr]) -> TracerArray:
    made = np.empty(len(exprs), dtype=object).view(TracerArray)
    made[:] = exprs
    return made


def _uses(text: str, name: str) -> bool:
    return re.search(rf"\b{name}\b", text) is not None


def _by_number(named: tuple[str, str]) -> tuple[str, int]:
    letter, _, number = named[0].partition("_")
    return letter, int(number or 0)


class BodyKind(Kind):
    """Bodies: mass, force, rate and retraction of one body."""

    def __init__(self, family: BodyFamily, shape: tuple[int, ...]):
        super().__init__([SlotKind.of(family)], family.p.shape[1])
        q, v = self.q[0], self.v[0]
        mass = self.call("mass", family.mass, q, self.p, shape=shape)
        nv = family.nv
        self.mass = {}
        for i in range(nv):
            if mass.ndim == 1:
                self.mass[i, i] = mass[i]
            else:
                self.mass |= {(i, j): mass[i, j] for j in range(nv) if mass[i, j] is not self.trace.zero}
        self.mass_constant = not any(depends_on(x, [self.t, *q]) for x in self.mass.values())
        force = [self.trace.zero] * nv
        if family.force is not None:
            force = list(self.call("force", family.force, self.t, q, v, self.p, shape=(nv,)))
        self.jacobian = self.jacobian_of([(0, np.array(force, dtype=object))])
        self.entries = [*self.mass, *((i, j) for _, i, _, j, _, _ in self.jacobian)]
        retracted = None
        if family.retract is not None:
            retracted = self.call("retract", family.retract, q, self.p, shape=(family.nq,), hold=False)
        self.lay_out(len(self.entries))
        place = [f"int(par[z + {self.entries_at + k}])" for k in range(len(self.entries))]
        self.loop("mass", [(f"out[{place[k]}]", x) for k, x in enumerate(self.mass.values())])
        self.loop("force", [(f"out[b0 + {i}]", x) for i, x in enumerate(force)])
        self.loop("jacobian", _jacobian_targets(self, place[len(self.mass) :]), add=True)
        rate = self.rates[0]
        self.loop("rate", [(f"out[a0 + {i}]", x) for i, x in enumerate(v if rate is None else rate[0])])
        if retracted is not None:
            self.loop("retract", [(f"q[a0 + {i}]", x) for i, x in enumerate(retracted)])
        self.write_switches()
        self.force = force


def _jacobian_targets(kind: Kind, place: Sequence[str]) -> list[tuple[str, Expr]]:
    made = []
    for k, (*_, left, right) in enumerate(kind.jacobian):  # type: ignore[attr-defined]
        made += [(f"out[{place[k]}]", left)] if left is not kind.trace.zero else []
        made += [(f"more[{place[k]}]", right)] if right is not kind.trace.zero else []
    return made


class ForceKind(Kind):
    """Forces between bodies."""

    def __init__(self, family: ForceFamily, slots: Sequence[SlotKind]):
        super().__init__(slots, family.p.shape[1])
        sizes = [slot.nv for slot in slots]
        parts = self.call_parts(
            "force", family.force, self.t, tuple(self.q), tuple(self.v), self.p, sizes=sizes
        )  # fmt: skip
        on_bodies = [(s, part) for s, part in enumerate(parts) if slots[s].ground is None]
        self.force = [x for _, part in on_bodies for x in part]
        self.jacobian = self.jacobian_of(on_bodies)
        self.entries = [(s, i, other, j) for s, i, other, j, _, _ in self.jacobian]
        self.lay_out(len(self.entries))
        targets = [(f"out[b{s} + {i}]", x) for s, part in on_bodies for i, x in enumerate(part)]
        self.loop("force", [(place, x) for place, x in targets if x is not self.trace.zero], add=True)
        place = [f"int(par[z + {self.entries_at + k}])" for k in range(len(self.entries))]
        self.loop("jacobian", _jacobian_targets(self, place), add=True)
        self.write_switches()


class RowKind(Kind):
    """Joints or contacts: gaps and rows of W."""

    def __init__(
        self, family: JointFamily | ContactFamily, slots: Sequence[SlotKind], sizes: tuple[int, int], who: str
    ):
        super().__init__(slots, family.p.shape[1])
        q, v, (gaps, slips) = tuple(self.q), tuple(self.v), sizes
        self.is_joint = isinstance(family, JointFamily)
        if isinstance(family, JointFamily):
            made = self.call("constraint", family.constraint, self.t, q, self.p, shape=(gaps,))
        else:
            made = self.call("gap", family.gap, self.t, q, self.p, shape=()).reshape(-1)
        self.gaps = list(made)
        self.rows = [self.row_of(x) for x in self.gaps]
        for row in self.rows:
            if not row.columns and self.is_joint:
                raise ModelError(f"constraint of {who} does not depend on q: a joint must hold some coordinate")
            if not row.columns:
                raise ModelError(f"gap of {who} does not depend on q: nothing can close it")
        if isinstance(family, ContactFamily) and family.slip is not None:
            slip = self.call("slip", family.slip, self.t, q, v, self.p, shape=(slips,))
            self.rows += [self.slip_row(x, who) for x in slip]
        self.starts = np.cumsum([0, *(len(row.columns) for row in self.rows)])
        self.lay_out(0)
        self.loop("gap", [(f"out[g + {i}]", x) for i, x in enumerate(self.gaps)])
        kinematics = []
        for i, row in enumerate(self.rows):
            kinematics += [(f"out[e + {int(self.starts[i]) + c}]", x) for c, x in enumerate(row.entries)]
            kinematics.append((f"more[r + {i}]", row.w))
        self.loop("kinematics", kinematics)
        self.loop("curvature", [(f"out[r + {i}]", row.zeta) for i, row in enumerate(self.rows)])
        self.write_switches()

    @functools.cached_property
    def rows_constant(self) -> bool:
        """Whether W and w depend on nothing."""
        moving = [self.t, *self.moving_q]
        return not any(depends_on(x, moving) for row in self.rows for x in (*row.entries, row.w))
