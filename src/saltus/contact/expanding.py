"""What the expansion of Poisson's law works with (reaction/expansion.py); here, because `react` makes room for it."""

from __future__ import annotations

from saltus.compile.workspace import Workspace
from saltus.contact.semismooth_newton import BLOCK

MOST_ROWS = 300  # for which Newton's method is tried: its time grows with their third power

# few: rows, as long as they are not too many; unit_of, b, D: see `scaled`; P_s, P_new, low: scaled impulses and floors;
# error, step, J: of Newton's method
EXPANDING_AT_ONCE = Workspace(
    "ExpandingAtOnce", unit_of="few", b="few", P_s="few", P_new="few", error="few", step="few", low="nc", block=BLOCK,
    D="few * few", J="few * few",
)  # fmt: skip
# u_c: velocities at the end of the compression; floor: normal impulses that are given back at least; P_e, u_e:
# impulses and velocities of the expansion; y = X P_e; X_i: one row of X; D: 9 numbers per block; b_k, P_k, step: of one
# block
EXPANDING = Workspace(
    "Expanding", u_c="nr", P_e="nr", u_e="nr", floor="nc", y="nv", X_i="nv", D="9 * nc", b_k="3", P_k="3", step="3",
    at_once=EXPANDING_AT_ONCE,
)  # fmt: skip
