"""Accelerations under a frozen index set: closed contacts and joints are held, on acceleration level.

    M a = f + W r,   W_N^T a + zeta_N = 0 for closed contacts and joints, W_T^T a + zeta_T = 0 where a contact sticks,
    r_T = -mu r_N s where it slips in the direction s

Redundant rows are allowed: of all forces that hold them, lasting/split.py takes those that the laws admit.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import head, larger, smaller, tail, unit
from saltus.compile.types import LAYOUT, MODEL, RECORD, A, F, I, J
from saltus.lasting.force import find_force
from saltus.lasting.held_rows import factor_held, solve_held
from saltus.lasting.index_set import INDEX, WAY
from saltus.lasting.masses import factored_masses
from saltus.lasting.split import SPLIT_TUNED, admit
from saltus.lasting.workspace import LASTING
from saltus.memory.profile import solve, solve_row
from saltus.memory.vectors import clear, clear_marks
from saltus.reaction.react import row_add, row_dot, slide
from saltus.status import Status


class _Reported(NamedTuple):
    """What `accelerate` reports beside the motion, by place."""

    # what `accelerate` reports beside the motion: power of the forces and of moving constraints [W]; largest
    # acceleration and largest contact force [N] that the forces before reactions ask for, against which rounding is
    # judged; margin [N] by which forces that are not unique keep their laws, see lasting/split.py; then what each
    # contact dissipates [W]
    power: int = 0
    drive: int = 1
    unheld: int = 2
    load: int = 3
    margin: int = 4
    first_contact: int = 5


REPORTED = _Reported()


class _Holding(NamedTuple):
    """Tuned numbers of this file."""

    noise: float = 1e-12  # of the parts of a slip velocity: what is smaller has no direction
    rounding: float = 1e-13  # of the parts of a row velocity: what is slower is rounding
    balanced: float = 1e-15  # of an acceleration without reactions: what they leave of it is rounding
    # of the accelerations that unit forces of all rows give: what a split may change in unique ones, the root of
    # rounding
    moves: float = 1e-6
    # of the accelerations that rows ask for: what redundant ones may disagree by at a state that satisfies all of them
    disagreement: float = 1e-6
    turns: int = 3  # ways to turn signs of velocities around: every second one, every second pair, every second four


HOLDING = _Holding()


@unit(I(MODEL, F, A, A, J, A, A, A, A, A, LASTING.kind, RECORD))
def accelerate(model, t, q, v, index, direction, a, r, u, powers, work, record):
    """Write the acceleration a and the forces r of all rows under an index set.

    in      index: what every contact does; direction: see `slip_direction`
    out     a, r; u: W^T v + w of the rows that act; powers: see REPORTED.first_contact
    work    (kept for the caller) lu and, where something acts, W, w, zeta, X and the factors of the held rows
    """
    layout, held, shared = model.layout, work.held, work.shared
    status = accelerate_freely(model, t, q, v, a, powers, work, record)
    if status != 0:
        return status
    held.count, held.redundant, held.along, held.ambiguous, held.disagree = 0, 0, 0, 0, 0
    clear_marks(head(shared, layout.nc))
    if anything_acts(model, index) == 0:
        clear(head(r, layout.nr))
        return 0
    status = hold_rows(model, t, q, v, index, direction, r, u, work)
    if status != 0:
        return status
    asked = find_forces(model, index, a, r, powers, work)
    push_rows(model, r, a, work)
    left_over = 0.0
    for i in range(held.count if held.redundant > 0 else 0):
        row = work.rows[i]
        left_over = larger(left_over, work.scale[i] * abs(row_dot(layout, work.W, row, a) + work.zeta[row]))
    if left_over > HOLDING.disagreement * asked:
        asked = larger(asked, cancelled(model, t, q, v, work))
        held.disagree = 1 if left_over > HOLDING.disagreement * asked else 0
    return powers_of_forces(model, index, r, u, a, powers, work)


@unit(F(MODEL, F, A, A, LASTING.kind))
def cancelled(model, t, q, v, work):
    """Return the size of what cancels in the conditions of held rows: they ask for nothing, up to its rounding.

    Velocities with other signs show it: those of the state satisfy all rows, these do not.
    """
    layout, size, turned, zeta = model.layout, 0.0, work.column, head(work.target, model.layout.nr)
    for bit in range(HOLDING.turns):
        for i in range(layout.nv):
            turned[i] = -v[i] if i // 2**bit % 2 == 1 else v[i]
        model.curvature(t, q, turned, model.par, zeta)
        for i in range(work.held.count):
            size = larger(size, work.scale[i] * abs(zeta[work.rows[i]]))
    return size


@unit(I(MODEL, F, A, A, J, A, A, A, A, A, LASTING.kind, RECORD))
def accelerate_given(model, t, q, v, index, direction, a, r, u, powers, work, record):
    """Write the acceleration for forces r of the held rows that are given; see `accelerate`.

    work    the factors of the held rows of an earlier call stay in use
    """
    status = accelerate_freely(model, t, q, v, a, powers, work, record)
    if status != 0 or anything_acts(model, index) == 0:
        return status
    status = hold_rows(model, t, q, v, index, direction, r, u, work)
    if status != 0:
        return status
    push_rows(model, r, a, work)
    return powers_of_forces(model, index, r, u, a, powers, work)


@unit(I(MODEL, F, A, A, A, A, LASTING.kind, RECORD), small=True)
def accelerate_freely(model, t, q, v, a, powers, work, record):
    """Write the acceleration without reactions and the power of the forces; powers of contacts are zero.

    work    lu
    """
    layout, f = model.layout, work.f
    nv = layout.nv
    status = factored_masses(model, t, q, work)
    if status != 0:
        return status
    find_force(model, t, q, v, work, record)
    power = 0.0
    for i in range(nv):
        power += f[i] * v[i]
    (
        powers[REPORTED.power],
        powers[REPORTED.drive],
        powers[REPORTED.unheld],
        powers[REPORTED.load],
        powers[REPORTED.margin],
    ) = power, 0.0, 0.0, 0.0, 0.0
    solve(layout, work.lu, f, a, work.column)
    for i in range(nv):
        powers[REPORTED.unheld] = larger(powers[REPORTED.unheld], abs(a[i]))
    clear(head(tail(powers, REPORTED.first_contact), layout.nc))
    return 0


@unit(I(MODEL, J), small=True)
def anything_acts(model, index):
    """Return 1 where there are joints, or contacts that are held."""
    layout = model.layout
    acting = layout.nj > 0
    for c in range(layout.nc):
        acting = acting or index[c] == INDEX.slip or index[c] == INDEX.stick
    return 1 if acting else 0


@unit(I(MODEL, F, A, A, J, A, A, A, LASTING.kind))
def hold_rows(model, t, q, v, index, direction, r, u, work):
    """Write which rows are held, their velocities u and X = M^-1 W of them; forces r of all others become zero.

    A slip whose normal force would press its contact together has none: JAMMED, held.jam says which.
    """
    layout, par = model.layout, model.par
    nv, nc, nj, nr = layout.nv, layout.nc, layout.nj, layout.nr
    lu, W, X, column, w, slip, rows = work.lu, work.W, work.X, work.column, work.w, work.slip, work.rows
    model.kinematics(t, q, par, W, w)
    model.curvature(t, q, v, par, work.zeta)
    n = 0
    for c in range(nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if index[c] != INDEX.slip and index[c] != INDEX.stick:
            for i in range(row, end):
                r[i] = 0.0
            continue
        for i in range(row, end):
            u[i] = row_dot(layout, W, i, v) + w[i]
        if index[c] == INDEX.slip:
            floor = 0.0
            for i in range(row + 1, end):
                floor += HOLDING.noise * row_size(layout, W, i, v)
            slip_direction(layout, c, floor, u, direction, slip)
            slide(layout, lu, W, c, model.mu[c], slip, X, column)
            rows[n] = row
            n += 1
            for i in range(nv):
                column[i] = 0.0
            row_add(layout, X, row, 1.0, column)
            if not row_dot(layout, W, row, column) > 0.0:
                work.held.jam = c
                return Status.JAMMED
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
    work.held.count = n
    return 0


@unit(F(MODEL, J, A, A, A, LASTING.kind))
def find_forces(model, index, a, r, powers, work):
    """Write the forces r that hold the rows against the free acceleration a; return the largest scaled demand.

    out     powers: REPORTED.load, REPORTED.margin; work.held: redundant, ambiguous; work.shared
    """
    layout, held = model.layout, work.held
    nj, n = layout.nj, held.count
    W, X, column, zeta, b, x, scale = work.W, work.X, work.column, work.zeta, work.b, work.x, work.scale
    left, directions, rows, pivots, shared = work.left, work.directions, work.rows, work.pivots, work.shared
    held.redundant = factor_held(model, n, work)
    asked = 0.0
    for i in range(n):
        b[i] = -(row_dot(layout, W, rows[i], a) + zeta[rows[i]])
        asked = larger(asked, scale[i] * (row_size(layout, W, rows[i], a) + abs(zeta[rows[i]])))
    powers[REPORTED.load] = load_of(layout, W, zeta, index, scale, a)
    # redundant rows disagree by the drift of coordinates inside an interval: only `settle` looks at held.disagree
    solve_held(model, n, work)
    missing = held.redundant if held.along == 0 else 0  # along the graph contacts are independent
    if missing > 0 and n > nj:
        for m in range(missing):
            for k in range(n):
                directions[m * n + pivots[n + k]] = left[n + m * n + k]
        relaxed = SPLIT_TUNED.relaxed * powers[REPORTED.load]
        margin = admit(model, index, n, missing, directions, scale, x, relaxed, shared, work.split)
        powers[REPORTED.margin] = smaller(margin, powers[REPORTED.load])
        held.ambiguous = moves(layout, X, rows, n, missing, directions, scale, column, work.f)
        if nj == 0 and margin >= 0.0 and opens(layout, index, shared, b, scale, asked) == 1:
            held.ambiguous = 1
    for i in range(n):
        r[rows[i]] = x[i]
    return asked


@unit(I(MODEL, A, A, LASTING.kind), small=True)
def push_rows(model, r, a, work):
    """Add to a what the forces of the held rows do."""
    for i in range(model.layout.nv):
        work.f[i] = abs(a[i])  # of which what is left may be rounding
    for i in range(work.held.count):
        row_add(model.layout, work.X, work.rows[i], r[work.rows[i]], a)
    return 0


@unit(I(MODEL, J, A, A, A, A, LASTING.kind))
def powers_of_forces(model, index, r, u, a, powers, work):
    """Write friction of slips to r and what all rows do to powers; what is left of a by rounding alone is nothing."""
    layout, w, slip, f = model.layout, work.w, work.slip, work.f
    nj, nr = layout.nj, layout.nr
    for i in range(layout.nv):
        if abs(a[i]) <= HOLDING.balanced * f[i]:
            a[i] = 0.0  # over a long rest even rounding would move it
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        if index[c] == INDEX.slip:
            for i in range(row + 1, end):
                r[i] = -model.mu[c] * slip[i] * r[row]
        if index[c] == INDEX.slip or index[c] == INDEX.stick:
            for i in range(row, end):
                powers[REPORTED.drive] -= r[i] * w[i]
                powers[REPORTED.first_contact + c] -= r[i] * u[i]
    for i in range(nr - nj, nr):
        powers[REPORTED.drive] -= r[i] * w[i]
    return 0


@unit(F(LAYOUT, A, A, J, A, A))
def load_of(layout, W, zeta, index, scale, a):
    """Return the largest normal force that accelerations without reactions ask for [N]; a: these accelerations.

    Friction does not count: near a dead centre it would take any force to stop a slip.
    """
    load, place = 0.0, 0
    for c in range(layout.nc):
        if index[c] != INDEX.slip and index[c] != INDEX.stick:
            continue
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        load = larger(load, (row_size(layout, W, row, a) + abs(zeta[row])) * scale[place] * scale[place])
        place += end - row if index[c] == INDEX.stick else 1
    return load


@unit(I(LAYOUT, J, J, A, A, F))
def opens(layout, index, shared, b, scale, asked):
    """Return 1 where all contacts with forces that are not unique would open without them: a wedge that may jam."""
    place, anyone = 0, 0
    for c in range(layout.nc):
        if index[c] != INDEX.slip and index[c] != INDEX.stick:
            continue
        if shared[c] == 1:
            if not scale[place] * b[place] <= HOLDING.moves * asked:
                return 0
            anyone = 1 if scale[place] * b[place] < -HOLDING.moves * asked else anyone
        place += 1
        if index[c] == INDEX.stick:
            place += layout[layout.contact_row + c + 1] - layout[layout.contact_row + c] - 1
    return anyone


@unit(I(LAYOUT, A, J, I, I, A, A, A, A))
def moves(layout, X, rows, n, missing, directions, scale, change, size):
    """Return 1 where forces that hold the same contacts give different accelerations: friction of unequal splits."""
    nv = change.shape[0]
    for i in range(nv):
        size[i] = 0.0
    for k in range(n):
        for i in range(layout[layout.X_ptr + rows[k]], layout[layout.X_ptr + rows[k] + 1]):
            size[layout[layout.X_col + i]] += abs(scale[k] * X[i])
    for m in range(missing):
        for i in range(nv):
            change[i] = 0.0
        for k in range(n):
            row_add(layout, X, rows[k], directions[m * n + k] * scale[k], change)
        for i in range(nv):
            if abs(change[i]) > HOLDING.moves * size[i]:
                return 1
    return 0


@unit(F(LAYOUT, A, I, A))
def row_size(layout, W, row, v):
    """Return the sum of the sizes of what makes up (row of W) . v: rounding is measured by it."""
    total, columns = 0.0, layout.W_col
    for k in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
        total += abs(W[k] * v[layout[columns + k]])
    return total


@unit(F(F, LAYOUT, A, I, A))
def rest_speed(asked, layout, W, row, v):
    """Return the speed of a row below which it is at rest: what was asked for, or rounding of the motion."""
    return larger(asked, HOLDING.rounding * row_size(layout, W, row, v))


@unit(I(LAYOUT, I, F, A, A, A))
def slip_direction(layout, contact, floor, u, direction, slip):
    """Write the unit slip of a contact to the tangential places of its rows; below the floor a slip is rounding.

    In the plane the sign is frozen, so that the velocity passes smoothly through zero and its root can be found. In
    space the slip turns with the velocity as long as that has a part in the frozen direction, unless a third number
    of the contact (behind the directions of all, see WAY of lasting/index_set.py) says that it goes straight on.
    """
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    if end - row < 3:
        for i in range(row + 1, end):
            slip[i] = direction[2 * contact]
        return 0
    u_1, u_2, s_1, s_2 = u[row + 1], u[row + 2], direction[2 * contact], direction[2 * contact + 1]
    if u_1 * s_1 + u_2 * s_2 > floor and direction[2 * layout.nc + contact] == WAY.turning:
        length = sqrt(u_1 * u_1 + u_2 * u_2)
        s_1, s_2 = u_1 / length, u_2 / length
    slip[row + 1], slip[row + 2] = s_1, s_2
    return 0
