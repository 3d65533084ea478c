"""The matrix of the stage equations of HpTDG: Jacobians at a state, factored once per interval."""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import head, larger, unit, whole
from saltus.compile.types import MODEL, RECORD, A, F, I, J
from saltus.flight.frame import FRAME
from saltus.lasting.hold import anything_acts
from saltus.lasting.index_set import INDEX
from saltus.lasting.interval import assemble, jacobians
from saltus.lasting.workspace import LASTING
from saltus.memory.full_matrix import factor_dense
from saltus.memory.layout import J_CONSTANT, M_CONSTANT, RATE_IDENTITY, W_CONSTANT
from saltus.memory.profile import multiply, solve
from saltus.memory.vectors import copy, copy_marks
from saltus.schemes.hp_tdg.numbers import GALERKIN, table_of
from saltus.tables.tableau import TAB

MASS_STEP = 1e-6  # of central differences of the mass matrix
UNMOVED = 1e-13  # of the parts of which the acceleration of a row consists: rounding


@unit(I(MODEL, A, F, A, A, A, FRAME.kind, RECORD))
def renew(model, settings, t, q, v, a, frame, record):
    """Take the Jacobians at a state with its acceleration, unless they are known and constant."""
    phase = GALERKIN(frame.phase)
    layout, numbers = model.layout, phase.numbers
    nv = layout.nv
    constant = (layout.features & J_CONSTANT) != 0 and (layout.features & M_CONSTANT) != 0
    acting = anything_acts(model, frame.ends.index) == 1
    if numbers.j_known == 1.0 and constant and (not acting or numbers.unmoved == 1.0):
        return 0
    room = frame.interval.lasting
    status = jacobians(
        model, t, q, v, frame.ends.index, frame.memory.acting.direction, phase.j_q,
        phase.j_v, phase.scratch, phase.jacobian_work, room,
        record,
    )  # fmt: skip
    numbers.j_known, numbers.factored_h, numbers.tried_h = 1.0 if status == 0 else 0.0, 0.0, 0.0
    numbers.unmoved = 1.0 if status == 0 and acting and constant and stay_as_they_are(model, frame) == 1 else 0.0
    J_q, J_v = phase.j_q, phase.j_v
    if status == 0 and not acting and (layout.features & M_CONSTANT) == 0 and (layout.features & RATE_IDENTITY) != 0:
        mass_turns(model, t, q, a, room, frame.mass, phase.scratch, J_q)
    stiffness, damping = 0.0, 0.0
    for i in range(nv):
        row_q, row_v = 0.0, 0.0
        for j in range(nv):
            row_q += abs(J_q[i * nv + j])
            row_v += abs(J_v[i * nv + j])
        stiffness, damping = larger(stiffness, row_q), larger(damping, row_v)
    numbers.rate = larger(damping, sqrt(stiffness))
    return status


@unit(I(MODEL, FRAME.kind))
def stay_as_they_are(model, frame):
    """Return 1 where no state changes the forces of the held rows: a block on a spring slides under its own weight.

    That of joints and contacts in the plane whose rows are constant; in space friction turns with its slip. `jacobians`
    has just looked at it.
    """
    layout, index = model.layout, frame.ends.index
    answer, held = GALERKIN(frame.phase).jacobian_work.answer, frame.interval.lasting.held
    if (layout.features & W_CONSTANT) == 0 or held.redundant > 0 or answer.pushes > UNMOVED:
        return 0
    for c in range(layout.nc):
        acts = index[c] == INDEX.slip or index[c] == INDEX.stick
        if acts and layout[layout.contact_row + c + 1] - layout[layout.contact_row + c] > 2:
            return 0
    return 1


@unit(I(MODEL, F, A, A, LASTING.kind, A, A, A))
def mass_turns(model, t, q, a, room, M, change, J_q):
    """Subtract M^-1 (dM/dq_j) a from the columns of J_q: what the same force does less where M is larger."""
    layout = model.layout
    nv, lu, column = layout.nv, room.lu, room.f
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


@unit(I(MODEL, A, I, F, I, FRAME.kind, J))
def factor_stages(model, settings, degree, h, trial, frame, pivots):
    """Factor the matrix of the stage equations for the known Jacobians, unless that was done.

    trial: 1 for an interval that an event may cut. Its length is often the one that was tried behind the last event:
    where Jacobians are constant, its factors are kept while those up to the event are made.
    """
    phase, nv = GALERKIN(frame.phase), model.layout.nv
    numbers, G = phase.numbers, phase.matrix
    stiff = whole(numbers.stiff)
    family = 2.0 * degree + stiff
    if numbers.factored_h == h and numbers.factored_for == family:
        return 0
    tab = table_of(settings, degree, stiff)
    first, end = whole(tab[TAB.first]), whole(tab[TAB.end])
    m = (end - first) * nv
    keeps = trial == 1 and (model.layout.features & J_CONSTANT) != 0 and (model.layout.features & M_CONSTANT) != 0
    if keeps and numbers.tried_h == h and numbers.tried_for == family:
        copy(phase.tried_matrix, head(G, m * m))
        copy_marks(phase.tried_pivots, pivots)
        numbers.factored_h, numbers.factored_for = h, family
        return 0
    assemble(tab, h, first, end, nv, phase.j_q, phase.j_v, 0, G)
    status = factor_dense(head(G, m * m), m, pivots)
    numbers.factored_h, numbers.factored_for = h if status == 0 else 0.0, family
    if keeps and status == 0:
        copy(head(G, m * m), head(phase.tried_matrix, m * m))
        copy_marks(pivots, head(phase.tried_pivots, m))
        numbers.tried_h, numbers.tried_for = h, family
    return status
