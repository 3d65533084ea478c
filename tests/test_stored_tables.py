"""Stored Galerkin tables are those that are worked out, and every reader gets them."""

from __future__ import annotations

import importlib
import pathlib

import numpy as np
import pytest

from saltus.flight.scan import SCAN
from saltus.schemes.hp_tdg.numbers import degree_numbers
from saltus.tables import stored
from saltus.tables.tableau import node_places, packed, tableau

ROOT = pathlib.Path(__file__).parent.parent


@pytest.fixture(scope="module")
def anew():
    """All tables, worked out on this machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "bench"))
        script = importlib.import_module("galerkin_table")
    return script, script.worked_out()


def test_the_file_fits_what_asks_for_it():
    store = stored.stored()
    assert set(store.degrees) == set(range(1, stored.TOP + stored.RAISED + 1))
    assert stored.SAMPLES == SCAN.samples


def test_stored_tables_are_those_that_are_worked_out(anew):
    script, made = anew
    assert script.difference(stored.stored(), made) < 1e-12  # another LAPACK, and inverses of matrices of size 17


def test_tableaus_of_lobatto_nodes_are_the_stored_ones_part_by_part(anew):
    _, made = anew
    for degree, arrays in made.degrees.items():
        minus = tableau(degree, "-", "lobatto")
        assert packed(minus) is stored.stored().degrees[degree].minus
        np.testing.assert_array_equal(node_places(degree, "lobatto"), minus.c)
        n = degree + 1
        assert (minus.degree, minus.stages, minus.implicit) == (degree, n, (1, degree))
        np.testing.assert_allclose(minus.b, minus.Aq[-1], rtol=0.0, atol=0.0)
        np.testing.assert_allclose(minus.Av @ np.ones(n), minus.c, rtol=0.0, atol=2e-15)
        if degree <= stored.TOP:
            plus = tableau(degree, "+", "lobatto", stiff=True)
            assert packed(plus) is stored.stored().degrees[degree].plus
            np.testing.assert_array_equal(plus.Aq, plus.Av)
            assert plus.P[-1] == 1.0
        assert len(arrays.minus) == len(packed(minus))


@pytest.mark.parametrize("top", [1, 5, 14, 16])
def test_a_lower_top_degree_takes_a_part_of_what_is_stored(top, monkeypatch):
    read, kappa, stiff_kappa = degree_numbers.__wrapped__("lobatto", top)
    monkeypatch.setattr(stored, "stored", lambda: stored.EMPTY)
    tableau.cache_clear()
    try:
        made, expected, stiff = degree_numbers.__wrapped__("lobatto", top)
    finally:
        tableau.cache_clear()
    assert [[len(array) for array in one] for one in read] == [[len(array) for array in one] for one in made]
    np.testing.assert_allclose(kappa, expected, rtol=1e-12)
    np.testing.assert_allclose(stiff_kappa, stiff, rtol=1e-12)


@pytest.mark.parametrize("damage", ["absent", "empty", "short", "other"])
def test_without_the_file_tables_are_worked_out(damage, tmp_path, monkeypatch):
    path, numbers = tmp_path / "galerkin.npy", np.load(stored.PATH)
    if damage == "empty":
        path.write_bytes(b"")
    elif damage != "absent":
        np.save(path, numbers[:-1] if damage == "short" else numbers + 1.0)
    monkeypatch.setattr(stored, "PATH", path)
    assert stored.stored.__wrapped__() is stored.EMPTY
