"""Derivatives of a model by state, time and parameters, for studies of stability: compiled only where asked for.

The functions of a system are traced once more, with the parameters as variables, and differentiated along a direction
(dt, dq, dv, dp). One unit gives the model in a state, another one its derivatives:

    d(M a - W^T r) at fixed a and r,  df,  dg,  d(W v + w),  d(W a + zeta) at fixed a,  dq_dot

Where a function cannot be traced, and for families of bodies, the same comes from differences of the compiled units.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from saltus.build.model import SIGNATURES, Builder
from saltus.build.user_function import UserFunction
from saltus.compile import seam
from saltus.compile.expression import MOST_OPERATIONS
from saltus.compile.modules import module_from
from saltus.compile.native import NativeUnit, compile_text, runnable
from saltus.compile.trace import HELPERS, IMPORTS, Expr, Untraceable, directional, emit, operation_count
from saltus.memory.layout import Layout

if TYPE_CHECKING:
    from saltus.build.model import CompiledModel
    from saltus.compile.par_layout import ParLayout

TANGENT_STEP = 1e-3  # of differences, relative to the size of a state; they are of fourth order
ROUNDED = 8.0 * np.finfo(float).eps  # of the terms of a difference that cancel
WEIGHTS = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
TANGENT_UNITS = {
    "instant": "t, q, v, par, out", "instants": "n, t, q, v, par, out",
    "tangent": "t, q, v, a, r, par, dt, dq, dv, dpar, out",
    "tangents": "n, columns, t, q, v, a, r, par, way, dpar, out",
}  # fmt: skip


class States(NamedTuple):
    """A model in N states: M (N, nv, nv), f (N, nv), g (N, ng), W by rows (N, nr, nv), w, zeta (N, nr), q_dot."""

    M: np.ndarray
    f: np.ndarray
    g: np.ndarray
    W: np.ndarray
    w: np.ndarray
    zeta: np.ndarray
    q_dot: np.ndarray


class Tangents(NamedTuple):
    """Derivatives in N states along some directions, each (N, directions, size).

    Attributes
    ----------
    inertia
        d(M a - W^T r) at fixed a and r.
    f, g
        df, dg.
    u
        d(W v + w).
    rate
        d(W a + zeta) at fixed a.
    q_dot
        dq_dot.
    """

    inertia: np.ndarray
    f: np.ndarray
    g: np.ndarray
    u: np.ndarray
    rate: np.ndarray
    q_dot: np.ndarray


class Sizes(NamedTuple):
    """Numbers of coordinates, velocities, gaps with joints, rows, and numbers in all parameters."""

    nq: int
    nv: int
    ng: int
    nr: int
    np: int

    @property
    def state(self) -> tuple[int, ...]:
        return self.nv * self.nv, self.nv, self.ng, self.nr * self.nv, self.nr, self.nr, self.nq

    @property
    def tangent(self) -> tuple[int, ...]:
        return self.nv, self.nv, self.ng, self.nr, self.nr, self.nq


class Derivatives(Protocol):
    """A model that knows its derivatives. Directions are rows (dt, dq, dv, dp)."""

    @property
    def sizes(self) -> Sizes: ...

    @property
    def exact(self) -> bool:
        """Whether they come from a trace, not from differences."""
        ...

    def states(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> States:
        """Return the model in N states."""
        ...

    def tangents(
        self, t: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, r: np.ndarray, ways: np.ndarray
    ) -> Tangents:
        """Return derivatives in N states along the same directions in all of them."""
        ...


def derivatives_of(model: CompiledModel) -> Derivatives:
    """Return the derivatives of a model for the parameters of its run; traced where that is possible."""
    known = model.__dict__.get("_tangent")
    if known is None:
        try:
            if model.codes or model.opaque_names:
                raise Untraceable("families and opaque functions")
            known = _trace(model)
        except Untraceable:
            known = None
        model.__dict__["_tangent"] = known or "differences"
    if known is None or known == "differences":
        return DifferencedModel(model)
    return known.at(model)


def parameter_places(layout: ParLayout) -> dict[str, np.ndarray]:
    """Return the place of every number of every parameter among all of them, in the shape of the parameter."""
    made, at = {}, 0
    for name, slot in layout.parameters.items():
        made[name] = np.arange(at, at + slot.size).reshape(slot.shape)
        at += slot.size
    return made


# ---- by tracing


class _TangentBuilder(Builder):
    """The functions of a system as plain expressions, of which the parameters are variables."""

    def expressions(self, function: UserFunction, *, hold: bool = True) -> Any:
        return super().expressions(function, hold=False)

    def make_opaque(self, function: UserFunction, reason: str) -> Any:
        raise Untraceable(reason)

    def vary(self) -> list[Expr]:
        """Make variables of all numbers in the parameters, before any expression contains them."""
        made = []
        for offset, value in self.trace.named.values():
            for k in range(np.size(value)):
                node = self.trace.parameter(offset + k)
                node.mask = 1 << len(self.trace._variables)
                self.trace._variables.append(node)
                made.append(node)
        return made


def _trace(model: CompiledModel) -> TracedModel:
    """Trace a system once more and compile the model and its derivatives."""
    t, q, v = model.start
    # the events bring parameters that nothing else has
    builder = _TangentBuilder(model.system, t, q, v, model.events, model.values)
    try:
        return _traced(builder, model)
    finally:
        builder.trace.end()


def _traced(builder: _TangentBuilder, model: CompiledModel) -> TracedModel:
    trace, nv = builder.trace, builder.nv
    varied = builder.vary()
    builder.rate, builder.B = builder.kinematic_map()
    mass: Any = builder.mass()[0]
    force: Any = builder.force()[0]
    M = np.array([[trace.real(x) for x in row] for row in mass.reshape(nv, nv)], dtype=object)
    f = [trace.real(x) for x in force]
    for matrix, state in ((builder.system.K, builder.q), (builder.system.C, builder.v)):
        given = builder.linear(matrix, "K or C")
        if given is None:
            continue
        for i, j in zip(*np.nonzero(given), strict=True):
            f[i] = f[i] - trace.real(float(given[i, j])) * state[j]
    gaps, rows, _ = builder.contacts()
    joint_gaps, joint_rows = builder.joints()
    rows += joint_rows
    g = [x for x, n in (*gaps, *joint_gaps) if n > 0]
    if len(varied) != sum(np.size(value) for _, value in trace.named.values()):
        raise Untraceable("a parameter was met only inside of a function")
    q_dot = list(builder.v) if builder.rate is None else list(builder.rate)
    W = np.empty((len(rows), nv), dtype=object)
    for line, row in zip(W, rows, strict=True):
        entries = dict(zip(row.columns, row.entries or (), strict=True))
        line[:] = [entries.get(j, trace.zero) for j in range(nv)]
    w, zeta = [row.w for row in rows], [row.zeta for row in rows]
    u = [row.w + builder.dot(line, builder.v) for row, line in zip(rows, W, strict=True)]
    a, r = trace.variables("a", nv), trace.variables("r", len(rows))
    inertia = [builder.dot(M[i], a) - builder.dot(W[:, i], r) for i in range(nv)]
    rate = [row.zeta + builder.dot(line, a) for row, line in zip(rows, W, strict=True)]
    seeds = {builder.t: trace.variable("dt")}
    seeds |= dict(zip(builder.q, trace.variables("dq", builder.nq), strict=True))
    seeds |= dict(zip(builder.v, trace.variables("dv", nv), strict=True))
    seeds |= dict(zip(varied, trace.variables("dpar", len(varied)), strict=True))
    derived = [directional(x, seeds) for x in (*inertia, *f, *g, *u, *rate, *q_dot)]
    if operation_count(derived) > MOST_OPERATIONS:
        raise Untraceable(f"its derivatives have more than {MOST_OPERATIONS} operations")
    sizes = Sizes(builder.nq, nv, len(g), len(rows), len(varied))
    value = [*M.flat, *f, *g, *W.flat, *w, *zeta, *q_dot]
    text = _text(sizes, value, derived)
    if seam.is_interpreted():
        module = module_from(text, "tangent")
        units = {name: seam.interpreted(getattr(module, name)) for name in TANGENT_UNITS}
    else:
        code = compile_text(text)
        units = {name: NativeUnit(code, text, name) for name in TANGENT_UNITS}
    # the parameters of the user lie first and in the order of the trace, as in the model itself
    par = np.array(trace.constants or [0.0], dtype=float)
    places = {name: offset for name, (offset, _) in trace.named.items()}
    return TracedModel(sizes, units, par, places)


def _text(sizes: Sizes, value: list[Expr], derived: list[Expr]) -> str:
    """Return the source of the units."""
    nq, nv, nr = sizes.nq, sizes.nv, sizes.nr
    inside, outside = sum(sizes.state), sum(sizes.tangent)
    ways, state = 1 + nq + nv, f"t[k], vec(q, k * {nq}, {nq}), vec(v, k * {nv}, {nv})"
    direction = f"way[c * {ways}], vec(way, c * {ways} + 1, {nq}), vec(way, c * {ways} + {1 + nq}, {nv})"
    body = {
        "instant": emit([(f"out[{i}]", x) for i, x in enumerate(value)]),
        "tangent": emit([(f"out[{i}]", x) for i, x in enumerate(derived)]),
        "instants": f"    for k in range(n):\n        instant({state}, par, vec(out, k * {inside}, {inside}))\n",
        "tangents": (
            "    for k in range(n):\n        for c in range(columns):\n"
            f"            tangent({state}, vec(a, k * {nv}, {nv}), vec(r, k * {nr}, {nr}), par, {direction}, "
            f"vec(dpar, c * {sizes.np}, {sizes.np}), vec(out, (k * columns + c) * {outside}, {outside}))\n"
        ),
    }
    text = f'"""A model and its derivatives, generated by saltus."""\n\n{IMPORTS}'
    text += "from saltus.compile.seam import unit\nfrom saltus.compile.views import vec\n"
    text += f"from saltus.compile.types import {', '.join(name.upper() for name in TANGENT_UNITS)}\n"
    called = "".join(body.values())
    used = [made for name, made in HELPERS.items() if f"{name}(" in called]
    if used:
        text += "from saltus.compile.types import A, F, I\n"
    for source, signature in used:
        text += f"\n\n@unit({signature})\n{source}"
    for name, lines in body.items():
        text += f"\n\n@unit({name.upper()})\ndef {name}({TANGENT_UNITS[name]}):\n{lines}    return 0\n"
    return text


@dataclasses.dataclass(frozen=True, eq=False)
class TracedModel:
    """Derivatives from the trace; par: numbers that the units read, places: where parameters begin in it."""

    sizes: Sizes
    units: dict[str, Any]
    par: np.ndarray
    places: dict[str, int]
    exact = True

    def at(self, model: CompiledModel) -> TracedModel:
        """Return the same for the parameters of a run."""
        par = self.par.copy()
        for name, value in model.values.items():
            par[self.places[name] : self.places[name] + np.size(value)] = np.ravel(value)
        return dataclasses.replace(self, par=par)

    def states(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> States:
        n = len(t)
        out = np.empty(n * sum(self.sizes.state))
        self.units["instants"](n, _flat(t), _flat(q), _flat(v), self.par, out)
        return _as_states(out.reshape(n, -1), self.sizes)

    def tangents(self, t, q, v, a, r, ways) -> Tangents:
        n, columns, first = len(t), len(ways), 1 + self.sizes.nq + self.sizes.nv
        out = np.empty(n * columns * sum(self.sizes.tangent))
        arrays = [_flat(x) for x in (t, q, v, a, r)]
        self.units["tangents"](n, columns, *arrays, self.par, _flat(ways[:, :first]), _flat(ways[:, first:]), out)
        return Tangents(*_split(out.reshape(n, columns, -1), self.sizes.tangent))


def _flat(array: np.ndarray) -> np.ndarray:
    made = np.array(array, dtype=float, order="C").reshape(-1)
    return made if made.size else np.zeros(1)  # an address needs something that it points to


def _split(array: np.ndarray, widths: tuple[int, ...]) -> list[np.ndarray]:
    return np.split(array, np.cumsum(widths)[:-1], axis=-1)


def _as_states(rows: np.ndarray, sizes: Sizes) -> States:
    M, f, g, W, w, zeta, q_dot = _split(rows, sizes.state)
    n, nv = len(rows), sizes.nv
    return States(M.reshape(n, nv, nv), f, g, W.reshape(n, sizes.nr, nv), w, zeta, q_dot)


# ---- by differences


class DifferencedModel:
    """Derivatives by differences of the compiled units, of fourth order.

    Good to about 1e-11 for units that are traced themselves, to 1e-6 where W comes from differences already.
    """

    exact = False

    def __init__(self, model: CompiledModel):
        layout: Layout = model.layout
        self.model, self.layout = model, layout
        numbers = [int(x) for x in (layout.nq, layout.nv, layout.nc + layout.nj, layout.nr)]
        self.places = parameter_places(model.par_layout)
        self.sizes = Sizes(*numbers, sum(x.size for x in self.places.values()))
        self._units = {name: runnable(getattr(model.units, name)) for name in SIGNATURES}
        ptr = layout[layout.W_ptr : layout.W_ptr + layout.nr + 1]
        self._row = np.repeat(np.arange(int(layout.nr)), np.diff(ptr))
        self._column = np.array(layout[layout.W_col : layout.W_col + layout.nw])

    @functools.cached_property
    def _values(self) -> np.ndarray:
        flat = [np.ravel(self.model.values[name]) for name in self.places]
        return np.concatenate(flat) if flat else np.zeros(0)

    @functools.cached_property
    def _read(self) -> dict[str, Any]:
        """Values of the parameters for functions that are called as Python."""
        return next((one.values for one in self.model.probed.values() if isinstance(one.values, dict)), {})

    @contextlib.contextmanager
    def moved(self, dp: np.ndarray) -> Iterator[np.ndarray]:
        """Let parameters have moved values inside; yield what units read of them."""
        par, known = self.model.units.par.copy(), dict(self._read)
        if np.any(dp):
            moved = self._values + dp
            named = {name: moved[place] if place.shape else float(moved[place]) for name, place in self.places.items()}
            self.model.par_layout.write(par, named)
            self._read.update(named)
        try:
            yield par
        finally:
            self._read.update(known)

    def _state(self, t: float, q: np.ndarray, v: np.ndarray, par: np.ndarray) -> np.ndarray:
        """Return one row of what `States` holds."""
        units, sizes, layout = self._units, self.sizes, self.layout
        packed, f, g = np.zeros(int(layout.profile_size)), np.zeros(sizes.nv), np.zeros(max(sizes.ng, 1))
        sparse, w, zeta = np.zeros(max(int(layout.nw), 1)), np.zeros(max(sizes.nr, 1)), np.zeros(max(sizes.nr, 1))
        q_dot, W = np.zeros(sizes.nq), np.zeros((sizes.nr, sizes.nv))
        units["mass"](t, q, par, packed)
        units["force"](t, q, v, par, f)
        units["gap"](t, q, par, g)
        units["kinematics"](t, q, par, sparse, w)
        units["curvature"](t, q, v, par, zeta)
        units["rate"](q, v, par, q_dot)
        W[self._row, self._column] = sparse[: len(self._row)]
        M = self.model.profile.unpack(packed)
        return np.concatenate([M.ravel(), f, g[: sizes.ng], W.ravel(), w[: sizes.nr], zeta[: sizes.nr], q_dot])

    def states(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> States:
        par = self.model.units.par.copy()
        rows = [self._state(float(s), x.copy(), y.copy(), par) for s, x, y in zip(t, q, v, strict=True)]
        return _as_states(np.array(rows).reshape(len(t), sum(self.sizes.state)), self.sizes)

    def tangents(self, t, q, v, a, r, ways) -> Tangents:
        sizes = self.sizes
        made = np.zeros((len(t), len(ways), sum(sizes.tangent)))
        for k in range(len(t)):
            for c, way in enumerate(ways):
                dt, dq, dv, dp = np.split(way, np.cumsum([1, sizes.nq, sizes.nv]))
                size = np.max(np.abs(way), initial=0.0)
                if size == 0.0:
                    continue
                step, sizes_of_terms = TANGENT_STEP / size, np.zeros(sum(sizes.tangent))
                for shift, weight in WEIGHTS:
                    s = shift * step
                    moved = t[k] + s * dt[0], q[k] + s * dq, v[k] + s * dv
                    with self.moved(s * dp) as par:
                        row = self._state(float(moved[0]), moved[1], moved[2], par)
                    term = weight / step * self._looked_at(row, moved[2], a[k], r[k])
                    made[k, c] += term
                    sizes_of_terms += np.abs(term)
                # what hangs on nothing of this direction leaves the rounding of its terms
                made[k, c, np.abs(made[k, c]) <= ROUNDED * sizes_of_terms] = 0.0
        return Tangents(*_split(made, sizes.tangent))

    def _looked_at(self, row: np.ndarray, v: np.ndarray, a: np.ndarray, r: np.ndarray) -> np.ndarray:
        """Return what is differentiated, in one state."""
        M, f, g, W, w, zeta, q_dot = (x[0] for x in _as_states(row[None], self.sizes))
        return np.concatenate([M @ a - W.T @ r, f, g, W @ v + w, W @ a + zeta, q_dot])
