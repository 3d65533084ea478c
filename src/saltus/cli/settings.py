"""From parsed options to a Problem and a scheme, and back from a specification stored as JSON."""

from __future__ import annotations

import dataclasses
import json
import math
import pathlib
import sys
from typing import Any

from saltus.cli.names import (
    Source,
    control_classes,
    find_problem,
    find_schemes,
    kebab,
    pick,
    problem_functions,
    solver_classes,
)
from saltus.cli.options import Family, Option, check_required, family, first_word, option_value, options_of
from saltus.cli.values import REAL_NUMBER
from saltus.errors import FileError, MissingExtraError, ModelError, SettingError
from saltus.io.format import check_place, parsed
from saltus.problem import Problem

T_END = Option("t_end", REAL_NUMBER, "End of the run [s]; that of the problem by default.")


def find_source(tokens: list[str]) -> Source | None:
    """Return the problem that the tokens of a command name, if they name one."""
    word = first_word(tokens, problem_functions())
    return None if word is None else find_problem(word)


def problem_family(source: Source | None, others: list[Family]) -> Family:
    """Return the options of a problem: its own parameters, or only the end of the run."""
    if source is None:
        return family("problem", "Parameters of the problem", [T_END], others)
    options = [] if isinstance(source.found, Problem) else options_of(source.found)
    if all(option.field != "t_end" for option in options):
        options.append(T_END)
    return family("problem", f"Parameters of {source.short}", options, others)


def scheme_families(tokens: list[str], texts: list[str], others: list[Family]) -> list[Family]:
    """Return the options of all schemes that are named, and of their contact solver."""
    found: dict[str, Option] = {}
    kinds = [kind for text in texts for kind in find_schemes(text)]
    for kind in kinds:
        for option in options_of(kind, leave_out=("scheme",)):
            found.setdefault(option.field, option)
    title = ", ".join(dict.fromkeys(kebab(kind.__name__) for kind in kinds))
    made = [family("scheme", f"Parameters of the scheme {title}", found.values(), others)]
    solver = option_value(tokens, "--solver")
    if solver is not None and "solver" in found:
        known = solver_classes()
        name = pick(solver, known, "solver")
        options = [
            dataclasses.replace(o, flag="--solver-" + o.field.replace("_", "-")) for o in options_of(known[name])
        ]
        made.append(Family("solver", f"Parameters of the solver {name}", tuple(options)))
    return made


def control_families(tokens: list[str]) -> list[Family]:
    """Return the options of the control that is named, all of them with --control- before their names."""
    text = option_value(tokens, "--control")
    if text is None:
        return []
    kind = control_classes()[pick(text, control_classes(), "control")]
    options = [dataclasses.replace(o, flag="--control-" + o.field.replace("_", "-")) for o in options_of(kind)]
    return [Family("control", f"Parameters of the control {kebab(kind.__name__)}", tuple(options))]


def build_control(text: str | None, fields: dict[str, Any]):
    """Return the control for the options that were given, None where none is named."""
    return None if text is None else control_classes()[pick(text, control_classes(), "control")](**fields)


def build_problem(source: Source, group: Family, given: dict[str, Any]) -> Problem:
    """Return the problem for the options that were given."""
    check_required(group, given)
    return specified(source, given)


def specified(source: Source, parameters: dict[str, Any]) -> Problem:
    """Return the problem of a source for these parameters; t_end may shorten a finished one."""
    fields = dict(parameters)
    own = not isinstance(source.found, Problem) and any(o.field == "t_end" for o in options_of(source.found))
    t_end = None if own else fields.pop("t_end", None)
    try:
        problem = source.build(fields)
    except (ModelError, SettingError, MissingExtraError):
        raise
    except Exception as error:
        raise ModelError(f"{source.short} cannot be built: {type(error).__name__}: {error}") from error
    return problem if t_end is None else dataclasses.replace(problem, t_span=(problem.t_span[0], t_end))


def build_scheme(text: str, fields: dict[str, Any], solver: dict[str, Any]):
    """Return the scheme for the options that were given; each class takes those that it has."""
    made = None
    for kind in reversed(find_schemes(text)):
        names = {field.name for field in dataclasses.fields(kind)}
        taken = {name: value for name, value in fields.items() if name in names}
        if "solver" in taken:
            taken["solver"] = taken["solver"](**solver)
        made = kind(**taken) if made is None else kind(made, **taken)
    return made


def step_size(h: float | None, problem: Problem, flag: str, steps: int) -> float:
    """Return h, or say which one would do."""
    if h is not None:
        return h
    start, end = problem.t_span
    proposal = (end - start) / steps
    raise SettingError(f"{flag} is missing: {flag} {proposal:.3g} makes {steps} steps from t = {start:g} to {end:g} s")


def check_files(*paths: str | None) -> None:
    """Refuse files that cannot be written before anything is computed."""
    for path in paths:
        if path is None:
            continue
        try:
            check_place(path)
        except FileError as error:
            raise SettingError(str(error)) from error


def check_picture(path: str | None) -> None:
    """Refuse a picture that matplotlib cannot make."""
    if path is None:
        return
    check_files(path)
    from saltus.plot import FigureCanvasAgg

    ending = pathlib.Path(path).suffix[1:].lower()
    known = FigureCanvasAgg.get_supported_filetypes()
    if ending not in known:
        raise SettingError(f"{path} has no ending of a picture: use .png, .pdf or .svg")


def specification(source: Source, parameters: dict[str, Any]) -> str:
    """Return how to build a problem again, as one line of JSON."""
    return json.dumps({"problem": source.where, "parameters": parameters}, sort_keys=True)


def rebuilt(text: str) -> Problem:
    """Return the problem that a specification names; one line says so before a model file is executed."""
    try:
        stored = parsed(text.encode())
        where, parameters = str(stored["problem"]), dict(stored["parameters"])
    except (ValueError, KeyError, TypeError) as error:
        raise SettingError(f"the file does not say which problem it belongs to: {text[:60]!r}") from error
    if ".py:" in where:
        print(f"saltus: executing the model file {where.rpartition(':')[0]}", file=sys.stderr)
    return specified(find_problem(where), {name: _value(value) for name, value in parameters.items()})


def _value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        raise SettingError("the file holds a parameter that is not finite")
    return tuple(value) if isinstance(value, list) else value
