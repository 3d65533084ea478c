"""The integer layout of a model: sizes, flags and sparsity tables in one array that every kernel can read.

It is a vector whose places have names (LAYOUTS of compile/types.py). layout.nq ... layout.impact_law are numbers, of
which profile_size is the floats of M (memory/profile.py) and features the sum of the flags below; layout.perm ... are
offsets of tables inside the same array:
perm, first, start    the profile of M (memory/profile.py)
contact_row           first row of each contact, then of the joints, then the end (nc + 2 entries)
kind                  kind of each contact (laws/)
W_ptr, W_col          sparse rows of W: contacts' rows (N | N, T | N, T1, T2), then joint rows
X_ptr, X_col, X_pos   sparse rows of M^-1 W: all degrees of freedom that a row can move, and their profile positions
event_table           direction (-1, 0, 1), terminal (0, 1) and has_reset (0, 1) of each of the ne events: those of the
                      user, then ns switching functions of the model, which fall through zero where their branch ends
switch_table          place of its mode in `par` and kind of each of the ns switching functions (compile/switches.py)
tape                  gaps of the contacts for interval arithmetic (compile/tape.py), tape_size integers; its numbers
                      stand at tape_numbers of `par`, and it needs tape_work floats (0: there is none)
noise, holding        where in `par` the noise of t, q and v stands, and a number that is FREE where no modes are held
                      (-1: there is none)
impact_law            law of impacts of all contacts, by number (reaction/impacts)
joint_order, joint_ptr, joint_col
                      pattern of the joints' elimination along their graph, nl entries (reaction/joint_graph.py); none
                      where joints are eliminated densely
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from saltus.compile.types import LAYOUTS

Layout: TypeAlias = Any  # a vector of integers whose places have the names of LAYOUTS

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


def pack(numbers: dict[str, int], tables: dict[str, Any]) -> Layout:
    """Return the layout of sizes and tables, both by name."""
    header = LAYOUTS(np.zeros(LAYOUTS.size, dtype=np.int64))
    for name, value in numbers.items():
        setattr(header, name, value)
    parts, end = [header], LAYOUTS.size
    for name, table in tables.items():
        setattr(header, name, end)
        parts.append(np.asarray(table, dtype=np.int64))
        end += len(table)
    return LAYOUTS(np.concatenate(parts))


def sizes_of(layout: Layout) -> dict[str, int]:
    """Return the sizes of a model by name, for plans of workspaces (compile/workspace.py)."""
    return {
        "nq": int(layout.nq), "nv": int(layout.nv), "nc": int(layout.nc), "nj": int(layout.nj), "nr": int(layout.nr),
        "size": int(layout.profile_size), "nw": int(layout.nw), "nx": int(layout.nx), "ne": int(layout.ne),
        "ns": int(layout.ns), "nl": int(layout.nl),
    }  # fmt: skip
