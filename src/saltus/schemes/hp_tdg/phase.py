"""A smooth phase by one interval of D-, its degree chosen for it (D+ where forces are stiff).

The guess is the polynomial of the interval before, or, behind an event, the motion under forces linearised at the
start (galerkin_guess.py); with it the next closing is foreseen, so that an interval seldom has to be made twice. Where
the guess is poor, a first look on few stages makes a better one. Then the stages are solved (galerkin_stages.py), the
error is judged, degree and length of the next interval are chosen (hp_choice.py).
"""

from __future__ import annotations

from math import exp, sqrt
from typing import NamedTuple

from saltus.compile.columns import combine_columns
from saltus.compile.seam import head, larger, smaller, tail, unit, whole
from saltus.compile.types import HEADER, MODEL, PART, RECORD, A, F, I
from saltus.flight.find import lateness
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, SCALE, TASK, promised, slip_tolerance
from saltus.lasting.hold import REPORTED, anything_acts
from saltus.lasting.index_set import INDEX, WAY
from saltus.memory.layout import F_FREE, F_STEADY, J_CONSTANT, M_CONSTANT, RATE_IDENTITY, TRUSTED, W_CONSTANT
from saltus.memory.vectors import copy
from saltus.schemes.hp_tdg.choice import (
    CHOICE,
    FIT,
    best_degree,
    calibrate,
    expect_anything,
    fit_decay,
    least_degree,
    longest_step,
    motion_level,
    quicken,
    rough_degree,
    sufficient_degree,
)
from saltus.schemes.hp_tdg.guess import expand, foresee, levels_of, predict, refine
from saltus.schemes.hp_tdg.numbers import (
    GALERKIN,
    HP_NUMBERS,
    OF_DEGREE,
    SETTING,
    SYSTEMS,
    kappa_of,
    numbers_of,
    table_of,
)
from saltus.schemes.hp_tdg.stages import settle_powers, solve_stages
from saltus.status import Status
from saltus.tables.stored import RAISED
from saltus.tables.tableau import STAGE_VECTOR, TAB


class _Phase(NamedTuple):
    """Tuned numbers of this file."""

    straight: int = 8  # beside the place in the index set: a slip that goes straight on
    unknown_contraction: float = 0.3  # of a first sweep, before anything was seen
    astray: float = 1e-2  # relative error above which an interval has found no motion, but stages that fit each other
    contracts: float = 0.2  # what plain iteration should leave of an error
    impulses: float = 0.15  # share of the tolerance for lasting forces: their errors add up, nothing damps them
    low: int = 4
    adds_up: float = 3.0
    slowest_decay: float = 0.95
    # an interval is cut after a first look to less, but not below
    cut: float = 0.95
    shortest_cut: float = 0.3
    beyond: float = 2e-3  # how far an interval reaches beyond an impact that a first look has seen
    soon: float = 1.0  # lengths of an interval in which a closing that was foreseen for its end still comes
    least_gain: float = 2.0  # log of what a first look must gain
    # D- crawls where forces are stiff: after some intervals that are long for the fastest rate of the forces D+ is
    # tried on a longer one; it stays if that is faster, and goes when intervals are short for the rate
    fast: float = 2.0
    slow: float = 1.0
    patience: int = 8
    leap: float = 8.0
    gain: float = 1.5
    pause: int = -100
    probation: int = 4


PHASE = _Phase()


@unit(PART)
def galerkin_phase(model, staged, settings, task, t, h, frame_room, record):
    """Solve one interval of D- (D+ where forces are stiff) of a degree that is chosen for it: the heart of HpTDG.

    in      task: TASK.attempt with forecast and choice of the degree, TASK.again for another length, TASK.fill the
            nodes of the last one
    out     frame: q, v of its ends; nodes, sums of forces and powers (TASK.fill); header: error, degree, next_h;
            marks.limit
    kept    phase: numbers, Jacobians, the polynomial of the last interval and how fast its coefficients fall
    """
    settings = FLIGHT_SETTINGS(settings)
    frame = FRAME(frame_room)
    numbers, fit, first = GALERKIN(frame.phase).numbers, GALERKIN(frame.phase).fit, whole(settings.phase_at)
    if task == TASK.sums:
        return sum_up(model, settings, t, h, frame)
    if task == TASK.fill or task == TASK.nodes:
        fill(model, settings, h, frame)
        frame.marks.unsummed = 1.0 if task == TASK.nodes else 0.0
        return 0 if task == TASK.nodes else sum_up(model, settings, t, h, frame)
    if task == TASK.attempt:
        forget(model, settings, t, frame)
        status = choose(model, settings, t, h, frame, record)
        if status != 0:
            return status
        status = look_first(model, settings, t, frame, record)
        degree, h = whole(numbers.degree_now), numbers.h_now
    else:
        degree = whole(numbers.degree_now)
        if fit[FIT.known] > 0.0 and settings[first + SETTING.fixed] == 0.0:
            kappa, levels = kappa_of(settings, whole(numbers.stiff)), GALERKIN(frame.phase).levels
            least = least_degree(fit, kappa, h, degree)
            if numbers.series_t == t and numbers.series_rough == 0.0:
                least = larger(least, sufficient_degree(levels, kappa, h / numbers.series_h, degree))
            degree = whole(least)
        status = predict(model, settings, degree, t, h, frame, record)
        if status != 0:
            return status
        numbers.degree_now, numbers.h_now = degree, h
    if status == 0:
        status = solve_stages(model, settings, degree, t, h, 0.0, frame, record)
    if status != 0:
        numbers.series_n, numbers.j_known = 0.0, 0.0
        record.header.next_h = 0.4 * h
        return status
    judge(model, settings, task, degree, t, h, frame, record)
    if not record.header.error * smaller(1.0, frame.marks.sharper * settings.rtol / PHASE.astray) <= 1.0:
        # Jacobians that were learnt there may be too large by any factor: with them the next attempts, however short,
        # would seem solved after one sweep
        numbers.series_n, numbers.j_known, numbers.contraction = 0.0, 0.0, PHASE.unknown_contraction
    # the same motion up to an event must not be worse than the whole of it was
    while task == TASK.again and record.header.error > 1.0 and degree < whole(settings[first + SETTING.top]):
        degree = whole(smaller(degree + 2.0, settings[first + SETTING.top]))
        status = predict(model, settings, degree, t, h, frame, record)
        if status == 0:
            status = solve_stages(model, settings, degree, t, h, 0.0, frame, record)
        if status != 0:
            return status
        numbers.degree_now = degree
        judge(model, settings, task, degree, t, h, frame, record)
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def forget(model, settings, t, frame):
    """Forget what the last interval has taught where it says nothing of this one: another index set, a jump."""
    settings = FLIGHT_SETTINGS(settings)
    phase, memory, nc = GALERKIN(frame.phase), frame.memory, model.layout.nc
    numbers, known = phase.numbers, phase.known_index
    same = numbers.next_degree > 0.0
    for k in range(nc):
        # friction that goes straight on has another Jacobian than one that turns
        place = frame.ends.index[k] + (PHASE.straight if memory.acting.direction[2 * nc + k] != WAY.turning else 0)
        same = same and known[k] == place
        known[k] = place
    # behind a jump of the motion, a switch or the border of a segment (kept[1]) neither the Jacobian says anything
    # nor how fast the sweeps of the last interval converged
    jumped = memory.numbers.changed == 1.0 or frame.kept[1] == t
    jumped = jumped and numbers.series_t != t
    if not same or jumped:
        numbers.series_n, numbers.contraction = 0.0, PHASE.unknown_contraction
    if not same or (jumped and (model.layout.features & J_CONSTANT) == 0):
        numbers.j_known = 0.0
    if numbers.next_degree == 0.0:
        begin_with = settings[whole(settings.phase_at) + SETTING.begin_with]
        numbers.next_degree, numbers.sweeps_mean, numbers.guess = begin_with, 2.0, 1e300
    if flies_freely(model, frame) == 1 and (model.layout.features & F_FREE) != 0:
        if settings[whole(settings.phase_at) + SETTING.fixed] == 0.0:
            phase.fit[FIT.known], phase.fit[FIT.h], numbers.next_degree = 2.0, 1.0, 1.0
    elif phase.fit[FIT.known] == 2.0 and stays_quiet(model, frame) == 0:
        expect_anything(phase.fit)  # what flew quietly has landed on a curved wall
    if numbers.series_t != t:  # a new interval: did what was foreseen for the last one come true?
        if numbers.foreseen >= 0.0:
            numbers.false_alarms = 0.0 if came_true(model, settings, t, frame) == 1 else numbers.false_alarms + 1.0
            numbers.skip = numbers.false_alarms
        elif numbers.skip > 0.0:
            numbers.skip -= 1.0
    numbers.foreseen = -1.0
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def came_true(model, settings, t, frame):
    """Return 1 where a closing that was foreseen for the last interval has happened, or is about to.

    Stages of linear equations need no good guess, and cost less than an interval that is cut for nothing.
    """
    numbers, ends = GALERKIN(frame.phase).numbers, frame.ends
    if frame.memory.numbers.changed == 1.0:
        return 1
    if GALERKIN(frame.phase).solving.linear == 1:
        return 0
    copy(ends.q_0, ends.q)
    copy(ends.v_0, ends.v)
    late = lateness(model, settings, t, whole(numbers.foreseen), frame)
    return 1 if late >= 0.0 and late < PHASE.soon * numbers.series_h else 0


@unit(I(MODEL, FRAME.kind))
def stays_quiet(model, frame):
    """Return 1 where a motion whose acceleration is constant now must stay so until the next event.

    In free flight masses and forces decide about that alone, however curved the walls around are.
    """
    return 1 if (model.layout.features & TRUSTED) != 0 or flies_freely(model, frame) == 1 else 0


@unit(I(MODEL, FRAME.kind))
def flies_freely(model, frame):
    """Return 1 where nothing is held, and forces that are affine in the state accelerate constant masses."""
    features = model.layout.features
    steady = (features & F_STEADY) != 0 and (features & M_CONSTANT) != 0 and (features & RATE_IDENTITY) != 0
    return 1 if steady and anything_acts(model, frame.ends.index) == 0 else 0


@unit(I(MODEL, A, F, F, FRAME.kind, RECORD))
def choose(model, settings, t, h, frame, record):
    """Choose the degree of an interval and guess its stages; it is cut where a closing is foreseen.

    out     numbers: degree_now, h_now; marks.limit
    """
    settings = FLIGHT_SETTINGS(settings)
    phase = GALERKIN(frame.phase)
    numbers, fit, fixed = phase.numbers, phase.fit, settings[whole(settings.phase_at) + SETTING.fixed] == 1.0
    degree = whole(numbers.next_degree)
    if fit[FIT.known] > 0.0 and not fixed:
        # an interval that ends on its own is of a degree that shows how it decays
        least = least_degree(fit, kappa_of(settings, whole(numbers.stiff)), h, degree)
        degree = least if least >= CHOICE.least or least >= degree or fit[FIT.known] == 2.0 else CHOICE.least
    status = predict(model, settings, degree, t, h, frame, record)
    if status == 0 and model.layout.nc > 0 and not fixed and numbers.skip == 0.0 and numbers.linearised >= 0.0:
        place = foresee(model, settings, degree, t, h, frame)
        if place < 1.0 and place * h > 1e-13 * (abs(t) + h):
            h *= place
            frame.marks.limit = h
            if fit[FIT.known] > 0.0:
                degree = least_degree(fit, kappa_of(settings, whole(numbers.stiff)), h, degree)
            status = predict(model, settings, degree, t, h, frame, record)
    if status == 0:
        numbers.degree_now, numbers.h_now = degree, h
    return status


@unit(I(MODEL, A, F, FRAME.kind, RECORD))
def look_first(model, settings, t, frame, record):
    """Take a first look at an interval where that may pay; cut it, choose its degree and guess its stages anew."""
    settings = FLIGHT_SETTINGS(settings)
    phase = GALERKIN(frame.phase)
    numbers, fit, degree = phase.numbers, phase.fit, whole(phase.numbers.degree_now)
    if settings[whole(settings.phase_at) + SETTING.fixed] == 1.0 or fit[FIT.known] != 1.0 or numbers.series_t == t:
        return 0
    status = look(model, settings, degree, t, numbers.h_now, frame, record)
    if status == 0 and numbers.series_t == t:
        numbers.h_now = frame.marks.limit
        degree = least_degree(fit, kappa_of(settings, 0), numbers.h_now, degree)
        numbers.degree_now = degree
        status = predict(model, settings, degree, t, numbers.h_now, frame, record)
    return status


@unit(I(MODEL, A, I, F, F, FRAME.kind, RECORD))
def look(model, settings, degree, t, h, frame, record):
    """Solve an interval roughly with a low degree where the guess is poor: few stages for the first sweeps.

    The polynomial becomes the guess of the interval, and where it closes a contact the interval is cut.
    """
    phase = GALERKIN(frame.phase)
    numbers, fit = phase.numbers, phase.fit
    marks = frame.marks
    marks.limit = smaller(h, marks.limit)
    rough = 0.5 * motion_level(fit, h)
    if numbers.stiff == 1.0 or rough < PHASE.least_gain or not numbers.guess > exp(rough + PHASE.least_gain):
        return 0
    low = rough_degree(fit, kappa_of(settings, 0), h, degree, rough)
    if low == 0:
        return 0
    status = predict(model, settings, low, t, h, frame, record)
    if status == 0:
        status = solve_stages(model, settings, low, t, h, exp(rough), frame, record)
    if status != 0:
        return status
    expand(model, settings, low, t, h, frame)
    numbers.series_rough = 1.0
    levels_of(model, settings, low, h, frame)
    for i in range((low + 1) * model.layout.nv):
        if not abs(phase.series[i]) < 1e300:
            return Status.NEWTON_STALLED  # beyond a contact forces need not exist
    quicken(fit, phase.levels, low, h)
    # what was seen may be too fast for the interval
    longest = larger(longest_step(fit, kappa_of(settings, 0), CHOICE.aim, degree), PHASE.shortest_cut * h)
    if longest < PHASE.cut * h:
        marks.limit = smaller(longest, marks.limit)
    if model.layout.nc > 0:
        place = foresee(model, settings, low, t, h, frame)
        if place < 1.0 and place * h > 1e-13 * (abs(t) + h):
            # a little longer: to cut an interval that contains the impact is cheaper than to prolong one
            marks.limit = smaller(place * (1.0 + PHASE.beyond) * h, marks.limit)
    return 0


@unit(I(MODEL, A, I, I, F, F, FRAME.kind, RECORD))
def judge(model, settings, task, degree, t, h, frame, record):
    """Keep the polynomial, estimate the error, choose degree and length of the next interval."""
    settings = FLIGHT_SETTINGS(settings)
    header, share = record.header, frame.marks.sharper
    expand(model, settings, degree, t, h, frame)
    levels_of(model, settings, degree, h, frame)
    other_levels(model, settings, degree, h, frame)
    if (model.layout.features & W_CONSTANT) == 0:
        slip_levels(model, settings, degree, share, frame)
    header.error, header.degree = estimate(model, settings, degree, frame), degree
    if settings[whole(settings.phase_at) + SETTING.fixed] == 1.0:
        header.error, header.next_h = 0.0, h
    elif task == TASK.attempt:
        choose_next(model, settings, degree, h, frame, header)
    return 0


@unit(I(MODEL, A, I, F, FRAME.kind))
def other_levels(model, settings, degree, h, frame):
    """Let what q_dot = B(q) v lacks, and impulses of lasting forces, which the motion need not show, count as well."""
    settings = FLIGHT_SETTINGS(settings)
    phase, layout, n = GALERKIN(frame.phase), model.layout, degree + 1
    nq, nr, levels, stages, share = layout.nq, layout.nr, phase.levels, phase.stage, frame.marks.sharper
    q_0, R, push = frame.ends.q_0, stages.R, promised(layout, settings, SCALE.push)
    transform, position = (
        head(tail(settings, numbers_of(settings, degree, OF_DEGREE.legendre)), n * n), promised(layout, settings,
        SCALE.position)
    )  # fmt: skip
    total = head(frame.weights, n)
    for i in range(nq if (layout.features & RATE_IDENTITY) == 0 else 0):
        combine_columns(transform, n, 0.0, tail(stages.Q_dot, i), nq, total, 1)
        scale = share * (settings.atol * position[i] + settings.rtol * abs(q_0[i]))
        for k in range(n):
            levels[k] = larger(levels[k], h * abs(total[k]) / scale)
    for i in range(nr - layout.nj):
        combine_columns(transform, n, 0.0, tail(R, i), nr, total, 1)
        scale = share * PHASE.impulses * (settings.atol * push[i] + settings.rtol * h * abs(R[i]))
        for k in range(n):
            levels[k] = larger(levels[k], h * abs(total[k]) / scale)
    return 0


@unit(F(MODEL, A, I, FRAME.kind))
def estimate(model, settings, degree, frame):
    """Return the error of an interval, in units of the tolerance, by its jump and by the decay of its coefficients."""
    settings = FLIGHT_SETTINGS(settings)
    phase, layout, n = GALERKIN(frame.phase), model.layout, degree + 1
    nv, V, levels, v_0, v, error = layout.nv, phase.stage.V, phase.levels, frame.ends.v_0, frame.ends.v, 0.0
    stiff, share, speed = whole(phase.numbers.stiff), frame.marks.sharper, promised(layout, settings, SCALE.speed)
    for i in range(nv):
        jump = v[i] - V[(n - 1) * nv + i] if stiff == 0 else V[i] - v_0[i]
        scale = share * (settings.atol * speed[i] + settings.rtol * larger(abs(v_0[i]), abs(v[i])))
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
        kappa = kappa_of(settings, stiff)
        error = larger(error, exp(kappa[degree]) * larger(levels[degree], levels[degree - 1] * decay))
    # low degrees err at the end of an interval as much as in between, and these errors add up
    if degree <= PHASE.low:
        error *= PHASE.adds_up
    # all that is missing: a geometric series of coefficients
    return error * decay / (1.0 - smaller(decay, PHASE.slowest_decay))


@unit(I(MODEL, A, I, F, FRAME.kind, HEADER.kind))
def choose_next(model, settings, degree, h, frame, header):
    """Fit how the coefficients of an interval fall, and choose degree and length of the next one by it."""
    settings = FLIGHT_SETTINGS(settings)
    phase, layout, nv = GALERKIN(frame.phase), model.layout, model.layout.nv
    numbers, fit, stiff = phase.numbers, phase.fit, whole(phase.numbers.stiff)
    kappa, top = kappa_of(settings, stiff), whole(settings[whole(settings.phase_at) + SETTING.top])
    if fit[FIT.known] == 0.0 or degree >= CHOICE.least or degree >= whole(numbers.next_degree):
        fit_decay(phase.levels, degree, fit, h)
        if fit[FIT.known] == 2.0 and stays_quiet(model, frame) == 0:
            expect_anything(fit)
        calibrate(fit, kappa, h, degree, header.error, 1)
    else:  # too few coefficients for a fit, but enough to see that the last one promised too much
        calibrate(fit, kappa, h, degree, header.error, 0)
    # a Jacobian comes with most intervals; D+ has two stages more to solve
    extra = 0.0 if (layout.features & J_CONSTANT) != 0 else 1.0 * nv
    best = best_degree(fit, kappa, degree, top, numbers.sweeps_mean, extra + 2.0 * stiff * numbers.sweeps_mean)
    numbers.next_degree = best
    length = longest_step(fit, kappa, CHOICE.aim, best)
    if header.error > 1.0:
        length = smaller(length, 0.7 * h)
        length = larger(length, 0.1 * h)
    header.next_h = length
    tab = table_of(settings, degree, stiff)
    if (whole(tab[TAB.end]) - whole(tab[TAB.first])) * nv > SYSTEMS.largest_system:
        # plain iteration: its contraction grows with the square of the length. Newton's method has a contraction of
        # its own, which a single sweep does not renew: to go by it would shorten intervals without end
        header.next_h = smaller(length, h * sqrt(PHASE.contracts / larger(numbers.contraction, 1e-3)))
        return 0
    if (degree + CHOICE.least) * nv <= SYSTEMS.largest_system:  # D+ needs Newton's method
        change_family(degree, h, header, numbers, fit)
    return 0


@unit(I(MODEL, A, I, F, FRAME.kind))
def slip_levels(model, settings, degree, share, frame):
    """Let the slips of contacts count like velocities: a belt may change its speed although nothing else moves.

    A coefficient of a velocity belongs to the one before it of an acceleration.
    """
    settings = FLIGHT_SETTINGS(settings)
    phase = GALERKIN(frame.phase)
    layout, n = model.layout, degree + 1
    nr = layout.nr
    levels, stages, index = phase.levels, phase.stage, frame.ends.index
    U, total = stages.U, head(frame.weights, n)
    transform = head(tail(settings, numbers_of(settings, degree, OF_DEGREE.legendre)), n * n)
    tolerance = slip_tolerance(layout, settings, share)
    for c in range(layout.nc):
        if index[c] != INDEX.slip:
            continue
        for i in range(layout[layout.contact_row + c] + 1, layout[layout.contact_row + c + 1]):
            size = 0.0
            for j in range(n):
                size = larger(size, abs(U[j * nr + i]))
            combine_columns(transform, n, 0.0, tail(U, i), nr, total, 1)
            scale = tolerance + share * settings.rtol * size
            for k in range(1, n):
                levels[k - 1] = larger(levels[k - 1], (2.0 * k - 1.0) * abs(total[k]) / scale)
    return 0


@unit(I(I, F, HEADER.kind, HP_NUMBERS.kind, A))
def change_family(degree, h, header, numbers, fit):
    """Change between D- and D+ where that makes intervals cheaper; see PHASE.fast."""
    evaluations = 1.0 + numbers.sweeps_now * (degree - 1.0 + 2.0 * numbers.stiff)
    accepted = header.error <= 1.0
    if numbers.stiff == 0.0:
        crawls = h * numbers.rate > PHASE.fast
        if numbers.stiff_count < 0.0:
            numbers.stiff_count += 1.0
        else:
            numbers.stiff_count = numbers.stiff_count + 1.0 if crawls else 0.0
        pace = h / evaluations
        numbers.pace = pace if numbers.stiff_count == 1.0 else 0.8 * numbers.pace + 0.2 * pace
        if numbers.stiff_count > PHASE.patience:
            numbers.stiff, numbers.stiff_count, fit[FIT.known] = 1.0, 0.0, 0.0
            numbers.next_degree, header.next_h = larger(CHOICE.least, degree), PHASE.leap * h
        return 0
    if accepted:
        numbers.stiff_count += 1.0
    slower = numbers.stiff_count > PHASE.probation and h / evaluations < PHASE.gain * numbers.pace
    if h * numbers.rate < PHASE.slow or slower:
        numbers.stiff, fit[FIT.known] = 0.0, 0.0
        numbers.stiff_count = PHASE.pause if slower else 0.0
        header.next_h = smaller(header.next_h, h)
    return 0


@unit(I(MODEL, A, F, FRAME.kind))
def fill(model, settings, h, frame):
    """Write nodes and forces of the interval that was solved last, and what acts at its end."""
    phase = GALERKIN(frame.phase)
    layout = model.layout
    nv, nr = layout.nv, layout.nr
    numbers, marks = phase.numbers, frame.marks
    degree = whole(numbers.degree_now)
    n, stages = degree + 1, phase.stage
    V, a, R = stages.V, stages.a, stages.R
    v, a_last, r_last = frame.ends.v, frame.a_last, frame.r_last
    R_node, J_v = frame.node_forces, phase.j_v
    refine(model, settings, degree, h, frame)
    m = degree + RAISED + 1
    E = head(tail(settings, numbers_of(settings, degree, OF_DEGREE.lift)), m * n)
    for i in range(nr):
        combine_columns(E, m, 0.0, tail(R, i), nr, tail(R_node, i), nr)
        r_last[i] = R[(n - 1) * nr + i]
    for i in range(nv):
        a_last[i] = a[(n - 1) * nv + i]
        if numbers.j_known == 1.0:  # the last stage lacks the jump at the end
            for j in range(nv):
                a_last[i] += J_v[i * nv + j] * (v[j] - V[(n - 1) * nv + j])
    marks.nodes, marks.end_known = m, 1.0
    marks.table_at = numbers_of(settings, degree + RAISED, OF_DEGREE.minus)
    marks.samples_at = numbers_of(settings, degree + RAISED, OF_DEGREE.sampled)
    marks.foreseen = numbers.foreseen
    return 0


@unit(I(MODEL, A, F, F, FRAME.kind))
def sum_up(model, settings, t, h, frame):
    """Write the sums of forces and powers over the interval that was solved last, and the powers at its end."""
    phase = GALERKIN(frame.phase)
    layout, degree = model.layout, whole(phase.numbers.degree_now)
    nr, width, n = layout.nr, REPORTED.first_contact + layout.nc, degree + 1
    R, powers, powers_last = phase.stage.R, phase.stage.powers, frame.powers_last
    settle_powers(model, settings, degree, t, h, frame)
    tab = table_of(settings, degree, whole(phase.numbers.stiff))
    b, times = head(tail(tab, TAB.vectors + STAGE_VECTOR.weight * n), n), head(frame.weights, n)
    for k in range(n):
        times[k] = h * b[k]
    for i in range(width):
        powers_last[i] = powers[(n - 1) * width + i]
    # rows of stages are columns of these sums
    combine_columns(head(R, n * nr), nr, 0.0, times, 1, frame.sum_r, 1)
    combine_columns(head(powers, n * width), width, 0.0, times, 1, frame.sum_powers, 1)
    frame.marks.unsummed = 0.0
    return 0
