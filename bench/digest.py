"""A digest of every scheme over every problem, so that a change of the code that must change no bit can prove it.

`python bench/digest.py --store FILE` runs all pairs and writes one line for each; `python bench/digest.py --against
FILE` runs them again and lists every pair that differs, with the largest relative difference of its final state and
the numbers of steps and events before and after. `--schemes TEXT` and `--problems TEXT` take only names that hold the
text, `--jobs N` uses so many processes. `--interpreted` runs a small set without compiled kernels, in a child with
SALTUS_KERNELS=none; its files are its own. `--times` prints which schemes and problems take longest.

The digest is a sha256 over the raw bytes of t, q, v, impulse, events and work. A second one, over what hangs on them
(left limits, impulses of joints, energy, residuals, dense output between the nodes), is compared as well. Runs that are
refused or fail are digested as the type and the text of their error, a RunError with its partial solution.

Digests must not depend on the speed of the machine: runs are bounded by steps, never by time, and those that choose
their steps by fewer than the march makes before it looks at the pace of a run for the first time.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import dataclasses
import functools
import hashlib
import multiprocessing
import os
import pathlib
import platform
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np

from saltus.schemes.traits import traits_of

STEPS = 200  # equal steps over the span of a problem
MOST_STEPS = 190  # attempts of a run that chooses its steps: below the 200 after which the march looks at its pace
# problems whose steps are expensive or must be short: share of the span, equal steps over it, attempts
SHORTER = {
    "block_stack": (0.01, 10, 5),
    "four_bar": (0.2, 200, 190),  # at longer steps most schemes fail
    "impacting_bar": (1.0, 40, 15),
    "slider_crank": (0.2, 200, 190),
}
# what is interpreted: a share of the span in which something happens, equal steps over it, attempts
INTERPRETED = {
    "zeno_ball": (1.0, 12, 8),
    "two_walls": (1.0, 12, 8),
    "belt": (0.5, 8, 5),
    "circle_slide": (0.5, 6, 4),
    "rod_pendulum": (0.5, 6, 4),
    "incline_3d": (0.5, 4, 3),
    "clattering_rod": (0.5, 8, 5),
    "slider_crank": (0.05, 6, 4),
    "four_bar": (0.05, 1, 1),
    "tumbling_box": (0.5, 1, 1),
}
FIELDS = ("scheme", "problem", "how", "digest", "parts", "beside", "steps", "events", "end", "state")
REACHED = "reached its end"
PARTS = ("t", "q", "v", "impulse", "events", "work", "error")


# ---- what is run


def schemes() -> dict[str, tuple[object, dict]]:
    """Return the instances: name -> scheme, further options of solve."""
    import saltus as sl
    from saltus.control import Richardson, VariableOrder

    MJ, tight = sl.MoreauJean, {"rtol": 1e-6, "atol": 1e-6}
    galerkin = [
        family(degree, impact=impact, activation=activation)
        for family in (sl.TDGMinus, sl.TDGPlus)
        for degree in range(4)
        for impact in ("rest", "left")
        for activation in ("interval", "stage")
    ]
    made = [
        MJ(), MJ(theta=1.0), MJ(at="end"), MJ(theta=1.0, at="end"), MJ(gamma=1.0), MJ(projection=True),
        MJ(projection="active"), MJ(theta=1.0, at="end", projection=True),
        sl.PaoliVelocity(), sl.SchatzmanPaoli(), sl.SchatzmanPaoli(theta=1.0), sl.SchatzmanPaoli(lagging_velocity=True),
        sl.GeneralizedAlpha(), sl.GeneralizedAlpha(0.0), sl.GeneralizedAlpha(1.0),
        sl.StepDoubling(sl.GeneralizedAlpha()),
        sl.StepDoubling(MJ()), sl.StepDoubling(MJ(theta=1.0), norm="rms", velocities=True),
        sl.StepDoubling(sl.TDGMinus(1)), sl.StepDoubling(sl.TDGPlus(2), 2),
        sl.Extrapolated(MJ()), sl.Extrapolated(MJ(theta=1.0, at="end"), 3), sl.Extrapolated(sl.PaoliVelocity()),
        *galerkin,
        sl.TDGMinus(2, impact="previous"), sl.TDGPlus(1, impact="previous"), sl.TDGPlus(2, stiff=True),
        sl.TDGMinus(3, "lobatto"), sl.TDGPlus(2, "lobatto", split=False), sl.TDGMinus(2, level="velocity"),
        sl.TDGPlus(2, level="velocity"), sl.TDGPlus(3, weighting="exact"), sl.TDGMinus(2, projection=False),
        sl.HalfExplicitTDG(), sl.HalfExplicitTDG(impact="left"), sl.HalfExplicitTDG(projection=False),
        sl.Splitting(), sl.Splitting("heun", impact="left"), sl.Splitting("radau5"),
        sl.Splitting("radau5", contact_forces=False), sl.Splitting("rk4", projection=False),
        sl.Splitting(**tight), sl.Splitting("radau5", **tight), sl.Splitting(**tight, location="penetration"),
        sl.Splitting("dopri5", contact_forces=False, **tight),
        sl.AnyOrder(), sl.AnyOrder("heun"), sl.AnyOrder("rk4", anticipation=True), sl.AnyOrder("dop853"),
        sl.AnyOrder("radau3"), sl.AnyOrder("lobatto3a"), sl.AnyOrder("lobatto3c"), sl.AnyOrder(**tight),
        sl.AnyOrder("radau5", **tight),
        sl.EventDriven(), sl.EventDriven(**tight, method="dopri5"), sl.EventDriven(**tight, method="radau5"),
        sl.HpTDG(1e-4), sl.HpTDG(1e-8), sl.HpTDG(1e-6, "clenshaw-curtis"), sl.HpTDG(degree=2),
    ]  # fmt: skip
    found: dict[str, tuple[object, dict]] = {named(scheme): (scheme, {}) for scheme in made}
    if len(found) != len(made):
        raise RuntimeError("two schemes of the list have the same name")
    missing = set(sl.schemes.__all__) - {type(scheme).__name__ for scheme in made}
    if missing:
        raise RuntimeError(f"the list of schemes lacks {', '.join(sorted(missing))}")
    found["MoreauJean() with Richardson"] = (MJ(), {"control": Richardson(order=1), "tol": 1e-4})
    found["MoreauJean() with VariableOrder"] = (MJ(), {"control": VariableOrder(), "tol": 1e-4})
    found["TDGPlus(degree=1) with VariableOrder"] = (sl.TDGPlus(1), {"control": VariableOrder(), "tol": 1e-4})
    return found


def problems() -> dict[str, Callable]:
    """Return what makes the problems: those of the library, and one with Poisson's law, which none of them has."""
    import saltus as sl

    made = {name: getattr(sl.problems, name) for name in sl.problems.__all__}
    return {**made, "kane_pendulum by poisson": functools.partial(sl.problems.kane_pendulum, law="poisson")}


def named(scheme) -> str:
    """Return the call that makes a scheme; settings with their first value are left out, so that new ones may come."""
    given = []
    for field in dataclasses.fields(scheme):
        value = getattr(scheme, field.name)
        if field.default is dataclasses.MISSING or value != field.default:
            given.append(named(value) if dataclasses.is_dataclass(value) else f"{field.name}={value!r}")
    return f"{type(scheme).__name__}({', '.join(given)})"


def options(scheme, given: dict, name: str, span: tuple[float, float], *, interpreted: bool) -> dict:
    """Return what bounds the run of a pair: its span, its step size or the number of its attempts."""
    share, steps, most = INTERPRETED[name] if interpreted else SHORTER.get(name, (1.0, STEPS, MOST_STEPS))
    length = share * (span[1] - span[0])
    made = {**given, "t_span": (span[0], span[0] + length)}
    chooses = traits_of(scheme).adaptive or "control" in given
    if not chooses:
        made["h"] = length / steps
    if chooses or hasattr(scheme, "control"):
        made["max_steps"] = most
    return made


# ---- one pair


@dataclasses.dataclass(frozen=True)
class Line:
    """What the file says about a pair; `parts` and `beside` are short digests, `end` says how the run ended."""

    scheme: str
    problem: str
    how: str
    digest: str
    parts: str
    beside: str
    steps: int
    events: int
    end: str
    state: tuple[float, ...]

    def __str__(self) -> str:
        state = " ".join(map(repr, self.state))
        return "\t".join([*(str(getattr(self, name)) for name in FIELDS[:-1]), state])

    @classmethod
    def read(cls, text: str) -> Line:
        *words, state = text.rstrip("\n").split("\t")
        made = dict(zip(FIELDS, words, strict=False))
        return cls(**{**made, "steps": int(made["steps"]), "events": int(made["events"])},
                   state=tuple(map(float, state.split())))  # fmt: skip


def raw(values) -> bytes:
    """Return shape and bytes of an array; of words the letters, so that the width of their type does not count."""
    values = np.ascontiguousarray(values)
    if values.dtype.names:
        return b"".join(name.encode() + raw(values[name]) for name in values.dtype.names)
    if values.dtype.kind == "U":
        return "\n".join([str(values.shape), *values.ravel().tolist()]).encode()
    return str(values.shape).encode() + values.tobytes()


def short(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def beside(sol) -> bytes:
    """Return the bytes of what hangs on a solution: what its tables hold, and dense output between its nodes."""
    middles = 0.5 * (sol.t[1:] + sol.t[:-1])
    inside = sol(middles) if len(middles) else sol(sol.t)
    energy = sol.energy
    tables = (sol.v_minus, sol.joint_impulse, energy.kinetic, energy.work, energy.dissipation, sol.contact_residual)
    return b"".join(map(raw, (*tables, sol.end_violation, inside.q, inside.v, sol.switches)))


def run(name: str, scheme, given: dict, problem_name: str, problem, *, interpreted: bool) -> Line:
    """Run a pair and return its line."""
    import saltus as sl

    asked = options(scheme, given, problem_name, problem.t_span, interpreted=interpreted)
    said, end = "", REACHED
    try:
        sol = sl.solve(problem, scheme=scheme, progress=False, **asked)
    except Exception as error:  # whatever happens is part of the behaviour
        sol = getattr(error, "solution", None)
        said = f"{type(error).__name__}: {error}"
        end = " ".join(said.split())[:100]
    parts, hanging, steps, events, state = dict.fromkeys(PARTS, b""), b"", 0, 0, ()
    parts["error"] = said.encode()
    if sol is not None:
        counts = "\n".join(f"{key} {value}" for key, value in sorted(sol.work.items()) if "time" not in key)
        parts |= {key: raw(getattr(sol, key)) for key in ("t", "q", "v", "impulse", "events")}
        parts["work"] = counts.encode()
        steps, events = int(sol.work["steps"]), len(sol.events)
        state = tuple(map(float, [sol.t[-1], *sol.q[-1], *sol.v[-1]]))
        try:
            hanging = beside(sol)
        except Exception as error:
            hanging = f"{type(error).__name__}: {error}".encode()
    whole = hashlib.sha256(b"".join(f"{key} {len(parts[key])} ".encode() + parts[key] for key in PARTS)).hexdigest()
    how = ", ".join(f"{key}={value!r}" for key, value in asked.items() if key in ("t_span", "h", "max_steps"))
    pieces = " ".join(short(parts[key]) for key in PARTS)
    return Line(name, problem_name, how, whole, pieces, short(hanging), steps, events, end, state)


def of_problem(name: str, wanted: list[str], interpreted: bool) -> tuple[list[Line], dict[str, float]]:
    """Return the lines of all pairs of a problem, which is compiled once, and the CPU time of each [s]."""
    warnings.simplefilter("ignore")
    known, problem, lines, times = schemes(), problems()[name](), [], {}
    for scheme_name in wanted:
        began = time.process_time()
        scheme, given = known[scheme_name]
        lines.append(run(scheme_name, scheme, given, name, problem, interpreted=interpreted))
        times[scheme_name] = time.process_time() - began
    return lines, times


# ---- all pairs


def finished(tasks: list[tuple], jobs: int) -> Iterator[tuple[list[Line], dict[str, float]]]:
    """Yield what the tasks return, as they end."""
    if jobs == 1:
        yield from (of_problem(*task) for task in tasks)
        return
    # new processes, because a fork of one that has loaded kernels may share their memory
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(jobs, mp_context=context) as pool:
        for future in concurrent.futures.as_completed([pool.submit(of_problem, *task) for task in tasks]):
            yield future.result()


def all_lines(arguments: argparse.Namespace) -> list[Line]:
    """Run the pairs that are asked for, and show how many are done."""
    wanted = [name for name in schemes() if arguments.schemes in name]
    places = [name for name in (INTERPRETED if arguments.interpreted else problems()) if arguments.problems in name]
    if not wanted or not places:
        raise SystemExit(f"no pair: {len(wanted)} schemes and {len(places)} problems have such names")
    total, lines, spent = len(wanted) * len(places), [], {}
    tasks = [(place, wanted, arguments.interpreted) for place in places]
    for made, times in finished(tasks, arguments.jobs):
        lines += made
        spent |= {(made[0].problem, name): seconds for name, seconds in times.items()}
        print(f"\r{len(lines)} of {total} pairs, {made[0].problem:<30}", end="", file=sys.stderr, flush=True)
    print(f"\r{total} pairs, {sum(spent.values()):.0f} s of CPU{'':<40}", file=sys.stderr)
    if arguments.times:
        for what, at in (("problem", 0), ("scheme", 1)):
            sums: dict[str, float] = {}
            for pair, seconds in spent.items():
                sums[pair[at]] = sums.get(pair[at], 0.0) + seconds
            for name, seconds in sorted(sums.items(), key=lambda item: -item[1])[:12]:
                print(f"{seconds:8.2f} s  {what} {name}")
    order = {(place, name): k for k, (place, name) in enumerate((p, n) for p in places for n in wanted)}
    return sorted(lines, key=lambda line: order[line.problem, line.scheme])


def kind_of(arguments: argparse.Namespace) -> str:
    return "interpreted" if arguments.interpreted else "compiled"


def store(path: pathlib.Path, lines: list[Line], kind: str) -> None:
    """Write the lines behind a head that says where they were made."""
    git = ["git", "-C", str(pathlib.Path(__file__).parent), "describe", "--always", "--dirty", "--abbrev=12"]
    made = subprocess.run(git, capture_output=True, encoding="utf-8")  # noqa: S603
    commit = made.stdout.strip() or "unknown commit"
    head = f"# {kind}; {commit}; {platform.machine()}; Python {platform.python_version()}; numpy {np.__version__}"
    path.write_text("\n".join([head, "# " + "\t".join(FIELDS), *map(str, lines)]) + "\n", encoding="utf-8")
    ends = sum(line.end == REACHED for line in lines)
    print(f"{len(lines)} pairs in {path}: {ends} reached their end, {len(lines) - ends} were refused or stopped")


def read(path: pathlib.Path, kind: str) -> tuple[str, dict[tuple[str, str], Line]]:
    """Return the head of a file and its lines by pair."""
    head, _, *texts = path.read_text(encoding="utf-8").splitlines()
    if not head.startswith(f"# {kind};"):
        raise SystemExit(f"{path} holds no {kind} runs: {head}")
    lines = map(Line.read, texts)
    return head, {(line.scheme, line.problem): line for line in lines}


def relative(before: tuple[float, ...], after: tuple[float, ...]) -> float:
    """Return the largest difference of two final states over the largest number among t, q and v of the first."""
    if len(before) != len(after):
        return float("inf")
    if not before:
        return 0.0
    one, two = np.array(before), np.array(after)
    same = (one == two) | (np.isnan(one) & np.isnan(two))
    if np.all(same):
        return 0.0
    gap = np.max(np.abs(one - two)[~same]) / max(np.max(np.abs(one)), np.finfo(float).tiny)
    return float(gap) if np.isfinite(gap) else float("inf")


def compare(path: pathlib.Path, lines: list[Line], arguments: argparse.Namespace) -> int:
    """Print every pair that differs from those of a file; return how many do."""
    head, known = read(path, kind_of(arguments))
    print(f"against {head[2:]}")
    chosen = {
        pair: line for pair, line in known.items() if arguments.schemes in pair[0] and arguments.problems in pair[1]
    }
    now = {(line.scheme, line.problem): line for line in lines}
    for text, pairs in (("is new", now.keys() - chosen.keys()), ("is gone", chosen.keys() - now.keys())):
        for scheme, problem in sorted(pairs):
            print(f"{scheme} | {problem}: {text}")
    differing, hanging, unequal, largest = 0, 0, 0, 0.0
    common = [pair for pair in now if pair in chosen]
    for pair in common:
        old, new = chosen[pair], now[pair]
        if old.digest == new.digest and old.beside == new.beside and old.how == new.how:
            continue
        differing += 1
        parts = [name for name, a, b in zip(PARTS, old.parts.split(), new.parts.split(), strict=True) if a != b]
        if old.how != new.how:
            parts = [f"other options ({old.how} -> {new.how})", *parts]
        if not parts:
            hanging += 1
            parts = ["nothing but what hangs on them"]
        gap = relative(old.state, new.state)
        counts = [f"{what} {a} -> {b}" if a != b else f"{what} {a}"
                  for what, a, b in (("steps", old.steps, new.steps), ("events", old.events, new.events))]  # fmt: skip
        unequal += (old.steps, old.events) != (new.steps, new.events)
        largest = max(largest, gap)
        print(f"{pair[0]} | {pair[1]}: differs in {', '.join(parts)}; final state {gap:.1e}; {', '.join(counts)}")
        if old.end != new.end:
            print(f"    ended: {old.end}\n    now:   {new.end}")
    print(
        f"{differing} of {len(common)} pairs differ ({hanging} of them only in what hangs on them, {unequal} in steps "
        f"or events); largest relative difference of a final state {largest:.1e}; "
        f"{len(now) - len(common)} new, {len(chosen) - len(common)} gone"
    )
    return differing + len(now) + len(chosen) - 2 * len(common)


def main(words: list[str]) -> int:
    """Run, then store or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--store", type=pathlib.Path, metavar="FILE", help="write the digests")
    what.add_argument("--against", type=pathlib.Path, metavar="FILE", help="compare with stored digests")
    parser.add_argument("--schemes", default="", metavar="TEXT", help="only schemes whose name holds this")
    parser.add_argument("--problems", default="", metavar="TEXT", help="only problems whose name holds this")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes")
    parser.add_argument("--interpreted", action="store_true", help="a small set without compiled kernels")
    parser.add_argument("--times", action="store_true", help="print what takes longest")
    arguments = parser.parse_args(words)
    if arguments.interpreted and os.environ.get("SALTUS_KERNELS") != "none":
        environment = {**os.environ, "SALTUS_KERNELS": "none"}
        return subprocess.run([sys.executable, __file__, *words], env=environment).returncode  # noqa: S603
    if arguments.against is not None:
        read(arguments.against, kind_of(arguments))  # a wrong file is refused before the runs
    lines = all_lines(arguments)
    if arguments.store is not None:
        store(arguments.store, lines, kind_of(arguments))
        return 0
    return 1 if compare(arguments.against, lines, arguments) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
