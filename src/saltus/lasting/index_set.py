"""The index set: which closed contacts push, stick or slip, decided by the contact law on acceleration level.

For contacts that are closed and neither approach nor separate the law between u and P holds between the gap
acceleration and the force r. Where a contact slips the direction of its friction is known; where it does not,
Coulomb's law acts on the tangential acceleration (Acary & Brogliato 2008, ch. 8).
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from saltus.compile.seam import handle, larger, unit, whole
from saltus.compile.types import MODEL, REACTION, RECORD, A, Directions, F, I, J
from saltus.lasting.force import find_force
from saltus.lasting.masses import factored_masses
from saltus.lasting.workspace import ACTING, LASTING
from saltus.memory.profile import solve, solve_row
from saltus.memory.vectors import clear, largest
from saltus.reaction.react import ASKED, SLIDING, row_add, row_dot, slide
from saltus.status import Status


class _Index(NamedTuple):
    """What a contact does until the next decision."""

    open: int = 0
    slip: int = 1
    stick: int = 2
    impulsive: int = 3


INDEX = _Index()


class _Role(NamedTuple):
    """How a contact takes part in a decision."""

    # how a contact takes part in a decision. candidate: the law decides; must_slip: it slips in its `direction`;
    # untied: it is released unless it carries something; on_cone: `decide` found it sticking with a force on the edge
    # of its cone
    candidate: int = 1
    must_slip: int = 2
    untied: int = 3
    on_cone: int = 4


ROLE = _Role()


class _Decision(NamedTuple):
    """Tuned numbers of this file."""

    # acceleration of a row relative to the largest, those before reactions included, that counts as none
    at_rest: float = 1e-9
    sticking: float = 1.0 - 1e-10  # |r_T| below this share of mu r_N sticks


DECISION = _Decision()


class _Way(NamedTuple):
    """What a slip in space does, the third number of its direction."""

    turning: float = 0.0  # it turns with its velocity
    straight: float = 1.0  # it goes straight on from rest
    braking: float = -1.0  # it goes straight on to its end
    unseen: float = 2.0  # it has been too slow since it began for its velocity to tell a direction


WAY = _Way()


@unit(I(MODEL, REACTION, F, A, A, J, F, J, ACTING.kind, A, LASTING.kind, RECORD))
def decide(model, reaction, t, q, v, candidate, rolling, index, acting, info, work, record):
    """Write the index set of the candidates, their slip directions, the accelerations and the forces.

    model / reaction
    in      candidate: 0, ROLE.candidate, ROLE.must_slip or ROLE.untied per contact; rolling: slip speed that counts as
            none
    in/out  candidate: ROLE.on_cone is written; acting.direction: two numbers per contact, given for ROLE.must_slip;
            .r: a guess
    out     index; acting: a, r; info: residual, sweeps
    A contact for which no force does what the law asks for (Painleve) becomes INDEX.impulsive: the law on velocity
    level
    will treat it.
    """
    layout, par, a = model.layout, model.par, acting.a
    lu, W, f = work.lu, work.W, work.f
    status = factored_masses(model, t, q, work)
    if status != 0:
        return status
    find_force(model, t, q, v, work, record)
    model.kinematics(t, q, par, W, work.w)
    model.curvature(t, q, v, par, work.zeta)
    unheld = 0.0
    for attempt in range(2):
        solve(layout, lu, f, a, work.column)
        for i in range(layout.nv):
            unheld = larger(unheld, abs(a[i]))
        ask_law(model, attempt, v, candidate, rolling, index, acting, work)
        status = reaction.react(
            model, reaction.solver, lu, handle(Directions(W, W, W)), work.target, work.active, ASKED.whole, a, acting.r,
            info, work.react,
        )  # fmt: skip
        record.counters.sweeps += whole(info[1])
        if status != Status.CONTACT_STALLED and status != Status.CONTACT_UNSOLVABLE:
            break
    if status == 0:
        for c in range(layout.nc):
            place_contact(model, c, unheld, candidate, index, acting, work)
    return status


@unit(I(MODEL, I, A, J, F, J, ACTING.kind, LASTING.kind))
def ask_law(model, attempt, v, candidate, rolling, index, acting, work):
    """Write which contacts the law is solved for and with which rows; work.target: row accelerations without forces.

    Slips go on in the direction of their velocity, unless that is not known (ROLE.must_slip, WAY.unseen).
    attempt: 1 where the solver found nothing: then forces of frictional contacts are left to the impulses
    """
    layout, lu, W, X, column, w, zeta = model.layout, work.lu, work.W, work.X, work.column, work.w, work.zeta
    target, active, a, direction = work.target, work.active, acting.a, acting.direction
    for i in range(layout.nr):
        target[i] = zeta[i]
    for c in range(layout.nc):
        row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
        active[c] = 0
        if attempt == 0:
            index[c] = INDEX.open
        if candidate[c] == 0 or index[c] == INDEX.impulsive:
            continue
        active[c] = 1
        if end - row == 1:
            continue
        if attempt == 1:
            index[c], active[c] = INDEX.impulsive, 0
            continue
        speed = 0.0
        for i in range(row + 1, end):
            slip = row_dot(layout, W, i, v) + w[i]
            speed += slip * slip
        speed = sqrt(speed)
        known = candidate[c] == ROLE.must_slip or direction[2 * layout.nc + c] == WAY.unseen
        if candidate[c] == ROLE.must_slip or speed > rolling:
            for i in range(row + 1, end):
                if not known:
                    direction[2 * c + i - row - 1] = (row_dot(layout, W, i, v) + w[i]) / speed
                target[i] = direction[2 * c + i - row - 1]
            active[c] = SLIDING
            slide(layout, lu, W, c, model.mu[c], target, X, column)
            for i in range(layout.nv):
                column[i] = 0.0
            row_add(layout, X, row, 1.0, column)
            if not row_dot(layout, W, row, column) > 0.0:
                # a push would press the contact together: released if it separates anyhow, else impulsive
                gap_acceleration = zeta[row] + row_dot(layout, W, row, a)
                index[c] = INDEX.open if gap_acceleration >= 0.0 else INDEX.impulsive
                active[c] = 0
    return 0


@unit(I(MODEL, I, F, J, J, ACTING.kind, LASTING.kind))
def place_contact(model, c, unheld, candidate, index, acting, work):
    """Write the place of a contact in the index set, by its force and acceleration; unheld: largest without forces."""
    layout, W, zeta, active, a, r = model.layout, work.W, work.zeta, work.active, acting.a, acting.r
    row, end = layout[layout.contact_row + c], layout[layout.contact_row + c + 1]
    if active[c] == 0 or (candidate[c] == ROLE.untied and carries(model, c, unheld, acting, work) == 0):
        return 0
    if not r[row] > 0.0:
        # no force and no acceleration apart: held until a derivative decides
        size = larger(larger(unheld, abs(zeta[row])), largest(a))
        if not row_dot(layout, W, row, a) + zeta[row] <= DECISION.at_rest * size:
            return 0
    index[c] = INDEX.slip
    if active[c] != 1 or end - row == 1:
        return 0
    # forces of redundant contacts may lie on the cone although nothing slips: the acceleration says so
    friction, starts, slides, size = 0.0, 0.0, 0.0, unheld
    for i in range(row + 1, end):
        change = row_dot(layout, W, i, a) + zeta[i]
        friction += r[i] * r[i]
        starts += change**2
        slides = larger(slides, abs(change))
        size = larger(size, abs(zeta[i]))
    size, friction, starts = larger(size, largest(a)), sqrt(friction), sqrt(starts)
    cone = model.mu[c] * r[row]
    rests = slides <= DECISION.at_rest * size and model.mu[c] > 0.0
    if friction < DECISION.sticking * cone or rests:
        index[c] = INDEX.stick
    if not friction < DECISION.sticking * cone:
        candidate[c] = ROLE.on_cone if rests else candidate[c]
        # a slip begins along its acceleration; friction says the same, but not where a contact carries nothing
        for i in range(row + 1, end):
            way = -r[i] / larger(friction, 1e-300)
            if starts > DECISION.at_rest * size:
                way = (row_dot(layout, W, i, a) + zeta[i]) / starts
            acting.direction[2 * c + i - row - 1] = way
    return 0


@unit(I(MODEL, I, F, ACTING.kind, LASTING.kind))
def carries(model, c, unheld, acting, work):
    """Return 1 where the normal force of a contact moves its own row, 0 where it is only rounding.

    Where two contacts let go at one time, as those of a block that is lifted flat, rounding says which of them comes
    first, and that the other one holds what is left. It would be let go of next, in favour of the first one, and so on.
    """
    layout, W, X, column, a = model.layout, work.W, work.X, work.column, acting.a
    row = layout[layout.contact_row + c]
    solve_row(layout, work.lu, W, row, X, column)
    clear(column)
    row_add(layout, X, row, acting.r[row], column)
    size = larger(larger(unheld, abs(work.zeta[row])), largest(a))
    return 1 if row_dot(layout, W, row, column) > DECISION.at_rest * size else 0
