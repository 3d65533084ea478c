"""What kernels of lasting contact work with: one workspace for held rows, decisions, impacts and projections.

Who needs masses and rows of a state finds them here as the one before left them: factors of M, W, w and zeta.
"""

from __future__ import annotations

from saltus.compile.workspace import Numbers, Workspace, integers
from saltus.reaction.joint_graph import GRAPH
from saltus.reaction.react import REACTING

# Forces that are not unique (lasting/split.py). cones: first place in x, rows and contact of each; mu: of each; x:
# forces of the held rows; weight: what the square of a force counts; N: directions along which forces are free, the
# last one lowers all normal forces; y: how far along them; sizes: length of the forces [N],
# largest scale of their rows; trial, gradient, hessian, step: of Newton's method.
SPLITTING = Workspace(
    "Splitting", sizes=Numbers("load widest"), cones=integers("3 * nc"), mu="nc", x="nr", weight="nr",
    N="(nr + 1) * nr", y="nr + 1", gradient="nr + 1", hessian="(nr + 1) * (nr + 1)", step="nr + 1", trial="nr",
)  # fmt: skip
# Slips that begin together (lasting/begin.py). s, turned: of one contact in its plane; y, change: accelerations and
# their Newton step; kept_direction, kept_index: those before the search.
BEGINNING = Workspace(
    "Beginning", s="2", turned="2", y="nv", change="nv", matrix="nv * nv", kept_direction="2 * nc",
    kept_index=integers("nc"), pivots=integers("nv"),
)  # fmt: skip
# The last state whose force was asked for (lasting/force.py), if any, and the force.
ASKED_FORCE = Workspace("AskedForce", when=Numbers("known t"), q="nq", v="nv", f="nv")
# asked: see there. factored: 1 where lu holds the factors of M. lu, W, X = M^-1 W, w, zeta: of the last state that was
# looked at; f, column: scratch of the size of v. Held rows (lasting/hold.py): b, x: conditions and forces; scale: of
# the rows; slip: directions; lu_D, pivots, graph: factors of D = W^T X (lasting/held_rows.py); left: what solving
# leaves, with the null vectors behind it; directions: of forces that are free. held.count rows are held,
# held.redundant of them say nothing new, held.along: 1 where joints are eliminated along their graph; held.jam: the
# contact that jammed; held.ambiguous: 1 where not even the accelerations are unique; held.disagree: 1 where redundant
# rows ask for different ones; rows: which they are; shared: 1 per contact whose forces are not unique. target: of the
# law on velocity level, twice for Poisson's; q_dot: of a projection; active: contacts that a law is solved for.
LASTING = Workspace(
    "Lasting", known=Numbers("factored"), asked=ASKED_FORCE, lu="size", W="nw", X="nx", f="nv", column="nv", w="nr",
    zeta="nr", b="nr", x="nr", scale="nr", slip="nr", lu_D="nr * nr", left="nr * nr + nr", directions="nr * nr",
    graph=GRAPH, split=SPLITTING,
    begin=BEGINNING, target="2 * nr", q_dot="nq",
    held=Numbers("count redundant along jam ambiguous disagree", integer=True), rows=integers("nr"),
    pivots=integers("2 * nr"), shared=integers("nc"), active=integers("nc"), react=REACTING,
)  # fmt: skip

# What acts on a state: directions of its slips (see `slip_direction`), accelerations, forces and velocities of the
# rows, powers (see POWERS of lasting/hold.py).
ACTING = Workspace("Acting", direction="3 * nc", a="nv", r="nr", u="nr", powers="width")
# Both ends of a step, or of a piece of it. q_0, v_0: where it begins; q, v: where it ends; g: gaps and constraints
# there; a: acceleration there. What the law on velocity level does there (lasting/border.py): v_new: velocity behind
# it; P: impulses; u_minus, u_plus: row velocities before and behind it, u_start: those at the beginning; info: residual
# and sweeps; corrected: impulses of the projection. Per contact: index: what it does, before: what it did; closed: 1
# where the law acts on it; resting: 1 where it rests behind the law; stopped: 1 where a slip ends; held: how far it is
# put back; candidate: what is known of its next place in the index set (lasting/settle.py).
ENDS = Workspace(
    "Ends", q_0="nq", v_0="nv", q="nq", v="nv", v_new="nv", a="nv", g="nc + nj", P="nr", u_minus="nr", u_plus="nr",
    u_start="nr", corrected="nr", info="2", index=integers("nc"), before=integers("nc"), closed=integers("nc"),
    resting=integers("nc"), stopped=integers("nc"), held=integers("nc"), candidate=integers("nc"),
)  # fmt: skip
