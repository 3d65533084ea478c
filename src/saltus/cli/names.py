"""Names on the command line: problems of the library or of a user's file, schemes, contact solvers."""

from __future__ import annotations

import dataclasses
import difflib
import importlib.util
import pathlib
import re
import sys
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from saltus import contact, control, schemes
from saltus.errors import ModelError, SettingError
from saltus.problem import Problem
from saltus.system import System


@dataclasses.dataclass(frozen=True)
class Source:
    """Where a problem comes from: its name or FILE.py:NAME, and the function or finished Problem found there."""

    where: str
    found: Callable[..., Any] | Problem

    @property
    def short(self) -> str:
        return self.where.replace("_", "-") if ".py:" not in self.where else self.where.rpartition(":")[2]

    def build(self, parameters: dict[str, Any]) -> Problem:
        """Return the problem for these parameters."""
        if isinstance(self.found, Problem):
            return self.found
        made = self.found(**parameters)
        if not isinstance(made, Problem):
            raise ModelError(f"{self.where} returned {type(made).__name__}: it must return a Problem{_remedy(made)}")
        return made


def kebab(name: str) -> str:
    """Return the spelling of a class or function on the command line: MoreauJean is moreau-jean."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name)
    return parted.replace("_", "-").lower()


def problem_functions() -> dict[str, Callable[..., Problem]]:
    """Return the problem library by its names on the command line."""
    from saltus import problems  # here, because most commands end before they need it

    return {kebab(name): getattr(problems, name) for name in problems.__all__}


def scheme_classes() -> dict[str, type]:
    """Return all schemes by their names on the command line."""
    return {kebab(name): getattr(schemes, name) for name in schemes.__all__}


def solver_classes() -> dict[str, type]:
    """Return all contact solvers by their names on the command line."""
    found = {name: getattr(contact, name) for name in contact.__all__}
    return {kebab(name): kind for name, kind in found.items() if hasattr(kind, "room")}


def control_classes() -> dict[str, type]:
    """Return the controls that a user may choose, by their names on the command line."""
    return {kebab(name): getattr(control, name) for name in ("Fixed", "Richardson", "VariableOrder", "Adaptive")}


def reproductions() -> dict[str, Callable[..., Any]]:
    """Return the published experiments by their names on the command line."""
    from saltus.study.reproductions import REPRODUCTIONS  # here, because most commands end before they need it

    return dict(REPRODUCTIONS)


def wraps(scheme: type) -> bool:
    """Whether a scheme is made of another one."""
    return any(field.name == "scheme" for field in dataclasses.fields(scheme))


def find_schemes(text: str) -> list[type]:
    """Return the classes of `moreau-jean` or, from the outside in, of `step-doubling:moreau-jean`."""
    known = scheme_classes()
    chain = [known[pick(part, known, "scheme")] for part in text.split(":")]
    for k, scheme in enumerate(chain):
        inner = k + 1 < len(chain)
        if wraps(scheme) and not inner:
            name = kebab(scheme.__name__)
            raise SettingError(f"{name} is made of another scheme: write --scheme {name}:moreau-jean")
        if inner and not wraps(scheme):
            name = kebab(scheme.__name__)
            raise SettingError(f"{name} takes no scheme inside: write --scheme {name}")
    return chain


def pick(text: str, known: Iterable[str], kind: str) -> str:
    """Return the known name that was meant, whatever its case, dashes and underscores; suggest the nearest."""
    plain = {_plain(name): name for name in known}
    if _plain(text) in plain:
        return plain[_plain(text)]
    raise SettingError(
        f"no {kind} is called {text!r}{suggestion(text, list(plain.values()))} (saltus list {kind}s names them all)"
    )


def suggestion(text: str, known: Iterable[str]) -> str:
    """Return `: did you mean ...?`, or nothing when nothing is near."""
    plain = {_plain(name): name for name in known}
    near = difflib.get_close_matches(_plain(text), plain, n=1, cutoff=0.6)
    near = near or [name for name in plain if len(_plain(text)) > 2 and _plain(text) in name]
    return f": did you mean {plain[near[0]]}?" if near else ""


def _plain(name: str) -> str:
    return name.replace("-", "").replace("_", "").lower()


def find_problem(text: str) -> Source:
    """Return where a problem comes from, given its name or FILE.py:NAME."""
    if text.endswith(".py"):
        raise SettingError(f"{text} is a file: write {text}:NAME, a Problem in it or a function that returns one")
    if ".py:" in text:
        return _from_file(text)
    known = problem_functions()
    found = known[pick(text, known, "problem")]
    return Source(found.__name__, found)


def _from_file(text: str) -> Source:
    file, _, attribute = text.rpartition(":")
    path = pathlib.Path(file).expanduser().resolve()
    if not path.is_file():
        raise SettingError(f"there is no file {path}")
    module = _execute(path)
    public = [name for name in vars(module) if not name.startswith("_")]
    if not hasattr(module, attribute):
        raise SettingError(f"{path.name} defines no {attribute!r}{suggestion(attribute, public)}")
    found: Any = getattr(module, attribute)
    if isinstance(found, System):
        raise ModelError(f"{text} is a System: wrap it as Problem(system, t_span, q0, v0)")
    if not isinstance(found, Problem) and (isinstance(found, type) or not callable(found)):
        raise ModelError(
            f"{text} is {type(found).__name__}: it must be a Problem or a function that returns one{_remedy(found)}"
        )
    return Source(f"{path}:{attribute}", found)


def _remedy(found: Any) -> str:
    """Return what is left to do with a mechanism, which makes problems itself."""
    return ", such as w.problem((0.0, 1.0)) of a Planar w" if hasattr(found, "problem") else ""


def _execute(path: pathlib.Path) -> ModuleType:
    """Run one file of the user as a module; its folder does not become importable."""
    name = f"_saltus_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise SettingError(f"{path} cannot be read as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and tracebacks look the module up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        remedy = " (to import files beside it, set PYTHONPATH)" if isinstance(error, ModuleNotFoundError) else ""
        raise ModelError(f"{path.name} failed{_line(error, path)}: {type(error).__name__}: {error}{remedy}") from error
    return module


def _line(error: Exception, path: pathlib.Path) -> str:
    """Return the last line of the user's file that an error went through."""
    lines, trace = [], error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    return f" in line {lines[-1]}" if lines else ""
