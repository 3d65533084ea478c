"""Stand-ins for objects of scipy that a model function calls: splines and sparse matrices."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np

from saltus.compile.expression import Expr, Untraceable, has_tracer
from saltus.compile.graph import Graph
from saltus.compile.trace_array import TracerArray, as_numbers, as_operand, plain, tracer_array


class Sparse:
    """A sparse constant matrix: products with the state use its nonzeros only."""

    __array_ufunc__ = None  # numpy leaves `array @ sparse` to __rmatmul__

    def __init__(self, matrix: Any):
        self._matrix = matrix

    def __matmul__(self, other):
        if not has_tracer(other):
            return tracer_array(self._matrix @ as_numbers(other))
        entries, array = self._matrix.tocoo(), np.asarray(plain(other), dtype=object)
        result = np.full((entries.shape[0], *array.shape[1:]), 0.0, dtype=object)
        for i, j, item in zip(entries.row.tolist(), entries.col.tolist(), entries.data.tolist(), strict=True):
            result[i] = result[i] + item * array[j]
        return result.view(TracerArray)

    dot = __matmul__

    def __mul__(self, other):
        if np.ndim(plain(other)) and type(self._matrix).__name__.endswith("_matrix"):
            return self @ other  # scipy: `*` of the matrix classes is `@`, of the array classes elementwise
        if has_tracer(other):
            raise Untraceable("an elementwise product of a sparse matrix with the state cannot be traced")
        return Sparse(self._matrix * as_numbers(other))

    __rmul__ = __mul__

    def __rmatmul__(self, other):
        return Sparse(self._matrix.T) @ other if np.ndim(plain(other)) == 1 else NotImplemented

    @property
    def T(self) -> Sparse:
        return Sparse(self._matrix.T)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._matrix, name)


class Spline:
    """A piecewise polynomial of scipy (CubicSpline, PchipInterpolator, PPoly, ...) called with the state."""

    def __init__(self, graph: Graph, spline: Any, origin: Any = None):
        self._graph, self._spline = graph, spline
        self._origin = spline if origin is None else origin  # what the user has, if not the same

    def __call__(self, x, nu: int = 0, extrapolate: Any = None):
        if not has_tracer(x):
            return tracer_array(self._spline(as_numbers(x), nu, extrapolate))
        if nu < 0:
            raise Untraceable("a spline called with nu < 0 cannot be traced; use its antiderivative()")
        extrapolate = self._spline.extrapolate if extrapolate is None else extrapolate
        x = np.asarray(plain(as_operand(x)), dtype=object)
        parts = self._spline.c.shape[2:]
        result = np.empty((x.size, math.prod(parts)), dtype=object)
        for i, item in enumerate(x.flat):
            for j, offset in enumerate(self._tables()):
                result[i, j] = self._value(item, offset, nu, extrapolate)
        return result.reshape(x.shape + parts).view(TracerArray)[()]

    def _tables(self) -> list[int]:
        found = self._graph.spline_tables.get(id(self._origin))
        if found is None:
            knots, c = self._spline.x, self._spline.c
            if np.any(np.diff(knots) <= 0.0) or np.iscomplexobj(c):
                raise Untraceable("a spline needs increasing knots and real coefficients to be traced")
            parts = c.reshape(*c.shape[:2], -1)
            graph = self._graph
            offsets = [graph.table([*knots, *parts[:, :, j].T.flat]) for j in range(parts.shape[2])]
            found = graph.spline_tables[id(self._origin)] = self._origin, offsets
        return found[1]

    def _value(self, x: Any, offset: int, nu: int, extrapolate: Any) -> Expr:
        graph = self._graph
        order, n = self._spline.c.shape[0] - 1, self._spline.c.shape[1]
        low, high = graph.parameter(offset), graph.parameter(offset + n)
        if extrapolate == "periodic":
            x = graph.add(low, graph.remainder(graph.subtract(x, low), graph.subtract(high, low)))
        value = graph.piecewise(x, offset, n, order, nu)
        if extrapolate:
            return value
        is_outside = graph.logical_or(graph.less(x, low), graph.less(high, x))
        return graph.where(is_outside, graph.number(math.nan), value)

    def derivative(self, nu: int = 1) -> Spline:
        return Spline(self._graph, self._spline.derivative(nu))

    def antiderivative(self, nu: int = 1) -> Spline:
        return Spline(self._graph, self._spline.antiderivative(nu))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spline, name)


def as_spline(graph: Graph, value: Any) -> Spline | None:
    """The stand-in of an object of scipy.interpolate, None if it is not a piecewise polynomial."""
    interpolate = sys.modules["scipy.interpolate"]  # there, since the object exists
    if isinstance(value, interpolate.PPoly):
        return Spline(graph, value)
    if isinstance(value, interpolate.BSpline) and value.c.ndim == 1:
        return Spline(graph, _increasing(interpolate.PPoly.from_spline(value)), value)
    if isinstance(value, interpolate.UnivariateSpline) and value.ext == 0:
        return Spline(graph, _increasing(interpolate.PPoly.from_spline(value._eval_args)), value)
    if isinstance(value, interpolate.interp1d) and np.ndim(value.y) == 1 and value._kind == "linear":
        slopes = np.diff(value.y) / np.diff(value.x)
        return Lines(graph, interpolate.PPoly(np.array([slopes, value.y[:-1]]), value.x), value)
    return None


class Lines(Spline):
    """interp1d of scipy: straight lines, and outside of the table what it was told."""

    def _value(self, x: Any, offset: int, nu: int, extrapolate: Any) -> Expr:
        value, graph = super()._value(x, offset, nu, True), self._graph
        if isinstance(self._origin.fill_value, str):  # "extrapolate"
            return value
        n = self._spline.c.shape[1]
        below, above = (
            float(np.ravel(fill)[0]) for fill in (self._origin._fill_value_below, self._origin._fill_value_above)
        )
        value = graph.where(graph.less(x, graph.parameter(offset)), below, value)
        return graph.where(graph.less(graph.parameter(offset + n), x), above, value)


def _increasing(polynomial: Any) -> Any:
    """Without the empty intervals that repeated knots of a B-spline leave."""
    keep = np.flatnonzero(np.diff(polynomial.x) > 0.0)
    knots = np.append(polynomial.x[keep], polynomial.x[keep[-1] + 1])
    return type(polynomial)(polynomial.c[:, keep], knots, extrapolate=polynomial.extrapolate)
