"""Slips that begin together where forces are not unique: their directions are found together with the split.

Contacts that begin to slip in space do so along their accelerations s = W_T^T a + zeta_T; these follow from the split
of the forces, and the split (lasting/split.py) from the directions of friction. A solution of the contact law for some
other split knows directions that do not fit. What is solved here is a = F(d), d = s / |s|, where F stands for the
accelerations of the split that belongs to friction in the directions -d. For fixed normal forces that is a convex
problem with one solution (friction dissipates as much as it can), so Newton's method with

    d sqrt(|s|^2 + e^2) = s

and an e that goes to zero finds it (the primal and dual form of Chan, Golub and Mulet 1999, which is not afraid of
small e). A contact around which a body turns has |d| < 1 in the limit: it sticks.

The start is the motion without friction and nothing depends on the order of the contacts.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import larger, smaller, unit
from saltus.compile.types import MODEL, RECORD, A, F, I, J
from saltus.lasting.held_rows import solve_held
from saltus.lasting.hold import REPORTED, accelerate
from saltus.lasting.index_set import INDEX, ROLE, WAY
from saltus.lasting.workspace import ACTING, LASTING
from saltus.memory.full_matrix import factor_dense, solve_dense
from saltus.memory.profile import solve
from saltus.reaction.react import row_add, row_dot


class _BeginTuned(NamedTuple):
    """Tuned numbers of this file."""

    nothing_begins: float = 1e-12  # of the accelerations before reactions: less than that moves nothing
    plane: int = 2  # numbers of a direction
    finest: float = 1e-12  # of the accelerations without friction: last e
    finer: float = 0.1  # from one e to the next
    settled: float = 0.3  # change of a direction after which e becomes smaller
    found_directions: float = 1e-9  # change of directions at the last e that ends the search
    # change of directions that ends the polishing; that it may end with
    fitting: float = 1e-13
    fitting_at_last: float = 1e-5
    # iterations
    most_searched: int = 80
    most_at_finest: int = 6
    most_polished: int = 12
    inside: float = 0.99  # of the way of friction to the border of its cone
    turns_around: float = 1.0 - 1e-3  # |d|: what is below at the last e sticks


BEGIN_TUNED = _BeginTuned()


@unit(I(MODEL, J, A, J, F, I), small=True)
def goes(model, index, direction, candidate, way, contact):
    """Return 1 for a rough contact that is held and whose direction is to be found.

    way: WAY.straight for those that begin to slip if they do; WAY.braking for those that slip to their end, by the
    third number of their direction. What must slip has the direction of its force and keeps it.
    """
    layout = model.layout
    rows = layout[layout.contact_row + contact + 1] - layout[layout.contact_row + contact]
    held = index[contact] == INDEX.slip or index[contact] == INDEX.stick
    asked = held and rows > 1 and direction[2 * layout.nc + contact] == way and candidate[contact] != ROLE.must_slip
    return 1 if asked and model.mu[contact] > 0.0 else 0


@unit(I(MODEL, J, A, J))
def begin_together(model, index, direction, candidate):
    """Return 1 where two contacts or more begin to slip in space: their directions need not be the same."""
    layout, count = model.layout, 0
    for c in range(layout.nc):
        rows = layout[layout.contact_row + c + 1] - layout[layout.contact_row + c]
        if (
            rows > BEGIN_TUNED.plane
            and index[c] == INDEX.slip
            and goes(model, index, direction, candidate, WAY.straight, c) == 1
        ):
            count += 1
    return 1 if count > 1 else 0


@unit(F(MODEL, I, F, A, A, LASTING.kind), small=True)
def start_of(model, contact, fine, y, s, work):
    """Write the slip acceleration s of a contact under the accelerations y; return sqrt(|s|^2 + fine^2)."""
    layout = model.layout
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    W, zeta = work.W, work.zeta
    square = fine * fine
    for i in range(row + 1, end):
        s[i - row - 1] = row_dot(layout, W, i, y) + zeta[i]
        square += s[i - row - 1] * s[i - row - 1]
    return sqrt(square)


@unit(I(MODEL, I, A, A, LASTING.kind, A))
def rub(model, contact, r, turned, work, f):
    """Add to f what friction of a contact changes by where its direction d changes by `turned`."""
    layout = model.layout
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    W, columns = work.W, layout.W_col
    for i in range(row + 1, end):
        force = -model.mu[contact] * r[row] * turned[i - row - 1]
        for k in range(layout[layout.W_ptr + i], layout[layout.W_ptr + i + 1]):
            f[layout[columns + k]] += W[k] * force
    return 0


@unit(I(MODEL, A, LASTING.kind))
def respond(model, f, work):
    """Replace forces f by the accelerations that they give under the rows held by the last `accelerate`."""
    layout = model.layout
    W, X, b, x, rows, held = work.W, work.X, work.b, work.x, work.rows, work.held.count
    solve(layout, work.lu, f, f, work.column)
    for i in range(held):
        b[i] = -row_dot(layout, W, rows[i], f)
    if held > 0:
        solve_held(model, held, work)
    for i in range(held):
        row_add(layout, X, rows[i], x[i], f)
    return 0


@unit(F(MODEL, J, A, J, F, F, A, A, A, LASTING.kind))
def improve(model, index, direction, candidate, way, fine, a, r, y, work):
    """Improve accelerations y and directions by one step of Newton's method; return how far directions turned.

    in      way: see `goes`; fine: e; a, r: accelerations and forces of the directions, as `accelerate` left them with
            work
    A negative value is returned where the step cannot be made.
    """
    nv, change, matrix, pivots = model.layout.nv, work.begin.change, work.begin.matrix, work.begin.pivots
    for j in range(nv + 1):
        # a column of the matrix, then the right-hand side
        if newton_column(model, j, index, direction, candidate, way, fine, r, y, work) != 0:
            return -1.0
        if j == nv:
            for i in range(nv):
                change[i] += a[i] - y[i]
        else:
            for i in range(nv):
                matrix[i * nv + j] = (1.0 if i == j else 0.0) - change[i]
    if factor_dense(matrix, nv, pivots) != 0:
        return -1.0
    solve_dense(matrix, change, pivots)
    most = turn_directions(model, index, direction, candidate, way, fine, y, work)
    for i in range(nv):
        y[i] += change[i]
    return most


@unit(I(MODEL, I, J, A, J, F, F, A, A, LASTING.kind))
def newton_column(model, j, index, direction, candidate, way, fine, r, y, work):
    """Write to work.begin.change what friction does when acceleration j grows by 1; with j = nv, the right-hand side.

    1 is returned where a slip has no direction at all.
    """
    layout, own = model.layout, work.begin
    nv, s, turned, change = layout.nv, own.s, own.turned, own.change
    for i in range(nv):
        change[i] = 0.0
    for c in range(layout.nc):
        if index[c] != INDEX.slip or goes(model, index, direction, candidate, way, c) == 0:
            continue
        rows = layout[layout.contact_row + c + 1] - layout[layout.contact_row + c] - 1
        eta = start_of(model, c, fine, y, s, work)
        if not eta > 0.0:
            return 1
        if j == nv:
            for i in range(rows):
                turned[i] = way * s[i] / eta - direction[2 * c + i]
        else:
            bend(model, c, j, way, eta, s, direction, turned, work)
        rub(model, c, r, turned, work, change)
    return respond(model, change, work)


@unit(F(MODEL, J, A, J, F, F, A, LASTING.kind))
def turn_directions(model, index, direction, candidate, way, fine, y, work):
    """Turn the directions as the step work.begin.change asks for, as far as the cones of friction let it.

    Return by how much the direction that turns most would turn in a whole step.
    """
    layout, own = model.layout, work.begin
    s, turned, change, W = own.s, own.turned, own.change, work.W
    share, most = 1.0, 0.0
    for task in range(2):
        for c in range(layout.nc):
            if index[c] != INDEX.slip or goes(model, index, direction, candidate, way, c) == 0:
                continue
            row = layout[layout.contact_row + c]
            rows = layout[layout.contact_row + c + 1] - row - 1
            eta = start_of(model, c, fine, y, s, work)
            along = 0.0
            for i in range(rows):
                turned[i] = row_dot(layout, W, row + 1 + i, change)
                along += s[i] * turned[i]
            square, mixed, here = 0.0, 0.0, 0.0
            for i in range(rows):
                d = direction[2 * c + i]
                turned[i] = (way * turned[i] - d * along / eta) / eta + way * s[i] / eta - d
                square, mixed, here = square + turned[i] * turned[i], mixed + d * turned[i], here + d * d
            if task == 1:
                for i in range(rows):
                    direction[2 * c + i] += share * turned[i]
                continue
            most = larger(most, sqrt(square))
            if here + 2.0 * mixed + square > 1.0:
                # where the step reaches the cone again; one that leads inwards from its edge crosses all of it
                room = larger(1.0 - here, 0.0)
                root = sqrt(mixed * mixed + square * room)
                reach = (root - mixed) / square if mixed < 0.0 else room / (mixed + root)
                share = smaller(share, BEGIN_TUNED.inside * reach)
    return most


@unit(I(MODEL, I, I, F, F, A, A, A, LASTING.kind))
def bend(model, contact, column, way, eta, s, direction, turned, work):
    """Write by how much a direction turns when one acceleration grows by 1."""
    layout = model.layout
    row = layout[layout.contact_row + contact]
    rows = layout[layout.contact_row + contact + 1] - row - 1
    W, columns, along = work.W, layout.W_col, 0.0
    for i in range(rows):
        turned[i] = 0.0
        for k in range(layout[layout.W_ptr + row + 1 + i], layout[layout.W_ptr + row + 2 + i]):
            if layout[columns + k] == column:
                turned[i] += W[k]
        along += s[i] * turned[i]
    for i in range(rows):
        turned[i] = (way * turned[i] - direction[2 * contact + i] * along / eta) / eta
    return 0


@unit(I(MODEL, F, A, A, I, J, J, ACTING.kind, LASTING.kind, RECORD))
def begin_slips(model, t, q, v, turning, index, candidate, acting, work, record):
    """Find which of the contacts that may begin to slip do so, and in which directions; 1 where that was possible.

    in      turning: whether a contact around which a body turns may stick
    in/out  index, acting.direction: see `goes`; the others stay as they are
    out     acting: as of `accelerate`
    """
    nc, kept_index, kept, direction = (
        model.layout.nc, work.begin.kept_index, work.begin.kept_direction, acting.direction
    )  # fmt: skip
    for c in range(nc):
        kept_index[c] = index[c]
        for i in range(BEGIN_TUNED.plane):
            kept[BEGIN_TUNED.plane * c + i] = direction[2 * c + i]
    found = search(model, t, q, v, turning, index, candidate, acting, work, record)
    if found == 1:
        return 1
    for c in range(nc):
        index[c] = kept_index[c]
        for i in range(BEGIN_TUNED.plane):
            direction[2 * c + i] = kept[BEGIN_TUNED.plane * c + i]
    return 0


@unit(I(MODEL, F, A, A, I, J, J, ACTING.kind, LASTING.kind, RECORD))
def search(model, t, q, v, turning, index, candidate, acting, work, record):
    """Do what `begin_slips` says, but leave index and direction as they are where it is not possible."""
    layout = model.layout
    nv, nc, s, y = layout.nv, layout.nc, work.begin.s, work.begin.y
    direction, a, r, u, powers = acting.direction, acting.a, acting.r, acting.u, acting.powers
    for c in range(nc):
        if goes(model, index, direction, candidate, WAY.straight, c) == 1:
            index[c], direction[2 * c], direction[2 * c + 1] = INDEX.slip, 0.0, 0.0
    fine, finest, last = 0.0, 0.0, 0
    for k in range(BEGIN_TUNED.most_searched):
        if accelerate(model, t, q, v, index, direction, a, r, u, powers, work, record) != 0:
            return 0
        if k == 0:
            for i in range(nv):
                y[i] = a[i]
            for c in range(nc):
                if goes(model, index, direction, candidate, WAY.straight, c) == 1:
                    fine = larger(fine, start_of(model, c, 0.0, y, s, work))
            if not fine > BEGIN_TUNED.nothing_begins * powers[REPORTED.unheld]:
                return 0
            finest = BEGIN_TUNED.finest * fine
        turned = improve(model, index, direction, candidate, WAY.straight, fine, a, r, y, work)
        if turned < 0.0 or not turned < 1e300:
            return 0
        if fine <= finest:
            last += 1
            if turned <= BEGIN_TUNED.found_directions or last == BEGIN_TUNED.most_at_finest:
                break
        if turned <= BEGIN_TUNED.settled:
            fine = larger(BEGIN_TUNED.finer * fine, finest)
    # what turns around a contact leaves it in its place
    for c in range(nc):
        if goes(model, index, direction, candidate, WAY.straight, c) == 0:
            continue
        length = sqrt(direction[2 * c] ** 2 + direction[2 * c + 1] ** 2)
        if length < BEGIN_TUNED.turns_around and turning == 1:
            index[c] = INDEX.stick
        for i in range(2):
            direction[2 * c + i] /= larger(length, 1e-300)
    return polish(model, t, q, v, WAY.straight, index, candidate, acting, work, record)


@unit(I(MODEL, F, A, A, J, J, ACTING.kind, LASTING.kind, RECORD))
def end_slips(model, t, q, v, index, candidate, acting, work, record):
    """Find the directions in which slips that are WAY.braking lead straight to their end; 1 where that was possible.

    Friction turns a slip that ends into the direction in which it brakes it along itself, s = -|s| d, the faster the
    slower it is. Where friction is much larger than what it brakes with, the least error of the direction would push
    the slip aside before it ends.

    in/out  acting.direction: with directions to begin with
    """
    y = work.begin.y
    if accelerate(
        model, t, q, v, index, acting.direction, acting.a, acting.r, acting.u, acting.powers, work, record
    ) != 0:  # fmt: skip
        return 0
    for i in range(model.layout.nv):
        y[i] = acting.a[i]
    return polish(model, t, q, v, WAY.braking, index, candidate, acting, work, record)


@unit(I(MODEL, F, A, A, F, J, J, ACTING.kind, LASTING.kind, RECORD))
def polish(model, t, q, v, way, index, candidate, acting, work, record):
    """Make directions and accelerations of a known index set fit to the last digits; 1 where that was possible.

    Friction lies on its cones now: Newton's method moves the accelerations, and the directions follow them.
    """
    layout = model.layout
    s, y, before = work.begin.s, work.begin.y, 1e300
    direction, a, r, u, powers = acting.direction, acting.a, acting.r, acting.u, acting.powers
    for k in range(BEGIN_TUNED.most_polished + 1):
        if accelerate(model, t, q, v, index, direction, a, r, u, powers, work, record) != 0:
            return 0
        # the last step of a search that has ended, or can no longer come nearer
        if k == BEGIN_TUNED.most_polished or before <= BEGIN_TUNED.fitting:
            break
        turned = improve(model, index, direction, candidate, way, 0.0, a, r, y, work)
        if not 0.0 <= turned < 1e300:
            return 0
        for c in range(layout.nc):
            if index[c] == INDEX.slip and goes(model, index, direction, candidate, way, c) == 1:
                length = start_of(model, c, 0.0, y, s, work)
                rows = layout[layout.contact_row + c + 1] - layout[layout.contact_row + c] - 1
                for i in range(rows):
                    direction[2 * c + i] = way * s[i] / larger(length, 1e-300)
        before = turned
    return 1 if before <= BEGIN_TUNED.fitting_at_last else 0
