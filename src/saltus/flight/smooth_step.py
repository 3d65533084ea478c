"""One step of a smooth phase by a Runge-Kutta method, with its dense output at the nodes of a polynomial.

Explicit pairs, and Radau IIA of order 5 for stiff forces (Hairer, Wanner: Solving ODEs II, IV.8).
The state is (q, v) under a frozen index set; forces and powers are integrated with the same weights, so that impulse
and energy are as accurate as the motion.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np

from saltus.compile.seam import head, larger, row_of, smaller, tail, unit, whole
from saltus.compile.types import LAYOUT, MODEL, RECORD, STAGED, A, F, I, J
from saltus.compile.workspace import Workspace
from saltus.flight.frame import NODES_ROOM
from saltus.lasting.hold import REPORTED, accelerate
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import INTERVALS, STAGE_SETTINGS, STAGES_ROOM
from saltus.lasting.workspace import ACTING, ENDS, LASTING
from saltus.memory.full_matrix import factor_dense, solve_dense
from saltus.memory.layout import RATE_IDENTITY
from saltus.memory.vectors import copy
from saltus.reaction.react import row_add, row_dot
from saltus.tables.runge_kutta import rational, table
from saltus.tables.tableau import TAB, lagrange, lagrange_integrals, node_places


class _SmoothStep(NamedTuple):
    """Tuned numbers of this file."""

    # Radau IIA, three stages: the real eigenvalue of its matrix, and the weights of the embedded formula of order 3
    radau_gamma: float = (6.0 + 81.0 ** (1.0 / 3.0) - 9.0 ** (1.0 / 3.0)) / 30.0
    nodes: int = 8  # Lobatto points: polynomials of degree 7, that of the dense output


SMOOTH_STEP = _SmoothStep()

RADAU_1, RADAU_2, RADAU_3 = -(13.0 + 7.0 * sqrt(6.0)) / 3.0, (-13.0 + 7.0 * sqrt(6.0)) / 3.0, -1.0 / 3.0
LOCATED_IMPLICIT = ("radau5",)


class _PackedTable(NamedTuple):
    """Places at the head of a packed method."""

    stages: int = 0
    step_stages: int = 1
    error_order: int = 2
    head: int = 3


PACKED_TABLE = _PackedTable()


@functools.cache
def packed_pair(name: str) -> np.ndarray:
    """Return an explicit pair as kernels see it.

    Numbers: all stages, those of the step, order of the error estimate. Then per stage: node; matrix A; two error
    estimates; for every node of the polynomial the weights of the dense output and of its slope.
    """
    if name in LOCATED_IMPLICIT:
        return _packed_collocation(table(name))
    exact, rounded = rational(name), table(name)
    total = len(exact.c) + len(exact.c_extra)
    step = len(exact.c)
    c = np.concatenate([rounded.c, rounded.c_extra])
    A = np.zeros((total, total))
    A[:step, :step] = rounded.A
    A[step:] = rounded.A_extra
    errors = np.zeros((2, total))
    errors[: len(rounded.error), :step] = rounded.error[:2]
    weights, slopes = np.zeros((SMOOTH_STEP.nodes, total)), np.zeros((SMOOTH_STEP.nodes, total))
    for j, place in enumerate(node_places(SMOOTH_STEP.nodes - 1, "lobatto")):
        s = Fraction(float(place))
        for k in range(total):
            row = exact.dense[k]
            weights[j, k] = float(sum(x * s ** (i + 1) for i, x in enumerate(row)))
            slopes[j, k] = float(sum((i + 1) * x * s**i for i, x in enumerate(row)))
    return np.concatenate([[total, step, min(rounded.error_order[0], rounded.order) + 1], c, A.ravel(), errors.ravel(),
                           weights.ravel(), slopes.ravel()])  # fmt: skip


def _packed_collocation(method) -> np.ndarray:
    """Return Radau IIA in the same form.

    Its error estimate is that of `radau_error`; the weights here are those of the stages in it, for what is integrated
    without a feedback on itself (SMOOTH_STEP.radau_gamma is that of the start).
    """
    total, places = len(method.c), node_places(SMOOTH_STEP.nodes - 1, "lobatto")
    weights, slopes = lagrange_integrals(method.c, places), lagrange(method.c, places)
    numbers = [total, total, 4]
    errors = np.concatenate(
        [SMOOTH_STEP.radau_gamma * np.array([RADAU_1, RADAU_2, RADAU_3]) @ method.A, np.zeros(total)]
    )
    return np.concatenate([numbers, method.c, method.A.ravel(), errors, weights.ravel(), slopes.ravel()])


# stages of a step: rates of q, accelerations, forces and powers; state and row velocities of the last one
STEP_ROOM = Workspace(
    "SmoothStep", K_q="total * nq", K_v="total * nv", K_r="total * nr", K_p="total * width", q="nq", v="nv", u="nr"
)  # fmt: skip


@unit(I(MODEL, A, F, F, ENDS.kind, ACTING.kind, I, I, STEP_ROOM.kind, LASTING.kind, RECORD))
def stages_of_step(model, pair, t, h, ends, acting, begin, end, stages, room, record):
    """Evaluate the stages begin ... end - 1 of a step from q_0, v_0 (stage 0 is the state itself)."""
    layout = model.layout
    nq, nv, nr = layout.nq, layout.nv, layout.nr
    total, width = whole(pair[PACKED_TABLE.stages]), REPORTED.first_contact + layout.nc
    c, A_matrix = head(tail(pair, PACKED_TABLE.head), total), head(tail(pair, PACKED_TABLE.head + total), total * total)
    K_q, K_v, K_r, K_p = stages.K_q, stages.K_v, stages.K_r, stages.K_p
    q, v, q_0, v_0 = stages.q, stages.v, ends.q_0, ends.v_0
    if begin == 0:
        model.rate(q_0, v_0, model.par, row_of(K_q, 0, nq))
        copy(acting.a, row_of(K_v, 0, nv))
        copy(acting.r, row_of(K_r, 0, nr))
        copy(acting.powers, row_of(K_p, 0, width))
        begin = 1
    for k in range(begin, end):
        for i in range(nv):
            total_v = 0.0
            for j in range(k):
                total_v += A_matrix[k * total + j] * K_v[j * nv + i]
            v[i] = v_0[i] + h * total_v
        for i in range(nq):
            total_q = 0.0
            for j in range(k):
                total_q += A_matrix[k * total + j] * K_q[j * nq + i]
            q[i] = q_0[i] + h * total_q
        if (layout.features & RATE_IDENTITY) != 0:
            copy(v, row_of(K_q, k, nq))
        else:
            model.rate(q, v, model.par, row_of(K_q, k, nq))
        copy(acting.r, row_of(K_r, k, nr))
        status = accelerate(
            model, t + c[k] * h, q, v, ends.index, acting.direction, row_of(K_v, k, nv), row_of(K_r, k, nr), stages.u,
            row_of(K_p, k, width), room, record,
        )  # fmt: skip
        if status != 0:
            return status
    return 0


@unit(F(LAYOUT, LASTING.kind, I))
def row_mobility(layout, room, row):
    """Return the velocity of a held row that a unit impulse in it makes, at the state that `accelerate` saw last."""
    nv = layout.nv
    W, X, column = room.W, room.X, room.column
    for i in range(nv):
        column[i] = 0.0
    row_add(layout, X, row, 1.0, column)
    return abs(row_dot(layout, W, row, column))


@unit(F(F, F), small=True)
def combined(high, low):
    """Return the error of two estimates of order 5 and 3, combined to order 7 (Hairer, Norsett, Wanner II.10)."""
    if high == 0.0:
        return 0.0
    return high / sqrt(high + 0.01 * low) if low > 0.0 else sqrt(high)


@unit(F(MODEL, A, F, F, F, F, A, J, A, A, LASTING.kind))
def impulse_error(model, pair, h, start, rtol, atol, scales, index, r_0, forces, room):
    """Return the estimated error of the impulses of held contacts over the tolerance, mean square of their rows.

    A contact that sticks, or a body that rests, moves by nothing while its forces change: the motion alone would let
    steps pass over the time at which a force reaches its bound. Impulses are measured by the velocity that they would
    give to their own row, so that the tolerance of velocities holds for them, whatever the masses.

    in      start: weight of the forces r_0 at the beginning; scales: as for `step_error`, the smallest velocity counts;
            forces: those of the stages; room: what `accelerate` left
    """
    layout, total, step = model.layout, whole(pair[PACKED_TABLE.stages]), whole(pair[PACKED_TABLE.step_stages])
    nc, nr = layout.nc, layout.nr
    b = head(tail(pair, PACKED_TABLE.head + total + (step - 1) * total), step)  # the last stage is the end of the step
    errors = head(tail(pair, PACKED_TABLE.head + total + total * total), 2 * total)
    high, low, count = 0.0, 0.0, 0
    smallest = scales[layout.nq] if scales.shape[0] > 0 else 1.0
    for i in range(layout.nq, scales.shape[0]):
        smallest = smaller(smallest, scales[i])
    for c in range(nc):
        if index[c] != INDEX.slip and index[c] != INDEX.stick:
            continue
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        # friction of a contact that slips follows from its normal force
        for i in range(row, end if index[c] == INDEX.stick else row + 1):
            first, second, impulse = start * r_0[i], 0.0, 0.0
            for k in range(step):
                first += errors[k] * forces[k * nr + i]
                second += errors[total + k] * forces[k * nr + i]
                impulse += b[k] * forces[k * nr + i]
            mobility = h * row_mobility(layout, room, i)
            scale = atol * smallest + rtol * mobility * abs(impulse)
            high += (mobility * first / scale) ** 2
            low += (mobility * second / scale) ** 2
            count += 1
    return combined(high, low) / sqrt(count) if count > 0 else 0.0


@unit(F(MODEL, A, F, F, F, A, ENDS.kind, STEP_ROOM.kind, LASTING.kind))
def step_error(model, pair, h, rtol, atol, scales, ends, stages, room):
    """Return the estimated error of the step over the tolerance: of the motion, or of impulses where that is larger.

    scales: what atol is a share of, for q and v, or nothing for 1.
    Of the motion the mean square of all coordinates and velocities. The last stage of the step is at its end: its
    state is at the end of `stages`, and what `accelerate` left in `room` belongs to it.
    """
    layout = model.layout
    nq, nv = layout.nq, layout.nv
    total = whole(pair[PACKED_TABLE.stages])
    errors = head(tail(pair, PACKED_TABLE.head + total + total * total), 2 * total)
    high, low = 0.0, 0.0
    for i in range(nq + nv):
        first, second = 0.0, 0.0
        for k in range(total):
            slope = stages.K_q[k * nq + i] if i < nq else stages.K_v[k * nv + i - nq]
            first += errors[k] * slope
            second += errors[total + k] * slope
        start = ends.q_0[i] if i < nq else ends.v_0[i - nq]
        scale = atol * (scales[i] if scales.shape[0] > 0 else 1.0) + rtol * larger(
            abs(start), abs(stages.q[i] if i < nq else stages.v[i - nq])
        )
        high += (h * first / scale) ** 2
        low += (h * second / scale) ** 2
    forces = stages.K_r
    return larger(
        combined(high, low) / sqrt(nq + nv),
        impulse_error(model, pair, h, 0.0, rtol, atol, scales, ends.index, forces, forces, room),
    )


@unit(I(MODEL, A, F, ENDS.kind, STEP_ROOM.kind, NODES_ROOM.kind, A, A, A))
def dense_nodes(model, pair, h, ends, stages, nodes, r, sum_r, sum_p):
    """Write states, rates, accelerations and forces at the nodes of the polynomial, impulses and work of the step."""
    layout = model.layout
    nq, nv, nc, nr = layout.nq, layout.nv, layout.nc, layout.nr
    total, width = whole(pair[PACKED_TABLE.stages]), REPORTED.first_contact + nc
    at = PACKED_TABLE.head + 3 * total + total * total
    weights, slopes = (
        head(tail(pair, at), SMOOTH_STEP.nodes * total),
        head(tail(pair, at + SMOOTH_STEP.nodes * total), SMOOTH_STEP.nodes * total),
    )
    K_q, K_v, K_r, K_p = stages.K_q, stages.K_v, stages.K_r, stages.K_p
    Q, V, Q_dot, a, q_0, v_0 = nodes.Q, nodes.V, nodes.Q_dot, nodes.a, ends.q_0, ends.v_0
    for j in range(SMOOTH_STEP.nodes):
        for i in range(nq):
            value, slope = 0.0, 0.0
            for k in range(total):
                value += weights[j * total + k] * K_q[k * nq + i]
                slope += slopes[j * total + k] * K_q[k * nq + i]
            Q[j * nq + i], Q_dot[j * nq + i] = q_0[i] + h * value, slope
        for i in range(nv):
            value, slope = 0.0, 0.0
            for k in range(total):
                value += weights[j * total + k] * K_v[k * nv + i]
                slope += slopes[j * total + k] * K_v[k * nv + i]
            V[j * nv + i], a[j * nv + i] = v_0[i] + h * value, slope
        for i in range(nr):
            value, slope = 0.0, 0.0
            for k in range(total):
                value += weights[j * total + k] * K_r[k * nr + i]
                slope += slopes[j * total + k] * K_r[k * nr + i]
            sum_r[i], r[j * nr + i] = h * value, slope  # the last node is the end
    for i in range(width):
        value = 0.0
        for k in range(total):
            value += weights[(SMOOTH_STEP.nodes - 1) * total + k] * K_p[k * width + i]
        sum_p[i] = h * value
    return 0


@unit(
    I(
        MODEL, STAGED, A, A, F, F, ENDS.kind, ACTING.kind, STEP_ROOM.kind, STAGES_ROOM.kind, INTERVALS.kind, RECORD,
    )
)  # fmt: skip
def implicit_step(model, staged, settings, tab, t, h, ends, acting, stages, own, interval, record):
    """Solve the stages of an implicit step and write them as `stages_of_step` does.

    own: room for the stages of `solve_interval`
    """
    layout = model.layout
    nq, nv, nr, n = layout.nq, layout.nv, layout.nr, whole(tab[TAB.stages])
    width = REPORTED.first_contact + layout.nc
    for k in range(n):
        copy(acting.a, row_of(own.a, k, nv))
    # a first stage that is the state itself keeps its forces and powers
    copy(acting.r, row_of(own.R, 0, nr))
    copy(acting.powers, row_of(own.powers, 0, width))
    status = staged.interval(model, staged.reaction, settings, tab, t, h, ends, acting, own, interval, record)
    if status != 0:
        return status
    copy(own.Q_dot, head(stages.K_q, n * nq))
    copy(own.a, head(stages.K_v, n * nv))
    copy(own.R, head(stages.K_r, n * nr))
    copy(own.powers, head(stages.K_p, n * width))
    copy(row_of(own.Q, n - 1, nq), stages.q)
    copy(row_of(own.V, n - 1, nv), stages.v)
    return 0


@unit(F(MODEL, A, A, F, F, F, A, ENDS.kind, ACTING.kind, STAGES_ROOM.kind, INTERVALS.kind, J))
def radau_error(model, settings, pair, h, rtol, atol, scales, ends, acting, own, interval, pivots):
    """Return the error of an implicit step over the tolerance: the embedded formula, filtered against stiffness.

    That of impulses counts where it is larger; they act back on nothing and need no filter.
    """
    settings = STAGE_SETTINGS(settings)
    layout = model.layout
    nq, nv = layout.nq, layout.nv
    J_q, J_v, G, e_v = interval.J_q, interval.J_v, interval.G, row_of(interval.new, 0, nv)
    Q, V, q_0, v_0, a_0 = own.Q, own.V, ends.q_0, ends.v_0, acting.a
    gamma = SMOOTH_STEP.radau_gamma * h
    implicit = settings.newton == 1.0 and nq == nv
    for i in range(nv):
        z = RADAU_1 * (V[i] - v_0[i]) + RADAU_2 * (V[nv + i] - v_0[i]) + RADAU_3 * (V[2 * nv + i] - v_0[i])
        e_v[i] = SMOOTH_STEP.radau_gamma * (h * a_0[i] + z)
    total = 0.0
    if implicit:
        for i in range(nv):
            for j in range(nv):
                z = RADAU_1 * (Q[j] - q_0[j]) + RADAU_2 * (Q[nq + j] - q_0[j]) + RADAU_3 * (Q[2 * nq + j] - q_0[j])
                e_v[i] += gamma * J_q[i * nv + j] * SMOOTH_STEP.radau_gamma * (h * v_0[j] + z)
                G[i * nv + j] = (1.0 if i == j else 0.0) - gamma * (J_v[i * nv + j] + gamma * J_q[i * nv + j])
        if factor_dense(G, nv, pivots) != 0:
            return 1e10
        solve_dense(G, e_v, pivots)
    for i in range(nv):
        total += (e_v[i] / (atol * scales[nq + i] + rtol * larger(abs(v_0[i]), abs(V[2 * nv + i])))) ** 2
    if implicit:
        for i in range(nq):
            z = RADAU_1 * (Q[i] - q_0[i]) + RADAU_2 * (Q[nq + i] - q_0[i]) + RADAU_3 * (Q[2 * nq + i] - q_0[i])
            e_q = SMOOTH_STEP.radau_gamma * (h * v_0[i] + z) + gamma * e_v[i]
            total += (e_q / (atol * scales[i] + rtol * larger(abs(q_0[i]), abs(Q[2 * nq + i])))) ** 2
    return larger(
        sqrt(total / (nq + nv)),
        impulse_error(
            model, pair, h, SMOOTH_STEP.radau_gamma, rtol, atol, scales, ends.index, acting.r, own.R, interval.lasting
        ),
    )
