"""One end of a step, for all schemes with lasting contacts: begin, strike, put back, decide next, close the books.

They work on both ends of a step (ENDS) and what acts on its state (ACTING), see lasting/workspace.py.
"""

from __future__ import annotations

from saltus.compile.seam import larger, unit
from saltus.compile.types import MODEL, REACTION, RECORD, STAGED, A, F, I
from saltus.lasting.border import border, project
from saltus.lasting.hold import REPORTED
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import INTERVALS, STAGE_SETTINGS
from saltus.lasting.settle import changed_events
from saltus.lasting.strike_events import strike_events
from saltus.lasting.workspace import ACTING, ENDS, LASTING
from saltus.memory.record import EVENT
from saltus.memory.vectors import add, clear, clear_marks, copy_marks
from saltus.reaction.books import violation_of
from saltus.reaction.dense_block import close_block
from saltus.reaction.report import new_event


@unit(I(MODEL, STAGED, A, F, I, I, ENDS.kind, ACTING.kind, INTERVALS.kind, RECORD))
def begin(model, staged, settings, t, degree, known, ends, acting, interval, record):
    """Decide what is held at the start of a run, or of a segment behind a jump of the force; with its events.

    in      known: 1 where there is a segment before; ends: q, v: the state; index: what was held before
    out     ends: index; acting
    """
    copy_marks(ends.index, ends.before)
    clear_marks(ends.resting)
    clear_marks(ends.stopped)
    clear_marks(ends.candidate)
    if known == 0:
        clear_marks(ends.index)  # OPEN
    model.gap(t, ends.q, model.par, ends.g)
    status = staged.settle(model, staged.reaction, settings, t, degree, 0, ends, acting, interval, record)
    if status == 0:
        begin_events(model, t, known, ends, acting, record)
    return status


@unit(I(MODEL, F, I, ENDS.kind, ACTING.kind, RECORD))
def begin_events(model, t, known, ends, acting, record):
    """Write what a jump of the force has changed; before a run nothing was held, and only a jam is an event."""
    index, before = ends.index, ends.before
    for k in range(model.layout.nc):
        if before[k] != index[k] and (known == 1 or index[k] == INDEX.impulsive):
            changed_events(model, t, k, before[k], index[k], 0, acting.u, acting.r, record)
    return 0


@unit(I(MODEL, A, A, RECORD))
def enter_forces(model, sum_r, sum_powers, record):
    """Enter the impulses and works of the smooth forces of a step into the books."""
    header = record.header
    add(sum_r, record.impulse)
    for i in range(sum_r.shape[0]):
        if sum_r[i] != 0.0:
            header.reacted = 1.0
    header.force_work += sum_powers[0]
    header.drive_work += sum_powers[1]
    for k in range(model.layout.nc):
        record.dissipation[k] += sum_powers[REPORTED.first_contact + k]
    return 0


@unit(I(MODEL, REACTION, A, F, F, I, ENDS.kind, LASTING.kind, RECORD))
def strike(model, reaction, settings, t, h, law, ends, room, record):
    """Solve the impact law at the end of a step (see `border`), and note that and how well it was solved."""
    settings = STAGE_SETTINGS(settings)
    status = border(model, reaction, t, h, settings.rest, law, ends, room, record)
    if status == 0:
        record.header.residual, record.header.reacted = larger(record.header.residual, ends.info[0]), 1.0
    return status


@unit(I(MODEL, A, F, F, I, I, A, ENDS.kind, LASTING.kind, RECORD))
def enter_impulse(model, settings, t, h, degree, known, r, ends, room, record):
    """Enter impulses, energy and events of an impact into the books; return the number of contacts struck."""
    impacts = strike_events(model, settings, t, h, degree, known, r, ends, room, record)
    add(ends.P, record.impulse)
    return impacts


@unit(I(MODEL, F, F, ENDS.kind, LASTING.kind, RECORD))
def put_back(model, tolerance, t, ends, room, record):
    """Put q and v back onto joints and held contacts (see `project`), and enter the impulses of that."""
    clear(ends.corrected)
    status = project(model, tolerance, t, ends, room)
    if status == 0:
        add(ends.corrected, record.impulse)
    return status


@unit(I(MODEL, ENDS.kind), small=True)
def set_changed(model, ends):
    """Return 1 where a contact has another place in the index set than before."""
    for k in range(model.layout.nc):
        if ends.before[k] != ends.index[k]:
            return 1
    return 0


@unit(I(MODEL, F, I, I, ENDS.kind, ACTING.kind, RECORD))
def index_events(model, t, struck, reversed_contact, ends, acting, record):
    """Write the events of all contacts whose place in the index set has changed; return 1 where one has.

    struck: 1 where an impact brought them to rest, which has an event of its own
    reversed_contact: one whose slip stopped there, so that it turned if it slips on, or -1
    """
    changed, index, before, stopped = 0, ends.index, ends.before, ends.stopped
    for k in range(model.layout.nc):
        if before[k] != index[k]:
            changed = 1
            changed_events(model, t, k, before[k], index[k], ends.resting[k] * struck, acting.u, acting.r, record)
        elif k == reversed_contact and stopped[k] == 1 and index[k] == INDEX.slip:
            new_event(t, k, EVENT.reversal, 0, 0, acting.u, acting.u, acting.r, record)
    return changed


@unit(I(MODEL, F, I, I, I, A, ENDS.kind, RECORD))
def close_books(model, t, pieces, n, at, r, ends, record):
    """Close the dense block of a step (see `close_block`) and write its violation."""
    close_block(model, t, pieces, n, at, r, record)
    record.header.violation = violation_of(model, ends.g)
    return 0
