"""From a System of families to compiled model units: every kind is traced once, whatever the number of its rows.

What grows with the rows are tables: sparse patterns, the profile of M, records in `par`. They are made by numpy, in a
time that is linear in the rows. Contacts, joints, forces and events that are not families are traced as they always
are, on the whole state, and stand beside the loops. Where a function of a family cannot be traced, the whole system is
written out row by row (family.straight).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from saltus.build.compare import Comparison
from saltus.build.frictions import has_units, kind_of
from saltus.build.kinds import BodyKind, ForceKind, Kind, RowKind, SlotKind
from saltus.build.model import AFFINE_OPERATIONS, UNITS, Builder, CompiledModel, _Row, law_of_impacts
from saltus.build.user_function import UserFunction, at
from saltus.compile import loops, seam
from saltus.compile.direct import is_compiled
from saltus.compile.expression import reachable
from saltus.compile.loops import GROUP, WALKED, WALKS, register
from saltus.compile.modules import module_from, module_name
from saltus.compile.native import NativeUnit, absent_unit, compile_text, runnable
from saltus.compile.nature import Kind as Nature
from saltus.compile.nature import nature_of
from saltus.compile.par_layout import ParLayout, Slot
from saltus.compile.switches import Table
from saltus.compile.tape import Tape
from saltus.compile.trace import Untraceable, depends_on, emit
from saltus.compile.types import Model
from saltus.errors import FunctionError, ModelError
from saltus.family import (
    GROUND,
    BodyFamily,
    ContactFamily,
    ForceFamily,
    JointFamily,
    Slots,
    of_state,
    row_of_position,
    row_of_velocity,
    row_values,
)
from saltus.laws import KERNELS
from saltus.memory import layout as lay
from saltus.memory.profile import Profile
from saltus.parameters import Parameter, Parameters, run_values
from saltus.reaction.joint_graph import joint_pattern
from saltus.system import System, arity

SAMPLED = 3  # rows of a group that are held against the user's function
MOST_SLOPES = 10_000  # of all gaps, by the time and the coordinates of their bodies, for which a tape is made


@dataclasses.dataclass
class Group:
    """Rows of one family with one arrangement of slots.

    Attributes
    ----------
    rows
        Their numbers in the family.
    numbers
        Bodies in the slots, one line per row.
    values
        The records, of which the indices are filled in once all sizes are known.
    references
        (row, place in the record, parameter): numbers that every run may give another value.
    first_gap, first_row, first_entry
        Of every row.
    """

    family: BodyFamily | ForceFamily | JointFamily | ContactFamily
    kind: Any
    rows: np.ndarray
    numbers: np.ndarray
    values: np.ndarray
    references: list[tuple[int, int, Parameter]]
    places: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.rows)


def all_traced(system) -> bool:
    """Tell whether a system has families at all."""
    return bool(system.bodies)


class FamilyBuilder(Builder):
    """Builder of a system with families."""

    def __init__(self, system, t, q, v, events, changes, *, curved=True):
        super().__init__(system, t, q, v, events, changes, written=system, curved=curved)
        self.bodies = system.all_bodies
        self.groups: list[Group] = []
        self.kinds_made: dict[Any, Kind] = {}
        self.sampled: dict[str, slice] = {}
        self.left_out = False  # whether something else than the curvature was left out for the scheme

    def walking(self) -> str:
        return f"from saltus.compile.loops import call_at\nfrom saltus.compile.types import A, F, I\n\n\n{loops.WALK}"

    def make_opaque(self, function: UserFunction, reason: str):
        raise Untraceable(reason)  # differences of the whole state: the system is written out then

    # ---- groups of rows

    def groups_of(
        self, family: ForceFamily | JointFamily | ContactFamily
    ) -> Iterator[tuple[np.ndarray, list[SlotKind]]]:
        """Yield rows with the same kinds of bodies in their slots, and these kinds."""
        bodies = self.bodies
        numbers = family.bodies
        which = np.where(numbers == GROUND, -1, bodies.family[numbers])
        known: dict[tuple, list[int]] = {}
        for k, row in enumerate(which.tolist()):
            known.setdefault(tuple(row), []).append(k)
        joined: dict[tuple[SlotKind, ...], list[int]] = {}
        for key, rows in known.items():
            beside = next(f for f in key if f >= 0)
            slots = tuple(
                SlotKind.of(bodies.families[beside if f < 0 else f], ground=f < 0) for f in key
            )  # fmt: skip
            joined.setdefault(slots, []).extend(rows)
        for slots, rows in joined.items():
            yield np.array(sorted(rows)), list(slots)

    def group(self, family: Any, kind: Any, rows: np.ndarray, numbers: np.ndarray) -> Group:
        """Return a group with the numbers of its rows written down."""
        values = np.zeros((len(rows), kind.width))
        references: list[tuple[int, int, Parameter]] = []
        _fill(values, kind.p_at, family.p[rows], references)
        at = kind.rate_at
        for s, slots in enumerate(kind.rate_slots):
            if slots:
                for k, b in enumerate(numbers[:, s]):
                    own = self.bodies.families[self.bodies.family[b]].p[self.bodies.row[b]]
                    _fill(values[k : k + 1], at, own[None, :], references, k)
                at += len(slots)
        for s, slot in enumerate(kind.slots):
            if slot.ground is None:
                values[:, kind.fields[f"a{s}"]] = self.bodies.q_first[numbers[:, s]]
                values[:, kind.fields[f"b{s}"]] = self.bodies.v_first[numbers[:, s]]
        made = Group(family, kind, rows, numbers, values, references, {})
        self.groups.append(made)
        return made

    def body_groups(self) -> None:
        """Trace mass and force of every family of bodies."""
        first = 0
        for family in self.bodies.families:
            shape = self.probe_body(family, first)
            kind = self.traced(lambda f=family, s=shape: BodyKind(f, s))
            numbers = np.arange(first, first + len(family))[:, None]
            self.group(family, kind, np.arange(len(family)), numbers)
            first += len(family)

    def traced(self, make: Callable[[], Kind]) -> Any:
        try:
            kind = make()
        except FunctionError as error:  # of the shape that a trace has; a call with numbers was fine
            raise Untraceable(str(error)) from error
        kind.trace.end()
        return kind

    def probe_body(self, family: BodyFamily, first: int) -> tuple[int, ...]:
        """Call the functions of a family of bodies on some of them; return the shape of the mass."""
        shape: tuple[int, ...] = ()
        for k in _sample(len(family)):
            b, name = first + k, (family.names or ())[k]
            at_q = slice(int(self.bodies.q_first[b]), int(self.bodies.q_first[b]) + family.nq)
            at_v = slice(int(self.bodies.v_first[b]), int(self.bodies.v_first[b]) + family.nv)
            values = row_values(family.p[k])
            mass = _mass_of(family, at_q, values)
            probed = self.probe(mass, f"mass of body {name!r}", [(family.nv,), (family.nv, family.nv)], most=1)
            shape = probed.shape
            self.sampled[probed.name] = at_v
            force = self.force_on(b, family, at_q, at_v, values)
            if force is not None:
                made = self.probe(force, f"force on body {name!r}", [(family.nv,)], least=3)
                self.sampled[made.name] = at_v
            if family.rate is not None:
                rate = _rate_of(family, at_q, at_v, values)
                self.check_linear(UserFunction.probe(
                    rate, f"rate of body {name!r}", self.t0, self.q0, self.v0, [(family.nq,)], rate=True,
                    values=self.values,
                ))  # fmt: skip
        return shape

    def force_on(self, b: int, family: BodyFamily, at_q: slice, at_v: slice, values: Callable) -> Callable | None:
        """Return all that acts on a body but joints and contacts, None where it would be long."""
        rows = []
        for one in self.given.forces:
            for k in np.flatnonzero((one.bodies == b).any(axis=1)).tolist():
                rows.append((one.force, Slots(self.bodies, one.bodies[k]), row_values(one.p[k]), one.bodies[k] == b))
        if len(rows) > 20:  # the tape of a gap would hold each of them
            return None
        whole, own = of_state(self.given.f), family.force

        def force(t, q, v):
            total = np.zeros(family.nv) if own is None else np.array(own(t, q[at_q], v[at_v], values()), dtype=float)
            for kernel, slots, numbers, mine in rows:
                parts = kernel(t, slots.q(q), slots.v(v), numbers())
                for s in np.flatnonzero(mine):
                    total = total + np.array(parts[s], dtype=float)
            return total if whole is None else total + np.array(whole(t, q, v), dtype=float)[at_v]

        return force

    def check_linear(self, function: UserFunction) -> None:
        self.check_linear_rate(function)

    def force_groups(self) -> None:
        for family in self.given.forces:
            for rows, slots in self.groups_of(family):
                kind = self.traced(lambda f=family, s=slots: ForceKind(f, s))
                self.group(family, kind, rows, family.bodies[rows])

    def row_groups(self, family: JointFamily | ContactFamily) -> list[Group]:
        """Trace gaps, slips or constraints of a family."""
        made: list[Group] = []
        joint = isinstance(family, JointFamily)
        for rows, slots in self.groups_of(family):
            self.check_twice(family, rows, "joint" if joint else "contact")
            sizes = self.probe_rows(family, rows)
            names = family.names or ()
            who = f"{'joint' if joint else 'contact'} {names[int(rows[0])]!r}"
            kind = self.traced(lambda f=family, s=slots, n=sizes, w=who: RowKind(f, s, n, w))
            made.append(self.group(family, kind, rows, family.bodies[rows]))
        return made

    def check_twice(self, family: JointFamily | ContactFamily, rows: np.ndarray, word: str) -> None:
        """Refuse a row that names one body twice: its entries of W would stand in one place."""
        numbers = np.sort(family.bodies[rows], axis=1)
        twice = (numbers[:, 1:] == numbers[:, :-1]) & (numbers[:, 1:] != GROUND)
        if twice.any():
            k = int(rows[int(np.argmax(twice.any(axis=1)))])
            raise ModelError(f"{word} {(family.names or ())[k]!r} names body {int(family.bodies[k].max())} twice")

    def probe_rows(self, family: JointFamily | ContactFamily, rows: np.ndarray) -> tuple[int, int]:
        """Call the functions of some rows; return how many gaps and slips one has."""
        gaps = slips = 0
        for k in (int(rows[i]) for i in _sample(len(rows))):
            slots, values, name = Slots(self.bodies, family.bodies[k]), row_values(family.p[k]), (family.names or ())[k]
            if isinstance(family, JointFamily):
                function = row_of_position(family.constraint, slots, values)
                size = self.probe(function, f"constraint of joint {name!r}", None, most=2).size
                if gaps not in (0, size):
                    raise ModelError(f"constraint of joint {name!r} has {size} rows, others of its family {gaps}")
                gaps = size
                continue
            self.probe(row_of_position(family.gap, slots, values), f"gap of contact {name!r}", [()], most=2)
            gaps = 1
            if family.slip is not None:
                function = row_of_velocity(family.slip, slots, values)
                slip = self.probe(function, f"slip of contact {name!r}", [(1,), (2,)], least=3)
                self.check_slip(slip, name)
                slips = slip.size
        return gaps, slips

    # ---- the model

    def _built(self) -> CompiledModel:
        self.rate, self.B = self.whole_rate()
        self.body_groups()
        self.force_groups()
        force, jacobian, pairs, f_flags = self.whole_force()
        K, C = self.linear(self.given.K, "K"), self.linear(self.given.C, "C")
        gaps, rows, contact_rows, joint_gaps, joint_rows, joint_sizes = self.all_rows()
        events = self.event_values()
        self.switches = self.switching.found(self.held)
        pairs += [np.argwhere(matrix != 0.0) for matrix in (K, C) if matrix is not None]
        for matrix in (K, C):
            f_flags &= ~lay.F_FREE if matrix is not None else ~0
        f_flags, pairs = self.family_forces(f_flags, pairs)
        profile = Profile.of_pairs(self.nv, np.concatenate(pairs) if pairs else np.zeros((0, 2), dtype=np.int64))
        self.place_entries(profile)
        flags = f_flags | self.other_flags(rows + joint_rows, gaps + joint_gaps)
        flags |= self.family_nature(events)
        waves = self.waves()
        waving = self.family_waves(waves)
        flags |= lay.WAVES if waving else 0
        self.number_switches(joint_sizes)
        self.impact_law = law_of_impacts(self.given.contacts)
        every = self.every_switch()
        self.noise = self.trace.table([0.0] * (1 + self.nq + self.nv)) if every else -1
        if any(group.kind.switching.holding is not None for group in self.groups) and self.switching.holding is None:
            self.switching.holding = self.trace.table([np.inf])
        self.tape = self.family_tape()
        self.tape_numbers = 0 if self.tape is None else self.trace.table([*self.tape.numbers, 0.0])
        layout = self.family_layout(profile, rows + joint_rows, contact_rows, len(joint_rows), flags, every)
        body = self.family_body(force, jacobian, profile, K, C, gaps + joint_gaps, rows + joint_rows, events, waving)
        text, par, par_layout = self.module_text(body)
        codes = self.compiled_kinds()
        par, par_layout = self.with_tables(par, par_layout, profile, codes, every)
        first = par_layout.read(par)
        values = run_values(first, self.changes)
        par_layout.write(par, values)
        units = Model(*self.units(text, body), par, *self.given.laws(values).T.copy(), layout)
        key = "".join([text, *(group.kind.text for group in self.groups)])
        model = CompiledModel(
            self.given,
            units,
            profile,
            self.functions,
            self.row_labels(),
            tuple(self.kinds),
            (self.t0, self.q0, self.v0),
            self.events,
            self.all_tables(),
            tuple(name for name, _, _ in every),
            (),
            False,
            module_name(key, "model"),
            par_layout,
            first,
            values,
            inertia_fixed=False,
            in_units=any(has_units(kind) for kind in self.kinds),
            comparison=Comparison.of(key, self.functions, K, C, self.sampled),
            joint_sizes=tuple(joint_sizes),
            codes=tuple(codes.values()),
            curved=self.curved,
        )
        self.check_values(model)
        model.comparison.at_start(model)
        return model

    def whole_rate(self):
        """Return q_dot of the whole state for what is no family, None where it is v."""
        if self.given.rate_is_velocity:
            return None, None
        if not self.has_lists():
            return [], None
        raise Untraceable("lists beside bodies with a rate of their own")

    def has_lists(self) -> bool:
        """Tell whether something of the system acts on the whole state."""
        given = self.given
        families = (ContactFamily, JointFamily)
        listed = [part for part in (*given.contact_parts, *given.joint_parts) if not isinstance(part, families)]
        return bool(listed or self.events or given.f is not None)

    def whole_force(self):
        """Return the force on the whole state, its Jacobian, the pairs of that and flags."""
        if self.given.f is None:
            return None, {}, [], lay.F_FREE | lay.F_LINEAR | lay.J_CONSTANT | lay.F_STEADY
        made, entries, pattern, flags = self.force()
        return made, entries, [np.argwhere(pattern)], flags

    def family_forces(self, flags: int, pairs: list[np.ndarray]) -> tuple[int, list[np.ndarray]]:
        """Add what the forces of families say about their Jacobians."""
        for group in self.groups:
            kind = group.kind
            if isinstance(kind, RowKind):
                continue
            if isinstance(kind, BodyKind):
                start = group.values[:, kind.fields["b0"]].astype(np.int64)
                pairs += [np.stack([start + i, start + j], axis=1) for i, j in kind.entries]
            else:
                b = self.bodies.v_first[group.numbers]
                pairs += [np.stack([b[:, s] + i, b[:, o] + j], axis=1) for s, i, o, j in kind.entries]
            derivatives = [x for *_, left, right in kind.jacobian for x in (left, right)]
            if kind.jacobian:
                flags &= ~lay.F_FREE
            if any(depends_on(x, [*kind.moving_q, *kind.moving_v]) for x in derivatives):
                flags &= ~(lay.F_LINEAR | lay.J_CONSTANT)
            if any(depends_on(x, kind.t) for x in derivatives):
                flags &= ~lay.J_CONSTANT
            if kind.nature(kind.force) > Nature.LINEAR:
                flags &= ~lay.F_STEADY
        return flags, pairs

    def place_entries(self, profile: Profile) -> None:
        """Write where the entries of masses and Jacobians stand into the records."""
        for group in self.groups:
            kind = group.kind
            if isinstance(kind, RowKind):
                continue
            for k, entry in enumerate(kind.entries):
                if isinstance(kind, BodyKind):
                    s, (i, j), o = 0, entry, 0
                else:
                    s, i, o, j = entry
                rows = self.bodies.v_first[group.numbers[:, s]] + i
                columns = self.bodies.v_first[group.numbers[:, o]] + j
                group.values[:, kind.entries_at + k] = profile.offsets(rows, columns)

    def other_flags(self, rows: list[_Row], gaps: list) -> int:
        """Return flags of masses, rows and coordinates."""
        of_bodies = [group.kind for group in self.groups if isinstance(group.kind, BodyKind)]
        of_rows = [group.kind for group in self.groups if isinstance(group.kind, RowKind)]
        flags = lay.M_CONSTANT if all(kind.mass_constant for kind in of_bodies) else 0
        flags |= lay.RATE_IDENTITY if self.rate is None else 0
        flags |= lay.HAS_RETRACT if any(family.retract is not None for family in self.bodies.families) else 0
        moving = [self.t, *self.q]
        listed: list[Any] = [row for row in rows if row.w is not None]
        still = all(kind.rows_constant for kind in of_rows)
        if still and not any(depends_on(x, moving) for row in listed for x in (*(row.entries or ()), row.w)):
            flags |= lay.W_CONSTANT
            plain = self.arithmetic([x for x, n in gaps if n > 0 and x is not None])
            flags |= lay.G_STRAIGHT if plain and all(_is_arithmetic(kind) for kind in of_rows) else 0
        return flags

    def family_nature(self, events: list) -> int:
        """Return what may be expected of all functions between two places."""
        flags = self.nature(events)
        switching = [group.kind.nature([s.value for s in group.kind.switches]) for group in self.groups]
        forces = [group.kind.nature(group.kind.forces) for group in self.groups]
        every = [
            group.kind.nature([*group.kind.held, *(s.value for s in group.kind.switches)]) for group in self.groups
        ]
        if max(switching, default=Nature.CONSTANT) > Nature.TAME:
            flags |= lay.WILD_SWITCHES
        if max(forces, default=Nature.CONSTANT) > Nature.TAME:
            flags |= lay.F_WILD
        worst = max(every, default=Nature.CONSTANT)
        if worst > Nature.TAME:
            return (flags | lay.WILD) & ~lay.TRUSTED
        return flags if worst <= Nature.LINEAR else flags & ~lay.TRUSTED

    def family_waves(self, waves) -> bool:
        """Tell whether sines and cosines are there, all of which have a known phase."""
        found = [group.kind.waves() for group in self.groups]
        exprs = [*self.held, *(switch.value for switch in self.switches)]
        unknown = bool(exprs) and waves is self.trace.zero and self.phase() is None
        if unknown or any(one is None for one in found):
            self.waving = False
        else:
            moving = [group for group, one in zip(self.groups, found, strict=True) if one is not group.kind.trace.zero]
            self.waving = bool(moving) or waves is not self.trace.zero
        return self.waving

    def family_tape(self) -> Tape | None:
        """Return the gaps of all contacts for interval arithmetic, written out; None where they would be too many.

        A tape holds the slope of every gap by the coordinates that it depends on. Without one, what may do anything
        between two looks is sampled.
        """
        names, contacts = self.given.contact_names, self.given.contacts
        touching = [group for group in self.groups if isinstance(group.kind, RowKind) and not group.kind.is_joint]
        of_rows = [group.kind for group in touching]
        listed = [self.plain[name] for name in (f"gap of contact {one!r}" for one in names) if name in self.plain]
        wild = any(kind.nature(kind.gaps) > Nature.TAME for kind in of_rows) or (
            bool(listed)
            and nature_of([x for one in listed for x in one.flat], self.t, list(self.q), list(self.v), held=True).kind
            > Nature.TAME
        )
        slopes = (len(contacts) - sum(map(len, touching))) * (1 + self.nq)
        for group in touching:
            slopes += len(group) * (1 + sum(slot.nq for slot in group.kind.slots if slot.ground is None))
        if not wild or slopes > MOST_SLOPES:
            return None
        if not self.curved:  # proofs belong to schemes that locate events
            self.left_out = True
            return None
        for name, contact in zip(names, contacts, strict=True):
            key = f"gap of contact {name!r}"
            if key not in self.plain:
                self.plain[key] = self.trace.as_array(self.trace.call(contact.gap, self.t, self.q), ())
        return self.gap_tape()

    # ---- rows of contacts and joints

    def all_rows(self):
        """Return gaps and rows in their order, those of families without expressions."""
        gaps, rows, counts = [], [], []
        for part in self.given.contact_parts:
            if isinstance(part, ContactFamily):
                made = self.row_groups(part)
                kind_of_row = self.family_law(part, len(made[0].kind.rows) - 1)
                size = len(made[0].kind.rows)
                if any(len(group.kind.rows) != size for group in made):
                    raise ModelError(f"contact family {part.name!r} has rows with different numbers of slips")
                columns = self.place_rows(made, len(part), len(rows), len(counts))
                for k in range(len(part)):
                    gaps.append((None, 1))
                    gaps += [(None, 1 - size)] if size > 1 else []
                    rows += [_Row(one, (), None, None) for one in columns[k]]
                counts += [size] * len(part)
                self.kinds += [kind_of_row] * len(part)
            else:
                own_gaps, own_rows, own_counts = self.contacts([(part.name or f"contact {len(counts)}", part)])
                gaps, rows, counts = gaps + own_gaps, rows + own_rows, counts + own_counts
        joint_gaps, joint_rows, sizes = [], [], []
        for part in self.given.joint_parts:
            if isinstance(part, JointFamily):
                made = self.row_groups(part)
                size = len(made[0].kind.rows)
                if any(len(group.kind.rows) != size for group in made):
                    raise ModelError(f"joint family {part.name!r} has joints with different numbers of rows")
                columns = self.place_rows(made, len(part), len(rows) + len(joint_rows), len(counts) + len(joint_rows))
                for k in range(len(part)):
                    joint_gaps.append((None, size))
                    joint_rows += [_Row(one, (), None, None) for one in columns[k]]
                sizes += [size] * len(part)
            else:
                name = part.name or f"joint {len(sizes)}"
                own_gaps, own_rows = self.joints([(name, part)])
                joint_gaps, joint_rows = joint_gaps + own_gaps, joint_rows + own_rows
                sizes.append(len(own_rows))
        self.place_w(rows + joint_rows)
        return gaps, rows, counts, joint_gaps, joint_rows, sizes

    def family_law(self, family: ContactFamily, slips: int) -> int:
        """Return the law of all contacts of a family."""
        named: Any = family.names
        first = self.given.contacts[self.given.contact_names.index(named[0])]
        return kind_of(first, slips, 0, f"contact family {family.name!r}")

    def place_rows(self, groups: list[Group], n: int, first_row: int, first_gap: int) -> list[list[list[int]]]:
        """Write gaps and rows of a family into its records; return the columns of W of each of its rows."""
        columns: list[list[list[int]]] = [[] for _ in range(n)]
        for group in groups:
            kind = group.kind
            size, gaps = len(kind.rows), len(kind.gaps)
            group.values[:, kind.fields["g"]] = first_gap + gaps * group.rows
            group.values[:, kind.fields["r"]] = first_row + size * group.rows
            group.places["row"] = first_row + size * group.rows
            b = self.bodies.v_first[group.numbers]
            per_row = [np.stack([b[:, s] + j for s, j in row.columns], axis=1).tolist() for row in kind.rows]
            for k, row in enumerate(group.rows.tolist()):
                columns[row] = [lines[k] for lines in per_row]
        return columns

    def place_w(self, rows: list[_Row]) -> None:
        """Write where the entries of W begin into the records."""
        starts = np.cumsum([0, *(len(row.columns) for row in rows)])
        for group in self.groups:
            if "row" in group.places:
                group.values[:, group.kind.fields["e"]] = starts[group.places["row"]]

    # ---- switching functions

    def number_switches(self, sizes: Sequence[int]) -> None:
        """Write the numbers of switching functions into the records."""
        number = len(self.switches)
        for group in self.groups:
            each = len(group.kind.switches)
            group.values[:, group.kind.fields["s"]] = number + each * np.arange(len(group))
            number += each * len(group)

    def every_switch(self) -> list[tuple[str, int, int]]:
        """Return name, place of the mode and kind of all switching functions; places of families follow later."""
        made = [(switch.name, switch.slot, switch.kind) for switch in self.switches]
        for group in self.groups:
            switches = group.kind.switches
            for k in group.rows.tolist() if switches else ():
                for switch in switches:
                    word, _, said = switch.name.partition(": ")
                    said = _as_written(said)
                    made.append((f"{_called(word, group.family, k)}: {said}", -1, switch.kind))
        return made

    def all_tables(self) -> tuple[Table, ...]:
        """Return the tables of all functions, those of families row by row."""
        made = list(self.switching.tables_of(self.geometry))
        for group in self.groups:
            kind = group.kind
            tables = kind.switching.tables_of(kind.geometry)
            where = {slot: k for k, slot in enumerate(kind.mode_slots)}
            for first in group.values[:, kind.fields["m"]].astype(int).tolist() if tables else ():
                made += [dataclasses.replace(table, slot=first + where[table.slot]) for table in tables]
        return tuple(made)

    # ---- integer layout

    def family_layout(self, profile, rows, contact_rows, nj, flags, every) -> np.ndarray:
        self.switch_table = np.zeros((len(every), 2), dtype=np.int64)  # places are known with the tables
        self.switch_table[:, 1] = [kind for _, _, kind in every]
        nv, nr = self.nv, len(rows)
        position = profile.position()
        component = profile.component.astype(np.int64)
        lengths = np.array([len(row.columns) for row in rows], dtype=np.int64)
        w_ptr = np.concatenate([[0], np.cumsum(lengths)])
        w_col = np.array([j for row in rows for j in row.columns], dtype=np.int64)
        met = component[position[w_col]]
        island = _joined(component, met, w_ptr, nr - nj)
        x_pos = _moved(profile, met, island, w_ptr, contact_rows, nj)
        x_ptr = np.concatenate([[0], np.cumsum([len(part) for part in x_pos], dtype=np.int64)])
        x_pos = np.concatenate(x_pos) if x_pos else np.zeros(0, dtype=np.int64)
        first_row = np.concatenate([[0], np.cumsum(contact_rows, dtype=np.int64), [nr]]) if contact_rows else [0, nr]
        numbers = {
            "nq": self.nq, "nv": nv, "nc": len(contact_rows), "nj": nj, "nr": nr, "features": flags,
            "profile_size": profile.size, "nw": len(w_col), "nx": len(x_pos),
            "ne": len(self.events) + len(every), "ns": len(every), "noise": self.noise,
            "tape_size": 0 if self.tape is None else self.tape.code.size,
            "tape_work": 0 if self.tape is None else self.tape.work, "tape_numbers": self.tape_numbers,
            "holding": -1 if self.switching.holding is None else self.switching.holding,
            "impact_law": self.impact_law,
        }  # fmt: skip
        tables = {
            "perm": profile.perm, "first": profile.first, "start": profile.start,
            "contact_row": first_row, "kind": [KERNELS[kind] for kind in self.kinds],
            "W_ptr": w_ptr, "W_col": w_col, "X_ptr": x_ptr, "X_col": profile.perm[x_pos], "X_pos": x_pos,
            "event_table": [x for e in self.events for x in (e.direction, e.terminal, e.reset is not None)]
            + [-1, 0, 0] * len(every),
            "tape": [] if self.tape is None else self.tape.code.reshape(-1), "switch_table": self.switch_table.ravel(),
        }  # fmt: skip
        if nj:
            touched = [tuple(set(met[w_ptr[r] : w_ptr[r + 1]].tolist())) for r in range(nr - nj, nr)]
            order, pointers, columns = joint_pattern(touched)
            numbers["nl"] = len(columns)
            tables |= {"joint_order": order, "joint_ptr": pointers, "joint_col": columns}
        self.packed = lay.pack(numbers, tables)
        return self.packed

    # ---- text

    def family_body(self, force, jacobian, profile, K, C, gaps, rows, events, waving) -> dict[str, str]:
        """Return the text of all units: loops of the families, then what acts on the whole state."""
        body = {name: WALKED[name] for name in ("mass", "force", "jacobian", "gap", "kinematics", "curvature")}
        body |= {"rate": WALKED["rate"], "retract": WALKED["retract"]}
        body["force"] += self.emit_whole_force(force) + self.emit_linear(K, "q") + self.emit_linear(C, "v")
        body["jacobian"] += self.emit_whole_jacobian(jacobian, profile, K, C)
        body["gap"] += self.emit_gaps(gaps)
        body["kinematics"] += self.emit_rows(rows, gaps, [])
        body["curvature"] += self.emit_curvature(rows, gaps, [])
        count = len(self.switches) + sum(len(group.kind.switches) * len(group) for group in self.groups)
        if self.events or count:
            body["switch"] = WALKED["switch"] + self.emit_switches(events)
        if count or waving:
            body["surface"] = WALKED["surface"]
            if self.switches or self.held:
                body["surface"] += self.emit_whole_surfaces(count)
        if any(event.reset is not None for event in self.events):
            body["reset"] = self.emit_reset()
        return body

    def emit_whole_force(self, force) -> str:
        if force is None:
            return ""
        if force.dtype != object:
            start = self.array_par(force)
            return f"    for i in range({self.nv}):\n        out[i] += par[{start} + i]\n"
        text = emit([(f"y{i}", x) for i, x in enumerate(force)])
        return text + "".join(f"    out[{i}] += y{i}\n" for i in range(self.nv))

    def emit_whole_jacobian(self, entries, profile: Profile, K, C) -> str:
        targets = [
            (f"{name}[{profile.offset(*place)}]", pair[side])
            for side, name in enumerate(("out_q", "out_v"))
            for place, pair in entries.items()
            if pair[side] is not self.trace.zero
        ]
        text = emit([(f"y{k}", x) for k, (_, x) in enumerate(targets)])
        text += "".join(f"    {place} += y{k}\n" for k, (place, _) in enumerate(targets))
        for name, matrix in (("out_q", K), ("out_v", C)):
            if matrix is not None:
                start = self.array_par(profile.pack(matrix))
                text += f"    for i in range({profile.size}):\n        {name}[i] -= par[{start} + i]\n"
        return text

    def emit_whole_surfaces(self, count: int) -> str:
        """Write the surfaces of what acts on the whole state; the fastest phase is the largest of all."""
        targets = self.surface_targets(count)
        text = emit(targets)
        waves = self.waves() if self.waving else self.trace.zero
        if waves is not self.trace.zero:
            text += emit([("y", waves)]) + f"    out[{3 * count}] = y if y > out[{3 * count}] else out[{3 * count}]\n"
        return text

    # ---- tables in par

    def compiled_kinds(self) -> dict[int, Any]:
        """Return the code of every kind, by its identity; interpreted, its text.

        Where nobody asks for the curvature, kinds are compiled without it, unless all of them have it already.
        """
        kinds = {id(group.kind): group.kind for group in self.groups}
        if seam.is_interpreted():
            self.curved = self.curved or not self.left_out
            return {key: kind.text for key, kind in kinds.items()}
        if not self.left_out:
            self.curved = self.curved or all(is_compiled(kind.text) for kind in kinds.values())
        return {
            key: compile_text(kind.text if self.curved or is_compiled(kind.text) else kind.text_without("curvature"))
            for key, kind in kinds.items()
        }

    def addresses(self, kind: Kind, code: Any) -> dict[str, int]:
        if isinstance(code, str):
            return {name: register(code, name) for name in kind.units}
        return {name: register(kind.text, name, code[name]) for name in kind.units if name in code}

    def with_tables(self, par, par_layout: ParLayout, profile: Profile, codes, every) -> tuple[np.ndarray, ParLayout]:
        """Append records, groups and lists of the walks to the numbers of a model."""
        parts, slots, at = [par], list(par_layout.slots), len(par)
        if par_layout.size < len(par):  # one number where there are none
            slots.append(Slot("nothing", "array", par_layout.size, (len(par) - par_layout.size,)))
        references: list[tuple[int, Parameter]] = []

        def append(name: str, values: np.ndarray, kind: Any = "array") -> int:
            nonlocal at
            slots.append(Slot(f"{name} {len(slots)}", kind, at, (len(values),)))
            parts.append(values)
            at += len(values)
            return at - len(values)

        walks: dict[str, list[float]] = {name: [] for name in WALKS}
        mode_places: list[np.ndarray] = []
        for group in self.groups:
            kind = group.kind
            own = append("constants of a kind", np.array([*kind.trace.constants, 0.0]))
            for name, (offset, value) in kind.trace.named.items():
                box = Parameters(**{name: value})
                for k, index in enumerate(np.ndindex(np.shape(value))):
                    references.append((own + offset + k, Parameter(box, name, tuple(index))))
            modes = np.array([kind.trace.constants[slot] for slot in kind.mode_slots])
            if len(modes):
                first_mode = append("modes", np.tile(modes, len(group)))
                firsts = first_mode + len(modes) * np.arange(len(group))
                group.values[:, kind.fields["m"]] = firsts
                where = np.searchsorted(kind.mode_slots, [switch.slot for switch in kind.switches])
                mode_places.append((firsts[:, None] + where[None, :]).ravel())
            first = append("rows", group.values.ravel())
            references += [(first + row * kind.width + place, one) for row, place, one in group.references]
            head = np.zeros(GROUP.all)
            head[[GROUP.rows, GROUP.first, GROUP.constants]] = len(group), first, own
            head[[GROUP.noise, GROUP.holding]] = self.noise, self.switching.holding or 0
            head[[GROUP.events, GROUP.nq]] = len(self.events), self.nq
            base = append("group", head)
            for name, address in self.addresses(kind, codes[id(kind)]).items():
                if name == "phase" and not self.waving:
                    continue
                walks["surface" if name == "phase" else name] += [float(address), float(base)]
        lists = {name: append(f"walk of {name}", np.array(pairs), "code") for name, pairs in walks.items()}
        head = [x for name in WALKS for x in (float(lists[name]), float(len(walks[name]) // 2))]
        append("head", np.array([*head, float(profile.size), float(len(every))]))
        self.write_modes(every, mode_places)
        return np.concatenate(parts), ParLayout(tuple(slots), tuple(references))

    def write_modes(self, every, places: list[np.ndarray]) -> None:
        """Write where the modes of all switching functions stand into the layout."""
        if not every:
            return
        listed = [slot for _, slot, _ in every if slot >= 0]
        table = self.packed[int(self.packed.switch_table) :][: 2 * len(every)]
        table[::2] = np.concatenate([listed, *places]) if places else listed

    def units(self, text: str, body: dict[str, str]) -> list[Any]:
        if seam.is_interpreted():
            module = module_from(text, "model")
            return [getattr(module, name) if name in body else absent_unit(name).py_func for name in UNITS]
        code = compile_text(text)
        left_out = () if self.curved else ("curvature",)
        return [
            NativeUnit(code, text, name) if name in body and name not in left_out else absent_unit(name)
            for name in UNITS
        ]

    # ---- checks of all rows at the start

    def check_values(self, model: CompiledModel) -> None:
        """Raise where a mass is not positive definite or a row has no value at the start."""
        t, q, v = self.t0, self.q0.copy(), self.v0.copy()
        par, layout = model.units.par, model.layout
        with np.errstate(all="ignore"):
            M, f = np.zeros(int(layout.profile_size)), np.zeros(self.nv)
            runnable(model.units.mass)(t, q, par, M)
            runnable(model.units.force)(t, q, v, par, f)
            gaps = np.zeros(int(layout.nc + layout.nj))
            runnable(model.units.gap)(t, q, par, gaps)
        for group in self.groups:
            if isinstance(group.kind, BodyKind):
                self.check_masses(group, M, f)
        names = [*self.given.contact_names]
        for name, size in zip(self.given.joint_names, model.joint_sizes, strict=True):
            names += [name] * size
        if not np.all(np.isfinite(gaps)):
            k = int(np.argmax(~np.isfinite(gaps)))
            word = "gap of contact" if k < len(self.given.contacts) else "constraint of joint"
            raise FunctionError(f"{word} {names[k]!r} is {gaps[k]} {at(t, q, v)}: it must be finite there")

    def check_masses(self, group: Group, M: np.ndarray, f: np.ndarray) -> None:
        """Raise where the mass of a body is not positive definite, or its force no number."""
        family: Any = group.family
        kind, nv = group.kind, family.nv
        blocks = np.zeros((len(group), nv, nv))
        for k, (i, j) in enumerate(list(kind.mass)):
            blocks[:, i, j] = M[group.values[:, kind.entries_at + k].astype(np.int64)]
        names = family.names
        if not np.all(np.isfinite(blocks)):
            k = int(np.argmax(~np.isfinite(blocks).all(axis=(1, 2))))
            raise FunctionError(f"mass of body {names[k]!r} is {blocks[k].tolist()} at the start: it must be finite")
        scale = np.abs(blocks).max(axis=(1, 2))
        far = np.abs(blocks - blocks.transpose(0, 2, 1)).max(axis=(1, 2)) > 1e-10 * scale
        if far.any():
            k = int(np.argmax(far))
            raise ModelError(f"mass of body {names[k]!r} is not symmetric: {blocks[k].tolist()}; make it symmetric")
        if nv == 1 or all(i == j for i, j in kind.mass):
            lowest = np.diagonal(blocks, axis1=1, axis2=2).min(axis=1)
        else:
            lowest = np.linalg.eigvalsh(blocks)[:, 0]
        low = ~(lowest > 1e-14 * scale)  # below, the sign of an eigenvalue is rounding
        if low.any():
            k = int(np.argmax(low))
            raise ModelError(
                f"M is not positive definite at q0: the smallest eigenvalue of the mass of body {names[k]!r} is "
                f"{lowest[k]:.6g}; check signs and units, every motion needs a positive mass"
            )
        start = group.values[:, kind.fields["b0"]].astype(np.int64)
        forces = f[start[:, None] + np.arange(nv)]
        if not np.all(np.isfinite(forces)):
            k = int(np.argmax(~np.isfinite(forces).all(axis=1)))
            raise FunctionError(f"the force on body {names[k]!r} is {forces[k].tolist()} at the start")


# ---- all rows by name, for messages


def row_functions(system: System, rows: Sequence[tuple[str, str]], sizes: Sequence[int], values) -> dict[str, Any]:
    """Return the functions of all rows of families by name; rows: contact and axis of each row of the contacts."""
    made: dict[str, UserFunction] = {}

    def put(name: str, function: Callable, arity: int, shape: tuple[int, ...]) -> None:
        made[name] = UserFunction(name, function, arity, shape, False, values)

    slips = {name: -1 for name, _ in rows}
    for name, _ in rows:
        slips[name] += 1
    for name, contact in zip(system.contact_names, system.contacts, strict=True):
        put(f"gap of contact {name!r}", contact.gap, arity(contact.gap, name), ())
        if contact.slip is not None:
            put(f"slip of contact {name!r}", contact.slip, 3, (slips[name],))
    for name, joint, size in zip(system.joint_names, system.joints, sizes, strict=True):
        put(f"constraint of joint {name!r}", joint.constraint, arity(joint.constraint, name), (size,))
    bodies = system.all_bodies
    for family in system.forces:
        for k, name in enumerate(family.names or ()):
            slots, numbers = Slots(bodies, family.bodies[k]), row_values(family.p[k])
            width = sum(len(part) for part in slots.rest)
            put(f"force of force {name!r}", _joined_force(family.force, slots, numbers), 3, (width,))
    return made


def _joined_force(force: Callable, slots: Slots, values: Callable) -> Callable:
    return lambda t, q, v: np.concatenate([np.ravel(part) for part in force(t, slots.q(q), slots.v(v), values())])


# ---- rows


def _sample(n: int) -> list[int]:
    """Return some of n rows: the first, the last, and those between."""
    return sorted({round(k * (n - 1) / max(SAMPLED - 1, 1)) for k in range(SAMPLED)})


def _fill(values: np.ndarray, place: int, p: np.ndarray, references: list, first: int = 0) -> None:
    """Write rows of numbers; parameters get their first value and are remembered."""
    if p.dtype != object:
        values[:, place : place + p.shape[1]] = p
        return
    for k, row in enumerate(p):
        for m, entry in enumerate(row):
            if isinstance(entry, Parameter):
                references.append((first + k, place + m, entry))
            values[k, place + m] = float(entry)


def _called(word: str, family: Any, row: int) -> str:
    """Return what messages call a function of one row."""
    name = family.names[row]
    of = {"mass": "body", "force": "body" if isinstance(family, BodyFamily) else "force", "constraint": "joint"}
    return f"{word} of {of.get(word, 'contact')} {name!r}"


def _as_written(said: str) -> str:
    """Return an expression with the names that the functions of families use."""
    import re

    return re.sub(r"\b([qv])(\d+)_(\d+)\b", r"\1[\2][\3]", said)


def _is_arithmetic(kind: RowKind) -> bool:
    """Tell whether what moves in the gaps of a kind is added and multiplied only."""
    moving = [kind.t, *kind.moving_q, *kind.moving_v]
    return all(node.op in AFFINE_OPERATIONS for node in reachable(kind.gaps) if depends_on(node, moving))


def _mass_of(family: BodyFamily, at_q: slice, values: Callable) -> Callable:
    return lambda q: family.mass(q[at_q], values())


def _rate_of(family: BodyFamily, at_q: slice, at_v: slice, values: Callable) -> Callable:
    rate: Any = family.rate
    return lambda q, v: rate(q[at_q], v[at_v], values())


# ---- which degrees of freedom a row moves


def _joined(component: np.ndarray, met: np.ndarray, w_ptr: np.ndarray, first: int) -> np.ndarray:
    """Return an island for every component: joints join those that one of their rows meets."""
    parent = list(range(int(component.max(initial=-1)) + 1))

    def root(k: int) -> int:
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k

    for r in range(first, len(w_ptr) - 1):
        touched = met[w_ptr[r] : w_ptr[r + 1]].tolist()
        low = root(touched[0])
        for one in touched[1:]:
            other = root(one)
            if other != low:
                low, other = min(low, other), max(low, other)
                parent[other] = low
    return np.array([root(k) for k in range(len(parent))], dtype=np.int64)


def _moved(profile: Profile, met, island, w_ptr, contact_rows: Sequence[int], nj: int) -> list[np.ndarray]:
    """Return for every row the positions that it can move.

    A contact moves what joints make of it, so all of its islands; a joint row stands for lu^-1 W alone.
    """
    of_island, of_component = _members(island[profile.component]), _members(profile.component)
    made: list[np.ndarray] = []
    known: dict[tuple, np.ndarray] = {}

    def positions(kind: int, touched: tuple[int, ...], members: dict[int, np.ndarray]) -> np.ndarray:
        key = kind, *touched
        if key not in known:
            known[key] = np.sort(np.concatenate([members[one] for one in touched]))
        return known[key]

    at = 0
    islands = island[met]
    for count in contact_rows:
        touched = tuple(sorted(set(islands[w_ptr[at] : w_ptr[at + count]].tolist())))
        made += [positions(0, touched, of_island)] * count
        at += count
    for r in range(at, at + nj):
        touched = tuple(sorted(set(met[w_ptr[r] : w_ptr[r + 1]].tolist())))
        made.append(positions(1, touched, of_component))
    return made


def _members(label: np.ndarray) -> dict[int, np.ndarray]:
    """Return the positions of every label."""
    order = np.argsort(label, kind="stable")
    bounds = np.flatnonzero(np.diff(label[order])) + 1
    return {int(label[part[0]]): part for part in np.split(order, bounds)} if len(label) else {}


class _Found(Exception):
    """All texts of a model are known."""


class _Texts(FamilyBuilder):
    """The same builder, which stops before anything is compiled."""

    texts: set[str]

    def compiled_kinds(self) -> dict[int, Any]:
        self.texts = {group.kind.text for group in self.groups}
        return {id(group.kind): group.kind.text for group in self.groups}

    def units(self, text: str, body: dict[str, str]) -> list[Any]:
        self.texts.add(text)
        raise _Found


def texts_of(system, q: np.ndarray, v: np.ndarray) -> set[str]:
    """Return all texts that a model of families compiles: those of its kinds, and the one that walks through them."""
    builder = _Texts(system, 0.0, q, v, (), {})
    try:
        builder.build()
    except _Found:
        return builder.texts
    raise ModelError("a system without families has no texts of its own")
