"""Checkpoints: everything that a run needs to go on, and enough of its problem to refuse another one."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import os
import time
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import FileFormatError, FunctionError, SettingError
from saltus.io import words
from saltus.io.format import Content, Variable, check_place, read, version, write
from saltus.io.settings import listed
from saltus.io.words import LARGEST_WHOLE, taken
from saltus.problem import Problem
from saltus.run.march import MARCH

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel

WRITING_SHARE = 0.1  # most of the wall time that writing may take: large runs are written less often
PROBE, TIMES = "model/probe", "march/times"
WORDS_OF_PARTS = {
    "model": "the functions of the system",
    "parameters": "the numbers of the system",
    "t_span": "t_span",
    "q0": "q0",
    "v0": "v0",
    "events": "events",
}


class Checkpoint:
    """The checkpoint file of a run: when it is due, and writing it.

    Parameters
    ----------
    path
        The file; it is replaced as a whole.
    every
        Wall time between two checkpoints [s]; longer where writing would take more than a tenth of it.
    """

    def __init__(self, path: str | os.PathLike, every: float):
        if isinstance(every, bool) or not isinstance(every, int | float) or not every > 0.0:
            raise SettingError(f"checkpoint_every is {every!r}: it must be a positive number of seconds")
        check_place(path)
        self.path, self.every = path, float(every)
        self.problem: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}
        self._next = time.perf_counter() + self.every

    @property
    def due(self) -> bool:
        """Whether it is time for the next checkpoint."""
        return time.perf_counter() >= self._next

    def write(self, arrays: dict[str, np.ndarray]) -> None:
        """Write the arrays of a run; FileError leaves the file as it was."""
        began = time.perf_counter()
        try:
            variables = {name: Variable(array, ()) for name, array in arrays.items()}
            write(self.path, "checkpoint", variables, {"problem": self.problem, "settings": self.settings})
        finally:
            ended = time.perf_counter()
            self._next = ended + max(self.every, (ended - began) / WRITING_SHARE)


def read_checkpoint(path: str | os.PathLike, max_bytes: float | None = None) -> Content:
    """Read a checkpoint of this version of saltus; what it says of its problem and settings is checked."""
    content = read(path, "checkpoint", max_bytes)
    try:
        made = taken(content.about, "version", words.text)
        if made != version():
            raise FileFormatError(
                f"{path} was written by saltus {made:.20}, this is {version()}: its results would not be the same; "
                "resume it with that version"
            )
        about = {"problem": _problem(content.about), "settings": _settings(content)}
    except ValueError as error:
        raise FileFormatError(f"{path} was not written by this format of saltus: {error}") from error
    return dataclasses.replace(content, about=about)


def _problem(about: dict[str, Any]) -> dict[str, Any]:
    given = taken(about, "problem", words.obj)
    made = {
        **{name: taken(given, name, words.text) for name in ("model", "parameters")},
        "t_span": list(taken(given, "t_span", words.row(words.finite, words.finite))),
        **{name: taken(given, name, words.many(words.finite)) for name in ("q0", "v0")},
        "events": taken(given, "events", words.many(words.text), []),
        "values": taken(given, "values", words.table(words.numbers), {}),
    }
    if not made["t_span"][0] < made["t_span"][1]:
        raise ValueError(f"t_span is {made['t_span']}, which does not run forward")
    return made


def _described(value: Any) -> dict[str, Any]:
    """Check that a value looks like what `describe` makes of an object."""
    given = words.obj(value)
    if "repr" not in given:
        taken(given, "class", words.text)
        taken(given, "settings", words.obj)
    return given


def _settings(content: Content) -> dict[str, Any]:
    """Return the settings of the run, with steps, breaks and times that lie in its span."""
    given, (begin, end) = taken(content.about, "settings", words.obj), _problem(content.about)["t_span"]
    made = {
        **{name: taken(given, name, _described) for name in ("scheme", "control")},
        "h": taken(given, "h", words.positive),
        "breaks": taken(given, "breaks", words.many(words.finite)),
        "keep": taken(given, "keep", words.whole),
        "start_tolerance": taken(given, "start_tolerance", words.number, None),
    }
    marks = [begin, *made["breaks"], end]
    if any(not left < right for left, right in itertools.pairwise(marks)):
        raise ValueError(f"breaks must increase inside of t_span, not {made['breaks']!r:.100}")
    times = content.arrays.get(TIMES)
    if times is None or times.dtype.kind != "f" or times.ndim != 1 or times.size == 0:
        raise ValueError("the times to keep are missing")
    if not begin <= times[0] or not times[-1] <= end or not np.all(np.diff(times) > 0.0):
        raise ValueError("the times to keep do not increase inside of t_span")
    if made["keep"] < MARCH.keep_events or made["keep"] == 0 or made["keep"] > LARGEST_WHOLE:
        raise ValueError(f"what is kept is {made['keep']}, which means nothing")
    if made["keep"] != MARCH.keep_times and (times.size != 1 or times[0] != end):
        raise ValueError("times are listed of which none is kept")
    return made


# ---- is it the same problem?


def fingerprint(problem: Problem, model: CompiledModel) -> dict[str, Any]:
    """Return what identifies a problem; to be taken before the model runs, because scratch lies in its parameters."""
    units = model.units
    digest = hashlib.sha256()
    digest.update(units.layout.tobytes())
    digest.update(np.column_stack((units.e, units.mu, units.e_t)).tobytes())
    text = hashlib.sha256(model.module.encode())
    if model.calls_python:
        # numbers of callbacks differ from run to run, and functions called as Python are not in the generated text
        system = problem.system
        numbers: list[Any] = [x for x in (system.M, system.f, system.K, system.C) if x is not None and not callable(x)]
        for number in numbers:
            dense = number.toarray() if hasattr(number, "toarray") else number
            digest.update(np.array(dense, dtype=float).tobytes())
        digest.update(probe(model, problem.t_span[0], problem.q0, problem.v0).tobytes())
        for function in model.functions.values():
            code = getattr(function.function, "__code__", None)
            text.update(b"" if code is None else _code(code))
    else:
        digest.update(model.par_layout.lasting(units.par).tobytes())
    return {
        "model": text.hexdigest(),
        "parameters": digest.hexdigest(),
        "t_span": list(problem.t_span),
        "q0": problem.q0.tolist(),
        "v0": problem.v0.tolist(),
        "events": list(model.event_names),
        "values": listed(model.values),
    }


def check_same(path: str | os.PathLike, found: dict[str, Any], stored: dict[str, Any]) -> None:
    """Raise SettingError when a checkpoint belongs to another problem."""
    stored = {"events": [], **stored}
    other = [key for key in WORDS_OF_PARTS if found[key] != stored[key]]
    if other:
        # digests say nothing to a reader, numbers do
        values = {key: f" ({found[key]} here, {stored[key]} there)" for key in ("t_span", "q0", "v0", "events")}
        told = [WORDS_OF_PARTS[key] + values.get(key, "") for key in other]
        raise SettingError(
            f"{path} belongs to another problem, it differs in {', '.join(told)}: resume with what was given to solve"
        )


def probe(model: CompiledModel, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Return the values of all functions of the model at a state, not a number where one fails."""
    made = []
    for function in model.functions.values():
        try:
            made.append(np.ravel(function(t, q, v)))
        except FunctionError:
            made.append(np.full(function.size, np.nan))
    return np.concatenate(made) if made else np.zeros(0)


def _code(code: CodeType) -> bytes:
    """Return what a function does, without its name and place in a file."""
    made = code.co_code + repr(code.co_names).encode()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            made += _code(constant)
        else:
            made += repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant).encode()
    return made
