"""A smooth phase by one interval of D-, its degree chosen for it (D+ where forces are stiff).

The guess is the polynomial of the interval before, or, behind an event, the motion under forces linearised at the
start (galerkin_guess.py); with it the next closing is foreseen, so that an interval seldom has to be made twice. Where
the guess is poor, a first look on few stages makes a better one. Then the stages are solved (galerkin_stages.py), the
error is judged, degree and length of the next interval are chosen (hp_choice.py).
"""

from __future__ import annotations

from math import exp, sqrt

from saltus.compile.seam import larger, smaller, unit, vec, whole
from saltus.compile.types import HEADER, MODEL, PART, RECORD, A, F, I, J
from saltus.events.index_set import SLIP
from saltus.layout import (
    CONTACT_ROW,
    FLAGS,
    J_CONSTANT,
    NC,
    NJ,
    NQ,
    NR,
    NV,
    RATE_IDENTITY,
    TRUSTED,
    W_CONSTANT,
)
from saltus.stages import frame as frames
from saltus.stages.frame import (
    AGAIN,
    ATOL,
    FILL,
    PHASE_AT,
    POSITION_SCALE,
    PUSH_SCALE,
    RTOL,
    SPEED_SCALE,
    TRY,
    part,
    promised,
    slip_tolerance,
)
from saltus.stages.galerkin_guess import (
    expand,
    foresee,
    levels_of,
    predict,
    refine,
)
from saltus.stages.galerkin_numbers import (
    BEGIN_WITH,
    CONTRACTION,
    DEGREE_NOW,
    FALSE_ALARMS,
    FIT,
    FIXED,
    FORESEEN,
    GUESS,
    H_NOW,
    J_KNOWN,
    J_V,
    KNOWN_INDEX,
    LARGEST_SYSTEM,
    LEGENDRE,
    LEVELS,
    LIFT,
    MINUS,
    NEXT_DEGREE,
    NUMBERS,
    PACE,
    RAISED,
    RATE,
    SAMPLED,
    SERIES,
    SERIES_N,
    SERIES_ROUGH,
    SERIES_T,
    SKIP,
    STAGE,
    STIFF,
    STIFF_COUNT,
    SWEEPS_MEAN,
    SWEEPS_NOW,
    TOP,
    kappa_of,
    numbers_of,
    own,
    table_of,
)
from saltus.stages.galerkin_stages import (
    solve_stages,
)
from saltus.stages.hold import POWERS
from saltus.stages.hp_choice import (
    AIM,
    FIT_KNOWN,
    LEAST,
    best_degree,
    calibrate,
    expect_anything,
    fit_decay,
    least_degree,
    longest_step,
    motion_level,
    quicken,
    rough_degree,
)
from saltus.stages.tableau import END, FIRST, VECTORS, WEIGHT
from saltus.status import Status

STALLED = int(Status.NEWTON_STALLED)
CONTRACTS = 0.2  # what plain iteration should leave of an error
IMPULSES = 0.15  # share of the tolerance for lasting forces: their errors add up, nothing damps them
LOW, ADDS_UP = 4, 3.0
SLOWEST_DECAY = 0.95
CUT, SHORTEST_CUT = 0.95, 0.3  # an interval is cut after a first look to less, but not below
BEYOND = 2e-3  # how far an interval reaches beyond an impact that a first look has seen
LEAST_GAIN = 2.0  # log of what a first look must gain
# D- crawls where forces are stiff: after some intervals that are long for the fastest rate of the forces D+ is tried on
# a longer one; it stays if that is faster, and goes when intervals are short for the rate
FAST, SLOW, PATIENCE, LEAP, GAIN, PAUSE, PROBATION = 2.0, 1.0, 8, 8.0, 1.5, -100, 4


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
        record.header.next_h = 0.4 * h
        return status
    judge(model, settings, task, degree, t, h, frame, record)
    # the same motion up to an event must not be worse than the whole of it was
    while task == AGAIN and record.header.error > 1.0 and degree < whole(settings[first + TOP]):
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
    header, error, share = record.header, 0.0, part(settings, frame, frames.MARKS)[frames.SHARPER]
    position, speed, push = (
        promised(layout, settings, POSITION_SCALE),
        promised(layout, settings, SPEED_SCALE),
        promised(layout, settings, PUSH_SCALE),
    )
    expand(model, settings, degree, t, h, frame)
    levels_of(model, settings, degree, h, frame)
    for k in range(n):
        if (layout[FLAGS] & RATE_IDENTITY) == 0:  # what q_dot = B(q) v lacks is no less an error
            for i in range(nq):
                total = 0.0
                for j in range(n):
                    total += transform[k * n + j] * stages[n * (nq + nv) + j * nq + i]
                scale = share * (settings[ATOL] * position[i] + settings[RTOL] * abs(q_0[i]))
                levels[k] = larger(levels[k], h * abs(total) / scale)
        for i in range(nr - layout[NJ]):  # neither are impulses of lasting forces, which the motion need not show
            total = 0.0
            for j in range(n):
                total += transform[k * n + j] * R[j * nr + i]
            scale = share * IMPULSES * (settings[ATOL] * push[i] + settings[RTOL] * h * abs(R[i]))
            levels[k] = larger(levels[k], h * abs(total) / scale)
    if (layout[FLAGS] & W_CONSTANT) == 0:
        slip_levels(model, settings, degree, share, frame)
    for i in range(nv):
        jump = v[i] - V[(n - 1) * nv + i] if stiff == 0 else V[i] - v_0[i]
        scale = share * (settings[ATOL] * speed[i] + settings[RTOL] * larger(abs(v_0[i]), abs(v[i])))
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
    header.error, header.degree = error * decay / (1.0 - smaller(decay, SLOWEST_DECAY)), degree
    if settings[at + FIXED] == 1.0:
        header.error, header.next_h = 0.0, h
        return 0
    if task != TRY:
        return 0
    top = whole(settings[at + TOP])
    if fit[FIT_KNOWN] == 0.0 or degree >= LEAST or degree >= whole(numbers[NEXT_DEGREE]):
        fit_decay(levels, degree, fit, h)
        if fit[FIT_KNOWN] == 2.0 and (layout[FLAGS] & TRUSTED) == 0:
            expect_anything(fit)
        calibrate(fit, kappa, h, degree, header.error, 1)
    else:  # too few coefficients for a fit, but enough to see that the last one promised too much
        calibrate(fit, kappa, h, degree, header.error, 0)
    # a Jacobian comes with most intervals; D+ has two stages more to solve
    extra = 0.0 if (layout[FLAGS] & J_CONSTANT) != 0 else 1.0 * nv
    best = best_degree(fit, kappa, degree, top, numbers[SWEEPS_MEAN], extra + 2.0 * stiff * numbers[SWEEPS_MEAN])
    numbers[NEXT_DEGREE] = best
    length = longest_step(fit, kappa, AIM, best)
    if header.error > 1.0:
        length = smaller(length, 0.7 * h)
        length = larger(length, 0.1 * h)
    header.next_h = length
    tab = table_of(settings, degree, stiff)
    if (whole(tab[END]) - whole(tab[FIRST])) * nv > LARGEST_SYSTEM:
        # plain iteration: its contraction grows with the square of the length. Newton's method has a contraction of
        # its own, which a single sweep does not renew: to go by it would shorten intervals without end
        header.next_h = smaller(length, h * sqrt(CONTRACTS / larger(numbers[CONTRACTION], 1e-3)))
        return 0
    if (degree + LEAST) * nv <= LARGEST_SYSTEM:  # D+ needs Newton's method
        change_family(degree, h, header, numbers, fit)
    return 0


@unit(I(MODEL, A, I, F, A))
def slip_levels(model, settings, degree, share, frame):
    """Let the slips of contacts count like velocities: a belt may change its speed although nothing else moves.

    A coefficient of a velocity belongs to the one before it of an acceleration.
    """
    layout, n = model.layout, degree + 1
    nq, nv, nr = layout[NQ], layout[NV], layout[NR]
    levels, stages, index = (
        own(settings, frame, LEVELS),
        own(settings, frame, STAGE),
        own(settings, frame, KNOWN_INDEX),
    )
    U = vec(stages, n * (2 * nq + 2 * nv) + n * nr, n * nr)
    transform = vec(settings, numbers_of(settings, degree, LEGENDRE), n * n)
    tolerance = slip_tolerance(layout, settings, share)
    for c in range(layout[NC]):
        if index[c] != SLIP:
            continue
        for i in range(layout[layout[CONTACT_ROW] + c] + 1, layout[layout[CONTACT_ROW] + c + 1]):
            size = 0.0
            for j in range(n):
                size = larger(size, abs(U[j * nr + i]))
            for k in range(1, n):
                total = 0.0
                for j in range(n):
                    total += transform[k * n + j] * U[j * nr + i]
                scale = tolerance + share * settings[RTOL] * size
                levels[k - 1] = larger(levels[k - 1], (2.0 * k - 1.0) * abs(total) / scale)
    return 0


@unit(I(I, F, HEADER.kind, A, A))
def change_family(degree, h, header, numbers, fit):
    """Change between D- and D+ where that makes intervals cheaper; see FAST."""
    evaluations = 1.0 + numbers[SWEEPS_NOW] * (degree - 1.0 + 2.0 * numbers[STIFF])
    accepted = header.error <= 1.0
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
            numbers[NEXT_DEGREE], header.next_h = larger(LEAST, degree), LEAP * h
        return 0
    if accepted:
        numbers[STIFF_COUNT] += 1.0
    slower = numbers[STIFF_COUNT] > PROBATION and h / evaluations < GAIN * numbers[PACE]
    if h * numbers[RATE] < SLOW or slower:
        numbers[STIFF], fit[FIT_KNOWN] = 0.0, 0.0
        numbers[STIFF_COUNT] = PAUSE if slower else 0.0
        header.next_h = smaller(header.next_h, h)
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
