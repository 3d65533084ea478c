"""Guesses of the intervals of HpTDG: from a polynomial or linearised forces, and the closings that they foresee."""

from __future__ import annotations

from saltus.compile.columns import combine_columns, legendre_columns
from saltus.compile.seam import head, larger, row_of, tail, unit, whole
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, SCALE, promised
from saltus.flight.scan import SCAN, first_closing
from saltus.lasting.hold import anything_acts
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import closed_gap, drift
from saltus.memory.full_matrix import solve_dense
from saltus.memory.layout import F_FREE, RATE_IDENTITY
from saltus.memory.vectors import clear, copy
from saltus.schemes.hp_tdg.matrix import factor_stages, renew
from saltus.schemes.hp_tdg.motion import move, propagate
from saltus.schemes.hp_tdg.numbers import GALERKIN, OF_DEGREE, SYSTEMS, columns_of, numbers_of, table_of
from saltus.tables.polynomial import NONE
from saltus.tables.stored import RAISED
from saltus.tables.tableau import STAGE_VECTOR, TAB

PLACINGS = 2  # of positions whose rates depend on them, in a forecast
FARTHEST = 4.0  # how far a polynomial is followed, in lengths of its interval


@unit(I(MODEL, A, I, F, F, FRAME.kind, RECORD))
def predict(model, settings, degree, t, h, frame, record):
    """Write guesses of the stage accelerations: constant, the last polynomial continued, or by linearised forces."""
    phase = GALERKIN(frame.phase)
    layout, numbers = model.layout, phase.numbers
    nv, n = layout.nv, degree + 1
    for k in range(n):
        copy(frame.memory.acting.a, row_of(phase.stage.a, k, nv))
    numbers.linearised = 0.0
    inside, far = numbers.series_t == t, t + h - numbers.series_t > FARTHEST * numbers.series_h
    if numbers.series_n > 0.0 and (inside or not far):
        return go_on(model, settings, degree, t, h, frame)
    if (layout.features & F_FREE) != 0 and anything_acts(model, frame.ends.index) == 0:
        return 0
    if (layout.features & RATE_IDENTITY) == 0 or degree < 2 or n * nv > SYSTEMS.largest_system:
        return 0
    if numbers.driven == 1.0 and anything_acts(model, frame.ends.index) == 0:  # one sweep is exact from anywhere
        numbers.linearised = -1.0
        return 0
    numbers.linearised = 1.0
    return linearise(model, settings, degree, t, h, frame, record)


@unit(I(MODEL, A, I, F, F, FRAME.kind))
def go_on(model, settings, degree, t, h, frame):
    """Add to the guesses how the polynomial of the last interval, or of a first look at this one, goes on."""
    phase = GALERKIN(frame.phase)
    numbers, nv, n = phase.numbers, model.layout.nv, degree + 1
    tab, a, series = table_of(settings, degree, whole(numbers.stiff)), phase.stage.a, phase.series
    c, begin, length = head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n), numbers.series_t, numbers.series_h
    terms = whole(numbers.series_n)
    if begin != t:  # what lies ahead of a polynomial is worth as many terms as still shrink there
        terms = worth(series, terms, nv, 2.0 * (t + h - begin) / length - 1.0)
    basis, start = phase.levels, phase.scratch
    legendre_values(2.0 * (t - begin) / length - 1.0, terms, basis)
    for i in range(nv):
        start[i] = 0.0
        for j in range(terms):
            start[i] += basis[j] * series[j * nv + i]
    places, columns, change = head(frame.weights, degree), head(frame.stretch, degree * terms), phase.change
    for k in range(1, n):
        places[k - 1] = 2.0 * (t + c[k] * h - begin) / length - 1.0
    legendre_columns(places, terms, columns)
    for i in range(nv):
        combine_columns(columns, degree, -start[i], tail(series, i), nv, change, 1)
        for k in range(1, n):
            a[k * nv + i] += change[k - 1]
    return 0


@unit(I(MODEL, A, I, F, F, FRAME.kind, RECORD))
def linearise(model, settings, degree, t, h, frame, record):
    """Guess the stages behind an event by the forces linearised at the start."""
    phase = GALERKIN(frame.phase)
    stages, ends, a_0 = phase.stage, frame.ends, frame.memory.acting.a
    nq, nv, n = model.layout.nq, model.layout.nv, degree + 1
    tab, a, q_0, v_0 = table_of(settings, degree, whole(phase.numbers.stiff)), stages.a, ends.q_0, ends.v_0
    status = renew(model, settings, t, q_0, v_0, a_0, frame, record)
    if status != 0:
        return status
    first, end, Q, V = whole(tab[TAB.first]), whole(tab[TAB.end]), stages.Q, stages.V
    columns = columns_of(settings, degree, whole(phase.numbers.stiff))
    change, G, J_q, J_v = phase.change, phase.matrix, phase.j_q, phase.j_v
    m, rate, c = (end - first) * nv, phase.scratch, head(tail(tab, TAB.vectors + STAGE_VECTOR.node * n), n)
    pivots = head(phase.pivots, m)
    if factor_stages(model, settings, degree, h, 1, frame, pivots) != 0:
        return 0
    clear(rate)
    if anything_acts(model, ends.index) == 1:
        drift(model, ends.index, frame.memory.acting.direction, rate, phase.jacobian_work, frame.interval.lasting)
    for attempt in range(2):
        propagate(tab, columns, h, v_0, frame.interval.push, V, a, n, nv)
        move(model, columns, h, q_0, Q, V, stages.Q_dot, n)
        for k in range(first, n):
            for i in range(nv):
                value = a_0[i] + c[k] * h * rate[i] - a[k * nv + i]
                for j in range(nv):
                    value += J_q[i * nv + j] * (Q[k * nq + j] - q_0[j]) + J_v[i * nv + j] * (V[k * nv + j] - v_0[j])
                change[k * nv + i] = value
        if attempt == 0:
            solve_dense(head(G, m * m), head(tail(change, first * nv), m), pivots)
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


@unit(F(MODEL, A, I, F, F, FRAME.kind))
def foresee(model, settings, degree, t, h, frame):
    """Return the place of the first closing of the predicted motion, or NONE; remember the contact."""
    phase = GALERKIN(frame.phase)
    layout = model.layout
    nq, nv, nc, m = layout.nq, layout.nv, layout.nc, degree + RAISED + 1
    numbers, nodes = phase.numbers, frame.nodes
    c = head(
        tail(
            settings,
            numbers_of(settings, degree + RAISED, OF_DEGREE.minus) + TAB.vectors + STAGE_VECTOR.node * m,
        ),
        m,
    )
    found = frame.found
    samples = head(tail(settings, numbers_of(settings, degree + RAISED, OF_DEGREE.sampled)), (SCAN.samples + 2) * m)
    open_ones = False
    for k in range(nc):
        open_ones = open_ones or (frame.ends.index[k] != INDEX.slip and frame.ends.index[k] != INDEX.stick)
    if not open_ones:
        return NONE
    if (layout.features & RATE_IDENTITY) == 0:
        # rates of the guess: those in the stages belong to the interval before
        stages, tab = phase.stage, table_of(settings, degree, whole(numbers.stiff))
        columns = columns_of(settings, degree, whole(numbers.stiff))
        for k in range(degree + 1):
            for i in range(nq):
                stages.Q[k * nq + i] = frame.ends.q_0[i]
        propagate(tab, columns, h, frame.ends.v_0, frame.interval.push, stages.V, stages.a, degree + 1, nv)
        for _ in range(PLACINGS):
            move(model, columns, h, frame.ends.q_0, stages.Q, stages.V, stages.Q_dot, degree + 1)
    refine(model, settings, degree, h, frame)
    place = first_closing(
        model, c, samples, t, h, head(nodes.Q, m * nq), head(nodes.V, m * nv), frame.ends.index,
        closed_gap(settings, frame.ends.q_0), found, frame.scan,
    )  # fmt: skip
    if place < NONE:
        numbers.foreseen = found[0]
    return place


@unit(I(MODEL, A, I, F, FRAME.kind))
def refine(model, settings, degree, h, frame):
    """Write states at the raised nodes as the dense output has them: integrals of the polynomial of accelerations."""
    phase = GALERKIN(frame.phase)
    layout = model.layout
    nq, nv, n, m = layout.nq, layout.nv, degree + 1, degree + RAISED + 1
    at = numbers_of(settings, degree, OF_DEGREE.lift)
    E, S = head(tail(settings, at), m * n), head(tail(settings, at + m * n), m * n)
    D = head(tail(settings, at + 2 * m * n), m * n)
    c = head(
        tail(
            settings,
            numbers_of(settings, degree + RAISED, OF_DEGREE.minus) + TAB.vectors + STAGE_VECTOR.node * m,
        ),
        m,
    )
    stages, nodes = phase.stage, frame.nodes
    a, rates = stages.a, stages.Q_dot
    q_0, v_0 = frame.ends.q_0, frame.ends.v_0
    Q, V, Q_dot, a_node = head(nodes.Q, m * nq), head(nodes.V, m * nv), head(nodes.Q_dot, m * nq), head(nodes.a, m * nv)
    identity = (layout.features & RATE_IDENTITY) != 0
    for i in range(nv):
        combine_columns(E, m, 0.0, tail(a, i), nv, tail(a_node, i), nv)
        combine_columns(S, m, 0.0, tail(a, i), nv, tail(V, i), nv)
        start = v_0[i]
        for k in range(m):
            V[k * nv + i] = start + h * V[k * nv + i]
    for i in range(nq):
        start = q_0[i]
        if identity:
            combine_columns(D, m, 0.0, tail(a, i), nv, tail(Q, i), nq)
            v_start = v_0[i]
            for k in range(m):
                Q_dot[k * nq + i] = V[k * nv + i]
                Q[k * nq + i] = start + h * (c[k] * v_start + h * Q[k * nq + i])
        else:
            combine_columns(E, m, 0.0, tail(rates, i), nq, tail(Q_dot, i), nq)
            combine_columns(S, m, 0.0, tail(rates, i), nq, tail(Q, i), nq)
            for k in range(m):
                Q[k * nq + i] = start + h * Q[k * nq + i]
    return 0


@unit(I(MODEL, A, I, F, F, FRAME.kind))
def expand(model, settings, degree, t, h, frame):
    """Write the Legendre coefficients of the stage accelerations."""
    phase = GALERKIN(frame.phase)
    nv, n = model.layout.nv, degree + 1
    numbers, stages, series = phase.numbers, phase.stage, phase.series
    a, transform = stages.a, head(tail(settings, numbers_of(settings, degree, OF_DEGREE.legendre)), n * n)
    for i in range(nv):
        combine_columns(transform, n, 0.0, tail(a, i), nv, tail(series, i), nv)
    numbers.series_t, numbers.series_h, numbers.series_n, numbers.series_rough = t, h, n, 0.0
    return 0


@unit(I(MODEL, A, I, F, FRAME.kind))
def levels_of(model, settings, degree, h, frame):
    """Write the sizes of the coefficients in units of the tolerance."""
    settings = FLIGHT_SETTINGS(settings)
    phase = GALERKIN(frame.phase)
    nv, n = model.layout.nv, degree + 1
    series, levels, V = phase.series, phase.levels, phase.stage.V
    v_0, speed = frame.ends.v_0, promised(model.layout, settings, SCALE.speed)
    share = frame.marks.sharper
    for k in range(n):
        levels[k] = 0.0
        for i in range(nv):
            size = larger(abs(v_0[i]), abs(V[(n - 1) * nv + i]))
            scale = share * (settings.atol * speed[i] + settings.rtol * size)
            levels[k] = larger(levels[k], h * abs(series[k * nv + i]) / scale)
    return 0
