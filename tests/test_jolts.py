"""Ground, belts and drives that jump under what they hold: nothing is pulled along that is not held fast."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl

GRAVITY, JOLT = 9.81, 0.5
SCHEMES = pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
TOLERANCES = pytest.mark.parametrize("tol", [1e-4, 1e-7, 1e-10])


def check(system: sl.System, t_end: float, q0: list, v0: list, exact, scheme, tol: float) -> sl.Solution:
    """Compare a run with its closed form, off the instants at which something jumps."""
    sol = sl.solve(system, (0.0, t_end), q0, v0, scheme=scheme, tol=tol, progress=False)
    t = np.linspace(0.0, t_end, 1234)
    seen, (q, v) = sol(t), exact(t)
    allowed = 30.0 if isinstance(scheme, sl.EventDriven) else 1.0
    for got, wanted in ((seen.q, q), (seen.v, v)):
        assert np.abs(got - wanted).mean() <= allowed * tol * (1.0 + np.abs(wanted).max())
    assert np.abs(sol.energy.defect).max() <= 30.0 * tol * (1.0 + sol.energy.kinetic.max())
    return sol


def stopping(v: float, brake: float, t):
    """Way and speed of what slides on from JOLT on and stops."""
    end = v / brake
    s = np.clip(t - JOLT, 0.0, end)
    return np.minimum(t, JOLT) * v + v * s - 0.5 * brake * s**2, np.where(t < JOLT, v, v - brake * s)


@TOLERANCES
@SCHEMES
@pytest.mark.parametrize("breaks", [(), (JOLT,)], ids=["located", "at a break"])
def test_a_block_slides_on_where_its_belt_stops_at_once(scheme, tol, breaks):
    mu = 0.5
    belt = sl.Contact(lambda q: q[1], mu=mu, slip=lambda t, q, v: v[0] - np.where(t < JOLT, 1.0, 0.0))
    system = sl.System(M=[1.0, 1.0], f=[0.0, -GRAVITY], contacts=[belt])
    sol = sl.solve(system, (0.0, 1.0), [0.0, 0.0], [1.0, 0.0], scheme=scheme, tol=tol, breaks=breaks, progress=False)
    t = np.linspace(0.0, 1.0, 1234)
    x, v = stopping(1.0, mu * GRAVITY, t)
    assert np.abs(sol(t).q[:, 0] - x).mean() <= 2.0 * tol and np.abs(sol(t).v[:, 0] - v).mean() <= 2.0 * tol
    assert list(sol.events["kind"]) == ["slip", "stick"]


@TOLERANCES
@SCHEMES
def test_a_block_slides_straight_to_the_new_speed_of_a_belt_that_turns(scheme, tol):
    """In space: seen from the belt it is thrown with (1, -1) m/s and brakes in a straight line."""
    mu = 0.3

    def slip(t, q, v):
        return [v[0] - np.where(t < JOLT, 1.0, 0.0), v[1] - np.where(t < JOLT, 0.0, 1.0)]

    def exact(t):
        way, speed = stopping(np.sqrt(2.0), mu * GRAVITY, np.maximum(t, JOLT))
        way, left, after = way - np.sqrt(2.0) * JOLT, speed / np.sqrt(2.0), np.maximum(t - JOLT, 0.0)
        x, y = np.minimum(t, JOLT) + way / np.sqrt(2.0), after - way / np.sqrt(2.0)
        zero, begun = 0.0 * t, t >= JOLT
        return np.stack([x, y, zero], 1), np.stack([np.where(begun, left, 1.0), begun * (1.0 - left), zero], 1)

    belt = sl.Contact(lambda q: q[2], mu=mu, slip=slip)
    system = sl.System(M=[1.0, 1.0, 1.0], f=[0.0, 0.0, -GRAVITY], contacts=[belt])
    check(system, 2.0, [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], exact, scheme, tol)


@TOLERANCES
@SCHEMES
def test_a_carriage_that_stops_at_once_does_not_hold_back_what_it_pushed(scheme, tol):
    drive = [0.0, JOLT, 2.0], [0.0, JOLT, JOLT]
    contact, joint = sl.Contact(lambda q: q[1] - q[0]), sl.Joint(lambda t, q: q[0] - np.interp(t, *drive))
    system = sl.System(M=[1.0, 2.0], f=[0.0, 0.0], contacts=[contact], joints=[joint])

    def exact(t):
        return np.stack([np.minimum(t, JOLT), t], 1), np.stack([np.where(t < JOLT, 1.0, 0.0), 0.0 * t + 1.0], 1)

    sol = check(system, 1.0, [0.0, 0.0], [1.0, 1.0], exact, scheme, tol)
    assert np.all(sol.impulse >= 0.0)
    assert np.sum(sol.joint_impulse) == pytest.approx(-1.0, abs=1e-12)


@TOLERANCES
@SCHEMES
def test_what_lies_on_a_carriage_that_stops_at_once_slides_on(scheme, tol):
    mu, drive = 0.3, ([0.0, JOLT, 2.0], [0.0, JOLT, JOLT])
    contact = sl.Contact(lambda q: q[2], mu=mu, slip=lambda t, q, v: v[1] - v[0])
    joint = sl.Joint(lambda t, q: q[0] - np.interp(t, *drive))
    system = sl.System(M=[1.0, 2.0, 2.0], f=[0.0, 0.0, -2.0 * GRAVITY], contacts=[contact], joints=[joint])

    def exact(t):
        (x, v), zero = stopping(1.0, mu * GRAVITY, t), 0.0 * t
        q = np.stack([np.minimum(t, JOLT), x, zero], 1)
        return q, np.stack([np.where(t < JOLT, 1.0, 0.0), v, zero], 1)

    check(system, 1.0, [0.0, 0.0, 0.0], [1.0, 1.0, 0.0], exact, scheme, tol)


@TOLERANCES
@SCHEMES
@pytest.mark.parametrize("how", ["end of a table", "trap door"])
def test_what_loses_its_ground_falls(how, scheme, tol):
    gap = {
        "end of a table": lambda t, q: q[1] if q[0] < JOLT else q[1] + 5.0,
        "trap door": lambda t, q: q[1] + np.where(t < JOLT, 0.0, 5.0),
    }[how]
    system = sl.System(M=[1.0, 1.0], f=[0.0, -GRAVITY], contacts=[sl.Contact(gap)])

    def exact(t):
        fall = np.maximum(t - JOLT, 0.0)
        return np.stack([t, -0.5 * GRAVITY * fall**2], 1), np.stack([0.0 * t + 1.0, -GRAVITY * fall], 1)

    sol = check(system, 0.8, [0.0, 0.0], [1.0, 0.0], exact, scheme, tol)
    assert list(sol.events["kind"]) == ["release"] and sol.violation.max() == 0.0


@SCHEMES
@pytest.mark.parametrize("tol", [1e-3, 1e-4, 1e-7, 1e-10])
def test_a_body_falls_down_a_small_step_at_coarse_tolerances_too(scheme, tol):
    """It was put onto the lower ground at once where the step was lower than a thousand times the tolerance."""
    step = 0.005
    floor = sl.Contact(lambda q: q[1] if q[0] < JOLT else q[1] + step)
    system = sl.System(M=[1.0, 1.0], f=[0.0, -GRAVITY], contacts=[floor])

    def exact(t):
        fall = np.maximum(t - JOLT, 0.0)
        falls = 0.5 * GRAVITY * fall**2 < step
        y, v = np.where(falls, -0.5 * GRAVITY * fall**2, -step), np.where(falls, -GRAVITY * fall, 0.0)
        return np.stack([t, y], 1), np.stack([0.0 * t + 1.0, v], 1)

    sol = check(system, 0.8, [0.0, 0.0], [1.0, 0.0], exact, scheme, tol)
    assert list(sol.events["kind"]) == ["release", "impact"]
    if tol <= 1e-4:  # EventDriven finds ends of branches on its dense output: at 1e-3 a micron behind the step
        assert sol.violation.max() <= 1e-12


@SCHEMES
@pytest.mark.parametrize("tol", [1e-3, 1e-5, 1e-7])
@pytest.mark.parametrize("step", [0.2, 0.02])
def test_ground_that_jumps_into_a_body_ends_the_run(scheme, tol, step):
    floor = sl.Contact(lambda q: q[1] if q[0] < JOLT else q[1] - step)
    system = sl.System(M=[1.0, 1.0], f=[0.0, -GRAVITY], contacts=[floor])
    with pytest.raises(sl.RunError, match="jumps below zero") as failed:
        sl.solve(system, (0.0, 1.0), [0.0, 0.0], [1.0, 0.0], scheme=scheme, tol=tol, progress=False)
    assert failed.value.solution.status.name == "GAP_JUMPED"


def _stair(q):
    return q[1] - np.where(q[0] > JOLT, 0.7, 0.0)


def _stair_called_as_python(q):
    try:
        return q[1] - (0.7 if q[0] > JOLT else 0.0)
    except ZeroDivisionError:
        return 0.0


@SCHEMES
@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
@pytest.mark.parametrize("gap", [_stair, _stair_called_as_python])
def test_a_stair_that_a_body_flies_into_ends_the_run(gap, tol, scheme):
    """The step of a stair is no contact of its own: the body was lifted onto it, by 0.2 m, in silence."""
    system = sl.System(M=[1.0, 1.0], f=[0.0, -0.1], contacts=[sl.Contact(gap)])
    with pytest.raises(sl.RunError, match="jumps below zero") as failed:
        sl.solve(system, (0.0, 1.0), [0.0, 0.5], [1.0, 0.0], scheme=scheme, tol=tol, progress=False)
    sol = failed.value.solution
    assert sol.status.name == "GAP_JUMPED"
    assert sol.t[-1] <= JOLT + 1e-5 and abs(sol.q[-1] - [sol.t[-1], 0.5 - 0.05 * sol.t[-1] ** 2]).max() <= 1e-12


@SCHEMES
@pytest.mark.parametrize(("tol", "jump"), [(1e-7, 0.3), (1e-4, 0.01)])
def test_a_joint_that_jumps_ends_the_run(scheme, tol, jump):
    system = sl.System(M=[1.0], f=[0.0], joints=[sl.Joint(lambda t, q: q[0] - np.where(t < JOLT, 0.0, jump))])
    with pytest.raises(sl.RunError, match="A joint jumps") as failed:
        sl.solve(system, (0.0, 1.0), [0.0], [0.0], scheme=scheme, tol=tol, progress=False)
    assert failed.value.solution.t[-1] <= JOLT


@SCHEMES
@pytest.mark.parametrize(("begin", "tol"), [(0.0, 1e-4), (0.0, 1e-8), (0.0, 1e-11), (1e5, 1e-4), (1e5, 1e-8)])
@pytest.mark.parametrize("unit", [1.0, 1e3, 1e4])
def test_a_corner_of_a_steep_gap_is_no_jump(scheme, tol, unit, begin):
    """Gaps in thousandths of the unit of their coordinates, roads in millimetres over way in metres: rounding of the
    place of a corner moved them by more than a tenth of the promise."""
    slope, rise = -0.3 * unit, 0.4 * unit  # down to JOLT, then up

    def road(x):
        return np.where(x < JOLT, slope, rise) * (x - JOLT)

    floor = sl.Contact(lambda q: 1000.0 * (q[1] - road(q[0])))
    drive = sl.Joint(lambda t, q: q[0] - (t - begin))
    system = sl.System(M=[unit**2, 1.0], f=[0.0, -GRAVITY * unit], joints=[drive], contacts=[floor])
    options = {"scheme": scheme, "tol": tol, "progress": False}
    sol = sl.solve(system, (begin, begin + 1.0), [0.0, -slope * JOLT], [1.0, slope], **options)
    t = np.linspace(0.0, 1.0, 1234)
    allowed = 30.0 if isinstance(scheme, sl.EventDriven) else 1.0
    assert np.abs(sol(begin + t).q[:, 1] - road(t)).mean() <= allowed * tol * (1.0 + unit)


@SCHEMES
@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e3])
def test_a_jump_is_seen_in_whatever_unit_its_gap_is_written(scheme, factor):
    tol, step = 1e-6, 1e-4
    floor = sl.Contact(lambda q: factor * (q[1] - np.where(q[0] < JOLT, 0.0, step)))
    system = sl.System(M=[1.0, 1.0], f=[0.0, -GRAVITY], contacts=[floor])
    with pytest.raises(sl.RunError, match="jumps below zero"):
        sl.solve(system, (0.0, 1.0), [0.0, 0.0], [1.0, 0.0], scheme=scheme, tol=tol, progress=False)


@pytest.mark.parametrize(
    ("q0", "v0", "tol"),
    [(0.1330, 0.1055, 1.54e-6), (0.2518, 0.4542, 3.44e-6), (0.2340, 0.5218, 4.04e-6), (0.0658, -0.0776, 7.42e-6)],
)
@pytest.mark.parametrize("end", [118.0, 300.0])
def test_a_motion_that_turns_round_just_before_a_wall_is_no_jump(q0, v0, tol, end):
    """A long flight foresees an impact; made again up to there, it passes the wall by at some distance."""
    wall = sl.Contact(lambda q: q[0] + 0.3183702811913912, e=0.07097567714896569, name="wall")
    force = lambda t, q, v: [  # noqa: E731
        -4.3984803 * q[0] - 0.3876109 * q[0] ** 5 - 0.4907106 * v[0] ** 3 + 1.1027401 * np.cos(0.9866452 * t)
    ]
    run = sl.solve(sl.System(M=1.0, f=force, contacts=[wall]), (0.0, end), q0, v0, tol=tol)
    assert run.t[-1] == end
    assert run.violation.max() < 2.0 * tol


@pytest.mark.parametrize("tol", [1e-10, 1e-12, 1e-13, 1e-14])
def test_a_gap_that_counts_as_closed_has_not_jumped(tol):
    """A cage with a box in it bounces on its buffer: at tol = 1e-13 what was closed to 1e-14 m was taken for a jump."""
    mass, load, k, c, height, g = 3.6, 1.3, 141.0, 2.8, 0.11, 9.81
    cage = sl.System(
        M=[mass, load],
        f=lambda t, q, v: [-mass * g - k * q[0] - c * v[0], -load * g],
        contacts=[
            sl.Contact(lambda q: q[0], e=0.2),
            sl.Contact(lambda q: q[1] - q[0]),
            sl.Contact(lambda q: q[0] + height - q[1], e=0.2),
        ],
    )
    sol = sl.solve(cage, (0.0, 1.5), [0.45, 0.45], [0.0, 0.0], tol=tol)
    assert abs(sol.q[-1]).max() < 1e-13 and abs(sol.v[-1]).max() < 1e-12  # box on cage on buffer
