"""The computing core: traced, compiled and plain functions agree; nothing is compiled twice; runs repeat."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from scipy import interpolate

import saltus as sl
from extras import needs_jit
from saltus.compile import code, direct

PACKAGE = pathlib.Path(sl.__file__).parent
H = 1.0 / 64.0
K, DAMPING = 2.3, 0.1


def pendulum(f, **options) -> sl.System:
    """A damped pendulum against a stop."""
    stop = sl.Contact(lambda q: q[0] + 0.5, e=0.7, name="stop")
    return sl.System(**{"M": 1.0, "f": f, "contacts": [stop], **options})


def swing(system: sl.System) -> sl.Solution:
    return sl.solve(system, (0.0, 6.0), 1.0, 0.0, scheme=sl.MoreauJean(theta=0.5), h=H)


@pytest.fixture(scope="module")
def reference() -> sl.Solution:
    return swing(pendulum(lambda t, q, v: -2.3 * np.sin(q) - 0.1 * v))


# ---- traced: whatever the spelling, the same bits


class Spring:
    """Parameters as attributes, the force as a method."""

    def __init__(self, k: float, damping: float):
        self.k, self.damping = k, damping

    def force(self, t, q, v):
        return -self.k * np.sin(q) - self.damping * v


def with_closure():
    k, damping = 2.3, 0.1
    return lambda t, q, v: -k * np.sin(q) - damping * v


def with_dictionary():
    p = {"k": 2.3, "damping": 0.1}
    return lambda t, q, v: -p["k"] * np.sin(q) - p["damping"] * v


def with_array():
    p = np.array([2.3, 0.1])
    return lambda t, q, v: -p[0] * np.sin(q) - p[1] * v


def without_source():
    names = {"np": np}
    exec("def f(t, q, v):\n    return -2.3 * np.sin(q) - 0.1 * v", names)  # noqa: S102  as typed into a console
    return names["f"]


def with_globals():
    return lambda t, q, v: -K * np.sin(q) - DAMPING * v


SPELLINGS = {
    "closure": with_closure,
    "globals": with_globals,
    "attribute": lambda: Spring(2.3, 0.1).force,
    "dictionary": with_dictionary,
    "array": with_array,
    "no source": without_source,
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_traced_force_gives_the_same_bits_in_every_spelling(spelling, reference):
    with warnings.catch_warnings():
        warnings.simplefilter("error", sl.SlowFunctionWarning)
        sol = swing(pendulum(SPELLINGS[spelling]()))
    np.testing.assert_array_equal(sol.q, reference.q)
    np.testing.assert_array_equal(sol.v, reference.v)
    np.testing.assert_array_equal(sol.impulse, reference.impulse)


# ---- not traceable: compiled from source, or called as Python


def branching(t, q, v):
    angle = float(q[0])
    if angle > 0.0:
        return [-2.3 * np.sin(angle) - 0.1 * v[0]]
    return [2.3 * np.sin(-angle) - 0.1 * v[0]]


def looping(t, q, v):
    angle = q[0]
    while angle > 0.5:
        angle -= 0.25
    # the sine of a sum, whatever the loop took away
    rest = q[0] - angle
    return [-2.3 * (np.sin(angle) * np.cos(rest) + np.cos(angle) * np.sin(rest)) - 0.1 * v[0]]


def timed(t, q, v):
    if float(t) < 1.0:
        return [-2.3 * np.sin(q[0]) - 0.1 * v[0]]
    return [-0.1 * v[0] - 2.3 * np.sin(q[0])]


def with_helper():
    table = np.array([2.3, 0.1])

    def strength(x):
        return np.sin(x) if float(x) > 0.0 else -np.sin(-x)

    def force(t, q, v):
        return [-table[0] * strength(q[0]) - table[1] * v[0]]

    return force


def with_objects():
    springs = {"main": Spring(2.3, 0.1)}

    def force(t, q, v):
        if q[0] > 100.0:
            raise ValueError("the pendulum went around")
        return springs["main"].force(t, q, v)

    return force


def branching_without_source():
    names = {"np": np}
    text = "def f(t, q, v):\n    x = q[0] if float(q[0]) > 0.0 else q[0]\n    return [-2.3 * np.sin(x) - 0.1 * v[0]]"
    exec(text, names)  # noqa: S102  as typed into a console
    return names["f"]


def with_foreign_object():
    sine = interpolate.UnivariateSpline(np.linspace(-2.0, 2.0, 2000), np.sin(np.linspace(-2.0, 2.0, 2000)), k=5, s=0)
    return lambda t, q, v: [-2.3 * float(sine(float(q[0]))) - 0.1 * v[0]]


SOURCE, PYTHON = "compiled from its source", "called as Python"
SLOW = {
    "float of the state": (lambda: branching, SOURCE, "float"),
    "float of the time": (lambda: timed, SOURCE, "float"),
    "while loop": (lambda: looping, SOURCE, "iterates until the state"),
    "helper and array": (with_helper, SOURCE, "float"),
    "dictionary of objects": (with_objects, PYTHON, "springs"),
    "branch without source": (branching_without_source, PYTHON, "source is not available"),
    "foreign spline": (with_foreign_object, PYTHON, "float"),
}


@needs_jit
@pytest.mark.parametrize("name", SLOW)
def test_an_untraceable_force_warns_and_gives_the_same_motion(name, reference):
    make, how, why = SLOW[name]
    with pytest.warns(sl.SlowFunctionWarning, match=rf"f is {how}.*{why}") as caught:
        sol = swing(pendulum(make()))
    slow = [w for w in caught if issubclass(w.category, sl.SlowFunctionWarning)]
    assert len(slow) == 1
    assert pathlib.Path(slow[0].filename) == pathlib.Path(__file__), "the warning points at the call of solve"
    foreign = [str(w.message) for w in caught if w not in slow]
    assert not foreign, "one warning says it all"
    np.testing.assert_allclose(sol.q, reference.q, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(sol.v, reference.v, rtol=0.0, atol=1e-9)
    np.testing.assert_array_equal(sol.events["t"], reference.events["t"])


@needs_jit
def test_an_untraceable_gap_gives_the_same_motion_up_to_differences(reference):
    def gap(q):
        return q[0] + 0.5 if float(q[0]) < 10.0 else 10.5

    stop = sl.Contact(gap, e=0.7, name="stop")
    with pytest.warns(sl.SlowFunctionWarning, match=r"gap of contact 'stop' is compiled from its source"):
        sol = swing(pendulum(lambda t, q, v: -2.3 * np.sin(q) - 0.1 * v, contacts=[stop]))
    np.testing.assert_allclose(sol.q, reference.q, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(sol.impulse, reference.impulse, rtol=0.0, atol=1e-7)


def sledge(mass, slip) -> sl.System:
    """Two degrees of freedom (height, distance) with friction; M(q) has a rest of coupling."""
    floor = sl.Contact(lambda q: q[0], e=0.3, mu=0.4, slip=slip, name="floor")
    return sl.System(M=mass, f=[-10.0, 1.0], contacts=[floor])


def throw(system: sl.System) -> sl.Solution:
    return sl.solve(system, (0.0, 1.0), [0.2, 0.0], [0.0, 3.0], scheme=sl.MoreauJean(theta=0.5), h=H)


@needs_jit
def test_untraceable_mass_and_slip_give_the_same_motion_up_to_differences():
    def mass(q):
        coupling = 0.1 * np.cos(q[1]) if float(q[0]) < 10.0 else 0.0
        return np.array([[1.0, coupling], [coupling, 2.0]])

    def slip(t, q, v):
        return v[1] - 0.5 if float(t) < 10.0 else v[1]

    def traced_mass(q):
        coupling = 0.1 * np.cos(q[1])
        return [[1.0, coupling], [coupling, 2.0]]

    expected = throw(sledge(traced_mass, lambda t, q, v: v[1] - 0.5))
    with (
        pytest.warns(sl.SlowFunctionWarning, match="M is compiled"),
        pytest.warns(sl.SlowFunctionWarning, match="slip of contact 'floor' is compiled"),
    ):
        sol = throw(sledge(mass, slip))
    np.testing.assert_allclose(sol.q, expected.q, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(sol.impulse, expected.impulse, rtol=0.0, atol=1e-8)
    np.testing.assert_array_equal(sol.events["kind"], expected.events["kind"])


# ---- a new value compiles nothing


@pytest.fixture
def loads(monkeypatch) -> list[str]:
    """What was loaded or compiled since the fixture began: units of the package, models."""
    seen: list[str] = []
    provide, assemble = code.provide, direct.assemble

    def provided(unit, version):
        seen.append(unit.__qualname__)
        return provide(unit, version)

    def assembled(*arguments):
        seen.append("model")
        return assemble(*arguments)

    monkeypatch.setattr(code, "provide", provided)
    monkeypatch.setattr(direct, "assemble", assembled)
    return seen


def parametrised(k: float, e: float, mass: float, shift) -> sl.System:
    stop = sl.Contact(lambda q: q[0] + shift[0], e=e, name="stop")
    return sl.System(M=mass, f=lambda t, q, v: -k * np.sin(q) ** 3 - shift[1] * v, contacts=[stop])


def test_new_parameter_values_load_and_compile_nothing(loads):
    first = swing(parametrised(2.3, 0.7, 1.0, np.array([0.5, 0.1])))
    loads.clear()
    for k in (-1.5, 7.25, 1e-3):
        swing(parametrised(k, 0.25, 1.7, np.array([0.3, 0.2])))
    assert loads == []
    again = swing(parametrised(2.3, 0.7, 1.0, np.array([0.5, 0.1])))
    np.testing.assert_array_equal(again.q, first.q)


def test_mass_restitution_and_start_may_be_zero_or_one_without_compiling(loads):
    swing(parametrised(2.3, 0.7, 1.7, np.array([0.5, 0.1])))
    loads.clear()
    for e in (0.0, 1.0):
        system = parametrised(2.3, e, 1.0, np.array([0.5, 0.1]))
        sl.solve(system, (0.0, 1.0), 0.0, 0.0, scheme=sl.MoreauJean(theta=0.5), h=H)
    assert loads == []


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_new_parameter_values_of_an_untraceable_function_compile_nothing(loads):
    def make(k):
        def force(t, q, v):
            return [-k * q[0]] if float(q[0]) > 0.0 else [k * abs(q[0])]

        return sl.System(M=1.0, f=force)

    swing(make(2.5))
    loads.clear()
    sol = swing(make(4.0))
    assert loads == []
    assert np.abs(sol.q[:, 0] - np.cos(2.0 * sol.t)).max() < 1e-2


def test_the_same_structure_under_another_scheme_compiles_only_the_scheme(loads):
    system = parametrised(2.3, 0.7, 1.0, np.array([0.5, 0.1]))
    swing(system)
    loads.clear()
    sl.solve(system, (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(theta=1.0, at="end"), h=H)
    assert loads == []


# ---- processes


def environment(**changes: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("SALTUS_CACHE", "XDG_CACHE_HOME", "SALTUS_KERNELS")}
    return {**kept, "PYTHONPATH": str(PACKAGE.parent), **changes}


def start(script: str, *arguments: str, **changes: str) -> subprocess.Popen:
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.Popen(  # noqa: S603  our own script
        command, env=environment(**changes), stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8"
    )


def finish(process: subprocess.Popen) -> tuple[dict, str]:
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    return json.loads(out), err


# ---- interpreted

SHORT = """
import json, sys, warnings
import numpy as np
import saltus as sl
warnings.simplefilter("ignore")
def branching(t, q, v):
    return [-2.0] if q[0] > 0.5 else [-3.0]
def converting(t, q, v):
    return [-2.0] if float(q[0]) > 0.5 else [-3.0]
ball = sl.problems.zeno_ball()
runs = {
    "ball": (ball, {"h": 0.02}),
    "slider_crank": (sl.problems.slider_crank(), {"t_span": (0.0, 50e-5), "h": 1e-5}),
    "pendulum": (sl.problems.rod_pendulum(), {"t_span": (0.0, 0.5), "h": 0.02}),
    "branch": (sl.System(M=1.0, f=branching), {"t_span": (0.0, 1.0), "q0": 1.0, "v0": 0.0, "h": 0.02}),
    "float": (sl.System(M=1.0, f=converting), {"t_span": (0.0, 1.0), "q0": 1.0, "v0": 0.0, "h": 0.02}),
}
made = {}
for name, (problem, options) in runs.items():
    sol = sl.solve(problem, scheme=sl.MoreauJean(theta=0.5), **options)
    arrays = sol.t, sol.q, sol.v, sol.impulse, sol.joint_impulse
    made[name] = [x.hex() for array in arrays for x in array.ravel()]
print(json.dumps(made))
"""


def test_the_interpreted_source_gives_the_same_bits(tmp_path):
    script = tmp_path / "short.py"
    script.write_text(SHORT, encoding="utf-8")  # a file, so that the source of the converting function can be read
    line = "import runpy, sys; runpy.run_path(sys.argv[1])"
    plain = start(line, str(script), SALTUS_KERNELS="none")
    compiled = start(line, str(script))
    plain_result, compiled_result = finish(plain)[0], finish(compiled)[0]
    for name, values in compiled_result.items():
        assert len(values) > 100
        assert plain_result[name] == values, name


# ---- composition, determinism, memory


def test_step_doubling_of_step_doubling_advances_by_quarter_steps():
    problem = sl.problems.zeno_ball()
    twice = sl.StepDoubling(sl.StepDoubling(sl.MoreauJean(theta=0.5)))
    doubled = sl.solve(problem, scheme=twice, h=4.0 * H)
    single = sl.solve(problem, scheme=sl.MoreauJean(theta=0.5), h=H)
    np.testing.assert_array_equal(doubled.q, single.q[::4])
    np.testing.assert_array_equal(doubled.v, single.v[::4])
    sums = single.impulse.reshape(-1, 4).sum(axis=1)
    np.testing.assert_allclose(doubled.impulse[:, 0], sums, rtol=0.0, atol=1e-13)


def rattle() -> sl.Solution:
    problem = sl.problems.slider_crank()
    return sl.solve(problem, t_span=(0.0, 0.02), scheme=sl.MoreauJean(theta=0.5), h=1e-5)


def same(one: sl.Solution, other: sl.Solution) -> bool:
    names = ("t", "q", "v", "v_minus", "impulse", "residual", "violation", "events")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_the_same_call_gives_the_same_bits():
    assert same(rattle(), rattle())


def in_threads(*tasks) -> list:
    results: list = [None] * len(tasks)

    def work(k):
        try:
            results[k] = tasks[k]()
        except BaseException as error:
            results[k] = error

    threads = [threading.Thread(target=work, args=(k,)) for k in range(len(tasks))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_runs_in_two_threads_at_once_give_the_same_bits():
    alone = rattle()
    for _ in range(3):
        for sol in in_threads(rattle, rattle):
            assert isinstance(sol, sl.Solution), sol
            assert same(sol, alone)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_python_functions_in_two_threads_at_once_give_the_same_bits():
    system = pendulum(with_objects())
    alone = swing(system)
    for sol in in_threads(lambda: swing(system), lambda: swing(system)):
        assert isinstance(sol, sl.Solution), sol
        assert same(sol, alone)


def test_a_new_structure_in_two_threads_at_once_is_compiled_without_harm():
    def task():
        system = sl.System(M=1.0, f=lambda t, q, v: -np.tanh(q) * 1.5 - 0.3 * v * np.exp(-q * q))
        return sl.solve(system, (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(theta=0.5), h=H)

    one, two = in_threads(task, task)
    assert isinstance(one, sl.Solution), one
    assert isinstance(two, sl.Solution), two
    assert same(one, two)


MEMORY = """
import json, resource, sys
import saltus as sl
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
def run(steps):
    problem = sl.problems.zeno_ball(t_end=steps * 1e-3)
    sol = sl.solve(problem, scheme=sl.MoreauJean(theta=0.5), h=1e-3, save="events")
    assert sol.work["steps"] == steps, sol.work
    return peak()
print(json.dumps([run(100_000), run(2_000_000)]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="resource is not available")
def test_memory_does_not_grow_with_the_number_of_steps():
    short, long = finish(start(MEMORY))[0]
    # one float per step would be 15 MB; the unit is kB on Linux and bytes on macOS
    assert (long - short) * (1 if sys.platform == "darwin" else 1024) < 4e6
