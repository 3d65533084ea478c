"""The derivative of a run by its start and its parameters: smooth pieces, and saltation at the events between them.

    tangent = along(solution)
    tangent.matrix()       # d(q, v) at the end / d(q, v) at the start

What is closed in every piece is read off the run: contacts that carry a force, friction that sticks or slides. Where a
run has no derivative, because two gaps close at once or one is only touched, `corners` says so.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saltus.ensemble.saltation import Jump, Moment, Rates, closed, guard_of, rebranched, switched, user_event
from saltus.ensemble.saltation_impact import Impacts
from saltus.ensemble.saltation_impact import jumps as impact_jumps
from saltus.ensemble.tangent_flow import FLOWS, GAUSS_NODES, Flow, flows, gauss
from saltus.ensemble.tangent_motion import Motion, Phase, Sliding
from saltus.errors import SettingError
from saltus.schemes.traits import traits_of

if TYPE_CHECKING:
    from saltus.solution import Solution


class _Along(NamedTuple):
    """Tuned numbers of this file."""

    shortest: float = 1e-14  # of the times around it: a shorter piece is none
    carries: float = 1e-11  # of the largest force of the run: a contact with less is open
    slips: float = 1e-7  # of the largest velocity: a slip below sticks, where no event says what it does
    touch: float = 1e-8  # of the fastest impact of its contact: a slower one that starts no accumulation is a touch
    inside: float = 2e-4  # of a piece: distance of the places from which a limit at its end is found
    jumps: float = 1e-9  # of the accelerations: a smaller jump where a branch ends is none


ALONG = _Along()
LIMIT = np.array([6.0, -15.0, 20.0, -15.0, 6.0, -1.0])  # values at 1 to 6 steps -> value at 0, exact to degree 5
WITHOUT_DERIVATIVE = {
    "tie": "two events at one instant: what follows depends on which of them is the first",
    "painleve": "no force holds the contact (Painleve)",
    "not unique": "the forces of the contacts are not unique",
}


class Corner(NamedTuple):
    """An event at which a run has no derivative: its row in `Solution.events`, when and what it is, and why."""

    event: int
    t: float
    kind: str
    reason: str


@dataclasses.dataclass(frozen=True, eq=False)
class Tangent:
    """Transitions of variations along a run, in order of time.

    Attributes
    ----------
    motion
        The linearised model; `motion.place` says where dq, dv, di and dp lie in a variation.
    pieces
        Smooth pieces and events.
    corners
        Events without a derivative; there the variations are those of one side.
    first
        What is closed at the start.
    """

    solution: Solution
    motion: Motion
    pieces: tuple[Flow | Jump, ...]
    corners: tuple[Corner, ...]
    first: Phase

    @functools.cached_property
    def basis(self) -> np.ndarray:
        """Orthonormal basis of the (dq, dv) that the start allows (nq + nv, dimension)."""
        t = float(self.solution.t[0])
        state = self.solution(t)
        return self.motion.basis(t, state.q, state.v, self.first)

    @property
    def resolved(self) -> bool:
        """Whether all smooth pieces were resolved."""
        return all(piece.resolved for piece in self.pieces if isinstance(piece, Flow))

    def matrix(self, until: float | None = None) -> np.ndarray:
        """Return d z(until) / d z(start) (size, size), behind events at `until` [s]; None: the end of the run.

        At the start only variations that closed contacts and joints allow mean anything: `basis`.
        """
        total = np.eye(self.motion.place.size)
        for piece in self.pieces:
            end = piece.end if isinstance(piece, Flow) else piece.t
            if until is not None and end > until:
                break
            total = piece.matrix @ total
        return total

    def jumps(self) -> Iterator[tuple[Jump, np.ndarray]]:
        """Yield every event with d z / d z(start) just before it."""
        total = np.eye(self.motion.place.size)
        for piece in self.pieces:
            if isinstance(piece, Jump):
                yield piece, total
            total = piece.matrix @ total


def along(
    solution: Solution, parameters: Sequence[str] = (), *, impulses: bool = False, at: Sequence[float] = (),
    longest: float = FLOWS.longest,
) -> Tangent:  # fmt: skip
    """Return the derivative of a run.

    Parameters
    ----------
    solution
        A run that kept every step, of a scheme that locates events (HpTDG, EventDriven).
    parameters
        Names of parameters by which to differentiate as well.
    impulses
        Whether the impulses of the contacts are differentiated.
    at
        Times at which `Tangent.matrix` can end [s], beside events and steps.
    longest
        Most radians, or e-folds, of the motion in one smooth piece.
    """
    _check(solution)
    model: Any = solution._model
    return _Walk(solution, Motion(model, parameters, impulses=impulses), at, longest).tangent()


def _check(solution: Solution) -> None:
    if not traits_of(solution.scheme).locates_events:
        raise SettingError(
            f"{solution.scheme.name} does not locate events, so that its runs have no derivative: take HpTDG() or "
            "EventDriven()"
        )
    if not solution.can_refine:
        raise SettingError("the derivative of a run needs every step and its model: solve with save='steps'")


class _Walk:
    """One way along a run."""

    def __init__(self, solution: Solution, motion: Motion, at: Sequence[float], longest: float):
        self.solution, self.motion, self.longest = solution, motion, longest
        self.events = solution.events
        self.names = {name: c for c, name in enumerate(solution.system.contact_names)}
        times = np.unique(np.concatenate([solution.t, self.events["t"], solution.switches["t"], np.asarray(at, float)]))
        times = times[(times >= solution.t[0]) & (times <= solution.t[-1])]
        # of times that only rounding tells apart the last one stays: it has seen all events
        near = np.diff(times) <= ALONG.shortest * (np.abs(times[1:]) + abs(times[-1] - times[0]))
        self.aliases = dict(zip(times[:-1][near], times[1:][near], strict=True))
        self.times = times[~np.append(near, False)]
        self.rows: dict[float, list[int]] = {}
        for k, t in enumerate(self.events["t"]):
            self.rows.setdefault(self._known(float(t)), []).append(k)
        self.accumulations = {self._known(float(t)) for t in self.events["t"][self.events["kind"] == "zeno"]}
        self.switches: dict[float, list[str]] = {}
        for t, name in zip(solution.switches["t"], solution.switches["name"], strict=True):
            self.switches.setdefault(self._known(float(t)), []).append(str(name))
        quiet = ("impact", "gain", "tie")
        self.eventful = {t for t, rows in self.rows.items() if any(self.events["kind"][k] not in quiet for k in rows)}
        self.eventful |= set(self.switches)
        self.corners: list[Corner] = []
        self.fastest = self._fastest()

    def _known(self, t: float) -> float:
        while t in self.aliases:
            t = self.aliases[t]
        return t

    def _fastest(self) -> dict[str, float]:
        struck = self.events[self.events["kind"] == "impact"]
        made: dict[str, float] = {}
        for name, u in zip(struck["contact"], struck["u_minus"][:, 0], strict=True):
            made[str(name)] = max(made.get(str(name), 0.0), -float(u))
        return made

    def states(self, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        state = self.solution(t)
        return state.q, state.v

    # ---- what is closed

    def phases(self) -> list[Phase]:
        """Return what is closed in every piece."""
        motion, n = self.motion, len(self.times) - 1
        joints = motion.joints
        if not motion.nc:
            return [Phase(joints)] * n
        t = (self.times[:-1, None] + np.diff(self.times)[:, None] * gauss().c).ravel()
        r = self.solution.force_at(t)[:, list(motion.normals)].reshape(n, GAUSS_NODES, -1)
        carried = np.max(r, axis=1)
        is_closed = carried > ALONG.carries * max(np.max(carried, initial=0.0), 1e-300)
        slip = self._slips(t, n)
        most = np.max(np.abs(self.solution.v), initial=0.0)
        told = self._told()
        made: list[Phase] = []
        for k in range(n):
            held, sliding = [], []
            for c in np.flatnonzero(is_closed[k]):
                held.append(motion.normals[c])
                mine = [one for one in motion.frictions if one.contact == c]
                for one in mine:
                    u = slip[one.rows][k]
                    speed = np.linalg.norm(u, axis=1)
                    sticks = bool(speed.max() <= ALONG.slips * most)
                    if len(mine) == 1 and told[k][c] is not None:
                        sticks = told[k][c] == "stick"
                    if sticks and motion.mu[c] > 0.0:
                        held += one.rows
                    else:
                        sign = float(np.sign(u[np.argmax(speed), 0])) if len(one.rows) == 1 else 0.0
                        sliding.append(Sliding(int(c), one.normal, one.rows, sign))
            made.append(Phase((*held, *joints), tuple(sliding)))
        for k in reversed(range(n - 1)):  # an accumulation ends as the motion behind it
            if float(self.times[k + 1]) in self.accumulations:
                made[k] = made[k + 1]
        return made

    def _slips(self, t: np.ndarray, n: int) -> dict[tuple[int, ...], np.ndarray]:
        """Return the slip velocities of every friction (pieces, nodes, rows)."""
        if not self.motion.frictions:
            return {}
        q, v = self.states(t)
        s = self.motion.derivatives.states(t, q, v)
        u = np.einsum("nij,nj->ni", s.W, v) + s.w
        return {one.rows: u[:, list(one.rows)].reshape(n, GAUSS_NODES, -1) for one in self.motion.frictions}

    def _told(self) -> list[list[str | None]]:
        """Return what events said last about the friction of every contact, "stick" or "slip", in every piece."""
        now: list[str | None] = [None] * self.motion.nc
        made = []
        for t in self.times[:-1]:
            for k in self.rows.get(float(t), ()):
                kind, contact = str(self.events["kind"][k]), self.names.get(str(self.events["contact"][k]))
                if contact is not None and kind in ("stick", "slip"):
                    now[contact] = kind
                elif contact is not None and kind in ("impact", "release", "closing", "zeno"):
                    now[contact] = None
            made.append(list(now))
        return made

    # ---- pieces in order

    def tangent(self) -> Tangent:
        phases = self.phases()
        windows = [float(end) in self.accumulations for end in self.times[1:]]
        spans = list(zip(self.times[:-1].tolist(), self.times[1:].tolist(), phases, strict=True))
        smooth = [span for span, window in zip(spans, windows, strict=True) if not window]
        found = iter(flows(self.motion, self.states, smooth, self.longest))
        struck = self.impacts(phases, windows)
        pieces: list[Flow | Jump] = []
        for k, (span, window) in enumerate(zip(spans, windows, strict=True)):
            if window:
                pieces += self.accumulation(span)
            else:
                pieces += next(found)
            t = span[1]
            if t in struck:
                pieces.append(struck[t])
            elif t in self.eventful or (k + 1 < len(phases) and phases[k] != phases[k + 1]):
                pieces += self.jumps(t, phases[k], phases[k + 1] if k + 1 < len(phases) else None)
        for k in np.flatnonzero(np.isin(self.events["kind"], list(WITHOUT_DERIVATIVE))):
            self.corner(int(k), WITHOUT_DERIVATIVE[str(self.events["kind"][k])])
        corners = tuple(sorted(set(self.corners)))
        return Tangent(self.solution, self.motion, tuple(pieces), corners, phases[0])

    def corner(self, row: int, reason: str) -> None:
        one = self.events[row]
        self.corners.append(Corner(row, float(one["t"]), str(one["kind"]), reason))

    def accumulation(self, span: tuple[float, float, Phase]) -> list[Flow | Jump]:
        """Return what is left of variations where bounces end: they are projected, then move with what is closed."""
        (begin, end, phase), motion = span, self.motion
        state, launch = self.solution(end), self.solution(begin)
        names = tuple(str(self.events["contact"][k]) for k in self.rows[end] if self.events["kind"][k] == "zeno")
        bouncing = {self.names[name] for name in names}
        flying = {motion.normals[c] for c in bouncing} | {
            row for one in motion.frictions if one.contact in bouncing for row in one.rows
        }
        open_phase = Phase(
            tuple(row for row in phase.held if row not in flying),
            tuple(one for one in phase.sliding if one.contact not in bouncing),
        )
        at = Moment(begin, launch.q, launch.v, launch.q, launch.v, open_phase, phase)

        def there(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return np.tile(state.q, (len(t), 1)), np.tile(state.v, (len(t), 1))

        return [
            closed(motion, at, "zeno", names, next(iter(bouncing)) if len(bouncing) == 1 else None),
            *flows(motion, there, [(begin, end, phase)], self.longest)[0],
        ]

    def jumps(self, t: float, before: Phase, after: Phase | None) -> list[Jump]:
        """Return what the events at one time do that are no impacts."""
        rows = self.rows.get(t, [])
        left, right = self.solution(t, side="-"), self.solution(t)
        at = Moment(t, left.q, left.v, right.q, right.v, before, before if after is None else after)
        made = []
        kinds = [str(self.events["kind"][k]) for k in rows]
        resets = [k for k, kind in zip(rows, kinds, strict=True) if kind == "event" and self._reset(k) is not None]
        if resets:
            number = self._reset(resets[0])
            if "impact" in kinds or len(resets) > 1:
                self.corner(resets[0], "two events that change the state at one instant")
            made.append(
                user_event(self.motion, at, self.rates(at), number or 0, str(self.events["contact"][resets[0]]))
            )
        elif after is not None and "zeno" not in kinds:
            made += self.rebranchings(at, rows)
        if t in self.switches and not resets:
            made += self.switchings(at, self.switches[t])
        return made

    def _reset(self, row: int) -> int | None:
        """Return the number of the event of the user in a row, None where it has no reset."""
        name = str(self.events["contact"][row])
        number = list(self.solution.event_names).index(name)
        return number if self.motion.model.events[number].reset is not None else None

    def rates(self, at: Moment) -> Rates:
        """Return the motions before and behind an event."""
        return Rates(self.rate(at, at.before, "-"), self.rate(at, at.after, "+"))

    def rate(self, at: Moment, phase: Phase, side: str) -> np.ndarray:
        q, v = (at.q, at.v) if side == "-" else (at.q_plus, at.v_plus)
        return self.rates_at(np.array([at.t]), q[None], v[None], phase, side)[0]

    def rates_at(self, t: np.ndarray, q: np.ndarray, v: np.ndarray, phase: Phase, side: str) -> np.ndarray:
        """Return the motions in N states at the ends of pieces (N, size)."""
        if all(len(one.rows) == 1 for one in phase.sliding):
            return self.motion.balance(t, q, v, phase).rate(self.motion.ni, len(self.motion.chosen))
        return np.array([self.limit(float(time), phase, side) for time in t])

    def limit(self, t: float, phase: Phase, side: str) -> np.ndarray:
        """Return the motion at the end of the piece before or behind a time, from the inside of it."""
        nodes = self.inside(t, side)
        q, v = self.states(nodes)
        return LIMIT @ self.motion.balance(nodes, q, v, phase).rate(self.motion.ni, len(self.motion.chosen))

    def inside(self, t: float, side: str) -> np.ndarray:
        """Return times close to t in the piece before or behind it, at equal distances."""
        k = int(np.searchsorted(self.times, t))
        step = ALONG.inside * (self.times[k - 1] - t if side == "-" else self.times[k + 1] - t)
        return t + step * np.arange(1, len(LIMIT) + 1)

    def impacts(self, phases: list[Phase], windows: list[bool]) -> dict[float, Jump]:
        """Return the saltation of all impacts by their times, found together where the same contacts take part."""
        motion = self.motion
        alike: dict[tuple, list[float]] = {}
        begins = {float(t): k for k, t in enumerate(self.times)}
        for t, rows in self.rows.items():
            kinds = [str(self.events["kind"][k]) for k in rows]
            k = begins.get(t, 0)
            resets = any(
                kind == "event" and self._reset(row) is not None for row, kind in zip(rows, kinds, strict=True)
            )
            if "impact" not in kinds or k == 0 or resets:
                continue
            hit = [row for row, kind in zip(rows, kinds, strict=True) if kind == "impact"]
            before, after = phases[k - 1], phases[min(k, len(phases) - 1)]
            if k == len(phases):
                self.corner(hit[0], "the run ends at an impact: whether it is part of it depends on the start")
                after = before
            elif windows[k]:
                after = before  # it bounces once more before its accumulation
            struck, touching = self.struck(hit, before)
            names = tuple(dict.fromkeys(str(self.events["contact"][row]) for row in hit))
            alike.setdefault((before, after, struck, touching, names), []).append(t)
        made: dict[float, Jump] = {}
        for (before, after, struck, touching, names), times in alike.items():
            t = np.array(times)
            left, right = self.solution(t, side="-"), self.solution(t)
            if not struck:
                for k, time in enumerate(times):
                    at = Moment(time, left.q[k], left.v[k], right.q[k], right.v[k], before, after)
                    self.corner(self.rows[time][0], "no gap closes where contacts push: forces jump from outside")
                    made[time] = closed(motion, at, "impact", names)
                continue
            rates = [
                self.rates_at(t, state.q, state.v, phase, side)
                for state, phase, side in ((left, before, "-"), (right, after, "+"))
            ]
            found = impact_jumps(
                motion, Impacts(t, left.q, left.v, right.v, before, after, struck, touching, *rates), names
            )
            for time, jump in zip(times, found, strict=True):
                made[time] = jump
                if jump.corner:
                    self.corner(self.rows[time][0], jump.corner)
        return made

    def struck(self, rows: list[int], before: Phase) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the contacts whose gaps close in an impact, and those that were closed without a force.

        Contacts that were closed with a force are struck through them.
        """
        made, touching = [], []
        for k in rows:
            name, u = str(self.events["contact"][k]), float(self.events["u_minus"][k, 0])
            if self.motion.normals[self.names[name]] in before.held:
                continue
            if not u < -ALONG.touch * self.fastest[name]:
                touching.append(self.names[name])
                continue
            made.append(self.names[name])
        if not made and touching:  # nothing else strikes
            self.corner(rows[0], "the contact is only touched: beside this run it is missed")
            return (touching[0],), ()
        return tuple(dict.fromkeys(made)), tuple(dict.fromkeys(touching))

    def rebranchings(self, at: Moment, rows: list[int]) -> list[Jump]:
        """Return the saltation where friction starts to stick or turns round; other changes are continuous."""
        motion, found = self.motion, []
        behind = {one.rows: one for one in at.after.sliding}
        for one in at.before.sliding:
            if motion.mu[one.contact] == 0.0:
                continue
            if set(one.rows) <= set(at.after.held):
                found.append(("stick", one))
            elif one.rows in behind and one.sign * behind[one.rows].sign < 0.0:
                found.append(("reversal", one))
        if not found:
            fresh = set(at.after.held) - set(at.before.held) - {row for f in motion.frictions for row in f.rows}
            if fresh and rows:
                self.corner(rows[0], "a contact closes without an impact: it is only touched")
                return [closed(motion, at, "closing", tuple(str(self.events["contact"][k]) for k in rows))]
            return []
        rates = self.rates(at)
        guards = [guard_of(motion, at, rates, slip=one.rows, way=self.slip_way(at, one)) for _, one in found]
        kind = "stick" if any(kind == "stick" for kind, _ in found) else "reversal"
        names = tuple(list(self.names)[one.contact] for _, one in found)
        guard, slope = guards[0]
        for other, other_slope in guards[1:]:
            if np.max(np.abs(guard / slope - other / other_slope)) > 1e-6 * np.max(np.abs(guard / slope)) and rows:
                self.corner(rows[0], "two frictions change at one instant")
        jump = rebranched(motion, at, rates, kind, names, guard, slope)
        if kind == "stick" and any(len(one.rows) > 1 for _, one in found):
            jump = dataclasses.replace(jump, matrix=closed(motion, at, kind, names).matrix @ jump.matrix)
        return [jump]

    def slip_way(self, at: Moment, one: Sliding) -> np.ndarray:
        """Return the direction of a slip just before an event."""
        if len(one.rows) == 1:
            return np.ones(1)
        nodes = self.inside(at.t, "-")
        q, v = self.states(nodes)
        s = self.motion.derivatives.states(nodes, q, v)
        u = (np.einsum("nij,nj->ni", s.W, v) + s.w)[:, list(one.rows)]
        way = LIMIT @ (u / np.linalg.norm(u, axis=1)[:, None])
        return way / np.linalg.norm(way)

    def switchings(self, at: Moment, names: list[str]) -> list[Jump]:
        """Return the saltation where branches of functions end, if the force jumps there."""
        if at.t in (self.times[0], self.times[-1]):
            return []
        rates = Rates(self.limit(at.t, at.before, "-"), self.limit(at.t, at.after, "+"))
        size = np.max(np.abs(np.concatenate([rates.before, rates.after])))
        if np.max(np.abs(rates.after - rates.before)) <= ALONG.jumps * size:
            return []
        return [switched(self.motion, at, rates, names[0])]
