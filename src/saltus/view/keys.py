"""Keys: poses with both one-sided rates at chosen times, between which a cubic (Hermite) is the motion to a bound.

Every jump of a body is a key of it. Between jumps keys are as few as the bound allows: first intervals of all bodies
are halved until a cubic in each of them is near enough, then every body drops the keys that it can do without.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError

if TYPE_CHECKING:
    from saltus.solution import Solution
    from saltus.view.picture import Picture

INSIDE = np.array([0.25, 0.5, 0.75])  # places of an interval at which a cubic is compared
MARGIN = 0.4  # of the bound, that is used at these places: between them the difference may be larger
SAME_RATE = 2e-7  # relative: where bodies jump, rates of those that do not are kept to this as well
SHORTEST = 1e-13  # of the span: shorter intervals are not halved
MOST_KEYS = 400_000
JUMPS = ("impact", "zeno", "painleve", "event")


@dataclasses.dataclass(frozen=True)
class Keys:
    """Keys of one body: times [s], poses before and behind, rates before and behind (keys, 3 or 7)."""

    t: np.ndarray
    before: np.ndarray
    behind: np.ndarray
    rate_before: np.ndarray
    rate_behind: np.ndarray


@dataclasses.dataclass(frozen=True)
class Motion:
    """Keys of all bodies, and the bound that they keep: of places [m] and of turns [rad] for each body."""

    keys: tuple[Keys, ...]
    length: float
    angle: tuple[float, ...]


@dataclasses.dataclass
class _Grid:
    """All bodies at common times: (times, bodies, columns), and between them (intervals, places, bodies, columns)."""

    t: np.ndarray
    before: np.ndarray
    behind: np.ndarray
    rate_before: np.ndarray
    rate_behind: np.ndarray


def motion_of(solution: Solution, picture: Picture, bound: float, pose: Any = None) -> Motion:
    """Return the keys of a run.

    Parameters
    ----------
    bound
        How far a drawn point may be from where the run has it [m].
    pose
        Another form of poses and rates, as gltf.py has it; None: that of the picture.
    """
    reach = reaches(picture)
    pose = pose or Form(picture)
    allowed = pose.allowed(bound, reach)  # (bodies, columns)
    jumps = jump_times(solution)
    if len(solution.t) == 1:  # a run that failed in its first step: it stands where it began
        grid = _at(solution, pose, solution.t[[0, 0]])
        return Motion(tuple(_still(grid, b) for b in range(len(picture.bodies))), bound, _turns(bound, reach))
    grid, inside = _grid(solution, pose, jumps, allowed)
    keep = np.isin(grid.t, jumps)
    keys = tuple(_thinned(grid, inside, b, allowed[b], keep) for b in range(len(picture.bodies)))
    return Motion(keys, bound, _turns(bound, reach))


def _turns(bound: float, reach: np.ndarray) -> tuple[float, ...]:
    """Return how far each body may turn, so that none of its points is off by more than the bound [rad]."""
    return tuple(float(bound / max(r, 1e-300)) for r in reach)


def _still(grid: _Grid, b: int) -> Keys:
    """Return the keys of one body as the grid has them."""
    return Keys(grid.t, grid.before[:, b], grid.behind[:, b], grid.rate_before[:, b], grid.rate_behind[:, b])


@dataclasses.dataclass(frozen=True)
class Form:
    """Poses of a picture as they are."""

    picture: Picture

    def poses(self, t: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Return the poses of all bodies (times, bodies, columns)."""
        return self.picture.motion.poses(t, q)

    def rates(self, t: np.ndarray, q: np.ndarray, q_dot: np.ndarray) -> np.ndarray:
        """Return their rates."""
        return self.picture.motion.rates(t, q, q_dot)

    def allowed(self, bound: float, reach: np.ndarray) -> np.ndarray:
        """Return how much each number of a pose may differ, so that no drawn point is off by more than the bound."""
        turns = bound / np.maximum(reach, 1e-300)
        made = np.empty((len(reach), self.picture.columns))
        places = 2 if self.picture.dimension == 2 else 3
        made[:, :places] = 0.5 * bound
        # a quaternion that is off by d turns by 2 d
        made[:, places:] = (0.5 if self.picture.dimension == 2 else 0.125) * turns[:, None]
        return made


def reaches(picture: Picture) -> np.ndarray:
    """Return how far the outline of each body is from its origin [m]."""
    made = []
    for body in picture.bodies:
        shapes = [outline for outline in body.outlines if outline.kind != "line"]  # planes have no end
        far = [np.hypot(*point) + outline.radius for outline in shapes for point in outline.points]
        far += [np.hypot(*np.mean(outline.points, axis=0)) for outline in body.outlines if outline.kind == "line"]
        for solid in body.solids:
            corners = np.array(solid.points) if solid.kind == "mesh" else np.array([0.5 * np.array(solid.size)])
            far += [float(np.max(np.linalg.norm(corners + np.array(solid.centre), axis=1)))]
        made.append(max(far, default=0.0))
    return np.array(made)


def jump_times(solution: Solution) -> np.ndarray:
    """Return the times at which velocities jump, or may: those of impacts and of events of the user."""
    events = solution.events
    times = np.unique(events["t"][np.isin(events["kind"], JUMPS)])
    return times[(times >= solution.t[0]) & (times <= solution.t[-1])]


def _grid(solution: Solution, pose: Any, jumps: np.ndarray, allowed: np.ndarray) -> tuple[_Grid, np.ndarray]:
    """Halve intervals until a cubic is near enough in each of them; return values inside as well."""
    if not solution.every_step:
        raise SettingError(
            "the run kept a part of its steps, so that nothing is known between them: solve with save='steps' to see it"
        )
    span = solution.t[-1] - solution.t[0]
    t = np.unique(np.concatenate([solution.t[[0, -1]], jumps]))
    grid = _at(solution, pose, t)
    inside = _inside(solution, pose, t[:-1], t[1:])
    checked = np.zeros(len(t) - 1, dtype=bool)
    while True:
        fits = checked.copy()
        fits[~checked] = _fits(grid, inside, np.flatnonzero(~checked), allowed)
        halve = np.flatnonzero(~fits & (np.diff(grid.t) > SHORTEST * span))
        if len(halve) == 0 or len(grid.t) + len(halve) > MOST_KEYS:
            return grid, inside
        new = _splits(solution.t, grid.t[halve], grid.t[halve + 1])
        added = _at(solution, pose, new)
        at = halve + 1 + np.arange(len(halve))  # places of the new times among all
        old = np.setdiff1d(np.arange(len(grid.t) + len(new)), at)
        joined = {}
        for field in dataclasses.fields(_Grid):
            before, fresh = getattr(grid, field.name), getattr(added, field.name)
            both = np.empty((len(before) + len(fresh), *before.shape[1:]))
            both[old], both[at] = before, fresh
            joined[field.name] = both
        grid = _Grid(**joined)
        fresh = np.unique(np.concatenate([at - 1, at]))  # intervals that are new
        kept = np.setdiff1d(np.arange(len(grid.t) - 1), fresh)
        both = np.empty((len(grid.t) - 1, *inside.shape[1:]))
        both[kept] = np.delete(inside, halve, axis=0)
        both[fresh] = _inside(solution, pose, grid.t[fresh], grid.t[fresh + 1])
        inside = both
        checked = np.ones(len(grid.t) - 1, dtype=bool)
        checked[fresh] = False


def _splits(nodes: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return where to halve intervals: at the node of the run next to their middle, if one is inside of the middle."""
    middle = 0.5 * (start + end)
    k = np.searchsorted(nodes, middle).clip(1, len(nodes) - 1)
    near = np.where(middle - nodes[k - 1] < nodes[k] - middle, nodes[k - 1], nodes[k])
    return np.where(np.abs(near - middle) < 0.3 * (end - start), near, middle)


def _at(solution: Solution, pose: Any, t: np.ndarray) -> _Grid:
    """Return all bodies at times, from both sides."""
    left, right = solution(t, "-"), solution(t, "+")
    sides = [(pose.poses(t, side.q), pose.rates(t, side.q, solution._rate(side.q, side.v))) for side in (left, right)]
    (before, rate_before), (behind, rate_behind) = sides
    return _Grid(t, before, behind, rate_before, rate_behind)


def _inside(solution: Solution, pose: Any, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return poses inside of intervals (intervals, places, bodies, columns)."""
    t = (start[:, None] + INSIDE * (end - start)[:, None]).ravel()
    q = solution(t).q
    unknown = ~np.isfinite(q).all(axis=1)  # in intervals of a few roundings, where s = (t - start)/h says nothing
    if unknown.any():
        q[unknown] = solution(np.repeat(start, len(INSIDE))[unknown]).q
    made = pose.poses(t, q)
    return made.reshape(len(start), len(INSIDE), *made.shape[1:])


def cubic(s: Any, h: Any, start: Any, rate_start: Any, end: Any, rate_end: Any) -> Any:
    """Return the cubic of values and rates at both ends of an interval of length h, at the share s of it."""
    r = 1.0 - s
    return (
        (1.0 + 2.0 * s) * r * r * start
        + s * r * r * h * rate_start
        + s * s * ((3.0 - 2.0 * s) * end - r * h * rate_end)
    )


def cubic_rate(s: Any, h: Any, start: Any, rate_start: Any, end: Any, rate_end: Any) -> Any:
    """Return the rate of that cubic."""
    swing = 6.0 * s * (1.0 - s)
    return (
        swing * (end - start) / h
        + (1.0 - s) * (1.0 - 3.0 * s) * rate_start
        + s * (3.0 * s - 2.0) * rate_end
    )  # fmt: skip


def _fits(grid: _Grid, inside: np.ndarray, which: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Tell in which intervals the cubics of all bodies are near enough."""
    h = np.diff(grid.t)[which][:, None, None, None]
    ends = (one[:, None] for one in (
        grid.behind[which], grid.rate_behind[which], grid.before[which + 1], grid.rate_before[which + 1]
    ))  # fmt: skip
    made = cubic(INSIDE[None, :, None, None], h, *ends)
    off = np.abs(made - inside[which]) / (MARGIN * allowed)
    return off.reshape(len(which), -1).max(axis=1, initial=0.0) <= 1.0


def _thinned(grid: _Grid, inside: np.ndarray, b: int, allowed: np.ndarray, jumps: np.ndarray) -> Keys:
    """Return the keys of one body: neighbours of dropped keys are joined as long as the cubic stays near enough."""
    t, n = grid.t, len(grid.t)
    before, behind = grid.before[:, b], grid.behind[:, b]
    rate_before, rate_behind = grid.rate_before[:, b], grid.rate_behind[:, b]
    scale = np.max(np.abs(rate_before), axis=0, initial=0.0) + 1e-300
    kinked = np.any(np.abs(rate_behind - rate_before) > 1e-9 * scale, axis=1) | np.any(behind != before, axis=1)
    needed = jumps & kinked
    needed[[0, -1]] = True
    # all samples in order: those inside of intervals, and the grid itself
    times = np.concatenate([t[:-1, None] + INSIDE * np.diff(t)[:, None], t[1:, None]], axis=1).ravel()
    values = np.concatenate([inside[:, :, b], before[1:, None]], axis=1).reshape(len(times), -1)
    smooth = np.flatnonzero(jumps & ~kinked)  # others jump there: rates have to be right
    limit = MARGIN * allowed
    keys = np.arange(n)
    tried: set[tuple[int, int]] = set()
    for parity in _alternating(n):
        droppable = keys[1:-1][parity::2]
        droppable = droppable[~needed[droppable]]
        if len(droppable):
            place = np.searchsorted(keys, droppable)
            pairs = list(zip(keys[place - 1].tolist(), keys[place + 1].tolist(), strict=True))
            droppable = droppable[[pair not in tried for pair in pairs]]
        if len(droppable) == 0:
            if parity:
                rest = keys[1:-1][~needed[keys[1:-1]]]
                if len(rest) == 0 or _all_tried(keys, rest, tried):
                    break
            continue
        wanted = np.setdiff1d(keys, droppable)
        start, end = wanted[:-1], wanted[1:]
        which = np.searchsorted(wanted, np.repeat(np.arange(n - 1), len(INSIDE) + 1), side="right") - 1
        h = (t[end] - t[start])[:, None]
        parts = behind[start], rate_behind[start], before[end], rate_before[end]
        s = ((times - t[start[which]]) / h[which, 0])[:, None]
        off = np.max(np.abs(cubic(s, h[which], *(one[which] for one in parts)) - values) / limit, axis=1)
        worst = np.maximum.reduceat(off, np.searchsorted(which, np.arange(len(start))))
        if len(smooth):
            at = np.searchsorted(wanted, smooth, side="right") - 1
            at = np.minimum(at, len(start) - 1)
            s = ((t[smooth] - t[start[at]]) / h[at, 0])[:, None]
            rate = cubic_rate(s, h[at], *(one[at] for one in parts))
            wrong = np.max(
                np.abs(rate - rate_before[smooth]) / (SAME_RATE * (1.0 + np.abs(rate_before[smooth]))), axis=1
            )
            np.maximum.at(worst, at, wrong)
        bad = worst > 1.0
        place = np.searchsorted(wanted, droppable) - 1
        back = droppable[bad[place]]
        tried.update(zip(start[place[bad[place]]].tolist(), end[place[bad[place]]].tolist(), strict=True))
        keys = np.union1d(wanted, back)
    chosen = (before[keys], behind[keys], rate_before[keys], rate_behind[keys])
    return Keys(t[keys], *(np.ascontiguousarray(one) for one in chosen))


def _alternating(n: int):
    """Yield 0 and 1 in turn, as often as n keys can be halved, and some more."""
    for _ in range(2 * max(4, int(np.log2(n + 1)) + 6)):
        yield 0
        yield 1


def _all_tried(keys: np.ndarray, rest: np.ndarray, tried: set[tuple[int, int]]) -> bool:
    place = np.searchsorted(keys, rest)
    return all(pair in tried for pair in zip(keys[place - 1].tolist(), keys[place + 1].tolist(), strict=True))
