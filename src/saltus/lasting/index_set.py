"""The index set: which closed contacts push, stick or slip, decided by the contact law on acceleration level.

For contacts that are closed and neither approach nor separate the law between u and P holds between the gap
acceleration and the force r. Where a contact slips the direction of its friction is known; where it does not,
Coulomb's law acts on the tangential acceleration (Acary & Brogliato 2008, ch. 8).
"""

from __future__ import annotations

from math import sqrt

from saltus.compile.seam import larger, unit, whole
from saltus.compile.types import MODEL, REACTION, RECORD, A, F, I, J
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import CONTACT_ROW, FLAGS, LAW_FLOATS, M_CONSTANT, NC, NR, NV
from saltus.memory.profile import factor, solve
from saltus.reaction.react import SLIDING, row_add, row_dot, slide
from saltus.status import Status

STALLED, UNSOLVABLE = int(Status.CONTACT_STALLED), int(Status.CONTACT_UNSOLVABLE)
OPEN, SLIP, STICK, IMPULSIVE = range(4)  # what a contact does until the next decision
# how a contact takes part in a decision. CANDIDATE: the law decides; MUST_SLIP: it slips in its `direction`; UNTIED: it
# is released unless its force is positive; ON_CONE: `decide` found it sticking with a force on the edge of its cone
CANDIDATE, MUST_SLIP, UNTIED, ON_CONE = 1, 2, 3, 4
AT_REST = 1e-9  # acceleration of a row relative to the largest, those before reactions included, that counts as none
STICKING = 1.0 - 1e-10  # |r_T| below this share of mu r_N sticks


@unit(I(MODEL, REACTION, F, A, A, J, F, J, A, A, A, A, LASTING.kind, RECORD))
def decide(model, reaction, t, q, v, candidate, rolling, index, direction, a, r, info, work, record):
    """Write the index set of the candidates, their slip directions, the accelerations and the forces.

    model / reaction
    in      candidate: 0, CANDIDATE, MUST_SLIP or UNTIED per contact; rolling: slip speed that counts as none
    in/out  candidate: ON_CONE is written; direction: two numbers per contact, given for MUST_SLIP; r: warm start
    out     index, a, r; info: residual, sweeps
    A contact for which no force does what the law asks for (Painleve) becomes IMPULSIVE: the law on velocity level
    will treat it.
    """
    layout, par = model.layout, model.par
    nv, nc, nr = layout[NV], layout[NC], layout[NR]
    lu, W, X, f, column, w, zeta = work.lu, work.W, work.X, work.f, work.column, work.w, work.zeta
    target, active = work.target, work.active
    if work.known.factored == 0.0 or (layout[FLAGS] & M_CONSTANT) == 0:
        model.mass(t, q, par, lu)
        status = factor(layout, lu)
        if status != 0:
            return status
        work.known.factored = 1.0
    model.force(t, q, v, par, f)
    record.counters.force_calls += 1
    model.kinematics(t, q, par, W, w)
    model.curvature(t, q, v, par, zeta)
    status, unheld = 0, 0.0
    for attempt in range(2):
        solve(layout, lu, f, a, column)
        for i in range(nv):
            unheld = larger(unheld, abs(a[i]))
        for i in range(nr):
            target[i] = zeta[i]
        for c in range(nc):
            row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
            active[c] = 0
            if attempt == 0:
                index[c] = OPEN
            if candidate[c] == 0 or index[c] == IMPULSIVE:
                continue
            active[c] = 1
            if end - row == 1:
                continue
            if attempt == 1:  # the solver found nothing: forces of frictional contacts are left to the impulses
                index[c], active[c] = IMPULSIVE, 0
                continue
            speed = 0.0
            for i in range(row + 1, end):
                slip = row_dot(layout, W, i, v) + w[i]
                speed += slip * slip
            speed = sqrt(speed)
            if candidate[c] == MUST_SLIP or speed > rolling:
                for i in range(row + 1, end):
                    if candidate[c] != MUST_SLIP:
                        direction[2 * c + i - row - 1] = (row_dot(layout, W, i, v) + w[i]) / speed
                    target[i] = direction[2 * c + i - row - 1]
                active[c] = SLIDING
                slide(layout, lu, W, c, model.constants[LAW_FLOATS * c + 1], target, X, column)
                for i in range(nv):
                    column[i] = 0.0
                row_add(layout, X, row, 1.0, column)
                if not row_dot(layout, W, row, column) > 0.0:
                    # a push would press the contact together: released if it separates anyhow, else impulsive
                    gap_acceleration = zeta[row] + row_dot(layout, W, row, a)
                    index[c] = OPEN if gap_acceleration >= 0.0 else IMPULSIVE
                    active[c] = 0
        status = reaction.react(model, reaction.solver, lu, W, W, W, target, active, 0, a, r, info, work.react)
        record.counters.sweeps += whole(info[1])
        if status != STALLED and status != UNSOLVABLE:
            break
    if status != 0:
        return status
    for c in range(nc):
        row, end = layout[layout[CONTACT_ROW] + c], layout[layout[CONTACT_ROW] + c + 1]
        if active[c] == 0:
            continue
        if not r[row] > 0.0:
            # no force and no acceleration apart: held until a derivative decides
            size = larger(unheld, abs(zeta[row]))
            for i in range(nv):
                size = larger(size, abs(a[i]))
            if candidate[c] == UNTIED or not row_dot(layout, W, row, a) + zeta[row] <= AT_REST * size:
                continue
        index[c] = SLIP
        if active[c] == 1 and end - row > 1:
            friction = 0.0
            for i in range(row + 1, end):
                friction += r[i] * r[i]
            friction = sqrt(friction)
            cone = model.constants[LAW_FLOATS * c + 1] * r[row]
            # forces of redundant contacts may lie on the cone although nothing slips: the acceleration says so
            slides, size = 0.0, unheld
            for i in range(row + 1, end):
                slides = larger(slides, abs(row_dot(layout, W, i, a) + zeta[i]))
                size = larger(size, abs(zeta[i]))
            for i in range(nv):
                size = larger(size, abs(a[i]))
            rests = slides <= AT_REST * size and model.constants[LAW_FLOATS * c + 1] > 0.0
            if friction < STICKING * cone or rests:
                index[c] = STICK
            if not friction < STICKING * cone:
                candidate[c] = ON_CONE if rests else candidate[c]
                # a slip begins along its acceleration; friction says the same, but not where a contact carries nothing
                starts = 0.0
                for i in range(row + 1, end):
                    starts += (row_dot(layout, W, i, a) + zeta[i]) ** 2
                starts = sqrt(starts)
                for i in range(row + 1, end):
                    way = -r[i] / larger(friction, 1e-300)
                    if starts > AT_REST * size:
                        way = (row_dot(layout, W, i, a) + zeta[i]) / starts
                    direction[2 * c + i - row - 1] = way
    return 0
