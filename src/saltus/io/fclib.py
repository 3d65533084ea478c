"""FCLib files: contact problems in HDF5, to be shared with other codes (Acary, Bremond, Koziara, Perignon 2014).

Local form: u = W r + q; global form: M v = H r + f, u = H^T v + w. One `spacedim` (2 or 3) per file, rows
(N, T) or (N, T1, T2). Equality constraints are bilateral rows: G, b of a global and V, R, s of a local problem.

A row without friction is stored as a block with mu = 0 and empty tangential rows: r_T = 0 and u_T = 0 there, so that
the block is the same law. What the format has no words for, the order of the rows and the names, lies in a group
`saltus`, which other readers pass over.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import math
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saltus.contact import ContactProblem, ContactResult
from saltus.contact.problem import GlobalForm, ReducedForm
from saltus.errors import FileError, FileFormatError, ModelError, SaltusError
from saltus.io.format import open_regular, regular_bytes, replace, room_for
from saltus.io.hdf5 import BOUNDS, SIGNATURE, Image
from saltus.laws import BILATERAL, COULOMB_PLANAR, COULOMB_SPATIAL, LAW_NAMES, ROWS_OF, UNILATERAL

if TYPE_CHECKING:
    import h5py
    from numpy.typing import ArrayLike

LOCAL_GROUP, GLOBAL_GROUP, OWN_GROUP = "fclib_local", "fclib_global", "saltus"


class _Fclib(NamedTuple):
    """Tuned numbers of this file."""

    # values of nz; zero or more: that many triplets
    csc: int = -1
    csr: int = -2
    longest_number: int = 9  # digits of the number of a guess
    most_shown: int = 8  # names in a message


FCLIB = _Fclib()

LARGEST = 2**63 - 1  # of whole numbers of the format

REMEDY = "store the problem again with FCLib or saltus.contact.write_fclib"


def read_fclib(path: str | os.PathLike, *, max_bytes: float | None = None) -> ContactProblem:
    """Read a contact problem from an FCLib file, local or global.

    Contacts come first, with the law that `spacedim` names, then the equality constraints as bilateral rows; a file
    that `write_fclib` made gives back the rows in their own order, without friction where there was none. Links,
    storage outside of the file and unknown packing are refused: no other file is read.

    Parameters
    ----------
    path
        The file.
    max_bytes
        Size of the largest file that is read, and of what is made from it [bytes]. None: 4 GB, and eight times the
        size of the file.

    Raises
    ------
    FileError
        When there is no such file; FileFormatError when it holds no contact problem, names the group and what is wrong.
    """
    with _opened(path, max_bytes) as file:
        form = _form(file)
        group = file.below(form)
        dim = group.integer("spacedim")
        if dim not in (2, 3):
            raise group.wrong(f"spacedim is {dim}, but must be 2 or 3")
        return (_read_global if form == GLOBAL_GROUP else _read_local)(group, dim, file)


def read_impulses(
    path: str | os.PathLike, problem: ContactProblem, *, max_bytes: float | None = None
) -> dict[str, np.ndarray]:
    """Return the impulses P [N s] that a file holds for its problem: "solution" and "guess 1", "guess 2", ...

    They are what somebody stored, zeros in many files: ask `problem.residual` what they are worth.
    """
    made, rows = {}, Rows(problem.kinds)
    with _opened(path, max_bytes) as file:
        stored = {"solution": file.below("solution")} if file.has("solution") else {}
        if file.has("guesses"):
            guesses = file.below("guesses")
            stored |= {f"guess {key}": guesses.below(key) for key in sorted(guesses.numbered(), key=int)}
        for name, group in stored.items():
            if not group.written("r"):  # many files reserve the place and never write it
                continue
            P = np.zeros(problem.n)
            r = group.vector("r", rows.contact.size)
            P[rows.contact[rows.own]] = r[rows.own]
            if rows.bilateral.size:
                P[rows.bilateral] = group.vector("l", rows.bilateral.size)
            made[name] = P
    return made


def write_fclib(
    problem: ContactProblem,
    path: str | os.PathLike,
    *,
    solution: ArrayLike | ContactResult | None = None,
    guesses: Sequence[ArrayLike | ContactResult] = (),
    title: str = "",
    description: str = "",
) -> None:
    """Write a contact problem to an FCLib file, in the form it was given in; every number is kept as it is.

    Parameters
    ----------
    problem
        Its contacts have one kind of friction, planar or spatial; bilateral and unilateral rows may stand between them.
    path
        The file; it appears as a whole or not at all.
    solution, guesses
        Impulses P [N s] or results of a solver to store with the problem.
    title, description
        What the problem is, for readers.

    Raises
    ------
    ModelError
        When the format cannot hold the problem; FileError when the file cannot be written.
    """
    rows = _storable(problem)
    stored = [_impulses(problem, rows, given) for given in ([] if solution is None else [solution])]
    tried = [_impulses(problem, rows, given) for given in guesses]
    import h5py  # here, because most programs write no problems

    buffer = io.BytesIO()
    with h5py.File(buffer, "w") as file:
        group = file.create_group(GLOBAL_GROUP if isinstance(problem.given, GlobalForm) else LOCAL_GROUP)
        group["spacedim"] = np.array([rows.dim], dtype=np.int32)
        if isinstance(problem.given, GlobalForm):
            _write_global(group, problem.given, rows)
        else:
            _write_local(group, problem.given, rows)
        group["vectors/mu"] = np.where(rows.kinds[rows.kinds != BILATERAL] == UNILATERAL, 0.0, problem.mu[rows.laws])
        for name, text in (("title", title), ("description", description), ("math_info", "")):
            # with its end: readers in C look for it
            group[f"info/{name}"] = np.bytes_(text.encode() + b"\0")
        _write_own(file, problem, rows)
        for values in stored:
            _write_all(file.create_group("solution"), values)
        if tried:
            file["guesses/number_of_guesses"] = np.array([len(tried)], dtype=np.int32)
        for k, values in enumerate(tried):
            _write_all(file.create_group(f"guesses/{k + 1}"), values)
    replace(path, (buffer.getvalue(),))


class Rows:
    """Where the rows of a problem lie in a file.

    Attributes
    ----------
    dim
        Rows of a contact in the file.
    contact, own
        Row of the problem for every contact row of the file (0 where there is none), and whether there is one.
    bilateral
        Rows of the problem that are equality constraints.
    laws
        Numbers of the blocks that are contacts.
    """

    def __init__(self, kinds: np.ndarray, dim: int | None = None):
        self.kinds = np.asarray(kinds, dtype=np.int64)
        self.dim = (
            (COULOMB_SPATIAL if np.any(self.kinds == COULOMB_SPATIAL) else COULOMB_PLANAR) if dim is None else dim
        )
        sizes = np.array(ROWS_OF)[self.kinds]
        first = np.cumsum(sizes) - sizes
        self.laws = np.flatnonzero(self.kinds != BILATERAL)
        place = np.arange(self.dim)
        self.own = (place < sizes[self.laws, None]).ravel()
        self.contact = np.where(self.own, (first[self.laws, None] + place).ravel(), 0)
        self.bilateral = first[self.kinds == BILATERAL]

    @property
    def plain(self) -> bool:
        """Whether the rows of the file are those of the problem, in their order."""
        return self.bilateral.size == 0 and bool(np.all(self.own))

    @property
    def padded(self) -> np.ndarray:
        """Row of the problem for every contact row of the file, -1 where there is none."""
        return np.where(self.own, self.contact, -1)

    @property
    def order(self) -> np.ndarray:
        """Places of the rows of the problem among those of the file, contacts first and equality constraints last."""
        made = np.empty(self.own.sum() + self.bilateral.size, dtype=np.int64)
        made[self.contact[self.own]] = np.flatnonzero(self.own)
        made[self.bilateral] = self.own.size + np.arange(self.bilateral.size)
        return made


class Stored(NamedTuple):
    """A solution as the format has it: impulses and velocities of contacts, multipliers, velocities of the system."""

    r: np.ndarray
    u: np.ndarray
    l: np.ndarray | None  # noqa: E741  the name in the file
    v: np.ndarray | None


# ---- writing


def _storable(problem: ContactProblem) -> Rows:
    """Return where the rows of a problem go, and refuse laws that the format does not have."""
    kinds, names = problem.kinds, problem.names
    planar, spatial = (np.flatnonzero(kinds == kind) for kind in (COULOMB_PLANAR, COULOMB_SPATIAL))
    if planar.size and spatial.size:
        raise ModelError(
            f"an FCLib file has one spacedim, but contact {names[planar[0]]!r} is {LAW_NAMES[COULOMB_PLANAR]} and "
            f"contact {names[spatial[0]]!r} is {LAW_NAMES[COULOMB_SPATIAL]}: give both the same number of tangential "
            "rows"
        )
    for k in np.flatnonzero(~np.isin(kinds, (BILATERAL, UNILATERAL, COULOMB_PLANAR, COULOMB_SPATIAL))):
        raise ModelError(
            f"contact {names[k]!r} is {LAW_NAMES[kinds[k]]}, a law that an FCLib file cannot hold: leave it out"
        )
    rows = Rows(kinds)
    if rows.laws.size == 0:
        raise ModelError("the problem has no contact, only bilateral rows: an FCLib file needs at least one contact")
    return rows


def _write_global(group: h5py.Group, given: GlobalForm, rows: Rows) -> None:
    M, W, f, w = given
    _write_matrix(group.create_group("M"), M)
    _write_matrix(group.create_group("H"), W if rows.plain else _picked(W, None, rows.padded))
    group["vectors/f"], group["vectors/w"] = f, np.where(rows.own, w[rows.contact], 0.0)
    if rows.bilateral.size:
        _write_matrix(group.create_group("G"), _picked(W, None, rows.bilateral))
        group["vectors/b"] = w[rows.bilateral]


def _write_local(group: h5py.Group, given: ReducedForm, rows: Rows) -> None:
    D, b = given
    _write_matrix(group.create_group("W"), D if rows.plain else _picked(D, rows.padded, rows.padded))
    group["vectors/q"] = np.where(rows.own, b[rows.contact], 0.0)
    if rows.bilateral.size:
        V = _picked(D, rows.padded, rows.bilateral)
        if (V.T != _picked(D, rows.bilateral, rows.padded)).nnz:
            raise ModelError(
                "bilateral rows and contacts are coupled unsymmetrically in D, which an FCLib file cannot hold: give "
                "the problem as ContactProblem.from_global(M, W, f)"
            )
        _write_matrix(group.create_group("V"), V)
        _write_matrix(group.create_group("R"), _picked(D, rows.bilateral, rows.bilateral))
        group["vectors/s"] = b[rows.bilateral]


def _write_own(file: h5py.File, problem: ContactProblem, rows: Rows) -> None:
    import h5py

    names = problem.names
    if not rows.plain:
        file[f"{OWN_GROUP}/kinds"] = rows.kinds.astype(np.int32)
    if names != tuple(str(k) for k in range(len(names))):
        file.create_dataset(f"{OWN_GROUP}/names", data=list(names), dtype=h5py.string_dtype())


def _write_matrix(group: h5py.Group, matrix: Any) -> None:
    """Write a matrix in the storage that it has; a dense one by its nonzeros."""
    from scipy.sparse import coo_array, csr_array, issparse

    if not issparse(matrix):
        matrix = csr_array(np.asarray(matrix, dtype=np.float64))
    if matrix.nnz >= 2**31:
        raise ModelError(f"a matrix has {matrix.nnz} entries, more than the {2**31 - 1} that an FCLib file can hold")
    if matrix.format in ("csc", "csr"):
        p, i, nz = matrix.indptr, matrix.indices, FCLIB.csc if matrix.format == "csc" else FCLIB.csr
    else:
        matrix = coo_array(matrix)
        p, i, nz = matrix.coords[1], matrix.coords[0], matrix.nnz
    m, n = matrix.shape
    for name, value in (("m", m), ("n", n), ("nz", nz), ("nzmax", len(matrix.data))):
        group[name] = np.array([value], dtype=np.int32)
    group["p"], group["i"] = p.astype(np.int32), i.astype(np.int32)
    group["x"] = matrix.data.astype(np.float64)


def _picked(matrix: Any, rows: np.ndarray | None, columns: np.ndarray) -> Any:
    """Return rows (None: all) and columns of a matrix, empty ones for the number -1."""
    from scipy.sparse import csc_array, csr_array, hstack, vstack

    made: Any = csc_array(matrix, dtype=np.float64)
    if rows is not None:
        m, n = made.shape
        made = vstack([made, csr_array((1, n))]).tocsr()[np.where(rows < 0, m, rows)]
    m, n = made.shape
    return csc_array(hstack([made, csc_array((m, 1))]).tocsc()[:, np.where(columns < 0, n, columns)])


def _impulses(problem: ContactProblem, rows: Rows, given: ArrayLike | ContactResult) -> Stored:
    P = np.asarray(given.P if isinstance(given, ContactResult) else given, dtype=np.float64)
    u, v = problem.u(P), None
    if isinstance(problem.given, GlobalForm):
        from scipy.sparse import csc_array
        from scipy.sparse.linalg import splu

        M, W, f, _ = problem.given
        v = splu(csc_array(M, dtype=np.float64)).solve(csc_array(W, dtype=np.float64) @ P + f)
    multipliers = P[rows.bilateral] if rows.bilateral.size else None
    return Stored(*(np.where(rows.own, x[rows.contact], 0.0) for x in (P, u)), multipliers, v)


def _write_all(group: h5py.Group, values: Stored) -> None:
    for name, value in values._asdict().items():
        if value is not None:
            group[name] = value


# ---- reading


@contextlib.contextmanager
def _opened(path: str | os.PathLike, max_bytes: float | None) -> Iterator[_Group]:
    """Open a file; what HDF5 says of a broken one, in whichever class, becomes a FileFormatError."""
    with open_regular(path, max_bytes) as stream:
        import h5py

        size = os.fstat(stream.fileno()).st_size
        damaged = FileFormatError(f"{path} is not an HDF5 file, or it is damaged: an FCLib problem is one")
        try:
            begin = stream.read(len(SIGNATURE))
        except OSError as error:
            raise FileError(f"{path} cannot be read: {error.strerror}") from error
        if begin != SIGNATURE:  # HDF5 would look for it in the whole file
            raise damaged
        try:
            with h5py.File(stream, "r") as file:
                yield _Group(path, file, _Room(room_for(size, max_bytes), max_bytes))
        except SaltusError:
            raise
        except (OSError, RuntimeError, LookupError, ValueError, TypeError, AttributeError, MemoryError) as error:
            raise damaged from error


def _form(file: _Group) -> str:
    found = [form for form in (LOCAL_GROUP, GLOBAL_GROUP) if file.has(form)]
    if len(found) != 1:
        held = ", ".join(repr(name) for name in itertools.islice(file.group, FCLIB.most_shown)) or "nothing"
        raise FileFormatError(
            f"{file.path} must have one of the groups {LOCAL_GROUP!r} and {GLOBAL_GROUP!r}, but holds {held}: it is "
            "no contact problem of FCLib"
        )
    return found[0]


class _Room:
    """How many bytes may still be made from a file, and what the caller has allowed."""

    def __init__(self, left: int, max_bytes: float | None):
        self.left, self.max_bytes = left, max_bytes


class _Group:
    """A group of a file, whose members are checked before they are read."""

    def __init__(self, path, group: Any, room: _Room):
        self.path, self.group, self.room = path, group, room

    def wrong(self, what: str) -> FileFormatError:
        return FileFormatError(f"{self.path}, group {self.group.name!r}: {what}; {REMEDY}")

    def has(self, name: str) -> bool:
        """Whether there is a member of that name; nothing is followed to find out."""
        return self.group.get(name, getlink=True) is not None

    def numbered(self) -> list[str]:
        """Return the names of the members that are numbers."""
        return [name for name in self.group if name.isascii() and name.isdecimal() and len(name) < FCLIB.longest_number]

    def below(self, name: str) -> _Group:
        import h5py

        found = self._member(name)
        if not isinstance(found, h5py.Group):
            raise self.wrong(f"the group {name!r} is missing")
        return _Group(self.path, found, self.room)

    def written(self, name: str) -> bool:
        """Whether a dataset has been written, not only announced."""
        import h5py

        found = self._member(name)
        return isinstance(found, h5py.Dataset) and bool(found.id.get_storage_size())

    def _member(self, name: str) -> Any:
        """Return a member that lies in this file, or None; links are not followed."""
        import h5py

        link = self.group.get(name, getlink=True)
        if link is None:
            return None
        if not isinstance(link, h5py.HardLink):
            raise self.wrong(f"{name!r} is a link to somewhere else, which is not followed")
        return self.group[name]

    def numbers(self, name: str, kind: str, least: int = 0) -> np.ndarray:
        """Return a dataset of integers (kind "iu") or of numbers ("iuf") as a vector."""
        import h5py

        found = self._member(name)
        if not isinstance(found, h5py.Dataset):
            raise self.wrong(f"the dataset {name!r} is missing")
        self._check_storage(name, found)
        if found.dtype.kind not in kind or found.dtype.itemsize > BOUNDS.width:
            raise self.wrong(f"{name!r} holds {found.dtype}, but must hold {'numbers' if 'f' in kind else 'integers'}")
        if found.size is None or found.size < least or (found.size and not found.id.get_storage_size()):
            raise self.wrong(f"{name!r} was never written, but must hold {max(least, found.size or 0)} numbers")
        self.room.left -= BOUNDS.width * found.size
        if self.room.left < 0:
            raise self.wrong(
                f"{name!r} claims {found.size} numbers, more than such a file should hold (see max_bytes=)"
            )
        try:
            return np.ravel(found[()])
        except (OSError, RuntimeError, ValueError) as error:
            raise self.wrong(f"{name!r} cannot be read ({error}): the file is damaged") from error

    def _check_storage(self, name: str, found: Any) -> None:
        """Refuse numbers that lie outside of the file, or are packed in ways that need more than this library."""
        import h5py

        made = found.id.get_create_plist()
        if made.get_layout() not in (h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS, h5py.h5d.CHUNKED):
            raise self.wrong(f"{name!r} is put together from other datasets, which are not read")
        if made.get_layout() == h5py.h5d.CONTIGUOUS and made.get_external_count():
            raise self.wrong(f"{name!r} is stored outside of the file, which is not read")
        filters = {made.get_filter(k)[0] for k in range(made.get_nfilters())}
        known = {h5py.h5z.FILTER_DEFLATE, h5py.h5z.FILTER_SHUFFLE, h5py.h5z.FILTER_FLETCHER32}
        if filters - known:
            raise self.wrong(f"{name!r} is packed by filter {min(filters - known)}, which is not unpacked")
        if made.get_layout() == h5py.h5d.CHUNKED and BOUNDS.width * math.prod(made.get_chunk()) > self.room.left:
            raise self.wrong(f"{name!r} comes in chunks of {made.get_chunk()}, larger than such a file should hold")

    def integer(self, name: str) -> int:
        made = int(self.numbers(name, "iu", 1)[0])
        if made > LARGEST:
            raise self.wrong(f"{name} is {made}, more than {LARGEST}")
        return made

    def vector(self, name: str, size: int) -> np.ndarray:
        found = self.numbers(name, "iuf").astype(np.float64)
        if found.size != size:
            raise self.wrong(f"{name!r} has {found.size} entries, but must have {size}")
        if not np.all(np.isfinite(found)):
            i = int(np.flatnonzero(~np.isfinite(found))[0])
            raise self.wrong(f"{name}[{i}] = {found[i]} is not a finite number")
        return found

    def matrix(self, name: str, rows: int | None = None, columns: int | None = None) -> Any:
        """Return a sparse matrix in the storage of the file."""
        from scipy.sparse import coo_array, csc_array, csr_array

        group = self.below(name)
        m, n, nz = (group.integer(key) for key in ("m", "n", "nz"))
        if min(m, n) < 0 or rows not in (None, m) or columns not in (None, n):
            wanted = f"{'m' if rows is None else rows} x {'n' if columns is None else columns}"
            raise group.wrong(f"the matrix is {m} x {n}, but must be {wanted}")
        if nz < FCLIB.csr:
            raise group.wrong(f"nz is {nz}, but must be -1 (columns), -2 (rows) or the number of triplets")
        p, i = (group.numbers(key, "iu").astype(np.int64) for key in ("p", "i"))
        x = group.numbers("x", "iuf").astype(np.float64)
        if nz >= 0:
            group.check_sizes(nz, p=p, i=i, x=x)
            p, i, x = p[:nz], i[:nz], x[:nz]
            group.check_indices("i", i, m)
            group.check_indices("p", p, n)
        else:
            group.check_sizes((n if nz == FCLIB.csc else m) + 1, p=p)
            if p[0] != 0 or np.any(np.diff(p) < 0):
                raise group.wrong("'p' must start with 0 and never decrease")
            group.check_sizes(int(p[-1]), i=i, x=x)
            i, x = i[: p[-1]], x[: p[-1]]
            group.check_indices("i", i, m if nz == FCLIB.csc else n)
        if not np.all(np.isfinite(x)):
            k = int(np.flatnonzero(~np.isfinite(x))[0])
            raise group.wrong(f"x[{k}] = {x[k]} is not a finite number")
        p, i = p.astype(np.int32), i.astype(np.int32)
        if nz >= 0:
            return coo_array((x, (i, p)), shape=(m, n))
        made = (csc_array if nz == FCLIB.csc else csr_array)(
            (x, i, p[: (n if nz == FCLIB.csc else m) + 1]), shape=(m, n)
        )
        made.sum_duplicates()
        return made

    def check_sizes(self, least: int, **arrays: np.ndarray) -> None:
        for name, array in arrays.items():
            if array.size < least:
                raise self.wrong(f"{name!r} has {array.size} entries, but must have {least}")

    def check_indices(self, name: str, values: np.ndarray, end: int) -> None:
        bad = np.flatnonzero((values < 0) | (values >= end))
        if bad.size:
            raise self.wrong(f"{name}[{bad[0]}] = {values[bad[0]]} is no place between 0 and {end - 1}")


def _read_global(group: _Group, dim: int, file: _Group) -> ContactProblem:
    vectors = group.below("vectors")
    H = group.matrix("H")
    nv, n = (int(size) for size in H.shape)
    M = group.matrix("M", nv, nv)
    p = group.below("G").integer("n") if group.has("G") else 0
    G = group.matrix("G", nv) if p else None
    f, w = vectors.vector("f", nv), vectors.vector("w", n)
    b = vectors.vector("b", p) if p else np.zeros(0)
    laws = _laws(group, vectors, dim, n, p, file)
    if G is None and laws.rows.plain:
        return _built(group, lambda: ContactProblem.from_global(M, H, f, w, **laws.given))
    from scipy.sparse import hstack

    W = (H if G is None else hstack([H, G])).tocsc()[:, laws.rows.order]
    w = np.concatenate([w, b])[laws.rows.order]
    return _built(group, lambda: ContactProblem.from_global(M, W, f, w, **laws.given))


def _read_local(group: _Group, dim: int, file: _Group) -> ContactProblem:
    vectors = group.below("vectors")
    W = group.matrix("W")
    n = int(W.shape[0])
    W = W if W.shape[1] == n else group.matrix("W", n, n)  # raises
    p = group.below("R").integer("n") if group.has("R") else 0
    q = vectors.vector("q", n)
    s = vectors.vector("s", p) if p else np.zeros(0)
    laws = _laws(group, vectors, dim, n, p, file)
    if p == 0 and laws.rows.plain:
        return _built(group, lambda: ContactProblem(W, q, **laws.given))
    from scipy.sparse import block_array

    if p:
        V, R = group.matrix("V", n, p), group.matrix("R", p, p)
        W, q = block_array([[W, V], [V.T, R]]), np.concatenate([q, s])
    order = laws.rows.order
    D = W.tocsr()[order].tocsc()[:, order]
    return _built(group, lambda: ContactProblem(D, q[order], **laws.given))


class _Laws(NamedTuple):
    rows: Rows
    given: dict[str, Any]


def _laws(group: _Group, vectors: _Group, dim: int, n: int, p: int, file: _Group) -> _Laws:
    """Return where the rows go and what a ContactProblem is told about them."""
    if n % dim:
        raise group.wrong(f"{n} rows do not make contacts of spacedim = {dim} rows")
    nc = n // dim
    mu_contact = vectors.vector("mu", nc)
    if np.any(mu_contact < 0.0):
        k = int(np.argmin(mu_contact))
        raise vectors.wrong(f"mu[{k}] = {mu_contact[k]} is negative")
    kinds, names = np.array([dim] * nc + [BILATERAL] * p, dtype=np.int64), None
    if file.has(OWN_GROUP):
        own = file.below(OWN_GROUP)
        if own.has("kinds"):
            kinds = own.numbers("kinds", "iu").astype(np.int64)
            law = kinds[kinds != BILATERAL]
            frictionless = law == UNILATERAL
            fits = law.size == nc and kinds.size == nc + p and np.all(frictionless | (law == dim))
            if not fits or np.any(mu_contact[frictionless] != 0.0):
                raise own.wrong(
                    f"'kinds' does not fit {nc} contacts with spacedim = {dim} and {p} equality constraints"
                )
        if own.has("names"):
            names = _names(own)
            if len(names) != kinds.size:
                raise own.wrong(f"there are {len(names)} names for {kinds.size} contacts and constraints")
    mu = np.zeros(kinds.size)
    mu[kinds != BILATERAL] = mu_contact
    return _Laws(Rows(kinds, dim), {"mu": mu, "kinds": kinds.tolist(), "names": names})


def _names(own: _Group) -> list[str]:
    """Return the names of contacts and constraints, which only `write_fclib` writes: no library is needed for them."""
    try:
        image = Image(regular_bytes(own.path, own.room.max_bytes))
        return [name.decode("utf-8") for name in image.texts(f"{OWN_GROUP}/names", own.room.left)]
    except ValueError as error:
        raise own.wrong(f"'names' cannot be read ({error})") from error


def _built(group: _Group, build) -> ContactProblem:
    try:
        return build()
    except ModelError as error:
        raise group.wrong(str(error)) from error
