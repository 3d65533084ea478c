"""Linear algebra and tables of numpy on expressions: products, norms, small solves, interpolation.

All arrays here are ordinary arrays, of floats or of expressions and numbers side by side.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from saltus.compile.expression import Expr, Untraceable, graph_of, has_tracer

MAX_SOLVE = 4  # largest system solved symbolically, by cofactors


def _is_zero(item: Any) -> bool:
    return item.op == "num" and item.payload == 0.0 if type(item) is Expr else item == 0


def matmul(left, right):
    """left @ right; products with a zero are never made, so that a sparse constant matrix stays sparse."""
    left, right = np.asarray(left), np.asarray(right)
    if left.ndim == 0 or right.ndim == 0:
        return np.multiply(left, right, dtype=object)
    if max(left.ndim, right.ndim) > 2:
        return np.matmul(left.astype(object), right.astype(object))
    if left.shape[-1] != right.shape[0]:
        raise ValueError(f"matmul: shapes {left.shape} and {right.shape} do not fit")
    rows = _sparse_rows(left if left.ndim == 2 else left[None, :])
    columns = [dict(column) for column in _sparse_rows(right.T if right.ndim == 2 else right[None, :])]
    result = np.empty((len(rows), len(columns)), dtype=object)
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            terms = [item * column[k] for k, item in row if k in column]
            result[i, j] = functools.reduce(lambda total, term: total + term, terms) if terms else 0.0
    return result.reshape(left.shape[:-1] + right.shape[1:])[()]


def _sparse_rows(matrix: np.ndarray) -> list[list[tuple[int, Any]]]:
    if matrix.dtype != object:
        return [[(int(k), row[k].item()) for k in np.flatnonzero(row)] for row in matrix]
    return [[(k, item) for k, item in enumerate(row.tolist()) if not _is_zero(item)] for row in matrix]


_ROOT = np.frompyfunc(lambda x: x.sqrt() if type(x) is Expr else math.sqrt(x), 1, 1)


def _larger(a: Any, b: Any) -> Any:
    graph = graph_of(a, b)
    return max(a, b) if graph is None else graph.maximum(a, b)


def norm(x, ord=None, axis=None, keepdims=False):
    """np.linalg.norm of vectors (1, 2, infinity) and the Frobenius norm."""
    array = np.asarray(x, dtype=object)
    if array.ndim == 0:
        return abs(array.item())
    of_matrix = array.ndim > 1 and (axis is None or np.ndim(axis) > 0)
    if ord not in (None, 1, 2, np.inf, "fro") or (of_matrix and ord not in (None, "fro")):
        raise Untraceable(f"np.linalg.norm of shape {array.shape} with ord={ord} cannot be traced")
    if axis is None and not keepdims:
        array, axis = array.ravel(), 0
    if ord == 1:
        return np.add.reduce(np.absolute(array), axis=axis, keepdims=keepdims)
    if ord == np.inf:
        return np.frompyfunc(_larger, 2, 1).reduce(np.absolute(array), axis=axis, keepdims=keepdims)
    squares = np.add.reduce(array * array, axis=axis, keepdims=keepdims)
    return _ROOT(squares) if isinstance(squares, np.ndarray) else _ROOT(np.array(squares, dtype=object))


def _square_matrix(matrix, name: str) -> list[list[Any]]:
    array = np.asarray(matrix, dtype=object)
    if array.ndim != 2 or array.shape[0] != array.shape[1] or array.shape[0] > MAX_SOLVE:
        raise Untraceable(f"np.linalg.{name} of shape {array.shape} cannot be traced: only square matrices "
                          f"up to {MAX_SOLVE} x {MAX_SOLVE}")  # fmt: skip
    return array.tolist()


def _minor(rows: list[list[Any]], i: int, j: int) -> list[list[Any]]:
    return [row[:j] + row[j + 1 :] for k, row in enumerate(rows) if k != i]


def _determinant(rows: list[list[Any]]) -> Any:
    if len(rows) == 1:
        return rows[0][0]
    total = 0.0
    for j, item in enumerate(rows[0]):
        if not _is_zero(item):
            term = item * _determinant(_minor(rows, 0, j))
            total = total - term if j % 2 else total + term
    return total


def determinant(matrix) -> Any:
    return _determinant(_square_matrix(matrix, "det"))


def _adjugate(rows: list[list[Any]]) -> np.ndarray:
    n = len(rows)
    result = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            cofactor = _determinant(_minor(rows, j, i)) if n > 1 else 1.0
            result[i, j] = -cofactor if (i + j) % 2 else cofactor
    return result


def inverse(matrix) -> np.ndarray:
    rows = _square_matrix(matrix, "inv")
    return _adjugate(rows) / _boxed(_determinant(rows))


def solve(matrix, right):
    if not has_tracer(matrix):
        return matmul(np.linalg.inv(np.asarray(matrix, dtype=float)), right)
    rows = _square_matrix(matrix, "solve")
    return matmul(_adjugate(rows), right) / _boxed(_determinant(rows))


def _boxed(item: Any) -> np.ndarray:
    return np.array(item, dtype=object)


def interp(x, xp: Sequence[float], fp: Sequence[float], left=None, right=None, period=None):
    """np.interp: piecewise linear, constant outside the table or repeated with a period.

    An abscissa may stand twice: the table jumps there. Ordinates may depend on the state, as in tables of tables.
    """
    graph = graph_of(*_boxed(x).flat, *_boxed(fp).flat)
    if graph is None or has_tracer(xp) or has_tracer(period):
        raise Untraceable("np.interp: abscissae that depend on the state cannot be traced")
    abscissae = np.asarray(xp, dtype=float)
    ordinates = _boxed(fp) if has_tracer(fp) else np.asarray(fp, dtype=float)
    if period is not None:
        period = abs(float(period))
        order = np.argsort(abscissae % period)
        abscissae, ordinates = (abscissae % period)[order], ordinates[order]
        abscissae = np.concatenate([abscissae[-1:] - period, abscissae, abscissae[:1] + period])
        ordinates = np.concatenate([ordinates[-1:], ordinates, ordinates[:1]])
        left = right = None
        x = np.frompyfunc(lambda item: graph.remainder(item, period), 1, 1)(_boxed(x))
    widths = np.diff(abscissae)
    if abscissae.size < 2 or np.any(widths < 0.0) or not np.any(widths > 0.0):
        raise Untraceable("np.interp: the table needs two or more increasing abscissae")
    if ordinates.dtype == object:
        return _weighted(graph, x, abscissae, ordinates, left, right)
    cells = widths > 0.0
    knots = np.append(abscissae[:-1][cells], abscissae[-1])
    coefficients = np.column_stack([np.diff(ordinates)[cells] / widths[cells], ordinates[:-1][cells]])
    n = len(knots) - 1
    offset = graph.table([*knots, *coefficients.flat])
    low, high = graph.parameter(offset), graph.parameter(offset + n)
    # where the first or the last abscissa stands twice, the table jumps to what it is outside
    left = ordinates[0] if left is None and not cells[0] else left
    right = ordinates[-1] if right is None and not cells[-1] else right

    def value(item):
        result = graph.piecewise(graph.clip(item, low, high), offset, n, 1)
        result = result if left is None else graph.where(graph.less(item, low), left, result)
        return result if right is None else graph.where(graph.less(high, item), right, result)

    return np.frompyfunc(value, 1, 1)(_boxed(x))


def _weighted(graph, x, abscissae: np.ndarray, ordinates: np.ndarray, left, right):
    """A table whose ordinates depend on the state: the sum of them, each times a table that is 1 at its abscissa."""
    if np.any(np.diff(abscissae) <= 0.0):
        raise Untraceable("np.interp: a table whose ordinates depend on the state must not jump")
    result = None
    for j, ordinate in enumerate(ordinates):
        near = slice(max(j - 1, 0), j + 2)
        weight = np.zeros(len(abscissae))
        weight[j] = 1.0
        share: Any = interp if has_tracer(x) else np.interp
        part = share(x, abscissae[near], weight[near]) * _boxed(ordinate)
        result = part if result is None else result + part

    def outside(item, value):
        value = value if left is None else graph.where(graph.less(item, graph.number(abscissae[0])), left, value)
        return value if right is None else graph.where(graph.less(graph.number(abscissae[-1]), item), right, value)

    return np.frompyfunc(outside, 2, 1)(_boxed(x), _boxed(result))
