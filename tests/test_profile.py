"""Profile matrices against numpy: any sparsity, symmetric and unsymmetric values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saltus.compile.seam import exposed
from saltus.memory import layout as lay
from saltus.memory.profile import Profile, factor, multiply, quadratic, solve, solve_row
from saltus.status import Status

ROUNDING = 1e-11  # the matrices below have condition numbers up to 1e3


def compiled(kernel):
    """Return a kernel as Python can call it."""
    return exposed(kernel)


def structured_pattern(rng: np.random.Generator, nv: int, structure: str) -> np.ndarray:
    """Return a symmetric pattern with a full diagonal, its degrees of freedom in random order."""
    i, j = np.indices((nv, nv))
    if structure == "dense":
        pattern = np.ones((nv, nv), dtype=bool)
    elif structure == "diagonal":
        pattern = i == j
    elif structure == "banded":
        pattern = abs(i - j) <= rng.integers(0, 4)
    elif structure == "blocks":
        block = np.sort(rng.integers(0, max(1, nv // 3) + 1, nv))
        pattern = block[i] == block[j]
    else:
        pattern = rng.random((nv, nv)) < 2.0 / nv
    pattern = pattern | pattern.T | (i == j)
    shuffle = rng.permutation(nv)
    return pattern[np.ix_(shuffle, shuffle)]


@st.composite
def matrices(draw, symmetric: bool):
    """A matrix that LU without pivoting may factor: positive definite, or diagonally dominant."""
    nv = draw(st.integers(1, 30))
    structure = draw(st.sampled_from(["dense", "diagonal", "banded", "blocks", "random"]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    pattern = structured_pattern(rng, nv, structure)
    values = np.where(pattern, rng.uniform(-1.0, 1.0, (nv, nv)), 0.0)
    if symmetric:
        values = values + values.T
    np.fill_diagonal(values, 0.0)
    dominance = np.maximum(abs(values).sum(axis=0), abs(values).sum(axis=1))
    np.fill_diagonal(values, dominance + rng.uniform(0.01, 2.0, nv))
    return values, pattern, rng


def layout_of(profile: Profile, W: np.ndarray | None = None) -> np.ndarray:
    """Return the layout of a profile, with the rows of W and every position that they can reach."""
    nv = profile.nv
    W = np.zeros((0, nv)) if W is None else W
    position = profile.position()
    w_ptr, w_col, x_ptr, x_pos = [0], [], [0], []
    for row in W:
        columns = np.flatnonzero(row)
        w_col += list(columns)
        w_ptr.append(len(w_col))
        touched = np.unique(profile.component[position[columns]])
        x_pos += list(np.flatnonzero(np.isin(profile.component, touched)))
        x_ptr.append(len(x_pos))
    numbers = {"nv": nv, "nr": len(W), "profile_size": profile.size, "nw": len(w_col), "nx": len(x_pos)}
    tables = {
        "perm": profile.perm, "first": profile.first, "start": profile.start, "W_ptr": w_ptr,
        "W_col": w_col, "X_ptr": x_ptr, "X_col": profile.perm[x_pos] if x_pos else [], "X_pos": x_pos,
    }  # fmt: skip
    return lay.pack(numbers, tables)


@settings(deadline=None, max_examples=100)
@given(matrices(symmetric=False))
def test_unpack_returns_what_pack_stored(made):
    values, pattern, _ = made
    profile = Profile.of(pattern)
    np.testing.assert_array_equal(profile.unpack(profile.pack(values)), values)
    assert len(profile.pack(values)) == profile.size
    np.testing.assert_array_equal(np.sort(profile.perm), np.arange(profile.nv))


@settings(deadline=None, max_examples=100)
@given(matrices(symmetric=False))
def test_offset_tells_where_an_entry_is_stored(made):
    values, pattern, _ = made
    profile = Profile.of(pattern)
    packed = profile.pack(values)
    for i, j in zip(*np.nonzero(pattern), strict=True):
        assert packed[profile.offset(i, j)] == values[i, j]


def test_offset_refuses_an_entry_outside_of_the_profile():
    profile = Profile.of(np.eye(3, dtype=bool))
    with pytest.raises(KeyError):
        profile.offset(0, 2)


@settings(deadline=None, max_examples=100)
@given(matrices(symmetric=False))
def test_components_are_contiguous_and_uncoupled(made):
    values, pattern, _ = made
    profile = Profile.of(pattern)
    changes = np.count_nonzero(np.diff(profile.component))
    assert changes + 1 == len(np.unique(profile.component))
    component = profile.component[profile.position()]
    assert np.all(values[component[:, None] != component] == 0.0)


@pytest.mark.parametrize("symmetric", [True, False])
def test_factor_and_solve_equal_numpy(symmetric):
    @settings(deadline=None, max_examples=150)
    @given(matrices(symmetric=symmetric))
    def check(made):
        values, pattern, rng = made
        profile = Profile.of(pattern)
        layout, lu = layout_of(profile), profile.pack(values)
        assert compiled(factor)(layout, lu) == 0
        b, x, work = rng.standard_normal(profile.nv), np.empty(profile.nv), np.empty(profile.nv)
        compiled(solve)(layout, lu, b, x, work)
        np.testing.assert_allclose(x, np.linalg.solve(values, b), rtol=0.0, atol=ROUNDING * np.abs(x).max())
        inplace = b.copy()
        compiled(solve)(layout, lu, inplace, inplace, work)
        np.testing.assert_array_equal(inplace, x)

    check()


@settings(deadline=None, max_examples=100)
@given(matrices(symmetric=True))
def test_a_positive_definite_matrix_that_is_not_dominant_is_factored(made):
    values, pattern, rng = made
    # a congruence with a positive diagonal keeps definiteness and pattern and destroys dominance
    scale = np.exp(rng.uniform(-3.0, 3.0, len(values)))
    values = scale[:, None] * values * scale
    profile = Profile.of(pattern)
    layout, lu = layout_of(profile), profile.pack(values)
    assert compiled(factor)(layout, lu) == 0
    b, x = rng.standard_normal(profile.nv), np.empty(profile.nv)
    compiled(solve)(layout, lu, b, x, np.empty(profile.nv))
    # the error of a solution scaled by the congruence, which the condition number does not spoil
    np.testing.assert_allclose((values @ x - b) / scale, 0.0, atol=ROUNDING * np.abs(b / scale).max())


@settings(deadline=None, max_examples=100)
@given(matrices(symmetric=False))
def test_multiply_adds_the_product(made):
    values, pattern, rng = made
    profile = Profile.of(pattern)
    x, y = rng.standard_normal(profile.nv), rng.standard_normal(profile.nv)
    expected = y + values @ x
    compiled(multiply)(layout_of(profile), profile.pack(values), x, y)
    np.testing.assert_allclose(y, expected, rtol=0.0, atol=ROUNDING * (1.0 + np.abs(expected).max()))


@settings(deadline=None, max_examples=100)
@given(matrices(symmetric=False))
def test_quadratic_is_the_form_of_the_matrix(made):
    values, pattern, rng = made
    profile = Profile.of(pattern)
    x = rng.standard_normal(profile.nv)
    value = compiled(quadratic)(layout_of(profile), profile.pack(values), x)
    assert value == pytest.approx(x @ values @ x, rel=ROUNDING, abs=ROUNDING)


@settings(deadline=None, max_examples=150)
@given(matrices(symmetric=False), st.integers(1, 4))
def test_solve_row_gives_a_row_of_the_inverse_times_W_on_the_components_it_touches(made, nr):
    values, pattern, rng = made
    profile = Profile.of(pattern)
    nv = profile.nv
    W = np.where(rng.random((nr, nv)) < 2.0 / nv, rng.standard_normal((nr, nv)), 0.0)
    W[np.arange(nr), rng.integers(0, nv, nr)] = 1.0
    layout, lu = layout_of(profile, W), profile.pack(values)
    assert compiled(factor)(layout, lu) == 0
    X, work = np.full(layout.nx, np.nan), np.full(nv, np.nan)
    sparse_W = W[W != 0.0]
    for row in range(nr):
        compiled(solve_row)(layout, lu, sparse_W, row, X, work)
    expected = np.linalg.solve(values, W.T).T
    for row in range(nr):
        begin, end = layout[layout.X_ptr + row], layout[layout.X_ptr + row + 1]
        found = np.zeros(nv)
        found[layout[layout.X_col + begin : layout.X_col + end]] = X[begin:end]
        size = np.abs(expected[row]).max()
        np.testing.assert_allclose(found, expected[row], rtol=0.0, atol=ROUNDING * size)


@settings(deadline=None, max_examples=100)
@given(matrices(symmetric=True), st.floats(0.01, 1.0))
def test_a_matrix_with_a_negative_eigenvalue_is_reported_as_indefinite(made, below):
    values, pattern, _ = made
    shifted = values - (np.linalg.eigvalsh(values)[0] + below) * np.eye(len(values))
    profile = Profile.of(pattern)
    assert compiled(factor)(layout_of(profile), profile.pack(shifted)) == Status.MASS_INDEFINITE


@pytest.mark.parametrize(
    "bad", [[[0.0]], [[np.nan]], [[1.0, 1.0], [1.0, 1.0]], [[1.0, np.nan], [np.nan, 1.0]], [[np.inf]]]
)
def test_singular_and_nan_matrices_are_reported_as_indefinite(bad):
    values = np.array(bad)
    profile = Profile.of(np.ones_like(values, dtype=bool))
    assert compiled(factor)(layout_of(profile), profile.pack(values)) == Status.MASS_INDEFINITE


def test_a_long_chain_is_stored_as_a_band():
    nv, rng = 500, np.random.default_rng(1)
    i, j = np.indices((nv, nv))
    shuffle = rng.permutation(nv)
    pattern = (abs(i - j) <= 1)[np.ix_(shuffle, shuffle)]
    assert Profile.of(pattern).size <= nv + 2 * nv  # renumbering finds the chain: one neighbour per row
