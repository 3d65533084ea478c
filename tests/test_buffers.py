"""Steps write only into their own fields: compiled code does not look where it writes, so guards stand between them."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest

import saltus as sl
from saltus import problems
from saltus.compile.workspace import Room, RoomPlan, Workspace
from saltus.schemes.traits import traits_of
from test_every_scheme import EVERY

GUARD, FLOAT, INTEGER = 64, 7.77e77, 777_777_777  # numbers behind every field, and what stands there


def arrays(record) -> list[np.ndarray]:
    """Return all arrays of a record, of the records and rooms inside of it too."""
    if isinstance(record, Room):
        return arrays(record.record)
    if isinstance(record, np.ndarray):
        return [record]
    return [one for part in record for one in arrays(part)]


def outside(room: Room) -> tuple[np.ndarray, np.ndarray]:
    """Return which floats and which integers of a room belong to no field."""
    masks = np.ones(room.floats.size, dtype=bool), np.ones(room.integers.size, dtype=bool)
    for array in arrays(room):
        block, mask = (room.floats, masks[0]) if array.dtype.kind == "f" else (room.integers, masks[1])
        begin = (array.ctypes.data - block.ctypes.data) // block.itemsize
        mask[begin : begin + array.size] = False
    return masks


@pytest.fixture
def rooms(monkeypatch) -> list[Room]:
    """Put guards between all fields of all workspaces; return the rooms that were made."""
    lay, made = RoomPlan._lay_field, []

    def lay_apart(plan, field, sizes):
        place = lay(plan, field, sizes)
        plan.floats += GUARD
        plan.integers += GUARD
        return place

    def allocate(plan):
        room = Room(plan, np.full(plan.floats, FLOAT), np.full(plan.integers, INTEGER))
        clear(room)
        made.append(room)
        return room

    def clear(room):
        for array in arrays(room):
            array[:] = 0

    monkeypatch.setattr(RoomPlan, "_lay_field", lay_apart)
    monkeypatch.setattr(Workspace, "plan", lambda workspace, sizes: RoomPlan(workspace, sizes))  # none of before
    monkeypatch.setattr(RoomPlan, "allocate", allocate)
    monkeypatch.setattr(Room, "clear", clear)
    monkeypatch.setattr("saltus.run.run._PLANS", {})
    return made


def trespassed(rooms: list[Room]) -> list[str]:
    """Return the workspaces in which something was written between the fields."""
    found = []
    for room in rooms:
        floats, integers = outside(room)
        assert floats.sum() + integers.sum() >= GUARD  # there is something to look at
        # marks are copied with the memory of a state, nothing else may stand there
        if np.any(room.floats[floats] != FLOAT) or np.any(room.integers[integers] != INTEGER):
            found.append(room.plan.workspace.name)
    return found


@pytest.mark.parametrize("scheme", EVERY, ids=lambda scheme: scheme.name)
def test_every_scheme_writes_into_its_fields_alone(rooms, scheme):
    for problem in (problems.zeno_ball(), problems.incline_3d(), problems.clattering_rod(), problems.slider_crank()):
        begin, end = problem.t_span
        how = {"max_steps": 60} if traits_of(scheme).adaptive else {"h": 0.2 * (end - begin) / 40}
        with contextlib.suppress(sl.RunError, sl.SettingError):  # refused or stopped, but written nowhere else
            sl.solve(problem, (begin, begin + 0.2 * (end - begin)), scheme=scheme, **how)
    assert len(rooms) >= 4
    assert trespassed(rooms) == []


@pytest.mark.parametrize("family", [sl.TDGMinus, sl.TDGPlus], ids=["D-", "D+"])
@pytest.mark.parametrize("activation", ["interval", "stage"])
@pytest.mark.parametrize("problem", [problems.incline_3d, problems.double_pendulum_wall, problems.four_bar])
def test_intervals_that_are_made_of_pieces_stay_in_their_tables(rooms, family, activation, problem):
    case = problem()
    for degree in range(4):
        with contextlib.suppress(sl.RunError):  # steps as long as these may fail, but not write elsewhere
            sl.solve(case, scheme=family(degree, activation=activation), h=case.t_span[1] / 100)
    assert rooms
    assert trespassed(rooms) == []
