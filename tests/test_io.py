"""Files: results come back bit by bit, damage is seen, runs go on from their checkpoints as if nothing had happened."""

from __future__ import annotations

import dataclasses
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import saltus as sl
from counts import counted
from extras import needs_jit
from saltus.compile.seam import unit
from saltus.compile.types import DECIDE
from saltus.errors import MissingExtraError
from saltus.io.checkpoint import Checkpoint
from saltus.run import run as running

BALL = {"scheme": sl.MoreauJean(), "h": 1e-3}


@dataclasses.dataclass(frozen=True)
class Wavering:
    """A control of its own memory: steps that grow, and a rejection whenever they have become too long."""

    longest: float = 0.02
    name = "wavering"
    kernel_memory = 2

    @property
    def kernel(self):
        return waver

    def settings(self) -> np.ndarray:
        return np.array([self.longest])


@unit(DECIDE)
def waver(settings, header, t, h, memory, decision):
    memory[0] += 1.0
    memory[1] += header.error
    if h > settings[0]:
        decision[0] = h / 16.0
        return 1
    decision[0] = h * (1.1 + 0.01 * (memory[0] % 7.0))
    return 0


def falling(t_end: float = 2.0) -> sl.Problem:
    return sl.Problem(sl.System(M=1.0, f=-2.0), (0.0, t_end), 1.0, 3.0)


def oscillator(stiffness: float = 40.0, e: float = 0.7, offset: float = 0.0) -> sl.Problem:
    """A driven, nonlinear oscillator between a wall and a rough table: joints aside, everything happens in it."""
    wall = sl.Contact(lambda q: 0.3 - q[0], e=e, name="wall")
    table = sl.Contact(lambda q: q[1], mu=0.2, slip=lambda t, q, v: v[0], name="table")

    def f(t, q, v):
        drive = 8.0 * np.cos(11.0 * t)
        return np.array([drive - stiffness * q[0] - 5.0 * q[0] ** 3 - 0.1 * v[0], -9.81])

    system = sl.System(M=[1.0, 2.0], f=f, contacts=[wall, table])
    return sl.Problem(system, (0.0, 4.0), [offset, 0.0], [1.0, 0.0])


def springs() -> sl.Problem:
    """A linear chain against a stop: the scheme keeps the factors of one matrix for the whole run."""
    stop = sl.Contact(lambda q: 0.2 - q[2], e=0.8, name="stop")
    K = 50.0 * (2.0 * np.eye(3) - np.eye(3, k=1) - np.eye(3, k=-1))
    return sl.Problem(
        sl.System(M=1.0, f=np.zeros(3), K=K, C=0.1, contacts=[stop]), (0.0, 2.0), [0.0] * 3, [3.0, 0.0, 0.0]
    )


RUNS = {
    "ball": lambda: (sl.problems.zeno_ball(), BALL),
    "every 7th step": lambda: (sl.problems.zeno_ball(), {**BALL, "save": 7}),
    "events only": lambda: (sl.problems.zeno_ball(), {**BALL, "save": "events"}),
    "given times": lambda: (sl.problems.zeno_ball(), {**BALL, "t_eval": [0.5, 1.3, 3.9]}),
    "breaks": lambda: (sl.problems.zeno_ball(), {**BALL, "breaks": [0.7, 2.5]}),
    "doubled steps": lambda: (sl.problems.zeno_ball(), {**BALL, "scheme": sl.StepDoubling(sl.MoreauJean())}),
    "Schatzman-Paoli": lambda: (sl.problems.zeno_ball(), {**BALL, "scheme": sl.SchatzmanPaoli()}),
    "Paoli velocity": lambda: (sl.problems.zeno_ball(), {**BALL, "scheme": sl.PaoliVelocity()}),
    "generalized-alpha": lambda: (sl.problems.zeno_ball(), {**BALL, "scheme": sl.GeneralizedAlpha(0.5)}),
    "no contact": lambda: (falling(), {**BALL, "scheme": sl.MoreauJean(theta=1.0)}),
    "friction": lambda: (oscillator(), {**BALL, "scheme": sl.MoreauJean(solver=sl.NSGS(tol=1e-11))}),
    "springs": lambda: (springs(), BALL),
    "joints": lambda: (sl.problems.rod_pendulum(), {**BALL, "scheme": sl.MoreauJean(projection=True)}),
    "quaternions": lambda: (sl.problems.rolling_sphere(), BALL),
    "doubled quaternions": lambda: (
        sl.problems.rolling_sphere(),
        {**BALL, "scheme": sl.StepDoubling(sl.StepDoubling(sl.MoreauJean()))},
    ),
}


@pytest.fixture(params=RUNS, ids=lambda name: name.replace(" ", "-"))
def run(request) -> tuple[sl.Problem, dict]:
    return RUNS[request.param]()


def assert_same(found: sl.Solution, expected: sl.Solution) -> None:
    """Every array bit by bit, every word and number equal."""
    for field in dataclasses.fields(expected):
        # a file holds what a solution finds out when it is asked
        name = "_inside" if field.name == "_certificate" else field.name
        value, wanted = getattr(found, name), getattr(expected, name)
        if isinstance(wanted, np.ndarray):
            assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape), field.name
            assert value.tobytes() == wanted.tobytes(), field.name
    for name in ("work", "status", "message", "rows", "name", "scheme"):
        assert getattr(found, name) == getattr(expected, name), name


# ---- results


def test_a_saved_solution_comes_back_bit_by_bit(run, tmp_path):
    problem, options = run
    sol = sl.solve(problem, **options)
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    assert_same(loaded, sol)
    for name in ("v_minus", "impulse", "joint_impulse", "residual", "violation", "admissibility", "step_error"):
        assert getattr(loaded, name).tobytes() == getattr(sol, name).tobytes(), name
    for name in ("kinetic", "work", "dissipation", "defect"):
        assert getattr(loaded.energy, name).tobytes() == getattr(sol.energy, name).tobytes(), name
    assert loaded.gaps().tobytes() == sol.gaps().tobytes()
    assert repr(loaded) == repr(sol)
    assert loaded.system.contact_names == sol.system.contact_names
    assert loaded.system.joint_names == sol.system.joint_names
    assert not any(array.flags.writeable for array in (loaded.t, loaded.q, loaded.events) if array.size)


def test_a_loaded_solution_answers_between_its_times(run, tmp_path):
    problem, options = run
    sol = sl.solve(problem, **options)
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    times = np.concatenate([np.random.default_rng(1).uniform(*sol.t[[0, -1]], 300), sol.t[:50]])
    if not sol.every_step:
        times = sol.t
    for side in ("+", "-"):
        assert loaded(times, side=side).q.tobytes() == sol(times, side=side).q.tobytes()
        assert loaded(times, side=side).v.tobytes() == sol(times, side=side).v.tobytes()
    assert loaded.impulse_at(times).tobytes() == sol.impulse_at(times).tobytes()


def test_a_loaded_solution_can_be_saved_again_to_the_same_bytes(run, tmp_path):
    problem, options = run
    sl.solve(problem, **options).save(tmp_path / "first.h5")
    sl.load(tmp_path / "first.h5").save(tmp_path / "second.h5")
    assert (tmp_path / "first.h5").read_bytes() == (tmp_path / "second.h5").read_bytes()


def test_a_pipe_is_not_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(sl.FileError, match=r"pipe is a pipe, device or socket, not a file: give the name of a file"):
        sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(), h=1e-2, progress=False).save(pipe)
    assert pipe.is_fifo()


def test_equal_runs_make_equal_files(tmp_path):
    for name in ("a.h5", "b.h5"):
        sl.solve(oscillator(), **BALL).save(tmp_path / name)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_a_run_that_failed_keeps_its_message(tmp_path):
    problem = sl.Problem(sl.System(M=1.0, f=lambda t, q, v: -1.0 / (1.0 - t)), (0.0, 2.0), 1.0, 0.0)
    with pytest.raises(sl.RunError) as caught:
        sl.solve(problem, scheme=sl.MoreauJean(), h=0.25, t_span=(0.0, 2.0), breaks=[0.875])
    sol = caught.value.solution
    sol.save(tmp_path / "failed.h5")
    loaded = sl.load(tmp_path / "failed.h5")
    assert_same(loaded, sol)
    assert not loaded.success


def test_a_loaded_solution_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    sl.solve(oscillator(), **BALL).save(tmp_path / "run.h5")
    assert len(sl.load(tmp_path / "run.h5").plot().axes) == 4


def test_a_loaded_solution_says_that_it_has_no_model(tmp_path):
    sl.solve(falling(), **BALL).save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    assert loaded.exact is None
    with pytest.raises(sl.SettingError, match="no model"):
        loaded.at_times(np.array([0.00123]))


def test_a_scheme_of_ones_own_is_named_but_cannot_interpolate(tmp_path):
    @dataclasses.dataclass(frozen=True)
    class Mine(sl.MoreauJean):
        weight: float = 2.0
        name = "mine"

    sol = sl.solve(falling(), scheme=Mine(weight=3.0), h=0.01)
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    assert loaded.scheme.name == "mine"
    assert loaded.scheme.description["settings"]["weight"] == 3.0
    assert loaded(sol.t[5]).q == sol.q[5]
    with pytest.raises(sl.SettingError, match="not part of saltus"):
        loaded(0.0123)


# ---- other programs read them


def test_a_result_is_a_netcdf_file(tmp_path):
    xarray = pytest.importorskip("xarray")
    pytest.importorskip("h5netcdf")
    sol = sl.solve(oscillator(), **BALL)
    sol.save(tmp_path / "run.h5")
    with xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf") as read:
        assert dict(read.sizes) == {"t": 4001, "coordinate": 2, "velocity": 2, "contact": 2}
        assert read["t"].attrs["units"] == "s"
        for name in ("t", "q", "v"):
            assert read[name].values.tobytes() == getattr(sol, name).tobytes()
        assert read["gap"].values.tobytes() == sol.gaps().tobytes()
    for group in ("events", "reactions", "dense"):
        with xarray.open_dataset(tmp_path / "run.h5", engine="h5netcdf", group=group) as read:
            assert len(read.data_vars)


def test_a_dataset_has_units_names_and_events(tmp_path):
    pytest.importorskip("xarray")
    sol = sl.solve(oscillator(), **BALL)
    made = sol.to_xarray()
    assert list(made["row"].values) == ["wall N", "table N", "table T"]
    np.testing.assert_array_equal(made["v"].sel(t=2.0).values, sol(2.0).v)
    np.testing.assert_array_equal(made["impulse"].values[1:], sol.impulse)
    np.testing.assert_array_equal(made["gap"].sel(contact="wall").values, sol.gaps()[:, 0])
    assert int((made["event_kind"] == "impact").sum()) == np.count_nonzero(sol.events["kind"] == "impact")
    assert made["kinetic"].attrs["units"] == "J"
    pytest.importorskip("h5netcdf")
    made.to_netcdf(tmp_path / "dataset.nc", engine="h5netcdf")


def test_a_missing_xarray_names_the_extra(monkeypatch):
    sol = sl.solve(falling(), **BALL)
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(MissingExtraError, match=r"pip install saltus\[xarray\]"):
        sol.to_xarray()


def test_importing_saltus_imports_no_file_library():
    code = "import sys, saltus; assert not {'h5py', 'xarray'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


# ---- damage and bad places


@pytest.mark.parametrize("kind", ["results", "checkpoint"])
def test_every_damaged_byte_and_every_cut_is_seen(kind, tmp_path):
    path, damaged = tmp_path / "good.h5", tmp_path / "damaged.h5"
    problem = sl.problems.zeno_ball()
    sol = sl.solve(problem, scheme=sl.MoreauJean(), h=0.02, checkpoint=path)
    if kind == "results":
        sol.save(path)
    whole = path.read_bytes()
    random = np.random.default_rng(2)
    for k in range(200):
        place = int(random.integers(len(whole)))
        if k % 4 == 3:
            spoiled = whole[:place]
        else:
            spoiled = whole[:place] + bytes([whole[place] ^ int(random.integers(1, 256))]) + whole[place + 1 :]
        damaged.write_bytes(spoiled)
        with pytest.raises((sl.DamagedFileError, sl.FileFormatError)):
            sl.load(damaged) if kind == "results" else sl.resume(damaged, problem)
    damaged.write_bytes(whole + b"\0")
    with pytest.raises(sl.DamagedFileError, match="checksum"):
        sl.load(damaged) if kind == "results" else sl.resume(damaged, problem)


def test_files_of_another_kind_are_refused(tmp_path):
    problem, path = sl.problems.zeno_ball(), tmp_path / "run.h5"
    with pytest.raises(sl.FileError, match=r"run\.h5 cannot be read: No such file"):
        sl.load(path)
    path.write_text("t, q, v", encoding="utf-8")
    with pytest.raises(sl.FileFormatError, match="not a file of saltus"):
        sl.load(path)
    sl.solve(problem, **BALL, checkpoint=path)
    with pytest.raises(sl.FileFormatError, match="'checkpoint 1', but 'results'"):
        sl.load(path)
    sl.solve(problem, **BALL).save(path)
    with pytest.raises(sl.FileFormatError, match="'results 1', but 'checkpoint'"):
        sl.resume(path, problem)
    assert issubclass(sl.DamagedFileError, OSError)


def test_a_place_that_cannot_be_written_is_refused_at_the_start(tmp_path):
    problem = sl.problems.zeno_ball()
    sol = sl.solve(problem, **BALL)
    for path, why in ((tmp_path / "missing" / "run.h5", "No such file"), (tmp_path, "is a folder|Is a directory")):
        with pytest.raises(sl.FileError, match=why):
            sol.save(path)
        with pytest.raises(sl.FileError, match=why):
            sl.solve(problem, **BALL, checkpoint=path)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)  # root may write everywhere
    try:
        with pytest.raises(sl.FileError, match="Permission denied"):
            sol.save(locked / "run.h5")
        with pytest.raises(sl.FileError, match=r"Permission denied.*choose a folder"):
            sl.solve(problem, **BALL, checkpoint=locked / "run.h5")
    finally:
        if root:
            os.seteuid(0)
    assert list(locked.iterdir()) == []


@pytest.fixture
def full_disk():
    """Return a function that lets no file grow beyond a number of bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_old_result(tmp_path, full_disk):
    short, long = (sl.solve(falling(), scheme=sl.MoreauJean(), h=h) for h in (0.1, 1e-4))
    assert long.gaps().size + long.energy.kinetic.size > 0  # compiled before the disk is full
    short.save(tmp_path / "run.h5")
    full_disk(100_000)
    with pytest.raises(sl.FileError, match="File too large; what was there before is unchanged"):
        long.save(tmp_path / "run.h5")
    assert_same(sl.load(tmp_path / "run.h5"), short)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_a_run_goes_on_when_the_disk_is_full_and_the_last_checkpoint_stays(tmp_path, full_disk):
    problem, path = sl.problems.zeno_ball(), tmp_path / "run.h5"
    options = {"scheme": sl.MoreauJean(), "h": 1e-5}
    expected = sl.solve(problem, **options)
    full_disk(1_000_000)
    with pytest.warns(sl.CheckpointWarning, match="no checkpoint at t = .*File too large"):
        sol = sl.solve(problem, **options, checkpoint=path, checkpoint_every=0.01)
    assert_same(sol, expected)
    assert [name.name for name in tmp_path.iterdir()] == ["run.h5"]
    full_disk(resource.RLIM_INFINITY)
    assert_same(sl.resume(path, problem), expected)


# ---- checkpoints


class Cut:
    """The march in pieces of random length, interrupted after some of them."""

    def __init__(self, march, steps: int):
        self.march, self.longest, self.random = march, max(2, steps // 15), np.random.default_rng(3)
        self.left = 0

    def __getattr__(self, name):
        return getattr(self.march, name)

    def __call__(self, *arguments):
        if self.left == 0:
            self.left = int(self.random.integers(1, 8))
            raise KeyboardInterrupt
        self.left -= 1
        return self.march(*arguments[:-1], int(self.random.integers(1, self.longest)))


def cut_run(problem, options, path, monkeypatch, steps: int, **resumed) -> sl.Solution:
    """Run in many pieces, each in a new `resume`."""
    cut = Cut(running.march, steps)
    with monkeypatch.context() as patch:
        patch.setattr(running, "march", cut)
        sol, parts = sl.solve(problem, **options, checkpoint=path), 1
        while sol.status is sl.Status.INTERRUPTED:
            sol, parts = sl.resume(path, problem, **resumed), parts + 1
    assert parts > 2
    return sol


def test_a_run_in_pieces_is_the_run_at_once(run, tmp_path, monkeypatch):
    problem, options = run
    expected = sl.solve(problem, **options)
    found = cut_run(problem, options, tmp_path / "run.h5", monkeypatch, expected.work["steps"])
    assert_same(found, expected)
    assert_same(sl.resume(tmp_path / "run.h5", problem), expected)  # a finished run is simply read


@needs_jit
def test_a_control_with_a_memory_goes_on_too(tmp_path, monkeypatch):
    options = {"scheme": sl.StepDoubling(sl.MoreauJean()), "h": 1e-4, "control": Wavering(), "breaks": [0.5, 1.7]}
    problem, path = sl.problems.zeno_ball(), tmp_path / "run.h5"
    expected = sl.solve(problem, **options)
    assert expected.work["rejected"] > 5
    found = cut_run(problem, options, path, monkeypatch, expected.work["steps"], control=Wavering())
    assert_same(found, expected)
    with pytest.raises(sl.SettingError, match=r"control of .* cannot be made again: Wavering is not part of saltus"):
        sl.resume(path, problem)
    with pytest.raises(sl.SettingError, match=r"control is Wavering\(longest=0.5\), but .* leave control out"):
        sl.resume(path, problem, control=Wavering(0.5))


def test_a_system_is_enough_to_resume(tmp_path):
    problem, path = sl.problems.zeno_ball(), tmp_path / "run.h5"
    expected = sl.solve(problem.system, (0.0, 2.0), 1.0, 0.0, **BALL, checkpoint=path)
    found = sl.resume(path, problem.system)
    assert found.q.tobytes() == expected.q.tobytes()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda: oscillator(stiffness=41.0), "the numbers of the system"),
        (lambda: oscillator(e=0.5), "the numbers of the system"),
        (lambda: oscillator(offset=0.1), r"q0 \(\[0.1, 0.0\] here, \[0.0, 0.0\] there\)"),
        (lambda: dataclasses.replace(oscillator(), t_span=(0.0, 5.0)), r"t_span \(\[0.0, 5.0\] here"),
        (lambda: dataclasses.replace(oscillator(), v0=[2.0, 0.0]), "v0"),
        (lambda: sl.problems.zeno_ball(), "the functions of the system"),
    ],
)
def test_another_problem_is_refused(change, word, tmp_path):
    path = tmp_path / "run.h5"
    sl.solve(oscillator(), scheme=sl.MoreauJean(), h=0.01, checkpoint=path)
    with pytest.raises(sl.SettingError, match=f"belongs to another problem, it differs in .*{word}"):
        sl.resume(path, change())


def interpreted_ball(weight: float, late: float = 0.0, second: bool = False) -> sl.Problem:
    """A ball whose force is called as Python: its code and numbers are not in the generated text."""
    table = {"weight": weight, "other": object()}

    def f(t, q, v):
        return -table["weight"] - (late if float(t) > 0.5 else 0.0)

    def g(t, q, v):
        return -table["weight"] + 0.0 * (late if float(t) > 0.5 else 0.0)

    floor = sl.Contact(lambda q: q[0], e=0.5, name="floor")
    return sl.Problem(sl.System(M=1.0, f=g if second else f, contacts=[floor]), (0.0, 2.0), 1.0, 0.0)


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
def test_functions_called_as_python_go_on_and_are_told_apart(tmp_path, monkeypatch):
    path, options = tmp_path / "run.h5", {"scheme": sl.MoreauJean(), "h": 0.01}
    expected = sl.solve(interpreted_ball(2.0), **options)
    cut = Cut(running.march, 200)
    monkeypatch.setattr(running, "march", cut)
    sol = sl.solve(interpreted_ball(2.0), **options, checkpoint=path)
    while sol.status is sl.Status.INTERRUPTED:
        sol = sl.resume(path, interpreted_ball(2.0))
    assert_same(sol, expected)
    for other, word in (
        (interpreted_ball(3.0), "the numbers of the system"),
        (interpreted_ball(2.0, late=1.0), "other values at t = 2"),
        (interpreted_ball(2.0, second=True), "the functions of the system"),
    ):
        with pytest.raises(sl.SettingError, match=f"belongs to another problem.*{word}"):
            sl.resume(path, other)


def test_a_checkpoint_of_another_version_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    with monkeypatch.context() as patch:
        patch.setattr(sl, "__version__", "0.0.7")
        sl.solve(falling(), **BALL, checkpoint=path)
    with pytest.raises(sl.FileFormatError, match=r"written by saltus 0\.0\.7"):
        sl.resume(path, falling())


@pytest.mark.parametrize("every", [0.0, -1.0, np.nan, True, "often"])
def test_a_senseless_interval_is_refused(every, tmp_path):
    with pytest.raises(sl.SettingError, match="checkpoint_every is"):
        sl.solve(falling(), **BALL, checkpoint=tmp_path / "run.h5", checkpoint_every=every)


def test_a_failed_run_leaves_a_checkpoint_that_fails_in_the_same_way(tmp_path):
    path = tmp_path / "run.h5"
    problem = sl.Problem(sl.System(M=1.0, f=lambda t, q, v: -1.0 / (1.0 - t)), (0.0, 2.0), 1.0, 0.0)
    options = {"scheme": sl.MoreauJean(theta=0.0), "h": 0.25}
    with pytest.raises(sl.RunError) as first:
        sl.solve(problem, **options, checkpoint=path)
    with pytest.raises(sl.RunError) as second:
        sl.resume(path, problem)
    assert str(first.value) == str(second.value)
    assert second.value.solution.q.tobytes() == first.value.solution.q.tobytes()


def test_ctrl_c_leaves_a_valid_checkpoint(tmp_path):
    problem, path = sl.problems.zeno_ball(t_end=20.0), tmp_path / "run.h5"
    options = {"scheme": sl.MoreauJean(), "h": 1e-5, "save": 1000}
    expected = sl.solve(problem, **options)

    def written() -> int:
        return path.stat().st_ino if path.exists() else 0  # every checkpoint is a new file under the same name

    def interrupt():  # not before the run marches: the first checkpoint is that of the start
        for _ in range(2):
            before = written()
            while written() == before:
                time.sleep(1e-3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    sol = sl.solve(problem, **options, checkpoint=path, checkpoint_every=0.005)
    assert sol.status is sl.Status.INTERRUPTED
    assert_same(sl.resume(path, problem), expected)


@pytest.mark.parametrize("when", ["before it is written", "after it is written", "when the march begins"])
def test_ctrl_c_around_the_first_checkpoint_ends_a_run_that_can_go_on(when, tmp_path, monkeypatch):
    problem, path = sl.problems.zeno_ball(), tmp_path / "run.h5"
    options = {"scheme": sl.MoreauJean(), "h": 1e-3}
    expected = sl.solve(problem, **options)
    write, enter, pressed = Checkpoint.write, running.Run._enter, []

    def press() -> None:
        if not pressed:
            pressed.append(True)
            signal.raise_signal(signal.SIGINT)

    def written(self, snapshot):
        if when == "before it is written":
            press()
        write(self, snapshot)
        if when == "after it is written":
            press()

    def entered(self, segment):
        press()
        enter(self, segment)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", written)
        patch.setattr(running.Run, "_enter", entered)
        sol = sl.solve(problem, **options, checkpoint=path)
    assert pressed and sol.status is sl.Status.INTERRUPTED
    assert sol.t.tolist() == [0.0]
    assert_same(sl.resume(path, problem), expected)


def test_ctrl_c_while_the_last_checkpoint_is_written_loses_nothing(tmp_path, monkeypatch):
    problem, path = sl.problems.zeno_ball(), tmp_path / "run.h5"
    options = {"scheme": sl.MoreauJean(), "h": 1e-3}
    expected, write, calls = sl.solve(problem, **options), Checkpoint.write, []

    def written(self, snapshot):
        calls.append(True)
        if len(calls) == 2:  # the first one is that of the start
            signal.raise_signal(signal.SIGINT)
        write(self, snapshot)

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "write", written)
        sol = sl.solve(problem, **options, checkpoint=path)
    assert len(calls) == 3
    assert_same(sol, expected)
    assert_same(sl.resume(path, problem), expected)


KILLED = """
import os, pathlib, signal, sys, time
import numpy as np
import saltus as sl

folder, kills = pathlib.Path(sys.argv[1]), int(sys.argv[2])
options = {"scheme": sl.MoreauJean(), "h": 1e-6, "save": 100}
problem = sl.problems.zeno_ball(t_end=12.0)
sl.solve(problem, **options).save(folder / "whole.h5")  # compiles, so that children begin at once
random = np.random.default_rng(4)
path, done = folder / "checkpoint.h5", folder / "resumed.h5"

def work():
    if path.exists():
        sol = sl.resume(path, problem, checkpoint_every=0.005)
    else:
        sol = sl.solve(problem, **options, checkpoint=path, checkpoint_every=0.005)
    sol.save(done)

def parts():
    return [name for name in os.listdir(folder) if name.endswith(".part")]

killed = halved = 0
for k in range(kills + 1):
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    if k < kills:
        end = time.perf_counter() + random.uniform(0.0, 0.7)
        while time.perf_counter() < end and not (k % 3 == 2 and parts()):  # every third time in the middle of writing
            time.sleep(1e-4)
        os.kill(child, signal.SIGKILL)
    killed += os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    halved += bool(parts())
print(killed, halved)
"""
KILLS = counted(20, 6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_at_random_moments_change_no_bit(tmp_path):
    script = textwrap.dedent(KILLED)
    command = [sys.executable, "-c", script, str(tmp_path), str(KILLS)]
    made = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=100)  # noqa: S603
    assert made.returncode == 0, made.stderr
    killed, halved = map(int, made.stdout.split())
    assert killed >= 0.7 * KILLS
    assert halved >= 1
    assert (tmp_path / "whole.h5").read_bytes() == (tmp_path / "resumed.h5").read_bytes()
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".part"]
