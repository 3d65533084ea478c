"""Impacts by Poisson's law: compression by `react`, then the expansion, which gives back no more than was lost."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import handle, head, larger, mat, row_of, tail, unit
from saltus.compile.types import CONTACTS, REACT, A, B, Contacts, F, I
from saltus.compile.workspace import Workspace
from saltus.contact.semismooth_newton import BLOCK, SEMISMOOTH, eliminate, scaled
from saltus.reaction.impacts.poisson import project as project_expansion
from saltus.reaction.impacts.poisson import solve as solve_expansion
from saltus.reaction.react import ASKED, REACTING, react, row_add
from saltus.status import Status


class _Expansion(NamedTuple):
    """Tuned numbers of this file."""

    approach: float = 1e-12  # of the velocities: what comes nearer more slowly is at rest
    same: float = 1e-13  # of the velocities: differences that are rounding
    # residual that the sweeps aim for, and with which they may end
    expanded: float = 1e-12
    accepted: float = 1e-8
    # sweeps in all, and between two residuals
    most_sweeps: int = 20_000
    look: int = 10
    patience: int = 200  # exact sweeps in which the residual must at least halve
    first_sweeps: int = 40  # after which Newton's method takes over: a corner that rests makes sweeps slow
    # of Newton's method, and of one of its steps
    newton_steps: int = 60
    halvings: int = 12
    newton_target: float = 1e-14  # scaled error with which it ends
    # decrease that a step must bring, weight of former errors in their mean
    enough: float = 1e-4
    former: float = 0.85
    most_rows: int = 300  # for which Newton's method is tried: its time grows with their third power


EXPANSION = _Expansion()


# few: rows, as long as they are not too many; unit_of, b, D: see `scaled`; P_s, P_new, low: scaled impulses and floors;
# error, step, J: of Newton's method
EXPANDING_AT_ONCE = Workspace(
    "ExpandingAtOnce", unit_of="few", b="few", P_s="few", P_new="few", error="few", step="few", low="nc", block=BLOCK,
    D="few * few", J="few * few",
)  # fmt: skip
# u_c: velocities at the end of the compression; floor: normal impulses that are given back at least; P_e, u_e:
# impulses and velocities of the expansion; y = X P_e; X_i: one row of X; D: 9 numbers per block; b_k, P_k, step: of one
# block
EXPANDING = Workspace(
    "Expanding", u_c="nr", P_e="nr", u_e="nr", floor="nc", y="nv", X_i="nv", D="9 * nc", b_k="3", P_k="3", step="3",
    at_once=EXPANDING_AT_ONCE,
)  # fmt: skip


@unit(REACT)
def react_poisson(model, solver, lu, W, W_contact, W_joint, target, active, task, v, P, info, room):
    """Solve joints and active contacts like `react`, impacts by Poisson's law (reaction/impacts/poisson.py).

    The free velocity of a step contains what smooth forces did. It is brought to the end of the compression by `react`;
    the impulse that is given back e-fold is that of the impact alone, which begins with the velocities in the second
    half of target: a body at rest is not thrown up by its weight.
    info: the largest residual of all contact problems, sweeps.
    """
    layout = model.layout
    nv, nc, nj, nr = layout.nv, layout.nc, layout.nj, layout.nr
    status = react(model, solver, lu, W, W_contact, W_joint, target, active, task, v, P, info, room)
    if status != 0 or task != ASKED.impact:
        return status

    # ---- the tables that `react` left
    work = REACTING(room)
    X, Z, b, P_active, u = work.X, work.Z, work.b, work.P_active, work.u
    blocks, origin, own = work.blocks, work.origin, EXPANDING(work.impact)
    u_c, P_e, u_e, floor = own.u_c, own.P_e, own.u_e, own.floor
    n, nb, scale, approach = 0, 0, 0.0, 0.0
    frictional = False
    for c in range(nc):
        if active[c] != 1:
            continue
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        approach = larger(approach, -target[nr + row])
        for r in range(row, end):
            scale = larger(scale, larger(abs(target[r]), abs(target[nr + r])))
        frictional = frictional or end - row > 1
        n, nb = n + end - row, nb + 1
    if approach <= EXPANSION.approach * scale:
        return 0

    # ---- the compression of the impact alone
    apart = 0.0
    for i in range(n):
        u_c[i] = u[i]
        apart = larger(apart, abs(target[nr + origin[i]] - b[i]))
    contacts = handle(
        Contacts(
            nv, head(blocks, 3 * nb), head(work.rows, 4 * n), head(tail(layout, layout.W_col), layout.nw), W_contact,
            head(tail(layout, layout.X_col), layout.nx), X, head(b, n), head(work.mu, nb),
        )
    )  # fmt: skip
    P_solved, u_solved = head(P_active, n), head(u, n)
    worst, sweeps = info[0], info[1]
    if apart > EXPANSION.same * scale:
        for i in range(n):
            b[i], P_active[i] = target[nr + origin[i]], 0.0
        status = solver.solve(
            contacts, solver.local, solver.cone, solver.settings, P_solved, u_solved, info, work.solver
        )
        if status != 0:
            return status
        sweeps += info[1]
        worst = larger(worst, solver.residual(contacts, solver.cone, P_solved, u_solved, work.judging))
    lost, k = 0.0, 0
    for i in range(n):
        lost -= 0.5 * P_active[i] * (b[i] + u[i])
    for c in range(nc):
        if active[c] == 1:
            floor[k] = model.e[c] * P_active[blocks[3 * k + 1]]
            k += 1

    # ---- the expansion, from the end of the compression on
    for i in range(n):
        b[i], P_e[i] = u_c[i], 0.0
    for k in range(nb):
        P_e[blocks[3 * k + 1]] = floor[k]
    if frictional:
        status = expand(contacts, floor, P_e, u_e, info, own)
        if status != 0:
            return status
    else:
        # without friction what is more than the floor obeys the ordinary law
        raised(contacts, P_e, u_e, own.y)
        for i in range(n):
            b[i], P_active[i] = u_e[i], 0.0
        status = solver.solve(
            contacts, solver.local, solver.cone, solver.settings, P_solved, u_solved, info, work.solver
        )
        if status != 0:
            return status
        info[0] = solver.residual(contacts, solver.cone, P_solved, u_solved, work.judging)
        for i in range(n):
            P_e[i] += P_active[i]
            b[i] = u_c[i]
        raised(contacts, P_e, u_e, own.y)
    info[0], info[1] = larger(worst, info[0]), sweeps + info[1]

    # ---- it gives back no more than was lost
    first, second, share = 0.0, 0.0, 1.0
    for i in range(n):
        first += P_e[i] * u_c[i]
        second += 0.5 * P_e[i] * (u_e[i] - u_c[i])
    if first + second > lost * (1.0 + EXPANSION.approach):
        root = sqrt(first * first + 4.0 * second * lost)
        share = 2.0 * lost / (first + root) if first + root > 0.0 else 0.0
    for i in range(n):
        P[origin[i]] += share * P_e[i]
        row_add(layout, X, origin[i], share * P_e[i], v)
        for j in range(nj):
            P[nr - nj + j] -= Z[j * n + i] * share * P_e[i]
    return 0


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

    What sweeps do not solve soon, Newton's method does; what it does not, more of them.
    in/out  P: start -> impulses of the expansion
    out     u: velocities after it; info: residual, sweeps
    """
    blocks, rows, W, X, b, mu = contacts.blocks, contacts.rows, contacts.W, contacts.X, contacts.b, contacts.mu
    nv, nb, n = contacts.nv, mu.shape[0], b.shape[0]
    y, X_i, D, b_k, P_k, step = work.y, work.X_i, work.D, work.b_k, work.P_k, work.step
    for i in range(nv):
        X_i[i] = 0.0
    diagonal, length = 0.0, 0.0
    for k in range(nb):
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
            total = 0.0
            for k in range(nb):
                first, nr, slip = blocks[3 * k + 1], blocks[3 * k + 2], 0.0
                for r in range(1, nr):
                    slip += u[first + r] * u[first + r]
                for r in range(nr):
                    step[r] = rho * (u[first + r] + (mu[k] * sqrt(slip) if r == 0 else 0.0))
                    P_k[r] = P[first + r] - step[r]
                project_expansion(nr, mu[k], floor[k], P_k)
                for r in range(nr):
                    total += (P[first + r] - P_k[r]) ** 2
            info[0], info[1] = sqrt(total) / (rho * length) if length > 0.0 else sqrt(total), sweep
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
                largest = 0.0
                for r in range(nr):
                    total = 0.0
                    for c in range(nr):
                        total += abs(D[9 * k + 3 * r + c])
                    largest = larger(largest, total)
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
