"""Moreau-Jean in lanes: every run has the bits of a run alone, and what lanes cannot do is refused in a sentence."""

from __future__ import annotations

import numpy as np
import pytest

import saltus as sl
from saltus import sweep
from saltus.build.model import compile_model
from saltus.ensemble.lanes_sine import LARGEST_ANGLE
from saltus.ensemble.lanes_text import LANES, NoLanes
from saltus.ensemble.moreau_jean_lanes import LANE_STATUS, moreau_jean_lanes

RUNS, STEPS, H = LANES + 3, 700, 2e-3  # a block that is full and one that is not


def drive(p, t, q, v):
    return [-p.k * q[0] - p.c * v[0] + np.where(t > 0.3, p.a, 0.0) * np.cos(p.w * t)]


def driven() -> sl.System:
    """Damped and driven by a cosine that begins late, between two stops of different restitution."""
    p = sl.Parameters(k=3.0, c=0.2, a=4.0, w=5.0)
    stops = [
        sl.Contact(lambda q: 0.4 - q[0], e=0.7, name="right"),
        sl.Contact(lambda q: q[0] + 0.3, e=0.2, name="left"),
    ]
    return sl.System(M=1.3, f=lambda t, q, v: drive(p, t, q, v), contacts=stops)


def coupled() -> sl.System:
    """Two masses on springs with a full M; one of them has a stop."""
    M = np.array([[2.0, 0.3], [0.3, 1.0]])
    K = np.array([[30.0, -10.0], [-10.0, 20.0]])
    stop = sl.Contact(lambda q: q[0] - 0.5 * q[1] + 0.1, e=0.5, name="stop")
    return sl.System(M=M, f=lambda t, q, v: [-(K[0] @ q) - 0.1 * v[0], -(K[1] @ q) + np.sin(3.0 * t)], contacts=[stop])


def rubbing() -> sl.System:
    """A point on a floor with friction, pulled back by a spring: slips both ways and sticks."""
    floor = sl.Contact(lambda q: q[1], e=0.4, mu=0.3, slip=lambda t, q, v: v[0], name="floor")
    return sl.System(M=np.eye(2), f=lambda t, q, v: [-40.0 * q[0], -9.81], contacts=[floor])


MODELS = {
    "ball": (lambda: sl.problems.zeno_ball().system, [0.3], [0.0], [0.3], [1.0]),
    "driven": (driven, [0.0], [0.0], [0.2], [2.0]),
    "coupled": (coupled, [0.0, 0.0], [0.0, 0.0], [0.05, 0.08], [1.0, 1.0]),
    "rubbing": (rubbing, [0.0, 0.05], [0.0, 0.0], [0.2, 0.04], [2.0, 0.5]),
}


def starts(name: str):
    make, q, v, q_span, v_span = MODELS[name]
    rng = np.random.default_rng(7)
    sides = (rng.uniform(-1.0, 1.0, (RUNS, len(q))) for _ in range(2))
    return make(), *(
        np.array(x) + np.array(s) * side for x, s, side in zip((q, v), (q_span, v_span), sides, strict=True)
    )


def model_of(system, q, v):
    return compile_model(system, 0.0, q[0], v[0], (), None)


def alone(system, q, v, h=H, steps=STEPS):
    return sl.solve(system, (0.0, steps * h), q, v, scheme=sl.MoreauJean(), h=h, progress=False)


@pytest.mark.parametrize("name", MODELS)
def test_a_run_in_a_lane_has_the_bits_of_a_run_alone(name):
    system, q0, v0 = starts(name)
    made = moreau_jean_lanes(model_of(system, q0, v0), q0, v0, 0.0, H, STEPS)
    assert np.all(made.status == LANE_STATUS.done)
    assert np.all(made.steps == STEPS)
    for k in range(RUNS):
        sol = alone(system, q0[k], v0[k])
        np.testing.assert_array_equal(made.q[k], sol.q[-1])
        np.testing.assert_array_equal(made.v[k], sol.v[-1])
        for c, contact in enumerate(system.contacts):
            hit = (sol.events["kind"] == "impact") & (sol.events["contact"] == contact.name)
            assert made.impacts[k, c] == np.count_nonzero(hit)
        total = np.zeros(made.impulse.shape[1])
        for impulse in sol.impulse:
            total += impulse
        np.testing.assert_array_equal(made.impulse[k], total)
    assert made.impacts.sum() > 0


def test_parameters_and_restitution_of_every_run_are_its_own():
    system, q0, v0 = starts("driven")
    model = model_of(system, q0, v0)
    rng = np.random.default_rng(3)
    par = np.tile(model.units.par, (RUNS, 1))
    places = {name: slot.offset for name, slot in model.par_layout.parameters.items()}
    values = {name: rng.uniform(low, low + 1.0, RUNS) for name, low in (("k", 2.0), ("c", 0.0), ("a", 3.0), ("w", 4.0))}
    for name, column in values.items():
        par[:, places[name]] = column
    made = moreau_jean_lanes(model, q0, v0, 0.0, H, STEPS, par=par)
    for k in range(RUNS):
        given = {name: float(column[k]) for name, column in values.items()}
        sol = sl.solve(
            system, (0.0, STEPS * H), q0[k], v0[k], scheme=sl.MoreauJean(), h=H, parameters=given, progress=False
        )
        np.testing.assert_array_equal(made.q[k], sol.q[-1])
        np.testing.assert_array_equal(made.v[k], sol.v[-1])


def test_a_step_that_rounding_makes_shorter_at_the_end_is_made_as_in_a_run_alone():
    system, q0, v0 = starts("coupled")
    for h, steps in ((0.1 / 3.0, 97), (0.007, 1), (0.0123, 501)):
        made = moreau_jean_lanes(model_of(system, q0, v0), q0, v0, 0.0, h, steps)
        sol = alone(system, q0[0], v0[0], h, steps)
        np.testing.assert_array_equal(made.v[0], sol.v[-1])


def test_two_contacts_at_once_end_a_run_where_its_step_began():
    ends = [sl.Contact(lambda q, k=k: q[k], e=0.5, name=f"floor {k}") for k in range(2)]
    system = sl.System(M=np.eye(2), f=lambda t, q: [-9.81, -9.81], contacts=ends)
    q0, v0 = np.array([[0.1, 0.1], [0.1, 5.0]]), np.zeros((2, 2))
    made = moreau_jean_lanes(model_of(system, q0, v0), q0, v0, 0.0, H, 200)
    assert made.status.tolist() == [LANE_STATUS.two_contacts, LANE_STATUS.done]
    whole = alone(system, q0[0], v0[0], H, 200)
    np.testing.assert_array_equal(made.q[0], whole.q[made.steps[0]])
    np.testing.assert_array_equal(made.v[1], alone(system, q0[1], v0[1], H, 200).v[-1])


def test_a_run_that_becomes_infinite_says_so_and_leaves_the_others_alone():
    system = sl.System(M=1.0, f=lambda t, q, v: [1e4 * v[0]], contacts=[sl.Contact(lambda q: 1e308 - q[0], e=0.5)])
    q0, v0 = np.zeros((2, 1)), np.array([[1.0], [0.0]])
    model = model_of(system, q0, v0)
    made = moreau_jean_lanes(model, q0, v0, 0.0, 1e-4, 2000, scheme=sl.MoreauJean(theta=0.0))
    assert made.status.tolist() == [LANE_STATUS.not_finite, LANE_STATUS.done]
    assert np.all(np.isfinite(made.v))


def cosine_system():
    """v after one step is h cos(w t_at): the cosine itself."""
    p = sl.Parameters(w=1.0)
    return sl.System(M=1.0, f=lambda t, q, v: [np.cos(p.w * t)], contacts=[sl.Contact(lambda q: q[0] + 1e9, e=0.5)])


def test_sines_of_our_own_are_right_to_a_unit_of_the_last_place():
    system, n = cosine_system(), 4000
    rng = np.random.default_rng(5)
    w = np.concatenate(
        [rng.uniform(-10.0, 10.0, n), rng.uniform(-0.99, 0.99, n) * LARGEST_ANGLE, np.pi / 4 * np.arange(-99, 99)]
    )
    model = compile_model(system, 0.0, [0.0], [0.0], (), None)
    par = np.tile(model.units.par, (len(w), 1))
    par[:, model.par_layout.parameters["w"].offset] = w
    zeros = np.zeros((len(w), 1))
    made = moreau_jean_lanes(model, zeros, zeros, 0.5, 1.0, 1, par=par, sine="own")  # t_at = 1
    assert np.all(made.status == LANE_STATUS.done)
    exact = np.cos(w.astype(np.longdouble))
    wrong = np.abs(made.v[:, 0] - exact) / np.spacing(np.abs(exact).astype(float))
    assert np.finfo(np.longdouble).eps < 1e-18
    assert float(wrong.max()) < 1.0


def test_a_sine_of_our_own_too_far_out_is_refused_per_run():
    system = cosine_system()
    model = compile_model(system, 0.0, [0.0], [0.0], (), None)
    par = np.tile(model.units.par, (2, 1))
    par[:, model.par_layout.parameters["w"].offset] = [1.0, 3.0 * LARGEST_ANGLE]
    made = moreau_jean_lanes(model, np.zeros((2, 1)), np.zeros((2, 1)), 0.5, 1.0, 1, par=par, sine="own")
    assert made.status.tolist() == [LANE_STATUS.done, LANE_STATUS.too_far]


@pytest.mark.parametrize(
    ("problem", "says"),
    [
        (sl.problems.slider_crank, "is not affine|are not constant|contacts"),
        (sl.problems.damped_pendulum, "not affine|contacts|joints|constant"),
        (sl.problems.incline_3d, "plane only"),
        (sl.problems.vibrating_table, "W are not constant"),
        (sl.problems.chain, "joints"),
    ],
)
def test_what_lanes_cannot_do_is_refused_in_a_sentence(problem, says):
    p = problem()
    model = compile_model(p.system, 0.0, p.q0, p.v0, (), None)
    with pytest.raises(NoLanes, match=says):
        moreau_jean_lanes(model, p.q0[None], p.v0[None], 0.0, 1e-3, 1)


def test_settings_that_lanes_do_not_have_are_refused():
    p = sl.problems.zeno_ball()
    model = compile_model(p.system, 0.0, p.q0, p.v0, (), None)
    for scheme in (sl.MoreauJean(projection=True), sl.MoreauJean(at="end"), sl.PaoliVelocity()):
        with pytest.raises(NoLanes, match="MoreauJean"):
            moreau_jean_lanes(model, p.q0[None], p.v0[None], 0.0, 1e-3, 1, scheme=scheme)
    with pytest.raises(sl.errors.SettingError, match="q has the shape"):
        moreau_jean_lanes(model, np.zeros((3, 2)), np.zeros((3, 1)), 0.0, 1e-3, 1)


# ---- in sweeps


P = sl.Parameters(k=3.0, c=0.2, a=4.0, w=5.0, e=0.7)
SWEPT = sl.System(
    M=1.3, f=lambda t, q, v: drive(P, t, q, v),
    contacts=[
        sl.Contact(lambda q: 0.4 - q[0], e=P.e, name="right"), sl.Contact(lambda q: q[0] + 0.3, e=0.2, name="left"),
    ],
)  # fmt: skip


def swept(scheme, **options):
    given = {"t_span": (0.0, 1.5), "h": H, "runs": 2 * LANES + 5, "e": sweep.Uniform(0.1, 0.9), **options}
    return sweep.monte_carlo(
        SWEPT, [sweep.Uniform(-0.25, 0.35)], [sweep.Uniform(-1.0, 1.0)], w=sweep.Uniform(3.0, 6.0), scheme=scheme,
        **given,
    )  # fmt: skip


@pytest.mark.parametrize("span", [(0.0, 1.5), (0.1, 1.1003), (0.0, lambda: 2.0 * np.pi / P.w)], ids=["h", "odd", "w"])
def test_a_sweep_in_lanes_has_the_bits_of_moreau_jean_and_of_solve(span):
    lanes, scalar = (swept(scheme, t_span=span) for scheme in (sweep.MoreauJeanLanes(sine="library"), sl.MoreauJean()))
    assert len(lanes.failed) == 0
    for name in ("status", "steps", "t_end", "q_end", "v_end"):
        assert lanes[name].values.tobytes() == scalar[name].values.tobytes(), name
    alone = lanes.solve(7)
    assert (lanes["q_end"][7, 0], lanes["v_end"][7, 0]) == (alone.q[-1, 0], alone.v[-1, 0])


def test_sines_of_our_own_differ_in_last_digits_only_and_threads_in_none(tmp_path):
    own, library = swept(sweep.MoreauJeanLanes()), swept(sl.MoreauJean())
    np.testing.assert_allclose(own["q_end"], library["q_end"], rtol=0.0, atol=1e-12)
    threads = swept(sweep.MoreauJeanLanes(), executor=sweep.Threads(2), chunk=7, store=tmp_path / "own")
    assert threads["v_end"].values.tobytes() == own["v_end"].values.tobytes()
    with pytest.raises(sl.SettingError, match="store"):
        swept(sweep.MoreauJeanLanes(sine="library"), chunk=7, store=tmp_path / "own")


def test_runs_that_lanes_cannot_make_are_made_one_by_one():
    corner = sl.System(
        M=1.0, f=lambda t, q, v: [-P.k * q[0]],
        contacts=[sl.Contact(lambda q: q[0], e=0.5, name="a"), sl.Contact(lambda q: q[0] + 1e-15, e=0.5, name="b")],
    )  # fmt: skip
    given = {"k": np.linspace(1.0, 5.0, 20), "runs": 20, "t_span": (0.0, 2.0), "h": H}
    starts = np.where(np.arange(20) == 3, -0.5, 0.5)[:, None]  # one begins inside of the wall
    lanes, scalar = (
        sweep.monte_carlo(corner, starts, 0.0, scheme=scheme, **given)
        for scheme in (sweep.MoreauJeanLanes(), sl.MoreauJean())
    )
    assert lanes.failed.tolist() == scalar.failed.tolist() == [3]
    assert lanes["q_end"].values.tobytes() == scalar["q_end"].values.tobytes()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measures": sweep.ImpactStatistics()}, "ends of runs only"),
        ({"executor": sweep.Processes(1)}, "stay in this process"),
        ({"h": None, "tol": 1e-3}, "equal steps"),
    ],
    ids=["measures", "processes", "tolerance"],
)
def test_what_a_sweep_in_lanes_cannot_do_is_refused(options, message):
    with pytest.raises(sl.SettingError, match=message):
        swept(sweep.MoreauJeanLanes(), **options)
