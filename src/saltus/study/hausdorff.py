"""Hausdorff distance of filled-in graphs (Moreau 1978; Acary, Lecture 2, eqs. 44-47) in near-linear time.

The filled-in graph of a scalar function is connected, so that its part above a window [t - r, t + r] takes every value
between its least and its largest. In the metric max(|t - s|, |x - y|) a point (t, x) therefore lies within r of the
graph iff it lies at most r above the largest and at most r below the least value in the window: a sliding maximum.
A pass over both graphs with a given r finds where this is missed; the largest distance of the worst points and of the
middles of the longest misses, some for each stretch of the graph, is the next r. The middle matters: where the other
graph jumps, the ends of a miss lie exactly r away, and from its middle r is right at once or the miss halves. The r
at which nothing is missed is the distance.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import head, larger, ready, row_of, smaller, tail, unit
from saltus.compile.types import A, F, I, J
from saltus.errors import SettingError
from saltus.problem import Exact
from saltus.solution import Solution

from .curve import Curve, curve, reference_of
from .hausdorff_space import hausdorff_in_space
from .norms import partition


class _Hausdorff(NamedTuple):
    """Tuned numbers of this file."""

    stretches: int = 64  # of a graph, each with its worst point and longest miss: fewer passes than with one
    row: int = 5  # numbers per stretch, see `miss`
    fewest_points: int = 2000  # of a sampled curve: a coarse run is compared with the curve, not with its chords
    precision: float = 1e-10  # relative, of the distance


HAUSDORFF = _Hausdorff()

HAUSDORFF_ROUNDING = 8.0 * np.finfo(float).eps  # relative to the largest time and value: what a pass cannot resolve


def hausdorff(
    solution: Solution,
    reference: Solution | Exact | None = None,
    quantity: str = "v",
    *,
    scale: float = 1.0,
    columns: Sequence[int] | None = None,
    together: bool = False,
) -> float:
    """Return the Hausdorff distance of the filled-in graphs of a run and of its reference.

    The graph of v contains the vertical segments between v_minus and v at jumps; the distance of two of its points is
    max(|t - s|, |x - y| / scale) [s]. Of several columns each is a graph of its own, and the largest distance counts;
    together=True takes all of them as one graph, as the lecture does.
    Curved pieces are replaced by chords between the grid points of both sides and the points halfway.

    Parameters
    ----------
    solution, reference, quantity, columns
        As in `errors`.
    scale
        Change of the quantity that counts as much as one second [unit of the quantity per s].
    together
        Whether the columns are one graph in R^n, with Euclid's norm over them (45); never less than the default.
    """
    if not scale > 0.0:
        raise SettingError(f"scale is {scale}: it must be positive")
    columns = None if columns is None else list(columns)
    found, wanted = (curve(x, quantity, columns) for x in (solution, reference_of(solution, reference)))
    marks = partition(solution.t, found, wanted)
    parts = max(2, -(-HAUSDORFF.fewest_points // len(marks))) if solution.every_step else 1
    marks = _subdivided(marks, parts)
    both = [_filled(side, marks) for side in (found, wanted)]
    times = np.repeat(marks, 2)
    if together:
        return hausdorff_in_space(times, both[0] / scale, times, both[1] / scale)
    return max(
        hausdorff_polylines(times, first / scale, times, second / scale)
        for first, second in zip(both[0].T, both[1].T, strict=True)
    )


def _subdivided(marks: np.ndarray, parts: int) -> np.ndarray:
    inside = marks[:-1, None] + np.diff(marks)[:, None] * (np.arange(parts) / parts)
    return np.unique(np.append(inside.ravel(), marks[-1]))


def _filled(side: Curve, marks: np.ndarray) -> np.ndarray:
    """Return left and right limits in turn; the graph begins with a right limit and ends with a right limit."""
    left, right = side.left(marks), side.right(marks)
    left[0] = right[0]
    return np.stack([left, right], axis=1).reshape(2 * len(marks), -1)


def hausdorff_polylines(t, x, s, y) -> float:
    """Return the Hausdorff distance of two polylines (t, x) and (s, y) with times that never decrease.

    The metric is max(|t - s|, |x - y|); equal times are vertical segments. Near-linear in the number of
    points, precise to ten digits.
    """
    t, x, s, y = (np.ascontiguousarray(part, dtype=float).copy() for part in (t, x, s, y))
    for times, values in ((t, x), (s, y)):
        if times.ndim != 1 or times.shape != values.shape or len(times) == 0:
            raise SettingError(f"a polyline needs as many times as values: {times.shape} and {values.shape}")
        if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
            raise SettingError("a polyline has times or values that are not finite")
        if np.any(np.diff(times) < 0.0):
            k = int(np.argmax(np.diff(times) < 0.0))
            raise SettingError(f"the times of a polyline decrease after entry {k}: sort them")
    step = HAUSDORFF_ROUNDING * max(np.abs(part).max() for part in (t, x, s, y))
    queue, worst = np.zeros(max(len(t), len(s)), dtype=np.int64), np.zeros(HAUSDORFF.row * HAUSDORFF.stretches + 2)
    # without this much no window reaches the other span
    r = max(abs(t[0] - s[0]), abs(t[-1] - s[-1]))
    for a_t, a_x, b_t, b_x in ((t, x, s, y), (s, y, t, x)):
        for sign in (1.0, -1.0):
            above, below = sign * a_x, sign * b_x
            while ready(miss)(a_t, above, b_t, below, r, worst, queue) > max(step, HAUSDORFF.precision * r):
                r = max(ready(farthest)(worst, a_t, above, b_t, below), r + step)
    return float(r)


@unit(F(A, A, A, A, F, A, J), entry=True)
def miss(t, x, s, y, r, worst, queue):
    """Return by how much the graph (t, x) rises above r plus the largest of (s, y) in the window, 0 if it does not.

    On edges a miss counts with its length in time if that is less: a distance changes no faster. worst: for each
    stretch of the graph excess, time and value of its worst point, length and middle of its longest miss; last, begin
    and end of the present one. queue: room for one index per point of (s, y).
    """
    n, m = t.shape[0], s.shape[0]
    for k in range(worst.shape[0]):
        worst[k] = 0.0
    begin, end = 0, 0  # queue[begin:end]: points of the window that no later one tops
    enter, leave = 0, 0  # first point right of the window, first point not left of it
    now, i, most, run = t[0], 0, 0.0, head(tail(worst, HAUSDORFF.row * HAUSDORFF.stretches), 2)
    run[1] = -np.inf
    while True:
        while enter < m and s[enter] - r <= now:
            while end > begin and y[queue[end - 1]] <= y[enter]:
                end -= 1
            queue[end] = enter
            end += 1
            enter += 1
        # the window is closed: at an instant of the graph everything that touches it counts
        while i < n and t[i] <= now:
            top = y[queue[begin]] if end > begin else -np.inf
            if 0 < enter < m and x[i] - r > top:
                top = larger(top, between(s, y, enter, now + r))
            if 0 < leave < m and x[i] - r > top:
                top = larger(top, between(s, y, leave, now - r))
            if x[i] - r > top:
                most = larger(most, x[i] - top - r)
                note(row_of(worst, i * HAUSDORFF.stretches // n, HAUSDORFF.row), x[i] - top - r, t[i], x[i])
            i += 1
        while leave < m and s[leave] + r <= now:
            if end > begin and queue[begin] == leave:
                begin += 1
            leave += 1
        if i >= n:
            return most
        until = t[i]
        if enter < m:
            until = smaller(until, s[enter] - r)
        if leave < m:
            until = smaller(until, s[leave] + r)
        top = y[queue[begin]] if end > begin else -np.inf
        if until > now and larger(x[i - 1], x[i]) - r > top:
            row = row_of(worst, i * HAUSDORFF.stretches // n, HAUSDORFF.row)
            begins, ends = between(t, x, i, now) - r, between(t, x, i, until) - r
            most = larger(most, piece(s, y, r, now, until, begins, ends, enter, leave, top, row, run))
        now = until


@unit(F(A, A, F, F, F, F, F, I, I, F, A, A))
def piece(s, y, r, now, until, begin, end, enter, leave, highest, row, run):
    """Note by how much an edge misses (s, y) between two times, while no point of s enters or leaves the window.

    The excess is the least of three lines, so that it is positive on one interval. Returns the miss.
    begin, end: value of the edge at both times, less r; enter, leave: points of s that come next at the two ends of the
    window, which is 2 r wide; highest: y of the points inside of it; row, run: as in `miss`
    """
    first, last, excess = 0.0, 1.0, np.inf  # first, last: shares of the piece
    for line in range(3):
        a, b = begin - highest, end - highest
        if line == 1:
            if not 0 < leave < s.shape[0]:
                continue
            a, b = begin - between(s, y, leave, now - r), end - between(s, y, leave, until - r)
        elif line == 2:
            if not 0 < enter < s.shape[0]:
                continue
            a, b = begin - between(s, y, enter, now + r), end - between(s, y, enter, until + r)
        if a <= 0.0 and b <= 0.0:
            return 0.0
        if a < 0.0:
            first = larger(first, a / (a - b))
        elif b < 0.0:
            last = smaller(last, a / (a - b))
        excess = smaller(excess, larger(a, b))
    if first >= last:
        return 0.0
    start, stop = now + first * (until - now), now + last * (until - now)
    if first > 0.0 or run[1] != now:
        run[0] = start
    run[1] = stop
    if stop - run[0] > row[3]:
        row[3], row[4] = stop - run[0], 0.5 * (run[0] + stop)
    return smaller(stop - run[0], excess)


@unit(I(A, F, F, F), small=True)
def note(row, excess, t, x):
    """Keep the point of a stretch that misses most."""
    if excess > row[0]:
        row[0], row[1], row[2] = excess, t, x
    return 0


@unit(F(A, A, I, F), small=True)
def between(t, x, k, time):
    """Return the value of a polyline at a time on the edge that ends at point k."""
    width = t[k] - t[k - 1]
    if width <= 0.0:
        return larger(x[k - 1], x[k])
    share = smaller(larger((time - t[k - 1]) / width, 0.0), 1.0)
    return x[k - 1] + share * (x[k] - x[k - 1])


@unit(F(F, F), small=True)
def crossing(begin, end):
    """Return where in [0, 1] a line from begin to end vanishes, 0 where it does not."""
    if begin < 0.0 < end or end < 0.0 < begin:
        share = begin / (begin - end)
        return share if 0.0 <= share <= 1.0 else 0.0
    return 0.0


@unit(F(A, A, A, A, A), entry=True)
def farthest(worst, t, x, s, y):
    """Return the largest distance of the points that `miss` noted on (t, x) to the polyline (s, y)."""
    most = 0.0
    for k in range(0, HAUSDORFF.row * HAUSDORFF.stretches, HAUSDORFF.row):
        if worst[k] > 0.0:
            most = larger(most, point_distance(worst[k + 1], worst[k + 2], s, y))
        if worst[k + 3] > 0.0:
            end = first_not_before(t, worst[k + 4])
            most = larger(most, point_distance(worst[k + 4], between(t, x, end, worst[k + 4]), s, y))
    return most


@unit(I(A, F), small=True)
def first_not_before(t, time):
    """Return the index of the first of increasing times that is not before a time."""
    low, high = 0, t.shape[0]
    while low < high:
        middle = (low + high) // 2
        if t[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@unit(F(F, F, A, A))
def point_distance(t, x, s, y):
    """Return the distance max(|t - s|, |x - y|) of a point to a polyline."""
    m = s.shape[0]
    low = first_not_before(s, t)
    best = np.inf
    for k in range(low, m):
        best = smaller(best, larger(abs(s[k] - t), abs(y[k] - x)))
        if k > 0:
            best = smaller(best, edge_distance(s[k - 1] - t, y[k - 1] - x, s[k] - t, y[k] - x))
        if s[k] - t >= best:
            break
    for k in range(low - 1, -1, -1):
        best = smaller(best, larger(abs(s[k] - t), abs(y[k] - x)))
        if k > 0:
            best = smaller(best, edge_distance(s[k - 1] - t, y[k - 1] - x, s[k] - t, y[k] - x))
        if t - s[k] >= best:
            break
    return best


@unit(F(F, F, F, F), small=True)
def edge_distance(s0, y0, s1, y1):
    """Return the largest coordinate of the point of an edge that is nearest to the origin in this sense."""
    best = smaller(larger(abs(s0), abs(y0)), larger(abs(s1), abs(y1)))
    # inside, the nearest point lies where one coordinate vanishes or both are equal in size
    for candidate in range(4):
        begin, end = s0, s1
        if candidate == 1:
            begin, end = y0, y1
        elif candidate == 2:
            begin, end = s0 - y0, s1 - y1
        elif candidate == 3:
            begin, end = s0 + y0, s1 + y1
        share = crossing(begin, end)
        best = smaller(best, larger(abs(s0 + share * (s1 - s0)), abs(y0 + share * (y1 - y0))))
    return best
