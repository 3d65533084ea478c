"""Hausdorff distance of filled-in graphs in [0, T] x R^n (Moreau 1978; Acary, Lecture 2, eqs. 44-47).

The metric is max(|t - s|, |x - y|) with Euclid's norm over all columns. Along an edge of one graph the distance to one
edge of the other is convex, so that its ends bound it: edges that cannot reach the largest distance found so far are
left out, the others are halved.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from saltus.compile.seam import head, larger, ready, row_of, smaller, tail, unit, whole
from saltus.compile.types import A, F, I
from saltus.errors import SettingError

PRECISION = 1e-10  # relative: of the distance
DEEPEST = 60  # halvings of one edge


def hausdorff_in_space(t, x, s, y) -> float:
    """Return the Hausdorff distance of two polylines (t, x) and (s, y), x and y with one column per coordinate.

    Times never decrease; equal times are segments of the filled-in graph. Precise to ten digits.
    """
    t, x, s, y = (np.ascontiguousarray(part, dtype=float) for part in (t, x, s, y))
    for times, values in ((t, x), (s, y)):
        if times.ndim != 1 or values.ndim != 2 or len(times) != len(values) or len(times) == 0:
            raise SettingError(f"a polyline needs a row of values per time: {times.shape} and {values.shape}")
        if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
            raise SettingError("a polyline has times or values that are not finite")
        if np.any(np.diff(times) < 0.0):
            raise SettingError(f"the times of a polyline decrease after entry {int(np.argmax(np.diff(times) < 0.0))}")
    if x.shape[1] != y.shape[1]:
        raise SettingError(f"the polylines have {x.shape[1]} and {y.shape[1]} columns: they must have the same")
    n, r = x.shape[1], 0.0
    room = np.empty(3 * n + 4 * DEEPEST + 8)
    for a_t, a_x, b_t, b_x in ((t, x, s, y), (s, y, t, x)):
        r = ready(excess)(a_t, a_x.ravel(), b_t, b_x.ravel(), r, room)
    return float(r)


@unit(F(A, A, A, A, F, A), entry=True)
def excess(t, x, s, y, known, room):
    """Return the largest distance of a point of (t, x) to (s, y), or `known` where that is larger.

    room: a point, the ends of a part of an edge, and a stack of parts still to be looked at
    """
    n = x.shape[0] // t.shape[0]
    point, begin, end = row_of(room, 0, n), row_of(room, 1, n), row_of(room, 2, n)
    stack, found = head(tail(room, 3 * n + 4), 4 * DEEPEST), head(tail(room, 3 * n), 2)
    best = known
    for i in range(t.shape[0]):
        near = nearest(t[i], row_of(x, i, n), s, y, found)
        best = larger(best, found[0])
        if i + 1 == t.shape[0]:
            break
        # the parts (a, b) of the edge i to i + 1, each with the edge of the other graph that is near to its beginning
        stack[0], stack[1], stack[2], count = 0.0, 1.0, near, 1
        while count > 0:
            count -= 1
            a, b, near = stack[4 * count], stack[4 * count + 1], whole(stack[4 * count + 2])
            t_a, t_b = along(t, x, i, n, a, begin), along(t, x, i, n, b, end)
            allowed = best * (1.0 + PRECISION) + 1e-300
            if ends(t_a, begin, t_b, end, s, y, near) <= allowed:
                continue
            middle = 0.5 * (a + b)
            t_m = along(t, x, i, n, middle, point)
            inside = nearest(t_m, point, s, y, found)
            best = larger(best, found[0])
            if ends(t_a, begin, t_b, end, s, y, inside) <= allowed or count + 2 >= DEEPEST or b - a < 1e-15:
                continue
            stack[4 * count], stack[4 * count + 1], stack[4 * count + 2] = a, middle, near
            stack[4 * count + 4], stack[4 * count + 5], stack[4 * count + 6] = middle, b, inside
            count += 2
    return best


@unit(F(A, A, I, I, F, A), small=True)
def along(t, x, i, n, share, point):
    """Write the place on the edge from point i to the next one and return its time."""
    for k in range(n):
        point[k] = x[i * n + k] + share * (x[(i + 1) * n + k] - x[i * n + k])
    return t[i] + share * (t[i + 1] - t[i])


@unit(F(F, A, F, A, A, A, I), small=True)
def ends(t_a, begin, t_b, end, s, y, edge):
    """Return the larger distance of two points to one edge: no point between them is farther from it."""
    return larger(edge_distance(t_a, begin, s, y, edge), edge_distance(t_b, end, s, y, edge))


@unit(I(F, A, A, A, A))
def nearest(t, x, s, y, found):
    """Return the edge of (s, y) that is nearest to a point, and write its distance to found[0]."""
    m, best, which = s.shape[0], np.inf, 0
    low, high = 0, m
    while low < high:
        half = (low + high) // 2
        if s[half] < t:
            low = half + 1
        else:
            high = half
    # edges to the right, then to the left, as long as time alone does not part them from the point
    for k in range(low - 1 if low > 0 else 0, m):
        if k > 0 and s[k] - t >= best:
            break
        one = edge_distance(t, x, s, y, k)
        if one < best:
            best, which = one, k
    for k in range(low - 2, -1, -1):
        if t - s[k + 1] >= best:
            break
        one = edge_distance(t, x, s, y, k)
        if one < best:
            best, which = one, k
    found[0] = best
    return which


@unit(F(F, A, A, A, I))
def edge_distance(t, x, s, y, k):
    """Return the distance of a point to the edge from point k of (s, y) to the next one, the last point for the last k.

    With p the place on the edge it is the least of max(|t - s(p)|, |x - y(p)|): at the least of one of them where that
    is the larger one, else where both are equal.
    """
    n, m = x.shape[0], s.shape[0]
    other = k + 1 if k + 1 < m else k
    a, b = s[k] - t, s[other] - s[k]
    cc, cd, dd = 0.0, 0.0, 0.0
    for i in range(n):
        c, d = y[k * n + i] - x[i], y[other * n + i] - y[k * n + i]
        cc, cd, dd = cc + c * c, cd + c * d, dd + d * d
    by_time = smaller(larger(-a / b, 0.0), 1.0) if b > 0.0 else 0.0
    by_space = smaller(larger(-cd / dd, 0.0), 1.0) if dd > 0.0 else by_time
    if b <= 0.0:
        by_time = by_space
    apart = larger(cc + by_space * (2.0 * cd + by_space * dd), 0.0)
    if apart >= (a + by_space * b) * (a + by_space * b):
        return sqrt(apart)
    apart = larger(cc + by_time * (2.0 * cd + by_time * dd), 0.0)
    if apart <= (a + by_time * b) * (a + by_time * b):
        return abs(a + by_time * b)
    # between both places |x - y|^2 - (t - s)^2 changes its sign once
    low, high = by_space, by_time
    for _ in range(60):
        half = 0.5 * (low + high)
        if cc + half * (2.0 * cd + half * dd) < (a + half * b) * (a + half * b):
            low = half
        else:
            high = half
    return abs(a + 0.5 * (low + high) * b)
