"""Moreau-Jean over many runs at a time: steps of a given size of small models, in vector instructions.

The code is generated from the functions of the model, with the operations of schemes/moreau_jean.py in their order: a
run in a lane has the bits of `solve(..., scheme=MoreauJean(), h=h)`, unless `sine="own"` takes sines that are vectors
(lanes_sine.py), which round otherwise. Contacts take part by selection, not by branches: at most one of them in a step
of a run; a run that needs two at once stops there and says so, and MoreauJean() itself can make it.
"""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Literal, NamedTuple

import numpy as np

from saltus.build.model import CompiledModel
from saltus.compile.machine import assemble, library_address
from saltus.compile.native import NativeUnit
from saltus.ensemble.lanes_contact import one_contact
from saltus.ensemble.lanes_matrix import answer, dot, factored, solved, solved_row, stored_size
from saltus.ensemble.lanes_sine import LARGEST_ANGLE
from saltus.ensemble.lanes_text import LANES, REALS, Code, Function, Lane, NoLanes
from saltus.errors import SettingError
from saltus.laws import COULOMB_PLANAR, UNILATERAL
from saltus.memory.layout import F_FREE, F_LINEAR, HAS_RETRACT, J_CONSTANT, M_CONSTANT, RATE_IDENTITY, W_CONSTANT
from saltus.reaction.impacts import IMPACT_LAW
from saltus.reaction.report import REPORTS
from saltus.schemes.moreau_jean import LOADED, MoreauJean

MOST_CONTACTS, MOST_VELOCITIES = 3, 3
# as the march has them: numbers that are none any more, velocities that count as zero
BEYOND, SUBNORMAL = 1e300, 1e-200
ARGUMENTS = "q v par e mu gaps loads impulses impacts status made".split()


class _LaneStatus(NamedTuple):
    """How a run ended."""

    done: int = 0
    not_finite: int = 1  # a number is not finite
    two_contacts: int = 2  # two contacts react in one step
    unsolvable: int = 3  # a contact moves nothing, or a mass is not positive
    too_far: int = 4  # the argument of a sine of our own is beyond LARGEST_ANGLE


LANE_STATUS = _LaneStatus()


@dataclasses.dataclass(frozen=True)
class LaneRuns:
    """What comes out: one row per run.

    Attributes
    ----------
    q, v
        States where the runs end [m, m/s].
    impacts
        Impacts of every contact (runs, contacts), as `Solution.events` counts them.
    impulse
        Sums of the impulses of all rows (runs, rows) [N s].
    status
        See LANE_STATUS; a run that is not done stands where its last step began.
    steps
        Steps that were made.
    """

    q: np.ndarray
    v: np.ndarray
    impacts: np.ndarray
    impulse: np.ndarray
    status: np.ndarray
    steps: np.ndarray


def moreau_jean_lanes(
    model: CompiledModel,
    q0: np.ndarray,
    v0: np.ndarray,
    t0: float,
    h: float,
    steps: int,
    *,
    par: np.ndarray | None = None,
    e: np.ndarray | None = None,
    mu: np.ndarray | None = None,
    scheme: MoreauJean | None = None,
    sine: Literal["library", "own"] = "library",
) -> LaneRuns:
    """Make equal steps of many runs of a model.

    Parameters
    ----------
    model
        The compiled model. At most three velocities and three contacts, without friction or, a single one, with that of
        the plane; M, W and the Jacobians of f constant, f affine in q and v; no joints, no coordinates of their own.
    q0, v0
        Starts (runs, n) [m, m/s].
    t0, h, steps
        Where all runs begin [s], size of the steps [s] and their number: the grid of a `solve` from t0 to t0 + steps h.
    par, e, mu
        Numbers of the model (runs, len(model.units.par)), of its contacts (runs, contacts); None: those of the model.
    scheme
        Settings: theta, gamma, closed_tolerance; None: MoreauJean().
    sine
        "library": sines and cosines of the C library, one lane after the other, with the bits of a run alone; "own": as
        vectors, within one unit of the last place.

    Raises
    ------
    NoLanes
        Where the model or the scheme is none for lanes.
    """
    scheme = MoreauJean() if scheme is None else scheme
    if sine not in ("library", "own"):
        raise SettingError(f"sine is {sine!r}: it must be 'library' or 'own'")
    if steps < 1 or not h > 0.0:
        raise SettingError(f"{steps} steps of {h} s: give at least one, of a positive size")
    end = t0 + steps * h
    size = (end - t0) / steps
    grid = Grid(t0, end, size, end - (t0 + (steps - 1) * size), steps)
    return made_in_lanes(model, scheme, sine, q0, v0, grid, par=par, e=e, mu=mu)[0]


class Grid(NamedTuple):
    """Equal steps, of which the last one may have another size by rounding [s]."""

    begin: float
    end: float
    h: float
    last: float
    steps: int


def made_in_lanes(
    model: CompiledModel, scheme: MoreauJean, sine: str, q0: np.ndarray, v0: np.ndarray, grid: Grid, *, par, e, mu
) -> tuple[LaneRuns, np.ndarray]:
    """Return runs on a grid, and how deep inside of a contact each of them began [m]; see `moreau_jean_lanes`."""
    code = lane_code(model, scheme, own_sine=sine == "own")
    layout = model.layout
    runs = len(q0)
    sizes = {"q": int(layout.nq), "v": int(layout.nv), "par": len(model.units.par), "e": int(layout.nc)}
    sizes |= {"mu": sizes["e"], "gaps": sizes["e"], "loads": sizes["e"], "impulses": int(layout.nr)}
    sizes |= {"impacts": sizes["e"], "status": 1, "made": 1}
    given = {"q": q0, "v": v0, "par": model.units.par if par is None else par}
    given |= {"e": model.units.e if e is None else e, "mu": model.units.mu if mu is None else mu}
    tables = {}
    for name, size in sizes.items():
        table = np.zeros((-(-runs // LANES), max(size, 1), LANES))
        if name in given and size > 0:
            rows = _rows(name, given[name], runs, size)
            padded = rows[
                np.minimum(np.arange(table.shape[0] * LANES), runs - 1)
            ]  # the last block repeats the last run
            table[:] = padded.reshape(-1, LANES, size).transpose(0, 2, 1)
        tables[name] = table
    code(tables, grid, 0, 0)
    depth = -tables["gaps"].transpose(0, 2, 1).reshape(-1, max(sizes["gaps"], 1))[:runs].min(axis=1)
    code(tables, grid, 0, grid.steps)

    def by_run(name: str) -> np.ndarray:
        return tables[name].transpose(0, 2, 1).reshape(-1, max(sizes[name], 1))[:runs, : sizes[name]].copy()

    made = LaneRuns(
        by_run("q"), by_run("v"), by_run("impacts").astype(np.int64), by_run("impulses"),
        by_run("status")[:, 0].astype(np.int64), by_run("made")[:, 0].astype(np.int64),
    )  # fmt: skip
    return made, depth


def _rows(name: str, given: Any, runs: int, size: int) -> np.ndarray:
    rows = np.asarray(given, dtype=float)
    if rows.ndim < 2:
        rows = np.broadcast_to(rows.reshape(-1)[:size], (runs, size))
    if rows.shape != (runs, size):
        raise SettingError(f"{name} has the shape {rows.shape}: give {size} numbers for each of {runs} runs")
    if name != "par" and not np.all(np.isfinite(rows)):  # modes of branches are none
        row = int(np.argmin(np.all(np.isfinite(rows), axis=1)))
        raise SettingError(f"{name} of run {row} is {rows[row]}: all numbers must be finite")
    return rows


def refused(model: CompiledModel, scheme: MoreauJean) -> str:
    """Return why a model and a scheme are none for lanes, in a sentence; empty where they are."""
    layout, flags = model.layout, int(model.layout.features)
    kinds = tuple(int(kind) for kind in model.kinds)
    changing = [
        name
        for name, flag in (("M", M_CONSTANT), ("W", W_CONSTANT), ("the Jacobians of f", J_CONSTANT))
        if not flags & flag and not (flag == J_CONSTANT and flags & F_FREE)
    ]
    reasons = (
        (type(scheme) is not MoreauJean, f"lanes make steps of MoreauJean, not of {type(scheme).__name__}"),
        (getattr(scheme, "at", "") != "theta" or getattr(scheme, "projection", True) is not False,
         "lanes make steps of MoreauJean(at='theta', projection=False) only"),
        (getattr(scheme, "solver", None) is not None, "lanes solve their contacts themselves: leave solver out"),
        (int(layout.nj) > 0, "the model has joints, which lanes cannot eliminate"),
        (int(layout.ne) > int(layout.ns), "the model has events, which no time stepping locates"),
        (int(layout.nv) > MOST_VELOCITIES, f"the model has {int(layout.nv)} velocities: lanes take {MOST_VELOCITIES}"),
        (int(layout.nc) > MOST_CONTACTS, f"the model has {int(layout.nc)} contacts: lanes take {MOST_CONTACTS}"),
        (any(kind not in (UNILATERAL, COULOMB_PLANAR) for kind in kinds), "lanes know friction in the plane only"),
        (COULOMB_PLANAR in kinds and len(kinds) > 1, "lanes know friction of a single contact only"),
        (int(layout.impact_law) != IMPACT_LAW.newton, "lanes know Newton's law of impacts only"),
        (not flags & RATE_IDENTITY or bool(flags & HAS_RETRACT), "the rates of q are not v"),
        (not flags & (F_LINEAR | F_FREE), "f is not affine in q and v"),
        (bool(changing), f"{' and '.join(changing)} are not constant"),
        (bool(model.opaque_names), f"{', '.join(model.opaque_names)} could not be traced"),
        (not isinstance(model.units.force, NativeUnit), "its functions are not generated by saltus"),
    )  # fmt: skip
    return next((f"{why}: use MoreauJean() run by run" for holds, why in reasons if holds), "")


_KNOWN: dict[tuple, Any] = {}


def lane_code(model: CompiledModel, scheme: MoreauJean, *, own_sine: bool) -> _Block:
    """Return the machine code of a model; the same one for the same functions and settings again."""
    why = refused(model, scheme)
    if why:
        raise NoLanes(why)
    text = model.units.force.text
    key = text, model.layout.tobytes(), scheme, own_sine
    if key not in _KNOWN:
        if len(_KNOWN) >= 32:
            _KNOWN.clear()
        _KNOWN[key] = _Block(*_written(model, scheme, own_sine=own_sine))
    return _KNOWN[key]


class _Block:
    """Machine code that makes steps of as many runs as there are lanes."""

    def __init__(self, text: str, library: set[str]):
        known = {symbol: library_address(symbol.removeprefix("libm.")) for symbol in library}
        self.text, self.code = text, assemble(text, {"blocks": "blocks"}, known)
        kinds = [ctypes.c_void_p] * len(ARGUMENTS) + [ctypes.c_double] * 3 + [ctypes.c_int64] * 3
        self.call = ctypes.CFUNCTYPE(None, *kinds)(self.code["blocks"])

    def __call__(self, tables: dict[str, np.ndarray], grid: Grid, first: int, end: int) -> None:
        """Make steps `first` to `end` - 1 of all blocks."""
        places, count = [tables[name].ctypes.data for name in ARGUMENTS], len(tables["q"])
        alone = grid.last != grid.h and end == grid.steps  # factors belong to a size
        self.call(*places, grid.begin, grid.h, grid.h, first, end - 1 if alone else end, count)
        if alone:
            self.call(*places, grid.begin, grid.h, grid.last, end - 1, end, count)


def _written(model: CompiledModel, scheme: MoreauJean, *, own_sine: bool) -> tuple[str, set[str]]:
    """Return the code of steps `first` to `end` - 1 of size h on a grid of size h_grid, and what it calls."""
    writer = _Writer(model, scheme, own_sine=own_sine)
    return writer.text(), writer.code.library


class _Writer:
    """Writes one function: what never changes before its loop, a step inside, what is kept behind it."""

    def __init__(self, model: CompiledModel, scheme: MoreauJean, *, own_sine: bool):
        self.model, self.scheme, self.layout = model, scheme, model.layout
        self.code = Code(own_sine=own_sine)
        text = model.units.force.text
        self.functions = {name: Function(text, name) for name in ("mass", "force", "jacobian", "gap", "kinematics")}

    def text(self) -> str:
        code, layout = self.code, self.layout
        nq, nv, nc, nr = int(layout.nq), int(layout.nv), int(layout.nc), int(layout.nr)
        self.nv, self.nc, self.nr = nv, nc, nr
        self.h, grid = code.spread("%h"), "%h_grid"
        self.par = _Table(code, "%par")
        self.e = [code.read("%e", c) for c in range(nc)]
        self.mu = [code.read("%mu", c) for c in range(nc)]
        sizes = {"q": nq, "v": nv, "gaps": nc, "loads": nc, "impulses": nr, "impacts": nc, "status": 1, "made": 1}
        kept = {name: [code.read(f"%{name}", k) for k in range(size)] for name, size in sizes.items()}
        start = code.spread(self._time("%first"))
        self._constants(start, kept["q"], kept["v"])
        fresh = code.new("icmp eq i64 %first, 0").text
        gaps = self.gaps(start, kept["q"])
        for c in range(nc):  # before the first step nobody knows them
            kept["gaps"][c] = code.new(f"select i1 {fresh}, {REALS} {gaps[c].text}, {REALS} {kept['gaps'][c].text}")
        allocas = ""
        for name, values in kept.items():
            for k, value in enumerate(values):
                place = f"%{name}.{k}"
                allocas += f"  {place} = alloca {REALS}\n"
                code.line(f"store {REALS} {value.text}, ptr {place}")
        code.line("br label %test")
        code.lines.append("test:\n")
        code.line("%k = phi i64 [%first, %entry], [%k.next, %loop]")
        code.line("%more = icmp slt i64 %k, %end")
        code.line("br i1 %more, label %loop, label %after")
        code.lines.append("loop:\n")
        now = {name: [code.new(f"load {REALS}, ptr %{name}.{k}") for k in range(size)] for name, size in sizes.items()}
        after = self.step(code.spread(self._time("%k")), now)
        for name, values in after.items():
            for k, value in enumerate(values):
                code.line(f"store {REALS} {value.text}, ptr %{name}.{k}")
        code.line("%k.next = add i64 %k, 1")
        code.line("br label %test")
        code.lines.append("after:\n")
        for name, size in sizes.items():
            for k in range(size):
                code.write(code.new(f"load {REALS}, ptr %{name}.{k}"), f"%{name}", k)
        code.line("ret void")
        words = ", ".join(
            [*(f"ptr noalias %{name}" for name in ARGUMENTS), "double %t0", f"double {grid}", "double %h"]
        )
        head = f"define void @steps({words}, i64 %first, i64 %end) {{\nentry:\n{allocas}"
        pure = "attributes #0 = { nounwind willreturn memory(none) }\n"
        return "".join([*code.declared.values(), pure, head, *code.lines, "}\n", self._blocks(words)])

    def _blocks(self, words: str) -> str:
        """Return a function that makes the same steps of all blocks, one after the other."""
        layout, nc = self.layout, self.nc
        sizes = {"q": int(layout.nq), "v": self.nv, "par": len(self.model.units.par), "impulses": self.nr}
        sizes |= {"status": 1, "made": 1} | dict.fromkeys(("e", "mu", "gaps", "loads", "impacts"), nc)
        moved, given = [], []
        for name in ARGUMENTS:  # in bytes from block to block
            moved.append(f"  %{name}.far = mul i64 %block, {8 * LANES * max(sizes[name], 1)}\n")
            moved.append(f"  %{name}.block = getelementptr i8, ptr %{name}, i64 %{name}.far\n")
            given.append(f"ptr %{name}.block")
        passed = ", ".join([*given, "double %t0", "double %h_grid", "double %h", "i64 %first", "i64 %end"])
        return (
            f"define void @blocks({words}, i64 %first, i64 %end, i64 %count) {{\nentry:\n  br label %test\n"
            "test:\n  %block = phi i64 [0, %entry], [%next, %loop]\n  %more = icmp slt i64 %block, %count\n"
            "  br i1 %more, label %loop, label %after\n"
            f"loop:\n{''.join(moved)}  call void @steps({passed})\n  %next = add i64 %block, 1\n  br label %test\n"
            "after:\n  ret void\n}\n"
        )

    def _time(self, k: str) -> str:
        """Return the time at which a step begins: counted, as the march does."""
        number = self.code.new(f"sitofp i64 {k} to double").text
        way = self.code.new(f"fmul double {number}, %h_grid").text
        return self.code.new(f"fadd double %t0, {way}").text

    def call(self, name: str, size: int, *arguments: Any, more: int | None = None) -> Any:
        """Return what a function of the model writes."""
        out = [self.code.lane(0.0)] * size
        outs = [out] if more is None else [out, [self.code.lane(0.0)] * more]
        self.functions[name](self.code, *arguments, *outs)
        return out if more is None else outs

    def gaps(self, t: Lane, q: list[Lane]) -> list[Lane]:
        return self.call("gap", self.nc, t, q, self.par) if self.nc else []

    def _constants(self, t: Lane, q: list[Lane], v: list[Lane]) -> None:
        """Write what a step takes from one to the next: factors of S, rows W and their answers X, D."""
        code, layout, theta, h = self.code, self.layout, self.scheme.theta, self.h
        size = stored_size(layout)
        S = self.call("mass", size, t, q, self.par)
        if not int(layout.features) & F_FREE and theta > 0.0:
            f_q, f_v = self.call("jacobian", size, t, q, v, self.par, more=size)
            weight = theta * h
            for i in range(size):
                slope = 1.0 * f_v[i]
                slope = slope + weight * f_q[i]
                S[i] = S[i] - weight * slope
        self.S, self.wrong = factored(code, layout, S)
        self.W, self.w = self.call("kinematics", int(layout.nw), t, q, self.par, more=self.nr) if self.nr else ([], [])
        self.X = [solved_row(layout, self.S, self.W, r) for r in range(self.nr)]
        self.answers = [answer(code, layout, self.W, self.X, r) for r in range(self.nr)]

    def step(self, t: Lane, now: dict[str, list[Lane]]) -> dict[str, list[Lane]]:
        """Write a step: forecast, free motion, contact, update, record; see schemes/moreau_jean.py."""
        code, layout, scheme, h = self.code, self.layout, self.scheme, self.h
        theta, gamma, nc, nv = scheme.theta, scheme.gamma, self.nc, self.nv
        q, v, g, loads = now["q"], now["v"], now["gaps"], now["loads"]
        failed = ~now["status"][0].compared("oeq", 0.0)
        code.farthest = []

        # ---- forecast
        first = [int(layout[layout.contact_row + c]) for c in range(nc + 1)]
        u = [dot(code, layout, self.W, r, v) + self.w[r] for r in range(self.nr)]
        active, ahead = [], []
        for c in range(nc):
            ahead.append(g[c] + (gamma * h) * u[first[c]])
            near = ahead[c] <= scheme.closed_tolerance
            active.append(near | (ahead[c] <= (LOADED * h) * loads[c]))

        # ---- free motion
        v_theta = [(1.0 - theta) * v[i] + theta * v[i] for i in range(nv)]
        q_at = [q[i] + (theta * h) * v_theta[i] for i in range(nv)]
        f = self.call("force", nv, t + theta * h, q_at, v_theta, self.par)
        change = solved(code, layout, self.S, [h * one for one in f])
        v_new = [v[i] + change[i] for i in range(nv)]

        # ---- contact
        status = code.select(self.wrong, float(LANE_STATUS.unsolvable), 0.0)
        P, reacts = [code.lane(0.0)] * self.nr, None
        free = list(v_new)
        hits, new_loads = [], []
        for c in range(nc):
            row = first[c]
            target = list(self.w[row : first[c + 1]])
            target[0] = target[0] + self.e[c] * u[row]
            pulled = ahead[c] > scheme.closed_tolerance
            target[0] = code.select(pulled, target[0] + g[c] / h, target[0])
            b = [one + dot(code, layout, self.W, row + k, free) for k, one in enumerate(target)]
            solution, stuck = one_contact(code, layout, self.W, self.X, row, first[c + 1], self.mu[c], b)
            status = code.select(active[c] & stuck, float(LANE_STATUS.unsolvable), status)
            for k, one in enumerate(solution):
                P[row + k] = code.select(active[c], one, 0.0)
                columns = range(int(layout[layout.X_ptr + row + k]), int(layout[layout.X_ptr + row + k + 1]))
                for m in columns:
                    i = int(layout[layout.X_col + m])
                    pushed = v_new[i] + self.X[row + k][m - columns.start] * one
                    v_new[i] = code.select(active[c], pushed, v_new[i])
            new_loads.append(code.select(active[c], P[row] * self.answers[row], 0.0))
            fall = code.fabs(b[0] - (1.0 + self.e[c]) * u[row])
            approach = -(u[row] + 0.0) - fall * (1.0 + 1e-9)
            least = (REPORTS.rounding * P[row]) * self.answers[row]
            hits.append(active[c] & (P[row] > 0.0) & (approach > 0.0) & (approach > least))
            if reacts is not None:
                status = code.select(reacts & active[c], float(LANE_STATUS.two_contacts), status)
            reacts = active[c] if reacts is None else reacts | active[c]

        # ---- update
        v_theta = [(1.0 - theta) * v[i] + theta * v_new[i] for i in range(nv)]
        q_new = [q[i] + h * v_theta[i] for i in range(nv)]
        g_new = self.gaps(t + h, q_new)
        for size in (*map(code.fabs, (*v_new, *q_new)), *(-one for one in g_new)):
            status = code.select(size < BEYOND, status, float(LANE_STATUS.not_finite))
        for x in code.farthest:
            status = code.select(code.fabs(x) <= LARGEST_ANGLE, status, float(LANE_STATUS.too_far))
        v_new = [code.select(code.fabs(one) < SUBNORMAL, 0.0, one) for one in v_new]

        # ---- record; a run that has failed stays where it was
        failed_now = failed | ~status.compared("oeq", 0.0)
        summed = now["impulses"]
        if reacts is not None:
            summed = [code.select(reacts, one + P[r], one) for r, one in enumerate(summed)]
        counted = [code.select(hits[c], now["impacts"][c] + 1.0, now["impacts"][c]) for c in range(nc)]
        new = {"q": q_new, "v": v_new, "gaps": g_new, "loads": new_loads, "impulses": summed, "impacts": counted}
        new["made"] = [now["made"][0] + 1.0]
        made = {
            name: [code.select(failed_now, a, b) for a, b in zip(now[name], new[name], strict=True)] for name in new
        }
        made["status"] = [code.select(failed, now["status"][0], status)]
        return made


class _Table:
    """A table in memory, read when it is asked for."""

    def __init__(self, code: Code, name: str):
        self.code, self.name = code, name

    def __getitem__(self, k: int) -> Lane:
        return self.code.read(self.name, k)
