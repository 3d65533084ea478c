"""The books of a step: violation, header and dense block, as plain Python."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import saltus as sl
from saltus.build.model import compile_model
from saltus.compile.seam import interpreted
from saltus.compile.types import RECORDS
from saltus.reaction import books, dense_block

CIRCLE = sl.Joint(lambda q: q[0] ** 2 + q[1] ** 2 - 1.0, name="circle")
FLOORS = [sl.Contact(lambda q: q[1], name="floor"), sl.Contact(lambda q: q[0] + 2.0, name="wall")]
SYSTEM = sl.System(np.ones(2), np.zeros(2), contacts=FLOORS, joints=[CIRCLE])


@pytest.fixture(scope="module")
def model():
    return compile_model(SYSTEM, 0.0, np.array([1.0, 0.0]), np.zeros(2)).interpreted()


def new_record(model, dense: int):
    sizes = {"nv": 2, "nr": 3, "nc": 2, "events": 14, "dense": dense, "inside": 8}
    record = RECORDS.plan(sizes).allocate().record
    record.header[:], record.dissipation[:] = 7.0, 7.0
    return record


@pytest.mark.parametrize(
    "g, expected",
    [([0.1, 0.2, 0.0], 0.0), ([0.1, -0.2, 0.1], 0.2), ([0.1, -0.2, -0.3], 0.3), ([-0.1, 5.0, 0.0], 0.1)],
)
def test_the_violation_is_the_deepest_penetration_or_the_largest_error_of_a_joint(model, g, expected):
    assert interpreted(books.violation_of)(model, np.array(g)) == expected


@pytest.mark.parametrize("place", range(3))
def test_a_gap_that_is_not_a_number_is_a_violation(model, place):
    g = np.array([0.1, 0.1, 0.0])
    g[place] = math.nan
    assert not interpreted(books.violation_of)(model, g) < 1e300  # which is what the march asks for


def test_books_are_opened_empty_whatever_stood_there(model):
    record = new_record(model, 0)
    interpreted(books.open_books)(model, 0.25, 3.0, record)
    header = record.header
    assert (header.h_used, header.degree, header.reacted) == (0.25, 3.0, 1.0)  # a joint reacts in every step
    for name in ("error", "residual", "dense_used", "events_used", "violation", "force_work", "drive_work"):
        assert getattr(header, name) == 0.0
    assert not np.any(record.dissipation)


def test_a_dense_block_has_the_size_that_is_planned_for_it_and_reads_back_as_it_was_written(model):
    rng, n, pieces = np.random.default_rng(5), 3, 2
    size = dense_block.block_size(model.layout, pieces, n)
    record = new_record(model, size)
    r_0, r_1 = rng.normal(size=3), rng.normal(size=3)
    at, written = interpreted(dense_block.open_block)(model, r_0, record.dense), []
    for k in range(pieces):
        piece = SimpleNamespace(
            q=rng.normal(size=2), v=rng.normal(size=2), a=rng.normal(size=2 * n), r=rng.normal(size=3 * n)
        )
        written.append(piece)
        at = interpreted(dense_block.put_piece)(
            model, 0.5 * k, 0.5 * k + 0.5, piece.q, piece.v, n, piece.a, piece.r, piece.v, at, record.dense
        )
    interpreted(dense_block.close_block)(model, 4.0, pieces, n, at, r_1, record)
    assert record.header.dense_used == size
    np.testing.assert_array_equal(record.dense[: dense_block.DENSE_HEADER], [pieces, n, 2, 2, 3, 0.0, 4.0])
    np.testing.assert_array_equal(record.dense[dense_block.DENSE_HEADER : dense_block.DENSE_HEADER + 3], r_0)
    np.testing.assert_array_equal(record.dense[size - 3 :], r_1)
    body = record.dense[dense_block.DENSE_HEADER + 3 : size - 3].reshape(pieces, -1)
    for k, piece in enumerate(written):
        expected = [0.5 * k, 0.5 * k + 0.5, *piece.q, *piece.v, *piece.a, *piece.r]
        np.testing.assert_array_equal(body[k], expected)
