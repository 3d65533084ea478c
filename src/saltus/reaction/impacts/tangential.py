"""Newton's law with tangential restitution: u_N+ = -e u_N-, and u_T+ = -e_t u_T- as far as friction can do that.

Only where something strikes: sliding, rolling and resting bodies do not feel e_t.
"""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, A, F, I
from saltus.reaction.impacts.newton import reacting, returned

__all__ = ["reacting", "returned"]

NAME, WORDS = "tangential", "tangential restitution (e_t > 0)"


@unit(I(MODEL, I, F, A, A), small=True)
def strike(model, contact, way, u, target):
    """Add e_t times the tangential velocities u before an impact to the target; way -1 takes them off again."""
    layout = model.layout
    row, end = layout[layout.contact_row + contact], layout[layout.contact_row + contact + 1]
    for r in range(row + 1, end):
        target[r] += way * (model.e_t[contact] * u[r])
    return 0
