"""Impacts by Poisson's law: compression by `react`, then the expansion, which gives back no more than was lost."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import handle, head, larger, mat, row_of, tail, unit, whole
from saltus.compile.types import CONTACTS, MODEL, REACT, SOLVER, A, B, Contacts, F, I
from saltus.compile.types import J as INTEGERS  # J is a matrix here
from saltus.compile.workspace import Numbers, Workspace
from saltus.contact.semismooth_newton import BLOCK, SEMISMOOTH, eliminate, scaled
from saltus.reaction.impacts.poisson import project as project_expansion
from saltus.reaction.impacts.poisson import solve as solve_expansion
from saltus.reaction.react import ASKED, REACTING, react, row_add
from saltus.status import Status


class _Expansion(NamedTuple):
    """Tuned numbers of this file."""

    approach: float = 1e-12  # share of the largest velocity: bodies that approach more slowly are at rest
    same: float = 1e-13  # share of the largest velocity: smaller differences are rounding
    expanded: float = 1e-12  # residual that the sweeps aim for
    accepted: float = 1e-8  # largest residual with which they may end
    most_sweeps: int = 20_000
    look: int = 10  # sweeps between two looks at the residual
    patience: int = 200  # exact sweeps in which the residual must at least halve
    first_sweeps: int = 40  # sweeps after which Newton's method takes over: they are slow where a corner rests
    newton_steps: int = 60  # most steps of Newton's method
    halvings: int = 12  # most halvings of one of its steps
    newton_target: float = 1e-14  # scaled error with which it ends
    enough: float = 1e-4  # relative decrease of the error that a step must bring
    former: float = 0.85  # weight of former errors in the mean that a step must go below
    most_rows: int = 300  # rows up to which Newton's method is tried: its time grows with their third power


EXPANSION = _Expansion()


# few: rows, at most EXPANSION.most_rows; unit_of, b, D: see `scaled`; P_s, P_new, low: scaled impulses and floors;
# error, step, J: of Newton's method
EXPANDING_AT_ONCE = Workspace(
    "ExpandingAtOnce", unit_of="few", b="few", P_s="few", P_new="few", error="few", step="few", low="nc", block=BLOCK,
    D="few * few", J="few * few",
)  # fmt: skip
# u_c: velocities at the end of the compression; floor: normal impulses that are given back at least; P_e, u_e:
# impulses and velocities of the expansion; y = X P_e; X_i: one row of X; D: 9 numbers per block; b_k, P_k: of one
# block; met.rows, blocks: of the contacts that take part, scale: largest of their velocities [m/s], frictional: 1 where
# one has friction, lost: energy that the compression takes [J]
EXPANDING = Workspace(
    "Expanding", u_c="nr", P_e="nr", u_e="nr", floor="nc", y="nv", X_i="nv", D="9 * nc", b_k="3", P_k="3",
    met=Numbers("rows blocks scale frictional lost"), at_once=EXPANDING_AT_ONCE,
)  # fmt: skip


@unit(REACT)
def react_poisson(model, solver, lu, directions, target, active, task, v, P, info, room):
    """Solve joints and active contacts like `react`, impacts by Poisson's law (reaction/impacts/poisson.py).

    The free velocity of a step contains what smooth forces did. It is brought to the end of the compression by `react`;
    the impulse that is given back e-fold is that of the impact alone, which begins with the velocities in the second
    half of target: a body at rest is not thrown up by its weight.
    info: the largest residual of all contact problems, sweeps.
    """
    layout = model.layout
    status = react(model, solver, lu, directions, target, active, task, v, P, info, room)
    if status != 0 or task != ASKED.impact:
        return status
    work = REACTING(room)
    own = EXPANDING(work.impact)
    met = own.met
    if find_impact(model, target, active, own) == 0:
        return 0

    # ---- the contact problem that `react` left
    n, nb = whole(met.rows), whole(met.blocks)
    contacts = handle(
        Contacts(
            layout.nv, head(work.blocks, 3 * nb), head(work.rows, 4 * n),
            head(tail(layout, layout.W_col), layout.nw), directions.contacts,
            head(tail(layout, layout.X_col), layout.nx), work.X, head(work.b, n), head(work.mu, nb),
        )
    )  # fmt: skip
    worst, sweeps = info[0], info[1]
    status = compress(model, solver, contacts, target, active, info, work, own)
    if status != 0:
        return status
    worst, sweeps = larger(worst, info[0]), sweeps + info[1]
    status = give_back(solver, contacts, info, work, own)
    if status != 0:
        return status
    info[0], info[1] = larger(worst, info[0]), sweeps + info[1]

    # ---- it gives back no more than was lost
    P_e, u_c, u_e = own.P_e, own.u_c, own.u_e
    first, second, share = 0.0, 0.0, 1.0
    for i in range(n):
        first += P_e[i] * u_c[i]
        second += 0.5 * P_e[i] * (u_e[i] - u_c[i])
    if first + second > met.lost * (1.0 + EXPANSION.approach):
        root = sqrt(first * first + 4.0 * second * met.lost)
        share = 2.0 * met.lost / (first + root) if first + root > 0.0 else 0.0
    nj, nr, origin = layout.nj, layout.nr, work.origin
    for i in range(n):
        P[origin[i]] += share * P_e[i]
        row_add(layout, work.X, origin[i], share * P_e[i], v)
        for j in range(nj):
            P[nr - nj + j] -= work.Z[j * n + i] * share * P_e[i]
    return 0


@unit(I(MODEL, A, INTEGERS, EXPANDING.kind), small=True)
def find_impact(model, target, active, own):
    """Write what is known of the contacts that take part, and return 1 where they approach each other.

    in      target: as `react` leaves it, velocities before the impact in its second half
    out     own.met: rows, blocks, scale, frictional
    """
    layout, met = model.layout, own.met
    nr, approach = layout.nr, 0.0
    met.rows, met.blocks, met.scale, met.frictional = 0.0, 0.0, 0.0, 0.0
    for c in range(layout.nc):
        if active[c] != 1:
            continue
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        approach = larger(approach, -target[nr + row])
        for r in range(row, end):
            met.scale = larger(met.scale, larger(abs(target[r]), abs(target[nr + r])))
        met.frictional = 1.0 if end - row > 1 else met.frictional
        met.rows += end - row
        met.blocks += 1.0
    return 0 if approach <= EXPANSION.approach * met.scale else 1


@unit(I(MODEL, SOLVER, CONTACTS, A, INTEGERS, A, REACTING.kind, EXPANDING.kind), small=True)
def compress(model, solver, contacts, target, active, info, work, own):
    """Solve the compression of the impact alone, and return the status.

    out     own: u_c; floor: e times the normal impulses; met.lost: energy that the compression takes [J];
            info: residual and sweeps, zero where the impact alone is what `react` has solved already
    """
    layout, b, P_active, u, origin = model.layout, contacts.b, work.P_active, work.u, work.origin
    n, nr, apart = b.shape[0], layout.nr, 0.0
    info[0], info[1] = 0.0, 0.0
    for i in range(n):
        own.u_c[i] = u[i]
        apart = larger(apart, abs(target[nr + origin[i]] - b[i]))
    if apart > EXPANSION.same * own.met.scale:
        for i in range(n):
            b[i], P_active[i] = target[nr + origin[i]], 0.0
        status = solve_again(solver, contacts, info, work)
        if status != 0:
            return status
    own.met.lost, k = 0.0, 0
    for i in range(n):
        own.met.lost -= 0.5 * P_active[i] * (b[i] + u[i])
    for c in range(layout.nc):
        if active[c] == 1:
            own.floor[k] = model.e[c] * P_active[contacts.blocks[3 * k + 1]]
            k += 1
    return 0


@unit(I(SOLVER, CONTACTS, A, REACTING.kind, EXPANDING.kind), small=True)
def give_back(solver, contacts, info, work, own):
    """Solve the expansion from the end of the compression on, and return the status.

    in      own: u_c, floor
    out     own: P_e, u_e: impulses and velocities of the expansion; info: residual, sweeps
    """
    b, P_active, P_e, u_e, u_c, blocks = contacts.b, work.P_active, own.P_e, own.u_e, own.u_c, contacts.blocks
    n, nb = b.shape[0], contacts.mu.shape[0]
    for i in range(n):
        b[i], P_e[i] = u_c[i], 0.0
    for k in range(nb):
        P_e[blocks[3 * k + 1]] = own.floor[k]
    if own.met.frictional == 1.0:
        return expand(contacts, own.floor, P_e, u_e, info, own)
    # without friction what is more than the floor obeys the ordinary law
    raised(contacts, P_e, u_e, own.y)
    for i in range(n):
        b[i], P_active[i] = u_e[i], 0.0
    status = solve_again(solver, contacts, info, work)
    if status != 0:
        return status
    for i in range(n):
        P_e[i] += P_active[i]
        b[i] = u_c[i]
    return raised(contacts, P_e, u_e, own.y)


@unit(I(SOLVER, CONTACTS, A, REACTING.kind), small=True)
def solve_again(solver, contacts, info, work):
    """Solve the contact problem with another b and return the status; info: residual, sweeps."""
    P, u = head(work.P_active, contacts.b.shape[0]), head(work.u, contacts.b.shape[0])
    status = solver.solve(contacts, solver.local, solver.cone, solver.settings, P, u, info, work.solver)
    if status == 0:
        info[0] = solver.residual(contacts, solver.cone, P, u, work.judging)
    return status


@unit(I(CONTACTS, A, A, A))
def raised(contacts, P, u, y):
    """Write u = W^T y + b with y = X P."""
    rows, n = contacts.rows, contacts.b.shape[0]
    for i in range(contacts.nv):
        y[i] = 0.0
    for i in range(n):
        for m in range(rows[4 * i + 2], rows[4 * i + 3]):
            y[contacts.X_col[m]] += P[i] * contacts.X[m]
    for i in range(n):
        u[i] = contacts.b[i]
        for m in range(rows[4 * i], rows[4 * i + 1]):
            u[i] += contacts.W[m] * y[contacts.W_col[m]]
    return 0


@unit(F(CONTACTS, A, B, A, A, A, B, BLOCK.kind))
def missed(contacts, b, D, floor, P, error, J, block):
    """Write P - p(P - rho u), where p raises normal impulses to their floors and clips friction; return its norm.

    The equations of contact/semismooth_newton.py for the set of the expansion, scaled as there.
    out     error; J: the derivative with D + SEMISMOOTH.singular I, unless empty
    """
    n, norm, x, p, G = P.shape[0], 0.0, block.x, block.p, block.G
    for k in range(contacts.mu.shape[0]):
        first, nr, trace, length = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2], 0.0, 0.0
        for r in range(nr):
            trace += D[first + r, first + r]
        rho = nr / trace if trace > 0.0 else 1.0
        for r in range(nr):
            u = b[first + r]
            for j in range(n):
                u += D[first + r, j] * P[j]
            error[first + r], x[r] = rho * u, P[first + r] - rho * u
            length += x[r] * x[r] if r > 0 else 0.0
            for c in range(3):
                G[3 * r + c] = 1.0 if r == c else 0.0
        p[0] = larger(x[0], floor[k])
        G[0] = 1.0 if p[0] == x[0] else 0.0
        length, radius = sqrt(length), contacts.mu[k] * p[0]
        slips = length >= radius
        for r in range(1, nr):
            s = x[r] / length if length > 0.0 else 0.0
            p[r] = radius * s if slips else x[r]
            for c in range(1, nr if slips else 0):
                G[3 * r + c] = radius * (G[3 * r + c] - s * x[c] / length) / length if length > 0.0 else 0.0
            G[3 * r] = contacts.mu[k] * s * G[0] if slips else 0.0
        for r in range(nr):
            error[first + r] -= p[r] - x[r]
            norm += error[first + r] * error[first + r]
            for j in range(n if J.shape[0] > 0 else 0):
                total = 0.0
                for c in range(nr):
                    total += G[3 * r + c] * D[first + c, j]
                J[first + r, j] = rho * total
            for c in range(nr if J.shape[0] > 0 else 0):
                J[first + r, first + c] += (1.0 if r == c else 0.0) - (1.0 - rho * SEMISMOOTH.singular) * G[3 * r + c]
    return sqrt(norm)


@unit(I(CONTACTS, A, A, A, EXPANDING_AT_ONCE.kind))
def expand_at_once(contacts, floor, P, X_j, work):
    """Improve the impulses of an expansion by Newton's method; they stay as they are where that does not help.

    Where there are too many rows, nothing is done.
    """
    n, nb = P.shape[0], contacts.mu.shape[0]
    if n > work.b.shape[0]:
        return 0
    unit_of, b, P_s, P_new, step = work.unit_of, work.b, head(work.P_s, n), head(work.P_new, n), head(work.step, n)
    error, low, block = work.error, work.low, work.block
    D, J, none = mat(work.D, 0, n, n), mat(work.J, 0, n, n), mat(work.J, 0, 0, 0)
    scaled(contacts, unit_of, b, D, X_j)
    for k in range(nb):
        low[k] = floor[k] / unit_of[contacts.blocks[3 * k + 1]]
    for i in range(n):
        P_s[i] = P[i] / unit_of[i]
    begin = missed(contacts, b, D, low, P_s, error, none, block)
    average, weight, norm = 0.0, 0.0, begin
    for _ in range(EXPANSION.newton_steps):
        norm, size = missed(contacts, b, D, low, P_s, step, J, block), 0.0
        for i in range(n):
            size += P_s[i] * P_s[i]
        if norm <= larger(EXPANSION.newton_target, SEMISMOOTH.rounding * sqrt(size)) or not norm < 1e300:
            break
        weight = EXPANSION.former * weight + 1.0
        average += (norm - average) / weight
        eliminate(J, step)
        share = 1.0
        for halving in range(EXPANSION.halvings):
            for i in range(n):
                P_new[i] = P_s[i] - share * step[i]
            norm = missed(contacts, b, D, low, P_new, error, none, block)
            if norm <= (1.0 - EXPANSION.enough * share) * average:
                break
            share = (
                0.5 * share if halving < EXPANSION.halvings - 2 else 1.0
            )  # at last in full: it leads out of a corner
        for i in range(n):
            P_s[i] = P_new[i]
    if not norm < begin:
        return 0
    for k in range(nb):
        first, nr = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2]
        for i in range(first, first + nr):
            P[i] = unit_of[i] * P_s[i]
        project_expansion(nr, contacts.mu[k], floor[k], head(tail(P, first), nr))
    return 1


@unit(I(CONTACTS, A, A, A, A, EXPANDING.kind))
def expand(contacts, floor, P, u, info, work):
    """Sweep over the contacts by the law of the expansion until its natural map is small (Gauss-Seidel).

    Newton's method takes over where the first sweeps are slow, and more sweeps where it does not help.
    in/out  P: start -> impulses of the expansion
    out     u: velocities after it; info: residual, sweeps
    """
    blocks, rows, W, X, b, mu = contacts.blocks, contacts.rows, contacts.W, contacts.X, contacts.b, contacts.mu
    nb, n, y, X_i, D, b_k, P_k = mu.shape[0], b.shape[0], work.y, work.X_i, work.D, work.b_k, work.P_k
    diagonal, length = blocks_of_D(contacts, D, X_i), 0.0
    raised(contacts, P, u, y)
    for i in range(n):
        length += larger(abs(u[i]), abs(b[i])) ** 2  # of the velocities that the floors alone bring
    rho, length = n / diagonal, sqrt(length)
    failed, still, exact, halved, before = 0, False, True, 0, 1e300
    for sweep in range(EXPANSION.most_sweeps + 1):
        if sweep == EXPANSION.first_sweeps:
            expand_at_once(contacts, floor, head(P, n), X_i, work.at_once)
        if sweep % EXPANSION.look == 0 or nb == 1 or still:
            raised(contacts, P, u, y)
            missing = natural_map(contacts, rho, floor, P, u, P_k)
            info[0], info[1] = missing / (rho * length) if length > 0.0 else missing, sweep
            if info[0] <= EXPANSION.expanded or still or sweep == EXPANSION.most_sweeps:
                break
            if info[0] <= 0.5 * before:
                before, halved = info[0], sweep
            exact = exact and sweep - halved <= EXPANSION.patience
        change, size, failed = 0.0, 0.0, 0
        for k in range(nb):
            first, nr, slip = blocks[3 * k + 1], blocks[3 * k + 2], 0.0
            for r in range(nr):
                b_k[r] = b[first + r]
                for m in range(rows[4 * (first + r)], rows[4 * (first + r) + 1]):
                    b_k[r] += W[m] * y[contacts.W_col[m]]
                slip += b_k[r] * b_k[r] if r > 0 else 0.0
            status = 0
            if exact:
                for r in range(nr):
                    for c in range(nr):
                        b_k[r] -= D[9 * k + 3 * r + c] * P[first + c]
                status = solve_expansion(nr, mu[k], floor[k], row_of(D, k, 9), b_k, P_k)
                failed = failed if status == 0 else status
            else:
                # exact solutions of single contacts may run in circles: steps of the natural map instead
                largest = row_sum(nr, row_of(D, k, 9))
                for r in range(nr):
                    P_k[r] = P[first + r] - (b_k[r] + (mu[k] * sqrt(slip) if r == 0 else 0.0)) / largest
                project_expansion(nr, mu[k], floor[k], P_k)
            for r in range(nr if status == 0 else 0):
                moved = P_k[r] - P[first + r]
                P[first + r] = P_k[r]
                for m in range(rows[4 * (first + r) + 2], rows[4 * (first + r) + 3]):
                    y[contacts.X_col[m]] += moved * X[m]
                change, size = larger(change, abs(moved)), larger(size, abs(P_k[r]))
        still = change <= 2e-16 * size
    if failed != 0:
        return failed
    return 0 if info[0] <= EXPANSION.accepted else Status.CONTACT_STALLED


@unit(F(I, A), small=True)
def row_sum(nr, D):
    """Return the largest sum of absolute values over the rows of a block: no eigenvalue is larger."""
    largest = 0.0
    for r in range(nr):
        total = 0.0
        for c in range(nr):
            total += abs(D[3 * r + c])
        largest = larger(largest, total)
    return largest


@unit(F(CONTACTS, A, A), small=True)
def blocks_of_D(contacts, D, X_i):
    """Write the diagonal blocks of D = W^T X, 9 numbers each, and return the sum of the diagonal; X_i: room."""
    blocks, rows, W, X, diagonal = contacts.blocks, contacts.rows, contacts.W, contacts.X, 0.0
    for i in range(contacts.nv):
        X_i[i] = 0.0
    for k in range(contacts.mu.shape[0]):
        first, nr = blocks[3 * k + 1], blocks[3 * k + 2]
        for c in range(nr):
            i = first + c
            for m in range(rows[4 * i + 2], rows[4 * i + 3]):
                X_i[contacts.X_col[m]] += X[m]
            for r in range(nr):
                total = 0.0
                for m in range(rows[4 * (first + r)], rows[4 * (first + r) + 1]):
                    total += W[m] * X_i[contacts.W_col[m]]
                D[9 * k + 3 * r + c] = total
            for m in range(rows[4 * i + 2], rows[4 * i + 3]):
                X_i[contacts.X_col[m]] = 0.0
            diagonal += D[9 * k + 4 * c]
    return diagonal


@unit(F(CONTACTS, F, A, A, A, A), small=True)
def natural_map(contacts, rho, floor, P, u, P_k):
    """Return the length of P - p(P - rho u_tilde), u_tilde: u with mu |u_T| added to u_N; P_k: room."""
    blocks, mu, total = contacts.blocks, contacts.mu, 0.0
    for k in range(mu.shape[0]):
        first, nr, slip = blocks[3 * k + 1], blocks[3 * k + 2], 0.0
        for r in range(1, nr):
            slip += u[first + r] * u[first + r]
        for r in range(nr):
            P_k[r] = P[first + r] - rho * (u[first + r] + (mu[k] * sqrt(slip) if r == 0 else 0.0))
        project_expansion(nr, mu[k], floor[k], P_k)
        for r in range(nr):
            total += (P[first + r] - P_k[r]) ** 2
    return sqrt(total)
