"""Rows: one force, joint or contact of a mechanism as a kernel, the bodies of its slots and its data.

A kernel is a plain function over local slots, as families take it: q[0], v[0] belong to the first body of the row, p is
its data. `families` sorts rows by kernel: every kernel becomes one family with a table of data, however many rows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from saltus.family import ContactFamily, ForceFamily, JointFamily
from saltus.parameters import Parameter

if TYPE_CHECKING:
    from saltus.mechanics.body import Body

Number = float | Parameter


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ForceRow:
    """A force: force(t, q, v, p) -> one generalized force per slot, (fx, fy, torque) [N, N, N m] of a planar body."""

    name: str
    force: Callable
    bodies: tuple[Body, ...]
    p: tuple[Number, ...] = ()


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class JointRow:
    """A joint: constraint(t, q, p) -> `size` rows that are zero [m or rad].

    `late` = (place in p, function(t, q) -> number): a number that the start decides, such as the phase of two wheels.
    `since` is the place in p of the time of the start [s]. `moving` is the function of time of the user that the rows
    follow: they fall at its rate.
    """

    name: str
    constraint: Callable
    size: int
    bodies: tuple[Body, ...]
    p: tuple[Number, ...] = ()
    late: tuple[int, Callable] | None = None
    since: int | None = None
    moving: Callable | None = None


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class ContactRow:
    """A contact: gap(t, q, p) [m or rad], slip(t, q, v, p) [m/s] where it has friction, with its numbers e, mu, e_t.

    Rows of one `face` are points of a flat face that may land together. `late` and `since` as those of a `JointRow`.
    """

    name: str
    gap: Callable
    bodies: tuple[Body, ...]
    p: tuple[Number, ...] = ()
    slip: Callable | None = None
    e: Number = 0.0
    mu: Number = 0.0
    e_t: Number = 0.0
    face: str | None = None
    late: tuple[int, Callable] | None = None
    since: int | None = None

    @property
    def rubs(self) -> bool:
        """Whether it has tangential rows: a friction that is a parameter may be zero in one run and not in another."""
        return self.slip is not None and (isinstance(self.mu, Parameter) or self.mu > 0.0)


def force_families(rows: Sequence[ForceRow], numbers: Mapping[Any, int]) -> list[ForceFamily]:
    """Return one family per kernel; `numbers` are those of the bodies."""
    return [
        ForceFamily(name, force=own[0].force, **_table(own, numbers))
        for name, own in _sorted(rows, lambda row: (row.force, len(row.bodies), len(row.p)), lambda row: row.force)
    ]


def joint_families(rows: Sequence[JointRow], numbers: Mapping[Any, int]) -> list[JointFamily]:
    """Return one family per kernel."""
    return [
        JointFamily(name, constraint=own[0].constraint, **_table(own, numbers))
        for name, own in _sorted(
            rows, lambda row: (row.constraint, len(row.bodies), len(row.p)), lambda row: row.constraint
        )
    ]


def contact_families(rows: Sequence[ContactRow], numbers: Mapping[Any, int], impact: Any) -> list[ContactFamily]:
    """Return one family per pair of kernels; rows without friction have no tangential rows."""

    def kind(row: ContactRow) -> tuple:
        return row.gap, row.slip if row.rubs else None, len(row.bodies), len(row.p)

    made = []
    for name, own in _sorted(rows, kind, lambda row: row.gap):
        faces = None if all(row.face is None for row in own) else tuple(row.face for row in own)
        made.append(
            ContactFamily(
                name,
                gap=own[0].gap,
                slip=own[0].slip if own[0].rubs else None,
                e=tuple(row.e for row in own),
                mu=tuple(row.mu for row in own),
                e_t=tuple(row.e_t for row in own),
                impact=impact,
                faces=faces,
                **_table(own, numbers),
            )
        )
    return made


def _table(rows: Sequence[Any], numbers: Mapping[Any, int]) -> dict[str, Any]:
    """Return bodies, data and names of the rows of one family."""
    return {
        "bodies": tuple(tuple(numbers[body] for body in row.bodies) for row in rows),
        "p": tuple(row.p for row in rows),
        "names": tuple(row.name for row in rows),
    }


def _sorted(rows: Sequence[Any], kind: Callable, kernel: Callable) -> list[tuple[str, list[Any]]]:
    """Return (name of the family, its rows) in the order of their first rows; names are those of the kernels."""
    kinds: dict[Any, list[Any]] = {}
    for row in rows:
        kinds.setdefault(kind(row), []).append(row)
    named: dict[str, int] = {}
    made = []
    for own in kinds.values():
        name = getattr(kernel(own[0]), "__name__", "user")
        named[name] = named.get(name, 0) + 1
        made.append((name if named[name] == 1 else f"{name} {named[name]}", own))
    return made
