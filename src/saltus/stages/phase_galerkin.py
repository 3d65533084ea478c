"""A smooth phase by one interval of D-, its degree chosen for it (D+ where forces are stiff).

The stages are solved by simplified Newton with one Jacobian, taken in the middle of the predicted motion. The guess is
the polynomial of the interval before, or, behind an event, the motion under forces linearised at the start; with it
the next closing is foreseen, so that an interval seldom has to be made twice.
"""

from __future__ import annotations

import functools
from math import exp, sqrt

import numpy as np
from numpy.polynomial import legendre

from saltus.compile.seam import ivec, larger, smaller, unit, vec, whole
from saltus.compile.types import MODEL, PART, RECORD, A, F, I, J
from saltus.events.index_set import SLIP, STICK
from saltus.events.polynomial import NONE
from saltus.events.scan import SAMPLES, first_closing
from saltus.layout import (
    F_FREE,
    F_LINEAR,
    FLAGS,
    J_CONSTANT,
    M_CONSTANT,
    NC,
    NJ,
    NQ,
    NR,
    NV,
    NW,
    NX,
    RATE_IDENTITY,
    SIZE,
)
from saltus.profile import multiply, solve
from saltus.record import DEGREE, ERROR, ITERATIONS, NEXT_H
from saltus.stages import frame as frames
from saltus.stages.frame import AGAIN, ATOL, FILL, FOUND, PHASE_AT, RTOL, TRY, part, remembered
from saltus.stages.hold import POWERS, accelerate
from saltus.stages.hp_choice import (
    AIM,
    FIT_KNOWN,
    FIT_SIZE,
    LEAST,
    best_degree,
    calibrate,
    fit_decay,
    least_degree,
    longest_step,
    motion_level,
    quicken,
    rough_degree,
)
from saltus.stages.interval import (
    CLOSED,
    HOLD_AT,
    LARGEST,
    MOST,
    assemble,
    factor_dense,
    jacobians,
    jacobians_work,
    move,
    propagate,
    solve_dense,
    stage_size,
)
from saltus.stages.secant import carry, learn
from saltus.stages.tableau import END, FIRST, NODE, POSITION, VECTORS, WEIGHT, packed, tableau
from saltus.status import Status

STALLED = int(Status.NEWTON_STALLED)
# the numbers of the phase: a table for flights that stand, highest degree, degree to begin with, whether degree and
# length are fixed; where its own vectors lie; per degree where D-, D+, samples, Legendre transform and lift begin; then
# the logs of kappa of every degree, for D- and D+
STANDING, TOP, BEGIN_WITH, FIXED, OWN_AT, DEGREES_AT, KAPPA_AT, STIFF_KAPPA_AT, HEAD = range(9)
MINUS, PLUS, SAMPLED, LEGENDRE, LIFT, PER_DEGREE = range(6)
RAISED = 2  # positions are of a degree higher by two than accelerations: so are the nodes of what is handed on
# its own vectors
NUMBERS, FIT, KNOWN_INDEX, SERIES, J_Q, J_V, STAGE, CHANGE, MATRIX, SCRATCH, JACOBIAN_WORK, LEVELS = range(12)
STAGE_J_Q, STAGE_J_V, BEFORE, OWN = range(12, 16)
# numbers that are kept from step to step: degree to take, contraction of the iteration, whether Jacobians are known,
# the polynomial of the last solved interval (begin, length, number of coefficients or 0), whether forces are stiff,
# sweeps per interval, the closing that is foreseen, degree and length of the interval now; fastest rate of the forces
# [1/s], how many intervals it was too fast for (negative: how long not to ask), progress per evaluation before, sweeps;
# closings that were foreseen in vain, for how many intervals nothing is foreseen; length (0: none) and family of the
# interval whose matrix is factored; error of the first guess of an interval, in units of the tolerance; length (or 0)
# and degree of a first look whose Jacobians wait to be used; whether the polynomial is that of a first look
(
    NEXT_DEGREE, CONTRACTION, J_KNOWN, SERIES_T, SERIES_H, SERIES_N, STIFF, SWEEPS_MEAN, FORESEEN, DEGREE_NOW, H_NOW,
    RATE, STIFF_COUNT, PACE, SWEEPS_NOW, FALSE_ALARMS, SKIP, FACTORED_H, FACTORED_FOR, GUESS, LOOKED_H,
    LOOKED_DEGREE, SERIES_ROUGH, NUMBER_COUNT,
) = range(24)  # fmt: skip
MOST_PLACINGS, PLACED = 60, 1e-3  # iterations of positions with a rate of their own, share of the tolerance they leave
CONTRACTS = 0.2  # what plain iteration should leave of an error
IMPULSES = 0.15  # share of the tolerance for lasting forces: their errors add up, nothing damps them
LOW, ADDS_UP = 4, 3.0
SLOWEST_DECAY = 0.95
FARTHEST = 4.0  # how far a polynomial is followed, in lengths of its interval
LARGEST_SYSTEM = 240  # unknowns that Newton's method solves for together; beyond, plain iteration on shorter intervals
MASS_STEP = 1e-6  # of central differences of the mass matrix
LEARNING_SYSTEM = 96  # unknowns up to which a new matrix per sweep costs less than the sweeps that it saves
CUT, SHORTEST_CUT = 0.95, 0.3  # an interval is cut after a first look to less, but not below
BEYOND = 2e-3  # how far an interval reaches beyond an impact that a first look has seen
LEAST_GAIN = 2.0  # log of what a first look must gain
SOLVED_FORCES = 1.0  # last correction, in units of the tolerance, that the forces of held contacts may lack
SOLVED = 0.02  # of the tolerance: what the iteration may leave
# D- crawls where forces are stiff: after some intervals that are long for the fastest rate of the forces D+ is tried on
# a longer one; it stays if that is faster, and goes when intervals are short for the rate
FAST, SLOW, PATIENCE, LEAP, GAIN, PAUSE, PROBATION = 2.0, 1.0, 8, 8.0, 1.5, -100, 4


@functools.cache
def degree_numbers(nodes: str, top: int) -> tuple[list[list[np.ndarray]], np.ndarray, np.ndarray]:
    """Return per degree D-, D+, samples, Legendre transform, lift to raised nodes; and log(kappa) of both families.

    The lift: values, integrals and double integrals at the raised nodes of a polynomial given at its own.
    """
    made, kappa, stiff_kappa = [], np.ones(top + 1), np.ones(top + 1)
    for degree in range(1, top + RAISED + 1):
        minus = tableau(degree, "-", nodes)
        samples = minus.interpolation(np.arange(SAMPLES + 1) / SAMPLES)
        made.append([packed(minus), np.zeros(0), samples.ravel()])
        if degree > top:
            continue
        plus = tableau(degree, "+", nodes, stiff=True)
        vandermonde = legendre.legvander(2.0 * minus.c - 1.0, degree)
        values = vandermonde[:, degree]
        kappa[degree] = abs(minus.b @ values - minus.Av[-1] @ values)
        stiff_kappa[degree] = abs(plus.Av[0] @ values)
        raised = tableau(degree + RAISED, "-", nodes).c
        lift = np.concatenate([minus.interpolation(raised), *minus.integrals(raised)])
        made[-1][1] = packed(plus)
        made[-1] += [np.linalg.inv(vandermonde).ravel(), lift.ravel()]
    return made, np.log(np.maximum(kappa, 1e-300)), np.log(np.maximum(stiff_kappa, 1e-300))


def own_sizes(layout, top: int) -> list[int]:
    """Return the sizes of the vectors of the phase."""
    nv, nc, n = int(layout[NV]), int(layout[NC]), top + 1
    return [
        NUMBER_COUNT, FIT_SIZE, nc, n * nv, nv * nv, nv * nv, stage_size(layout, n), n * nv,
        min(n * nv, LARGEST_SYSTEM) ** 2, nv,
        jacobians_work(layout), n,
        # Jacobians of the stages, those of a first look behind them
        *((2 * n * nv * nv, 2 * n * nv * nv, 3 * n * nv) if nv <= LEARNING_SYSTEM else (0, 0, 0)),
    ]  # fmt: skip


def galerkin_numbers(layout, nodes: str, top: int, begin_with: int, fixed: bool, begin: int) -> np.ndarray:
    """Return the numbers of the phase, which begin at a place of the settings."""
    return _numbers(tuple(own_sizes(layout, top)), nodes, top, begin_with, fixed, begin)


@functools.lru_cache(maxsize=64)
def _numbers(sizes: tuple[int, ...], nodes: str, top: int, begin_with: int, fixed: bool, begin: int) -> np.ndarray:
    made, kappa, stiff_kappa = degree_numbers(nodes, top)
    where = np.cumsum([0, *sizes]).astype(float)
    own_at = begin + HEAD
    degrees_at = own_at + len(where)
    kappa_at = degrees_at + PER_DEGREE * (top + RAISED + 1)
    at = kappa_at + 2 * (top + 1)
    places, parts = np.zeros((top + RAISED + 1, PER_DEGREE)), []
    for degree, arrays in enumerate(made, start=1):
        for k, array in enumerate(arrays):
            places[degree, k] = at
            at += len(array)
            parts.append(array)
    head = [places[1, MINUS], top, begin_with, fixed, own_at, degrees_at, kappa_at, kappa_at + top + 1]
    return np.concatenate([head, where, places.ravel(), kappa, stiff_kappa, *parts])


@unit(A(A, A, I), small=True)
def own(settings, frame, name):
    """Return a vector of the phase."""
    at = whole(settings[whole(settings[PHASE_AT]) + OWN_AT]) + name
    begin = whole(settings[whole(settings[frames.PLACES_AT]) + frames.PHASE])
    return vec(frame, begin + whole(settings[at]), whole(settings[at + 1] - settings[at]))


@unit(I(A, I, I), small=True)
def numbers_of(settings, degree, kind):
    """Return where the numbers of a degree begin."""
    return whole(settings[whole(settings[whole(settings[PHASE_AT]) + DEGREES_AT]) + PER_DEGREE * degree + kind])


@unit(A(A, I, I), small=True)
def table_of(settings, degree, stiff):
    """Return the table of a degree."""
    at = numbers_of(settings, degree, PLUS if stiff == 1 else MINUS)
    return vec(settings, at, settings.shape[0] - at)


@unit(A(A, I), small=True)
def kappa_of(settings, stiff):
    """Return log(kappa) of all degrees of a family."""
    at = whole(settings[PHASE_AT])
    return vec(
        settings, whole(settings[at + (STIFF_KAPPA_AT if stiff == 1 else KAPPA_AT)]), whole(settings[at + TOP]) + 1
    )


@unit(PART)
def galerkin_phase(model, staged, settings, task, t, h, frame, iwork, record):
    layout, first = model.layout, whole(settings[PHASE_AT])
    nc = layout[NC]
    marks, memory = part(settings, frame, frames.MARKS), part(settings, frame, frames.MEMORY)
    numbers, fit, known = (
        own(settings, frame, NUMBERS),
        own(settings, frame, FIT),
        own(settings, frame, KNOWN_INDEX),
    )
    if task == FILL:
        return fill(model, settings, h, frame)
    fixed = settings[first + FIXED] == 1.0
    if task == TRY:
        same = numbers[NEXT_DEGREE] > 0.0
        for k in range(nc):
            same = same and known[k] == iwork[k]
            known[k] = iwork[k]
        if not same:
            numbers[J_KNOWN], numbers[SERIES_N] = 0.0, 0.0
            numbers[CONTRACTION] = 0.3
        if numbers[NEXT_DEGREE] == 0.0:
            numbers[NEXT_DEGREE], numbers[SWEEPS_MEAN], numbers[GUESS] = settings[first + BEGIN_WITH], 2.0, 1e300
        if memory[frames.CHANGED] == 1.0 and numbers[SERIES_T] != t:
            numbers[SERIES_N] = 0.0  # the polynomial belongs to the motion before the event
        degree = whole(numbers[NEXT_DEGREE])
        if fit[FIT_KNOWN] > 0.0 and not fixed:
            # an interval that ends on its own is of a degree that shows how it decays
            least = least_degree(fit, kappa_of(settings, whole(numbers[STIFF])), h, degree)
            degree = least if least >= LEAST or least >= degree or fit[FIT_KNOWN] == 2.0 else LEAST
        if numbers[SERIES_T] != t:  # a new interval: did what was foreseen for the last one come true?
            if numbers[FORESEEN] >= 0.0:
                numbers[FALSE_ALARMS] = 0.0 if memory[frames.CHANGED] == 1.0 else numbers[FALSE_ALARMS] + 1.0
                numbers[SKIP] = numbers[FALSE_ALARMS]
            elif numbers[SKIP] > 0.0:
                numbers[SKIP] -= 1.0
        numbers[FORESEEN] = -1.0
        status = predict(model, settings, degree, t, h, frame, iwork, record)
        if status != 0:
            return status
        if nc > 0 and not fixed and numbers[SKIP] == 0.0:
            place = foresee(model, settings, degree, t, h, frame, iwork)
            if place < 1.0 and place * h > 1e-13 * (abs(t) + h):
                h *= place
                marks[frames.LIMIT] = h
                if fit[FIT_KNOWN] > 0.0:
                    degree = least_degree(fit, kappa_of(settings, whole(numbers[STIFF])), h, degree)
                status = predict(model, settings, degree, t, h, frame, iwork, record)
                if status != 0:
                    return status
        if not fixed and fit[FIT_KNOWN] == 1.0 and numbers[SERIES_T] != t:
            status = look(model, settings, degree, t, h, frame, iwork, record)
            if status == 0 and numbers[SERIES_T] == t:
                h = marks[frames.LIMIT]
                degree = least_degree(fit, kappa_of(settings, 0), h, degree)
                status = predict(model, settings, degree, t, h, frame, iwork, record)
    else:
        degree = whole(numbers[DEGREE_NOW])
        if fit[FIT_KNOWN] > 0.0 and not fixed:
            degree = least_degree(fit, kappa_of(settings, whole(numbers[STIFF])), h, degree)
        status = predict(model, settings, degree, t, h, frame, iwork, record)
        if status != 0:
            return status
    numbers[DEGREE_NOW], numbers[H_NOW] = degree, h
    if status == 0:
        status = solve_stages(model, settings, degree, t, h, 0.0, frame, iwork, record)
    if status != 0:
        numbers[SERIES_N], numbers[J_KNOWN] = 0.0, 0.0
        record.header[NEXT_H] = 0.4 * h
        return status
    judge(model, settings, task, degree, t, h, frame, record)
    # the same motion up to an event must not be worse than the whole of it was
    while task == AGAIN and record.header[ERROR] > 1.0 and degree < whole(settings[first + TOP]):
        degree = whole(smaller(degree + 2.0, settings[first + TOP]))
        status = predict(model, settings, degree, t, h, frame, iwork, record)
        if status != 0:
            return status
        status = solve_stages(model, settings, degree, t, h, 0.0, frame, iwork, record)
        if status != 0:
            return status
        numbers[DEGREE_NOW] = degree
        judge(model, settings, task, degree, t, h, frame, record)
    return 0


@unit(I(MODEL, A, I, F, F, A, J, RECORD))
def look(model, settings, degree, t, h, frame, iwork, record):
    """Solve an interval roughly with a low degree where the guess is poor: few stages for the first sweeps.

    The polynomial becomes the guess of the interval, and where it closes a contact the interval is cut.
    """
    numbers, fit = own(settings, frame, NUMBERS), own(settings, frame, FIT)
    marks = part(settings, frame, frames.MARKS)
    marks[frames.LIMIT] = smaller(h, marks[frames.LIMIT])
    rough = 0.5 * motion_level(fit, h)
    if numbers[STIFF] == 1.0 or rough < LEAST_GAIN or not numbers[GUESS] > exp(rough + LEAST_GAIN):
        return 0
    low = rough_degree(fit, kappa_of(settings, 0), h, degree, rough)
    if low == 0:
        return 0
    status = predict(model, settings, low, t, h, frame, iwork, record)
    if status == 0:
        status = solve_stages(model, settings, low, t, h, exp(rough), frame, iwork, record)
    if status != 0:
        return status
    expand(model, settings, low, t, h, frame)
    numbers[SERIES_ROUGH] = 1.0
    levels_of(model, settings, low, h, frame)
    for i in range((low + 1) * model.layout[NV]):
        if not abs(own(settings, frame, SERIES)[i]) < 1e300:
            return STALLED  # beyond a contact forces need not exist
    quicken(fit, own(settings, frame, LEVELS), low, h)
    # what was seen may be too fast for the interval
    longest = larger(longest_step(fit, kappa_of(settings, 0), AIM, degree), SHORTEST_CUT * h)
    if longest < CUT * h:
        marks[frames.LIMIT] = smaller(longest, marks[frames.LIMIT])
    if model.layout[NC] > 0:
        place = foresee(model, settings, low, t, h, frame, iwork)
        if place < 1.0 and place * h > 1e-13 * (abs(t) + h):
            # a little longer: to cut an interval that contains the impact is cheaper than to prolong one
            marks[frames.LIMIT] = smaller(place * (1.0 + BEYOND) * h, marks[frames.LIMIT])
    return 0


@unit(I(MODEL, A, I, F, F, A, J, RECORD))
def predict(model, settings, degree, t, h, frame, iwork, record):
    """Write guesses of the stage accelerations."""
    layout, first = model.layout, whole(settings[PHASE_AT])
    nq, nv, nc = layout[NQ], layout[NV], layout[NC]
    numbers = own(settings, frame, NUMBERS)
    tab, n = table_of(settings, degree, whole(numbers[STIFF])), degree + 1
    c, stages = vec(tab, VECTORS + NODE * n, n), own(settings, frame, STAGE)
    a, a_0 = vec(stages, n * (2 * nq + nv), n * nv), remembered(settings, frame, frames.A_BEGIN)
    series, terms = own(settings, frame, SERIES), whole(numbers[SERIES_N])
    for k in range(n):
        for i in range(nv):
            a[k * nv + i] = a_0[i]
    if terms > 0 and (numbers[SERIES_T] == t or t + h - numbers[SERIES_T] <= FARTHEST * numbers[SERIES_H]):
        # what lies ahead of a polynomial is worth as many terms as still shrink there
        begin, length = numbers[SERIES_T], numbers[SERIES_H]
        inside = begin == t
        end = 2.0 * (t + h - begin) / length - 1.0
        if not inside:
            terms = worth(series, terms, nv, end)
        basis, start = own(settings, frame, LEVELS), own(settings, frame, SCRATCH)
        legendre_values(2.0 * (t - begin) / length - 1.0, terms, basis)
        for i in range(nv):
            start[i] = 0.0
            for j in range(terms):
                start[i] += basis[j] * series[j * nv + i]
        for k in range(1, n):
            legendre_values(2.0 * (t + c[k] * h - begin) / length - 1.0, terms, basis)
            for i in range(nv):
                total = -start[i]
                for j in range(terms):
                    total += basis[j] * series[j * nv + i]
                a[k * nv + i] += total
        return 0
    if (layout[FLAGS] & F_FREE) != 0 and layout[NJ] == 0:
        holds = False
        for k in range(nc):
            holds = holds or iwork[k] == SLIP or iwork[k] == STICK
        if not holds:
            return 0
    # ---- behind an event: the forces linearised at the start
    if (layout[FLAGS] & RATE_IDENTITY) == 0 or degree < 2 or n * nv > LARGEST_SYSTEM:
        return 0
    status = renew(
        model, settings, t, part(settings, frame, frames.Q_START), part(settings, frame, frames.V_START), a_0, frame,
        iwork, record,
    )  # fmt: skip
    if status != 0:
        return status
    first, end = whole(tab[FIRST]), whole(tab[END])
    Q, V, Q_dot = vec(stages, 0, n * nq), vec(stages, n * nq, n * nv), vec(stages, n * (nq + nv), n * nq)
    change, G, J_q, J_v = (
        own(settings, frame, CHANGE),
        own(settings, frame, MATRIX),
        own(settings, frame, J_Q),
        own(settings, frame, J_V),
    )
    q_0, v_0 = part(settings, frame, frames.Q_START), part(settings, frame, frames.V_START)
    m = (end - first) * nv
    pivots = ivec(iwork, iwork.shape[0] - m, m)
    if factor_stages(settings, degree, nv, h, frame, pivots) != 0:
        return 0
    for attempt in range(2):
        propagate(tab, h, v_0, part(settings, frame, frames.IDLE), V, a, n, nv)
        move(model, tab, h, q_0, Q, V, Q_dot, n)
        for k in range(first, n):
            for i in range(nv):
                value = a_0[i] - a[k * nv + i]
                for j in range(nv):
                    value += J_q[i * nv + j] * (Q[k * nq + j] - q_0[j]) + J_v[i * nv + j] * (V[k * nv + j] - v_0[j])
                change[k * nv + i] = value
        if attempt == 0:
            solve_dense(vec(G, 0, m * m), vec(change, first * nv, m), pivots)
            for i in range(first * nv, end * nv):
                a[i] += change[i]
        else:  # stages that nothing waits for
            for i in range(end * nv, n * nv):
                a[i] += change[i]
    return 0


@unit(I(A, I, I, F))
def worth(series, terms, nv, x):
    """Return how many terms of a Legendre series still shrink at x > 1."""
    last, before, now = 1e300, 1.0, x
    for k in range(1, terms):
        size = 0.0
        for i in range(nv):
            size = larger(size, abs(series[k * nv + i]))
        size *= now
        if size > last and k > 1:
            return k
        last = size if size > 0.0 else last
        before, now = now, ((2.0 * k + 1.0) * x * now - k * before) / (k + 1.0)
    return terms


@unit(I(F, I, A))
def legendre_values(x, terms, values):
    """Write the Legendre polynomials at x."""
    values[0] = 1.0
    if terms > 1:
        values[1] = x
    for k in range(1, terms - 1):
        values[k + 1] = ((2.0 * k + 1.0) * x * values[k] - k * values[k - 1]) / (k + 1.0)
    return 0


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


@unit(F(MODEL, A, I, F, F, A, J))
def foresee(model, settings, degree, t, h, frame, iwork):
    """Return the place of the first closing of the predicted motion, or NONE; remember the contact."""
    layout = model.layout
    nq, nv, nc, m = layout[NQ], layout[NV], layout[NC], degree + RAISED + 1
    numbers, nodes = own(settings, frame, NUMBERS), part(settings, frame, frames.NODE_STATES)
    c = vec(settings, numbers_of(settings, degree + RAISED, MINUS) + VECTORS + NODE * m, m)
    found = ivec(iwork, frames.I_VECTORS * nc, FOUND)
    samples = vec(settings, numbers_of(settings, degree + RAISED, SAMPLED), (SAMPLES + 1) * m)
    open_ones = False
    for k in range(nc):
        open_ones = open_ones or (iwork[k] != SLIP and iwork[k] != STICK)
    if not open_ones:
        return NONE
    refine(model, settings, degree, h, frame)
    place = first_closing(
        model, c, samples, t, h, vec(nodes, 0, m * nq), vec(nodes, m * nq, m * nv), ivec(iwork, 0, nc),
        settings[CLOSED], found, part(settings, frame, frames.SCAN),
    )  # fmt: skip
    if place < NONE:
        numbers[FORESEEN] = found[0]
    return place


@unit(I(MODEL, A, I, F, A))
def refine(model, settings, degree, h, frame):
    """Write states at the raised nodes as the dense output has them: integrals of the polynomial of accelerations."""
    layout = model.layout
    nq, nv, n, m = layout[NQ], layout[NV], degree + 1, degree + RAISED + 1
    at = numbers_of(settings, degree, LIFT)
    E, S, D = vec(settings, at, m * n), vec(settings, at + m * n, m * n), vec(settings, at + 2 * m * n, m * n)
    c = vec(settings, numbers_of(settings, degree + RAISED, MINUS) + VECTORS + NODE * m, m)
    stages, nodes = own(settings, frame, STAGE), part(settings, frame, frames.NODE_STATES)
    a, rates = vec(stages, n * (2 * nq + nv), n * nv), vec(stages, n * (nq + nv), n * nq)
    q_0, v_0 = part(settings, frame, frames.Q_START), part(settings, frame, frames.V_START)
    Q, V, Q_dot, a_node = (
        vec(nodes, 0, m * nq),
        vec(nodes, m * nq, m * nv),
        vec(nodes, m * (nq + nv), m * nq),
        vec(nodes, m * (2 * nq + nv), m * nv),
    )
    identity = (layout[FLAGS] & RATE_IDENTITY) != 0
    for k in range(m):
        for i in range(nv):
            value, once, twice = 0.0, 0.0, 0.0
            for j in range(n):
                value += E[k * n + j] * a[j * nv + i]
                once += S[k * n + j] * a[j * nv + i]
                twice += D[k * n + j] * a[j * nv + i]
            V[k * nv + i], a_node[k * nv + i] = v_0[i] + h * once, value
            if identity:
                Q_dot[k * nq + i] = V[k * nv + i]
                Q[k * nq + i] = q_0[i] + h * (c[k] * v_0[i] + h * twice)
    if not identity:
        for k in range(m):
            for i in range(nq):
                value, once = 0.0, 0.0
                for j in range(n):
                    value += E[k * n + j] * rates[j * nq + i]
                    once += S[k * n + j] * rates[j * nq + i]
                Q_dot[k * nq + i], Q[k * nq + i] = value, q_0[i] + h * once
    return 0


@unit(I(MODEL, A, A, F, A, A, A, A, I, A))
def place_stages(model, settings, tab, h, q_0, Q, V, Q_dot, n, before):
    """Write the stage positions of stage velocities; where q_dot = B(q) v they are found by iteration."""
    layout = model.layout
    nq = layout[NQ]
    if (layout[FLAGS] & RATE_IDENTITY) != 0:
        return move(model, tab, h, q_0, Q, V, Q_dot, n)
    for _ in range(MOST_PLACINGS):
        for i in range(n * nq):
            before[i] = Q[i]
        move(model, tab, h, q_0, Q, V, Q_dot, n)
        moved, size = 0.0, 0.0
        for i in range(n * nq):
            moved, size = larger(moved, abs(Q[i] - before[i])), larger(size, abs(Q[i]))
        if not moved < 1e300:
            return STALLED
        if moved <= PLACED * (settings[ATOL] + settings[RTOL] * size) + 1e-16 * size:
            return 0
    return STALLED


@unit(I(MODEL, A, I, F, F, F, A, J, RECORD))
def solve_stages(model, settings, degree, t, h, rough, frame, iwork, record):
    """Solve the stages of the interval from their guesses; write its end state.

    rough: error that may be left, in units of the tolerance, for a first look at the motion; 0 for the interval itself
    """
    layout = model.layout
    nq, nv, nc, nr, flags = layout[NQ], layout[NV], layout[NC], layout[NR], layout[FLAGS]
    numbers, inner = own(settings, frame, NUMBERS), part(settings, frame, frames.INNER)
    tab, n, width = table_of(settings, degree, whole(numbers[STIFF])), degree + 1, POWERS + nc
    first, end = whole(tab[FIRST]), whole(tab[END])
    c, b = vec(tab, VECTORS + NODE * n, n), vec(tab, VECTORS + WEIGHT * n, n)
    stages, idle = own(settings, frame, STAGE), part(settings, frame, frames.IDLE)
    Q, V, Q_dot, a = (
        vec(stages, 0, n * nq),
        vec(stages, n * nq, n * nv),
        vec(stages, n * (nq + nv), n * nq),
        vec(stages, n * (2 * nq + nv), n * nv),
    )
    at = n * (2 * nq + 2 * nv)
    R, U, powers = vec(stages, at, n * nr), vec(stages, at + n * nr, n * nr), vec(stages, at + 2 * n * nr, n * width)
    change, G, nodes = (
        own(settings, frame, CHANGE),
        own(settings, frame, MATRIX),
        part(settings, frame, frames.NODE_STATES),
    )
    q_0, v_0 = part(settings, frame, frames.Q_START), part(settings, frame, frames.V_START)
    q, v = part(settings, frame, frames.Q_END), part(settings, frame, frames.V_END)
    r_0, powers_0 = remembered(settings, frame, frames.R_BEGIN), remembered(settings, frame, frames.POWERS_BEGIN)
    direction = remembered(settings, frame, frames.DIRECTION)
    at = whole(settings[HOLD_AT])
    room = vec(inner, at, inner.shape[0] - at)
    at = frames.I_VECTORS * nc + FOUND + whole(settings[LARGEST]) * (nv + nc) + nc
    index, iroom = ivec(iwork, 0, nc), ivec(iwork, at, iwork.shape[0] - at)
    m = (end - first) * nv
    pivots = ivec(iwork, iwork.shape[0] - m, m)
    acting = layout[NJ] > 0
    for k in range(nc):
        acting = acting or index[k] == SLIP or index[k] == STICK
    free = (flags & F_FREE) != 0 and not acting
    linear = (flags & M_CONSTANT) != 0 and (flags & RATE_IDENTITY) != 0 and not acting
    linear = linear and ((flags & F_FREE) != 0 or ((flags & F_LINEAR) != 0 and (flags & J_CONSTANT) != 0))
    newton = not free and m <= LARGEST_SYSTEM
    linear = linear and (newton or free)
    learns = newton and not linear and (flags & RATE_IDENTITY) != 0 and m <= LEARNING_SYSTEM
    J_q, J_v = own(settings, frame, STAGE_J_Q), own(settings, frame, STAGE_J_V)
    for k in range(n):
        for i in range(nq):
            Q[k * nq + i] = q_0[i]
        for i in range(nr):
            R[k * nr + i] = r_0[i]
    for i in range(width):
        powers[i] = powers_0[i]

    # ---- the matrix, from Jacobians in the middle of the predicted motion
    if end > first and newton:
        # a Jacobian costs nv evaluations, a sweep one per stage: it pays soon
        stale = numbers[CONTRACTION] * (degree - 1) > 0.1 * nv
        stale = stale or (2 * nv < degree and numbers[CONTRACTION] > 1e-5)
        if linear:
            stale = numbers[J_KNOWN] == 0.0
        stale = stale and numbers[SERIES_N] > 0.0 and rough == 0.0
        stale = stale and (
            numbers[SERIES_T] != t or numbers[SERIES_ROUGH] == 1.0
        )  # else the guess is as good as solved
        learnt = learns and numbers[LOOKED_H] > 0.0 and rough == 0.0
        if learnt:
            low = whole(numbers[LOOKED_DEGREE])
            low_tab, room_J = table_of(settings, low, 0), J_q.shape[0] // 2
            nodes_low, stretch = vec(low_tab, VECTORS + NODE * (low + 1), low + 1), h / numbers[LOOKED_H]
            low_first, low_end = whole(low_tab[FIRST]), whole(low_tab[END])
            carry(nv, nodes_low, low_first, low_end, vec(c, 0, end), stretch, vec(J_q, room_J, room_J), J_q)
            carry(nv, nodes_low, low_first, low_end, vec(c, 0, end), stretch, vec(J_v, room_J, room_J), J_v)
            numbers[LOOKED_H], numbers[FACTORED_H] = 0.0, 0.0
            assemble(tab, h, first, end, nv, J_q, J_v, nv * nv, G)
            if factor_dense(vec(G, 0, m * m), m, pivots) != 0:
                return STALLED
        elif stale or numbers[J_KNOWN] == 0.0:
            middle = n // 2
            propagate(tab, h, v_0, idle, V, a, n, nv)
            move(model, tab, h, q_0, Q, V, Q_dot, n)
            status = renew(
                model, settings, t + c[middle] * h, vec(Q, middle * nq, nq), vec(V, middle * nv, nv),
                vec(a, middle * nv, nv), frame, iwork, record,
            )  # fmt: skip
            if status != 0:
                return status
        if not learnt and factor_stages(settings, degree, nv, h, frame, pivots) != 0:
            return STALLED
        for i in range(nv * nv * end if learns and not learnt else 0):
            J_q[i], J_v[i] = own(settings, frame, J_Q)[i % (nv * nv)], own(settings, frame, J_V)[i % (nv * nv)]

    # ---- iteration
    converged, sweep, moved_before, rate, contraction = end <= first, 0, 0.0, numbers[CONTRACTION], 0.0
    guess = 1.0
    while not converged and sweep < whole(settings[MOST]):
        sweep += 1
        record.counters[ITERATIONS] += 1
        propagate(tab, h, v_0, idle, V, a, n, nv)
        status = place_stages(model, settings, tab, h, q_0, Q, V, Q_dot, n, nodes)
        if status != 0:
            return status
        for k in range(first, end):
            status = accelerate(
                model, t + c[k] * h, vec(Q, k * nq, nq), vec(V, k * nv, nv), index, direction, 0,
                vec(change, k * nv, nv), vec(R, k * nr, nr), vec(U, k * nr, nr), vec(powers, k * width, width), room,
                iroom, record,
            )  # fmt: skip
            if status != 0:
                return status
        if learns:
            learn(first, end, nv, 1 if sweep > 1 else 0, J_q, J_v, Q, V, change, own(settings, frame, BEFORE))
            if sweep > 1:
                assemble(tab, h, first, end, nv, J_q, J_v, nv * nv, G)
                numbers[FACTORED_H] = 0.0
                if factor_dense(vec(G, 0, m * m), m, pivots) != 0:
                    return STALLED
        for i in range(first * nv, end * nv):
            change[i] -= a[i]
        if newton:
            solve_dense(vec(G, 0, m * m), vec(change, first * nv, m), pivots)
        moved, total = 0.0, 0.0
        for k in range(first, end):
            for i in range(nv):
                total += abs(change[k * nv + i])
                a[k * nv + i] += change[k * nv + i]
                scale = settings[ATOL] + settings[RTOL] * larger(abs(v_0[i]), abs(V[k * nv + i]))
                moved = larger(moved, h * abs(change[k * nv + i]) / scale)
        if not total < 1e300:  # `larger` passes over what is not a number
            return STALLED
        if linear or free:
            converged = True
            break
        if moved_before > 0.0:
            rate = moved / moved_before
            contraction = rate if sweep == 2 else contraction
            if rate > 0.9 and sweep > 2:
                return STALLED
        # the rate of the interval before is trusted for the first sweep, with room
        trusted = smaller(rate, 0.9) if moved_before > 0.0 else smaller(4.0 * rate, 0.9)
        left = moved * trusted / (1.0 - trusted)
        if smaller(moved, left) <= larger(SOLVED, rough) or moved <= 1e-15 / settings[RTOL]:
            # contact forces are those of the states before the last correction
            converged = not acting or moved <= larger(SOLVED_FORCES, rough)
        if sweep == 1:
            guess = moved
        moved_before = moved
    if not converged:
        return STALLED
    if numbers[SERIES_T] != t:  # from outside of the interval
        numbers[GUESS] = guess
    if sweep > 1:  # that of the first Jacobian
        numbers[CONTRACTION] = larger(contraction, 1e-6)
    elif not newton:  # a single sweep shows no contraction, but plain iteration may take a longer interval again
        numbers[CONTRACTION] *= 0.5
    numbers[SWEEPS_NOW] = sweep
    if end > first and rough == 0.0:
        numbers[SWEEPS_MEAN] = 0.7 * numbers[SWEEPS_MEAN] + 0.3 * sweep

    # ---- the stages of the solution, the one at the end, and the end itself
    propagate(tab, h, v_0, idle, V, a, n, nv)
    status = place_stages(model, settings, tab, h, q_0, Q, V, Q_dot, n, nodes)
    if status != 0:
        return status
    for k in range(end, n):
        status = accelerate(
            model, t + c[k] * h, vec(Q, k * nq, nq), vec(V, k * nv, nv), index, direction, 0, vec(a, k * nv, nv),
            vec(R, k * nr, nr), vec(U, k * nr, nr), vec(powers, k * width, width), room, iroom, record,
        )  # fmt: skip
        if status != 0:
            return status
    if rough > 0.0:
        for i in range(nv * nv * end if learns and sweep > 1 else 0):
            J_q[J_q.shape[0] // 2 + i], J_v[J_v.shape[0] // 2 + i] = J_q[i], J_v[i]
        numbers[LOOKED_H], numbers[LOOKED_DEGREE] = h if learns and sweep > 1 and nv == 1 else 0.0, degree
        return 0
    for i in range(nv * nv if learns and sweep > 1 else 0):  # what was learnt last is the best that is known
        own(settings, frame, J_Q)[i] = J_q[(end - 1) * nv * nv + i]
        own(settings, frame, J_V)[i] = J_v[(end - 1) * nv * nv + i]
        numbers[FACTORED_H] = 0.0
    settle_powers(model, settings, degree, t, h, frame)
    for i in range(nq):
        q[i] = Q[(n - 1) * nq + i]
    for i in range(nv):
        v[i] = v_0[i]
        for k in range(n):
            v[i] += h * b[k] * a[k * nv + i]
        if not abs(v[i]) < 1e300:
            return STALLED
    return 0


@unit(I(MODEL, A, I, F, F, A))
def settle_powers(model, settings, degree, t, h, frame):
    """Write the powers of the forces that belong to the velocity that is integrated, not to that of the stages.

    What M a does at that velocity and the contacts take away is what forces and moving constraints give: the last
    sweep saw the forces of other states, but the books must balance.
    """
    layout = model.layout
    nq, nv, nc, nr, n = layout[NQ], layout[NV], layout[NC], layout[NR], degree + 1
    width, tab = POWERS + nc, table_of(settings, degree, 0)
    c, S = vec(tab, VECTORS + NODE * n, n), vec(tab, VECTORS + 3 * n + POSITION * n * n, n * n)
    stages, v_0 = own(settings, frame, STAGE), part(settings, frame, frames.V_START)
    f, M = part(settings, frame, frames.FORCE), part(settings, frame, frames.MASS)
    a = vec(stages, n * (2 * nq + nv), n * nv)
    powers = vec(stages, n * (2 * nq + 2 * nv + 2 * nr), n * width)
    constant = (layout[FLAGS] & M_CONSTANT) != 0
    for k in range(n):
        if k == 0 or not constant:
            model.mass(t + c[k] * h, vec(stages, k * nq, nq), model.par, M)
        for i in range(nv):
            f[i] = 0.0
        multiply(layout, M, vec(a, k * nv, nv), f)
        powers[k * width] = -powers[k * width + 1]
        for i in range(POWERS, width):
            powers[k * width] += powers[k * width + i]
        for i in range(nv):
            true = v_0[i]
            for j in range(n):
                true += h * S[k * n + j] * a[j * nv + i]
            powers[k * width] += f[i] * true
    return 0


@unit(I(MODEL, A, I, F, F, A))
def expand(model, settings, degree, t, h, frame):
    """Write the Legendre coefficients of the stage accelerations."""
    nq, nv, n = model.layout[NQ], model.layout[NV], degree + 1
    numbers, stages, series = own(settings, frame, NUMBERS), own(settings, frame, STAGE), own(settings, frame, SERIES)
    a, transform = vec(stages, n * (2 * nq + nv), n * nv), vec(settings, numbers_of(settings, degree, LEGENDRE), n * n)
    for k in range(n):
        for i in range(nv):
            series[k * nv + i] = 0.0
            for j in range(n):
                series[k * nv + i] += transform[k * n + j] * a[j * nv + i]
    numbers[SERIES_T], numbers[SERIES_H], numbers[SERIES_N], numbers[SERIES_ROUGH] = t, h, n, 0.0
    return 0


@unit(I(MODEL, A, I, F, A))
def levels_of(model, settings, degree, h, frame):
    """Write the sizes of the coefficients in units of the tolerance."""
    nq, nv, n = model.layout[NQ], model.layout[NV], degree + 1
    series, levels, V = own(settings, frame, SERIES), own(settings, frame, LEVELS), own(settings, frame, STAGE)
    v_0 = part(settings, frame, frames.V_START)
    for k in range(n):
        levels[k] = 0.0
        for i in range(nv):
            scale = settings[ATOL] + settings[RTOL] * larger(abs(v_0[i]), abs(V[n * nq + (n - 1) * nv + i]))
            levels[k] = larger(levels[k], h * abs(series[k * nv + i]) / scale)
    return 0


@unit(I(MODEL, A, I, I, F, F, A, RECORD))
def judge(model, settings, task, degree, t, h, frame, record):
    """Keep the polynomial, estimate the error, choose degree and length of the next interval."""
    layout, at = model.layout, whole(settings[PHASE_AT])
    nq, nv, nr, n = layout[NQ], layout[NV], layout[NR], degree + 1
    numbers, fit, levels = (
        own(settings, frame, NUMBERS),
        own(settings, frame, FIT),
        own(settings, frame, LEVELS),
    )
    stages = own(settings, frame, STAGE)
    stiff, kappa = whole(numbers[STIFF]), kappa_of(settings, whole(numbers[STIFF]))
    V = vec(stages, n * nq, n * nv)
    R = vec(stages, n * (2 * nq + 2 * nv), n * nr)
    transform = vec(settings, numbers_of(settings, degree, LEGENDRE), n * n)
    v_0, v, q_0 = (
        part(settings, frame, frames.V_START),
        part(settings, frame, frames.V_END),
        part(settings, frame, frames.Q_START),
    )
    header, error = record.header, 0.0
    expand(model, settings, degree, t, h, frame)
    levels_of(model, settings, degree, h, frame)
    for k in range(n):
        if (layout[FLAGS] & RATE_IDENTITY) == 0:  # what q_dot = B(q) v lacks is no less an error
            for i in range(nq):
                total = 0.0
                for j in range(n):
                    total += transform[k * n + j] * stages[n * (nq + nv) + j * nq + i]
                levels[k] = larger(levels[k], h * abs(total) / (settings[ATOL] + settings[RTOL] * abs(q_0[i])))
        for i in range(nr - layout[NJ]):  # neither are impulses of lasting forces, which the motion need not show
            total = 0.0
            for j in range(n):
                total += transform[k * n + j] * R[j * nr + i]
            scale = IMPULSES * (settings[ATOL] + settings[RTOL] * h * abs(R[i]))
            levels[k] = larger(levels[k], h * abs(total) / scale)
    for i in range(nv):
        jump = v[i] - V[(n - 1) * nv + i] if stiff == 0 else V[i] - v_0[i]
        scale = settings[ATOL] + settings[RTOL] * larger(abs(v_0[i]), abs(v[i]))
        error = larger(error, abs(jump) / scale)
    # the jump belongs to a polynomial that lacks the last coefficient; what the motion itself lacks is the next one
    decay = 1.0
    if degree >= 4:
        upper, lower = levels[degree] + levels[degree - 1], levels[degree - 2] + levels[degree - 3]
        decay = smaller(1.0, (larger(upper, 1e-300) / larger(lower, 1e-300)) ** 0.5)
        decay = larger(decay, 0.05)
    elif degree >= 2:
        decay = larger(0.1, smaller(1.0, larger(levels[degree], levels[degree - 1]) / larger(levels[0], 1e-300)))
    # by symmetry the last coefficient may vanish, and with it the jump: then the one before says how large it could be
    if degree >= 2:
        error = larger(error, exp(kappa[degree]) * larger(levels[degree], levels[degree - 1] * decay))
    # low degrees err at the end of an interval as much as in between, and these errors add up
    if degree <= LOW:
        error *= ADDS_UP
    # all that is missing: a geometric series of coefficients
    header[ERROR], header[DEGREE] = error * decay / (1.0 - smaller(decay, SLOWEST_DECAY)), degree
    if settings[at + FIXED] == 1.0:
        header[ERROR], header[NEXT_H] = 0.0, h
        return 0
    if task != TRY:
        return 0
    top = whole(settings[at + TOP])
    if fit[FIT_KNOWN] == 0.0 or degree >= LEAST or degree >= whole(numbers[NEXT_DEGREE]):
        fit_decay(levels, degree, fit, h)
        calibrate(fit, kappa, h, degree, header[ERROR], 1)
    else:  # too few coefficients for a fit, but enough to see that the last one promised too much
        calibrate(fit, kappa, h, degree, header[ERROR], 0)
    # a Jacobian comes with most intervals; D+ has two stages more to solve
    extra = 0.0 if (layout[FLAGS] & J_CONSTANT) != 0 else 1.0 * nv
    best = best_degree(fit, kappa, degree, top, numbers[SWEEPS_MEAN], extra + 2.0 * stiff * numbers[SWEEPS_MEAN])
    numbers[NEXT_DEGREE] = best
    length = longest_step(fit, kappa, AIM, best)
    if header[ERROR] > 1.0:
        length = smaller(length, 0.7 * h)
        length = larger(length, 0.1 * h)
    header[NEXT_H] = length
    if (degree + 1) * nv > LARGEST_SYSTEM:
        # plain iteration: its contraction grows with the square of the length
        header[NEXT_H] = smaller(length, h * sqrt(CONTRACTS / larger(numbers[CONTRACTION], 1e-3)))
        return 0
    if (degree + LEAST) * nv <= LARGEST_SYSTEM:  # D+ needs Newton's method
        change_family(degree, h, header, numbers, fit)
    return 0


@unit(I(I, F, A, A, A))
def change_family(degree, h, header, numbers, fit):
    """Change between D- and D+ where that makes intervals cheaper; see FAST."""
    evaluations = 1.0 + numbers[SWEEPS_NOW] * (degree - 1.0 + 2.0 * numbers[STIFF])
    accepted = header[ERROR] <= 1.0
    if numbers[STIFF] == 0.0:
        crawls = h * numbers[RATE] > FAST
        if numbers[STIFF_COUNT] < 0.0:
            numbers[STIFF_COUNT] += 1.0
        else:
            numbers[STIFF_COUNT] = numbers[STIFF_COUNT] + 1.0 if crawls else 0.0
        pace = h / evaluations
        numbers[PACE] = pace if numbers[STIFF_COUNT] == 1.0 else 0.8 * numbers[PACE] + 0.2 * pace
        if numbers[STIFF_COUNT] > PATIENCE:
            numbers[STIFF], numbers[STIFF_COUNT], fit[FIT_KNOWN] = 1.0, 0.0, 0.0
            numbers[NEXT_DEGREE], header[NEXT_H] = larger(LEAST, degree), LEAP * h
        return 0
    if accepted:
        numbers[STIFF_COUNT] += 1.0
    slower = numbers[STIFF_COUNT] > PROBATION and h / evaluations < GAIN * numbers[PACE]
    if h * numbers[RATE] < SLOW or slower:
        numbers[STIFF], fit[FIT_KNOWN] = 0.0, 0.0
        numbers[STIFF_COUNT] = PAUSE if slower else 0.0
        header[NEXT_H] = smaller(header[NEXT_H], h)
    return 0


@unit(I(MODEL, A, F, A))
def fill(model, settings, h, frame):
    """Write nodes, forces and sums of the interval that was solved last, and what acts at its end."""
    layout = model.layout
    nq, nv, nc, nr = layout[NQ], layout[NV], layout[NC], layout[NR]
    numbers, marks = own(settings, frame, NUMBERS), part(settings, frame, frames.MARKS)
    degree = whole(numbers[DEGREE_NOW])
    n, width, stiff = degree + 1, POWERS + nc, whole(numbers[STIFF])
    tab, stages = table_of(settings, degree, stiff), own(settings, frame, STAGE)
    b = vec(tab, VECTORS + WEIGHT * n, n)
    V, a = vec(stages, n * nq, n * nv), vec(stages, n * (2 * nq + nv), n * nv)
    at = n * (2 * nq + 2 * nv)
    R, powers = vec(stages, at, n * nr), vec(stages, at + 2 * n * nr, n * width)
    v, a_last, r_last, powers_last = (
        part(settings, frame, frames.V_END),
        part(settings, frame, frames.A_LAST),
        part(settings, frame, frames.R_LAST),
        part(settings, frame, frames.POWERS_LAST),
    )
    sum_r, sum_p, R_node, J_v = (
        part(settings, frame, frames.SUM_R),
        part(settings, frame, frames.SUM_POWERS),
        part(settings, frame, frames.NODE_FORCES),
        own(settings, frame, J_V),
    )
    refine(model, settings, degree, h, frame)
    m = degree + RAISED + 1
    E = vec(settings, numbers_of(settings, degree, LIFT), m * n)
    for k in range(m):
        for i in range(nr):
            R_node[k * nr + i] = 0.0
            for j in range(n):
                R_node[k * nr + i] += E[k * n + j] * R[j * nr + i]
    for i in range(nr):
        sum_r[i], r_last[i] = 0.0, R[(n - 1) * nr + i]
        for k in range(n):
            sum_r[i] += h * b[k] * R[k * nr + i]
    for i in range(width):
        sum_p[i], powers_last[i] = 0.0, powers[(n - 1) * width + i]
        for k in range(n):
            sum_p[i] += h * b[k] * powers[k * width + i]
    for i in range(nv):
        a_last[i] = a[(n - 1) * nv + i]
        if numbers[J_KNOWN] == 1.0:  # the last stage lacks the jump at the end
            for j in range(nv):
                a_last[i] += J_v[i * nv + j] * (v[j] - V[(n - 1) * nv + j])
    marks[frames.NODES], marks[frames.END_KNOWN] = m, 1.0
    marks[frames.TABLE_AT] = numbers_of(settings, degree + RAISED, MINUS)
    marks[frames.SAMPLES_AT] = numbers_of(settings, degree + RAISED, SAMPLED)
    marks[frames.FORESEEN] = numbers[FORESEEN]
    return 0
