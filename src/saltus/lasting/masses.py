"""Factors of M in the workspace of lasting contacts: made once where M never changes."""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, A, F, I
from saltus.lasting.workspace import LASTING
from saltus.memory.layout import M_CONSTANT
from saltus.memory.profile import factor


@unit(I(MODEL, F, A, LASTING.kind), small=True)
def factored_masses(model, t, q, work):
    """Write the factors of M at q to work.lu, unless they are known and M is constant; return their status."""
    if work.known.factored != 0.0 and (model.layout.features & M_CONSTANT) != 0:
        return 0
    model.mass(t, q, model.par, work.lu)
    status = factor(model.layout, work.lu)
    if status == 0:
        work.known.factored = 1.0
    return status
