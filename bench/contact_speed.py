"""Large contact problems: ColouredNSGS against Siconos' NSGS, per contact and sweep, and with two threads."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse
from ball_against_siconos import SICONOS_PYTHON, siconos_is_there
from packing import packing
from rows import Row

from saltus.contact import ColouredNSGS, ContactProblem, read_fclib

SIDE_SCRIPT = Path(__file__).with_name("siconos_contact.py")
FCLIB = Path(os.environ.get("SALTUS_FCLIB", Path(__file__).resolve().parents[2] / "shared" / "fclib"))
TOL = 1e-6
REPEATS = 5


def write_for_siconos(problem: ContactProblem, file: Path) -> None:
    """Write D by its blocks of 3 x 3 (columns first), b and mu in the text format of Siconos."""
    kernel, n = problem.kernel, problem.n
    rows = kernel.rows.reshape(n, 4)

    def columns(place, column, value):
        start = np.append(rows[:, place], rows[-1, place + 1])
        return scipy.sparse.csc_array((value, column, start), shape=(kernel.nv, n))

    D = columns(0, kernel.W_col, kernel.W).T @ columns(2, kernel.X_col, kernel.X)
    D = scipy.sparse.bsr_array(D, blocksize=(3, 3))
    D.sort_indices()
    nb, ends = n // 3, " ".join(str(3 * k + 3) for k in range(n // 3))
    lines = ["3", str(nb), "1", str(n), str(n), str(D.indices.size), f"{nb} {nb}", ends, ends]
    lines += [f"{D.indptr.size} {D.indices.size}", " ".join(map(str, D.indptr)), " ".join(map(str, D.indices))]
    for k, block in enumerate(D.data):
        lines += [str(k), *(repr(float(x)) for x in block.T.ravel())]
    lines += [" ".join(repr(float(x)) for x in numbers) for numbers in (problem.b, problem.mu)]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")


def siconos(problem: ContactProblem, tol: float, *, local: str = "NSN", max_sweeps: int = 20_000) -> dict:
    """Return what Siconos needed, best of the repeats, and the residual of its impulses by our yardstick."""
    with tempfile.TemporaryDirectory() as folder:
        file, result = Path(folder) / "problem.dat", Path(folder) / "P.npy"
        write_for_siconos(problem, file)
        command = [SICONOS_PYTHON, str(SIDE_SCRIPT), str(file), str(tol), str(max_sweeps), local, str(result)]
        runs = []
        for _ in range(2):
            made = subprocess.run(  # noqa: S603
                command, capture_output=True, encoding="utf-8", check=True, env={"PATH": "/usr/bin:/bin"}
            )
            runs.append(json.loads(made.stdout.splitlines()[-1]))
        best = min(runs, key=lambda run: run["seconds"])
        return {**best, "residual": problem.residual(np.load(result))}


def best(solver: ColouredNSGS, problem: ContactProblem, *, clock=time.thread_time, repeats: int = REPEATS):
    """Return the shortest time of a solution, coloured and packed anew each time [s], and the result."""
    result, times = solver.solve(problem), []
    for _ in range(repeats):
        began = clock()
        result = solver.solve(problem)
        times.append(clock() - began)
    return min(times), result


def against_siconos(what: str, problem: ContactProblem, tol: float, target: float, there: bool) -> Row:
    """Return the ratio of times, ours to the residual that Siconos reached or the tolerance if that is smaller."""
    if not there:
        seconds, result = best(ColouredNSGS(tol=tol, threads=1), problem)
        note = f"{1e3 * seconds:.1f} ms; no siconos in {SICONOS_PYTHON}"
        return Row(what, None, "at least", target, note=note)
    theirs = siconos(problem, tol)
    seconds, result = best(ColouredNSGS(tol=min(tol, theirs["residual"]), threads=1), problem)
    assert result.converged, result.message
    note = (
        f"{1e3 * seconds:.1f} ms, {result.iterations} sweeps, residual {result.residual:.1e}; Siconos "
        f"{1e3 * theirs['seconds']:.0f} ms, {theirs['sweeps']} sweeps, {theirs['residual']:.1e}"
    )
    return Row(what, theirs["seconds"] / seconds, "at least", target, note=note)


def nanoseconds(problem: ContactProblem, *, momentum: float) -> float:
    """Return the CPU time per contact and sweep on one thread, from runs of 50 and 250 sweeps [ns]."""
    short, long = (ColouredNSGS(tol=1e-15, max_sweeps=sweeps, threads=1, momentum=momentum) for sweeps in (50, 250))
    spent = best(long, problem)[0] - best(short, problem)[0]
    return 1e9 * spent / 200 / problem.mu.size


def two_threads(problem: ContactProblem) -> Row:
    """Return how much faster two threads sweep, in wall time; their results must have the same bits."""
    times = {}
    for _ in range(REPEATS):
        found = []
        for threads in (1, 2):
            for sweeps in (50, 250):
                solver = ColouredNSGS(tol=1e-15, max_sweeps=sweeps, threads=threads)
                seconds, result = best(solver, problem, clock=time.perf_counter, repeats=1)
                times[threads, sweeps] = min(seconds, times.get((threads, sweeps), seconds))
            found.append(result)
        assert found[0].P.tobytes() == found[1].P.tobytes()
        assert found[0].u.tobytes() == found[1].u.tobytes()
    one, two = (times[threads, 250] - times[threads, 50] for threads in (1, 2))
    note = f"{1e3 * one:.1f} and {1e3 * two:.1f} ms for 200 sweeps, same bits; needs two free cores"
    return Row(f"{problem.mu.size} contacts, two threads over one", one / two, "at least", 1.6, note=note)


def capsules() -> ContactProblem:
    """Return the problem Capsules-i125 of FCLib."""
    return read_fclib(FCLIB / "Capsules-i125-1213.hdf5")


def measure() -> list[Row]:
    """Return the ratios and times, all of this run."""
    there, rows = siconos_is_there(), []
    worlds = {contacts: packing(contacts) for contacts in (1000, 5000, 10_000)}
    for contacts in (1000, 5000):
        what = f"{contacts} contacts to {TOL:g}, Siconos NSGS over ColouredNSGS, one thread each"
        rows.append(against_siconos(what, worlds[contacts], TOL, 5.0, there))
    if (FCLIB / "Capsules-i125-1213.hdf5").exists():
        rows.append(
            against_siconos("Capsules-i125 to 1e-08, Siconos NSGS over ColouredNSGS", capsules(), 1e-8, 1.0, there)
        )
    for contacts, world in worlds.items():
        plain, ahead = nanoseconds(world, momentum=0.0), nanoseconds(world, momentum=1.0)
        note = f"plain sweeps {plain:.0f}; with extrapolation and looks at the residual"
        rows.append(Row(f"{contacts} contacts, per contact and sweep, one thread", ahead, "at most", 60.0, "ns", note))
    rows += [two_threads(worlds[contacts]) for contacts in (5000, 10_000)]
    return rows


if __name__ == "__main__":
    for row in measure():
        print(f"{row.verdict:8} {row.what}: {row.measured} {row.unit} ({row.bound} {row.target}) {row.note}")
