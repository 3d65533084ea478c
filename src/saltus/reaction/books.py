"""The books of a step: its header begins with nothing, and ends with the largest violation of contacts and joints."""

from __future__ import annotations

from saltus.compile.seam import unit
from saltus.compile.types import MODEL, RECORD, A, F, I
from saltus.memory.vectors import clear


@unit(I(MODEL, F, F, RECORD), small=True)
def open_books(model, h, degree, record):
    """Write the header of a step that has done nothing yet; what contacts dissipate becomes zero."""
    header = record.header
    header.h_used, header.error, header.residual, header.degree = h, 0.0, 0.0, degree
    header.dense_used, header.events_used, header.violation = 0.0, 0.0, 0.0
    header.force_work, header.drive_work, header.reacted = 0.0, 0.0, 1.0 if model.layout.nj > 0 else 0.0
    clear(record.dissipation)
    return 0


@unit(F(MODEL, A), small=True)
def violation_of(model, g):
    """Return the deepest penetration or the largest error of a joint [m], of the gaps and constraints g."""
    nc, violation = model.layout.nc, 0.0
    for j in range(nc + model.layout.nj):
        depth = -g[j] if j < nc else abs(g[j])
        if depth > violation or depth != depth:  # a gap that is not a number must not pass, nor be forgotten
            violation = depth
    return violation
