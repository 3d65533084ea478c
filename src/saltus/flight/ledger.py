"""The energy of a flight in which something rubs: what its work and its kinetic energy disagree by.

Velocities are judged against the scale of the promise, however slow the motion is: the work of friction in a slip of
millimetres per second would be known to few digits. Kinetic energy and work are integrated by formulas of their own, so
that their difference tells how well both are known. It is judged against the energy that was moved so far; the first
motion out of rest would be judged against next to nothing, so that LEDGERS.slowest is what counts as moved at least.
"""

from __future__ import annotations

from typing import NamedTuple

from saltus.compile.seam import larger, tail, unit, whole
from saltus.compile.types import MODEL, A, F, I, J
from saltus.flight.frame import FLIGHT_SETTINGS, FRAME, SCALE, promised, span_of
from saltus.lasting.hold import REPORTED
from saltus.lasting.index_set import INDEX
from saltus.lasting.inertia import inertia_work
from saltus.memory.layout import M_CONSTANT
from saltus.memory.profile import multiply, quadratic


class _Ledgers(NamedTuple):
    """Tuned numbers of this file."""

    share: float = 0.1  # of the tolerance: what all flights of a run may disagree by together,
    # and what any of them may, which is above the accuracy of the stages of implicit methods
    share_of_one: float = 3e-4
    # of the energy that was moved: disagreements that shorter flights do not cure; where M changes its work is known by
    # differences (lasting/inertia.py)
    rounding: float = 1e-14
    differences: float = 1e-11
    # times the tolerance of velocities: the energy of a motion that is so slow counts as moved always
    slowest: float = 100.0
    faster: float = 2.0  # orders by which work converges faster than the estimate of the error of the motion, at most


LEDGERS = _Ledgers()


@unit(I(MODEL, J), small=True)
def rubs(model, index):
    """Return 1 where a contact slips with friction."""
    for c in range(model.layout.nc):
        if index[c] == INDEX.slip and model.mu[c] > 0.0:
            return 1
    return 0


@unit(F(MODEL, A, F, F, F, FRAME.kind))
def ledger_error(model, settings, t, h, degree, frame):
    """Return the disagreement of kinetic energy and work over a flight of length h, over what is allowed.

    Given as an error that grows with the power `degree` of h, as the estimate of the motion does.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, flags = model.layout, model.layout.features
    if settings.ledger == 0.0 or rubs(model, frame.ends.index) == 0:
        return 0.0
    nv, marks, nodes = layout.nv, frame.marks, frame.nodes
    v_0, v, M, sums = frame.ends.v_0, frame.ends.v, frame.mass, frame.sum_powers
    change, push = frame.moved, frame.force
    model.mass(t, frame.ends.q_0, model.par, M)
    for i in range(nv):
        change[i] = LEDGERS.slowest * settings.atol * promised(layout, settings, SCALE.velocity)[i]
    least = 0.5 * quadratic(layout, M, change)
    first = 0.5 * quadratic(layout, M, v_0)
    gained = -first
    if (flags & M_CONSTANT) != 0:
        # of a small change of a large energy more digits are left this way
        for i in range(nv):
            change[i], push[i] = v[i] - v_0[i], 0.0
        multiply(layout, M, change, push)
        gained = 0.0
        for i in range(nv):
            gained += 0.5 * (v[i] + v_0[i]) * push[i]
        last = first + gained
    else:
        tab = tail(settings, whole(marks.table_at))
        model.mass(t + h, frame.ends.q, model.par, M)
        last = 0.5 * quadratic(layout, M, v)
        gained += last - inertia_work(model, tab, t, h, nodes.Q, nodes.V, nodes.Q_dot, frame.q_shifted, M)
    moved = (
        larger(frame.memory.numbers.spent, least) + first + last + abs(sums[REPORTED.power]) + abs(sums[REPORTED.drive])
    )
    gained -= sums[REPORTED.power] + sums[REPORTED.drive]
    for c in range(layout.nc):
        gained += sums[REPORTED.first_contact + c]
        moved += abs(sums[REPORTED.first_contact + c])
    share = settings.rtol * settings.ledger * larger(LEDGERS.share * h / span_of(settings), LEDGERS.share_of_one)
    allowed = larger(share, LEDGERS.rounding if (flags & M_CONSTANT) != 0 else LEDGERS.differences) * moved
    return (abs(gained) / allowed) ** (degree / (degree + LEDGERS.faster)) if allowed > 0.0 else 0.0
