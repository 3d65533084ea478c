"""Derivatives by central differences, for functions that cannot be traced. Slower, and good to about 1e-9.

The units that take a function are inlined, so that it is called by name: a pointer to it could not be cached.
"""

from __future__ import annotations

from saltus.compile.seam import larger, unit
from saltus.compile.types import FORCE, RATE, A, F, I
from saltus.compile.views import vec

STEP = 6e-6  # cube root of the rounding unit: balances truncation and rounding of a central difference
LONG_STEP = 2.4e-4  # for a difference of differences


def scratch_size(nq: int, nv: int, rows: int) -> int:
    """Return the floats that the units of this file need."""
    return 6 * nq + 6 * nv + 8 * rows + rows * nv + 2 * nv * nv


@unit(F(A))
def length(q):
    """Return the size of a state that a step of the differences is measured by."""
    size = 1.0
    for i in range(q.shape[0]):
        size = larger(size, abs(q[i]))
    return size


@unit(I(FORCE, A, RATE, A, F, A, F, I, A, A, A), inline="always")
def along(function, par, rate, rate_par, t, q, s, j, v, out, scratch):
    """Write function(t, q + s B e_j, v)."""
    nq, nv = q.shape[0], v.shape[0]
    unit_v, column, moved = vec(scratch, 0, nv), vec(scratch, nv, nq), vec(scratch, nv + nq, nq)
    for i in range(nv):
        unit_v[i] = 0.0
    unit_v[j] = 1.0
    rate(q, unit_v, rate_par, column)
    for i in range(nq):
        moved[i] = q[i] + s * column[i]
    return function(t, moved, v, par, out)


@unit(I(FORCE, A, RATE, A, F, A, A, I, A, A, A), inline="always")
def difference_rows(function, par, rate, rate_par, t, q, v, n, W, w, scratch):
    """Write W (n dense rows) and w = dg/dt of a function of (t, q)."""
    nq, nv = q.shape[0], v.shape[0]
    plus, minus, rest = vec(scratch, 0, n), vec(scratch, n, n), vec(scratch, 2 * n, nv + 2 * nq)
    s = STEP * length(q)
    for j in range(nv):
        along(function, par, rate, rate_par, t, q, s, j, v, plus, rest)
        along(function, par, rate, rate_par, t, q, -s, j, v, minus, rest)
        for i in range(n):
            W[i * nv + j] = (plus[i] - minus[i]) / (2.0 * s)
    s = STEP * larger(1.0, abs(t))
    function(t + s, q, v, par, plus)
    function(t - s, q, v, par, minus)
    for i in range(n):
        w[i] = (plus[i] - minus[i]) / (2.0 * s)
    return 0


@unit(I(FORCE, A, F, A, I, I, A, A, A), inline="always")
def affine_rows(function, par, t, q, nv, n, W, w, scratch):
    """Write W and w of a slip u = W^T v + w: exact, because it is affine in v."""
    u, unit_v = vec(scratch, 0, n), vec(scratch, n, nv)
    for j in range(nv):
        unit_v[j] = 0.0
    function(t, q, unit_v, par, w)
    for j in range(nv):
        unit_v[j] = 1.0
        function(t, q, unit_v, par, u)
        unit_v[j] = 0.0
        for i in range(n):
            W[i * nv + j] = u[i] - w[i]
    return 0


@unit(I(FORCE, A, RATE, A, I, F, A, A, I, A, A), inline="always")
def difference_curvature(function, par, rate, rate_par, slip, t, q, v, n, out, scratch):
    """Write zeta: how u = W^T v + w changes along the motion at fixed v (slip = 1: the function is u itself)."""
    nq, nv = q.shape[0], v.shape[0]
    q_dot, q_at, w, W = (
        vec(scratch, 0, nq),
        vec(scratch, nq, nq),
        vec(scratch, 2 * nq, n),
        vec(scratch, 2 * nq + n, n * nv),
    )
    at = 2 * nq + n + n * nv
    rest = vec(scratch, at, scratch.shape[0] - at)
    rate(q, v, rate_par, q_dot)
    s = LONG_STEP * length(q) / length(q_dot)
    for i in range(n):
        out[i] = 0.0
    for k in range(2):
        sign = 1.0 - 2.0 * k
        for i in range(nq):
            q_at[i] = q[i] + sign * s * q_dot[i]
        if slip == 1:
            function(t + sign * s, q_at, v, par, w)
        else:
            difference_rows(function, par, rate, rate_par, t + sign * s, q_at, v, n, W, w, rest)
            for i in range(n):
                for j in range(nv):
                    w[i] += W[i * nv + j] * v[j]
        for i in range(n):
            out[i] += sign * w[i] / (2.0 * s)
    return 0


@unit(I(FORCE, A, RATE, A, F, A, A, A, A, A), inline="always")
def difference_jacobian(function, par, rate, rate_par, t, q, v, out_q, out_v, scratch):
    """Write (df/dq) B and df/dv as full matrices in profile storage."""
    nq, nv = q.shape[0], v.shape[0]
    plus, minus, v_at = vec(scratch, 0, nv), vec(scratch, nv, nv), vec(scratch, 2 * nv, nv)
    dense_q, dense_v = vec(scratch, 3 * nv, nv * nv), vec(scratch, 3 * nv + nv * nv, nv * nv)
    rest = vec(scratch, 3 * nv + 2 * nv * nv, nv + 2 * nq)
    for j in range(nv):
        s = STEP * length(q)
        along(function, par, rate, rate_par, t, q, s, j, v, plus, rest)
        along(function, par, rate, rate_par, t, q, -s, j, v, minus, rest)
        for i in range(nv):
            dense_q[i * nv + j] = (plus[i] - minus[i]) / (2.0 * s)
        s = STEP * length(v)
        for i in range(nv):
            v_at[i] = v[i]
        v_at[j] = v[j] + s
        function(t, q, v_at, par, plus)
        v_at[j] = v[j] - s
        function(t, q, v_at, par, minus)
        for i in range(nv):
            dense_v[i * nv + j] = (plus[i] - minus[i]) / (2.0 * s)
    pack_full(dense_q, nv, out_q)
    pack_full(dense_v, nv, out_v)
    return 0


@unit(I(A, I, A))
def pack_full(dense, nv, out):
    """Write a row-major full matrix in profile storage (see memory/profile.py; a full profile is not renumbered)."""
    lower, upper = nv, nv + (nv * (nv - 1)) // 2
    for i in range(nv):
        out[i] = dense[i * nv + i]
        for j in range(i):
            out[lower + (i * (i - 1)) // 2 + j] = dense[i * nv + j]
            out[upper + (i * (i - 1)) // 2 + j] = dense[j * nv + i]
    return 0
