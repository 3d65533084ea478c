"""Accelerations under a frozen index set: closed contacts and joints are held, on acceleration level.

    M a = f + W r,   W_N^T a + zeta_N = 0 for closed contacts and joints, W_T^T a + zeta_T = 0 where a contact sticks,
    r_T = -mu r_N s where it slips in the direction s

Redundant rows are allowed: the accelerations are unique, and of the forces the shortest (scaled by rows) are taken.
"""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import ivec, larger, unit, vec
from saltus.compile.types import MODEL, RECORD, A, F, I, J
from saltus.events.index_set import SLIP, STICK
from saltus.layout import CONTACT_ROW, FLAGS, LAW_FLOATS, M_CONSTANT, NC, NJ, NR, NV, NW, NX, SIZE
from saltus.profile import factor, solve, solve_row
from saltus.reaction import row_add, row_dot, slide
from saltus.record import FORCE_CALLS
from saltus.status import Status

CONTRADICT = int(Status.JOINTS_CONTRADICT)
JAMMED = int(Status.JAMMED)
POWERS = 2  # power of the forces and of moving constraints; then what each contact dissipates [W]

# places in the integers of `hold`: number of held rows, whether they are redundant, the contact that jammed
COUNT, REDUNDANT, JAM, HOLD_INTEGERS = range(4)


def hold_work(layout) -> int:
    """Return the floats that `accelerate` needs."""
    nv, nr = int(layout[NV]), int(layout[NR])
    return 1 + int(layout[SIZE]) + int(layout[NW]) + int(layout[NX]) + 2 * nv + 7 * nr + 2 * nr * nr


def hold_iwork(layout) -> int:
    """Return the integers that `accelerate` needs."""
    return HOLD_INTEGERS + 2 * int(layout[NR])


@unit(I(J, A, A, J, I, A, A, A, A, J))
def factor_rows(layout, W, X, rows, n, D, lu, scale, column, pivots):
    """Write D = W^T X over the held rows and its scaled LU factors; return 1 when the rows are redundant, else 0.

    Redundant: shifted factors, with which `solve_rows` iterates towards the shortest solution.
    """
    nv = column.shape[0]
    for j in range(n):
        for i in range(nv):
            column[i] = 0.0
        row_add(layout, X, rows[j], 1.0, column)
        for i in range(n):
            D[i * n + j] = row_dot(layout, W, rows[i], column)
    for i in range(n):
        scale[i] = 1.0 / sqrt(abs(D[i * n + i])) if D[i * n + i] != 0.0 else 1.0
    for shifted in range(2):
        for i in range(n):
            for j in range(n):
                lu[i * n + j] = scale[i] * D[i * n + j] * scale[j]
            lu[i * n + i] += 1e-6 * shifted
        smallest = 1e300
        for k in range(n):
            best = k
            for i in range(k + 1, n):
                if abs(lu[i * n + k]) > abs(lu[best * n + k]):
                    best = i
            pivots[k] = best
            if best != k:
                for j in range(n):
                    lu[k * n + j], lu[best * n + j] = lu[best * n + j], lu[k * n + j]
            pivot = lu[k * n + k]
            smallest = abs(pivot) if abs(pivot) < smallest else smallest
            if abs(pivot) <= 1e-11:
                break
            for i in range(k + 1, n):
                lu[i * n + k] /= pivot
                for j in range(k + 1, n):
                    lu[i * n + j] -= lu[i * n + k] * lu[k * n + j]
        if smallest > 1e-11:
            return shifted
    return 1


@unit(I(I, A, A, A, J, I, A, A, A))
def solve_rows(n, D, lu, scale, pivots, redundant, b, x, left):
    """Solve D x = b with the factors of `factor_rows`; CONTRADICT when redundant rows ask for different things."""
    for i in range(n):
        x[i] = 0.0
        left[i] = b[i]
    for _ in range(4 if redundant == 1 else 1):
        for i in range(n):
            left[i] *= scale[i]
        for k in range(n):
            p = pivots[k]
            left[k], left[p] = left[p], left[k]
            for i in range(k + 1, n):
                left[i] -= lu[i * n + k] * left[k]
        for k in range(n - 1, -1, -1):
            for j in range(k + 1, n):
                left[k] -= lu[k * n + j] * left[j]
            left[k] /= lu[k * n + k]
        for i in range(n):
            x[i] += scale[i] * left[i]
        if redundant == 1:
            for i in range(n):
                left[i] = b[i]
                for j in range(n):
                    left[i] -= D[i * n + j] * x[j]
    if redundant == 1:
        size, worst = 0.0, 0.0
        for i in range(n):
            size, worst = larger(size, abs(scale[i] * b[i])), larger(worst, abs(scale[i] * left[i]))
        if worst > 1e-8 * size:
            return CONTRADICT
    return 0


@unit(I(MODEL, F, A, A, J, A, I, A, A, A, A, A, J, RECORD))
def accelerate(model, t, q, v, index, direction, given, a, r, u, powers, work, iwork, record):
    """Write the acceleration a and the forces r of all rows; with `given` = 1 the forces are taken as they come.

    in      index: what every contact does; direction: see `slip_direction`
    out     a, r; u: W^T v + w of the rows that act; powers: see POWERS
    work    (kept for the caller) lu and, where something acts, W, w, zeta, X and the factors of the held rows
    """
    layout, par = model.layout, model.par
    nv, nc, nj, nr = layout[NV], layout[NC], layout[NJ], layout[NR]
    size, nw, nx = layout[SIZE], layout[NW], layout[NX]
    lu, W, X = vec(work, 1, size), vec(work, 1 + size, nw), vec(work, 1 + size + nw, nx)
    at = 1 + size + nw + nx
    f, column = vec(work, at, nv), vec(work, at + nv, nv)
    at += 2 * nv
    w, zeta, b, x = vec(work, at, nr), vec(work, at + nr, nr), vec(work, at + 2 * nr, nr), vec(work, at + 3 * nr, nr)
    left, scale, slip = vec(work, at + 4 * nr, nr), vec(work, at + 5 * nr, nr), vec(work, at + 6 * nr, nr)
    at += 7 * nr
    D, lu_D = vec(work, at, nr * nr), vec(work, at + nr * nr, nr * nr)
    rows, pivots = ivec(iwork, HOLD_INTEGERS, nr), ivec(iwork, HOLD_INTEGERS + nr, nr)

    # ---- free motion
    if work[0] == 0.0 or (layout[FLAGS] & M_CONSTANT) == 0:
        model.mass(t, q, par, lu)
        status = factor(layout, lu)
        if status != 0:
            return status
        work[0] = 1.0
    model.force(t, q, v, par, f)
    record.counters[FORCE_CALLS] += 1
    power = 0.0
    for i in range(nv):
        power += f[i] * v[i]
    powers[0], powers[1] = power, 0.0
    solve(layout, lu, f, a, column)
    acting = nj > 0
    for c in range(nc):
        acting = acting or index[c] == SLIP or index[c] == STICK
        powers[POWERS + c] = 0.0
    if given == 0:  # else the factors of an earlier call stay in use
        iwork[COUNT], iwork[REDUNDANT] = 0, 0
    if not acting:
        if given == 0:
            for i in range(nr):
                r[i] = 0.0
        return 0

    # ---- rows that are held
    model.kinematics(t, q, par, W, w)
    model.curvature(t, q, v, par, zeta)
    n = 0
    for c in range(nc):
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        if index[c] != SLIP and index[c] != STICK:
            for i in range(row, end):
                r[i] = 0.0
            continue
        for i in range(row, end):
            u[i] = row_dot(layout, W, i, v) + w[i]
        if index[c] == SLIP:
            slip_direction(layout, c, u, direction, slip)
            slide(layout, lu, W, c, model.constants[LAW_FLOATS * c + 1], slip, X, column)
            rows[n] = row
            n += 1
            moved = 0.0
            for i in range(nv):
                column[i] = 0.0
            row_add(layout, X, row, 1.0, column)
            moved = row_dot(layout, W, row, column)
            if not moved > 0.0:
                iwork[JAM] = c
                return JAMMED
        else:
            for i in range(row, end):
                solve_row(layout, lu, W, i, X, column)
                rows[n] = i
                n += 1
    for i in range(nr - nj, nr):
        solve_row(layout, lu, W, i, X, column)
        u[i] = row_dot(layout, W, i, v) + w[i]
        rows[n] = i
        n += 1
    iwork[COUNT] = n

    # ---- forces
    if given == 0:
        iwork[REDUNDANT] = factor_rows(layout, W, X, rows, n, D, lu_D, scale, column, pivots)
        for i in range(n):
            b[i] = -(row_dot(layout, W, rows[i], a) + zeta[rows[i]])
        status = solve_rows(n, D, lu_D, scale, pivots, iwork[REDUNDANT], b, x, left)
        if status != 0:
            return status
        for i in range(n):
            r[rows[i]] = x[i]
    for i in range(n):
        row_add(layout, X, rows[i], r[rows[i]], a)
    for c in range(nc):
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        if index[c] == SLIP:
            for i in range(row + 1, end):
                r[i] = -model.constants[LAW_FLOATS * c + 1] * slip[i] * r[row]
        if index[c] == SLIP or index[c] == STICK:
            for i in range(row, end):
                powers[1] -= r[i] * w[i]
                powers[POWERS + c] -= r[i] * u[i]
    for i in range(nr - nj, nr):
        powers[1] -= r[i] * w[i]
    return 0


@unit(I(J, I, A, A, A))
def slip_direction(layout, contact, u, direction, slip):
    """Write the unit slip of a contact to the tangential places of its rows.

    In the plane the sign is frozen, so that the velocity passes smoothly through zero and its root can be found. In
    space the slip turns with the velocity as long as that has a part in the frozen direction, unless a third number
    of the contact (behind the directions of all) says that it goes straight on.
    """
    row, end = layout[layout[CONTACT_ROW] + contact], layout[layout[CONTACT_ROW] + contact + 1]
    if end - row < 3:
        for i in range(row + 1, end):
            slip[i] = direction[2 * contact]
        return 0
    u_1, u_2, s_1, s_2 = u[row + 1], u[row + 2], direction[2 * contact], direction[2 * contact + 1]
    if u_1 * s_1 + u_2 * s_2 > 0.0 and direction[2 * layout[NC] + contact] == 0.0:
        length = sqrt(u_1 * u_1 + u_2 * u_2)
        s_1, s_2 = u_1 / length, u_2 / length
    slip[row + 1], slip[row + 2] = s_1, s_2
    return 0
