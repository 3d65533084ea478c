"""The same bits wherever a run is made: in threads, in processes of every kind, with any locale."""

from __future__ import annotations

import concurrent.futures
import gc
import hashlib
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import warnings
import weakref

import cloudpickle
import loky
import numpy as np
import pytest

import saltus as sl
from counts import counted

TASKS = 8
METHODS = [name for name in ("fork", "spawn", "forkserver") if name in multiprocessing.get_all_start_methods()]


def digest(number: int) -> str:
    """Return the bits of three runs: traced, with a branch, called as Python; each number has parameters of its own."""
    k = 2.0 + number

    def spring(t, q, v):
        return -k * q if t > 0.3 else np.array([-9.81])

    def caught(t, q, v):
        try:
            return -k * q
        except ValueError:
            return q

    floor = sl.Contact(gap=lambda q: q[0], e=0.8, name="floor")
    made = hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sl.SlowFunctionWarning)
        for f in (-9.81 - number, spring, caught):
            system = sl.System(M=1.0, f=f, contacts=[floor])
            run = sl.solve(system, (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=1e-2, progress=False)
            for part in (run.t, run.q, run.v, run.impulse):
                made.update(np.ascontiguousarray(part).tobytes())
    return made.hexdigest()


@pytest.fixture(scope="module")
def alone() -> list[str]:
    return [digest(number) for number in range(TASKS)]


def test_threads_give_the_same_bits(alone):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(digest, range(TASKS))) == alone


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_processes_give_the_same_bits(method, alone):
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(digest, range(TASKS)) == alone


def test_loky_workers_give_the_same_bits(alone):
    executor = loky.get_reusable_executor(max_workers=2)
    try:
        assert list(executor.map(digest, range(TASKS))) == alone
    finally:
        executor.shutdown(kill_workers=True)


def test_a_process_without_a_locale_reads_and_writes(alone, tmp_path):
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import saltus as sl, test_processes\n"
        "run = sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(), h=1e-2, progress=False)\n"
        "run.save(sys.argv[2]); assert sl.load(sys.argv[2]).q.tobytes() == run.q.tobytes()\n"
        "print(test_processes.digest(0))\n"
    )
    bare = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONUTF8"))}
    command = [
        sys.executable,
        "-X",
        "utf8=0",
        "-c",
        script,
        str(pathlib.Path(__file__).parent),
        str(tmp_path / "Läufe.h5"),
    ]
    environment = {
        **bare,
        "LC_ALL": "C",
        "PYTHONCOERCECLOCALE": "0",
        "SALTUS_CACHE": str(tmp_path / "Zwischenablage ö"),
    }
    said = subprocess.run(  # noqa: S603
        command, capture_output=True, encoding="utf-8", env=environment, timeout=250
    )
    assert said.returncode == 0, said.stderr
    assert said.stdout.split() == [alone[0]]


STRUCTURES = counted(200, 60)  # those called as Python hold 2 MB each: more than the limit if they were kept


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="memory is read from /proc")
def test_many_structures_leave_their_memory():
    script = pathlib.Path(__file__).parents[1] / "bench" / "hostile" / "structures.py"
    said = subprocess.run(  # noqa: S603
        [sys.executable, str(script), str(STRUCTURES)], capture_output=True, encoding="utf-8", timeout=250
    )
    assert said.returncode == 0, said.stdout + said.stderr
    assert said.stdout.count(f"{STRUCTURES} models") == 2


def test_functions_are_let_go_with_their_system_without_waiting_for_the_collector():
    large = np.full(10, 2.0)

    def called():
        def f(t, q, v):
            try:
                return -large[0] * q
            except ValueError:
                return q

        return f

    def used(function) -> weakref.ref:
        run = sl.solve(sl.System(M=1.0, f=function), (0.0, 0.1), 1.0, 0.0, scheme=sl.MoreauJean(), h=1e-2)
        assert run.success
        return weakref.ref(function)

    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sl.SlowFunctionWarning)
            left = [used(make()) for make in (called, called)]
        assert [reference() for reference in left] == [None, None]
    finally:
        gc.enable()


def test_the_package_itself_travels_with_functions_of_a_script():
    # cloudpickle sends what a function of __main__ refers to, and knows plain modules only
    assert pickle.loads(cloudpickle.dumps(sl)) is sl  # noqa: S301
    names = {"sl": sl, "__name__": "__main__"}
    exec("def make(k):\n    return sl.System(M=k, f=[0.0])", names)  # noqa: S102
    assert pickle.loads(cloudpickle.dumps(names["make"]))(2.0).M == 2.0  # noqa: S301
