"""Impacts by Poisson's law: compression by `react`, then the expansion, which gives back no more than was lost."""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import handle, ivec, larger, mat, unit, vec
from saltus.compile.types import CONTACTS, REACT, A, B, Contacts, F, I
from saltus.contact.semismooth_newton import ROUNDING, SINGULAR, eliminate, scaled
from saltus.laws.poisson import project as project_expansion
from saltus.laws.poisson import solve as solve_expansion
from saltus.layout import CONTACT_ROW, LAW_FLOATS, NC, NJ, NR, NV, NW, NX, W_COL, X_COL
from saltus.reaction import EXPANSION_VECTORS, IMPACT, react, row_add
from saltus.status import Status

CONTACT_STALLED = int(Status.CONTACT_STALLED)
APPROACH = 1e-12  # of the velocities: what comes nearer more slowly is at rest
SAME = 1e-13  # of the velocities: differences that are rounding
EXPANDED, ACCEPTED = 1e-12, 1e-8  # residual that the sweeps aim for, and with which they may end
MOST_SWEEPS, LOOK = 20_000, 10  # sweeps in all, and between two residuals
PATIENCE = 200  # exact sweeps in which the residual must at least halve
FIRST_SWEEPS = 40  # after which Newton's method takes over: a corner that rests makes sweeps slow
NEWTON_STEPS, HALVINGS = 60, 12  # of Newton's method, and of one of its steps
NEWTON_TARGET = 1e-14  # scaled error with which it ends
ENOUGH, FORMER = 1e-4, 0.85  # decrease that a step must bring, weight of former errors in their mean


@unit(REACT)
def react_poisson(model, solver, lu, W, W_contact, W_joint, target, active, task, v, P, info, work, iwork):
    """Solve joints and active contacts like `react`, impacts by Poisson's law (laws/poisson.py).

    The free velocity of a step contains what smooth forces did. It is brought to the end of the compression by `react`;
    the impulse that is given back e-fold is that of the impact alone, which begins with the velocities in the second
    half of target: a body at rest is not thrown up by its weight.
    info: the largest residual of all contact problems, sweeps.
    """
    layout = model.layout
    nv, nc, nj, nr = layout[NV], layout[NC], layout[NJ], layout[NR]
    size = EXPANSION_VECTORS * nr + 10 * nc + 2 * nv + 9
    own, inner = vec(work, work.shape[0] - size, size), vec(work, 0, work.shape[0] - size)
    status = react(model, solver, lu, W, W_contact, W_joint, target, active, task, v, P, info, inner, iwork)
    if status != 0 or task != IMPACT:
        return status

    # ---- the tables that `react` left
    X, at = vec(inner, 0, layout[NX]), layout[NX]
    b, P_active, u, mu = (
        vec(inner, at, nr),
        vec(inner, at + nr, nr),
        vec(inner, at + 2 * nr, nr),
        vec(inner, at + 3 * nr, nc),
    )
    at += 3 * nr + nc
    blocks, rows, origin = ivec(iwork, 0, 3 * nc), ivec(iwork, 3 * nc, 4 * nr), ivec(iwork, 3 * nc + 4 * nr, nr)
    u_c, P_e, u_e, sweep_work = (
        vec(own, 0, nr),
        vec(own, nr, nr),
        vec(own, 2 * nr, nr),
        vec(own, 4 * nr, size - 4 * nr),
    )
    floor, n, nb, scale, approach = vec(own, 3 * nr, nc), 0, 0, 0.0, 0.0
    frictional = False
    for c in range(nc):
        if active[c] != 1:
            continue
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        approach = larger(approach, -target[nr + row])
        for r in range(row, end):
            scale = larger(scale, larger(abs(target[r]), abs(target[nr + r])))
        frictional = frictional or end - row > 1
        n, nb = n + end - row, nb + 1
    if approach <= APPROACH * scale:
        return 0

    # ---- the compression of the impact alone
    apart = 0.0
    for i in range(n):
        u_c[i] = u[i]
        apart = larger(apart, abs(target[nr + origin[i]] - b[i]))
    Z = vec(inner, at, nj * n)
    at += nj * nr
    room = vec(inner, at, inner.shape[0] - at)
    used = 3 * nc + 5 * nr
    iroom = ivec(iwork, used, iwork.shape[0] - used)
    contacts = handle(
        Contacts(
            nv,
            ivec(blocks, 0, 3 * nb),
            ivec(rows, 0, 4 * n),
            ivec(layout, layout[W_COL], layout[NW]),
            W_contact,
            ivec(layout, layout[X_COL], layout[NX]),
            X,
            vec(b, 0, n),
            vec(mu, 0, nb),
        )
    )
    worst, sweeps = info[0], info[1]
    if apart > SAME * scale:
        for i in range(n):
            b[i], P_active[i] = target[nr + origin[i]], 0.0
        status = solver.solve(
            contacts, solver.local, solver.cone, solver.settings, vec(P_active, 0, n), vec(u, 0, n), info, room, iroom
        )
        if status != 0:
            return status
        sweeps += info[1]
        worst = larger(worst, solver.residual(contacts, solver.cone, vec(P_active, 0, n), vec(u, 0, n), room))
    lost, k = 0.0, 0
    for i in range(n):
        lost -= 0.5 * P_active[i] * (b[i] + u[i])
    for c in range(nc):
        if active[c] == 1:
            floor[k] = model.constants[LAW_FLOATS * c] * P_active[blocks[3 * k + 1]]
            k += 1

    # ---- the expansion, from the end of the compression on
    for i in range(n):
        b[i], P_e[i] = u_c[i], 0.0
    for k in range(nb):
        P_e[blocks[3 * k + 1]] = floor[k]
    if frictional:
        status = expand(contacts, floor, P_e, u_e, info, sweep_work, room)
        if status != 0:
            return status
    else:
        # without friction what is more than the floor obeys the ordinary law
        raised(contacts, P_e, u_e, sweep_work)
        for i in range(n):
            b[i], P_active[i] = u_e[i], 0.0
        status = solver.solve(
            contacts, solver.local, solver.cone, solver.settings, vec(P_active, 0, n), vec(u, 0, n), info, room, iroom
        )
        if status != 0:
            return status
        info[0] = solver.residual(contacts, solver.cone, vec(P_active, 0, n), vec(u, 0, n), room)
        for i in range(n):
            P_e[i] += P_active[i]
            b[i] = u_c[i]
        raised(contacts, P_e, u_e, sweep_work)
    info[0], info[1] = larger(worst, info[0]), sweeps + info[1]

    # ---- it gives back no more than was lost
    first, second, share = 0.0, 0.0, 1.0
    for i in range(n):
        first += P_e[i] * u_c[i]
        second += 0.5 * P_e[i] * (u_e[i] - u_c[i])
    if first + second > lost * (1.0 + APPROACH):
        root = sqrt(first * first + 4.0 * second * lost)
        share = 2.0 * lost / (first + root) if first + root > 0.0 else 0.0
    for i in range(n):
        P[origin[i]] += share * P_e[i]
        row_add(layout, X, origin[i], share * P_e[i], v)
        for j in range(nj):
            P[nr - nj + j] -= Z[j * n + i] * share * P_e[i]
    return 0


@unit(I(CONTACTS, A, A, A))
def raised(contacts, P, u, work):
    """Write u = W^T y + b with y = X P."""
    rows, y = contacts.rows, vec(work, 0, contacts.nv)
    n = contacts.b.shape[0]
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


@unit(F(CONTACTS, A, B, A, A, A, B, A))
def missed(contacts, b, D, floor, P, error, J, block):
    """Write P - p(P - rho u), where p raises normal impulses to their floors and clips friction; return its norm.

    The equations of contact/semismooth_newton.py for the set of the expansion, scaled as there.
    out     error; J: the derivative with D + SINGULAR I, unless empty
    work    block: 15 floats
    """
    n, norm = P.shape[0], 0.0
    x, p, G = vec(block, 0, 3), vec(block, 3, 3), vec(block, 6, 9)  # G: derivative of p
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
                J[first + r, first + c] += (1.0 if r == c else 0.0) - (1.0 - rho * SINGULAR) * G[3 * r + c]
    return sqrt(norm)


@unit(I(CONTACTS, A, A, A))
def expand_at_once(contacts, floor, P, work):
    """Improve the impulses of an expansion by Newton's method; they stay as they are where that does not help.

    work    n (2 n + 6) + mu.shape[0] + 15 floats; where there are fewer, nothing is done
    """
    n, nb = P.shape[0], contacts.mu.shape[0]
    if work.shape[0] < n * (2 * n + 6) + nb + 15 or work.shape[0] < contacts.nv:
        return 0
    unit_of, b, P_s, P_new, error, step = (
        vec(work, 0, n),
        vec(work, n, n),
        vec(work, 2 * n, n),
        vec(work, 3 * n, n),
        vec(work, 4 * n, n),
        vec(work, 5 * n, n),
    )
    low, block = vec(work, 6 * n, nb), vec(work, 6 * n + nb, 15)
    at = 6 * n + nb + 15
    D, J, none = mat(work, at, n, n), mat(work, at + n * n, n, n), mat(work, 0, 0, 0)
    scaled(contacts, unit_of, b, D, vec(work, at + n * n, contacts.nv))
    for k in range(nb):
        low[k] = floor[k] / unit_of[contacts.blocks[3 * k + 1]]
    for i in range(n):
        P_s[i] = P[i] / unit_of[i]
    begin = missed(contacts, b, D, low, P_s, error, none, block)
    average, weight, norm = 0.0, 0.0, begin
    for _ in range(NEWTON_STEPS):
        norm, size = missed(contacts, b, D, low, P_s, step, J, block), 0.0
        for i in range(n):
            size += P_s[i] * P_s[i]
        if norm <= larger(NEWTON_TARGET, ROUNDING * sqrt(size)) or not norm < 1e300:
            break
        weight = FORMER * weight + 1.0
        average += (norm - average) / weight
        eliminate(J, step)
        share = 1.0
        for halving in range(HALVINGS):
            for i in range(n):
                P_new[i] = P_s[i] - share * step[i]
            norm = missed(contacts, b, D, low, P_new, error, none, block)
            if norm <= (1.0 - ENOUGH * share) * average:
                break
            share = 0.5 * share if halving < HALVINGS - 2 else 1.0  # at last in full: it leads out of a corner
        for i in range(n):
            P_s[i] = P_new[i]
    if not norm < begin:
        return 0
    for k in range(nb):
        first, nr = contacts.blocks[3 * k + 1], contacts.blocks[3 * k + 2]
        for i in range(first, first + nr):
            P[i] = unit_of[i] * P_s[i]
        project_expansion(nr, contacts.mu[k], floor[k], vec(P, first, nr))
    return 1


@unit(I(CONTACTS, A, A, A, A, A, A))
def expand(contacts, floor, P, u, info, work, idle):
    """Sweep over the contacts by the law of the expansion until its natural map is small (Gauss-Seidel).

    What sweeps do not solve soon, Newton's method does; what it does not, more of them.
    in/out  P: start -> impulses of the expansion
    out     u: velocities after it; info: residual, sweeps
    work    idle: the room of the contact solver, whose size is the solver's own
    """
    blocks, rows, W, X, b, mu = contacts.blocks, contacts.rows, contacts.W, contacts.X, contacts.b, contacts.mu
    nv, nb, n = contacts.nv, mu.shape[0], b.shape[0]
    y, X_i, D = vec(work, 0, nv), vec(work, nv, nv), vec(work, 2 * nv, 9 * nb)
    b_k, P_k, step = (
        vec(work, 2 * nv + 9 * nb, 3),
        vec(work, 2 * nv + 9 * nb + 3, 3),
        vec(work, 2 * nv + 9 * nb + 6, 3),
    )
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
    raised(contacts, P, u, work)
    for i in range(n):
        length += larger(abs(u[i]), abs(b[i])) ** 2  # of the velocities that the floors alone bring
    rho, length = n / diagonal, sqrt(length)
    failed, still, exact, halved, before = 0, False, True, 0, 1e300
    for sweep in range(MOST_SWEEPS + 1):
        if sweep == FIRST_SWEEPS:
            expand_at_once(contacts, floor, vec(P, 0, n), idle)
        if sweep % LOOK == 0 or nb == 1 or still:
            raised(contacts, P, u, work)
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
            if info[0] <= EXPANDED or still or sweep == MOST_SWEEPS:
                break
            if info[0] <= 0.5 * before:
                before, halved = info[0], sweep
            exact = exact and sweep - halved <= PATIENCE
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
                status = solve_expansion(nr, mu[k], floor[k], vec(D, 9 * k, 9), b_k, P_k)
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
    return 0 if info[0] <= ACCEPTED else CONTACT_STALLED
