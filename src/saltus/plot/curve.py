"""Curves of a run drawn by straight lines: as many points as a stated bound asks for, however long the steps are.

Between two nodes the dense output of a step is a polynomial, often of high degree. Pieces of a step are halved until
the straight line misses the dense output by no more than `BOUND` of the height of the picture, asked at three places of
each piece that are not symmetric.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import SettingError
from saltus.plot.page import PLOT

if TYPE_CHECKING:
    from saltus.results.records import Side
    from saltus.solution import Solution

BOUND = 2e-4  # of the height of the picture, which the straight lines may miss the dense output by
LOOKS = (0.29, 0.52, 0.81)  # places in a piece where the straight line is compared
MOST_HALVINGS = 12
MOST_LOOKED_AT = 400_000  # points of one curve; beyond, what is there is drawn
FIRST_PARTS = 4  # of a step, at least; steps of high degree begin with as many as their degree

Values = Callable[[np.ndarray, "Side"], np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """Columns of a run at times: left and right limits (times, columns), which differ where they jump."""

    t: np.ndarray
    left: np.ndarray
    right: np.ndarray


def states(solution: Solution, kind: str) -> Values:
    """Return positions ("q") or velocities ("v") of a run as a function of time and side."""

    def values(t: np.ndarray, side: Side) -> np.ndarray:
        return getattr(solution(t, side), kind)

    return values


def dense_curve(solution: Solution, values: Values, nodes: Curve) -> Curve:
    """Return a curve through the nodes of a run with points between them, to `BOUND` of the range of all columns.

    Runs whose steps were not all kept, and files that cannot answer between their times, give their nodes.
    """
    if len(nodes.t) < 2 or not has_dense_output(solution):
        return nodes
    try:
        times = between(solution, nodes, values, _height)
        return with_points(nodes, times, values)
    except SettingError:
        return nodes  # a file without a model knows this quantity at its times alone


def has_dense_output(solution: Solution) -> bool:
    """Whether steps describe the motion inside of them; time steppings are drawn from node to node."""
    return solution.every_step and len(solution._dense) > 0


def with_points(nodes: Curve, times: np.ndarray, values: Values) -> Curve:
    """Return nodes and points between them as one curve."""
    if len(times) == 0:
        return nodes
    there = values(times, "+")
    t = np.concatenate([nodes.t, times])
    order = np.argsort(t, kind="stable")
    left, right = (np.concatenate([side, there])[order] for side in (nodes.left, nodes.right))
    return Curve(t[order], left, right)


Distance = Callable[[np.ndarray, np.ndarray, np.ndarray, Any, np.ndarray], np.ndarray]


def _height(start: np.ndarray, end: np.ndarray, seen: np.ndarray, share: Any, size: np.ndarray) -> np.ndarray:
    """Return how far values miss the straight line at the same time, over the height of the picture."""
    return np.max(np.abs(seen - (start + share * (end - start))), axis=1) / np.max(size)


def off_the_chord(start: np.ndarray, end: np.ndarray, seen: np.ndarray, share: Any, size: np.ndarray) -> np.ndarray:
    """Return how far points (x, y) lie from the straight line, over width and height of the picture."""
    way, off = (end - start) / size, (seen - start) / size
    length = np.einsum("ij,ij->i", way, way)
    along = np.clip(np.einsum("ij,ij->i", off, way) / np.where(length > 0.0, length, 1.0), 0.0, 1.0)
    return np.linalg.norm(off - along[:, None] * way, axis=1)


def between(solution: Solution, nodes: Curve, values: Values, distance: Distance) -> np.ndarray:
    """Return times between nodes at which a curve of straight lines needs points."""
    degree = np.asarray(solution.step_degree, dtype=int)
    steps = np.searchsorted(solution.t, nodes.t[1:]) - 1
    parts = np.maximum(degree[steps.clip(0, len(degree) - 1)], FIRST_PARTS)
    h = np.diff(nodes.t)
    if not np.any(h > 0.0) or parts.sum() * len(LOOKS) > MOST_LOOKED_AT:
        return np.zeros(0)
    step = np.repeat(np.arange(len(h)), parts)
    number = np.arange(len(step)) - np.repeat(np.cumsum(parts) - parts, parts)
    begin, end = (nodes.t[step] + share / parts[step] * h[step] for share in (number, number + 1.0))
    inner = number > 0
    low, high = nodes.right[step].copy(), nodes.left[step + 1].copy()
    if inner.any():
        low[inner] = values(begin[inner], "+")
        high[np.flatnonzero(inner) - 1] = low[inner]
    size = np.ptp(np.concatenate([nodes.left, nodes.right, low]), axis=0)
    size = np.where(size > 0.0, size, 1.0)
    share = (number / parts[step])[:, None]
    miss = distance(nodes.right[step], nodes.left[step + 1], low, share, size) * inner
    bent = np.maximum.reduceat(miss, np.cumsum(parts) - parts) > 0.5 * BOUND  # other steps need no points between them
    kept = bent[step]
    found = [begin[inner & kept]]
    begin, end, low, high = begin[kept], end[kept], low[kept], high[kept]
    looked_at = 0
    for _ in range(MOST_HALVINGS):
        wide = end - begin > 4.0 * np.spacing(np.maximum(np.abs(begin), np.abs(end)))
        begin, end, low, high = begin[wide], end[wide], low[wide], high[wide]
        looked_at += len(LOOKS) * len(begin)
        if len(begin) == 0 or looked_at > MOST_LOOKED_AT:
            break
        miss = np.zeros(len(begin))
        for share in LOOKS:
            seen = values(begin + share * (end - begin), "+")
            miss = np.maximum(miss, distance(low, high, seen, share, size))
        # half of the bound: the largest deviation may lie between the three places
        split = miss > 0.5 * BOUND
        begin, end, low, high = begin[split], end[split], low[split], high[split]
        middle = 0.5 * (begin + end)
        if len(middle) == 0:
            break
        there = values(middle, "+")
        found.append(middle)
        begin, end = np.concatenate([begin, middle]), np.concatenate([middle, end])
        low, high = np.concatenate([low, there]), np.concatenate([there, high])
    return np.unique(np.concatenate(found))


# ---- thinning


def thin(x: np.ndarray, y: np.ndarray, most: int = PLOT.most_points) -> np.ndarray:
    """Return increasing indices that keep the first, last, least and largest value of each part of the axis.

    Parts are equally wide, so that where points are few all of them stay. x must not decrease.
    """
    n = len(x)
    if n <= most:
        return np.arange(n)
    width = x[-1] - x[0]
    bins = most // 4
    part = np.arange(n) * bins // n if not width > 0.0 else np.minimum((x - x[0]) / width * bins, bins - 1).astype(int)
    ends = np.flatnonzero(np.diff(part))
    firsts, lasts = np.concatenate([[0], ends + 1]), np.concatenate([ends, [n - 1]])
    by_value = np.lexsort((y, part))
    return np.unique(np.concatenate([firsts, lasts, by_value[firsts], by_value[lasts]]))


def largest_jumps(jump: np.ndarray) -> np.ndarray:
    """Return the nodes of the largest jumps, increasing."""
    nodes = np.flatnonzero(jump)
    return np.sort(nodes[np.argsort(-np.abs(jump[nodes]))[: PLOT.most_jumps]])


def broken(t: np.ndarray, left: np.ndarray, right: np.ndarray, jumps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a thinned curve through left and right limits that is interrupted at the given nodes."""
    both = np.column_stack([left, right]).ravel()
    pick = np.unique(np.concatenate([thin(np.repeat(t, 2), both), 2 * jumps, 2 * jumps + 1]))
    times, values = t[pick // 2], both[pick]
    gaps = np.searchsorted(pick, 2 * jumps + 1)
    return np.insert(times, gaps, np.nan), np.insert(values, gaps, np.nan)
