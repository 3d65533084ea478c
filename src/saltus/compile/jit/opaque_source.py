"""Functions that cannot be traced, compiled from their source by numba.

Floats and arrays found in closures and globals become parameters, so that a new value compiles nothing.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import types as python_types
from collections.abc import Callable

import numpy as np
from numba.core.errors import NumbaError

from saltus.compile import seam
from saltus.compile.modules import module_from

ARGUMENTS = {0: "as_array(q), as_array(v)", 1: "as_array(q)", 2: "t, as_array(q)", 3: "t, as_array(q), as_array(v)"}
ADAPTER = """
@unit(FORCE, allocates=True)
def opaque(t, q, v, par, out):
    par_array = as_array(par)
    store(_user({arguments}), as_array(out))
    return 0
"""


class Uncompilable(Exception):
    """The source of a function is not available or is outside of what numba compiles."""


@dataclasses.dataclass(frozen=True)
class CompiledSource:
    """The module of a unit `opaque` (t, q, v, par, out), the values of its `par`, and its address."""

    module: str
    values: np.ndarray
    address: int


def compile_source(function: Callable, arity: int) -> CompiledSource:
    """Compile the source of a function; raises Uncompilable where that is not possible."""
    text, values = _source_module(function, arity)
    try:
        module = module_from(text, "source")
        made = seam.ready(module.opaque)
    except NumbaError as error:
        raise Uncompilable(str(error).strip() or type(error).__name__) from error
    address = 0 if seam.is_interpreted() else made.address_of()
    return CompiledSource(module.__name__, values, address)


def _source_module(function: Callable, arity: int) -> tuple[str, np.ndarray]:
    writer = _Writer()
    parameters = writer.add(function, "_user")
    names = ", ".join([ARGUMENTS[arity], *parameters])
    text = "\n".join(
        [
            *sorted(writer.imports),
            "from numba import njit",
            "from saltus.compile.seam import as_array, unit",
            "from saltus.compile.jit.store import store",
            "from saltus.compile.types import FORCE",
            "",
            *writer.functions,
            ADAPTER.format(arguments=names),
        ]
    )
    return text, np.array(writer.values if writer.values else [0.0])


class _Writer:
    """Collects the source of a function and of the functions it calls, free variables turned into arguments."""

    def __init__(self):
        self.imports: set[str] = set()
        self.functions: list[str] = []
        self.values: list[float] = []
        self._done: dict[Callable, str] = {}

    def add(self, function: Callable, name: str) -> list[str]:
        """Add one function under a new name and return the expressions of its extra arguments."""
        if not isinstance(function, python_types.FunctionType):
            raise Uncompilable(f"{function!r} is not a plain function")
        node = _definition(function)
        node.name = name
        node.decorator_list, node.returns = [], None
        for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            argument.annotation = None
        if node.args.defaults:
            raise Uncompilable(f"{function.__name__} has arguments with defaults")
        renames, literals, extra, expressions = {}, [], [], []
        variables = inspect.getclosurevars(function)
        for key, value in {**variables.globals, **variables.nonlocals}.items():
            if isinstance(value, python_types.ModuleType):
                self.imports.add(f"import {value.__name__} as {key}")
            elif isinstance(value, bool | int | str | None | np.integer):
                literal = int(value) if isinstance(value, np.integer) else value
                literals.append(ast.parse(f"{key} = {literal!r}").body[0])
            elif isinstance(value, float | np.floating):
                extra.append(key)
                expressions.append(f"par_array[{len(self.values)}]")
                self.values.append(float(value))
            elif isinstance(value, np.ndarray) and value.dtype.kind in "fiu" and value.ndim in (1, 2):
                extra.append(key)
                begin, end = len(self.values), len(self.values) + value.size
                shape = f".reshape({value.shape!r})" if value.ndim == 2 else ""
                expressions.append(f"par_array[{begin}:{end}]{shape}")
                self.values.extend(np.asarray(value, dtype=float).ravel())
            elif isinstance(value, python_types.FunctionType):
                if value not in self._done:
                    helper = f"_helper{len(self._done)}"
                    self._done[value] = helper
                    if self.add(value, helper):
                        raise Uncompilable(f"helper {key} uses numbers from outside of itself")
                renames[key] = self._done[value]
            else:
                raise Uncompilable(f"it uses {key}, a {type(value).__name__}")
        node = _Rename(renames).visit(node)
        node.args.args.extend(ast.arg(arg=key) for key in extra)
        node.body = [*literals, *node.body]
        text = ast.unparse(ast.fix_missing_locations(node))
        self.functions.append(f'@njit(error_model="numpy", boundscheck=True)\n{text}\n')
        return expressions


class _Rename(ast.NodeTransformer):
    def __init__(self, names: dict[str, str]):
        self.names = names

    def visit_Name(self, node):
        return ast.copy_location(ast.Name(self.names.get(node.id, node.id), node.ctx), node)


def _definition(function: Callable) -> ast.FunctionDef:
    """Return the syntax tree of a function; a lambda becomes a function with one return."""
    try:
        lines, _ = inspect.getsourcelines(function)
    except (OSError, TypeError) as error:
        raise Uncompilable("its source is not available") from error
    try:
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except SyntaxError as error:
        raise Uncompilable("its source cannot be cut out of its file") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == function.__name__:
            return node
    lambdas = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    matching = [node for node in lambdas if _same_code(node, function)]
    if len(matching) != 1 and len(lambdas) != 1:
        raise Uncompilable("its source line holds several lambdas; write a def")
    chosen = (matching or lambdas)[0]
    return ast.FunctionDef("f", chosen.args, [ast.Return(chosen.body)], [], None, None)


def _same_code(node: ast.Lambda, function: Callable) -> bool:
    code = compile(ast.fix_missing_locations(ast.Expression(node)), "<lambda>", "eval").co_consts[0]
    return code.co_code == function.__code__.co_code and code.co_consts == function.__code__.co_consts
