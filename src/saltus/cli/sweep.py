"""saltus sweep: many runs of a problem: a bifurcation diagram, a map, or Monte Carlo."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from saltus.cli import settings
from saltus.cli.names import Source, scheme_classes, suggestion
from saltus.cli.options import Family, Option, command, family, option_value
from saltus.cli.run import DEFAULT_SCHEME, PROBLEM
from saltus.cli.values import DECIMAL, FILE, REAL_NUMBER, TEXT, WHOLE_NUMBER, WORD_READER, Reader, choice
from saltus.errors import SettingError
from saltus.problem import Problem

SWEEP_DOC = """Make many runs of a problem over ranges or distributions of its parameters.

$ saltus sweep forced-impact-oscillator --omega 2.5:3.2:300 --forcing omega --plot diagram.png
$ saltus sweep forced-impact-oscillator --omega 2:4:50 --e 0.2:0.9:40 --measures impacts --plot map.png
$ saltus sweep circuit-breaker --clearance "normal(5e-5, 5e-6)" --runs 1000 --measures first:contact --store breaker
$ saltus sweep my_model.py:problem --w 2:4:300 --period 2.5

A parameter is a number, a range FROM:TO:COUNT, or a distribution: normal(mean, deviation), uniform(low, high), lognormal(median, deviation), triangular(low, mode, high). Distributions make a Monte Carlo study; one range with --forcing or --period a bifurcation diagram; other ranges, up to three, a map. In your own FILE.py, NAME is a function that returns a Problem, or a Problem with Parameters.

Measures, with commas between them: impacts (of all contacts) or impacts:CONTACT, first:NAME (time of the first impact of a contact or crossing of an event), extremes:K (of coordinate K), period, worst. The same command with the same --store goes on where it was ended.
"""  # noqa: E501  the terminal decides where lines end
RANGE = re.compile(rf"({DECIMAL.pattern}):({DECIMAL.pattern}):(\d+)", re.IGNORECASE)
CALL = re.compile(r"([a-z]+)\(([^()]*)\)")
DISTRIBUTIONS = {"normal": "Normal", "uniform": "Uniform", "lognormal": "LogNormal", "triangular": "Triangular"}
QUANTILES = (0.05, 0.5, 0.95)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A distribution as it was typed."""

    name: str
    numbers: tuple[float, ...]

    def made(self) -> Any:
        from saltus import sweep  # here, because most commands end before they need it

        kind = getattr(sweep, DISTRIBUTIONS[self.name])
        try:
            return kind(*self.numbers)
        except TypeError:
            names = ", ".join(field.name for field in dataclasses.fields(kind))
            raise SettingError(f"{self.name} takes {names}, not {len(self.numbers)} numbers") from None


def read_values(usual: Reader, text: str) -> Any:
    """Read a range, a distribution, or what the parameter usually takes."""
    ranged = RANGE.fullmatch(text)
    if ranged is not None:
        numbers = text.split(":")
        if int(numbers[2]) < 1:
            raise ValueError("a range of at least one value, such as 2:4:300")
        return np.linspace(float(numbers[0]), float(numbers[1]), int(numbers[2]))
    called = CALL.fullmatch(text.strip().lower())
    if called is not None and called[1] in DISTRIBUTIONS:
        parts = called[2].split(",")
        if not all(DECIMAL.fullmatch(part.strip()) for part in parts):
            raise ValueError(f"a distribution such as {called[1]}(0.1, 0.01)")
        return Drawn(called[1], tuple(float(part) for part in parts))
    try:
        return usual.read(text)
    except ValueError as error:
        raise ValueError(f"{error}, or a range such as 2:4:300, or normal(mean, deviation)") from None


def swept_option(option: Option) -> Option:
    """Return an option that takes ranges and distributions too."""
    if option.reader.shown in ("", "TEXT"):
        return option
    # the help says above what values are; a range in short, A:B:N, would be drawn as a picture by rich
    reader = Reader("VALUES", functools.partial(read_values, option.reader))
    return dataclasses.replace(option, reader=reader)


def own_options() -> list[Option]:
    """Return the options of the command itself."""
    schemes = ", ".join(scheme_classes())
    return [
        Option("scheme", WORD_READER, f"Time-stepping scheme: {schemes}.", DEFAULT_SCHEME),
        Option("h", REAL_NUMBER, "Step size [s]; for schemes that choose their steps the first one to try."),
        Option("tol", REAL_NUMBER, "Tolerance of schemes that estimate their error; hp-tdg: 1e-6."),
        Option("measures", TEXT, "What is kept of every run, with commas between: see above.", "impacts"),
        Option("forcing", WORD_READER, "Parameter that is the circular frequency of the forcing."),
        Option("period", REAL_NUMBER, "Period of the forcing [s]."),
        Option("section", TEXT, "Section of a diagram: strobe, impacts, impacts:CONTACT or event:NAME.", "strobe"),
        Option("transient", REAL_NUMBER, "Periods that are left out; without a section a time [s].", "150 or 0"),
        Option("keep", WHOLE_NUMBER, "Periods in which sections are kept.", "50"),
        Option("direction", choice({word: word for word in ("up", "down", "both")}), "Which way a diagram goes.", "up"),
        Option("runs", WHOLE_NUMBER, "Runs of a Monte Carlo study.", "1000"),
        Option("seed", WHOLE_NUMBER, "Seed of its random numbers.", "0"),
        Option("executor", TEXT, "serial, threads:N, processes:N or dask:ADDRESS.", "serial"),
        Option("store", FILE, "Folder that keeps the runs; the same command goes on where it was ended."),
        Option("plot", FILE, "Draw the result into .png, .pdf or .svg."),
        Option("x", TEXT, "What is drawn; Monte Carlo: along the first axis."),
        Option("y", TEXT, "What is drawn along the second axis."),
        Option("save", FILE, "Write all results as a netCDF file, for xarray.open_dataset."),
        Option("progress", choice({"auto": None, "always": True, "never": False}), "Show a bar.", "auto"),
    ]  # fmt: skip


def sweep_command(tokens: list[str]) -> Callable:
    """Return the command with the options of the problem and scheme that the tokens name."""
    source = settings.find_source(tokens)
    scheme = option_value(tokens, "--scheme") or DEFAULT_SCHEME
    own = family("sweep", "Options", own_options())
    schemes = settings.scheme_families(tokens, [scheme], [own])
    problem = _problem_family(source, [own, *schemes])

    def action(word: str | None, given: dict[str, dict[str, Any]]) -> int:
        if source is None or word is None:
            raise SettingError("PROBLEM is missing: name one of saltus list problems, or FILE.py:NAME")
        method = settings.build_scheme(scheme, given["scheme"], given.get("solver", {}))
        return run_sweep(source, method, given["sweep"], given["problem"])

    return command(action, SWEEP_DOC, [own, problem, *schemes], PROBLEM)


def _problem_family(source: Source | None, others: list[Family]) -> Family:
    """Return the options of a problem, which take ranges and distributions; those of a Problem are its Parameters."""
    made = settings.problem_family(source, others)
    options = list(made.options)
    if source is not None and isinstance(source.found, Problem):
        from saltus.build.model import compile_model  # here, because help of other problems needs no compiler

        found = source.found
        first = compile_model(found.system, found.t_span[0], found.q0.copy(), found.v0.copy()).first
        scalars = [name for name, value in first.items() if isinstance(value, float)]
        more = [Option(name, REAL_NUMBER, "Parameter of the model.", f"{first[name]:g}") for name in scalars]
        options += family("problem", made.title, more, [*others, made]).options
    return Family(made.key, made.title, tuple(swept_option(option) for option in options))


def executor_of(text: str | None) -> Any:
    """Return the executor that was typed."""
    from saltus import sweep

    word, _, rest = (text or "serial").partition(":")
    if word == "dask" and rest:
        return sweep.Dask(rest)
    kinds = {"threads": sweep.Threads, "processes": sweep.Processes}
    if word in kinds and (not rest or rest.isdecimal()):
        return kinds[word](int(rest) if rest else None)
    if word == "serial" and not rest:
        return sweep.Serial()
    raise SettingError(f"--executor is {text!r}: it must be serial, threads:2, processes:2 or dask:tcp://HOST:8786")


def measures_of(text: str) -> list[Any]:
    """Return the measures that were typed."""
    from saltus import sweep

    made: list[Any] = []
    for part in text.split(","):
        word, _, of = part.strip().partition(":")
        if word == "impacts":
            made.append(sweep.ImpactStatistics(of or None))
        elif word == "first" and of:
            made.append(sweep.FirstPassage(of))
        elif word == "extremes" and of:
            made.append(sweep.Extremes(int(of) if of.isdecimal() else of))
        elif word == "period" and not of:
            made.append(sweep.Period())
        elif word == "worst" and not of:
            made.append(sweep.Worst())
        else:
            near = suggestion(word, ("impacts", "first", "extremes", "period", "worst"))
            raise SettingError(f"--measures has {part!r}{near or ': see saltus sweep --help'}")
    return made


def section_of(text: str, period: Any) -> Any:
    """Return the section that was typed."""
    from saltus import sweep

    word, _, of = text.partition(":")
    if word == "strobe" and not of:
        return sweep.Strobe(period)
    if word == "impacts":
        return sweep.Impacts(of or None, period=period)
    if word == "event" and of:
        return sweep.Events(of, period=period)
    raise SettingError(f"--section is {text!r}: it must be strobe, impacts, impacts:CONTACT or event:NAME")


def run_sweep(source: Source, scheme: Any, given: dict[str, Any], values: dict[str, Any]) -> int:
    """Make the sweep, print what it found, and write files."""
    from saltus import sweep

    settings.check_files(given.get("save"))
    settings.check_picture(given.get("plot"))
    swept = {name: value for name, value in values.items() if isinstance(value, np.ndarray | Drawn)}
    fixed = {name: value for name, value in values.items() if name not in swept}
    if not swept:
        raise SettingError("nothing is swept: give a parameter a range such as 2:4:300, or normal(mean, deviation)")
    model, t_span = source.found, None
    if "t_end" in fixed and (isinstance(model, Problem) or "t_end" not in inspect.signature(model).parameters):
        begin = model.t_span[0] if isinstance(model, Problem) else 0.0
        t_span = begin, fixed.pop("t_end")
    common: dict[str, Any] = {
        "scheme": scheme, "h": given.get("h"), "tol": given.get("tol"), "parameters": fixed,
        "executor": executor_of(given.get("executor")), "store": given.get("store"), "progress": given.get("progress"),
    }  # fmt: skip
    period = _period(given, values)
    drawn: dict[str, Any] = {name: value.made() if isinstance(value, Drawn) else value for name, value in swept.items()}
    measures = measures_of(given["measures"]) if "measures" in given else [sweep.ImpactStatistics()]
    section = None if period is None else section_of(given.get("section", "strobe"), period)
    keep, transient = given.get("keep", 50), given.get("transient", 0.0)
    diagram = len(drawn) == 1 and section is not None and "measures" not in given
    _check_heard(given, t_span is not None or "t_end" in fixed, section, swept, diagram)
    if any(isinstance(value, Drawn) for value in swept.values()):
        if any(isinstance(value, np.ndarray) for value in swept.values()):
            raise SettingError("ranges and distributions do not go together: give one of both")
        runs = {"runs": given.get("runs", 1000), "seed": given.get("seed", 0)}
        transient = _periods(transient) if section is not None else transient
        more = {"section": section, "transient": transient, "keep": keep, "t_span": t_span, "measures": measures}
        result: Any = sweep.monte_carlo(model, **runs, **more, **common, **drawn)
    elif diagram:
        way, transient = given.get("direction", "up"), _periods(given.get("transient", 150.0))
        more = {"section": section, "transient": transient, "keep": keep, "direction": way}
        result = sweep.bifurcation(model, **more, **common, **drawn)
    else:
        transient = _periods(transient) if section is not None else transient
        more = {"section": section, "transient": transient, "keep": keep, "t_span": t_span, "measures": measures}
        result = sweep.grid(model, **more, **common, **drawn)
    print(report(result))
    if given.get("save") is not None:
        result.dataset.to_netcdf(given["save"], engine="h5netcdf")
        print(f"written {given['save']}")
    if given.get("plot") is not None:
        _draw(result, given)
        print(f"written {given['plot']}")
    return 0 if len(result.failed) == 0 else 1


def _check_heard(given: dict[str, Any], ends: bool, section: Any, swept: dict[str, Any], diagram: bool) -> None:
    """Refuse options that this sweep would not hear."""
    drawn = any(isinstance(value, Drawn) for value in swept.values())
    if section is not None and ends:
        raise SettingError("--t-end and a section do not go together: runs take --transient and --keep periods")
    for name in ("section", "keep"):
        if name in given and section is None:
            raise SettingError(f"--{name} needs the period of the forcing: give --forcing or --period")
    if "direction" in given and (not diagram or drawn):
        raise SettingError("--direction belongs to a diagram: one range, --forcing or --period, and no --measures")
    for name in ("runs", "seed"):
        if name in given and not drawn:
            raise SettingError(f"--{name} belongs to a Monte Carlo study: give a parameter a distribution")


def _periods(transient: float) -> int:
    """Return a transient that is counted in periods."""
    if transient != int(transient):
        raise SettingError(f"--transient is {transient:g}: with a section it is a whole number of periods")
    return int(transient)


def _period(given: dict[str, Any], values: dict[str, Any]) -> Any:
    """Return the period of the forcing: a number, or one per run by a function of the swept frequency."""
    name = given.get("forcing")
    if name is None:
        return given.get("period")
    if "period" in given:
        raise SettingError("give --forcing or --period, not both")
    name = name.replace("-", "_")
    if name not in values:
        raise SettingError(f"--forcing is {name!r}, which has no value here: give --{name.replace('_', '-')}")
    made = period_of(name)
    return made if isinstance(values[name], np.ndarray | Drawn) else 2.0 * math.pi / values[name]


def period_of(name: str) -> Callable:
    """Return a function of one argument of this name: 2 pi over it."""

    def period(**taken: Any) -> Any:
        return 2.0 * math.pi / taken[name]

    parameter = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
    period.__signature__ = inspect.Signature([parameter])  # pyright: ignore[reportFunctionMemberAccess]
    return period


def report(result: Any) -> str:
    """Return what a sweep found, in a few lines."""
    lines = [f"{result.kind}: {len(result)} runs, {len(result.failed)} failed"]
    for k in result.failed[:5]:
        lines.append(f"  run {k}: {result.why(int(k))}")
    data = result.dataset
    lines.append(f"  {'measure':<24}{'least':>13}" + "".join(f"{f'{p:.0%}':>13}" for p in QUANTILES) + f"{'most':>13}")
    for name in data.data_vars:
        values = np.asarray(data[name].values, dtype=float)
        if data[name].dims != result._dims or name == "status" or not np.isfinite(values).any():
            continue
        values = values[np.isfinite(values)]
        numbers = [values.min(), *np.quantile(values, QUANTILES), values.max()]
        unit = data[name].attrs.get("units", "")
        label = f"{name} [{unit}]" if unit else str(name)
        lines.append(f"  {label:<24}" + "".join(f"{number:>13.6g}" for number in numbers))
    return "\n".join(lines)


def _draw(result: Any, given: dict[str, Any]) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    FigureCanvasAgg(figure)
    ax = figure.add_subplot()
    if result.kind == "monte carlo":
        result.plot(given.get("x"), given.get("y"), ax=ax)
    else:
        result.plot(given.get("y") or given.get("x"), ax=ax)
    figure.savefig(given["plot"], dpi=150)
