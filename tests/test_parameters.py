"""Parameters: named numbers of a model that every run may give other values, without tracing or compiling again."""

from __future__ import annotations

import math
import pickle
import threading
import warnings

import numpy as np
import pytest

import saltus as sl
from saltus.build import model as modelling
from saltus.build.model import compile_model
from saltus.compile import direct
from saltus.compile.par_layout import ParLayout, Slot
from saltus.parameters import Parameter

p = sl.Parameters(w=2.6, e=0.8, mu=0.3, damping=0.1, mode=0.0, low=-0.5, high=0.5)


def force(t, q, v):
    return [-(p.w**2) * q[0] - p.damping * v[0], -9.81]


def floor_gap(q):
    return q[1]


def slip(t, q, v):
    return v[0]


SYSTEM = sl.System(M=1.0, f=force, contacts=[sl.Contact(floor_gap, e=p.e, mu=p.mu, slip=slip, name="floor")])
START = {"t_span": (0.0, 1.0), "q0": [0.3, 0.5], "v0": [0.0, 0.1]}


def plain_system(w=2.6, e=0.8, mu=0.3, damping=0.1) -> sl.System:
    """The same with numbers in the place of parameters."""
    contact = sl.Contact(floor_gap, e=e, mu=mu, slip=slip, name="floor")
    return sl.System(M=1.0, f=lambda t, q, v: [-(w**2) * q[0] - damping * v[0], -9.81], contacts=[contact])


@pytest.fixture
def made(monkeypatch) -> dict[str, int]:
    """How often something was traced and compiled since the fixture began."""
    count = {"traced": 0, "compiled": 0}
    build, compiled = modelling.Builder.build, direct._compiled

    def counted_build(self):
        count["traced"] += 1
        return build(self)

    def counted_compile(*arguments):
        count["compiled"] += 1
        return compiled(*arguments)

    monkeypatch.setattr(modelling.Builder, "build", counted_build)
    monkeypatch.setattr(direct, "_compiled", counted_compile)
    return count


# ---- runs


@pytest.mark.parametrize("scheme", [sl.HpTDG(), sl.MoreauJean()], ids=["HpTDG", "MoreauJean"])
@pytest.mark.parametrize("values", [{}, {"w": 3.0, "e": 0.25}, {"mu": 0.7, "damping": 0.3}], ids=str)
def test_a_run_has_the_bits_of_the_same_model_with_numbers(scheme, values):
    step = {"h": 1e-3} if isinstance(scheme, sl.MoreauJean) else {}
    sol = sl.solve(SYSTEM, **START, scheme=scheme, parameters=values, **step)
    same = sl.solve(plain_system(**values), **START, scheme=scheme, **step)
    for part in ("t", "q", "v", "impulse"):
        np.testing.assert_array_equal(getattr(sol, part), getattr(same, part))


def test_new_starts_and_values_trace_and_compile_nothing_not_even_zero_and_one(made):
    sl.solve(SYSTEM, **START)
    made.update(traced=0, compiled=0)
    for value in (0.0, 1.0, -1.0, 2.0):
        sol = sl.solve(SYSTEM, (0.0, 0.3), [value, 0.2], [0.0, value], parameters={"w": value, "damping": abs(value)})
        assert sol.parameters["w"] == value
    for e in (0.0, 1.0):
        sl.solve(SYSTEM, **START, parameters={"e": e, "mu": e})
    assert made == {"traced": 0, "compiled": 0}


def test_a_variable_called_like_a_parameter_is_no_part_of_the_model(made):
    names = {"p": p, "w": 0.0}
    exec("def f(t, q, v):\n    return -p.w**2 * q", names)  # noqa: S102
    system = sl.System(M=1.0, f=names["f"])
    for w in (2.0, 0.0, 1.0):
        names["w"] = w  # for w in ...: solve(..., parameters={"w": w})
        sl.solve(system, (0.0, 0.1), 0.0, 1.0, parameters={"w": w})
    assert made["traced"] == 1


def test_an_array_of_references_has_the_values_of_the_run():
    stiffness = np.array([p.w, 1.0], dtype=object)
    system = sl.System(M=1.0, f=lambda t, q, v: -stiffness[0] * stiffness[1] * q)
    sl.solve(system, (0.0, 1.0), 0.1, 0.0)
    found = sl.solve(system, (0.0, 1.0), 0.1, 0.0, parameters={"w": 4.0})
    assert found(1.0).q[0] == pytest.approx(0.1 * math.cos(2.0), abs=1e-6)


INERTIAS = {  # where a parameter may stand in masses and rows: a run must not take those of other values
    "nowhere": lambda m, k: (1.0, lambda q: q[0]),
    "mass": lambda m, k: (m, lambda q: q[0]),
    "mass as a function": lambda m, k: (lambda q: [np.sqrt(m * m)], lambda q: q[0]),
    "a branch of the mass": lambda m, k: (lambda q: [m if k > 1.0 else 1.0], lambda q: q[0]),
    "slope of a gap": lambda m, k: (1.0, lambda q: k * q[0]),
    "end of a gap": lambda m, k: (1.0, lambda q: q[0] - 1e-3 * k),
    "speed of a gap": lambda m, k: (1.0, lambda t, q: q[0] - 1e-3 * k * t),
}


@pytest.mark.parametrize("where", INERTIAS)
def test_masses_and_rows_are_those_of_the_values(where):
    def system(m, k):
        M, gap = INERTIAS[where](m, k)
        return sl.System(M=M, f=lambda q: [-9.81 * m], contacts=[sl.Contact(gap, e=0.5, name="floor")])

    chosen = {"t_span": (0.0, 0.8), "q0": 1.0, "v0": 0.0, "tol": 1e-6, "scale": 1e-3}
    names = sl.Parameters(m=1.0, k=1.0)
    known = system(names.m, names.k)
    for values in ({}, {"m": 7.0, "k": 3.0}, {"m": 1e-3, "k": 30.0}):
        again = sl.solve(known, parameters=values, **chosen)
        first = sl.solve(system(values.get("m", 1.0), values.get("k", 1.0)), **chosen)
        for part in ("t", "q", "v", "impulse"):
            assert getattr(again, part).tobytes() == getattr(first, part).tobytes()
        for part in ("mass", "entry"):  # what thresholds of a run are made of
            assert np.array_equal(getattr(again._model.inertia, part), getattr(first._model.inertia, part))


def test_parameters_that_are_not_named_return_to_their_first_value():
    first = sl.solve(SYSTEM, **START)
    sl.solve(SYSTEM, **START, parameters={"w": 5.0, "e": 0.1})
    again = sl.solve(SYSTEM, **START)
    np.testing.assert_array_equal(first.q, again.q)
    assert again.parameters == dict(p.items())


def test_another_scheme_and_events_of_the_same_system_see_the_values():
    crossing = sl.Event(lambda q: q[0] - p.low, name="low", direction=-1, reset=lambda t, q, v: (q, -p.e * v))
    sol = sl.solve(SYSTEM, **START, events=[crossing], parameters={"low": 0.2, "e": 0.5})
    row = sol.events[sol.events["contact"] == "low"][0]
    assert abs(sol(row["t"], side="-").q[0] - 0.2) < 1e-9
    np.testing.assert_allclose(sol(row["t"]).v, -0.5 * sol(row["t"], side="-").v, rtol=1e-12)


def test_branches_on_parameters_have_both_outcomes(made):
    def push(t, q, v):
        if p.mode > 0.5:
            return [1.0]
        return [-1.0] if q[0] > p.high else [0.5] if q[0] > p.low else [2.0]

    system = sl.System(M=1.0, f=push)
    ends = []
    for values in ({}, {"mode": 1.0}, {"high": -0.2, "low": -0.3}, {"low": 0.4, "high": 0.1}):
        sol = sl.solve(system, (0.0, 1.0), 0.0, 0.0, parameters=values, scheme=sl.MoreauJean(), h=1e-3)
        ends.append(sol.v[-1, 0])
    assert made["traced"] == 1
    low, high = 0.4, 0.1  # the order of two thresholds is no structure either
    assert ends[1] == pytest.approx(1.0) and ends[0] < 1.0 and ends[2] < 0.0

    def with_numbers(t, q, v):
        return [-1.0] if q[0] > high else [0.5] if q[0] > low else [2.0]

    plain = sl.solve(sl.System(M=1.0, f=with_numbers), (0.0, 1.0), 0.0, 0.0, scheme=sl.MoreauJean(), h=1e-3)
    assert ends[3] == plain.v[-1, 0]


def test_arrays_and_parameters_among_numbers_of_mass_and_force():
    s = sl.Parameters(m=[1.0, 2.0], k=[[3.0, -1.0], [-1.0, 2.0]], weight=9.81)
    system = sl.System(M=[s.m[0], s.m[1]], f=lambda q: -(s.k @ q) - np.array([0.0, s.weight]))
    found = sl.solve(system, (0.0, 1.0), [0.1, 0.2], [0.0, 0.0], parameters={"m": [2.0, 3.0], "k": np.eye(2)})
    plain = sl.System(M=[2.0, 3.0], f=lambda q: -(np.eye(2) @ q) - np.array([0.0, 9.81]))
    np.testing.assert_allclose(found.q[-1], sl.solve(plain, (0.0, 1.0), [0.1, 0.2], [0.0, 0.0]).q[-1], atol=1e-12)
    single = sl.System(M=s.weight, f=[s.weight, 0.0])
    sol = sl.solve(single, (0.0, 1.0), [0.0, 0.0], [0.0, 0.0], parameters={"weight": 2.0})
    np.testing.assert_allclose(sol.v[-1], [1.0, 0.0], atol=1e-12)


def test_a_captured_parameter_is_a_variable_too():
    w = p.w
    system = sl.System(M=1.0, f=lambda t, q, v: [-w * w * q[0], -9.81])
    sol = sl.solve(system, (0.0, 0.2), [0.3, 5.0], [0.0, 0.0], parameters={"w": 4.0})
    assert abs(sol.q[-1, 0] - 0.3 * math.cos(0.8)) < 1e-6


def test_parameters_behind_objects_are_found():
    class Spring:
        def __init__(self):
            self.numbers = {"of": sl.Parameters(stiffness=4.0)}

        def force(self, t, q, v):
            return -self.numbers["of"].stiffness * q

    system = sl.System(M=1.0, f=Spring().force)
    sol = sl.solve(system, (0.0, 1.0), 1.0, 0.0, parameters={"stiffness": 9.0})
    assert abs(sol.q[-1, 0] - math.cos(3.0)) < 1e-6


# ---- functions that cannot be traced


def clipped(t, q, v):
    return [-p.w * float(q[0]) if float(q[0]) < 10.0 else 0.0]


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_a_function_called_as_python_reads_the_values_of_its_run():
    system = sl.System(M=1.0, f=clipped)
    for w in (1.0, 4.0, 9.0):
        sol = sl.solve(system, (0.0, 1.0), 1.0, 0.0, parameters={"w": w}, scheme=sl.MoreauJean(), h=1e-3)
        assert abs(sol.q[-1, 0] - math.cos(math.sqrt(w))) < 2e-3


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_threads_read_their_own_values():
    found: dict[float, float] = {}

    def run(w: float) -> None:
        system = sl.System(M=1.0, f=clipped)
        sol = sl.solve(system, (0.0, 1.0), 1.0, 0.0, parameters={"w": w}, scheme=sl.MoreauJean(), h=2e-3)
        found[w] = sol.q[-1, 0]

    threads = [threading.Thread(target=run, args=(w,)) for w in (1.0, 4.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for w, end in found.items():
        assert abs(end - math.cos(math.sqrt(w))) < 5e-3
    assert len(found) == 2


def test_a_function_that_fails_is_called_with_the_values_of_the_run():
    def rooted(t, q, v):
        with np.errstate(invalid="ignore"):
            return [np.sqrt(p.high - q[0])]

    system = sl.System(M=1.0, f=rooted)
    with pytest.raises(sl.RunError, match=r"f returned \[nan\]") as caught:
        sl.solve(system, (0.0, 2.0), 0.0, 0.0, parameters={"high": 0.1}, scheme=sl.MoreauJean(), h=1e-3)
    assert 0.09 < caught.value.solution.q[-1, 0] < 0.11


# ---- files, pickles, second runs


def test_parameters_references_and_systems_pickle():
    again = pickle.loads(pickle.dumps((p, p.e, p.w)))  # noqa: S301  our own
    assert list(again[0].items()) == list(p.items())
    assert isinstance(again[1], Parameter) and again[1] == 0.8
    system = pickle.loads(pickle.dumps(SYSTEM))  # noqa: S301
    sol = sl.solve(system, **START, parameters={"w": 3.0, "e": 0.5})
    np.testing.assert_array_equal(sol.q, sl.solve(SYSTEM, **START, parameters={"w": 3.0, "e": 0.5}).q)


def test_a_solution_keeps_its_values_in_pickles_and_files(tmp_path):
    sol = sl.solve(SYSTEM, **START, parameters={"w": 3.0, "e": 0.5, "mu": 0.4})
    copy = pickle.loads(pickle.dumps(sol))  # noqa: S301
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    for other in (copy, loaded):
        assert other.parameters == sol.parameters == {**dict(p.items()), "w": 3.0, "e": 0.5, "mu": 0.4}
    np.testing.assert_array_equal(copy.energy.kinetic, sol.energy.kinetic)
    assert loaded.system.contacts[0].e == 0.5 and loaded.system.contacts[0].mu == 0.4
    np.testing.assert_array_equal(loaded.force_at(0.9), sol.force_at(0.9))


def test_arrays_of_parameters_come_back_from_files(tmp_path):
    s = sl.Parameters(k=[[1.0, 2.0], [3.0, 4.0]])
    sol = sl.solve(sl.System(M=1.0, f=lambda q: -s.k[1, 0] * q), (0.0, 0.1), 1.0, 0.0)
    sol.save(tmp_path / "run.h5")
    np.testing.assert_array_equal(sl.load(tmp_path / "run.h5").parameters["k"], s["k"])


def test_a_second_run_takes_the_same_values():
    sol = sl.solve(SYSTEM, **START, parameters={"w": 3.0}, verify=True)
    assert sol.verification.until == pytest.approx(1.0)


def test_a_checkpoint_knows_its_values(tmp_path):
    path = tmp_path / "run.checkpoint"
    options = {"scheme": sl.MoreauJean(), "h": 1e-3, "parameters": {"w": 3.0, "e": 0.5}}
    whole = sl.solve(SYSTEM, **START, **options)
    with pytest.raises(sl.LimitError):
        sl.solve(SYSTEM, **START, **options, checkpoint=path, max_steps=300)
    with pytest.raises(sl.SettingError, match="the numbers of the system"):
        sl.resume(path, SYSTEM, parameters={"w": 3.5, "e": 0.5})
    resumed = sl.resume(path, SYSTEM)
    np.testing.assert_array_equal(resumed.q, whole.q)
    assert resumed.parameters == whole.parameters


# ---- a new start is checked as the first one was


def test_a_start_at_which_the_mass_is_not_positive_is_refused_after_a_good_one():
    system = sl.System(M=lambda q: [[q[0]]], f=0.0)
    sl.solve(system, (0.0, 0.1), 1.0, 0.0)
    with pytest.raises(sl.ModelError, match="M is not positive definite at q0"):
        sl.solve(system, (0.0, 0.1), -1.0, 0.0)


def test_a_start_at_which_a_function_has_no_value_is_refused_after_a_good_one():
    system = sl.System(M=1.0, f=lambda q: np.log(q))
    sl.solve(system, (0.0, 0.1), 1.0, 0.0)
    with pytest.raises(sl.FunctionError, match=r"f returned \[nan\]"), np.errstate(invalid="ignore"):
        sl.solve(system, (0.0, 0.1), -1.0, 0.0)


def test_a_start_inside_of_a_contact_is_refused_after_a_good_one():
    sl.solve(SYSTEM, **START)
    with pytest.raises(sl.ModelError, match="q0 violates contact 'floor'"):
        sl.solve(SYSTEM, (0.0, 1.0), [0.0, -0.1], [0.0, 0.0])


def test_a_value_that_makes_the_mass_negative_is_refused():
    s = sl.Parameters(m=1.0)
    system = sl.System(M=s.m, f=0.0)
    sl.solve(system, (0.0, 0.1), 0.0, 1.0)
    with pytest.raises(sl.ModelError, match="M is not positive definite"):
        sl.solve(system, (0.0, 0.1), 0.0, 1.0, parameters={"m": -1.0})


# ---- errors name the parameter, the value and the remedy

WRONG = {
    "unknown": ({"omega": 1.0}, r"parameters has 'omega', which the system does not have: it has w, e, mu"),
    "shape": ({"w": [1.0, 2.0]}, r"parameter 'w' is \[1\.0, 2\.0\] of shape \(2,\).*shape \(\): give 2\.6"),
    "nan": ({"w": math.nan}, r"parameter 'w' is nan: give a finite number"),
    "inf": ({"e": np.inf}, r"parameter 'e' is inf: give a finite number"),
    "word": ({"w": "fast"}, r"parameter 'w' is 'fast': it must be a number"),
    "truth": ({"w": True}, r"parameter 'w' is True: it must be a number"),
    "complex": ({"w": 1j}, r"parameter 'w' is 1j: it must be a number"),
    "large": ({"w": 10**400}, r"parameter 'w' is 10{400}: it must be a number"),
    "date": ({"w": np.datetime64("2020")}, r"parameter 'w' is .*2020.*: it must be a number"),
    "nothing": ({"w": None}, r"parameter 'w' is None: it must be a number"),
    "list": ([1.0], r"parameters must be a dictionary like \{'w': 2\.6\}, not \[1\.0\]"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("fresh", [True, False], ids=["before any run", "after a run"])
def test_wrong_values_are_named(name, fresh):
    given, words = WRONG[name]
    system = sl.System(M=1.0, f=force, contacts=SYSTEM.contacts)
    if not fresh:
        sl.solve(system, **START)
    with pytest.raises(sl.SettingError, match=words):
        sl.solve(system, **START, parameters=given)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"e": 1.5}, r"e of contact 'floor' is 1\.5 \(parameter e\): a restitution lies between 0 and 1"),
        ({"mu": -0.1}, r"mu of contact 'floor' is -0\.1 \(parameter mu\): a friction coefficient is not negative"),
    ],
)
def test_laws_refuse_impossible_values_of_a_run(values, words):
    with pytest.raises(sl.ModelError, match=words):
        sl.solve(SYSTEM, **START, parameters=values)


def test_a_system_without_parameters_says_how_to_have_some():
    with pytest.raises(sl.SettingError, match=r"the system has no parameters: make p = Parameters\(w=\.\.\.\)"):
        sl.solve(sl.System(M=1.0, f=0.0), (0.0, 1.0), 0.0, 0.0, parameters={"w": 1.0})


def test_two_parameters_of_one_name_must_agree():
    one, other = sl.Parameters(k=1.0), sl.Parameters(k=2.0)
    with pytest.raises(sl.ModelError, match=r"two Parameters have 'k', once 1\.0 and once 2\.0"):
        sl.solve(sl.System(M=one.k, f=lambda q: -other.k * q), (0.0, 1.0), 1.0, 0.0)
    same = sl.Parameters(k=1.0)
    sol = sl.solve(sl.System(M=one.k, f=lambda q: -same.k * q), (0.0, 1.0), 1.0, 0.0, parameters={"k": 2.0})
    assert abs(sol.q[-1, 0] - math.cos(1.0)) < 1e-6


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: sl.Parameters(), "has no parameters"),
        (lambda: sl.Parameters(w=math.nan), "parameter 'w' is nan"),
        (lambda: sl.Parameters(k=[1.0, math.inf]), r"parameter 'k\[1\]' is inf"),
        (lambda: sl.Parameters(w="2.6"), "parameter 'w' is '2.6'"),
        (lambda: sl.Parameters(_w=1.0), "'_w' cannot be the name of a parameter"),
        (lambda: sl.Parameters(items=1.0), "'items' cannot be the name of a parameter"),
        (
            lambda: setattr(p, "w", 3.0),
            r"parameter 'w' cannot be set here: give solve\(\.\.\., parameters=\{'w': 3\.0\}",
        ),
        (lambda: p["omega"], "there is no parameter 'omega': there are w, e, mu"),
        (
            lambda: sl.Contact(floor_gap, e=sl.Parameters(e=[0.1, 0.2]).e),
            r"e of a contact is parameter e of shape \(2,\)",
        ),
        (lambda: sl.Contact(floor_gap, e=sl.Parameters(e=2.0).e), r"e of a contact is 2\.0 \(parameter e\)"),
    ],
)
def test_wrong_definitions_are_named(make, words):
    with pytest.raises(sl.ModelError, match=words):
        make()


def test_a_missing_name_is_an_attribute_error_that_lists_the_others():
    with pytest.raises(AttributeError, match=r"Parameters has no 'omega': it has w, e, mu"):
        _ = p.omega


def test_a_function_that_reads_the_first_value_is_refused():
    with pytest.raises(
        sl.FunctionError, match=r"p\['w'\] is the first value .* write p.w at t = 0.*test_parameters.py:\d+"
    ):
        sl.solve(sl.System(M=1.0, f=lambda t, q, v: -p["w"] * q), (0.0, 1.0), 0.1, 0.0)


def test_constant_matrices_take_no_parameters():
    s = sl.Parameters(k=4.0)
    with pytest.raises(sl.ModelError, match=r"K contains a parameter, .*put its force into f"):
        sl.solve(sl.System(M=1.0, f=0.0, K=[s.k]), (0.0, 1.0), 1.0, 0.0)


# ---- outside of runs


def test_a_parameter_computes_like_its_first_value():
    assert p.w + 1.0 == 3.6 and 2.0 * p.w == 5.2 and p.w**2 == 2.6**2 and -p.w == -2.6 and 1.0 / p.w == 1.0 / 2.6
    assert p.w > p.e and math.sin(p.w) == math.sin(2.6) and np.sin(p.w) == np.sin(2.6)
    assert f"{p.w:.2f}" == "2.60" and repr(p.e) == "<parameter e = 0.8>" and str(p.e) == "0.8"
    np.testing.assert_array_equal(np.ones(2) * p.w, [2.6, 2.6])
    s = sl.Parameters(k=[1.0, 2.0])
    assert [float(x) for x in s.k] == [1.0, 2.0] and s.k[1] == 2.0 and len(s.k) == 2 and s.k.shape == (2,)
    assert repr(s) == "Parameters(k=[1.0, 2.0])"
    assert force(0.0, [1.0, 0.0], [0.0, 0.0])[0] == -(2.6**2)


def test_a_traced_function_with_parameters_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sl.solve(SYSTEM, **START)


# ---- what lies in `par`


def test_parameters_stand_first_and_in_a_row():
    model = compile_model(SYSTEM, 0.0, np.array([0.3, 0.5]), np.zeros(2), parameters={"w": 7.0})
    layout, par = model.par_layout, model.units.par
    assert [slot.name for slot in layout][:7] == list(p)
    assert [slot.offset for slot in layout][:7] == list(range(7))
    assert layout.size == par.size
    assert layout.read(par)["w"] == par[layout.parameters["w"].offset] == 7.0
    changed = par.copy()
    layout.write(changed, {"damping": 0.7})
    assert np.flatnonzero(changed != par).tolist() == [layout.parameters["damping"].offset]


def test_models_of_one_structure_share_their_layout_and_their_code():
    one = compile_model(plain_system(), 0.0, np.array([0.3, 0.5]), np.zeros(2))
    other = compile_model(plain_system(w=4.0), 0.0, np.array([0.3, 0.5]), np.zeros(2))
    assert one.par_layout == other.par_layout
    assert one.units.force.address == other.units.force.address
    assert not np.array_equal(one.units.par, other.units.par)


def test_a_layout_has_no_gaps():
    with pytest.raises(ValueError, match="slot 'b' begins at 3, but the one before it ends at 2"):
        ParLayout((Slot("a", "array", 0, (2,)), Slot("b", "parameter", 3, ())))


w = sl.Parameters(e=0.1)  # called as a parameter of p, and with one of the same name


def test_an_attribute_is_no_parameters_that_are_called_like_it():
    system = sl.System(M=1.0, f=lambda t, q, v: [-p.w * p.e * q[0]])
    assert np.isclose(sl.solve(system, (0.0, 1.0), 1.0, 0.0, tol=1e-9).q[-1, 0], np.cos(np.sqrt(2.6 * 0.8)))
