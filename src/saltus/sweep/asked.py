"""What a sweep asks for, as an engine and rows: models and their parameters, starts, spans, sections, measures."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.build.model import compile_model
from saltus.compile.par_layout import ParLayout
from saltus.control.interface import Comparing
from saltus.ensemble.blueprint import digest_of
from saltus.ensemble.engine import Engine, Plan, Reduced, Rows
from saltus.ensemble.lane_engine import LaneEngine, MoreauJeanLanes
from saltus.ensemble.own import own_reducers
from saltus.ensemble.records import WATCH
from saltus.ensemble.reduce import REDUCED
from saltus.ensemble.rows import check_structure, fixed_inertia, model_rows, parameter_rows, row_value
from saltus.errors import SettingError, SlowFunctionWarning
from saltus.problem import Problem
from saltus.run.run import ready_plan
from saltus.schemes.traits import traits_of
from saltus.solve import SOLVING_RULES, Arranged, arranged, solve
from saltus.sweep.job import Job
from saltus.sweep.measures import Columns, Measure, Seen, Strobe, common, listed, section_rows
from saltus.sweep.spans import first_steps, spans_of, starts_of, strobe_times
from saltus.sweep.swept import real
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
    "breaks",
)


AXES = ("run", "direction")  # other dimensions of a dataset than those that are swept


def plain_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `solve` without those that a sweep hands over itself."""
    return {name: value for name, value in options.items() if name not in ("events", "breaks")}


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
    starts: np.ndarray
    breaks: Callable[[int], Sequence[float]]
    parts: list[tuple[Measure, list[slice]]]
    events: tuple
    rows_of: Callable[[slice, np.ndarray | None], Rows]

    @property
    def chain_by_hand(self) -> bool:
        """Whether runs follow each other and the settings of a run hang on the masses where it begins."""
        engine, model = self.job.engine, self.job.model
        return engine.plan.chain > 0 and engine.steps.promise is not None and not fixed_inertia(model, self.asked.table)

    def look(self, reduced: Reduced) -> None:
        """Raise FunctionError where the ends of some runs show that a function is not what was compiled of it."""
        model, nq = self.job.model, int(self.job.model.layout.nq)
        ends = reduced.ends[np.isfinite(reduced.ends).all(axis=1)]
        if len(ends) and not model.comparison.looked_along(model):
            model.comparison.along(model, ends[:, 0], ends[:, 1 : 1 + nq], ends[:, 1 + nq :])

    @property
    def identity(self) -> dict[str, Any]:
        """What a store belongs to."""
        names = sorted(self.asked.table)
        numbers = [self.spans, self.starts, *(self.asked.table[name] for name in names)]
        if is_function(self.asked.model):  # what it makes of run 0 need not tell it from another function
            for k in sorted({self.job.runs // 2, self.job.runs - 1}):
                rows = self.rows_of(slice(k, k + 1), None)
                numbers += [rows.values, rows.starts]
        contents = [repr((names, array.shape)).encode() + array.tobytes() for array in numbers]
        return {"model": digest_of(*self.job.identity), "rows": digest_of(*contents), "runs": self.job.runs}

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
                if name in self.asked.table or name in AXES:
                    raise SettingError(f"a measure is called {name!r}, which the sweep goes through: name it otherwise")
                made[name] = column
        return _level(made)

    def check_columns(self) -> None:
        """Raise SettingError where measures cannot be read together, before any run is made."""
        engine = self.job.engine
        self.columns(Reduced.room(1, engine.state, engine.plan.width))

    def solve(self, k: int, start: np.ndarray, **options: Any) -> Solution:
        """Make one run alone, with all of its tables; start: q and v."""
        given = plain_options(self.asked.options)
        values = {name: row_value(column, k) for name, column in self.asked.table.items()}
        nq = int(self.job.model.layout.nq)
        span = float(self.spans[k, 0]), float(self.spans[k, 1])
        model, parameters = _of_run(self.asked, values)
        return solve(
            model, span, start[:nq], start[nq:], parameters=parameters, events=self.events, breaks=self.breaks(k),
            **{**given, **options},
        )  # fmt: skip


def _level(columns: Columns) -> Columns:
    """Return the same with sections of equally many points: NaN where a section had less room than another."""
    most = max((values.shape[1] for dims, values, _ in columns.values() if dims[:1] == ("point",)), default=0)
    made: Columns = {}
    for name, (dims, values, unit) in columns.items():
        if dims[:1] == ("point",) and values.shape[1] < most:
            more = [(0, 0), (0, most - values.shape[1]), *[(0, 0)] * (values.ndim - 2)]
            values = np.pad(values, more, constant_values=np.nan)
        made[name] = dims, values, unit
    return made


def _of_run(asked: Asked, values: dict[str, Any]) -> tuple[Any, dict[str, Any] | None]:
    """Return the model of a run, and its parameters."""
    if not is_function(asked.model):
        return asked.model, {**asked.parameters, **values}
    made = asked.model(**{**asked.parameters, **values})
    if not isinstance(made, Problem):
        raise SettingError(f"the model function returned {made!r:.80}: it must return a Problem or a Planar")
    return made, None


def is_function(model: Any) -> bool:
    """Return whether a model is made anew for every run, by a function of the swept values."""
    return callable(model) and not isinstance(model, System | Problem) and not hasattr(model, "prepared")


def prepare(asked: Asked) -> Prepared:
    """Compile the model, check everything that can be checked beforehand, and lay out all runs."""
    unknown = [name for name in asked.options if name not in OPTIONS]
    if unknown:
        raise SettingError(f"a sweep has no option {unknown[0]!r}: there are {', '.join(OPTIONS)}")
    row_0 = {name: row_value(column, 0) for name, column in asked.table.items()}
    asked = _of_mechanism(asked, row_0)
    lanes = asked.options.get("scheme")
    if isinstance(lanes, MoreauJeanLanes):
        if is_function(asked.model):
            raise SettingError("MoreauJeanLanes needs one System with Parameters: take MoreauJean()")
        asked = dataclasses.replace(asked, options={**asked.options, "scheme": lanes.alone})
    problem, first = _first_problem(asked, row_0)
    runs = asked.runs
    measures = (listed(asked.section) if asked.section is not None else ()) + asked.measures
    spans, skip, keep = spans_of(asked, first, problem)
    events = _events(asked, measures, problem.system)
    base = spans[0]
    times = _shared_breaks(asked, spans, keep) or strobe_times(base, skip, keep)
    arrangement = arranged(
        problem, (base[0], base[1]), parameters=None if is_function(asked.model) else {**asked.parameters, **row_0},
        breaks=times, events=events, **plain_options(asked.options),
    )  # fmt: skip
    settings = arrangement.settings
    spans[:, 2] = first_steps(arrangement, asked.options, spans)
    starts = starts_of(asked, problem, runs)
    model = _first_model(asked, problem, arrangement.events, starts[0], float(base[0]), row_0)
    plan, own, parts = _plan(asked, measures, model, arrangement, skip, keep, spans)
    promise = ready_plan(settings.scheme, model.layout, settings.control.kernel).promise
    tol = None if promise is None else promise.tol
    if isinstance(lanes, MoreauJeanLanes):
        engine: Engine = LaneEngine(model, lanes, settings.control, plan, pinned=model.pinned)
    else:
        engine = Engine(
            model.units_for(tol), settings.scheme, settings.control, plan, calls_python=model.calls_python,
            keeps=[model], pinned=model.pinned,
        )  # fmt: skip
    plain = plain_options(asked.options)

    def settings_of(begin: float, end: float) -> np.ndarray:
        return arranged(problem, (begin, end), **plain).settings.control.settings()

    by_span = settings_of if isinstance(settings.control, Comparing) else None
    # a function that is called as Python knows the values of one run only
    one_by_one = is_function(asked.model) or bool(model.opaque_names)
    making = threading.Lock()

    def rows_of(part: slice, given: np.ndarray | None) -> Rows:
        if not one_by_one:
            table = {name: column[part] for name, column in asked.table.items()}
            mine = starts[part] if given is None else given
            return parameter_rows(engine, model, table, mine, spans[part], by_span, own)
        if given is None and (asked.q0 is not None or asked.v0 is not None or not is_function(asked.model)):
            given = starts[part]
        with making:  # functions of the user need not know threads
            models = _made_models(asked, model, problem, part, given, spans)
        if model.opaque_names:
            engine.keeps.extend(models)  # they own the functions that their numbers in `par` name
        mine = np.array([np.concatenate(one.start[1:]) for one in models])
        return model_rows(engine, models, mine, spans[part], by_span, tol)

    if one_by_one:
        job = Job(engine, model, runs, lambda first, last: rows_of(slice(first, last), None))
    else:
        rows = rows_of(slice(None), None)
        job = Job(engine, model, runs, rows.part)
    breaks = functools.partial(_breaks, spans, skip, keep, plan.breaks)
    prepared = Prepared(asked, job, spans, starts, breaks, parts, events, rows_of)
    prepared.check_columns()
    return prepared


def _breaks(spans: np.ndarray, skip: int, keep: int, given: np.ndarray, k: int) -> list[float]:
    return given.tolist() or strobe_times(spans[k], skip, keep)


def _shared_breaks(asked: Asked, spans: np.ndarray, keep: int) -> list[float]:
    """Return the breaks of all runs; those of a strobe are its own."""
    given = asked.options.get("breaks")
    if given is None or np.size(given) == 0:
        return []
    if keep:
        raise SettingError("a strobe ends steps at its periods: leave breaks out, or section")
    made = [float(one) for one in np.atleast_1d(np.asarray(given, dtype=float))]
    outside = np.flatnonzero(~((spans[:, 0] < made[0]) & (made[-1] < spans[:, 1])))
    if len(outside):
        begin, end = spans[outside[0], :2]
        raise SettingError(
            f"breaks {given} must lie inside of all spans: run {outside[0]} goes from {begin} to {end} s"
        )
    return made


def _of_mechanism(asked: Asked, row_0: dict[str, Any]) -> Asked:
    """Return the same with a function that makes problems in place of a mechanism, or of a function that makes these.

    The start of a mechanism hangs on its parameters, so that it is assembled for every run; time steppings are taken as
    `solve` takes them for a mechanism.
    """
    mechanism = asked.model
    if is_function(mechanism):
        mechanism = mechanism(**{**asked.parameters, **row_0})
    if not _is_mechanism(mechanism):
        return asked
    if asked.t_span is None and asked.section is None:
        raise SettingError("t_span is missing: give (start, end) in seconds")
    options = dict(asked.options)
    options["scheme"] = mechanism.prepared(options.get("scheme") or _default())
    if not is_function(asked.model):

        def assembled(**values: Any) -> Problem:
            return mechanism.problem((0.0, 1.0), parameters=values)

        return dataclasses.replace(asked, model=assembled, options=options)
    make = asked.model

    @functools.wraps(make)  # whose defaults a period may read
    def made(**values: Any) -> Any:
        one = make(**values)
        return one.problem((0.0, 1.0)) if _is_mechanism(one) else one

    return dataclasses.replace(asked, model=made, options=options)


def _is_mechanism(model: Any) -> bool:
    return not isinstance(model, type) and hasattr(model, "prepared") and hasattr(model, "problem")


def _default() -> Any:
    from saltus.schemes import default_scheme

    return default_scheme()


def _first_problem(asked: Asked, row_0: dict[str, Any]) -> tuple[Problem, dict[str, Any]]:
    """Return the problem of run 0, over any span, and the first values of its parameters."""
    model, _ = _of_run(asked, row_0)
    if is_function(asked.model):
        taken = inspect.signature(asked.model).parameters
        usual = {name: one.default for name, one in taken.items() if isinstance(one.default, float | int)}
        return model, {**usual, **asked.parameters}
    if isinstance(model, System):
        if asked.q0 is None or asked.v0 is None:
            raise SettingError("q0 and v0 are missing: give the start of every coordinate and velocity")
        for name, given in (("q0", asked.q0), ("v0", asked.v0)):
            if real(given) is None:
                raise SettingError(
                    f"{name} is {given!r:.60}: give numbers, or one row of them for each of the {asked.runs} runs"
                )
        q0, v0 = (np.atleast_1d(np.asarray(one, dtype=float)) for one in (asked.q0, asked.v0))
        model = Problem(model, (0.0, 1.0), *(one[0] if one.ndim == 2 else one for one in (q0, v0)))
    if not isinstance(model, Problem):
        raise SettingError(
            f"a sweep takes a System, a Problem, a Planar or a function that makes one, not {model!r:.80}"
        )
    values = {**asked.parameters, **row_0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SlowFunctionWarning)  # it comes once more with the start of the runs
        compiled = compile_model(model.system, model.t_span[0], model.q0.copy(), model.v0.copy(), (), values)
    return model, {**compiled.first, **asked.parameters}


def _events(asked: Asked, measures: Sequence[Measure], system: System) -> tuple:
    """Return the events of the user and those that measures need."""
    given = asked.options.get("events", ())
    made = list(given) if isinstance(given, Sequence) else [given]
    scheme = asked.options.get("scheme")
    if scheme is not None and not traits_of(scheme).locates_events:
        return tuple(made)
    names, needed = {event.name for event in made}, {}
    for measure in measures:
        for event in measure.events(system):
            if event.name in names:
                raise SettingError(
                    f"an event is called {event.name!r}, as one that {measure!r:.60} looks for: name it otherwise"
                )
            needed[event.name] = event
    return (*made, *needed.values())


def _first_model(
    asked: Asked, problem: Problem, events: tuple, start: np.ndarray, begin: float, row_0: dict[str, Any]
) -> CompiledModel:
    """Return the compiled model of run 0."""
    nq = len(problem.q0)
    parameters = None if is_function(asked.model) else {**asked.parameters, **row_0}
    return compile_model(problem.system, begin, start[:nq].copy(), start[nq:].copy(), events, parameters)


def _made_models(
    asked: Asked, first: CompiledModel, problem: Problem, part: slice, starts: np.ndarray | None, spans: np.ndarray
) -> list[CompiledModel]:
    """Return the models of some runs that a function makes; starts: other ones than those of their problems."""
    made, nq = [], len(problem.q0)
    for k in range(*part.indices(asked.runs)):
        values = {name: row_value(column, k) for name, column in asked.table.items()}
        try:
            made_one, parameters = _of_run(asked, values)
        except Exception as error:
            error.add_note(f"in run {k}, with " + ", ".join(f"{name} = {value}" for name, value in values.items()))
            raise
        one = made_one if isinstance(made_one, Problem) else problem
        if asked.t_span is None and asked.section is None and one.t_span != problem.t_span:
            raise SettingError(
                f"the problem of run {k} goes from {one.t_span[0]:g} to {one.t_span[1]:g} s, that of run 0 to "
                f"{problem.t_span[1]:g} s: give t_span, of which an end may be a function of the swept values"
            )
        q, v = one.q0.copy(), one.v0.copy()
        if starts is not None:
            start = starts[k - (part.start or 0)]
            q, v = start[:nq].copy(), start[nq:].copy()
        made.append(compile_model(one.system, float(spans[k, 0]), q, v, first.events, parameters))
        check_structure(first, made[-1], k)
    return made


def _plan(
    asked: Asked,
    measures: Sequence[Measure],
    model: CompiledModel,
    arrangement: Arranged,
    skip: int,
    keep: int,
    spans: np.ndarray,
) -> tuple[Plan, ParLayout, list[tuple[Measure, list[slice]]]]:
    """Return what is reduced, the numbers of the user's reducers, and where each measure finds its own."""
    table, parts, at, single, watches = [], [], 0, False, []
    for measure in measures:
        made = measure.watches(model, keep) if isinstance(measure, Strobe) else measure.watches(model)
        places = []
        for watch in made:
            if watch.kind == REDUCED.strobe and not keep:
                raise SettingError(f"{measure!r:.60} looks at a strobe: give section=Strobe(period)")
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
        breaks=np.array(_shared_breaks(asked, spans, keep)),
    )  # fmt: skip
    return plan, own.layout, parts
