"""saltus list: the names of problems, schemes, contact solvers, controls and reproductions, one line each."""

from __future__ import annotations

import sys
from typing import Annotated

from cyclopts import Parameter

from saltus.cli.describe import first_line
from saltus.cli.names import (
    control_classes,
    kebab,
    problem_functions,
    reproductions,
    scheme_classes,
    solver_classes,
    wraps,
)
from saltus.errors import SettingError

CATALOGUE_KINDS = ("problems", "schemes", "solvers", "controls", "reproductions")


def list_command(
    what: Annotated[str | None, Parameter(name="WHAT", help=f"One of {', '.join(CATALOGUE_KINDS)}.")] = None, /
) -> int:
    """List the problems, schemes, contact solvers, controls and reproductions that there are, one line each."""
    if what is not None and what not in CATALOGUE_KINDS:
        raise SettingError(f"there is no list of {what!r}: leave it out or take one of {', '.join(CATALOGUE_KINDS)}")
    kinds = CATALOGUE_KINDS if what is None else (what,)
    for k, kind in enumerate(kinds):
        if len(kinds) > 1:
            print(("\n" if k else "") + f"{kind}:")
        rows = _rows(kind)
        width = max(len(name) for name in rows)
        for name, text in rows.items():
            print(f"{'  ' if len(kinds) > 1 else ''}{name:<{width}}  {text}")
    return 0


def _rows(kind: str) -> dict[str, str]:
    # the first line of a problem's or reproduction's file says what it is and where it comes from
    if kind == "problems":
        return {name: first_line(sys.modules[make.__module__]) for name, make in problem_functions().items()}
    if kind == "schemes":
        return {(f"{name}:SCHEME" if wraps(c) else name): first_line(c) for name, c in scheme_classes().items()}
    if kind == "controls":
        return {name: first_line(c) for name, c in control_classes().items()}
    if kind == "reproductions":
        return {name: first_line(sys.modules[run.__module__]) for name, run in reproductions().items()}
    return {kebab(c.__name__): first_line(c) for c in solver_classes().values()}
