"""The frame of a flight: settings, what a state remembers, all vectors of one step.

The parts of a flight (flight/flight.py) share it: every part takes the vectors that it needs by name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from saltus.compile.seam import head, smaller, tail, unit, whole
from saltus.compile.types import LAYOUT, MODEL, A, F, I
from saltus.compile.workspace import Numbers, RoomPlan, Workspace, any_of, integers, room
from saltus.flight.scan import scan_work
from saltus.flight.zeno import BOUNCING
from saltus.lasting.index_set import INDEX, WAY
from saltus.lasting.interval import INTERVALS, STAGE_SETTINGS
from saltus.lasting.workspace import ACTING, ENDS
from saltus.memory.layout import sizes_of
from saltus.memory.vectors import largest
from saltus.reaction.look import inspect_work

# Settings of a flight, behind those that all schemes with stages share. rtol, atol; zeno: speed of bounces that are
# followed to their accumulation [m/s], or FROM_PROMISE; drift: allowed to what is held, over the tolerance; leap: of a
# state on either side of a change of branches, over the tolerance: what moves gaps by more there is a jump; an impact
# has a window of window_factor (step size)^window_power [s]; anticipates: 1 where closings are forecast; many: flights
# up to which each has the same share of the tolerance; straight: way that a slip in space may go straight [m]; misses:
# what the equations of motion may miss inside of a flight, over the tolerance, 0 where steps follow none (inspect.py);
# rough: 1 where polynomials between the nodes are of lower order than the steps; ledger: 1 where kinetic energy and
# work of friction must agree (ledger.py); phase_at, promise_at: where the numbers of the phase and the promise
# (promise.py) stand.
FLIGHT_SETTINGS = Numbers(
    f"{' '.join(STAGE_SETTINGS.names)} rtol atol zeno drift leap window_factor window_power anticipates many straight "
    "misses rough ledger phase_at promise_at"
)
FROM_PROMISE = -1.0


class _Promise(NamedTuple):
    """Where the numbers of a promise stand."""

    # ---- the promise of a run (promise.py): begin and length of its span [s]; then vectors of scales, those of q, of
    # q as steps are judged (nq each), of v as intervals are judged, of v itself, of the coordinates that every
    # velocity moves (nv each), of impulses (nr); behind them how far gaps reach into the coordinates (nq)
    begin: int = 0
    span: int = 1
    scales: int = 2


PROMISE = _Promise()


class _Scale(NamedTuple):
    """Vectors of scales of a promise."""

    position: int = 0
    speed: int = 1
    velocity: int = 2
    place: int = 3
    push: int = 4


SCALE = _Scale()
DRIFT_DIGITS = 1e-12  # of the coordinates: digits of a gap that a drift may always have


# ---- numbers that the parts hand to each other
# nodes, table_at, samples_at: number of nodes of the polynomials, where their table and their samples stand in the
# settings; event_kind, which, place: what ends the flight, of which contact or event, where in it (1 is its end);
# length [s]; limit: longest flight that is allowed [s]; still: 1 where it ends as it begins; holding: 1 where contacts
# or joints are held; ...
FLIGHT_MARKS = Numbers(
    "nodes table_at samples_at event_kind which place length limit still holding near jammed_set stopping crossing "
    "pending end_known window used struck pieces_used foreseen late allowed ahead farthest_ahead sharper unresolved "
    "switched ending tried unsummed"
)


class _FlightEnd(NamedTuple):
    """Kinds of ends of a flight, beside those of lasting/transition.py."""

    # kinds of ends, beside those of lasting/transition.py
    nothing: int = 0
    strikes: int = 10
    crosses: int = 11


FLIGHT_END = _FlightEnd()


# ---- what a state remembers. unknown: 1 where forces have switched behind a flight in which nothing moved, so that its
# error estimate says nothing; valid: 0 before the first flight; longest: flight so far [s]; changed: 1 where it ended
# with an event; flights: how many led to it; spent: energy that contacts dissipated so far [J]; in_turn: impacts
# without duration that led to it, one after the other; struck: 1 behind the first impact; told: 1 where a row of the
# events says that its index set may move otherwise (grip.py). index: what each contact
# does; acting: what acts where the next flight begins; fired, last_values: of events; leapt: 1 for those of the user
# that a change of branches has led over zero; let_go: contacts that must not be held at once; seen: 0 for slips that
# began from rest and were slower than the tolerance since; fast: 1 for slips that have been much faster than the
# tolerance since they began; most_speed: largest velocities so far; led: how far velocities have led since the first
# impact, back and forth counted; pushed, most_pushed: impulses of all rows so far, and their largest; modes: of the
# switching functions (modes.py)
FLIGHT_MEMORY = Workspace(
    "FlightMemory", numbers=Numbers("valid longest changed flights unknown spent in_turn struck told"), index="nc",
    acting=ACTING, fired="ne", leapt="ne", let_go="nc", seen="nc", fast="nc", last_values="ne", most_speed="nv",
    led="nv", pushed="nr", most_pushed="nr", modes="ns",
)  # fmt: skip

FAST = 100.0  # times the slip that its velocity tells: what has been so fast has not just begun

# states at the nodes of the polynomials of a flight
NODES_ROOM = Workspace("Nodes", Q="nodes * nq", V="nodes * nv", Q_dot="nodes * nq", a="nodes * nv")

# ---- the frame: memory, as vectors and as all its numbers; vectors of one flight; its nodes; what its parts work with.
# ends: start and end of the flight; tie: the end once more, to try impacts in another order (tie.py); probe: what acts
# on states that are only looked at; slips, belts: velocities of the rows where a flight ends, and that of what moves
# below them [m/s]; gaps, leaps: those of contacts and joints before branches change, and by how much they may jump;
# known: how far the state is known; signs: event functions before branches change; micro_gaps: those with which
# bounces begin. interval: of the stages of implicit phases, with that of lasting contacts inside
FRAME = Workspace(
    "Frame",
    any_of(memory=FLIGHT_MEMORY, memory_numbers="memory"),
    kept="2", marks=FLIGHT_MARKS, ends=ENDS, tie=ENDS, probe=ACTING, q_shifted="nq", v_try="nv", gaps="nc + nj",
    leaps="nc + nj", known="nv", signs="ne", moved="nv", force="nv", a_last="nv", r_last="nr", powers_last="width",
    sum_r="nr", sum_powers="width", weights="nodes", nodes=NODES_ROOM,
    node_forces="nodes * nr", node_slips="nodes * nr", mass="size", scan="scan", micro=BOUNCING,
    micro_gaps="nc", stretch="nodes * (nodes + 1)", bounces="nv", q_middle="nq", v_middle="nv", tie_together="nv",
    slips="nr", belts="nr", leads="nr", way_before="2 * nc", kept_way="3 * nc", inspected="inspected", proof="proof",
    phase=room("phase"), interval=INTERVALS, ahead=integers("nc"), tied=integers("nc"),
    trial=integers("nc"), found=integers("4"),
)  # fmt: skip


class _Task(NamedTuple):
    """What a phase is asked for."""

    # ---- tasks of a phase: a step with its error estimate, the same for another size without it, the nodes of the
    # last one with the sums over it; nodes alone where most flights are made again up to an event (a phase may do all
    # of it), and the sums that this left out (marks.unsummed)
    attempt: int = 0
    again: int = 1
    fill: int = 2
    nodes: int = 3
    sums: int = 4


TASK = _Task()


def promise_size(layout) -> int:
    """Return how many numbers the promise has in the settings of a flight."""
    nq, nv, nr = int(layout.nq), int(layout.nv), int(layout.nr)
    return PROMISE.scales + 3 * nq + 3 * nv + nr


def frame_plan(
    layout, most_nodes: int, phase: RoomPlan, interval: dict[str, int], proof: int
) -> tuple[RoomPlan, RoomPlan]:
    """Return the plans of the memory of a flight and of its frame; interval: sizes of `INTERVALS`."""
    sizes: dict[str, Any] = {**sizes_of(layout), **interval}
    memory = FLIGHT_MEMORY.plan(sizes)
    sizes |= {
        "memory": memory.floats, "nodes": most_nodes, "phase": phase, "proof": proof,
        "scan": scan_work(layout, most_nodes), "inspected": inspect_work(layout),
    }  # fmt: skip
    return memory, FRAME.plan(sizes)


@unit(A(LAYOUT, A, I), small=True)
def promised(layout, settings, name):
    """Return a vector of scales of the promise."""
    settings = FLIGHT_SETTINGS(settings)
    nq, nv, nr, at = layout.nq, layout.nv, layout.nr, whole(settings.promise_at) + PROMISE.scales
    if name == SCALE.position:
        return head(tail(settings, at), nq)
    if name == SCALE.push:
        return head(tail(settings, at + 2 * nq + 3 * nv), nr)
    return head(tail(settings, at + 2 * nq + (name - SCALE.speed) * nv), nv)


@unit(F(LAYOUT, A, A), small=True)
def allowed_drift(layout, settings, q):
    """Return how far what is held may be from its place [m]: a multiple of the promise, and digits of coordinates."""
    settings = FLIGHT_SETTINGS(settings)
    length, scale = largest(q), largest(promised(layout, settings, SCALE.position))
    return settings.drift * (settings.atol * scale + settings.rtol * length) + DRIFT_DIGITS * length


@unit(A(LAYOUT, A), small=True)
def judged_by(layout, settings):
    """Return the scales by which a step is judged: those of q, then those of v."""
    settings = FLIGHT_SETTINGS(settings)
    return head(tail(settings, whole(settings.promise_at) + PROMISE.scales + layout.nq), layout.nq + layout.nv)


@unit(F(LAYOUT, A, F), small=True)
def slip_tolerance(layout, settings, share):
    """Return the absolute error that slips may have [m/s]: a share of the tolerance of the velocities."""
    settings = FLIGHT_SETTINGS(settings)
    speed = promised(layout, settings, SCALE.speed)
    least = speed[0]
    for i in range(layout.nv):
        least = smaller(least, speed[i])
    return share * settings.atol * least


@unit(F(LAYOUT, A), small=True)
def left_of_slip(layout, settings):
    """Return what may be left of a slip where it stops [m/s]: a tenth of what slips may be wrong by."""
    return slip_tolerance(layout, settings, 0.1)


@unit(F(LAYOUT, A), small=True)
def visible_slip(layout, settings):
    """Return the slip [m/s] up to which its direction is not known by its velocity: what slips may be wrong by."""
    return slip_tolerance(layout, settings, 1.0)


@unit(I(MODEL, A, I, FRAME.kind))
def see_slips(model, settings, jumped, frame):
    """Remember which slips began from rest and have been slower than the tolerance since; see WAY.unseen.

    jumped: 1 where velocities have changed at once, so that every slip has the direction of its velocity. Forces of
    those that the decision took as WAY.unseen do not turn with it: they go on so, however fast the decision made them.
    """
    settings = FLIGHT_SETTINGS(settings)
    layout, ends, seen, fast, u = (
        model.layout, frame.ends, frame.memory.seen, frame.memory.fast, frame.memory.acting.u
    )  # fmt: skip
    for k in range(layout.nc):
        fast[k] = 0.0 if ends.before[k] != INDEX.slip or ends.index[k] != INDEX.slip else fast[k]
        if frame.memory.acting.direction[2 * layout.nc + k] == WAY.unseen and ends.index[k] == INDEX.slip:
            seen[k] = 0.0
            continue
        square, slowest = 0.0, visible_slip(layout, settings)
        for i in range(layout[layout.contact_row + k] + 1, layout[layout.contact_row + k + 1]):
            square += u[i] * u[i]
        clear = FAST * slowest
        fast[k] = 1.0 if ends.index[k] == INDEX.slip and square > clear * clear else fast[k]
        if jumped == 1 or ends.before[k] != INDEX.slip or ends.index[k] != INDEX.slip:
            seen[k], slowest = 0.0, settings.rest
        if ends.index[k] == INDEX.slip and square > slowest * slowest:
            seen[k] = 1.0
    return 0


@unit(F(A), small=True)
def span_of(settings):
    """Return the length of the whole span [s]."""
    settings = FLIGHT_SETTINGS(settings)
    return settings[whole(settings.promise_at) + PROMISE.span]
