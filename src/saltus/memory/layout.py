"""The integer layout of a model: sizes, flags and sparsity tables in one array that every kernel can read.

layout[NQ] ... are numbers; layout[PERM] ... are offsets of tables inside the same array:
PERM, FIRST, START    the profile of M (memory/profile.py)
CONTACT_ROW           first row of each contact, then of the joints, then the end (nc + 2 entries)
KIND                  kind of each contact (laws/)
W_PTR, W_COL          sparse rows of W: contacts' rows (N | N, T | N, T1, T2), then joint rows
X_PTR, X_COL, X_POS   sparse rows of M^-1 W: all degrees of freedom that a row can move, and their profile positions
EVENT_TABLE           direction (-1, 0, 1), terminal (0, 1) and has_reset (0, 1) of each of the NE events: those of the
                      user, then NS switching functions of the model, which fall through zero where their branch ends
SWITCH_TABLE          place of its mode in `par` and kind of each of the NS switching functions (compile/switches.py)
TAPE                  gaps of the contacts for interval arithmetic (compile/tape.py), TAPE_SIZE integers; its numbers
                      stand at TAPE_NUMBERS of `par`, and it needs TAPE_WORK floats (0: there is none)
NOISE, HOLDING        where in `par` the noise of t, q and v stands, and a number that is FREE where no modes are held
                      (-1: there is none)
IMPACT_LAW            law of impacts of all contacts, by number (reaction/impacts)
JOINT_ORDER, JOINT_PTR, JOINT_COL
                      pattern of the joints' elimination along their graph, NL entries (reaction/joint_graph.py); none
                      where joints are eliminated densely
"""

from __future__ import annotations

import numpy as np

(
    NQ, NV, NC, NJ, NR, FLAGS, SIZE, NW, NX, NE, NS, NOISE, HOLDING, TAPE_SIZE, TAPE_WORK, TAPE_NUMBERS, IMPACT_LAW,
) = range(17)  # fmt: skip
(
    PERM, FIRST, START, CONTACT_ROW, KIND, W_PTR, W_COL, X_PTR, X_COL, X_POS, EVENT_TABLE, SWITCH_TABLE, TAPE,
) = range(17, 30)  # fmt: skip
NL, JOINT_ORDER, JOINT_PTR, JOINT_COL = range(30, 34)
HEADER = 34

# flags: what a kernel may skip
M_CONSTANT = 1  # M depends on nothing
W_CONSTANT = 2  # W and w depend on nothing
F_FREE = 4  # f depends on t at most: no Jacobian
F_LINEAR = 8  # f is affine in q and v: one Newton step is exact
J_CONSTANT = 16  # the Jacobians of f depend on nothing: with a constant M one factorisation serves every step
RATE_IDENTITY = 32  # q_dot = v
HAS_RETRACT = 64
TRUSTED = 512  # f, gaps and rows are constant or linear in q and v: what is quiet stays quiet until the next event
WILD = 1024  # some function may do between two places what cannot be told from its values there
WAVES = 2048  # sines or cosines, of which the fastest phase is known
WILD_SWITCHES = 16384  # some switching function, or an event of the user, may do so
F_WILD = 32768  # of them f or M: every look at them is an evaluation
F_STEADY = 4096  # f is affine in q and v and depends on no time while its branches are held
G_STRAIGHT = 8192  # gaps and joints are affine in q and t, made by arithmetic alone

SIZES = {
    "nq": NQ, "nv": NV, "nc": NC, "nj": NJ, "nr": NR, "size": SIZE, "nw": NW, "nx": NX, "ne": NE, "ns": NS, "nl": NL,
}  # fmt: skip
LAW_FLOATS = 3  # the constants of a model: (e, mu, e_t) per contact


def pack(numbers: dict[int, int], tables: dict[int, np.ndarray]) -> np.ndarray:
    """Return the layout array of sizes and tables."""
    header = np.zeros(HEADER, dtype=np.int64)
    for key, value in numbers.items():
        header[key] = value
    parts, end = [header], HEADER
    for key, table in tables.items():
        header[key] = end
        parts.append(np.asarray(table, dtype=np.int64))
        end += len(table)
    return np.concatenate(parts)


def sizes_of(layout: np.ndarray) -> dict[str, int]:
    """Return the sizes of a model by name, for plans of workspaces (compile/workspace.py)."""
    return {name: int(layout[place]) for name, place in SIZES.items()}
