"""No run is endless: limits of steps and memory, chattering, forces that jump against a velocity."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus.run.chatter import sliding_mode

SEEKERS = {"HpTDG": sl.HpTDG(), "EventDriven": sl.EventDriven(), "AnyOrder": sl.AnyOrder()}
STEADY = 5.0  # seconds of chattering at 5 N that no scheme would get through


def spring() -> sl.Problem:
    return sl.Problem(sl.System(M=1.0, f=lambda t, q, v: [-9.0 * q[0] ** 3]), (0.0, 1000.0), 1.0, 0.0)


# ---- limits


def test_a_run_ends_with_its_limit_of_steps_and_says_where():
    with pytest.raises(sl.LimitError, match="max_steps") as failed:
        sl.solve(spring(), tol=1e-8, max_steps=100)
    sol = failed.value.solution
    assert sol.status is sl.Status.STEPS_SPENT
    assert sol.work["steps"] + sol.work["rejected"] == 100
    assert not sol.success
    np.testing.assert_allclose(sol.v**2 / 2.0 + 9.0 * sol.q**4 / 4.0, 9.0 / 4.0, rtol=1e-6)
    assert "Its last 64 steps led from t = " in str(failed.value)


def test_a_counted_grid_has_no_limit_of_its_own_but_keeps_the_one_that_is_given():
    sol = sl.solve(spring(), scheme=sl.MoreauJean(), h=0.1)
    assert sol.work["steps"] == 10_000
    with pytest.raises(sl.LimitError) as failed:
        sl.solve(spring(), scheme=sl.MoreauJean(), h=0.1, max_steps=777)
    np.testing.assert_array_equal(failed.value.solution.q, sol.q[:778])


def test_a_run_ends_with_its_limit_of_memory():
    with pytest.raises(sl.LimitError, match="max_memory") as failed:
        sl.solve(spring(), (0.0, 1e6), tol=1e-8, max_memory=8_000_000)
    sol = failed.value.solution
    assert sol.status is sl.Status.MEMORY_SPENT
    kept = sum(array.nbytes for array in (sol.t, sol.q, sol.v, sol._dense, sol._ledger, sol._extra, sol._reactions))
    assert 1_000_000 < kept < 8_000_000
    assert 1000.0 < sol.t[-1] < 1e6


def test_a_run_that_keeps_little_needs_little_memory():
    given = {"tol": 1e-8, "max_memory": 4_000_000}
    with pytest.raises(sl.LimitError):
        sl.solve(spring(), (0.0, 3e4), **given)
    assert sl.solve(spring(), (0.0, 3e4), t_eval=[0.0, 1.5e4, 3e4], **given).success


def test_a_run_goes_on_from_its_limit_as_if_there_had_been_none(tmp_path):
    whole = sl.solve(spring(), tol=1e-8)
    with pytest.raises(sl.LimitError):
        sl.solve(spring(), tol=1e-8, max_steps=250, checkpoint=tmp_path / "run.h5")
    rest = sl.resume(tmp_path / "run.h5", spring(), max_steps=1_000_000)
    np.testing.assert_array_equal(rest.t, whole.t)
    np.testing.assert_array_equal(rest.q, whole.q)


BAD = (
    ("max_steps", 0, "max_steps is 0: it must be a whole number of steps, at least 1"),
    ("max_steps", 2.5, "max_steps is 2.5: it must be a whole number"),
    ("max_steps", True, "max_steps is True"),
    ("max_memory", 0.0, "max_memory is 0.0: it must be a positive number of bytes"),
    ("max_memory", "2 GB", "max_memory is '2 GB'"),
)


@pytest.mark.parametrize(("name", "value", "message"), BAD, ids=[f"{name}={value}" for name, value, _ in BAD])
def test_limits_that_mean_nothing_are_refused(name, value, message):
    with pytest.raises(sl.SettingError, match=message):
        sl.solve(spring(), tol=1e-8, **{name: value})


# ---- forces that jump against a velocity

DRY = {
    "sign": lambda t, q, v: [-5.0 * np.sign(v[0])],
    "hard sign": lambda t, q, v: [-1e6 * np.sign(v[0])],
    "where": lambda t, q, v: [np.where(v[0] > 0.0, -5.0, 5.0)],
    "a belt": lambda t, q, v: [1.0 - 5.0 * np.sign(v[0] - 0.25 * np.cos(t))],
}


@pytest.mark.parametrize("scheme", SEEKERS.values(), ids=SEEKERS)
@pytest.mark.parametrize("force", DRY.values(), ids=DRY)
def test_dry_friction_as_a_force_is_refused_in_words(force, scheme):
    with pytest.raises(sl.ChatteringError, match=r"v\[0\] slides along a jump .* as Contact\(mu=") as failed:
        sl.solve(sl.System(M=1.0, f=force), (0.0, STEADY), 1.0, 1.0, scheme=scheme, tol=1e-6)
    sol = failed.value.solution
    assert sol.status is sl.Status.SLIDING_MODE
    assert sol.t[-1] < 1.0
    assert len(str(failed.value).split(". Step at")[0].splitlines()) == 1


def test_the_motion_before_the_chattering_is_kept():
    with pytest.raises(sl.ChatteringError) as failed:
        sl.solve(sl.System(M=1.0, f=DRY["sign"]), (0.0, STEADY), 1.0, 1.0, tol=1e-8)
    sol, t = failed.value.solution, np.linspace(0.0, 0.199, 50)
    np.testing.assert_allclose(sol(t).v[:, 0], 1.0 - 5.0 * t, rtol=0.0, atol=1e-7)


def test_a_sliding_mode_of_several_velocities_is_recognised():
    def force(t, q, v):
        return [-3.0 * q[0] - 5.0 * np.sign(v[0] - 0.3 * v[1]), np.cos(3.0 * t) - 2.0 * q[1], -q[2]]

    with pytest.raises(sl.ChatteringError, match=r"also depends on v\[1\]\)"):
        sl.solve(sl.System(M=[1.0, 2.0, 3.0], f=force), (0.0, STEADY), [1.0] * 3, [1.0] * 3, tol=1e-6)


def test_a_body_held_by_a_contact_is_recognised_too():
    floor = sl.Contact(lambda q: q[1], name="floor")
    with pytest.raises(sl.ChatteringError, match=r"v\[0\] slides"):
        sl.solve(
            sl.System(M=1.0, f=lambda t, q, v: [-2.0 * np.sign(v[0]), -9.81], contacts=[floor]), (0.0, STEADY),
            [0.0, 0.0], [1.0, 0.0], tol=1e-6,
        )  # fmt: skip


def test_the_contact_that_the_message_names_follows_the_motion():
    floor = sl.Contact(lambda q: q[1], mu=0.5, slip=lambda t, q, v: v[0], name="floor")
    system = sl.System(M=1.0, f=[0.0, -10.0], contacts=[floor])  # friction of 5 N
    sol = sl.solve(system, (0.0, STEADY), [1.0, 0.0], [1.0, 0.0], tol=1e-8)
    np.testing.assert_allclose(sol.q[-1], [1.1, 0.0], rtol=0.0, atol=1e-8)
    assert sol.work["steps"] < 20


# ---- jumps that a run passes


def test_a_force_that_jumps_with_the_position_is_followed():
    # f = -sign(q) from q = 1/2 at rest: parabolas of duration 1, period 4
    sol = sl.solve(sl.System(M=1.0, f=lambda q: [-np.sign(q[0])]), (0.0, 8.0), 0.5, 0.0, tol=1e-6)
    np.testing.assert_allclose(sol([4.0, 8.0]).q[:, 0], 0.5, rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(sol([2.0, 6.0]).q[:, 0], -0.5, rtol=0.0, atol=1e-4)


def test_friction_that_never_stops_the_motion_is_followed():
    # f = -100 q - sign(v) from q = 1: a half period of pi / 10 takes 2 / 100 from the amplitude
    sol = sl.solve(sl.System(M=1.0, f=lambda t, q, v: [-100.0 * q[0] - np.sign(v[0])]), (0.0, 1.0), 1.0, 0.0, tol=1e-7)
    turns = np.pi / 10.0 * np.arange(1, 4)
    np.testing.assert_allclose(sol(turns).q[:, 0], [-0.98, 0.96, -0.94], rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("scheme", (sl.HpTDG(), sl.EventDriven()), ids=lambda scheme: scheme.name)
def test_a_steep_slope_is_no_jump(scheme):
    force = sl.System(M=1.0, f=lambda t, q, v: [-5.0 * np.tanh(v[0] / 1e-4)])
    sol = sl.solve(force, (0.0, 1.0), 1.0, 1.0, scheme=scheme, tol=1e-6)
    np.testing.assert_allclose(sol.q[-1], 1.1, rtol=0.0, atol=1e-4)


@pytest.mark.parametrize("scheme", SEEKERS.values(), ids=SEEKERS)
def test_a_long_run_across_a_jump_that_never_holds_it_is_no_chattering(scheme):
    # friction of 1 N on an oscillator that a force of 12 N drives at half its frequency: it turns, but never sticks
    def force(t, q, v):
        return [-4.0 * q[0] - np.sign(v[0]) + 12.0 * np.cos(t)]

    sol = sl.solve(sl.System(M=1.0, f=force), (0.0, 300.0), 4.0, 0.0, scheme=scheme, tol=1e-4)
    assert sol.success
    assert np.abs(sol.q[-len(sol.t) // 4 :]).max() == pytest.approx(4.0, abs=0.5)


# ---- the search itself


def slides(acceleration, v, t=0.0, q=None, h=1e-6):
    v = np.atleast_1d(np.asarray(v, float))
    q = np.zeros(len(v)) if q is None else np.atleast_1d(np.asarray(q, float))
    return sliding_mode(lambda t, q, v: np.atleast_1d(acceleration(t, q, v)), lambda q, v: v, t, h, q, v)


def test_a_surface_is_found_where_both_sides_push_to_it():
    found = slides(lambda t, q, v: 2.0 - 3.0 * np.sign(v - 0.4), 0.4 + 1e-9)
    assert found is not None
    assert found.components == (0,)
    assert found.place == pytest.approx(0.4, abs=1e-15)
    assert (found.below, found.above) == pytest.approx((5.0, -1.0))


def test_a_surface_that_is_crossed_is_no_sliding_mode():
    assert slides(lambda t, q, v: 4.0 - 3.0 * np.sign(v), 1e-9) is None  # accelerations 7 and 1: through
    assert slides(lambda t, q, v: 3.0 * np.sign(v), 1e-9) is None  # pushed away on both sides


def test_a_surface_that_moves_too_fast_is_no_sliding_mode():
    # s = q + v: along it v = -q, so that a = -v is needed, and 3 is all there is
    for q, follows in ((2.0, True), (4.0, False)):
        found = slides(lambda t, q, v: -3.0 * np.sign(q + v), -q + 1e-9, q=q)
        assert (found is not None) is follows


def test_smooth_forces_have_no_sliding_mode():
    random = np.random.default_rng(6)
    for _ in range(20):
        K, C = random.normal(size=(2, 3, 3)) * 10.0 ** random.uniform(-3.0, 6.0)
        q, v = random.normal(size=(2, 3))
        assert slides(lambda t, q, v, K=K, C=C: -K @ q - C @ v - v**3, v, q=q) is None


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize("gap", [lambda q: q[1] - abs(q[0]), lambda q: np.minimum(q[1] - q[0], q[1] + q[0])])
def test_a_groove_that_is_one_gap_ends_the_run_with_a_remedy(gap, scheme):
    """The bead rests in the corner of its gap, where the two walls strike it in turn."""
    bead = sl.System(M=1.0, f=[0.0, -9.81], contacts=[sl.Contact(gap, name="groove")])
    with pytest.raises(sl.ChatteringError, match="give each face a contact of its own") as failed:
        sl.solve(bead, (0.0, 1.0), [-0.3, 0.3], [0.0, 0.0], tol=1e-6, scheme=scheme, progress=False)
    assert "groove" in str(failed.value)
    assert np.abs(failed.value.solution.q[-1]).max() < 1e-8
    walls = [sl.Contact(lambda q: q[1] - q[0], name="right"), sl.Contact(lambda q: q[1] + q[0], name="left")]
    system = sl.System(M=1.0, f=[0.0, -9.81], contacts=walls)
    sol = sl.solve(system, (0.0, 1.0), [-0.3, 0.3], [0.0, 0.0], tol=1e-6, scheme=scheme, progress=False)
    assert np.abs(sol.q[-1]).max() < 1e-5 and len(sol.t) < 100
