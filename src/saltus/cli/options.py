"""Options: command-line parameters made from the signatures of problems, schemes and solvers."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Callable, Iterable
from typing import Annotated, Any

from cyclopts import Group, Parameter

from saltus.cli.describe import parameter_texts
from saltus.cli.names import pick, solver_classes
from saltus.cli.values import YES_NO, Reader, reader_of, written
from saltus.errors import SettingError

# letters whose meaning a docstring may take for granted; the option's help may not
MEANINGS = {
    "e": "coefficient of restitution",
    "mu": "coefficient of friction",
    "q0": "initial position",
    "v0": "initial velocity",
    "t_end": "end of the run",
}


@dataclasses.dataclass(frozen=True)
class Option:
    """One option: the field it fills, how its value is read, and what the help says."""

    field: str
    reader: Reader
    text: str
    default: str | None = None  # as shown
    required: bool = False
    flag: str = ""  # --field, unless another option has that name

    def named(self, taken: Iterable[str], prefix: str) -> Option:
        """Return the option under a name that is free: --field, or else --prefix-field."""
        flag = "--" + self.field.replace("_", "-")
        return dataclasses.replace(self, flag=f"--{prefix}-{flag[2:]}" if flag in taken else flag)


@dataclasses.dataclass(frozen=True)
class Family:
    """Options of one owner: the command itself, the problem, a scheme or its solver."""

    key: str
    title: str
    options: tuple[Option, ...]


def family(key: str, title: str, options: Iterable[Option], others: Iterable[Family] = ()) -> Family:
    """Give options their names beside those of other families."""
    taken = {option.flag for other in others for option in other.options}
    return Family(key, title, tuple(option.named(taken, key) for option in options))


def options_of(made: Callable, leave_out: Iterable[str] = ()) -> list[Option]:
    """Return an option for every parameter of a function or dataclass that can be typed."""
    try:
        # those of a class, because its __init__ does not know the names that its base classes were written with
        hints = typing.get_type_hints(made)
    except (NameError, TypeError):
        hints = {}  # names that exist for type checkers only: defaults must do
    parameters = [
        p
        for p in inspect.signature(made).parameters.values()
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY) and p.name not in leave_out
    ]
    texts = parameter_texts(made, [p.name for p in parameters])
    found = []
    for p in parameters:
        required = p.default is p.empty
        default = None if required else p.default
        if isinstance(made, type) and p.name == "solver":
            reader = Reader("NAME", _solver)
        else:
            reader = reader_of(hints.get(p.name), default)
        if reader is None:
            if required:
                raise SettingError(f"{made.__name__} needs {p.name!r}, which cannot be typed: give it a default")
            continue
        shown = None if default is None else written(default)
        text = texts.get(p.name, "")
        if reader.read is _solver:
            text = f"Contact solver: {', '.join(solver_classes())}; by default the one that suits the contacts."
        elif not text or text.startswith("["):
            text = f"{MEANINGS.get(p.name, '')} {text}".strip()
        found.append(Option(p.name, reader, text, shown, required))
    return found


def _solver(text: str) -> type:
    known = solver_classes()
    return known[pick(text, known, "solver")]


def command(action: Callable, doc: str, families: list[Family], word: Parameter) -> Callable:
    """Return a function with the signature that the families make; it calls action(word, {key: {field: value}})."""
    places = {f"{group.key}_{option.field}": (group, option) for group in families for option in group.options}

    def called(*words: str, **texts: Any):
        given: dict[str, dict[str, Any]] = {group.key: {} for group in families}
        for name, text in texts.items():
            if text is not None:
                group, option = places[name]
                given[group.key][option.field] = _read(option, text)
        return action(words[0] if words else None, given)

    kind = inspect.Parameter
    parameters = [kind("word", kind.POSITIONAL_ONLY, default=None, annotation=Annotated[str | None, word])]
    groups = {group.key: Group(group.title, sort_key=k) for k, group in enumerate(families)}
    for name, (group, option) in places.items():
        hint = bool | None if option.reader is YES_NO else str | None
        parameter = Parameter(
            name=option.flag,
            help=option.text + (" Required." if option.required else ""),
            group=groups[group.key],
            metavar=option.reader.shown or None,
            allow_leading_hyphen=option.reader is not YES_NO,
            show_default=_shower(option.default),
        )
        parameters.append(kind(name, kind.KEYWORD_ONLY, default=None, annotation=Annotated[hint, parameter]))
    called.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    called.__doc__ = doc
    return called


def _shower(default: str | None):
    return False if default is None else lambda value: default


def _read(option: Option, text: Any) -> Any:
    if option.reader is YES_NO:
        return text
    try:
        return option.reader.read(text)
    except ValueError as error:
        raise SettingError(f"{option.flag} is {text!r}: it must be {error}") from error


def check_required(group: Family, given: dict[str, Any]) -> None:
    """Refuse a run that lacks a parameter without default."""
    for option in group.options:
        if option.required and option.field not in given:
            raise SettingError(f"{option.flag} is missing: {group.title.lower()} need it")


def option_value(tokens: list[str], flag: str) -> str | None:
    """Return the value of an option before everything is parsed: it decides which options there are."""
    found = None
    for k, token in enumerate(tokens):
        if token == flag and k + 1 < len(tokens):
            found = tokens[k + 1]
        elif token.startswith(flag + "="):
            found = token[len(flag) + 1 :]
    return found


def first_word(tokens: list[str], known: Iterable[str]) -> str | None:
    """Return the first token that is no option and no value of one; after a switch only a known name or a file."""
    for k, token in enumerate(tokens):
        before = tokens[k - 1] if k else ""
        follows = before.startswith("--") and "=" not in before and before != "--help"
        if not token.startswith("-") and (not follows or token.replace("_", "-") in known or ".py:" in token):
            return token
    return None
