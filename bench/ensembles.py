"""Many runs: what was asked, what is measured. `python bench/ensembles.py` prints a table and writes ensembles.md.

CPU times, least of several; ratios inside of one process. With a name, such as `threads`, only that row is measured;
`whole` makes the million runs in two threads, which is not done unless it is named.
"""

from __future__ import annotations

import cProfile
import hashlib
import math
import os
import pathlib
import pstats
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numba
import numpy as np

import saltus as sl
from saltus import problems, sweep

HERE = pathlib.Path(__file__)
TABLE = HERE.with_suffix(".md")
p = sl.Parameters(w=2.6, e=0.8)
OSCILLATOR = sl.System(
    M=1.0, f=lambda t, q, v: [-q[0] + np.cos(p.w * t)], contacts=[sl.Contact(lambda q: -q[0], e=p.e, name="stop")]
)
PERIOD = 2.0 * math.pi / 2.6


def scattered(runs: int, executor=None, store=None, **options):
    """Forced oscillators over five periods, all different."""
    return sweep.monte_carlo(
        OSCILLATOR, [sweep.Uniform(-1.0, 0.0)], [sweep.Uniform(-1.0, 1.0)], w=sweep.Uniform(1.5, 6.0),
        e=sweep.Uniform(0.1, 0.95), runs=runs, seed=11, t_span=(0.0, lambda: 10.0 * np.pi / p.w),
        measures=[sweep.ImpactStatistics("stop")], executor=executor, store=store, **options,
    )  # fmt: skip


def cpu(action, repeat: int = 3) -> float:
    """Return the least CPU time of some calls [s]."""
    times = []
    for _ in range(repeat):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return min(times)


@numba.njit(error_model="numpy", cache=True)
def place(s, t, a, b, g, w):
    """Return position and speed s after the start of a flight at t."""
    position = a * math.cos(s) + b * math.sin(s) + g * math.cos(w * (t + s))
    return position, b * math.cos(s) - a * math.sin(s) - g * w * math.sin(w * (t + s))


@numba.njit(error_model="numpy", cache=True)
def flight(t, x, v, w, g, end):
    """Return how long a flight lasts, and its speed at the stop; -1 where it reaches the end before."""
    a, b = x - g * math.cos(w * t), v + g * w * math.sin(w * t)
    largest = math.sqrt(a * a + b * b) + abs(g) * w * w
    s = -2.0 * v / largest if x == 0.0 else 0.0  # it has just left the stop
    for _ in range(10_000):
        position, speed = place(s, t, a, b, g, w)
        if speed > 0.0 and -position < 0.2 * speed * speed / largest:  # Newton converges from here
            step = -position / speed
            if abs(step) <= 1e-14 * (1.0 + t + s):
                return s, speed
        else:  # no stop before: |x''| is at most `largest`
            step = -2.0 * position / (speed + math.sqrt(speed * speed - 2.0 * largest * position))
        s += step
        if t + s >= end:
            break
    return -1.0, 0.0


@numba.njit(error_model="numpy", cache=True)
def by_hand(x, v, w, e, end):
    """Return position, speed and number of impacts at the end: the exact flow, for this model alone."""
    g = 1.0 / (1.0 - w * w)
    state = np.array([0.0, x, v, 0.0])  # time, position, speed, impacts
    while True:
        t, x_0, v_0 = state[0], state[1], state[2]
        s, speed = flight(t, x_0, v_0, w, g, end)
        if s < 0.0:
            x_1, v_1 = place(end - t, t, x_0 - g * math.cos(w * t), v_0 + g * w * math.sin(w * t), g, w)
            return x_1, v_1, state[3]
        state[0], state[1], state[2], state[3] = t + s, 0.0, -e * speed, state[3] + 1.0


def calls():
    scattered(10)  # compiles
    counts = []
    for runs in (10, 100_000):
        profile = cProfile.Profile()
        profile.enable()
        scattered(runs)
        profile.disable()
        functions = pstats.Stats(profile).stats.items()  # type: ignore[attr-defined]
        counts.append(sum(numbers[1] for place, numbers in functions if place[0] != "~"))
    said = f"{counts[1]}, of which {counts[0]} prepare the sweep (the second one of its model)"
    return "Python calls of a sweep of 1e5 runs", "< 1000", said, counts[1] < 1000


def overhead():
    runs = 100_000
    step = {"scheme": sl.MoreauJean(), "h": 1e-3, "w": np.full(runs, 2.6), "runs": runs}
    short = cpu(lambda: sweep.monte_carlo(OSCILLATOR, -0.5, 0.0, t_span=(0.0, 1e-3), **step))
    long = cpu(lambda: sweep.monte_carlo(OSCILLATOR, -0.5, 0.0, t_span=(0.0, 1e-2), **step))
    each = (short - (long - short) / 9.0) / runs * 1e6
    return "overhead per run, arrays included [us]", "<= 5", f"{each:.2f}", each <= 5.0


def per_impact():
    periods, runs = 500, 20
    made = lambda: sweep.monte_carlo(  # noqa: E731
        OSCILLATOR, -0.5, 0.0, w=np.full(runs, 2.6), runs=runs, t_span=(0.0, periods * PERIOD), tol=1e-6,
        measures=sweep.ImpactStatistics(),
    )  # fmt: skip
    impacts = float(made()["impacts"].sum())
    mine = cpu(made, 5) / impacts * 1e6
    end = by_hand(-0.5, 0.0, 2.6, 0.8, periods * PERIOD)
    hand = cpu(lambda: [by_hand(-0.5, 0.0, 2.6, 0.8, periods * PERIOD) for _ in range(runs)], 5) / (runs * end[2]) * 1e6
    same = abs(float(made()["q_end"][0, 0]) - end[0])
    said = f"{mine:.2f}, by hand {hand:.2f}: {mine / hand:.0f} times; ends differ by {same:.0e}"
    return "us per impact at tol 1e-6", "<= 8, aim 5", said, mine <= 8.0


def threads():
    scattered(100)
    walls = []
    for count in (1, 2):
        times = []
        for _ in range(3):
            began = time.perf_counter()
            scattered(20_000, sweep.Threads(count))
            times.append(time.perf_counter() - began)
        walls.append(min(times))
    gain = walls[0] / walls[1]
    load = os.getloadavg()[0]
    return "2 threads over 1, wall (needs two free cores)", ">= 1.8", f"{gain:.2f} at load {load:.0f}", gain >= 1.8


def memory():
    sizes = []
    for periods in (200, 20_000):
        sweep.monte_carlo(
            OSCILLATOR,
            -0.5,
            0.0,
            w=[2.6, 2.7],
            runs=2,
            t_span=(0.0, periods * PERIOD),
            measures=sweep.ImpactStatistics(),
        )
        sizes.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    grown = sizes[1] - sizes[0]
    return "memory of 20 000 impacts per run over that of 200 [kB more]", "flat", f"{grown}", grown < 1000


def equal_to_solve(result, count: int = 200) -> int:
    """Return how many of some random runs end as `solve` ends them, bit by bit."""
    rng, same = np.random.default_rng(3), 0
    for k in rng.choice(len(result), count, replace=False):
        alone = result.solve(int(k))
        same += result._reduced.ends[k].tobytes() == np.array([alone.t[-1], *alone.q[-1], *alone.v[-1]]).tobytes()
    return same


def million(runs=100_000):
    spent = []
    seconds = cpu(lambda: spent.append(scattered(runs)), 1) * 1e6 / runs
    result, same = spent[0], equal_to_solve(spent[0])
    said = f"{seconds:.0f} s of CPU (1e{math.log10(runs):.0f} runs, scaled), {len(result.failed)} failed; {same} of 200"
    fine = same == 200 and len(result.failed) == 0
    return "1e6 runs over 5 periods, by one thread; 200 random ones against solve", "200", said, fine


def whole(runs=1_000_000):
    """Make all of the million runs; wall time, which needs two free cores."""
    scattered(100)
    began, spent = time.perf_counter(), time.process_time()
    result = scattered(runs, sweep.Threads(2))
    seconds, spent = time.perf_counter() - began, time.process_time() - spent
    same, load = equal_to_solve(result), os.getloadavg()[0]
    failed, impacts = len(result.failed), float(result["stop_impacts"].sum())
    said = f"{seconds:.1f} s ({spent:.0f} s of CPU, {impacts:.3g} impacts) at load {load:.0f}, {failed} failed; "
    fine = seconds < 60.0 and same == 200 and failed == 0
    return (
        "1e6 runs over 5 periods, Threads(2), wall; 200 random ones against solve",
        "< 60 s; 200",
        f"{said}{same} of 200",
        fine,
    )


def lanes():
    """Time a step of one run in a sweep in lanes, by default and with the bits of `solve`."""
    runs, made = 4096, {}
    for sine in ("own", "library"):
        step = {"scheme": sweep.MoreauJeanLanes(sine=sine), "h": 1e-3, "w": np.linspace(2.0, 3.0, runs), "runs": runs}
        short, long = (
            cpu(lambda end=end, step=step: sweep.monte_carlo(OSCILLATOR, -0.5, 0.0, t_span=(0.0, end), **step))
            for end in (0.1, 1.1)
        )
        made[sine] = (long - short) / runs / 1000 * 1e9
    said = f"{made['own']:.1f}, with the bits of solve {made['library']:.1f}"
    return "MoreauJeanLanes in a sweep, a cosine per step [ns per step and run]", "<= 12", said, made["own"] <= 12.0


def diagram():
    made = lambda: sweep.bifurcation(  # noqa: E731
        OSCILLATOR, -0.5, 0.0, w=np.linspace(2.5, 3.2, 300), section=sweep.Strobe(lambda: 2.0 * np.pi / p.w),
        transient=200, keep=50,
    )  # fmt: skip
    made()
    seconds = cpu(made)
    return "bifurcation, 300 values x 250 periods [s of CPU]", "<= 2", f"{seconds:.2f}", seconds <= 2.0


def digest(folder) -> str:
    files = sorted(pathlib.Path(folder).iterdir())
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()[:12]


def stores(runs=4000):
    with tempfile.TemporaryDirectory() as place:
        root = pathlib.Path(place)
        scattered(runs, None, root / "serial")
        wanted = digest(root / "serial")
        found = {}
        for name, executor in (
            ("Threads(1)", sweep.Threads(1)), ("Threads(2)", sweep.Threads(2)), ("Processes(2)", sweep.Processes(2)),
        ):  # fmt: skip
            scattered(runs, executor, root / name)
            found[name] = digest(root / name) == wanted
        found["dask, one worker killed"] = dask_killed(runs, root / "dask") and digest(root / "dask") == wanted
        found["killed and started again"] = killed(runs, root / "killed") and digest(root / "killed") == wanted
    said = ", ".join(f"{name}: {'equal' if same else 'DIFFERENT'}" for name, same in found.items())
    return "stores against that of Serial(), bit by bit", "equal", said, all(found.values())


def dask_killed(runs: int, store: pathlib.Path) -> bool:
    """Make runs on two dask workers, of which one is killed in the middle; tell whether it was."""
    from dask.distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        with Client(cluster) as client:
            pids = list(client.run(os.getpid).values())
            done = []

            def kill():
                while not done:
                    if len(list(store.glob("chunk*"))) >= 10:
                        os.kill(pids[0], signal.SIGKILL)
                        done.append(True)
                    time.sleep(0.005)

            killer = threading.Thread(target=kill, daemon=True)
            killer.start()
            scattered(runs, sweep.Dask(client), store)
            early = bool(done)
            done.append(True)
            killer.join()
            return early and pids[0] not in client.run(os.getpid).values()


def killed(runs: int, store: pathlib.Path) -> bool:
    """Start a program that makes runs, kill it in the middle, go on; tell whether it was in the middle."""
    path, call = str(HERE.parent), f"scattered({runs}, None, {str(store)!r})"
    slow = "from saltus.sweep.store import Store; put = Store.put; import time"
    slower = "Store.put = lambda self, *given: (put(self, *given), time.sleep(0.05))"
    program = f"import sys; sys.path.insert(0, {path!r}); import ensembles; {slow}; {slower}; ensembles.{call}"
    process = subprocess.Popen([sys.executable, "-c", program])  # noqa: S603
    while len(list(store.glob("chunk*.npz"))) < 20 and process.poll() is None:
        time.sleep(0.005)
    process.kill()
    process.wait()
    part = len(list(store.glob("chunk*.npz")))
    scattered(runs, None, store)
    return 20 <= part < len(list(store.glob("chunk*.npz")))


def valve_train():
    began = time.process_time()
    result = sweep.grid(
        problems.valve_train,
        engine_speed=np.linspace(4000.0, 8000.0, 50),
        measures=[sweep.ImpactStatistics(), sweep.Worst()],
    )
    seconds = time.process_time() - began
    said = f"{len(result.failed)} of {len(result)} failed, {seconds:.0f} s of CPU"
    return "valve train over 50 speeds", "made", said, len(result.failed) == 0


ROWS = {
    "calls": calls, "overhead": overhead, "impact": per_impact, "threads": threads, "memory": memory,
    "million": million, "diagram": diagram, "stores": stores, "valves": valve_train, "lanes": lanes,
}  # fmt: skip
ASKED = {"whole": whole}  # rows that are measured where they are named


def main() -> None:
    """Measure the rows that are named, or all; print them and enter them in the table."""
    known = {}
    if TABLE.exists():
        lines = TABLE.read_text(encoding="utf-8").splitlines()
        known = {line.split(" | ")[0][2:]: line for line in lines if line.startswith("| ") and "asked" not in line}
    for name in sys.argv[1:] or ROWS:
        figure, asked, measured, met = {**ROWS, **ASKED}[name]()
        load = os.getloadavg()[0]
        known[figure] = f"| {figure} | {asked} | {measured} | {'yes' if met else 'NO'} | {load:.0f} |"
        print(known[figure], flush=True)
        head = (
            "# Many runs\n\nWritten by `python bench/ensembles.py`: CPU times, ratios inside of a process. The load is "
            "that of the machine, which has two cores.\n\n"
            "| figure | asked | measured | met | load |\n|---|---|---|---|---|\n"
        )
        TABLE.write_text(head + "\n".join(known.values()) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
