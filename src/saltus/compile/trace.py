"""Tracing of model functions: call them with tracers, record expressions, differentiate, emit source.

trace = Trace()
q = trace.variables("q", 2)
f = trace.as_array(trace.call(force, trace.variable("t"), q), shape=(2,))
source = emit([(f"out[{i}]", expr) for i, expr in enumerate(f)], indent=4)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus.compile.derivative import depends_on, differentiate, directional, gradient, jacobian, substitute
from saltus.compile.emit import HELPERS, IMPORTS, emit, interpreted
from saltus.compile.expression import Expr, Unrepeatable, Untraceable, operation_count
from saltus.compile.graph import Graph
from saltus.compile.paths import Paths
from saltus.compile.trace_array import TracerArray, apply_function, apply_ufunc, plain
from saltus.compile.trace_call import StandIns
from saltus.errors import FunctionError

__all__ = [
    "HELPERS", "IMPORTS", "Expr", "Trace", "TracerArray", "Unrepeatable", "Untraceable", "depends_on",
    "differentiate", "directional", "emit", "gradient", "interpreted", "jacobian", "operation_count",
    "substitute",
]  # fmt: skip


class Trace(Graph):
    """One recording: expressions, parameter slots `constants`, and calls of functions with tracers."""

    def __init__(self, *, limit: int = 1_000_000):
        super().__init__(limit=limit)
        self._stand_ins = StandIns(self)

    def variables(self, name: str, n: int) -> TracerArray:
        """The vector name[0], ..., name[n-1]."""
        made = np.empty(n, dtype=object).view(TracerArray)
        made[:] = [self.variable(f"{name}[{i}]") for i in range(n)]
        return made

    def call(self, function: Any, *args: Any) -> Any:
        """The function's result on tracers; raises Untraceable.

        A function that branches runs once per outcome, the results are joined by `where` (paths.py). Any error
        inside counts as untraceable: whether the function is sound, a call with numbers says.
        """

        def run(stand_ins: StandIns) -> Any:
            copies = [value.copy() if isinstance(value, np.ndarray) else value for value in args]
            return stand_ins.wrap(function)(*copies)

        around, self.paths = self.paths, Paths(self)
        try:
            return self.paths.run(lambda: run(self._stand_ins), lambda: run(StandIns(self)))
        except Untraceable as error:
            raise type(error)(f"{_name(function)}: {error}") from error
        except (Exception, SystemExit) as error:
            raise Untraceable(f"{_name(function)}: {type(error).__name__} while tracing: {error}") from error
        finally:
            self.paths = around

    def end(self) -> None:
        """End the recording: expressions stay, functions and what they read are let go.

        Stand-ins and expressions refer to each other. Without this the user's functions, and their arrays, would wait
        for the garbage collector, which counts objects and not their bytes.
        """
        self._stand_ins.forget()

    def as_array(self, result: Any, shape: tuple[int, ...] | None = None) -> np.ndarray:
        """Numbers, lists, arrays and expressions as an array of expressions.

        shape: the expected one; one entry fits any shape of one entry, a row or column fits a vector.
        """
        try:
            made = np.array(plain(result), dtype=object)
        except ValueError as error:
            raise FunctionError(f"the function returned rows of different lengths: {error}") from error
        lifted = np.empty(made.size, dtype=object)
        lifted[:] = [self.real(item) for item in made.flat]
        if shape is None or made.shape == shape:
            return lifted.reshape(made.shape)
        is_row_or_column = len(shape) == 1 and max(made.shape, default=1) == lifted.size
        if lifted.size == np.prod(shape, dtype=int) and (lifted.size == 1 or is_row_or_column):
            return lifted.reshape(shape)
        raise FunctionError(f"the function returned shape {made.shape}, expected {shape}")

    def array_ufunc(self, ufunc, method, *inputs, **options):
        return apply_ufunc(ufunc, method, *inputs, **options)

    def array_function(self, function, args, options):
        return apply_function(function, args, options)


def _name(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or type(function).__name__
    code = getattr(function, "__code__", None)
    return f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else name
