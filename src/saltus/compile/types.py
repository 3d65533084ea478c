"""The contracts between kernels: records and pointer types. Every unit is declared with a type from here.

Model      the user's mechanics: functions, parameter values, constant matrices and laws, integer layout
Solver     how a contact problem is solved: method, laws of one block, elimination of joints
Reaction   a Solver and the correction of positions
Staged     a Reaction and the larger steps of schemes with stages
Plain      what a scheme that wraps no other works with: the parts of a Reaction, a Staged, and the parts of a flight
Scheme     a step over one interval; `inner` is a Plain (depth 0) or the scheme it wraps (depth n + 1)
Control    decides from the finished record of a step
State      what evolves: q, v and the scheme's memory, flat (`memory`) and as the scheme named it (`own`)
Record     what one step reports
Nodes      the tables of kept states
Contacts   a one-step contact problem as the solvers see it

X_RECORD is the type of the tuple as Python passes it to an entry, X that of its handle, which kernels take.
"""

from __future__ import annotations

import functools
from collections import namedtuple

from saltus.compile.kinds import ROOM, A, B, F, Handle, I, J, Pointer
from saltus.compile.kinds import Record as Members  # Record is the named tuple of a step
from saltus.compile.workspace import Numbers, Workspace, any_of, room

__all__ = ["ROOM", "A", "B", "F", "I", "J"]  # the letters of signatures, from here like the rest

# ---- model functions: status = function(...)
MASS = Pointer(I(F, A, A, A))  # t q par -> matrix in profile storage
FORCE = Pointer(I(F, A, A, A, A))  # t q v par -> f
JACOBIAN = Pointer(I(F, A, A, A, A, A))  # t q v par -> (df/dq) B, df/dv in profile storage
GAP = Pointer(I(F, A, A, A))  # t q par -> gaps of contacts, then joint constraints
KINEMATICS = Pointer(I(F, A, A, A, A))  # t q par -> W by sparse rows, w
CURVATURE = Pointer(I(F, A, A, A, A))  # t q v par -> zeta, one per row
RATE = Pointer(I(A, A, A, A))  # q v par -> q_dot = B(q) v
RETRACT = Pointer(I(A, A))  # q par -> q in place
SWITCH = Pointer(I(F, A, A, A, A))  # t q v par -> one value per event, which crosses zero there
SURFACE = Pointer(I(F, A, A, A, A))  # t q v par -> values, noise and cells of all switching functions
RESET = Pointer(I(I, F, A, A, A))  # number of the event t q v par -> q and v in place
REDUCE = Pointer(I(I, F, A, A, A, A, A))  # number t q v par, row of an event -> memory of a reducer of the user
LOOP = Pointer(I(F, A, A, A, I, A, A))  # t q v par, place of a group of rows in par -> two results (loops.py)
# of a model and its derivatives, which only studies of stability ask for (build/tangent.py); the plural for many states
INSTANT = Pointer(I(F, A, A, A, A))  # t q v par -> M, f, gaps, W, w, zeta, q_dot
INSTANTS = Pointer(I(I, A, A, A, A, A))  # number of states, then the same
TANGENT = Pointer(I(F, A, A, A, A, A, F, A, A, A, A))  # t q v a r par, direction dt dq dv dpar -> derivatives
TANGENTS = Pointer(I(I, I, A, A, A, A, A, A, A, A, A))  # numbers of states and directions, states, directions

# Values of a run: par, and of each contact restitution e, friction mu and tangential restitution e_t.
# Layout: sizes, features and tables of a model, see memory/layout.py; places from perm on say where tables begin
LAYOUTS = Numbers(
    "nq nv nc nj nr features profile_size nw nx ne ns noise holding tape_size tape_work tape_numbers impact_law "
    "perm first start contact_row kind W_ptr W_col X_ptr X_col X_pos event_table switch_table tape "
    "nl joint_order joint_ptr joint_col",
    integer=True,
)
LAYOUT = LAYOUTS.kind
Model = namedtuple(
    "Model", "mass force jacobian gap kinematics curvature rate retract switch surface reset par e mu e_t layout"
)
FUNCTIONS = [MASS, FORCE, JACOBIAN, GAP, KINEMATICS, CURVATURE, RATE, RETRACT, SWITCH, SURFACE, RESET]
MODEL_RECORD = Members([*FUNCTIONS, A, A, A, A, LAYOUT], Model)
MODEL = Handle(MODEL_RECORD)


# ---- one-step contact problem: u = W^T y + b with y = X P, laws between u and P block by block
# blocks: (kind, first row, rows) per block; rows: (W begin, W end, X begin, X end) per row into W_col/W and X_col/X
Contacts = namedtuple("Contacts", "nv blocks rows W_col W X_col X b mu")
CONTACTS_RECORD = Members([I, J, J, J, A, J, A, A, A], Contacts)
CONTACTS = Handle(CONTACTS_RECORD)

LOCAL = Pointer(I(I, F, A, A, A))  # kind mu D(3x3 flat) b -> P, the exact solution of one block
CONE = Pointer(I(I, F, A))  # kind mu -> P projected onto its set, in place
SOLVE = Pointer(I(CONTACTS, LOCAL, CONE, A, A, A, A, ROOM))  # .. settings P u info, with a room to work in

# a large problem that a team of threads sweeps over, see contact/coloured.py; colours to stream: contact/packed.py.
# P_old, y_old: P and y = X P after the sweep before; sums: two per chunk, for two sweeps; shared: what the team counts
Swept = namedtuple("Swept", "local cone colours header columns stream P P_old y y_old sums shared")
SWEPT = Handle(Members([LOCAL, CONE, J, J, J, A, A, A, A, A, A, J], Swept))
TEAM = Numbers("member members", integer=True)
TREAT = Pointer(I(SWEPT, I, I, I, I, F, F, A, A))  # .. mode, first contact, end, chunk, factor, ahead, sums, buffer
RESIDUAL = Pointer(F(CONTACTS, CONE, A, A, ROOM))  # P -> u; the scaled natural map
JOINTS = Pointer(I(MODEL, A, A, A, A, I, A, A, ROOM))  # see saltus/reaction/react.py

Solver = namedtuple("Solver", "solve local cone residual joints settings")
SOLVER_RECORD = Members([SOLVE, LOCAL, CONE, RESIDUAL, JOINTS, A], Solver)
SOLVER = Handle(SOLVER_RECORD)
# rows of W: of the forces, and of the conditions of contacts and of joints; schemes may take each at a time of its own
Directions = namedtuple("Directions", "forces contacts joints")
# see saltus/reaction/react.py
REACT = Pointer(I(MODEL, SOLVER, A, Handle(Members([A, A, A], Directions)), A, J, I, A, A, A, ROOM))
DRIFT = Pointer(I(MODEL, SOLVER, A, F, A, A, A, ROOM, ROOM))  # settings t q v P, its own room and that of `react`

Reaction = namedtuple("Reaction", "solver react drift")
REACTION_RECORD = Members([SOLVER_RECORD, REACT, DRIFT], Reaction)
REACTION = Handle(REACTION_RECORD)

# ---- forces that are not unique (lasting/split.py): x + N^T y holds the same contacts for every y. d directions N of n
# numbers each, the last one lowers all normal forces. cones: (first place in x, rows, contact) per contact whose forces
# N changes, with its mu; weight: what the square of a force counts
Split = namedtuple("Split", "cones mu x weight N y gradient hessian step trial")
SPLIT_RECORD = Members([J, A, A, A, A, A, A, A, A, A], Split)
SPLIT = Handle(SPLIT_RECORD)

# ---- stepping
STATES = Workspace("State", any_of(memory="memory", own=room("own")), q="nq", v="nv")
State, STATE = STATES.type, STATES.kind
# The header of a step. impulse, dissipation and residual are written only where `reacted` is 1. A step sets `terminal`
# to 1 to end the run; the march clears it before each step. Doubled steps report in units of the tolerance (1 is as
# large as it), 0 where there is none: depth that a contact gained (penetration), and the errors of q (misplaced) and of
# v (delayed) that come from not knowing when in the step an impact happened. next_h: length that a scheme proposes for
# its next step, also for one that is rejected.
HEADER = Numbers(
    "h_used error violation residual degree force_work drive_work dense_used events_used reacted terminal penetration "
    "misplaced delayed next_h"
)
COUNTERS = Numbers("force_calls jacobian_calls iterations sweeps", integer=True)
# inside: what flights found inside of them, in the order of reaction/look.py; the march clears it before each step
RECORDS = Workspace(
    "Record", header=HEADER, v_minus="nv", impulse="nr", dissipation="nc", events="events", dense="dense",
    counters=COUNTERS, inside="inside",
)  # fmt: skip
Record, RECORD = RECORDS.type, RECORDS.kind

# the larger steps of schemes with stages: behind pointers, so that what calls them does not compile them again
# (lasting/interval.py, lasting/settle.py). Rooms: both ends of the step, what acts at its start, [stages,] the interval
INTERVAL = Pointer(I(MODEL, REACTION, A, A, F, F, ROOM, ROOM, ROOM, ROOM, RECORD))  # settings, table, t, h
SETTLE = Pointer(I(MODEL, REACTION, A, F, I, I, ROOM, ROOM, ROOM, RECORD))  # settings, t, degree, struck
Staged = namedtuple("Staged", "reaction interval settle")
STAGED_RECORD = Members([REACTION_RECORD, INTERVAL, SETTLE], Staged)
STAGED = Handle(STAGED_RECORD)
# a part of a flight (flight/flight.py): model, staged, settings, task, t, h, its frame (flight/frame.py), record
PART = Pointer(I(MODEL, STAGED, A, I, F, F, ROOM, RECORD))
Plain = namedtuple("Plain", "solver react drift reaction staged phase depart find arrive")
PLAIN_RECORD = Members([SOLVER_RECORD, REACT, DRIFT, REACTION_RECORD, STAGED_RECORD, PART, PART, PART, PART], Plain)
PLAIN = Handle(PLAIN_RECORD)

Nodes = namedtuple("Nodes", "t q v ledger extra reactions")  # kept states, each part flat
NODES_RECORD = Members([A] * 6, Nodes)
NODES = Handle(NODES_RECORD)
Scheme = namedtuple("Scheme", "step inner settings")
Control = namedtuple("Control", "decide settings memory")
DECIDE = Pointer(I(A, HEADER.kind, F, F, A, A))  # settings header t h memory -> decision
CONTROL = Members([DECIDE, A, A], Control)


@functools.cache
def schemeMembers(depth: int) -> Members:
    """Return the record type of a scheme that wraps `depth` others (a pointer type cannot contain itself)."""
    inner = PLAIN_RECORD if depth == 0 else schemeMembers(depth - 1)
    return Members([step_type(depth), inner, A], Scheme)


@functools.cache
def scheme_handle(depth: int) -> Handle:
    """Return the handle type of such a record."""
    return Handle(schemeMembers(depth))


@functools.cache
def step_type(depth: int) -> Pointer:
    """Return the type of a step: model inner settings t h state -> state_new record, with a room to work in."""
    inner = PLAIN if depth == 0 else scheme_handle(depth - 1)
    return Pointer(I(MODEL, inner, A, F, F, STATE, STATE, RECORD, ROOM))


def depth_of(scheme) -> int:
    """Return how many schemes a record wraps."""
    return 0 if isinstance(scheme.inner, Plain) else 1 + depth_of(scheme.inner)
