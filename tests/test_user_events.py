"""Events that users define: their checks, compiled units, and how a run with them steps, ends and is kept."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

import saltus as sl
from extras import needs_jit
from saltus.build.model import compile_model
from saltus.compile.seam import unit
from saltus.compile.types import DECIDE, STATE, A, F, I, step_type
from saltus.compile.workspace import Workspace
from saltus.contact import Direct
from saltus.control import Fixed
from saltus.io import results
from saltus.io.format import Content, read
from saltus.memory import layout as lay
from saltus.memory.record import EVENT
from saltus.reaction.report import new_event
from saltus.schemes.plan import SchemePlan, reaction_plan
from saltus.schemes.traits import Traits

G = 9.81
ROUNDING = 1e-12
BALL = sl.System(M=1.0, f=-G, name="ball")


# ---- a scheme for these tests: exact flight under a constant force, events by bisection


WORK = Workspace("Flight", f="nv", before="ne", after="ne")


@dataclasses.dataclass(frozen=True)
class Flight:
    """Exact under a constant force and unit mass; `longest` is the step that it estimates an error of 1 for [s]."""

    longest: float = math.inf
    name = "flight"
    traits = Traits(adaptive=True, locates_events=True)

    def control(self):
        return Halving()

    def plan(self, layout: np.ndarray) -> SchemePlan:
        return SchemePlan(
            scheme=self,
            step=fly,
            settings=np.array([self.longest]),
            inner=reaction_plan(layout, Direct(), drift=False),
            work=WORK.plan(lay.sizes_of(layout)),
            dense=0,
            events=1,
        )

    def interpolate(self, s, h, start, end, block, side):
        acceleration = (end.v_minus - start.v) / h
        return start.q + s * h * start.v + 0.5 * (s * h) ** 2 * acceleration, start.v + s * h * acceleration


@dataclasses.dataclass(frozen=True)
class Halving:
    """Halve steps with an error above 1 and double the others."""

    name = "halving"
    kernel_memory = 0

    @property
    def kernel(self):
        return halve

    def settings(self) -> np.ndarray:
        return np.zeros(1)


@unit(DECIDE)
def halve(settings, header, t, h, memory, decision):
    if header.error > 1.0:
        decision[0] = 0.5 * h
        return 1
    decision[0] = 2.0 * h
    return 0


@unit(I(A, F, STATE, STATE))
def move(f, s, state, state_new):
    for i in range(state.v.shape[0]):
        state_new.q[i] = state.q[i] + s * state.v[i] + 0.5 * s * s * f[i]
        state_new.v[i] = state.v[i] + s * f[i]
    return 0


@unit(I(F, F, I))
def crossed(before, after, direction):
    fell, rose = before > 0.0 and after <= 0.0, before < 0.0 and after >= 0.0
    return 1 if (fell and direction <= 0) or (rose and direction >= 0) else 0


@unit(step_type(0))
def fly(model, reaction, settings, t, h, state, state_new, record, room):
    layout, par, header = model.layout, model.par, record.header
    nv, ne = layout.nv, layout.ne
    work = WORK(room)
    f, before, after = work.f, work.before, work.after
    model.force(t, state.q, state.v, par, f)
    model.switch(t, state.q, state.v, par, before)
    used, met = h, -1
    for k in range(ne):
        direction = layout[layout.event_table + 3 * k]
        move(f, used, state, state_new)
        model.switch(t + used, state_new.q, state_new.v, par, after)
        if crossed(before[k], after[k], direction) == 1:
            low = 0.0
            met = k
            for _ in range(80):
                middle = 0.5 * (low + used)
                move(f, middle, state, state_new)
                model.switch(t + middle, state_new.q, state_new.v, par, after)
                if crossed(before[k], after[k], direction) == 1:
                    used = middle
                else:
                    low = middle
    move(f, used, state, state_new)
    header.h_used, header.error, header.degree, header.dense_used = used, h / settings[0], 1.0, 0.0
    header.residual, header.violation, header.force_work, header.drive_work = 0.0, 0.0, 0.0, 0.0
    header.events_used, header.reacted = 0.0, 0.0
    for i in range(nv):
        record.v_minus[i] = state_new.v[i]
    if met >= 0:
        table = layout.event_table + 3 * met
        new_event(t + used, layout.nc + met, EVENT.user, 0, 0, record.impulse, record.impulse, record.impulse, record)
        header.reacted = 1.0
        header.terminal = layout[table + 1]
        if layout[table + 2] == 1:
            model.reset(met, t + used, state_new.q, state_new.v, par)
    return 0


FLOOR = sl.Event(lambda q: q[0], direction=-1, reset=lambda t, q, v: (0.0 * q, -0.5 * v), name="floor")
APEX = sl.Event(lambda t, q, v: v[0], direction=-1, name="apex")
LATE = sl.Event(lambda t, q: q[0] + 100.0 * (t - 1.2), terminal=True, name="late")


def drop(t_end=1.34, events=(FLOOR, APEX), **options) -> sl.Solution:
    return sl.solve(BALL, (0.0, t_end), 1.0, 0.0, **{"scheme": Flight(), "events": events, **options})


def bounces(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the times of the first impacts of a ball from 1 m with e = 1/2, and of the apexes after them."""
    first = math.sqrt(2.0 / G)
    flights = first * 0.5 ** np.arange(n)  # half of the flight after each impact: it leaves with half the speed
    impacts = first + np.concatenate([[0.0], np.cumsum(flights[:-1])])
    return impacts, impacts + 0.5 * flights


# ---- what an Event accepts


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"function": 3.0}, r"function of an event must be a function of \(q\), .* not 3.0"),
        ({"function": lambda: 0.0}, r"function of an event takes 0 arguments: it must take \(q\), \(t, q\)"),
        ({"function": lambda *a: 0.0}, r"function of an event takes \*args: write its arguments out"),
        ({"direction": 2}, r"direction of event 'stop' is 2: it must be -1 \(falling\), 1 \(rising\) or 0"),
        ({"direction": True}, "direction of event 'stop' is True"),
        ({"direction": "up"}, "direction of event 'stop' is 'up'"),
        ({"direction": np.array([1, 1])}, "direction of event 'stop' is array"),
        ({"terminal": 1}, "terminal of event 'stop' is 1: it must be True or False"),
        ({"name": 7}, "name of an event must be text, not 7"),
        ({"reset": 1.0}, r"reset of event 'stop' must be a function of \(t, q, v\) returning \(q, v\), not 1.0"),
        ({"reset": lambda q, v: (q, v)}, r"reset of event 'stop' takes 2 arguments: it must take \(t, q, v\)"),
    ],
)
def test_a_wrong_event_is_refused_by_name_value_and_remedy(arguments, message):
    named = {} if "function" in arguments else {"name": "stop"}
    with pytest.raises(sl.ModelError, match=message):
        sl.Event(**{"function": lambda q: q[0], **named, **arguments})


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (
            sl.Event(lambda q: [q[0], 1.0], name="stop"),
            r"function of event 'stop' returned shape \(2,\), expected \(\)",
        ),
        (sl.Event(lambda q: None), "function of event 'event 0' returned None"),
        (sl.Event(lambda q: 1.0 / 0.0), "function of event 'event 0' raised ZeroDivisionError"),
        (sl.Event(lambda q: np.inf), "function of event 'event 0' returned inf .*: it must be finite"),
        (sl.Event(lambda q: 2.0), "function of event 'event 0' is constant: it must depend on t, q or v"),
        (sl.Event(lambda q: q[0], reset=lambda t, q, v: v), r"reset of event 'event 0' returned .*the pair \(q, v\)"),
        (sl.Event(lambda q: q[0], reset=lambda t, q, v: (q, 1.0)), "returned 1.0 for v: .* a sequence of 1 numbers"),
        (sl.Event(lambda q: q[0], reset=lambda t, q, v: ([1.0, 2.0], v)), r"\[1.0, 2.0\] for q: .* like q0"),
        (sl.Event(lambda q: q[0], reset=lambda t, q, v: ([[1.0], 2.0], v)), r"for q: .* a sequence of 1 numbers"),
        (sl.Event(lambda q: q[0], reset=lambda t, q, v: (q, v / 0)), "reset of event 'event 0' returned .*finite"),
        (sl.Event(lambda q: q[0], reset=lambda t, q, v: q[3]), "reset of event 'event 0' raised IndexError"),
    ],
)
def test_an_event_that_does_not_fit_the_state_is_refused_before_the_run(event, message):
    with np.errstate(all="ignore"), pytest.raises(sl.ModelError, match=message):
        drop(events=event)


def test_events_must_be_events_with_names_of_their_own():
    with pytest.raises(sl.SettingError, match="events must be a list of Event, but it contains <function"):
        drop(events=[lambda q: q[0]])
    with pytest.raises(sl.SettingError, match="events must be a list of Event, not None"):
        drop(events=None)
    with pytest.raises(sl.SettingError, match="two events are called 'floor': names must differ"):
        drop(events=[FLOOR, FLOOR])
    grounded = sl.System(1.0, -G, contacts=[sl.Contact(lambda q: q[0], name="floor")])
    with pytest.raises(sl.SettingError, match="an event and a contact or joint are called 'floor'"):
        sl.solve(grounded, (0.0, 1.0), 1.0, 0.0, scheme=Flight(), events=FLOOR)


def test_a_scheme_that_does_not_locate_events_refuses_them():
    with pytest.raises(sl.SettingError, match=r"Moreau-Jean does not locate events: .*=EventDriven\(\)"):
        drop(scheme=sl.MoreauJean(), h=0.01)


# ---- compiled units


def untraceable(t, q, v):
    total = 0.0
    while total < abs(q[0]):  # a loop whose length depends on the state
        total += 0.25
    return total - 1.1


def untraceable_reset(t, q, v):
    return q * untraceable(t, q, v), np.array([t, v[0] - q[1]])


UNITS = (
    sl.Event(lambda q: np.sin(q[0]) - 0.3 * q[1], direction=1, name="by q"),
    sl.Event(
        lambda t, q: q[1] - t**2, terminal=True, reset=lambda t, q, v: ([q[1], q[0] + t], (v[1], -v[0])), name="t"
    ),
    sl.Event(untraceable, direction=-1, reset=untraceable_reset, terminal=True, name="opaque"),
    sl.Event(lambda t, q, v: v @ v - q @ v, reset=lambda t, q, v: (q, 0.25 * v), name="by v"),
)


@pytest.fixture(scope="module")
def model():
    system = sl.System(M=1.0, f=[0.0, -G])
    with pytest.warns(sl.SlowFunctionWarning):
        return compile_model(system, 0.0, np.array([0.4, 0.2]), np.array([1.0, 2.0]), UNITS)


@pytest.mark.parametrize("seed", range(3))
def test_compiled_events_are_the_functions_of_the_user(model, seed):
    t, *state = np.random.default_rng(seed).normal(size=5)
    q, v = np.split(np.array(state), 2)
    for units in (model.units, model.interpreted()):
        values = np.full(len(UNITS), np.nan)
        assert units.switch(t, q.copy(), v.copy(), model.units.par, values) == 0
        wanted = [np.sin(q[0]) - 0.3 * q[1], q[1] - t**2, untraceable(t, q, v), v @ v - q @ v]
        np.testing.assert_allclose(values, wanted, rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("number", range(len(UNITS)))
def test_a_compiled_reset_replaces_the_state_by_that_of_its_own_event(model, number):
    t, q, v = 0.7, np.array([0.9, -1.6]), np.array([0.3, 2.2])
    event = UNITS[number]
    wanted = (q, v) if event.reset is None else event.reset(t, q, v)
    for units in (model.units, model.interpreted()):
        q_new, v_new = q.copy(), v.copy()
        assert units.reset(number, t, q_new, v_new, model.units.par) == 0
        np.testing.assert_allclose(q_new, wanted[0], rtol=ROUNDING)
        np.testing.assert_allclose(v_new, wanted[1], rtol=ROUNDING)


def test_the_layout_holds_direction_end_and_reset_of_each_event(model):
    layout = model.layout
    assert layout.ne == 4
    table = layout[layout.event_table :].reshape(-1, 3)
    np.testing.assert_array_equal(table, [[1, 0, 0], [0, 1, 1], [-1, 1, 1], [0, 0, 1]])


def test_a_model_without_events_has_empty_units():
    units = compile_model(BALL, 0.0, np.ones(1), np.zeros(1)).units
    assert units.layout.ne == 0
    q, v = np.array([1.5]), np.array([-2.0])
    assert units.switch(0.0, q, v, units.par, np.zeros(0)) == 0
    assert units.reset(0, 0.0, q, v, units.par) == 0
    assert (q[0], v[0]) == (1.5, -2.0)


# ---- tolerances


def test_tol_is_short_for_equal_tolerances_and_gives_way_to_them():
    def scheme(**options):
        made = sl.solve(BALL, (0.0, 0.1), 1.0, 0.0, scheme=sl.StepDoubling(sl.MoreauJean()), h=0.05, **options).scheme
        return made.rtol, made.atol

    assert scheme() == (1e-4, 1e-4)
    assert scheme(tol=1e-7) == (1e-7, 1e-7)
    assert scheme(tol=1e-7, rtol=1e-3) == (1e-3, 1e-7)
    assert scheme(tol=1e-7, atol=1e-2) == (1e-7, 1e-2)


@pytest.mark.parametrize("tol", [0.0, -1e-6, math.nan, math.inf, True, "1e-6", [1e-6]])
def test_a_tol_that_is_no_positive_number_is_refused(tol):
    with pytest.raises(sl.SettingError, match=r"tol is .*: a tolerance must be a positive number"):
        sl.solve(BALL, (0.0, 0.1), 1.0, 0.0, scheme=sl.StepDoubling(sl.MoreauJean()), h=0.05, tol=tol)


def test_tol_means_nothing_to_a_scheme_without_an_error_estimate():
    with pytest.raises(sl.SettingError, match=r"Moreau-Jean estimates no error, so tol means nothing to it"):
        sl.solve(BALL, (0.0, 0.1), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.05, tol=1e-6)


# ---- runs of schemes that choose their steps


@needs_jit
def test_events_are_found_named_and_reset_at_their_exact_times():
    sol = drop()
    impacts, apexes = bounces(6)
    table = sol.events
    assert set(table["kind"]) == {"event"} and np.all(table["count"] == 1)
    for name, times in (("floor", impacts), ("apex", apexes)):
        np.testing.assert_allclose(table["t"][table["contact"] == name][:6], times, rtol=1e-9)
    assert sol.event_names == ("floor", "apex")
    speed = math.sqrt(2.0 * G)
    first = sol(sol.events["t"][0], side="-"), sol(sol.events["t"][0])
    np.testing.assert_allclose([first[0].v[0], first[1].v[0]], [-speed, 0.5 * speed], rtol=1e-9)
    top = sol.q[np.searchsorted(sol.t, table["t"][1])]
    np.testing.assert_allclose(top, 0.25, rtol=1e-9)


@needs_jit
def test_a_step_that_ends_early_is_followed_from_there_and_the_last_one_ends_the_span():
    for control in (None, Fixed()):
        sol = drop(1.3, control=control)
        assert sol.t[-1] == 1.3 and sol.success
        assert np.all(np.diff(sol.t) > 0.0)
        assert np.all(np.isin(sol.events["t"], sol.t))
    # with a fixed step every step that no event cuts is 1 % of the span, the last one excepted
    uncut = np.diff(sol.t)[~np.isin(sol.t[1:], sol.events["t"])]
    np.testing.assert_allclose(uncut[:-1], 0.013, rtol=1e-9)


@needs_jit
def test_a_rejected_step_leaves_no_trace():
    sol = drop(0.4, events=(), scheme=Flight(longest=0.02), h=0.4)
    assert sol.work["rejected"] > 4
    np.testing.assert_allclose(sol.q[:, 0], 1.0 - 0.5 * G * sol.t**2, rtol=1e-12)
    assert np.max(np.diff(sol.t)) <= 0.02


@needs_jit
def test_breaks_are_hit_by_free_steps():
    sol = drop(0.4, events=(), breaks=[0.11, 0.25], h=0.03)
    assert {0.11, 0.25, 0.4} <= set(sol.t)
    np.testing.assert_allclose(sol.q[:, 0], 1.0 - 0.5 * G * sol.t**2, rtol=1e-12)


@needs_jit
def test_a_terminal_event_ends_the_run_as_a_success_that_names_it():
    sol = drop(events=LATE)
    t_end = sol.events["t"][-1]
    assert abs(1.0 - 0.5 * G * t_end**2 + 100.0 * (t_end - 1.2)) < 1e-9
    assert sol.t[-1] == t_end < 1.34
    assert sol.status is sl.Status.TERMINATED and sol.success
    assert sol.message == f"The run was ended by a terminal event: 'late' at t = {t_end:.9g} s."


@needs_jit
@pytest.mark.parametrize("save", ["events", 7, [0.0, 0.3, 1.1, 1.33]])
def test_a_thinned_run_keeps_the_end_that_a_terminal_event_makes(save):
    full, sol = drop(events=LATE), drop(events=LATE, save=save)
    assert sol.status is sl.Status.TERMINATED
    np.testing.assert_array_equal(sol.events, full.events)
    if isinstance(save, list):
        np.testing.assert_array_equal(sol.t, [0.0, 0.3, 1.1])
        np.testing.assert_allclose(sol.q[:, 0], 1.0 - 0.5 * G * sol.t**2, rtol=1e-12)
    else:
        assert (sol.t[-1], sol.q[-1, 0]) == (full.t[-1], full.q[-1, 0])


@needs_jit
def test_events_that_never_end_stop_the_run():
    # the ball comes to rest after infinitely many bounces at 3 sqrt(2/g) = 1.3546
    with pytest.raises(sl.RunError, match=r"Events follow each other without end at one time; .*t = 1\.3545") as failed:
        drop(2.0)
    assert failed.value.solution.status is sl.Status.EVENTS_CROWDED
    np.testing.assert_allclose(failed.value.solution.t[-1], 3.0 * math.sqrt(2.0 / G), rtol=1e-9)


# ---- files and atoms


@needs_jit
def test_files_keep_user_events_and_older_ones_count_every_row_once(tmp_path):
    sol = drop(events=(FLOOR, APEX, LATE))
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    np.testing.assert_array_equal(loaded.events, sol.events)
    assert loaded.event_names == ("floor", "apex", "late")
    assert loaded.status is sl.Status.TERMINATED and loaded.success and loaded.message == sol.message
    content = read(tmp_path / "run.h5", "results")
    arrays = {name: array for name, array in content.arrays.items() if name != "events/count"}
    np.testing.assert_array_equal(results._solution(Content(arrays, content.about, content.minor)).events["count"], 1)


@needs_jit
def test_a_checkpoint_goes_on_with_the_same_events_only(tmp_path):
    path, start = tmp_path / "run.h5", (BALL, (0.0, 1.34), 1.0, 0.0)
    events = (FLOOR, APEX, LATE)
    sol = drop(events=events, checkpoint=path)
    done = sl.resume(path, *start, scheme=Flight(), control=Halving(), events=events)
    assert done.status is sl.Status.TERMINATED and done.message == sol.message
    np.testing.assert_array_equal(done.q, sol.q)
    renamed = (FLOOR, APEX, dataclasses.replace(LATE, name="other"))
    for other in ((), renamed):
        with pytest.raises(sl.SettingError, match=r"belongs to another problem, it differs in .*events \(\["):
            sl.resume(path, *start, scheme=Flight(), control=Halving(), events=other)


def test_an_accumulation_of_impacts_is_an_impulse_at_its_time():
    floor = sl.Contact(lambda q: q[0], e=0.5, name="floor")
    sol = sl.solve(sl.System(1.0, -G, contacts=[floor]), (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=1.0 / 64.0)
    events = sol.events.copy()
    events["kind"][events["kind"] == "impact"] = "zeno"
    other, times = dataclasses.replace(sol, events=events), np.linspace(0.0, 1.0, 301)
    for side in ("+", "-"):
        np.testing.assert_array_equal(other.impulse_at(times, side), sol.impulse_at(times, side))
        np.testing.assert_array_equal(other.force_at(times, side), sol.force_at(times, side))


TOGETHER = {
    "the end first": ("end", "same", "clock", "up"),
    "the end last": ("clock", "up", "same", "end"),
}


@pytest.mark.parametrize("scheme", (sl.HpTDG(), sl.EventDriven()), ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("order", TOGETHER.values(), ids=TOGETHER)
def test_events_that_happen_together_with_a_terminal_one_have_rows(order, scheme):
    # 1 - t^2 = 1/2 at t = sqrt(1/2)
    known = {
        "end": sl.Event(lambda q: q[0] - 0.5, terminal=True, direction=-1, name="end"),
        "same": sl.Event(lambda q: 0.5 - q[0], name="same"),
        "clock": sl.Event(lambda t, q: t - math.sqrt(0.5), name="clock"),
        "up": sl.Event(lambda q: q[0] - 0.5, direction=1, name="up"),
    }
    sol = sl.solve(
        sl.System(M=1.0, f=-2.0), (0.0, 2.0), 1.0, 0.0, scheme=scheme, tol=1e-9, events=[known[name] for name in order]
    )
    assert sol.status is sl.Status.TERMINATED
    assert "'end'" in sol.message
    assert sorted(sol.events["contact"]) == ["clock", "end", "same"]
    np.testing.assert_allclose(sol.events["t"], math.sqrt(0.5), rtol=1e-14)


@pytest.mark.parametrize("scheme", (sl.HpTDG(), sl.EventDriven()), ids=lambda scheme: scheme.name)
def test_resets_that_happen_together_act_one_after_the_other(scheme):
    faster = sl.Event(lambda q: q[0] - 0.5, direction=-1, reset=lambda t, q, v: (q, 2.0 * v), name="faster")
    back = sl.Event(lambda q: q[0] - 0.5, direction=-1, reset=lambda t, q, v: (q, -v), name="back")
    sol = sl.solve(
        sl.System(M=1.0, f=-2.0), (0.0, 1.0), 1.0, 0.0, scheme=scheme, tol=1e-9, events=[faster, back]
    )  # fmt: skip
    t = math.sqrt(0.5)
    assert list(sol.events["contact"]) == ["faster", "back"]
    np.testing.assert_allclose(sol.events["t"], t, rtol=1e-12)
    np.testing.assert_allclose(sol(sol.events["t"][0], side="-").v, -2.0 * t, rtol=1e-9)
    np.testing.assert_allclose(sol(sol.events["t"][0]).v, 4.0 * t, rtol=1e-9)


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven(), sl.AnyOrder(), sl.Splitting()], ids=repr)
def test_the_motion_before_a_reset_of_positions_is_not_bent_towards_it(scheme):
    wrap = sl.Event(lambda q: q[0] - 1.0, direction=1, reset=lambda t, q, v: (q - 2.0, v))
    system = sl.System(M=1.0, f=lambda t, q, v: [0.3 + 0.0 * t])
    sol = sl.solve(system, (0.0, 2.0), 0.0, 1.0, tol=1e-9, scheme=scheme, events=[wrap])
    met = (np.sqrt(1.0 + 2.0 * 0.3) - 1.0) / 0.3
    t = np.concatenate([np.linspace(0.0, met, 40)[:-1], [met - 1e-6]])
    assert sol.events["t"][0] == pytest.approx(met, abs=1e-8)
    assert np.abs(sol(t).q[:, 0] - (t + 0.15 * t**2)).max() < 1e-7
    found = float(sol.events["t"][0])
    assert sol(found, side="-").q[0] == pytest.approx(1.0, abs=1e-7)
    assert sol(found).q[0] == pytest.approx(-1.0, abs=1e-7)
    t = np.linspace(met + 1e-6, 2.0, 40)
    assert np.abs(sol(t).q[:, 0] - (t + 0.15 * t**2 - 2.0)).max() < 1e-7


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=repr)
@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-5, 1e-6])
def test_an_event_whose_reset_leaves_it_at_its_zero_happens_once(tol, scheme):
    for drag in np.linspace(0.1, 1.0, 5):
        brush = sl.Event(lambda q: np.sin(2.0 * np.pi * q[0]), direction=1, reset=lambda t, q, v: (q, 0.25 * v))
        system = sl.System(M=1.0, f=lambda t, q, v, drag=drag: [3.0 - drag * v[0] ** 3])
        sol = sl.solve(system, (0.0, 6.0), 0.1, 0.3, tol=tol, scheme=scheme, events=[brush])
        assert len(sol.events) == int(sol.q[-1, 0])  # one brush per metre


HALF = np.sqrt(1.0 / G)  # a ball dropped from 1 m is at 0.5 m
JUMPING = {
    "truth": (lambda q: q[0] > 0.5, -1, [HALF]),
    "truth that begins": (lambda q: q[0] < 0.5, 1, [HALF]),
    "sign": (lambda q: np.sign(q[0] - 0.5), 0, [HALF]),
    "sign in the other direction": (lambda q: np.sign(q[0] - 0.5), 1, []),
    "whole numbers": (lambda q: np.floor(q[0]) + 0.5, 0, [HALF * np.sqrt(2.0)]),
    "plain if": (lambda t, q: 1.0 if t < 0.3 else -1.0, 0, [0.3]),
    "wrapped": (lambda t, q: np.mod(t + 0.1, 0.25) - 0.125, 0, [0.025, 0.15, 0.275, 0.4, 0.525, 0.65, 0.775, 0.9]),
    "wrapped, rising": (lambda t, q: np.mod(t + 0.1, 0.25) - 0.125, 1, [0.025, 0.275, 0.525, 0.775]),
    "kinked": (lambda q: abs(q[0] - 0.5) - 0.25, -1, [np.sqrt(0.5 / G)]),
    "jumps, but not over zero": (lambda t, q: np.floor(4.0 * t) + 1.0, 0, []),
}


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize("name", JUMPING)
def test_an_event_that_jumps_over_zero_is_one(name, scheme):
    """It never came: the branch of its function was held to the jump and changed there, and nobody compared signs."""
    function, direction, times = JUMPING[name]
    jumps = sl.Event(function, direction=direction, name="jumps")
    sol = sl.solve(sl.System(1.0, -G), (0.0, 0.95), 1.0, 0.0, tol=1e-9, scheme=scheme, events=jumps, progress=False)
    assert np.allclose(sol.events.of("jumps")["t"], times, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
def test_events_that_jump_together_all_happen_with_their_resets(scheme):
    stop = sl.Event(lambda q: q[0] > 0.5, reset=lambda t, q, v: (q, 0.0 * v), name="stop")
    seen = sl.Event(lambda q: np.sign(q[0] - 0.5), name="seen")
    late = sl.Event(lambda t, q: t >= 0.6, terminal=True, name="late")
    events = [stop, seen, late]
    sol = sl.solve(sl.System(1.0, -G), (0.0, 1.0), 1.0, 0.0, tol=1e-9, scheme=scheme, events=events, progress=False)
    assert list(sol.events["contact"]) == ["stop", "seen", "late"] and sol.t[-1] == pytest.approx(0.6, abs=1e-12)
    assert sol.q[-1, 0] == pytest.approx(0.5 - 0.5 * G * (0.6 - HALF) ** 2, abs=1e-8)


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven(), sl.AnyOrder(), sl.Splitting()], ids=repr)
def test_a_clock_that_wraps_samples_a_controller(scheme):
    period, times = 0.1, 20

    def hold(t, q, v):
        return [q[0], -4.0 * q[0] - v[0]], v

    wraps = sl.Event(lambda t, q: np.mod(t, period) - 0.5 * period, direction=-1, reset=hold, name="clock")
    system = sl.System(M=[1.0, 1.0], f=lambda t, q, v: [q[1], 0.0])
    end = (times - 0.5) * period
    sol = sl.solve(system, (0.0, end), [1.0, 0.0], [0.0, 0.0], tol=1e-9, scheme=scheme, events=wraps, progress=False)
    x, v, push = 1.0, 0.0, 0.0
    for k in range(times):
        h = period if k < times - 1 else 0.5 * period
        x, v = x + v * h + 0.5 * push * h**2, v + push * h
        push = -4.0 * x - v
    assert len(sol.events) == times - 1
    assert abs(sol.q[-1, 0] - x) < 1e-8 and abs(sol.v[-1, 0] - v) < 1e-8


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["hp", "event-driven"])
@pytest.mark.parametrize("floor", [0.0, 1.0])
@pytest.mark.parametrize("e", [0.3, 0.5, 0.8])
def test_bounces_by_resets_that_accumulate_end_the_run(e, floor, scheme):
    """A contact knows what comes behind its bounces, a reset does not: the ball fell through the floor in silence."""
    bounce = sl.Event(lambda q: q[0] - floor, direction=-1, reset=lambda t, q, v: ([floor], -e * v), name="floor")
    ball = sl.System(M=1.0, f=-9.81)
    with pytest.raises(sl.ChatteringError, match="follow each other without end") as failed:
        sl.solve(ball, (0.0, 10.0), floor + 1.0, 0.0, scheme=scheme, tol=1e-7, events=bounce, progress=False)
    sol = failed.value.solution
    rest = np.sqrt(2.0 / 9.81) * (1.0 + e) / (1.0 - e)
    assert rest - 1e-5 <= sol.t[-1] <= rest
    assert sol.q.min() >= floor - 1e-12 and "floor" in str(failed.value)
