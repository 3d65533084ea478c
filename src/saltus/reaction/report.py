"""What a step with reactions reports: energy, left limit and events, from its velocities and impulses alone."""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import row_of, smaller, unit, whole
from saltus.compile.types import LAYOUT, MODEL, RECORD, A, F, I, J
from saltus.compile.workspace import Workspace
from saltus.laws import hardest
from saltus.memory.layout import F_FREE
from saltus.memory.profile import quadratic
from saltus.memory.record import COLUMN, EVENT
from saltus.reaction.impacts import returned
from saltus.reaction.react import row_add, row_dot


class _ContactMark(NamedTuple):
    """Status of a contact among its marks."""

    open: float = 0.0
    struck: float = 1.0  # by an impact in the last step
    closed: float = 2.0  # in lasting contact


CONTACT_MARK = _ContactMark()


class _Reports(NamedTuple):
    """Tuned numbers of this file."""

    rounding: float = 1e-12  # of the velocity that a contact stops: a slower approach is none
    hit: int = 2  # mark of an active contact that an impact strikes
    gained: float = 1e-7  # of the work that an impact moves: gains below are the rounding of contact solvers
    sticking: float = 1.0 - 1e-10  # |P_T| below this share of mu P_N is sticking


REPORTS = _Reports()


class _KnownRows(NamedTuple):
    """Of which rows `gain_event` knows two velocities before the impact."""

    nothing: int = 0
    normals: int = 1
    all: int = 2


KNOWN_ROWS = _KnownRows()


# u_minus: W^T v_k + w, written by the scheme; before, after: room for W^T v at both ends of the step
REPORTING = Workspace("Reporting", u_minus="nr", before="nr", after="nr")


@unit(I(MODEL, F, A, A, A, A, A, J, A, A, REPORTING.kind, RECORD))
def report(model, t, v_k, v, W, w, u_free, active, X, marks, told, record):
    """Write energy, left limit and events of a step with reactions.

    in      W, w: rows of the velocities v_k and v at both ends; u_free: W^T v_free + w + e u_minus (Poisson: without
            e); X: rows of lu^-1 W; told: REPORTING, with u_minus
    in/out  active: 1 per contact that takes part -> REPORTS.hit where an impact strikes it; marks: status of every
            contact, then whether it sticks or slips, kept by the scheme from step to step
    """
    layout, P, header = model.layout, record.impulse, record.header
    before, after, u_minus = told.before, told.after, told.u_minus
    for r in range(layout.nr):
        before[r], after[r] = row_dot(layout, W, r, v_k), row_dot(layout, W, r, v)
        given = 0.5 * P[r] * (before[r] + after[r])
        header.force_work -= given if (layout.features & F_FREE) == 0 else 0.0
        header.drive_work += given  # what contacts dissipate is taken off below
    struck = mark_struck(model, W, X, u_free, active, told, record)
    for c in range(layout.nc):
        tell_contact(model, t, c, w, active, marks, told, record)
    if struck == 1:
        # of an impact only the step is known: it gains energy if it does so before and behind the smooth forces
        for c in range(layout.nc):
            row = layout[layout.contact_row + c]
            u_free[row] -= returned(model, c) * u_minus[row]
        gain_event(model, t, active, REPORTS.hit, KNOWN_ROWS.all, u_free, u_minus, after, P, record)
    return 0


@unit(I(MODEL, A, A, A, J, REPORTING.kind, RECORD), small=True)
def mark_struck(model, W, X, u_free, active, told, record):
    """Mark the contacts that an impact strikes, take their impulses off v_minus, and return 1 where there are some.

    A contact that pushes is struck when it approached faster than the smooth forces of one step explain. An impact
    reaches the contacts behind it at the same instant: what is struck grows until nothing changes.
    """
    layout, nc, P, u_minus, after = model.layout, model.layout.nc, record.impulse, told.u_minus, told.after
    found, struck = nc > 0, False
    while found:
        found = False
        for c in range(nc):
            row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
            if active[c] != 1 or P[row] <= 0.0:
                continue
            fall = abs(u_free[row] - (1.0 + returned(model, c)) * u_minus[row])
            brought = after[row] - row_dot(layout, W, row, record.v_minus) if struck else 0.0
            approach = -(u_minus[row] + brought) - fall * (1.0 + 1e-9)
            # bodies that rest on each other fall alike: what is left of their approach is rounding
            if approach > 0.0 and approach > REPORTS.rounding * P[row] * answer(layout, W, X, row):
                for r in range(row, end):
                    row_add(layout, X, r, -P[r], record.v_minus)
                active[c], found, struck = REPORTS.hit, nc > 1, True
    return 1 if struck else 0


@unit(I(MODEL, F, I, A, J, A, REPORTING.kind, RECORD), small=True)
def tell_contact(model, t, c, w, active, marks, told, record):
    """Write what a contact dissipates and the events of this step, and change its marks."""
    layout, nc, P, u_minus, after = model.layout, model.layout.nc, record.impulse, told.u_minus, told.after
    row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
    if active[c] == 0 or P[row] <= 0.0:
        if marks[c] == CONTACT_MARK.closed:
            new_event(t, c, EVENT.release, row, end, u_minus, u_minus, P, record)
        marks[c], marks[nc + c] = CONTACT_MARK.open, CONTACT_MARK.open
        return 0
    for r in range(row, end):
        after[r] += w[r]
        lost = -0.5 * P[r] * (u_minus[r] + after[r])
        record.dissipation[c] += lost
        record.header.drive_work += lost
    if active[c] == REPORTS.hit:
        new_event(t, c, EVENT.impact, row, end, u_minus, after, P, record)
        marks[c] = CONTACT_MARK.struck
        return 0
    if marks[c] == CONTACT_MARK.open:
        new_event(t, c, EVENT.closing, row, end, u_minus, after, P, record)
    marks[c] = CONTACT_MARK.closed
    if end - row > 1:
        friction = hardest(layout[layout.kind + c], row, end - row, P)
        sticks = friction < REPORTS.sticking * model.mu[c] * P[row]
        kind = EVENT.stick if sticks else EVENT.slip
        if marks[nc + c] != kind:
            new_event(t, c, kind, row, end, u_minus, after, P, record)
        marks[nc + c] = kind
    return 0


@unit(I(MODEL, F, J, I, I, A, A, A, A, RECORD))
def gain_event(model, t, active, mark, known, early, u_minus, u_plus, P, record):
    """Write an event where an impact has gained energy: P . (u_minus + u_plus) > 0 over all contacts it strikes.

    Newton's law does so where friction turns a slip around. Velocities are those against moving walls and belts, whose
    work is no gain.
    in      active: contacts marked with `mark` are struck; known: the rows of which `early` has the velocity before the
            step. A time stepping does not know when in its step the impact happens, so that a gain is reported only if
            it is one with both possible velocities before the impact
    """
    layout = model.layout
    gained, other, size, most, which = 0.0, 0.0, 0.0, 0.0, -1
    for c in range(layout.nc):
        if active[c] != mark:
            continue
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        own = 0.0
        for r in range(row, end):
            before = u_minus[r]
            if known == KNOWN_ROWS.all:
                before = early[r]
            elif known == KNOWN_ROWS.normals and r == row:
                before = smaller(before, early[r])
            own += 0.5 * P[r] * (u_minus[r] + u_plus[r])
            other += 0.5 * P[r] * (before + u_plus[r])
            size += 0.5 * abs(P[r]) * (abs(u_minus[r]) + abs(u_plus[r]))
        gained += own
        if own > most:
            most, which = own, c
    if which >= 0 and smaller(gained, other) > REPORTS.gained * size:
        row, end = layout[layout.contact_row + which], layout[layout.contact_row + which + 1]
        new_event(t, which, EVENT.gain, row, end, u_minus, u_plus, P, record)
        record.events[whole(record.header.events_used - 1.0) * COLUMN.all + COLUMN.energy] = gained
    return 0


@unit(F(LAYOUT, A, A, I))
def answer(layout, W, X, row):
    """Return how a row answers its own unit impulse: (row of W) . (row of X)."""
    total = 0.0
    for k in range(layout[layout.W_ptr + row], layout[layout.W_ptr + row + 1]):
        for m in range(layout[layout.X_ptr + row], layout[layout.X_ptr + row + 1]):
            if layout[layout.W_col + k] == layout[layout.X_col + m]:
                total += W[k] * X[m]
    return total


@unit(I(F, I, A, RECORD), small=True)
def released(t, nc, marks, record):
    """Write the release of contacts that the forecast no longer holds closed."""
    for c in range(nc):
        if marks[c] == CONTACT_MARK.closed:
            new_event(t, c, EVENT.release, 0, 0, record.impulse, record.impulse, record.impulse, record)
        marks[c], marks[nc + c] = CONTACT_MARK.open, CONTACT_MARK.open
    return 0


@unit(I(F, I, I, I, I, A, A, A, RECORD))
def new_event(t, contact, kind, row, end, before, after, P, record):
    """Append one row to the events of a step."""
    event = row_of(record.events, whole(record.header.events_used), COLUMN.all)
    record.header.events_used += 1.0
    event[COLUMN.t], event[COLUMN.contact], event[COLUMN.kind] = t, contact, kind
    for column in range(COLUMN.before, COLUMN.all):
        event[column] = 0.0
    event[COLUMN.impacts] = 1.0
    for r in range(row, end):
        event[COLUMN.before + r - row] = before[r]
        event[COLUMN.after + r - row] = after[r]
        event[COLUMN.impulse + r - row] = P[r]
        if kind == EVENT.impact:
            event[COLUMN.energy] += 0.5 * P[r] * (before[r] + after[r])
    return 0


@unit(F(MODEL, F, F, A, A, A, A))
def inertia_gain(model, t, h, q_k, q, v_k, M):
    """Return 1/2 v_k^T (M_new - M_k) v_k: what a changing M adds to the kinetic energy of a step made with M_new."""
    model.mass(t + h, q, model.par, M)
    after = quadratic(model.layout, M, v_k)
    model.mass(t, q_k, model.par, M)
    return 0.5 * (after - quadratic(model.layout, M, v_k))
