"""What the loop over runs reads and writes: the numbers of all runs of a chunk, and the buffers of one thread.

Runs    rows of a chunk: what differs from run to run, where each run begins, how it ended, what was reduced; times at
        which steps of every run end (breaks)
Lane    what one thread has beside the buffers of a march (lane.py)

The numbers of a lane lie behind each other in one block: par, e, mu, e_t, settings of the scheme, settings of the
control, numbers of the user's own reducers. So whatever differs from run to run is a place in that block and a column.
"""

from __future__ import annotations

from collections import namedtuple

from saltus.compile.kinds import Record as Members
from saltus.compile.types import REDUCE, A, F, Handle, J
from saltus.compile.workspace import Numbers

# of each run: span [s], first step [s], time from which events count, period of the strobe [s] (0: there is none)
SPAN = Numbers("begin end h after period")
# reset: numbers of the block that a run may change, so that they are written anew for the next one; skip, keep: periods
# before the first section of the strobe, and sections; counted: 1 where the number of steps is known; max_steps: -1 for
# any; chain: runs that follow each other, each from the end of the one before (0: every run has its own start); single:
# 1 where some reducer wants to see every step; energy: 1 where the ledger is asked for; own_at: where
# the numbers of the user's reducers begin
RULES = Numbers("reset skip keep counted max_steps chain single energy own_at", integer=True)
# how a run went: attempts, and calls of the model
COUNTS = Numbers("steps rejected force_calls jacobian_calls iterations sweeps", integer=True)
# the largest of a run: residual of contact problems, violation at the ends of steps; what was found inside of steps
# (reaction/look.py); error: estimate in units of the tolerance; energy: kinetic at both ends, work, dissipation [J]
WORST = Numbers("residual end_violation defect violation excess load error kinetic_0 kinetic work dissipation")
# one reducer: what it looks at, which one of these, what it does, where its numbers begin in a row of `out`, how many
# rows it keeps, and a number of its own (reduce.py)
WATCH = Numbers("kind which action at room argument", integer=True)

Runs = namedtuple(
    "Runs", "base places values starts spans breaks rules watches own status counts ends worst out allowed nothing"
)
RUNS = Members([A, J, A, A, A, A, RULES.kind, J, REDUCE, J, J, A, A, A, F, A], Runs)

# run: the one at hand; segment, segments: of that run; begun, entered: 1 where the run and the segment are under way;
# looked: attempts when its pace was looked at. Of the lane, reached: state at which the run before ended; paced: when
# the pace was looked at
CURSOR = Numbers("run segment segments begun entered looked", integer=True)
Lane = namedtuple("Lane", "numbers work whole_work state state_new sums cursor reached paced g W w mass")
LANE = Members([A, A, J, A, A, A, CURSOR.kind, A, A, A, A, A, A], Lane)
RUNS_HANDLE, LANE_HANDLE = Handle(RUNS), Handle(LANE)
