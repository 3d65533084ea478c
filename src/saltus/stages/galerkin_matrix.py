"""The matrix of the stage equations of HpTDG: Jacobians at a state, factored once per interval."""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import ivec, larger, unit, vec, whole
from saltus.compile.types import MODEL, RECORD, A, F, I, J
from saltus.events.index_set import SLIP, STICK
from saltus.layout import (
    FLAGS,
    J_CONSTANT,
    M_CONSTANT,
    NC,
    NJ,
    NV,
    NW,
    NX,
    RATE_IDENTITY,
    SIZE,
)
from saltus.profile import multiply, solve
from saltus.stages import frame as frames
from saltus.stages.frame import FOUND, part, remembered
from saltus.stages.full_matrix import factor_dense
from saltus.stages.galerkin_numbers import (
    FACTORED_FOR,
    FACTORED_H,
    J_KNOWN,
    J_Q,
    J_V,
    JACOBIAN_WORK,
    MATRIX,
    NUMBERS,
    RATE,
    SCRATCH,
    STIFF,
    own,
    table_of,
)
from saltus.stages.interval import HOLD_AT, LARGEST, assemble, jacobians
from saltus.stages.tableau import END, FIRST

MASS_STEP = 1e-6  # of central differences of the mass matrix


@unit(I(MODEL, A, F, A, A, A, A, J, RECORD))
def renew(model, settings, t, q, v, a, frame, iwork, record):
    """Take the Jacobians at a state with its acceleration, unless they are known and constant."""
    layout, numbers = model.layout, own(settings, frame, NUMBERS)
    nv, nc, inner = layout[NV], layout[NC], part(settings, frame, frames.INNER)
    constant = (layout[FLAGS] & J_CONSTANT) != 0 and (layout[FLAGS] & M_CONSTANT) != 0
    acting = layout[NJ] > 0
    for k in range(nc):
        acting = acting or iwork[k] == SLIP or iwork[k] == STICK
    if numbers[J_KNOWN] == 1.0 and constant and not acting:
        return 0
    at = whole(settings[HOLD_AT])
    room = vec(inner, at, inner.shape[0] - at)
    at = frames.I_VECTORS * nc + FOUND + whole(settings[LARGEST]) * (nv + nc) + nc
    iroom = ivec(iwork, at, iwork.shape[0] - at)
    status = jacobians(
        model, t, q, v, ivec(iwork, 0, nc), remembered(settings, frame, frames.DIRECTION), own(settings, frame, J_Q),
        own(settings, frame, J_V), own(settings, frame, SCRATCH), own(settings, frame, JACOBIAN_WORK), room, iroom,
        record,
    )  # fmt: skip
    numbers[J_KNOWN], numbers[FACTORED_H] = 1.0 if status == 0 else 0.0, 0.0
    J_q, J_v = own(settings, frame, J_Q), own(settings, frame, J_V)
    if status == 0 and not acting and (layout[FLAGS] & M_CONSTANT) == 0 and (layout[FLAGS] & RATE_IDENTITY) != 0:
        mass_turns(model, t, q, a, room, part(settings, frame, frames.MASS), own(settings, frame, SCRATCH), J_q)
    stiffness, damping = 0.0, 0.0
    for i in range(nv):
        row_q, row_v = 0.0, 0.0
        for j in range(nv):
            row_q += abs(J_q[i * nv + j])
            row_v += abs(J_v[i * nv + j])
        stiffness, damping = larger(stiffness, row_q), larger(damping, row_v)
    numbers[RATE] = larger(damping, sqrt(stiffness))
    return status


@unit(I(MODEL, F, A, A, A, A, A, A))
def mass_turns(model, t, q, a, hold, M, change, J_q):
    """Subtract M^-1 (dM/dq_j) a from the columns of J_q: what the same force does less where M is larger."""
    layout = model.layout
    nv, lu = layout[NV], vec(hold, 1, layout[SIZE])
    column = vec(hold, 1 + layout[SIZE] + layout[NW] + layout[NX], nv)
    for j in range(nv):
        kept, step = q[j], MASS_STEP * larger(1.0, abs(q[j]))
        for i in range(nv):
            change[i] = 0.0
        for side in range(2):
            q[j] = kept + (step if side == 0 else -step)
            model.mass(t, q, model.par, M)
            for i in range(nv):
                column[i] = a[i] if side == 0 else -a[i]
            multiply(layout, M, column, change)
        q[j] = kept
        solve(layout, lu, change, change, column)
        for i in range(nv):
            J_q[i * nv + j] -= change[i] / (2.0 * step)
    return 0


@unit(I(A, I, I, F, A, J))
def factor_stages(settings, degree, nv, h, frame, pivots):
    """Factor the matrix of the stage equations for the known Jacobians, unless that was just done."""
    numbers, G = own(settings, frame, NUMBERS), own(settings, frame, MATRIX)
    stiff = whole(numbers[STIFF])
    if numbers[FACTORED_H] == h and numbers[FACTORED_FOR] == 2.0 * degree + stiff:
        return 0
    tab = table_of(settings, degree, stiff)
    first, end = whole(tab[FIRST]), whole(tab[END])
    m = (end - first) * nv
    assemble(tab, h, first, end, nv, own(settings, frame, J_Q), own(settings, frame, J_V), 0, G)
    status = factor_dense(vec(G, 0, m * m), m, pivots)
    numbers[FACTORED_H], numbers[FACTORED_FOR] = h if status == 0 else 0.0, 2.0 * degree + stiff
    return status
