"""The figures of mechanisms, one table: starts, costs over the number of links, agreement, long runs, the breaker.

    python bench/mechanisms.py [--fast]       # some minutes of processor time; writes bench/mechanisms.md

--fast leaves the runs over 100 s out and writes nothing. Times are processor times, the least of several; starts are
those of new processes, counted from the end of the imports. Every figure has the number that was asked for.
"""

from __future__ import annotations

import inspect
import pathlib
import subprocess
import sys
import time

import numpy as np

import saltus as sl
from saltus import mechanics as me

HERE = pathlib.Path(__file__).parent
PYTHON = [sys.executable, "-c"]
LINES: list[tuple[str, str, str, str]] = []

START = """
import time, sys
import numpy as np
import saltus as sl
from saltus import mechanics as me, problems
from saltus.compile import direct
compiled = []
NO = "Units of a model that has no such functions"
real = direct._compiled
def counted(text, given):
    if NO not in text and direct.built(text) is None:
        compiled.append(text)
    return real(text, given)
direct._compiled = counted
def discs(n):
    w = me.Planar(gravity=9.81)
    made, side = {}, 20
    for k in range(n):
        place = (k % side, k // side)
        made[place] = w.body(me.Circle(0.05), mass=0.1, at=(0.11 * place[0], 0.2 + 0.11 * place[1]), name=f"disc {k}")
    for (x, y), disc in made.items():
        w.contact(disc, me.Plane(), e=0.3, mu=0.3)
        for other in ((x + 1, y), (x, y + 1), (x + 1, y + 1), (x - 1, y + 1)):
            if other in made:
                w.contact(disc, made[other], e=0.3, mu=0.3)
    return w.problem((0.0, 1.0))
began = time.process_time()
problem = MODEL
sl.solve(problem, (0.0, 3e-4), scheme=sl.MoreauJean(projection=PROJECTION), h=1e-4)
print(time.process_time() - began, len(compiled), len(problem.system.contact_names))
"""


def add(figure: str, asked: str, measured: str, meets: bool) -> None:
    """Print a line of the table and keep it."""
    LINES.append((figure, asked, measured, "yes" if meets else "NO"))
    print(" | ".join(LINES[-1]), flush=True)


def cpu(act, times: int = 3) -> tuple[float, object]:
    """Return the least processor time of some calls, and the last result."""
    least, made = np.inf, None
    for _ in range(times):
        began = time.process_time()
        made = act()
        least = min(least, time.process_time() - began)
    return least, made


def starts() -> None:
    for name, model, projection in (
        ("chain(300)", "problems.chain(n=300)", "True"),
        ("breaker, 7 worn joints", "problems.circuit_breaker()", "True"),
        ("300 discs", "discs(300)", "False"),
    ):
        text, least, count, contacts = START.replace("MODEL", model).replace("PROJECTION", projection), np.inf, 0, 0
        for _ in range(3):
            seconds, count, contacts = subprocess.run(  # noqa: S603
                [*PYTHON, text], capture_output=True, check=True, encoding="utf-8"
            ).stdout.split()
            least = min(least, float(seconds))
        add(
            f"start of {name}, {contacts} contacts",
            "1 s, 0 compiled",
            f"{least:.2f} s, {count}",
            least <= 1.0 and count == "0",
        )


def texts() -> None:
    from saltus.build.families import FamilyBuilder

    sizes = []
    for n in (3, 30, 300):
        p, kept = sl.problems.chain(n=n), []
        builder = FamilyBuilder(p.system, 0.0, p.q0, p.v0, (), {})
        write = builder.module_text
        builder.module_text = lambda body, write=write, kept=kept: kept.append(write(body)) or kept[-1]
        builder.build()
        sizes.append(len(kept[0][0]) + sum(len(t) for t in {group.kind.text for group in builder.groups}))
    add("text of chain(3, 30, 300)", "the same", ", ".join(map(str, sizes)), len(set(sizes)) == 1)


def steps() -> None:
    costs = {}
    for n in (10, 50, 100, 300):
        p = sl.problems.chain(n=n)
        for projection in (False, True):

            def run(count, p=p, projection=projection):
                return sl.solve(p, (0.0, count * 1e-4), scheme=sl.MoreauJean(projection=projection), h=1e-4)

            run(2)
            costs[n, projection] = (cpu(lambda: run(220))[0] - cpu(lambda: run(20))[0]) / 200.0 * 1e3
    add(
        "MoreauJean, a step of chain(50)",
        "0.3 ms",
        f"{costs[50, False]:.3f} ms; projected {costs[50, True]:.3f}",
        costs[50, True] <= 0.3,
    )
    add("chain(300)", "2 ms", f"{costs[300, False]:.3f} ms; projected {costs[300, True]:.3f}", costs[300, True] <= 2.0)
    grown = costs[300, True] / costs[50, True]
    add("chain(300) over chain(50)", "6 (linear)", f"{grown:.1f}", grown < 9.0)
    made: dict = {}
    exec(START[START.index("def discs") : START.index("began")], {"me": me}, made)  # noqa: S102
    p = made["discs"](300)

    def fly(count):
        return sl.solve(p, (0.0, count * 1e-4), scheme=sl.MoreauJean(), h=1e-4)

    fly(2)
    flight = (cpu(lambda: fly(220))[0] - cpu(lambda: fly(20))[0]) / 200.0 * 1e3
    add("300 discs in flight", "0.3 ms", f"{flight:.3f} ms", flight <= 0.3)
    for scheme in (sl.HpTDG(), sl.EventDriven()):
        each = {}
        for n in (10, 30, 100, 300):
            p = sl.problems.chain(n=n)
            seconds, run = cpu(lambda p=p, scheme=scheme: sl.solve(p, (0.0, 0.02), scheme=scheme, tol=1e-6))
            each[n] = 1e3 * seconds / run.work["f"]
        grown = each[300] / each[30]
        add(
            f"{type(scheme).__name__}, an evaluation of chain(10, 30, 100, 300)", "about linear",
            ", ".join(f"{one:.3f}" for one in each.values()) + f" ms; 300 over 30: {grown:.1f}", grown < 15.0,
        )  # fmt: skip


def agreement() -> None:
    span, places = (0.0, 0.039), np.linspace(0.0, 0.039, 40)
    for scheme, tol in ((sl.HpTDG(), 1e-9), (sl.EventDriven(), 1e-9)):
        minimal, bodies = (
            sl.solve(p, span, scheme=scheme, tol=tol)
            for p in (sl.problems.slider_crank(), sl.problems.slider_crank_bodies())
        )
        worst = max(np.max(np.abs(bodies(t).q[[2, 5, 8]] - minimal(t).q)) for t in places)
        add(f"slider-crank, minimal against bodies, {type(scheme).__name__}", "1e-8", f"{worst:.1e}", worst <= 1e-8)
    tied = sl.solve(sl.problems.slider_crank_bodies(), (0.0, 0.045), tol=1e-7)
    ties = tied.events["t"][tied.events["kind"] == "tie"]
    flat = ties[np.abs(ties - 0.0398) < 1e-4]  # where the slider lands flat
    add("its flat landing is a tie", "0.0398 s", f"{flat[0]:.7f} s" if len(flat) else "none", bool(len(flat)))
    hand, made = sl.problems.four_bar(), sl.problems.four_bar_bodies()
    ends = [sl.solve(p, (0.0, 0.1), tol=1e-8).q[-1] for p in (hand, made)]
    worst = float(np.max(np.abs(ends[0] - ends[1])))
    add("four_bar against the one written by hand", "1e-12", f"{worst:.1e}", worst <= 1e-12)
    worst = lagrangian()
    add("Lagrangian against bodies, double pendulum, 2 s", "1e-10", f"{worst:.1e}", worst <= 1e-10)
    cycles = []
    for scheme in (sl.HpTDG(), sl.EventDriven()):
        run = sl.solve(sl.problems.woodpecker(t_end=6.0), scheme=scheme, tol=1e-8)
        pecks = run.events[(run.events["contact"] == "beak") & (run.events["kind"] == "impact")]["t"]
        cycles.append((np.diff(pecks)[-1], 1e3 * np.diff([run(t).q[0] for t in pecks])[-1]))
    words = "; ".join(f"{period:.6f} s, {-fall:.4f} mm" for period, fall in cycles)
    add("woodpecker, a period by two schemes", "4 digits", words, bool(np.allclose(*cycles, rtol=5e-5)))


def double_pendulum() -> me.Planar:
    w = me.Planar(gravity=9.81)
    upper, lower = w.bar(1.0, mass=1.0, name="upper"), w.bar(1.0, mass=1.0, name="lower")
    w.revolute(w.ground, upper.start, name="top")
    w.revolute(upper.end, lower.start, name="middle")
    w.start(upper, angle=0.0)
    w.start(lower, angle=0.5)
    return w


def closed_loop() -> me.Planar:
    w = me.Planar(gravity=9.81)
    a, b, c = w.bar(0.05, mass=0.1), w.bar(0.12, mass=0.25, angle=0.5), w.bar(0.1, mass=0.2, angle=1.5)
    w.revolute(w.ground, a.start)
    w.revolute(a.end, b.start)
    w.revolute(w.ground.at(0.14, 0.0), c.start)
    w.revolute(b.end, c.end)
    w.start(a, angle=0.6, speed=20.0)
    return w


def lagrangian() -> float:
    """Return how far angles of the double pendulum by energies and by bodies are apart after 2 s."""

    def T(q, v):
        inner = v[0] ** 2 / 3.0
        outer = v[0] ** 2 + v[1] ** 2 / 4.0 + v[0] * v[1] * np.cos(q[0] - q[1]) + v[1] ** 2 / 12.0
        return 0.5 * (inner + outer)

    def V(q):
        return 9.81 * (0.5 * np.sin(q[0]) + np.sin(q[0]) + 0.5 * np.sin(q[1]))

    by_energy = sl.solve(me.Lagrangian(T, V, n=2), (0.0, 2.0), [0.0, 0.5], [0.0, 0.0], tol=1e-11)
    in_bodies = sl.solve(double_pendulum(), (0.0, 2.0), tol=1e-11)
    return float(np.max(np.abs(by_energy.q[-1] - in_bodies.q[-1][[2, 5]])))


def long_runs(T: float = 100.0) -> None:
    for name, make in (("double pendulum", double_pendulum), ("closed loop", closed_loop)):
        for scheme, tol in ((sl.HpTDG(), 1e-9), (sl.EventDriven(), 1e-10), (sl.EventDriven(), 1e-13)):
            w = make()
            seconds, run = cpu(lambda w=w, scheme=scheme, tol=tol: sl.solve(w, (0.0, T), scheme=scheme, tol=tol), 1)
            total = sum(run.body(body.name).kinetic + run.body(body.name).potential for body in w.bodies)
            drift, joints = float(np.max(np.abs(total - total[0]))), at_steps(w, run)
            inside = float(run.violation.max())
            meets = drift <= 1e-8 and joints <= 1e-12
            words = (
                f"joints {joints:.1e} m at steps, {inside:.1e} inside of them; energy {drift:.1e} J; {seconds:.0f} s"
            )
            add(f"{name}, {T:.0f} s, {type(scheme).__name__} {tol:g}", "1e-12 m, 1e-8 J", words, meets)


def at_steps(w: me.Planar, run) -> float:
    """Return the largest error of a joint at the ends of steps [m]."""
    joints = w.system().joints
    every = max(1, len(run.t) // 2000)
    return max(
        float(np.max(np.abs(joint.constraint(t, q))))
        for joint in joints
        for t, q in zip(run.t[::every], run.q[::every], strict=True)
    )


def breaker() -> None:
    import resource

    problem, closing = sl.problems.circuit_breaker(), []
    stepping = sl.MoreauJean(projection=True, solver=sl.contact.Portfolio(tol=1e-10))
    for scheme, options in ((sl.HpTDG(), {"tol": 1e-4}), (sl.EventDriven(), {"tol": 1e-4}), (stepping, {"h": 1e-6})):
        run = sl.solve(problem, scheme=scheme, save="events", **options)
        struck = run.events[(run.events["contact"] == "contact") & (run.events["kind"] == "impact")]["t"]
        closing.append(1e3 * float(struck[0]))
    deep = float(run.violation.max()) / 5e-5
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0
    apart = (max(closing) - min(closing)) / closing[0]
    add("breaker closes, three schemes", "within 0.5 %", ", ".join(f"{t:.3f}" for t in closing) + " ms", apart < 5e-3)
    add("its penetration, MoreauJean 1e-6", "5 % of c", f"{100.0 * deep:.1f} %", deep < 0.05)
    add("memory of this process", "300 MB", f"{memory:.0f} MB", memory < 300.0)


def pages() -> None:
    for name, most in (
        ("slider_crank_bodies", 25), ("valve_train_bodies", 30), ("circuit_breaker", 40), ("gear_rattle", 15),
    ):  # fmt: skip
        source = inspect.getsource(getattr(sl.problems, name))
        body = source[source.index('"""', source.index('"""') + 3) + 3 :]
        lines = [line for line in body.splitlines() if line.strip() and not line.strip().startswith("#")]
        add(f"lines of {name}", str(most), str(len(lines)), len(lines) <= most)


def pairs() -> None:
    rows = [
        [cell.strip() for cell in line.strip("| \n").split("|")]
        for line in (HERE / "mechanics_pairs.md").read_text(encoding="utf-8").splitlines()[4:]
        if line.startswith("|")
    ]
    worst, missed = max(float(row[2]) for row in rows), sum(int(row[6]) for row in rows)
    words = f"{len(rows)} pairs, {worst:.1e} m, {missed} missed (mechanics_pairs.md)"
    add("pairs of shapes", "1e-10 m, 0 missed", words, worst <= 1e-10 and missed == 0)


def main() -> None:
    fast = "--fast" in sys.argv
    breaker()  # first: it counts the memory of the process
    starts()
    texts()
    steps()
    agreement()
    if not fast:
        long_runs()
    pages()
    pairs()
    if fast:
        return
    table = ["# Figures of mechanisms", "", "Written by `python bench/mechanisms.py`; times are processor times.", ""]
    table += ["| figure | asked | measured | meets |", "|---|---|---|---|"]
    table += ["| " + " | ".join(line) + " |" for line in LINES]
    (HERE / "mechanisms.md").write_text("\n".join(table) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
