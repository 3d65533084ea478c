"""Chattering: velocities that slide along a jump of the force, and what alternates where a run stops advancing.

A velocity component slides along a surface s(t, q, v) = 0 if the force jumps there and pushes it back from both sides
(Filippov 1988): n . a_above < ds_0/dt < n . a_below, with the normal n of the surface in the space of velocities and
its motion ds_0/dt. Dry friction that is written as a force, f = -c sign(v), is the ordinary case. Every step across the
surface is thrown back, so that a run makes ever shorter steps and never leaves it.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from saltus.memory.record import COLUMN, EVENT


class _Chatter(NamedTuple):
    """Tuned numbers of this file."""

    reach: float = 16.0  # steps: how far a velocity that runs back and forth across a surface may be from it
    sideways: float = 100.0  # the same for other components, over the first one: a surface may be steep
    least_jump: float = 0.1  # share of an acceleration that must change within the reach for a jump to be looked for
    left_over: float = 0.4  # share of that change that a jump keeps on the nearest numbers; a steep slope keeps nothing
    same_jump: float = 0.1  # relative difference up to which two jumps belong to one surface
    halvings: int = 60  # of the reach, down to rounding
    beside: float = 2.0**-20  # of the reach: where the two sides of a surface are looked at
    most_probed: int = 200  # velocities, because each of them takes some evaluations of the force
    last: int = 64  # steps whose velocities and events are described
    back_and_forth: float = 0.1  # share of the steps in which a velocity turns around
    unseen: float = 100.0  # tolerances: impacts in a corner of a gap are slower


CHATTER = _Chatter()


Acceleration = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True)
class SlidingMode:
    """Velocities that slide along a jump of the force.

    Attributes
    ----------
    components
        Numbers of the velocities that the surface depends on, the first one that was found in front.
    place
        Value of the first one on the surface [units of v].
    below, above
        Its acceleration on both sides [units of v per second].
    names
        What all velocities are called; v[0], v[1], ... where nobody gave names.
    """

    components: tuple[int, ...]
    place: float
    below: float
    above: float
    names: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What happens and what to do, in one sentence."""
        first, *others = (self.names[i] if self.names else f"v[{i}]" for i in self.components)
        also = f" (a surface that also depends on {', '.join(others)})" if others else ""
        return (
            f"{first} slides along a jump of the force{also}: its acceleration is {self.below:.3g} below {first} = "
            f"{self.place:.6g} and {self.above:.3g} above, so that every step is pushed back; write dry friction as "
            "Contact(mu=..., slip=...), not as a force."
        )


@dataclasses.dataclass(frozen=True)
class _Jump:
    """A jump of the acceleration along one velocity: how far away it is, and the jump of all accelerations."""

    distance: float
    change: np.ndarray


def sliding_mode(
    acceleration: Acceleration, q_dot: Callable, t: float, h: float, q: np.ndarray, v: np.ndarray,
    components: Sequence[int] | None = None,
) -> SlidingMode | None:  # fmt: skip
    """Return the sliding mode near a state that steps of about h [s] do not leave, None where there is none.

    acceleration(t, q, v) gives all accelerations, q_dot(q, v) the rates of the coordinates; components are the
    velocities to look at, all of them by default.
    """
    a = np.abs(acceleration(t, q, v))
    for i in range(min(len(v), CHATTER.most_probed)) if components is None else components:
        # the acceleration may be small on this side and large on the other
        reach = max(CHATTER.reach * h * float(a.max()), 8.0 * np.spacing(abs(v[i])))
        for _ in range(2):
            sides = (acceleration(t, q, _moved(v, i, x)) for x in (-reach, reach))
            reach = max(reach, CHATTER.reach * h * max(float(np.abs(side[i])) for side in sides))
        found = _pushed_back(acceleration, q_dot, t, q, h, v, i, reach)
        if found is None:
            continue
        # a motion that stays there finds the same some steps before and behind; one that passes does not
        around = ((t + x, q + x * q_dot(q, v)) for x in (-CHATTER.reach * h, CHATTER.reach * h))
        if all(_pushed_back(acceleration, q_dot, *place, h, v, i, 2.0 * reach) is not None for place in around):
            return found
    return None


def _pushed_back(
    acceleration: Acceleration, q_dot: Callable, t: float, q: np.ndarray, h: float, v: np.ndarray, i: int, reach: float
) -> SlidingMode | None:
    """Return the sliding mode along one velocity: a surface within the reach, to which both of its sides push."""
    found = _jump(acceleration, t, q, v, i, reach)
    if found is None:
        return None
    later = _jump(acceleration, t + h, q + h * q_dot(q, v), v, i, 2.0 * reach)
    if later is None:
        return None  # the surface moves away faster than the velocity could follow
    motion = (later.distance - found.distance) / h
    n, aside = _normal(acceleration, t, q, v, i, found, reach), max(CHATTER.beside * reach, 8.0 * np.spacing(abs(v[i])))
    below, above = (acceleration(t, q, _moved(v, i, found.distance + x)) for x in (-aside, aside))
    if not n @ above < motion < n @ below:
        return None
    others = (int(j) for j in np.flatnonzero(n) if j != i)
    place = float(v[i] + found.distance)
    return SlidingMode((i, *others), 0.0 if abs(place) < aside else place, float(below[i]), float(above[i]))


def _moved(v: np.ndarray, i: int, distance: float) -> np.ndarray:
    moved = v.copy()
    moved[i] += distance
    return moved


def _jump(acceleration: Acceleration, t: float, q: np.ndarray, v: np.ndarray, i: int, reach: float) -> _Jump | None:
    """Return the largest jump of the accelerations along one velocity within the reach, by halving."""
    low, high = -reach, reach
    a_low, a_high = (acceleration(t, q, _moved(v, i, x)) for x in (low, high))
    first = a_high - a_low
    if not np.any(np.abs(first) > CHATTER.least_jump * np.maximum(np.abs(a_low), np.abs(a_high))):
        return None
    for _ in range(CHATTER.halvings):
        middle = 0.5 * (low + high)
        if not v[i] + low < v[i] + middle < v[i] + high:
            break  # the nearest numbers
        a_middle = acceleration(t, q, _moved(v, i, middle))
        if np.linalg.norm(a_middle - a_low) >= np.linalg.norm(a_high - a_middle):
            high, a_high = middle, a_middle
        else:
            low, a_low = middle, a_middle
    change = a_high - a_low
    if not np.linalg.norm(change) >= CHATTER.left_over * np.linalg.norm(first):
        return None
    return _Jump(0.5 * (low + high), change)


def _normal(
    acceleration: Acceleration, t: float, q: np.ndarray, v: np.ndarray, i: int, found: _Jump, reach: float
) -> np.ndarray:
    """Return the normal of the surface in the space of velocities, 1 in direction i, from its distances along all."""
    n, aside = np.zeros(len(v)), 0.25 * reach
    n[i] = 1.0
    beside = _moved(v, i, found.distance + aside)
    for j in range(min(len(v), CHATTER.most_probed)):
        if j == i:
            continue
        other = _jump(acceleration, t, q, beside, j, CHATTER.sideways * reach)
        if other is None or other.distance == 0.0:
            continue
        slope = -aside / other.distance
        if np.linalg.norm(np.sign(slope) * other.change - found.change) <= CHATTER.same_jump * np.linalg.norm(
            found.change
        ):
            n[j] = slope
    return n


# ---- what alternates


def restless(v: np.ndarray, most: int) -> list[int]:
    """Return the velocities that turned around in the last steps, those that did so most often first."""
    change = np.diff(v[-CHATTER.last - 1 :], axis=0)
    turns = np.sum(change[1:] * change[:-1] < 0.0, axis=0)
    return [int(i) for i in np.argsort(-turns, kind="stable")[:most] if turns[i] > 0]


def cornered(rows: np.ndarray, fastest: float, tol: float) -> bool:
    """Tell whether the last events are impacts and releases of one contact at switches, in turn, too slow to be seen.

    rows: of the table of events (COLUMN); fastest: velocity of the run so far; tol: what the run promises
    """
    rows = rows[-CHATTER.last :]
    switches = rows[:, COLUMN.kind] == EVENT.switch
    full, rows = len(rows) == CHATTER.last and np.any(switches), rows[~switches]
    if not full or len(np.unique(rows[:, COLUMN.contact])) != 1:
        return False
    kinds = rows[:, COLUMN.kind]
    strikes = kinds == EVENT.impact
    in_turn = np.all(strikes | (kinds == EVENT.release)) and np.all(strikes[1:] != strikes[:-1])
    return bool(in_turn and np.abs(rows[strikes, COLUMN.before]).max() <= CHATTER.unseen * tol * (1.0 + fastest))


def described(
    t: np.ndarray, v: np.ndarray, events: Sequence[tuple[float, str, str]], names: Sequence[str] | None = None
) -> str:
    """Return what the last steps of a run did: how far they led, which velocities and events went back and forth.

    t and v are the kept times and velocities, events (t, contact or event, kind) in order of time, names those of the
    velocities.
    """
    t, v = t[-CHATTER.last - 1 :], v[-CHATTER.last - 1 :]
    if len(t) < 3:
        return ""
    said = [f"Its last {len(t) - 1} steps led from t = {t[0]:.9g} s over {t[-1] - t[0]:.3g} s"]
    change = np.diff(v, axis=0)
    turns = np.mean(change[1:] * change[:-1] < 0.0, axis=0)
    restless = np.flatnonzero(turns >= CHATTER.back_and_forth)
    if len(restless):
        said.append(f"back and forth went {', '.join(names[int(i)] if names else f'v[{i}]' for i in restless)}")
    kinds = collections.Counter((kind, name) for time, name, kind in events if time >= t[0])
    if kinds:
        listed = ", ".join(f"{count} {kind!r} of {name!r}" for (kind, name), count in kinds.most_common(4))
        said.append(f"events in them: {listed}")
    return "; ".join(said) + "."
