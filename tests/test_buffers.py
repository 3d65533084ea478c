"""Steps write only into the buffers that their plan has reserved: compiled code does not look where it writes."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import numpy as np
import pytest

import saltus as sl
from saltus import problems
from saltus.run import Run

GUARD, FLOAT, INTEGER = 4096, 7.77e77, 777_777_777  # numbers behind and before a buffer, and what stands there


class Guarded(NamedTuple):
    """A buffer between two guards."""

    name: str
    whole: np.ndarray

    @property
    def untouched(self) -> bool:
        mark = INTEGER if self.whole.dtype.kind == "i" else FLOAT
        return bool(np.all(self.whole[:GUARD] == mark) and np.all(self.whole[-GUARD:] == mark))


@pytest.fixture
def guarded(monkeypatch) -> list[Guarded]:
    """Put guards around all that a step of a run writes to; return the buffers of the last run."""
    buffers: list[Guarded] = []
    begin = Run.__init__

    def surrounded(name: str, buffer: np.ndarray) -> np.ndarray:
        whole = np.full(len(buffer) + 2 * GUARD, INTEGER if buffer.dtype.kind == "i" else FLOAT, buffer.dtype)
        whole[GUARD:-GUARD] = buffer
        buffers.append(Guarded(name, whole))
        return whole[GUARD:-GUARD]

    def begin_guarded(run, *arguments, **options):
        begin(run, *arguments, **options)
        buffers.clear()
        for name in ("record", "state", "state_new"):
            parts = getattr(run, name)
            made = [surrounded(f"{name}.{field}", part) for field, part in zip(parts._fields, parts, strict=True)]
            setattr(run, name, type(parts)(*made))
        for name in ("work", "iwork", "sums"):
            setattr(run, name, surrounded(name, getattr(run, name)))

    monkeypatch.setattr(Run, "__init__", begin_guarded)
    return buffers


@pytest.mark.parametrize("family", [sl.TDGMinus, sl.TDGPlus], ids=["D-", "D+"])
@pytest.mark.parametrize("activation", ["interval", "stage"])
@pytest.mark.parametrize("problem", [problems.incline_3d, problems.double_pendulum_wall, problems.four_bar])
def test_intervals_that_are_made_of_pieces_stay_in_their_buffers(guarded, family, activation, problem):
    case = problem()
    for degree in range(4):
        with contextlib.suppress(sl.RunError):  # steps as long as these may fail, but not write elsewhere
            sl.solve(case, scheme=family(degree, activation=activation), h=case.t_span[1] / 100)
        assert guarded
        assert [buffer.name for buffer in guarded if not buffer.untouched] == []
