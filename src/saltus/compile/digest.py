"""Digests of units: what their machine code depends on, so that only what changed is built again.

A digest is a hash over the code of a unit, the constants it uses, the signatures of what it calls, and the compiler. An
edited comment changes none of them, and neither does the body of another unit.
"""

from __future__ import annotations

import ast
import enum
import functools
import importlib.metadata
import pathlib
import sys
import types
from typing import Any

import numpy as np

from saltus.compile import sources
from saltus.compile.sources import hash_of
from saltus.compile.unit import Unit
from saltus.compile.workspace import Numbers, Workspace

_TRANSLATORS = "arrays back calls columns front handles lanes passes team translate workspaces"
TRANSLATORS = tuple(f"compile/jit/{name}.py" for name in _TRANSLATORS.split())  # what turns units into machine code


# ---- source files


def sources_of(modules) -> list[str]:
    """Return the files of some modules of the package and of all that they import, directly or not."""
    folder = sources.PACKAGE
    todo = [file for file in (_file(name, folder) for name in modules) if file is not None]
    seen: set[pathlib.Path] = set()
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo.extend(_imports(file, folder))
    return sorted(file.relative_to(folder).as_posix() for file in seen)


@functools.cache
def _imports(file: pathlib.Path, folder: pathlib.Path) -> frozenset[pathlib.Path]:
    """Return the files that one file imports as it is imported itself, not for type checkers.

    What functions import is left out: compiled code sees only what the module has.
    """
    found: set[pathlib.Path | None] = set()
    todo: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.expr):
            continue
        if isinstance(node, ast.If) and getattr(node.test, "id", getattr(node.test, "attr", "")) == "TYPE_CHECKING":
            todo.extend(node.orelse)
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "saltus":
            for alias in node.names:
                found.add(_file(f"{node.module}.{alias.name}", folder) or _file(node.module, folder))
        elif isinstance(node, ast.Import):
            found.update(_file(a.name, folder) for a in node.names if a.name.split(".")[0] == "saltus")
        todo.extend(ast.iter_child_nodes(node))
    return frozenset(one for one in found if one is not None)


def _file(module: str, folder: pathlib.Path) -> pathlib.Path | None:
    stem = folder.joinpath(*module.split(".")[1:])
    for file in (stem.with_suffix(".py"), stem / "__init__.py"):
        if file.is_file():
            return file
    return None


# ---- units


@functools.cache
def compiler_digest() -> str:
    """Return a hash of all that translates units: our lowering, numba, llvmlite, Python."""
    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite")]
    text = repr((versions, sys.version_info[:3]))
    for name in TRANSLATORS:
        # without comments and layout
        text += ast.dump(ast.parse((sources.PACKAGE / name).read_text(encoding="utf-8")))
    return hash_of(text.encode())


@functools.cache
def unit_digest(unit: Unit) -> str:
    """Return a hash of all that the bitcode of a unit depends on, whatever its version."""
    said = [compiler_digest(), unit.symbol(0), str(unit.inlined), *map(repr, unit.unit_signatures)]
    said += _code(unit.py_func.__code__)
    for name in sorted(_names(unit.py_func.__code__)):
        if name in unit.py_func.__globals__:
            said.append(f"{name}={_described(unit.py_func.__globals__[name], unit)}")
    return hash_of("\n".join(said).encode())


def callees(unit: Unit) -> list[Unit]:
    """Return the units that a unit names."""
    names = _names(unit.py_func.__code__)
    found = (unit.py_func.__globals__.get(name) for name in sorted(names))
    return [value for value in found if isinstance(value, Unit)]


def _names(code: types.CodeType) -> set[str]:
    inner = (constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return set(code.co_names).union(*map(_names, inner))


def _code(code: types.CodeType) -> list[str]:
    said = [code.co_code.hex(), repr(code.co_names), repr(code.co_varnames), str(code.co_argcount)]
    for constant in code.co_consts[1:] if code.co_consts and isinstance(code.co_consts[0], str) else code.co_consts:
        said += _code(constant) if isinstance(constant, types.CodeType) else [repr(constant)]
    return said


def _described(value: Any, user: Unit) -> str:
    if isinstance(value, Unit):
        return f"{value.symbol(0)} {value.unit_signatures!r}"  # a symbol; objects are keyed by what is put into them
    if isinstance(value, bool | int | float | str | None | np.integer | np.floating):
        return repr(value)
    if isinstance(value, tuple):  # also a record of constants, whose members have names
        return f"{getattr(value, '_fields', '')}({', '.join(_described(part, user) for part in value)})"
    if isinstance(value, type) and issubclass(value, enum.IntEnum):
        return f"{value.__name__}({', '.join(f'{one.name}={int(one)}' for one in value)})"
    if isinstance(value, types.ModuleType):
        return value.__name__
    if isinstance(value, Workspace | Numbers):
        return repr(value)
    if isinstance(value, type) and hasattr(value, "_fields"):
        return f"{value.__name__}{value._fields}"
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | type | np.ufunc):
        return f"{getattr(value, '__module__', '')}.{value.__name__}"
    raise TypeError(f"kernel {user!r} uses {value!r} of its module: only numbers, units and functions can be compiled")
