"""Functions that cannot be traced, compiled from their source by numba.

Floats and arrays found in closures and globals become parameters, so that a new value compiles nothing.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import operator
import textwrap
import types as python_types
from collections.abc import Callable
from typing import Any

import numpy as np

from saltus.compile import seam
from saltus.compile.modules import module_from
from saltus.compile.parsing import PARSING, parsed
from saltus.compile.surprises import only_python, same_code, unset

# copies: what a function changes in its arguments is its own business
STATE_ARGUMENTS = {0: "copied(q), copied(v)", 1: "copied(q)", 2: "t, copied(q)", 3: "t, copied(q), copied(v)"}
NAN = "1e400 - 1e400"  # without a name that the function may use otherwise
ON_NUMBERS = frozenset({operator.add, operator.iadd, operator.sub, operator.isub, operator.invert, operator.neg})
COMPILED = frozenset({"numpy", "math"})  # modules whose attributes nobody changes
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
    except Exception as error:  # numba also raises what it met while it folded constants or read the source
        raise Uncompilable(str(error).strip() or type(error).__name__) from error
    if not seam.is_interpreted():
        _refuse_counted_truths(module)
    address = 0 if seam.is_interpreted() else made.address_of()
    return CompiledSource(module.__name__, values, address)


def _refuse_counted_truths(module: python_types.ModuleType) -> None:
    """Raise Uncompilable where truths are added or inverted: numba does it with numbers, numpy does not.

    In Python ~True is -2 and True + True is 2; in numpy they are False and True.
    """
    for function in vars(module).values():
        for made in getattr(function, "overloads", {}).values():
            kinds = getattr(made.type_annotation, "typemap", {})
            for expression in getattr(made.type_annotation, "calltypes", {}):
                asked = vars(expression).get("_kws", {})  # getattr raises KeyError
                operands = [kinds.get(asked[name].name) for name in ("lhs", "rhs", "value") if name in asked]
                if asked.get("fn") in ON_NUMBERS and operands and all(map(_is_truth, operands)):
                    raise Uncompilable("it adds or inverts truths, which Python and numpy do otherwise than numba")


def _is_truth(kind: Any) -> bool:
    return str(getattr(kind, "dtype", kind)) in ("bool", "Literal[bool](True)", "Literal[bool](False)")


def _source_module(function: Callable, arity: int) -> tuple[str, np.ndarray]:
    writer = _Writer()
    parameters = writer.add(function, "_user")
    names = ", ".join([STATE_ARGUMENTS[arity], *parameters])
    text = "\n".join(
        [
            *sorted(writer.imports),
            "from numba import njit",
            "from saltus.compile.seam import as_array, unit",
            "from saltus.compile.jit.store import copied, store",
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
        reason = only_python(function.__code__)
        if reason:
            raise Uncompilable(f"{function.__name__} {reason}")
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
                if value.__name__ not in COMPILED:
                    raise Uncompilable(f"it reads module {value.__name__}, whose attributes may change")
                self.imports.add(f"import {value.__name__} as {key}")
            elif isinstance(value, bool | int | str | None | np.int64):
                literal = int(value) if isinstance(value, np.int64) else value
                literals.append(parsed(f"{key} = {literal!r}").body[0])
            elif isinstance(value, float):  # np.float64 included, but no smaller ones, which round otherwise
                extra.append(key)
                expressions.append(f"par_array[{len(self.values)}]")
                self.values.append(float(value))
            elif isinstance(value, np.ndarray) and value.dtype in (np.float64, np.int64) and value.ndim in (1, 2):
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
        for key in unset(function.__code__):  # a NaN ends the run, and then the function itself is asked
            literals.append(parsed(f"{key} = {NAN}").body[0])
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
    """Return the syntax tree of a function as it runs; a lambda becomes a function with one return."""
    code = function.__code__  # of the function itself: what it wraps, if it does, is another one
    try:
        lines, _ = inspect.getsourcelines(code)
        file, _ = inspect.findsource(code)
    except (OSError, TypeError) as error:
        raise Uncompilable("its source is not available") from error
    try:
        tree = parsed(textwrap.dedent("".join(lines)))
        imports = _imports(parsed("".join(file)))
    except SyntaxError as error:
        raise Uncompilable(_unlike(code, "its source cannot be cut out of its file")) from error
    wanted = ast.Lambda if code.co_name == "<lambda>" else ast.FunctionDef
    for node in ast.walk(tree):
        if isinstance(node, wanted) and same_code(_compiled(node, code, imports), code):
            if isinstance(node, ast.FunctionDef):
                return node
            return ast.FunctionDef("f", node.args, [ast.Return(node.body)], [], None, None)
    raise Uncompilable(
        _unlike(code, "its source is not what runs: the file was changed after it was imported, or rewritten")
    )


def _unlike(code: python_types.CodeType, otherwise: str) -> str:
    """Return why no source fits: one that was made by exec has no file, even if Python keeps another "<string>"."""
    return "its source is not available" if code.co_filename == "<string>" else otherwise


def _imports(file: ast.Module) -> list[ast.stmt]:
    """Return the imports of a file: Python compiles calls of what was imported in its own way."""
    found, todo = [], list(reversed(file.body))
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Import | ast.ImportFrom):
            found.append(node)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            todo.extend(reversed([inner for inner in ast.iter_child_nodes(node) if not isinstance(inner, ast.expr)]))
    return found


def _compiled(node: ast.Lambda | ast.FunctionDef, code: python_types.CodeType, imports: list[ast.stmt]):
    """Return the code of a definition that uses the same variables from outside as the given one."""
    if isinstance(node, ast.FunctionDef):
        inner: ast.stmt = ast.FunctionDef(node.name, node.args, node.body, [], None, None)
    else:
        inner = ast.Expr(node)
    outside = ast.arguments([], [ast.arg(name) for name in code.co_freevars], None, [], [], None, [])
    outer = ast.FunctionDef("outer", outside, [inner], [], None, None)
    module = ast.fix_missing_locations(ast.Module([*imports, outer], []))
    with PARSING:
        made = compile(module, "<source>", "exec", dont_inherit=True)
    (around,) = (constant for constant in made.co_consts if isinstance(constant, python_types.CodeType))
    inside = (constant for constant in around.co_consts if isinstance(constant, python_types.CodeType))
    return next(constant for constant in inside if constant.co_name == code.co_name)
