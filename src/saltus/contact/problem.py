"""The contact problem and its residual: the common yardstick of every contact solver.

Blocks of rows carry a law between the impulses P [N s] and the velocities u [m/s]:

    u = W^T y + b,   y = X P,   X = M^-1 W      (so that D = W^T X is the Delassus matrix [1/kg])

and every solver is judged by the residual of `saltus.contact.residual`.

Laws with several friction numbers are told in units of their own (saltus/laws): kernels see u and P in them, everybody
else in N s and m/s.

Redundant contacts (eight corners of a box on a floor) leave D singular: the velocities are unique without
friction, the impulses are not, and a solver returns one of the solutions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from saltus.compile.seam import ready
from saltus.compile.types import CONTACTS, Contacts
from saltus.compile.unit import Pinned
from saltus.compile.workspace import Room, RoomPlan
from saltus.contact.residual import JUDGING, residual
from saltus.errors import ModelError, SettingError
from saltus.laws import (
    COULOMB_SPATIAL,
    KERNELS,
    LAW_NAMES,
    LAWS,
    ROWS_OF,
    UNILATERAL,
    frictional_cone,
    frictional_local,
    frictionless_cone,
    frictionless_local,
    units_of,
)
from saltus.status import Status

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


MOST_ROUNDING = 1e4  # times the tolerance of a solver: residuals beyond are no rounding errors, whatever it says


# ---- the problem and its result


@dataclass(frozen=True)
class ContactResult:
    """What a contact solver found.

    Attributes
    ----------
    P : impulses [N s], inside their cones
    u : velocities u = D P + b [m/s]
    residual : scaled residual of P, computed independently of the solver
    iterations : sweeps or pivots
    converged : whether the solver's tolerance was reached; never True without the residual to prove it
    solver : name of the solver, of the member that succeeded where there are several
    message : what happened, in one sentence
    status : OK, CONTACT_STALLED (not solved), CONTACT_UNSOLVABLE (proven to have no solution), NONFINITE
    contacts : names of the contacts to blame where there is no solution
    unique : whether the impulses are the only ones with these velocities; None if nobody looked
    """

    P: np.ndarray
    u: np.ndarray
    residual: float
    iterations: int
    converged: bool
    solver: str
    message: str
    status: Status = Status.OK
    contacts: tuple[str, ...] = ()
    unique: bool | None = None


class ReducedForm(NamedTuple):
    """u = D P + b: the matrix as it was given [1/kg] and the velocities without impulses [m/s]."""

    D: Any
    b: np.ndarray


class GlobalForm(NamedTuple):
    """M v = W P + f, u = W^T v + w: mass [kg], directions, momentum [N s], velocities at v = 0 [m/s]."""

    M: Any
    W: Any
    f: np.ndarray
    w: np.ndarray


@dataclass(frozen=True, init=False, eq=False)
class ContactProblem:
    """A one-step contact problem: find P with u = D P + b so that every block obeys its law.

    Parameters
    ----------
    D : (n, n) Delassus matrix [1/kg], dense, scipy.sparse or a LinearOperator, which is applied to unit vectors
        once; need not be symmetric
    b : (n,) velocities without contact impulses, restitution included [m/s]
    mu : friction coefficient, one number or one per block (numbers of frictionless blocks are ignored); a block of
        coulomb_elliptic has a pair (mu_1, mu_2), those of rolling a pair (mu, mu_r [m])
    kinds : law of each block, by number or name: bilateral (0), unilateral (1), coulomb_planar (2, rows N T),
        coulomb_spatial (3, rows N T1 T2), coulomb_elliptic (4, rows N T1 T2), coulomb_rolling (5, rows N T R),
        rolling_spatial (6, rows N T1 T2 R1 R2)
    dim : instead of `kinds`, when all blocks are alike: 1 unilateral (the default without mu), 2 planar and
        3 spatial friction
    names : name of each block for messages; its number by default

    Attributes
    ----------
    kernel : what the compiled solvers see, in the units of the laws
    given : the problem as it was given, a ReducedForm or a GlobalForm
    kinds : law of each block, by number
    units : what a unit of the kernel's impulses is in each row, all 1 but for laws with several friction numbers
    """

    kernel: Contacts = field(repr=False)
    given: ReducedForm | GlobalForm = field(repr=False)
    names: tuple[str, ...] = field(repr=False)
    kinds: np.ndarray = field(repr=False)
    units: np.ndarray = field(repr=False)

    def __init__(
        self,
        D: ArrayLike | Any,
        b: ArrayLike,
        *,
        mu: ArrayLike | None = None,
        kinds: Sequence[int | str] | None = None,
        dim: int | None = None,
        names: Sequence[str] | None = None,
    ):
        b = _vector(b, "b")
        n = b.size
        apply: Any = getattr(D, "matmat", None)
        D = D if apply is None else np.asarray(apply(np.eye(n)))
        D_start, D_col, D_value = _columns(D, "D", (n, n), "b has")
        laws = _laws(n, mu, kinds, dim)
        ones = np.arange(n + 1)
        self._set(n, laws, (ones, ones[:-1], np.ones(n)), (D_start, D_col, D_value), b, ReducedForm(D, b), names)

    @classmethod
    def from_global(
        cls,
        M: ArrayLike | Any,
        W: ArrayLike | Any,
        f: ArrayLike,
        w: ArrayLike | None = None,
        *,
        mu: ArrayLike | None = None,
        kinds: Sequence[int | str] | None = None,
        dim: int | None = None,
        names: Sequence[str] | None = None,
    ) -> ContactProblem:
        """Build the problem M v = W P + f, u = W^T v + w without ever forming D.

        Parameters
        ----------
        M : (nv, nv) mass matrix [kg], dense or scipy.sparse
        W : (nv, n) directions of the rows, dense or scipy.sparse
        f : (nv,) momentum without contact impulses [N s]
        w : (n,) velocities of the rows at v = 0 (moving walls, restitution) [m/s]; zero by default
        mu, kinds, dim, names : as in the constructor
        """
        f = _vector(f, "f")
        nv = f.size
        n = int(np.shape(W)[1]) if len(np.shape(W)) == 2 else -1
        if n < 0:
            raise ModelError(f"W has shape {np.shape(W)}; it must have one column per contact row: ({nv}, n)")
        w = np.zeros(n) if w is None else _vector(w, "w")
        if w.size != n:
            raise ModelError(f"w has {w.size} entries, but W has {n} columns: one entry per column")
        W_rows = _columns(W, "W", (nv, n), "f has")
        _columns(M, "M", (nv, nv), "f has")
        laws = _laws(n, mu, kinds, dim)
        solve = _factor(M)
        X_rows = _solve_columns(M, solve, W_rows, nv, n)
        v_free = solve(f)
        problem = cls.__new__(cls)
        W_start, W_col, W_value = W_rows
        b = w.copy()
        np.add.at(b, np.repeat(np.arange(n), np.diff(W_start)), W_value * v_free[W_col])
        problem._set(nv, laws, W_rows, X_rows, b, GlobalForm(M, W, f, w), names)
        return problem

    @classmethod
    def from_kernel(
        cls,
        contacts: Contacts,
        names: Sequence[str] | None = None,
        laws: Sequence[tuple[int, tuple[float, ...]]] | None = None,
    ) -> ContactProblem:
        """Copy a problem that a run hands to its solver, in the form u = D P + b.

        laws: kind and friction numbers of each block as its user gave them; without them rows are in the units of the
        laws. Blocks that are solved without friction take no notice of it.
        """
        from scipy.sparse import csc_array

        ends = np.array(contacts.rows).reshape(-1, 4)
        W, X = (
            csc_array(_chosen_columns(ends[:, side : side + 2], columns, values), shape=(contacts.nv, len(ends)))
            for side, columns, values in ((0, contacts.W_col, contacts.W), (2, contacts.X_col, contacts.X))
        )
        D: Any = (W.T @ X).tocsr()
        blocks, b = np.array(contacts.blocks).reshape(-1, 3), np.array(contacts.b)
        # in the units of the laws all numbers of one are the same
        given = [
            (int(kind), (float(x),) * len(LAWS[kind].NUMBERS))
            for kind, x in zip(blocks[:, 0], contacts.mu, strict=True)
        ]
        for k, law in enumerate(laws or ()):
            given[k] = law if ROWS_OF[law[0]] == blocks[k, 2] else given[k]
        kinds, mu = [kind for kind, _ in given], np.array(contacts.mu)
        if any(len(numbers) > 1 for _, numbers in given):
            units = np.concatenate([units_of(*law) for law in given])
            D, b = D.toarray() / np.outer(units, units), b / units
            mu = [numbers or (0.0,) for _, numbers in given]
        return cls(D, b, mu=mu, kinds=kinds, names=names)

    def _set(self, nv, laws, W_rows, X_rows, b, given, names):
        kinds, mu, units = laws
        names = tuple(str(k) for k in range(len(kinds))) if names is None else tuple(str(name) for name in names)
        if len(names) != len(kinds):
            raise ModelError(f"there are {len(names)} names for {len(kinds)} blocks: give one per block")
        sizes = np.array([ROWS_OF[kind] for kind in kinds], dtype=np.int64)
        first = np.cumsum(sizes) - sizes
        rows = np.stack([W_rows[0][:-1], W_rows[0][1:], X_rows[0][:-1], X_rows[0][1:]], axis=1)
        if np.any(units != 1.0):
            W_rows, X_rows = ((*made[:2], made[2] * np.repeat(units, np.diff(made[0]))) for made in (W_rows, X_rows))
            b = b * units
        kernel = Contacts(
            int(nv),
            np.stack([np.array(KERNELS)[kinds], first, sizes], axis=1).ravel(),
            np.array(rows.ravel(), dtype=np.int64),
            np.array(W_rows[1], dtype=np.int64),
            np.array(W_rows[2], dtype=np.float64),
            np.array(X_rows[1], dtype=np.int64),
            np.array(X_rows[2], dtype=np.float64),
            b,
            mu,
        )
        for array in (*kernel[1:], kinds, units):
            array.flags.writeable = False
        made = {"kernel": kernel, "given": given, "names": names, "kinds": kinds, "units": units}
        for name, value in made.items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        kinds = self.kinds
        counts = ", ".join(f"{int((kinds == k).sum())} {LAW_NAMES[k]}" for k in np.unique(kinds))
        return f"ContactProblem({self.n} rows: {counts or 'empty'})"

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.kernel.b.size

    @property
    def mu(self) -> np.ndarray:
        """Friction coefficient of each block, the first one where its law has several."""
        return self.kernel.mu

    @property
    def b(self) -> np.ndarray:
        """Velocities without contact impulses [m/s]."""
        return self.kernel.b / self.units if self.scaled else self.kernel.b

    @cached_property
    def scaled(self) -> bool:
        """Whether some law has units of its own."""
        return bool(np.any(self.units != 1.0))

    @cached_property
    def pinned(self) -> Pinned:
        """What compiled solvers take: the addresses of the arrays, asked for once because none is ever replaced."""
        return Pinned(CONTACTS, self.kernel)

    @cached_property
    def _has_friction(self) -> bool:
        return bool(np.any(self.kinds > UNILATERAL))

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy is made of: its arrays lie elsewhere."""
        return {name: value for name, value in vars(self).items() if name != "pinned"}

    @property
    def local(self):
        """The unit that solves one block: the small bundle where there is no friction."""
        return frictional_local if self._has_friction else frictionless_local

    @property
    def cone(self):
        """The unit that projects one block."""
        return frictional_cone if self._has_friction else frictionless_cone

    def D(self) -> np.ndarray:
        """Return the Delassus matrix W^T X, dense [1/kg]."""
        k, n = self.kernel, self.n
        W, X = np.zeros((k.nv, n)), np.zeros((k.nv, n))
        for i, (W_begin, W_end, X_begin, X_end) in enumerate(k.rows.reshape(n, 4)):
            np.add.at(W[:, i], k.W_col[W_begin:W_end], k.W[W_begin:W_end])
            np.add.at(X[:, i], k.X_col[X_begin:X_end], k.X[X_begin:X_end])
        return W.T @ X / np.outer(self.units, self.units) if self.scaled else W.T @ X

    def u(self, P: ArrayLike) -> np.ndarray:
        """Return u = D P + b [m/s]."""
        return self._judge(P)[0]

    def residual(self, P: ArrayLike) -> float:
        """Return the scaled natural-map residual of P: zero exactly at solutions, free of units.

        Laws with several friction numbers are judged in their own units.
        """
        return self._judge(P)[1]

    def _judge(self, P) -> tuple[np.ndarray, float]:
        P = _vector(P, "P")
        if P.size != self.n:
            raise ModelError(f"P has {P.size} entries, but the problem has {self.n} rows")
        u = np.zeros(self.n)
        if self.n == 0:
            return u, 0.0
        room = JUDGING.plan({"nv": self.kernel.nv}).allocate()
        P = P / self.units if self.scaled else P
        found = float(ready(residual)(self.pinned, ready(self.cone), P, u, room))
        return u / self.units if self.scaled else u, found


class ContactSolver(Protocol):
    """What a contact solver offers: a kernel of type SOLVE, its settings, the plan of its room for at most n rows."""

    @property
    def name(self) -> str: ...

    @property
    def kernel(self) -> Any: ...

    def settings(self) -> np.ndarray: ...

    def room(self, n: int, nb: int, nv: int) -> RoomPlan: ...

    def supports(self, kind: int) -> bool: ...


class Supporting(Protocol):
    """Whoever says which laws it solves, with a kernel or without."""

    @property
    def name(self) -> str: ...

    def supports(self, kind: int) -> bool: ...


def check_support(solver: Supporting, kinds: Iterable[int]) -> None:
    """Raise SettingError when the solver cannot treat one of the laws."""
    for k, kind in enumerate(kinds):
        if not solver.supports(int(kind)):
            can = ", ".join(name for i, name in enumerate(LAW_NAMES) if solver.supports(i))
            raise SettingError(
                f"{solver.name} solves {can} contacts, but contact {k} is {LAW_NAMES[int(kind)]}: take NSGS()"
            )


def refuse_beyond_coulomb(problem: ContactProblem, who: str) -> None:
    """Raise SettingError where a law is not one of one friction with one number: `who` knows no others."""
    for k in np.flatnonzero(problem.kinds > COULOMB_SPATIAL):
        raise SettingError(f"{who} knows no {LAW_NAMES[problem.kinds[k]]} law, which contact {problem.names[k]!r} has")


def run(
    solver: ContactSolver, problem: ContactProblem, P0: ArrayLike | None = None, room: Room | None = None
) -> ContactResult:
    """Run a solver's compiled kernel on a problem, from P0 (zero by default), in a new room unless one is given."""
    check_support(solver, problem.kinds)
    n, nb, nv = problem.n, problem.mu.size, problem.kernel.nv
    P = np.zeros(n) if P0 is None else _vector(P0, "P0").copy()
    if P.size != n:
        raise ModelError(f"P0 has {P.size} entries, but the problem has {n} rows")
    if problem.scaled:
        P /= problem.units
    u, info = np.zeros(n), np.zeros(2)
    if n == 0:
        return ContactResult(P, u, 0.0, 0, True, solver.name, "There is no contact row.")
    room = solver.room(n, nb, nv).allocate() if room is None else room
    laws = ready(problem.local), ready(problem.cone)
    status = Status(ready(solver.kernel)(problem.pinned, *laws, solver.settings(), P, u, info, room))
    if problem.scaled:
        P *= problem.units
    u, certificate = problem._judge(np.where(np.isfinite(P), P, 0.0))
    # solvers may accept more than their tolerance where rounding explains it, but none is taken at its word
    if status == Status.OK and not certificate <= MOST_ROUNDING * getattr(solver, "tol", 1e-8):
        status = Status.CONTACT_STALLED
    converged = status == Status.OK
    verdict = "The contact problem is solved" if converged else status.sentence.rstrip(".")
    message = f"{verdict} (residual {certificate:.1e} after {int(info[1])} iterations)."
    return ContactResult(P, u, certificate, int(info[1]), converged, solver.name, message, status)


def compiled(solver) -> Any:
    """Return the compiled kernel of a solver record as a function that plain Python calls in place of the kernel."""

    def solve(contacts, local, cone, settings, P, u, info, room):
        laws = ready(solver.local), ready(solver.cone)
        return int(ready(solver.solve)(contacts, *laws, settings, P, u, info, room))

    return solve


# ---- the door


def _vector(values, name: str) -> np.ndarray:
    array = np.array(values, dtype=np.float64, ndmin=1)
    if array.ndim != 1:
        raise ModelError(f"{name} has shape {array.shape}; it must be a vector")
    if not np.all(np.isfinite(array)):
        i = int(np.flatnonzero(~np.isfinite(array))[0])
        raise ModelError(f"{name}[{i}] = {array[i]} is not a finite number")
    return array


def _columns(matrix, name: str, shape: tuple[int, int], because: str):
    """Return the nonzeros of a matrix by columns: start of each column, row numbers, values."""
    if np.shape(matrix) != shape:
        raise ModelError(
            f"{name} has shape {np.shape(matrix)}, but {because} {shape[0]} entries: {name} must be {shape}"
        )
    if hasattr(matrix, "tocsc"):
        matrix = matrix.tocsc()
        start, row, value = matrix.indptr, matrix.indices, np.asarray(matrix.data, dtype=np.float64)
    else:
        dense = np.asarray(matrix, dtype=np.float64)
        column, row = np.nonzero(dense.T)
        value = dense[row, column]
        start = np.searchsorted(column, np.arange(shape[1] + 1))
    if not np.all(np.isfinite(value)):
        k = int(np.flatnonzero(~np.isfinite(value))[0])
        j = int(np.searchsorted(start, k, side="right")) - 1
        raise ModelError(f"{name}[{int(row[k])}, {j}] = {value[k]} is not a finite number")
    return start, row, value


def _chosen_columns(ends: np.ndarray, columns, values) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, places and starts of the columns whose entries lie between these ends."""
    part = np.concatenate([np.arange(begin, end) for begin, end in ends])
    start = np.concatenate([[0], np.cumsum(ends[:, 1] - ends[:, 0])])
    return np.array(values)[part], np.array(columns)[part], start


def _laws(n: int, mu, kinds, dim) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return kinds and mu of the blocks that n rows make, and the units of the rows."""
    if kinds is not None and dim is not None:
        raise ModelError("kinds= and dim= both say what the blocks are: give one of them")
    if kinds is None:
        if dim is None and mu is not None:
            raise ModelError("mu is given, but not what the blocks are: add dim=2, dim=3 or kinds=")
        dim = 1 if dim is None else dim
        if dim not in (1, 2, 3):
            raise ModelError(f"dim = {dim}; it must be 1 (no friction), 2 (plane) or 3 (space)")
        if n % dim:
            raise ModelError(f"{n} rows do not make blocks of {dim} rows (dim = {dim})")
        kinds = [dim] * (n // dim)  # the kinds 1, 2, 3 have as many rows
    numbers = []
    for k, kind in enumerate(kinds):
        number = LAW_NAMES.index(kind) if kind in LAW_NAMES else kind
        if number not in range(len(LAWS)):
            raise ModelError(
                f"kinds[{k}] = {kind!r} is no law; the laws are {', '.join(LAW_NAMES)} (0 to {len(LAWS) - 1})"
            )
        numbers.append(int(number))
    total = sum(ROWS_OF[number] for number in numbers)
    if total != n:
        raise ModelError(f"the {len(numbers)} blocks have {total} rows together, but b has {n} entries")
    numbers = np.array(numbers, dtype=np.int64)
    if mu is None and np.any(numbers > UNILATERAL):
        raise ModelError("there are blocks with friction, but no mu: give mu=")
    given: list[tuple[float, ...]] = [()] * len(numbers)
    if any(len(LAWS[number].NUMBERS) > 1 for number in numbers):
        given = _friction_numbers(numbers, mu)
        mu = [one[0] for one in given]
    mu = _vector(0.0 if mu is None else mu, "mu")
    if mu.size not in (1, numbers.size):
        raise ModelError(f"mu has {mu.size} entries for {numbers.size} blocks: give one number or one per block")
    if np.any(mu < 0.0):
        raise ModelError(f"mu = {mu.min()} is negative; friction coefficients are >= 0")
    units = [units_of(int(number), pair) for number, pair in zip(numbers, given, strict=True)]
    return numbers, np.array(np.broadcast_to(mu, numbers.size)), np.concatenate([np.zeros(0), *units])


def _friction_numbers(kinds: np.ndarray, mu) -> list[tuple[float, ...]]:
    """Return the friction numbers of each block, where some laws have several of them."""
    mu = list(mu) if isinstance(mu, Sequence | np.ndarray) else mu
    if len(kinds) == 1 and isinstance(mu, list) and len(mu) > 1:
        mu = [mu]
    if not isinstance(mu, list) or len(mu) != len(kinds):
        raise ModelError(
            f"mu = {mu} for {len(kinds)} blocks, of which some have several friction numbers: give a list with one "
            "entry per block, a pair where the law has two numbers"
        )
    given = [tuple(float(x) for x in _vector(one, "mu")) for one in mu]
    for k, (kind, numbers) in enumerate(zip(kinds, given, strict=True)):
        wanted = LAWS[kind].NUMBERS or ("mu",)
        if len(numbers) != len(wanted):
            raise ModelError(
                f"mu[{k}] = {numbers} has {len(numbers)} numbers, but {LAW_NAMES[kind]} wants {len(wanted)}: "
                f"({', '.join(wanted)})"
            )
    return given


def _factor(M):
    """Return the function that applies M^-1."""
    from scipy.sparse import csc_array
    from scipy.sparse.linalg import splu

    try:
        return splu(csc_array(M, dtype=np.float64)).solve
    except RuntimeError as error:
        raise ModelError(f"M cannot be factored ({error}): a mass matrix must be regular") from None


def _solve_columns(M, solve, W_rows, nv: int, n: int):
    """Return M^-1 W by columns: body by body where M has small blocks, else in dense blocks of columns."""
    from scipy.sparse import csc_array, csr_array
    from scipy.sparse.csgraph import connected_components

    W_start, W_col, W_value = W_rows
    M = csr_array(M, dtype=np.float64)
    bodies, body = connected_components(M, directed=False)
    sizes = np.bincount(body, minlength=bodies)
    if nv > 0 and sizes.max() <= 32:
        order = np.argsort(body, kind="stable")  # velocities of one body side by side
        begin = np.cumsum(sizes) - sizes
        place = np.empty(nv, dtype=np.int64)
        place[order] = np.arange(nv) - np.repeat(begin, sizes)
        entries, i, j, value = M.tocoo(), [], [], []
        for size in np.unique(sizes):
            chosen = np.flatnonzero(sizes == size)
            number = np.full(bodies, -1)
            number[chosen] = np.arange(chosen.size)
            mine = number[body[entries.row]] >= 0
            row, column = entries.row[mine], entries.col[mine]
            blocks = np.zeros((chosen.size, size, size))
            np.add.at(blocks, (number[body[row]], place[row], place[column]), entries.data[mine])
            columns = order[begin[chosen][:, None] + np.arange(size)]
            i.append(np.repeat(columns, size, axis=1).ravel())
            j.append(np.tile(columns, (1, size)).ravel())
            value.append(np.linalg.inv(blocks).ravel())
        M_inv = csc_array((np.concatenate(value), (np.concatenate(i), np.concatenate(j))), shape=(nv, nv))
        X: Any = M_inv @ csc_array((W_value, W_col, W_start), shape=(nv, n))
        return X.indptr, X.indices, X.data
    width = 256
    starts, columns, values = [np.zeros(1, dtype=np.int64)], [], []
    for begin in range(0, n, width):
        end = min(begin + width, n)
        block = np.zeros((nv, end - begin))
        part = slice(W_start[begin], W_start[end])
        owner = np.repeat(np.arange(end - begin), np.diff(W_start[begin : end + 1]))
        np.add.at(block, (W_col[part], owner), W_value[part])
        start, column, value = _columns(solve(block), "M^-1 W", (nv, end - begin), "f has")
        starts.append(starts[-1][-1] + start[1:])
        columns.append(column)
        values.append(value)
    return np.concatenate(starts), np.concatenate(columns), np.concatenate(values)
