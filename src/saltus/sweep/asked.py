"""What a sweep asks for, as an engine and rows: models and their parameters, starts, spans, sections, measures."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.build.model import compile_model
from saltus.compile.par_layout import ParLayout
from saltus.control.interface import Comparing
from saltus.ensemble.blueprint import digest_of
from saltus.ensemble.engine import Engine, Plan, Reduced, span_rows
from saltus.ensemble.own import own_reducers
from saltus.ensemble.records import WATCH
from saltus.ensemble.rows import check_structure, model_rows, parameter_rows, row_value
from saltus.errors import ModelError, SettingError
from saltus.parameters import run_values
from saltus.problem import Problem, check_span
from saltus.schemes.traits import traits_of
from saltus.solve import SOLVING_RULES, Arranged, arranged, solve
from saltus.sweep.job import Job
from saltus.sweep.measures import Columns, Measure, Seen, Strobe, common, section_rows, times_of
from saltus.system import System

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel
    from saltus.solution import Solution

# what a sweep hands on to every run, as `solve` takes it
OPTIONS = (
    "scheme",
    "h",
    "rtol",
    "atol",
    "tol",
    "scale",
    "control",
    "events",
    "start_tolerance",
    "max_steps",
    "max_step",
)


@dataclasses.dataclass(frozen=True)
class Asked:
    """The arguments that all sweeps share.

    Attributes
    ----------
    model
        A System, a Problem, a mechanism, or a function of the swept values that returns a Problem.
    table
        Swept values by name, runs first.
    q0, v0
        Starts: one for all runs, or one row per run; None takes those of the Problem.
    begin, end
        Span of every run [s].
    after
        Time from which events count [s].
    strobe, skip, keep
        Section in time: period of every run [s], periods before the first section, sections; None without.
    """

    model: Any
    runs: int
    table: dict[str, np.ndarray]
    q0: Any
    v0: Any
    t_span: tuple[Any, Any] | None
    measures: tuple[Measure, ...]
    options: dict[str, Any]
    parameters: dict[str, Any]
    section: Any = None
    transient: float = 0.0
    keep: int = 0
    chain: int = 0


@dataclasses.dataclass(frozen=True, eq=False)
class Prepared:
    """A sweep that is ready to run."""

    asked: Asked
    job: Job
    spans: np.ndarray
    breaks: Callable[[int], Sequence[float]]
    parts: list[tuple[Measure, list[slice]]]
    events: tuple
    first: dict[str, Any]

    @property
    def identity(self) -> dict[str, Any]:
        """What a store belongs to."""
        rows, engine = self.job.rows, self.job.engine
        numbers = [rows.places, rows.values, rows.starts, rows.spans]
        contents = [repr(array.shape).encode() + array.tobytes() for array in numbers]
        return {"model": digest_of(self.job.blueprint), "rows": digest_of(*contents), "runs": len(rows)} | (
            {"chain": engine.plan.chain} if engine.plan.chain else {}
        )

    def columns(self, reduced: Reduced) -> Columns:
        """Return everything that was measured, by name."""
        made = common(self.job.model, reduced)
        sections = {}
        for measure, places in self.parts:
            if isinstance(measure, Strobe):
                sections["strobe"] = section_rows(reduced.out[:, places[0]], self.asked.keep)[1]
        seen = Seen(self.job.model, reduced, self.spans, sections)
        for measure, places in self.parts:
            for name, column in measure.read([reduced.out[:, place] for place in places], seen).items():
                if name in made:
                    raise SettingError(f"two measures of the sweep are called {name!r}: leave one out")
                made[name] = column
        return made

    def solve(self, k: int, start: np.ndarray, **options: Any) -> Solution:
        """Make one run alone, with all of its tables; start: q and v."""
        given = {name: value for name, value in self.asked.options.items() if name != "events"}
        values = {name: row_value(column, k) for name, column in self.asked.table.items()}
        nq = int(self.job.model.layout.nq)
        span = float(self.spans[k, 0]), float(self.spans[k, 1])
        model, parameters = _of_run(self.asked, values, span)
        return solve(
            model, span, start[:nq], start[nq:], parameters=parameters, events=self.events, breaks=self.breaks(k),
            **{**given, **options},
        )  # fmt: skip


def _of_run(asked: Asked, values: dict[str, Any], span: tuple[float, float]) -> tuple[Any, dict[str, Any] | None]:
    """Return the model of a run, and its parameters."""
    if not is_function(asked.model):
        return asked.model, {**asked.parameters, **values}
    made = asked.model(**{**asked.parameters, **values})
    if not isinstance(made, Problem):
        raise SettingError(f"the model function returned {made!r:.80}: it must return a Problem")
    return made, None


def is_function(model: Any) -> bool:
    """Return whether a model is made anew for every run, by a function of the swept values."""
    return callable(model) and not isinstance(model, System | Problem) and not hasattr(model, "prepared")


def prepare(asked: Asked) -> Prepared:
    """Compile the model, check everything that can be checked beforehand, and lay out all runs."""
    unknown = [name for name in asked.options if name not in OPTIONS]
    if unknown:
        raise SettingError(f"a sweep has no option {unknown[0]!r}: there are {', '.join(OPTIONS)}")
    if hasattr(asked.model, "prepared"):
        asked = _of_mechanism(asked)
    row_0 = {name: row_value(column, 0) for name, column in asked.table.items()}
    problem, first = _first_problem(asked, row_0)
    runs = asked.runs
    measures = ((asked.section,) if asked.section is not None else ()) + asked.measures
    spans, skip, keep = _spans(asked, first, problem)
    events = _events(asked, measures, problem.system)
    base = spans[0]
    times = _strobe_times(base, skip, keep)
    arrangement = arranged(
        problem, (base[0], base[1]), parameters=None if is_function(asked.model) else {**asked.parameters, **row_0},
        breaks=times, events=events, **{name: value for name, value in asked.options.items() if name != "events"},
    )  # fmt: skip
    settings = arrangement.settings
    spans[:, 2] = _first_steps(arrangement, asked.options, spans)
    starts = _starts(asked, problem, runs)
    models = _models(asked, problem, arrangement, starts, spans)
    model = models[0]
    plan, own, parts = _plan(asked, measures, model, arrangement, skip, keep)
    promise = settings.scheme.plan(model.layout).promise
    tol = None if promise is None else promise.tol
    engine = Engine(
        model.units_for(tol), settings.scheme, settings.control, plan, calls_python=model.calls_python, keeps=models
    )
    by_length = None
    if isinstance(settings.control, Comparing):
        by_length = lambda length: settings.control.over(length).settings()  # noqa: E731
    if is_function(asked.model):
        starts = np.array([np.concatenate(one.start[1:]) for one in models])
        rows = model_rows(engine, models, starts, spans, by_length, tol)
    else:
        rows = parameter_rows(engine, model, asked.table, starts, spans, by_length, own)
    return Prepared(
        asked, Job(engine, rows, model), spans, lambda k: _strobe_times(spans[k], skip, keep), parts, events, first
    )


def _of_mechanism(asked: Asked) -> Asked:
    """Return the same with a function in place of a mechanism: its start hangs on its parameters."""
    mechanism = asked.model
    if asked.t_span is None and asked.section is None:
        raise SettingError("t_span is missing: give (start, end) in seconds")
    options = dict(asked.options)
    options["scheme"] = mechanism.prepared(options.get("scheme") or _default())

    def made(**values: Any) -> Problem:
        return mechanism.problem((0.0, 1.0), parameters=values)

    return dataclasses.replace(asked, model=made, options=options)


def _default() -> Any:
    from saltus.schemes import default_scheme

    return default_scheme()


def _first_problem(asked: Asked, row_0: dict[str, Any]) -> tuple[Problem, dict[str, Any]]:
    """Return the problem of run 0, over any span, and the first values of its parameters."""
    model, _ = _of_run(asked, row_0, (0.0, 1.0))
    if is_function(asked.model):
        taken = inspect.signature(asked.model).parameters
        usual = {name: one.default for name, one in taken.items() if isinstance(one.default, float | int)}
        return model, {**usual, **asked.parameters}
    if isinstance(model, System):
        if asked.q0 is None or asked.v0 is None:
            raise SettingError("q0 and v0 are missing: give the start of every coordinate and velocity")
        q0, v0 = (np.atleast_1d(np.asarray(one, dtype=float)) for one in (asked.q0, asked.v0))
        model = Problem(model, (0.0, 1.0), *(one[0] if one.ndim == 2 else one for one in (q0, v0)))
    if not isinstance(model, Problem):
        raise SettingError(
            f"a sweep takes a System, a Problem, a Planar or a function that makes one, not {model!r:.80}"
        )
    compiled = compile_model(model.system, model.t_span[0], model.q0.copy(), model.v0.copy())
    run_values(compiled.first, {**asked.parameters, **row_0})  # says which name or shape is wrong
    first = dict(compiled.first)
    first.update(asked.parameters)
    return model, first


def _spans(asked: Asked, first: Mapping[str, Any], problem: Problem) -> tuple[np.ndarray, int, int]:
    """Return the spans of all runs, the periods before the first section, and sections."""
    runs, period = asked.runs, getattr(asked.section, "period", None)
    begin = problem.t_span[0] if asked.t_span is None else asked.t_span[0]
    begin = times_of(begin, "the start of t_span", asked.table, first, runs)
    if period is not None:
        length = times_of(period, "period", asked.table, first, runs)
        if not np.all(length > 0.0):
            raise SettingError(f"period is {length[~(length > 0.0)][0]}: it must be a positive time [s]")
        skip = int(asked.transient)
        end = begin + length * (skip + asked.keep)
        after = begin + length * skip
        strobe = isinstance(asked.section, Strobe)
        return span_rows(begin, end, 1.0, after, length, runs), skip, asked.keep if strobe else 0
    last = problem.t_span[1] if asked.t_span is None else asked.t_span[1]
    end = times_of(last, "the end of t_span", asked.table, first, runs)
    worst = int(np.argmin(end - begin))
    check_span((begin[worst], end[worst]))
    after = begin + asked.transient if asked.transient > 0.0 else np.full(runs, -np.inf)
    return span_rows(begin, end, 1.0, after, 0.0, runs), 0, 0


def _strobe_times(span: np.ndarray, skip: int, keep: int) -> list[float]:
    """Return where the segments of a run end, without its end."""
    begin, period = float(span[0]), float(span[4])
    return [begin + period * (skip + j) for j in range(1, keep)]


def _events(asked: Asked, measures: Sequence[Measure], system: System) -> tuple:
    """Return the events of the user and those that measures need."""
    given = asked.options.get("events", ())
    made = list(given) if isinstance(given, Sequence) else [given]
    scheme = asked.options.get("scheme")
    if scheme is not None and not traits_of(scheme).locates_events:
        return tuple(made)
    names = {event.name for event in made}
    for measure in measures:
        made += [event for event in measure.events(system) if event.name not in names]
    return tuple(made)


def _first_steps(arrangement: Arranged, options: Mapping[str, Any], spans: np.ndarray) -> np.ndarray:
    """Return the first step of every run, as `solve` chooses it."""
    settings, length = arrangement.settings, spans[:, 1] - spans[:, 0]
    if options.get("h") is not None:
        _check_grids(arrangement, options, length)
        return np.full(len(spans), settings.h)
    traits = traits_of(settings.scheme)
    share = traits.first_share if traits.adaptive else getattr(settings.control, "first_share", traits.first_share)
    made = share * length
    if options.get("max_step") is not None:
        made = np.minimum(made, settings.control.h_max)
    return made


def _check_grids(arrangement: Arranged, options: Mapping[str, Any], length: np.ndarray) -> None:
    """Let `solve` refuse a step that does not fit some span."""
    problem = arrangement.problem
    for one in {float(length.min()), float(length.max())} | (
        set(length.tolist()) if traits_of(arrangement.settings.scheme).fixed_step else set()
    ):
        arranged(
            dataclasses.replace(problem, t_span=(problem.t_span[0], problem.t_span[0] + one)),
            **{name: value for name, value in options.items() if name != "events"},
        )


def _starts(asked: Asked, problem: Problem, runs: int) -> np.ndarray:
    """Return q and v of every run, one row each."""
    parts = []
    for name, given, usual in (("q0", asked.q0, problem.q0), ("v0", asked.v0, problem.v0)):
        value = np.atleast_1d(np.asarray(usual if given is None else given, dtype=float))
        if value.ndim == 1:
            value = value[None, :]
        if value.ndim != 2 or value.shape[1] != len(usual) or value.shape[0] not in (1, runs):
            raise SettingError(
                f"{name} has shape {value.shape}: give {len(usual)} numbers, or one row of them for each of the "
                f"{runs} runs"
            )
        if not np.all(np.isfinite(value)):
            raise ModelError(f"{name} of run {int(np.argwhere(~np.isfinite(value))[0][0])} is not finite")
        parts.append(np.broadcast_to(value, (runs, len(usual))))
    return np.ascontiguousarray(np.concatenate(parts, axis=1))


def _models(
    asked: Asked, problem: Problem, arrangement: Arranged, starts: np.ndarray, spans: np.ndarray
) -> list[CompiledModel]:
    """Return the compiled model of every run where a function makes them, else the one of run 0."""
    nq = len(problem.q0)
    events = arrangement.events
    if not is_function(asked.model):
        row_0 = {name: row_value(column, 0) for name, column in asked.table.items()}
        q, v = starts[0, :nq].copy(), starts[0, nq:].copy()
        parameters = {**asked.parameters, **row_0}
        return [compile_model(problem.system, float(spans[0, 0]), q, v, events, parameters)]
    made = []
    for k in range(asked.runs):
        values = {name: row_value(column, k) for name, column in asked.table.items()}
        one = problem if k == 0 else _of_run(asked, values, (0.0, 1.0))[0]
        q = one.q0.copy() if asked.q0 is None else starts[k, :nq].copy()
        v = one.v0.copy() if asked.v0 is None else starts[k, nq:].copy()
        made.append(compile_model(one.system, float(spans[k, 0]), q, v, events))
        check_structure(made[0], made[-1], k)
    return made


def _plan(
    asked: Asked, measures: Sequence[Measure], model: CompiledModel, arrangement: Arranged, skip: int, keep: int
) -> tuple[Plan, ParLayout, list[tuple[Measure, list[slice]]]]:
    """Return what is reduced, the numbers of the user's reducers, and where each measure finds its own."""
    table, parts, at, single, watches = [], [], 0, False, []
    for measure in measures:
        made = measure.watches(model, keep) if isinstance(measure, Strobe) else measure.watches(model)
        places = []
        for watch in made:
            watches.append(watch)
            table.append([watch.kind, watch.which, watch.action, at, watch.room, watch.argument])
            places.append(slice(at, at + watch.size))
            at, single = at + watch.size, single or watch.single
        parts.append((measure, places))
    rows = np.array(table, dtype=np.int64).reshape(len(table), WATCH.size)
    own = own_reducers([watch.own for watch in watches], model)
    for k, place in own.memory_at.items():
        rows[k, WATCH.names.index("argument")] = place
    plan = Plan(
        rows, at, own=own.unit, own_numbers=own.numbers, single=single, skip=skip, keep=keep, chain=asked.chain,
        max_steps=arrangement.limits.steps, energy=any(getattr(m, "needs_energy", False) for m in measures),
        start_tolerance=float(asked.options.get("start_tolerance", SOLVING_RULES.start_tolerance)),
    )  # fmt: skip
    return plan, own.layout, parts
