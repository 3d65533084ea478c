"""Branches of traced functions: found where they end, held in between, whatever way they are written in."""

from __future__ import annotations

import itertools
import math
import threading

import numpy as np
import pytest
from scipy.interpolate import CubicSpline, PchipInterpolator

import saltus as sl
from saltus.compile.emit import interpreted
from saltus.compile.switches import FREE, Switches
from saltus.compile.trace import Trace

T = 10.1
BEGIN, END = 0.06 * T, 0.99 * T
SCHEMES = (sl.HpTDG(), sl.EventDriven())


def window(t, q, v):
    return [np.where((t > BEGIN) & (t < END), 2.3, 0.0)]


def window_by_if(t, q, v):
    if t > BEGIN and t < END:
        return [2.3]
    return [0.0]


def trapezoid(t, q, v):
    return [np.interp(t, [0.0, 2.0, 4.0, 8.0, 10.0], [0.0, 0.0, 2.3, 2.3, 0.0])]


def hann(t, q, v):
    return [2.3 * np.where((t > 3.0) & (t < 9.0), np.sin(np.pi * (t - 3.0) / 6.0) ** 2, 0.0)]


def rectified(t, q, v):
    return [np.maximum(np.cos(2.0 * t), 0.0)]


def square(t, q, v):
    return [np.sign(np.sin(2.0 * t))]


def sawtooth(t, q, v):
    return [t % 0.7]


def stairs(t, q, v):
    return [np.floor(t) - 3.0 * np.trunc(0.4 * t)]


# impulse of the force up to T
PUSHES = {
    window: 2.3 * (END - BEGIN),
    window_by_if: 2.3 * (END - BEGIN),
    trapezoid: 2.3 * (1.0 + 4.0 + 1.0),
    hann: 2.3 * 3.0,
    rectified: 0.0,
    square: 0.0,
    sawtooth: 14 * 0.5 * 0.49 + 0.5 * (T - 9.8) ** 2,
    stairs: sum(range(10)) + 10 * (T - 10.0) - 3.0 * (2.5 * (1 + 2 + 3) + 4 * (T - 10.0)),
}


@pytest.mark.parametrize("force", [window, window_by_if, trapezoid, hann, sawtooth, stairs], ids=lambda f: f.__name__)
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
def test_a_force_that_switches_gives_its_whole_impulse(force, scheme):
    for tol in (1e-4, 1e-10):
        sol = sl.solve(sl.System(M=1.0, f=force), (0.0, T), 0.0, 0.0, scheme=scheme, tol=tol, progress=False)
        assert sol.v[-1, 0] == pytest.approx(PUSHES[force], abs=5.0 * tol)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
def test_pieces_end_where_a_sine_changes_its_sign(scheme):
    for force in (rectified, square):
        sol = sl.solve(sl.System(M=1.0, f=force), (0.0, T), 0.0, 0.0, scheme=scheme, tol=1e-8, progress=False)
        zeros = (np.arange(6) + (0.5 if force is rectified else 1.0)) * np.pi / 2.0
        assert sol.switches["t"][-6:] == pytest.approx(zeros[zeros < T][-6:], abs=1e-12)
        assert all(np.min(np.abs(sol.t - zero)) < 1e-12 for zero in zeros[zeros < T])


def test_the_order_is_kept_through_a_kink_in_time_and_one_in_space():
    """A mass falls onto a spring: half a period of a sine between two parabolas."""
    k = 400.0
    sol = sl.solve(
        sl.System(M=1.0, f=lambda t, q, v: [-9.81 + k * np.maximum(-q[0], 0.0)]), (0.0, 1.2), 1.0, 0.0, tol=1e-11,
        progress=False,
    )  # fmt: skip
    w, u = math.sqrt(k), math.sqrt(2.0 * 9.81)
    depth = 9.81 / k
    lasting = (math.pi + 2.0 * math.atan2(depth * w, u)) / w  # in contact
    assert sol.switches["t"] == pytest.approx([u / 9.81, u / 9.81 + lasting], abs=1e-10)
    assert sol.work["steps"] <= 12


def test_a_start_on_a_surface_takes_the_branch_into_which_the_motion_goes():
    for v0, expected in ((1.0, 5.0), (-1.0, -3.0)):
        sol = sl.solve(
            sl.System(M=1.0, f=lambda t, q, v: [np.where(q[0] > 0.0, 5.0, -3.0)]), (0.0, 1.0), 0.0, v0, tol=1e-9,
            progress=False,
        )  # fmt: skip
        assert sol.v[-1, 0] == pytest.approx(v0 + expected, abs=1e-9)
        assert len(sol.switches) == 0
        assert sol.work["steps"] <= 3


def test_drag_is_smooth_from_rest():
    sol = sl.solve(
        sl.System(M=1.0, f=lambda t, q, v: [-9.81 - 0.3 * np.abs(v[0]) * v[0]]), (0.0, 2.0), 0.0, 0.0, tol=1e-10,
        progress=False,
    )  # fmt: skip
    limit = math.sqrt(9.81 / 0.3)
    assert sol.v[-1, 0] == pytest.approx(-limit * math.tanh(2.0 * 9.81 / limit), abs=1e-8)
    assert len(sol.switches) == 0


def test_what_rests_on_a_surface_does_not_leave_it():
    """A block at rest on the floor, whose drag and whose second floor have their kinks exactly there."""
    system = sl.System(
        M=1.0,
        f=lambda t, q, v: [-9.81 - np.abs(v[0]) * v[0] + np.where(q[0] > 0.0, 1.0, 0.0)],
        contacts=[sl.Contact(lambda q: q[0])],
    )
    sol = sl.solve(system, (0.0, 5.0), 0.0, 0.0, tol=1e-8, progress=False)
    assert np.all(sol.q == 0.0)
    assert len(sol.switches) == 0
    assert sol.work["steps"] <= 12


def test_a_moving_wall_with_corners_strikes_what_rests_on_it():
    """A table lifts a body with sudden speed: the contact strikes (e = 0) and carries it, and lets it go on top."""
    times, places = [0.0, 0.5, 1.0, 3.0], [0.0, 0.0, 1.0, 1.0]
    system = sl.System(M=1.0, f=[-9.81], contacts=[sl.Contact(lambda t, q: q[0] - np.interp(t, times, places))])
    for tol in (1e-4, 1e-9):
        sol = sl.solve(system, (0.0, 3.0), 0.0, 0.0, tol=tol, progress=False)
        impacts = sol.events[sol.events["kind"] == "impact"]
        landing = 1.0 + 2.0 * 2.0 / 9.81
        assert impacts["t"] == pytest.approx([0.5, landing], abs=1e-9)
        assert impacts["impulse"][:, 0] == pytest.approx([2.0, 2.0], abs=10.0 * tol)
        assert sol(0.75).q[0] == pytest.approx(0.5, abs=tol)


def test_a_road_of_straight_pieces_turns_a_bead():
    """Without restitution the part of the velocity along the next piece is kept."""
    corners, heights = [-9.0, 1.0, 9.0], [0.0, 0.0, 4.0]
    system = sl.System(M=1.0, f=[0.0, 0.0], contacts=[sl.Contact(lambda q: q[1] - np.interp(q[0], corners, heights))])
    for scheme in SCHEMES:
        sol = sl.solve(system, (0.0, 1.0), [0.0, 0.0], [4.0, 0.0], tol=1e-8, scheme=scheme, progress=False)
        along = 4.0 / 1.25 * np.array([1.0, 0.5])
        assert sol.v[-1] == pytest.approx(along, abs=1e-6)
        assert sol.q[-1] == pytest.approx([1.0, 0.0] + 0.75 * along, abs=1e-6)


def test_splines_of_many_knots_cost_few_steps():
    x = np.linspace(0.0, 20.0, 3601)
    spline = CubicSpline(x, np.sin(3.0 * x))
    sol = sl.solve(sl.System(M=1.0, f=lambda t, q, v: [spline(t)]), (0.0, 18.0), 0.0, 0.0, tol=1e-6, progress=False)
    assert sol.v[-1, 0] == pytest.approx((1.0 - math.cos(54.0)) / 3.0, abs=1e-6)
    assert sol.work["steps"] < 100
    coarse = PchipInterpolator([0.0, 1.0, 2.0, 3.0], [0.0, 2.0, 2.5, 0.0])
    sol = sl.solve(sl.System(M=1.0, f=lambda t, q, v: [coarse(t)]), (0.0, 3.0), 0.0, 0.0, tol=1e-11, progress=False)
    assert sol.v[-1, 0] == pytest.approx(float(coarse.integrate(0.0, 3.0)), abs=1e-11)
    assert sol.switches["t"] == pytest.approx([1.0, 2.0], abs=1e-12)


def test_forces_that_push_back_from_both_sides_are_refused():
    with pytest.raises(sl.RunError, match=r"Contact\(mu"):
        sl.solve(sl.System(M=1.0, f=lambda t, q, v: [-np.sign(v[0])]), (0.0, 2.0), 0.0, 1.0, tol=1e-6, progress=False)


def test_modes_belong_to_a_run_and_not_to_the_system():
    system = sl.System(M=1.0, f=lambda t, q, v: [np.where(q[0] > 0.3, -5.0, 2.0)])
    alone = [sl.solve(system, (0.0, 3.0), 0.0, v0, tol=1e-7, progress=False).q for v0 in (0.0, 0.5, 1.0, 1.5)]
    together: dict[int, np.ndarray] = {}

    def run(k: int) -> None:
        together[k] = sl.solve(system, (0.0, 3.0), 0.0, 0.5 * k, tol=1e-7, progress=False).q

    threads = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(alone[k], together[k]) for k in range(4))


def test_a_run_that_goes_on_from_a_checkpoint_keeps_its_branches(tmp_path):
    system = sl.System(M=1.0, f=lambda t, q, v: [-4.0 * np.sign(q[0]) + np.where(np.sin(3.0 * t) > 0.5, 1.0, 0.0)])
    whole = sl.solve(system, (0.0, 6.0), 1.0, 0.0, tol=1e-8, progress=False)
    file = tmp_path / "run.h5"
    with pytest.raises(sl.LimitError):
        sl.solve(system, (0.0, 6.0), 1.0, 0.0, tol=1e-8, progress=False, checkpoint=file, max_steps=7)
    resumed = sl.resume(file, system, progress=False)
    assert np.array_equal(whole.q, resumed.q)
    assert np.array_equal(whole.switches["t"], resumed.switches["t"])


# ---- expressions


def traced(function, n=1):
    trace = Trace()
    t, q, v = trace.variable("t"), trace.variables("q", n), trace.variables("v", n)
    exprs = trace.as_array(trace.call(function, t, q, v), (1,))
    switches = Switches(trace)
    return trace, switches, exprs, switches.hold(exprs)


def test_free_modes_change_nothing():
    spline = CubicSpline([0.0, 1.0, 2.0], [0.0, 1.0, 0.5])

    def function(t, q, v):
        x = np.abs(q[0]) * np.sign(v[0]) + np.maximum(t, q[0]) - np.minimum(v[0], 0.3) + np.copysign(t, v[0])
        x = x + np.floor(3.0 * q[0]) + np.ceil(2.0 * v[0]) + np.trunc(4.0 * q[0]) + t % 0.4 + spline(q[0])
        return [np.where((t > 0.5) | (q[0] < -0.2), np.sqrt(np.maximum(t - 0.5, 0.0)), x)]

    trace, _, exprs, held = traced(function)
    plain, free = (interpreted(made, ["t", "q", "v"]) for made in (exprs, held))
    rng, par = np.random.default_rng(1), None
    for _ in range(300):
        par = np.array(trace.constants)
        state = float(rng.uniform(-1, 2)), rng.uniform(-2, 2, 1), rng.uniform(-2, 2, 1)
        assert free(*state, par)[0] == pytest.approx(plain(*state, par)[0], rel=1e-15, abs=1e-15)


def test_a_held_branch_goes_on_beyond_its_end():
    trace, switches, _, held = traced(lambda t, q, v: [np.where(t > 1.0, np.sqrt(t - 1.0), t)])
    (switch,) = switches.found(list(held))
    run = interpreted(held, ["t", "q", "v"])
    par = np.array(trace.constants)
    assert par[switch.slot] == FREE
    par[switch.slot] = -1.0
    assert run(1.5, np.zeros(1), np.zeros(1), par)[0] == 1.5
    par[switch.slot], par[switches.holding] = 1.0, 0.0
    assert run(0.5, np.zeros(1), np.zeros(1), par)[0] == 0.0  # a root that ends at its edge


def test_one_switching_function_serves_all_that_depends_on_it():
    _, switches, _, held = traced(lambda t, q, v: [np.abs(q[0]) + np.sign(-q[0]) + np.where(q[0] < 0.0, t, 1.0)])
    assert len(switches.found(list(held))) == 1


def test_a_switching_function_counts_only_where_something_depends_on_it():
    _, switches, _, held = traced(lambda t, q, v: [np.where(t > 1.0, np.abs(q[0]), 0.0)])
    found = switches.found(list(held))
    guards = switches.guards(found, list(held))
    assert sorted(guard is None for guard in guards) == [False, True]


# ---- what cannot be traced


def opaque_window(t, q, v):
    n = 0
    while 0.1 * n < t:  # a loop whose length depends on time
        n += 1
    return [3.0 if 51 < n <= 53 else 0.0]


def test_a_longest_step_finds_what_an_opaque_force_does():
    system = sl.System(M=1.0, f=opaque_window)
    with pytest.warns(sl.SlowFunctionWarning):
        sol = sl.solve(system, (0.0, T), 0.0, 0.0, tol=1e-5, max_step=0.05, progress=False)
    assert np.max(np.diff(sol.t)) <= 0.05 * (1.0 + 1e-12)
    assert sol.v[-1, 0] == pytest.approx(0.6, abs=1e-3)
    assert "Kinks not seen: f" in sol.message


def test_a_longest_step_must_be_a_time_and_needs_a_scheme_that_chooses():
    system = sl.System(M=1.0, f=[0.0])
    with pytest.raises(sl.SettingError, match=r"max_step is -1\.0: it must be a positive time"):
        sl.solve(system, (0.0, 1.0), 0.0, 0.0, max_step=-1.0)
    with pytest.raises(sl.SettingError, match="choose h instead"):
        sl.solve(system, (0.0, 1.0), 0.0, 0.0, scheme=sl.MoreauJean(), h=0.1, max_step=0.01)


def test_a_run_begins_in_the_cell_of_its_start():
    """A ball above the third piece of a road whose first piece, drawn on, lies far above the start."""
    corners, heights = [-1.0, -0.5, -0.1, 3.0], [0.0, 4.0, 0.0, 0.0]
    system = sl.System(
        M=1.0, f=[0.0, -9.81], contacts=[sl.Contact(lambda q: q[1] - np.interp(q[0], corners, heights), e=0.5)]
    )
    for scheme in SCHEMES:
        sol = sl.solve(system, (0.0, 0.6), [0.0, 1.0], [1.0, 0.0], scheme=scheme, tol=1e-8, progress=False)
        assert sol.events["t"][0] == pytest.approx(math.sqrt(2.0 / 9.81), abs=1e-9)


STEPS = {
    "remainder of a floor": lambda t: np.where(np.floor(t / 0.7) % 2 == 0, 1.0, -0.5),
    "compared by less": lambda t: np.where(np.floor(t / 0.7) % 2 < 0.5, 1.0, -0.5),
    "integer division": lambda t: np.where((t // 0.7) % 3 == 1, 1.0, -0.5),
    "as a number": lambda t: 1.0 - 1.5 * (np.floor(t / 0.7) % 2),
    "ceil": lambda t: np.where(np.ceil(t / 0.7) % 2 == 1, 1.0, -0.5),
    "at least": lambda t: np.where(np.floor(t / 0.7) >= 2, 1.0, -0.5),
    "more than": lambda t: np.where(np.floor(t / 0.7) > 2, 1.0, -0.5),
    "one of them": lambda t: np.where(np.trunc(t / 0.7) == 3, 1.0, -0.5),
    "floor of a floor": lambda t: np.floor(np.floor(t / 0.7) / 2.0),
    "table of a floor": lambda t: np.interp(np.floor(t / 0.7), [0, 1, 2, 3, 4, 5, 7], [0, 2, -1, 1, 0.5, 0.2, 3]),
    "distance": lambda t: abs(np.floor(t / 0.7) - 2.0),
}


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("of", ["time", "place"])
def test_steps_that_are_chosen_by_other_steps_land_on_their_knots(step, of, scheme):
    system = sl.System(M=[1.0, 1.0], f=lambda t, q, v: [step(t if of == "time" else q[1]), 0.0])
    sol = sl.solve(system, (0.0, 5.0), [0.0, 0.0], [0.0, 1.0], tol=1e-8, scheme=scheme)
    knots = np.append(0.7 * np.arange(8), 5.0)
    impulse = sum((b - a) * float(step(0.5 * (a + b))) for a, b in itertools.pairwise(knots))
    assert sol.v[-1, 0] == pytest.approx(impulse, abs=1e-8)


TURN = 1.7


@pytest.mark.parametrize("scheme", SCHEMES, ids=["hp", "event-driven"])
@pytest.mark.parametrize(
    "torque",
    [
        lambda x: np.interp(x % TURN, [0.0, 0.5, 1.1, TURN], [1.0, 3.0, -2.0, 1.0]),  # a table over one turn
        lambda x: np.interp(np.minimum(x % TURN, 1.1), [0.0, 0.5, 1.1], [1.0, 3.0, -2.0]),
        lambda x: 1.0 if x % TURN < TURN else -5.0,
        lambda x: np.clip(x % TURN, 0.0, TURN),
        lambda x: abs(x - TURN * np.floor(x / TURN)),
        # the remainder of angles of either sign: what the first one moves moves the second, and this the table
        lambda x: np.interp(np.fmod(np.fmod(x, TURN) + TURN, TURN), [0.0, 0.5, 1.1, TURN], [1.0, 3.0, -2.0, 1.0]),
    ],
    ids=["table", "minimum", "if", "clip", "abs", "fmod of fmod"],
)
@pytest.mark.parametrize("start", [(0.2, 4.0), (3.0, -6.0)], ids=["up", "down"])
def test_what_ends_where_a_remainder_falls_back_begins_anew_with_it(torque, scheme, start):
    """Two branches end together, and one of them moves the other: a table over a turn does not go on beyond its end."""
    q0, v0 = start
    sol = sl.solve(sl.System(M=1.0, f=lambda t, q, v: [torque(q[0])]), (0.0, 3.0), q0, v0, scheme=scheme, tol=1e-8)
    low, high = sorted([q0, sol.q[-1, 0]])
    ends = np.concatenate([[low], TURN * np.arange(np.ceil(low / TURN), np.floor(high / TURN) + 1), [high]])
    places = np.concatenate([np.linspace(a, b, 2001) for a, b in itertools.pairwise(ends)])  # no piece across a jump
    work = sum((b - a) * float(torque(0.5 * (a + b))) for a, b in itertools.pairwise(places) if b > a)
    assert high - low > 2.0 * TURN
    assert abs(0.5 * sol.v[-1, 0] ** 2 - 0.5 * v0**2 - np.sign(v0) * work) < 1e-5


FAR_TURN = 1630.3538288185657
FAR_TABLE = [0.0, 1117.04, 1223.3, 1463.06, FAR_TURN], [26516.4, 60176.4, 9757.5, 22881.8, 26516.4]


@pytest.mark.parametrize("scheme", SCHEMES, ids=["hp", "event-driven"])
@pytest.mark.parametrize(
    "torque",
    [
        lambda x: np.interp((x % FAR_TURN + FAR_TURN) % FAR_TURN, *FAR_TABLE),
        lambda x: np.interp(np.clip(x % FAR_TURN, 0.0, FAR_TURN), *FAR_TABLE),
    ],
    ids=["remainder of a remainder", "clip"],
)
def test_a_knot_far_from_zero_is_crossed_once(torque, scheme):
    """At x = 5000 m rounding is 1e-12 m: more than what counts as closed at a fine tolerance."""
    system = sl.System(M=1.0, f=lambda t, q, v: [torque(q[0])])
    for start in np.linspace(4300.0, 4800.0, 12):
        sol = sl.solve(system, (0.0, 0.3), start, 8000.0, scheme=scheme, tol=1e-10)
        ends = np.concatenate([[start], FAR_TURN * np.add.outer([2, 3, 4], np.array(FAR_TABLE[0]) / FAR_TURN).ravel()])
        ends = np.unique(np.append(ends[(ends >= start) & (ends < sol.q[-1, 0])], sol.q[-1, 0]))
        work = sum((b - a) * float(torque(0.5 * (a + b))) for a, b in itertools.pairwise(ends))
        assert sol.q[-1, 0] > 4.0 * FAR_TURN
        assert abs(0.5 * sol.v[-1, 0] ** 2 - 0.5 * 8000.0**2 - work) < 1e-9 * work


GRID = np.array([[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]])


@pytest.mark.parametrize(
    "force",
    [
        lambda t, q, v: [np.interp(t, [0.0, 1.0, 1.0, 2.0], [0.0, 1.0, 5.0, 4.0])],
        lambda t, q, v: [np.interp(t, [0.5, 0.5, 1.0, 2.0, 2.0], [0.0, 1.0, 5.0, 4.0, 0.0])],
        lambda t, q, v: [np.interp(t, [0.0, 0.3, 1.0], [1.0, 5.0, 4.0], period=1.0)],
        lambda t, q, v: [np.interp(v[0], [-1.0, 0.2, 2.0], [np.interp(q[0], [0.0, 1.5], row) for row in GRID.T])],
    ],
    ids=["jumps", "jumps at its ends", "repeated from its end", "table of tables"],
)
def test_tables_that_jump_and_tables_of_tables_are_traced(force):
    sol = sl.solve(sl.System(M=1.0, f=force), (0.0, 3.0), 0.0, 0.0, tol=1e-10)
    assert "Kinks not seen" not in sol.message
    assert len(sol.switches) >= 2
    times = np.linspace(0.0, 3.0, 30_001)
    state = sol(times)
    sizes = np.array([force(*each)[0] for each in zip(times, state.q, state.v, strict=True)])
    assert abs(np.mean(0.5 * (sizes[1:] + sizes[:-1])) * 3.0 - sol.v[-1, 0]) < 1e-3  # a jump counts half a place


TURNS = sl.Parameters(part=0.75)


def stepped(x):
    """Steps whose conditions end where the steps do."""
    away = np.floor(x) if np.floor(2.0 * x) / 2.0 > -0.75 and np.trunc(x) < -1.75 else -1.25
    near = (
        x
        if np.heaviside(x - 1.25, 0.5) > 1.5 and np.interp(x, [-1.75, -0.75, -0.5], [1.0, 0.0, -0.5]) < 1.75
        else -1.25
    )
    return np.select([near < -1.0, away < 1.25], [np.mod(x, 0.5) - np.trunc(x), 1.5], 0.0)


@pytest.mark.parametrize("scheme", SCHEMES, ids=["hp", "event-driven"])
@pytest.mark.parametrize(
    "force",
    [
        lambda x: np.trunc(np.fmod(x, 2.0)),  # signs and cells of one another, all at x = -2
        lambda x: x % (2.0 * TURNS.part),  # a period that is computed
        lambda x: min(x, 2.0) % 1.0,  # constant on the very knot
        lambda x: np.floor(np.maximum(x, np.interp(x, [-1.75, -0.75, 0.25], [1.0, 3.0, 2.0]))),
        lambda x: np.where(np.minimum(np.floor(x), 1.0) >= 1.0, x % 1.5, 0.0),  # equal from there on
        lambda x: np.ceil(max(x, np.floor(x))),
        stepped,
    ],
    ids=["fmod", "computed period", "min", "floor of a table", "equal", "ceil", "steps"],
)
def test_branches_that_end_together_are_told_apart(force, scheme):
    sol = sl.solve(
        sl.System(M=1.0, f=lambda t, q, v: [12.0 + force(q[0])]), (0.0, 0.9), -2.3, 1.0, scheme=scheme, tol=1e-9
    )
    end = sol.q[-1, 0]
    edges = np.unique(np.append(np.arange(-110, 200) / 48.0, [-2.3, end]))  # all branches end on this grid
    edges = edges[(edges >= -2.3) & (edges <= end)]
    nodes, weights = np.polynomial.legendre.leggauss(2)
    width = np.diff(edges)
    places = edges[:-1, None] + 0.5 * width[:, None] * (nodes + 1.0)
    work = np.vectorize(lambda x: 12.0 + float(force(x)))(places) @ weights @ (0.5 * width)
    assert "Kinks not seen" not in sol.message
    assert end > 3.0
    assert abs(0.5 * sol.v[-1, 0] ** 2 - 0.5 - work) < 1e-7
