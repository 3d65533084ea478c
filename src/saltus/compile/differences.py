"""Derivatives by central differences, for functions that cannot be traced. Slower, and good to about 1e-9.

These units may allocate: they serve only the slow path.
"""

from __future__ import annotations

import numpy as np

from saltus.compile.seam import unit
from saltus.compile.types import FORCE, RATE, A, F, I

STEP = 6e-6  # cube root of the rounding unit: balances truncation and rounding of a central difference


@unit(F(A))
def length(q):
    """Return the size of a state that a step of the differences is measured by."""
    size = 1.0
    for i in range(q.shape[0]):
        size = max(size, abs(q[i]))
    return size


@unit(I(FORCE, A, RATE, A, F, A, A, I, A, A))
def difference_rows(function, par, rate, rate_par, t, q, v, n, W, w):
    """Write W (n dense rows) and w = dg/dt of a function of (t, q)."""
    nv = v.shape[0]
    column, plus, minus, q_at, unit_v = np.empty(q.shape[0]), np.empty(n), np.empty(n), np.empty(q.shape[0]), np.zeros(nv)
    s = STEP * length(q)
    for j in range(nv):
        unit_v[j] = 1.0
        rate(q, unit_v, rate_par, column)
        unit_v[j] = 0.0
        q_at[:] = q + s * column
        function(t, q_at, v, par, plus)
        q_at[:] = q - s * column
        function(t, q_at, v, par, minus)
        for i in range(n):
            W[i * nv + j] = (plus[i] - minus[i]) / (2.0 * s)
    s = STEP * max(1.0, abs(t))
    function(t + s, q, v, par, plus)
    function(t - s, q, v, par, minus)
    for i in range(n):
        w[i] = (plus[i] - minus[i]) / (2.0 * s)
    return 0


@unit(I(FORCE, A, F, A, I, I, A, A))
def affine_rows(function, par, t, q, nv, n, W, w):
    """Write W and w of a slip u = W^T v + w: exact, because it is affine in v."""
    u, unit_v = np.empty(n), np.zeros(nv)
    function(t, q, unit_v, par, w)
    for j in range(nv):
        unit_v[j] = 1.0
        function(t, q, unit_v, par, u)
        unit_v[j] = 0.0
        for i in range(n):
            W[i * nv + j] = u[i] - w[i]
    return 0


@unit(I(FORCE, A, RATE, A, I, F, A, A, I, A))
def difference_curvature(function, par, rate, rate_par, slip, t, q, v, n, out):
    """Write zeta: how u = W^T v + w changes along the motion at fixed v (slip = 1: the function is u itself)."""
    nv = v.shape[0]
    q_dot, W, w, u = np.empty(q.shape[0]), np.empty(n * nv), np.empty(n), np.empty(2 * n)
    rate(q, v, rate_par, q_dot)
    s = 40.0 * STEP * length(q) / max(1.0, length(q_dot))
    for k in range(2):
        sign = 1.0 - 2.0 * k
        q_at, t_at = q + sign * s * q_dot, t + sign * s
        if slip == 1:
            function(t_at, q_at, v, par, w)
            u[k * n : (k + 1) * n] = w
        else:
            difference_rows(function, par, rate, rate_par, t_at, q_at, v, n, W, w)
            for i in range(n):
                u[k * n + i] = w[i]
                for j in range(nv):
                    u[k * n + i] += W[i * nv + j] * v[j]
    for i in range(n):
        out[i] = (u[i] - u[n + i]) / (2.0 * s)
    return 0


@unit(I(FORCE, A, RATE, A, F, A, A, A, A))
def difference_jacobian(function, par, rate, rate_par, t, q, v, out_q, out_v):
    """Write (df/dq) B and df/dv as full matrices in profile storage."""
    nv = v.shape[0]
    column, plus, minus, q_at, v_at = np.empty(q.shape[0]), np.empty(nv), np.empty(nv), np.empty(q.shape[0]), np.zeros(nv)
    dense_q, dense_v = np.empty(nv * nv), np.empty(nv * nv)
    for j in range(nv):
        v_at[:] = 0.0
        v_at[j] = 1.0
        rate(q, v_at, rate_par, column)
        s = STEP * length(q)
        q_at[:] = q + s * column
        function(t, q_at, v, par, plus)
        q_at[:] = q - s * column
        function(t, q_at, v, par, minus)
        for i in range(nv):
            dense_q[i * nv + j] = (plus[i] - minus[i]) / (2.0 * s)
        s = STEP * length(v)
        v_at[:] = v
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
    """Write a row-major full matrix in profile storage (see profile.py; a full profile is not renumbered)."""
    lower, upper = nv, nv + (nv * (nv - 1)) // 2
    for i in range(nv):
        out[i] = dense[i * nv + i]
        for j in range(i):
            out[lower + (i * (i - 1)) // 2 + j] = dense[i * nv + j]
            out[upper + (i * (i - 1)) // 2 + j] = dense[j * nv + i]
    return 0
