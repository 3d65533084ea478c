"""Functions that cannot be traced, called as Python from machine code: the same motion, and exceptions that arrive."""

from __future__ import annotations

import functools
import gc
import threading

import numpy as np
import pytest

import saltus as sl
from saltus.build import model as models
from saltus.build.model import compile_model
from saltus.compile import callback, failure, opaque
from saltus.compile.seam import interpreted

H = 2.0**-6


@pytest.fixture
def without_numba(monkeypatch):
    """Let models be made as if numba were not installed."""
    monkeypatch.setattr(opaque, "has_numba", lambda: False)


def opened(x):
    """The same number, by a way that no tracer follows."""
    return np.array([float(one) for one in x])


def build(wrap) -> sl.System:
    """A rotating, sliding, jointed body; `wrap` decides how its functions see the state."""

    def mass(q):
        q = wrap(q)
        return np.diag([2.0 + 0.1 * np.cos(q[2]), 2.0, 1.5])

    def force(t, q, v):
        q, v = wrap(q), wrap(v)
        return np.array([np.sin(3.0 * t), -19.6 - 0.2 * v[1], -0.5 * q[2] - 0.1 * v[2]])

    def gap(t, q):
        q = wrap(q)
        return q[1] + 0.1 * np.cos(q[2]) - 0.01 * np.sin(t)

    def slip(t, q, v):
        q, v = wrap(q), wrap(v)
        return v[0] - 0.2 * v[2] * np.cos(q[2])

    def rail(q):
        q = wrap(q)
        return q[0] - 0.3 * q[2]

    contact = sl.Contact(gap, e=0.4, mu=0.3, slip=slip, name="floor")
    return sl.System(M=mass, f=force, contacts=[contact], joints=[sl.Joint(rail, name="rail")])


START = {"t_span": (0.0, 1.0), "q0": [0.06, 0.4, 0.2], "v0": [0.03, 0.0, 0.1]}


def test_every_function_may_be_called_as_python(without_numba):
    expected = sl.solve(build(lambda x: x), **START, scheme=sl.MoreauJean(), h=H)
    with pytest.warns(sl.SlowFunctionWarning) as caught:
        found = sl.solve(build(opened), **START, scheme=sl.MoreauJean(), h=H)
    said = [str(warning.message) for warning in caught]
    assert len(said) == 5
    assert all("is called as Python, about" in one and "pip install saltus[jit]" in one for one in said)
    np.testing.assert_allclose(found.q, expected.q, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(found.impulse, expected.impulse, rtol=0.0, atol=1e-7)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_differences_have_the_bits_of_the_interpreted_ones(without_numba):
    """Jacobians, rows and curvatures by differences are compiled from the same source as they are interpreted from."""
    rng = np.random.default_rng(4)
    model = compile_model(build(opened), 0.0, np.array(START["q0"]), np.array(START["v0"]))
    sizes = {"mass": (9,), "jacobian": (9, 9), "gap": (2,), "kinematics": (9, 3), "curvature": (3,), "force": (3,)}
    for name, shapes in sizes.items():
        unit = getattr(model.units, name)
        for _ in range(5):
            t, q, v, par = float(rng.random()), rng.normal(size=3), rng.normal(size=3), model.units.par
            state = (t, q) if name in ("mass", "gap", "kinematics") else (t, q, v)
            found, expected = ([np.full(n, 7.0) for n in shapes] for _ in range(2))
            assert unit(*state, par.copy(), *found) == interpreted(unit)(*state, par.copy(), *expected) == 0
            for one, other in zip(found, expected, strict=True):
                np.testing.assert_array_equal(one.view(np.int64), other.view(np.int64), err_msg=name)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_coordinates_events_and_resets_may_be_called_as_python(without_numba):
    def make(wrap):
        system = sl.System(
            M=np.eye(2),
            f=[0.0, 0.0],
            q_dot=lambda q, v: wrap(q)[0] * 0.0 + np.array([v[0], v[1], v[0] + v[1]]),
            retract=lambda q: np.array([wrap(q)[0], q[1], q[0] + q[1]]),
        )
        half = sl.Event(lambda q: wrap(q)[0] - 0.5, reset=lambda t, q, v: (wrap(q), -2.0 * wrap(v)), name="half")
        return sl.solve(system, (0.0, 1.0), [0.0, 0.1, 0.1], [1.0, 0.5], events=[half], scheme=sl.EventDriven())

    expected, found = make(lambda x: x), make(opened)
    np.testing.assert_allclose(found.q[-1], expected.q[-1], atol=1e-7)
    np.testing.assert_allclose(found.events["t"], expected.events["t"], atol=1e-7)
    np.testing.assert_allclose(expected.v[-1], [-2.0, -1.0])


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_the_same_with_the_source_compiled():
    expected = sl.solve(build(lambda x: x), **START, scheme=sl.MoreauJean(), h=H)
    found = sl.solve(build(opened), **START, scheme=sl.MoreauJean(), h=H)
    np.testing.assert_allclose(found.q, expected.q, rtol=0.0, atol=1e-7)


# ---- exceptions


class Late:
    """A force that fails after a time [s]."""

    def __init__(self, error: BaseException, after: float = 0.3):
        self.error, self.after = error, after

    def __call__(self, t, q, v):
        if float(t) > self.after:
            raise self.error
        return [-1.0 - 0.1 * float(q[0])]


SCHEMES = [sl.MoreauJean(), sl.HpTDG(), sl.EventDriven(), sl.AnyOrder(), sl.Splitting(), sl.TDGPlus(degree=2)]


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: type(scheme).__name__)
def test_an_exception_ends_the_run_with_its_message(scheme):
    late = Late(LookupError("no wind data after 0.3 s"))
    floor = sl.Contact(lambda q: q[0] + 5.0, e=0.5, name="floor")
    step = {} if isinstance(scheme, sl.HpTDG | sl.EventDriven) else {"h": H}
    with pytest.raises(sl.RunError, match=r"f raised LookupError: no wind data after 0\.3 s") as caught:
        sl.solve(sl.System(M=1.0, f=late, contacts=[floor]), (0.0, 1.0), 1.0, 0.0, scheme=scheme, **step)
    assert isinstance(caught.value.__cause__, sl.FunctionError)
    assert caught.value.solution.t[-1] <= 0.3 + H
    assert not failure.is_pending()
    late.error, late.after = LookupError(), np.inf
    sol = sl.solve(sl.System(M=1.0, f=late, contacts=[floor]), (0.0, 0.5), 1.0, 0.0, scheme=scheme, **step)
    assert sol.success and sol.t[-1] == 0.5


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_ctrl_c_inside_of_a_function_interrupts_the_run():
    late = Late(KeyboardInterrupt(), 0.7)  # later than the states beside the start that are looked at
    sol = sl.solve(sl.System(M=1.0, f=late), (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=H)
    assert sol.status is sl.Status.INTERRUPTED
    assert sol.t[-1] <= 0.7 + H
    plain = sl.solve(sl.System(M=1.0, f=Late(ValueError(), 9.0)), (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=H)
    np.testing.assert_array_equal(sol.q, plain.q[: len(sol.q)])


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_a_run_inside_of_a_function_of_another_run():
    good = sl.System(M=1.0, f=Late(ValueError("inner"), 9.0))
    bad = sl.System(M=1.0, f=Late(ValueError("inner trouble"), 0.07))

    def solved(after: float):
        def outer(t, q, v):
            inner = bad if float(t) > after else good
            return [-sl.solve(inner, (0.0, 0.1), float(q[0]), 0.0, scheme=sl.MoreauJean(), h=0.05).q[-1, 0]]

        return sl.solve(sl.System(M=1.0, f=outer), (0.0, 0.2), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.05)

    assert solved(after=9.0).success
    with pytest.raises(sl.RunError, match="f raised RunError: f raised ValueError: inner trouble"):
        solved(after=0.1)
    assert not failure.is_pending()


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_an_exception_of_one_thread_does_not_end_the_run_of_another():
    said: dict[str, str] = {}

    def run(name: str, after: float) -> None:
        try:
            system = sl.System(M=1.0, f=Late(ValueError(name), after))
            said[name] = sl.solve(system, (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=1e-3).status.name
        except sl.RunError as error:
            said[name] = str(error).split(" at ")[0]

    threads = [threading.Thread(target=run, args=pair) for pair in (("good", 9.0), ("bad", 0.5), ("worse", 0.1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {"good": "OK", "bad": "f raised ValueError: bad", "worse": "f raised ValueError: worse"}


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_energies_of_a_mass_that_fails_later_name_the_exception():
    class Mass:
        broken = False

        def __call__(self, q):
            if self.broken:
                raise LookupError("the mass is gone")
            return [[1.0 + 0.0 * float(q[0])]]

    mass = Mass()
    sol = sl.solve(sl.System(M=mass, f=-1.0), (0.0, 0.1), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.05)
    mass.broken = True
    with pytest.raises(sl.FunctionError, match="M raised LookupError: the mass is gone"):
        _ = sol.energy


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_functions_are_forgotten_with_their_models():
    gc.collect()
    before = len(callback._table)
    for _ in range(3):
        sl.solve(sl.System(M=1.0, f=Late(ValueError(), 9.0)), (0.0, 0.1), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.05)
    gc.collect()
    assert len(callback._table) <= before


def test_derivatives_that_are_too_large_are_an_error_that_says_so(monkeypatch):
    """The gaps themselves can be traced, their derivatives cannot: that left `solve` as an error of the tracer."""
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    contacts = [sl.Contact(lambda q, k=k: (turn @ np.sin(turn @ q))[k] + 1.0) for k in range(6)]
    system = sl.System(M=np.eye(6), f=np.zeros(6), contacts=contacts)
    assert sl.solve(system, (0.0, 0.1), np.zeros(6), np.zeros(6)).success
    monkeypatch.setattr(models, "Trace", functools.partial(models.Trace, limit=260))
    with pytest.raises(sl.ModelError, match="too large together: the function makes more than 260 operations"):
        sl.solve(sl.System(M=np.eye(6), f=np.zeros(6), contacts=contacts), (0.0, 0.1), np.zeros(6), np.zeros(6))
