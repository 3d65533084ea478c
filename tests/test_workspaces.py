"""Memory of kernels: fields with names, exact sizes, and runs of every scheme in which each access is checked."""

from __future__ import annotations

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from extras import needs_jit
from saltus.compile.kinds import ROOM
from saltus.compile.seam import head, room_at, row_of, tail, unit
from saltus.compile.types import A, F, I
from saltus.compile.workspace import Numbers, Workspace, any_of, integers, room, rooms
from test_every_scheme import EVERY

SETTINGS = Numbers("theta gamma")
GUEST = Workspace("Guest", x="3")
INNER = Workspace("Inner", z="nr", k=integers("2 * nr"), known=Numbers("h valid"))
WORK = Workspace(
    "Work", any_of(early="nv", late="nq"), M="nv * nv", inner=INNER, guest=room("guest"), columns=rooms("guest", "nr")
)
SIZES = {"nv": 3, "nq": 4, "nr": 2, "guest": GUEST.plan({})}


# ---- where things lie


def test_fields_have_the_sizes_that_they_declare():
    work = WORK.plan(SIZES).allocate().record
    assert [work.M.size, work.inner.z.size, work.inner.k.size, work.inner.known.size] == [9, 2, 4, 2]
    assert work.inner.k.dtype == np.int64
    assert len(work.columns) == 2 and work.columns[1].record.x.size == 3


def test_no_two_fields_share_a_number_unless_they_are_alternatives():
    work = WORK.plan(SIZES).allocate()
    record = work.record
    fields = [record.M, record.inner.z, record.inner.known, record.guest.record.x, record.early]
    fields += [one.record.x for one in record.columns]
    for k, field in enumerate(fields):
        field[:] = k + 1.0
    for k, field in enumerate(fields):
        np.testing.assert_array_equal(field, k + 1.0)
    np.testing.assert_array_equal(record.late[:3], record.early)  # alternatives lie in the same place
    assert work.floats.size == 9 + 2 + 2 + 3 + 2 * 3 + 4


def test_a_room_forgets_everything_when_it_is_cleared():
    work = WORK.plan(SIZES).allocate()
    work.record.M[4], work.record.inner.k[3] = 2.0, 7
    work.clear()
    assert not work.floats.any() and not work.integers.any()


@pytest.mark.parametrize(
    ("text", "value"), [("nv", 3), ("2 * nv + nr", 8), ("max(nq, nr) - 1", 3), ("(nr + 1) * nq", 12)]
)
def test_sizes_are_sums_and_products_of_names(text, value):
    assert Workspace("One", x=text).plan(SIZES).floats == value


@pytest.mark.parametrize("text", ["nv / 2", "__import__('os')", "nv if nr else nq"])
def test_sizes_are_nothing_else(text):
    with pytest.raises(ValueError, match="is no size"):
        Workspace("One", x=text).plan(SIZES)


@pytest.mark.parametrize("names", ["theta theta", "size gamma"])
def test_names_of_places_are_new_and_no_attributes_of_arrays(names):
    with pytest.raises(ValueError, match="already, or it comes twice"):
        Numbers(names)


def test_settings_are_filled_by_name_and_completely():
    filled = SETTINGS.filled(gamma=0.25, theta=0.5)
    np.testing.assert_array_equal(filled, [0.5, 0.25])
    assert SETTINGS(filled).gamma == 0.25
    with pytest.raises(TypeError, match="gamma"):
        SETTINGS.filled(theta=0.5)


# ---- every access is checked


def test_indices_outside_of_a_field_are_errors_negative_ones_as_well():
    work = WORK.plan(SIZES).allocate().record
    for index in (9, -1):
        with pytest.raises(IndexError):
            work.M[index]
        with pytest.raises(IndexError):
            work.M[index] = 1.0


@pytest.mark.parametrize(
    "view", [lambda x: head(x, 10), lambda x: tail(x, 10), lambda x: row_of(x, 3, 3), lambda x: row_of(x, -1, 3)]
)
def test_views_do_not_reach_beyond_their_vector(view):
    with pytest.raises(IndexError):
        view(WORK.plan(SIZES).allocate().record.M)


# ---- compiled and interpreted


@unit(F(ROOM, A, I))
def use(given, settings, j):
    work, own = WORK(given), SETTINGS(settings)
    inner = work.inner
    work.M[1] = own.theta
    inner.z[0], inner.known.valid = 2.0, 3.0
    inner.known.valid += own.gamma
    inner.k[j] = 7
    work.late[0] = 5.0
    fill(room_at(work.columns, 1))
    return row_of(work.M, 0, 3)[1] + total(inner) + work.early[0] + inner.z.shape[0]


@unit(F(INNER.kind))
def total(inner):
    return inner.z[0] + inner.known.h + inner.known.valid


@unit(I(ROOM))
def fill(given):
    GUEST(given).x[2] = 11.0
    return 0


@needs_jit
def test_compiled_kernels_see_the_same_places_as_interpreted_ones():
    compiled, interpreted = WORK.plan(SIZES).allocate(), WORK.plan(SIZES).allocate()
    settings = np.array([1.0, 10.0])
    results = use(compiled, settings, 3), use.py_func(interpreted, settings, 3)
    assert results[0] == results[1] == 1.0 + 15.0 + 5.0 + 2.0
    np.testing.assert_array_equal(compiled.floats, interpreted.floats)
    np.testing.assert_array_equal(compiled.integers, interpreted.integers)


SCRIPT = """
import json, sys
import numpy as np
import saltus as sl
from saltus.schemes.traits import traits_of
from test_every_scheme import EVERY

PROBLEMS = {  # share of the span, steps over it, attempts of schemes that choose their steps
    "zeno_ball": (1.0, 8, 6), "two_walls": (1.0, 8, 6), "belt": (0.5, 6, 4), "circle_slide": (0.5, 4, 3),
    "rod_pendulum": (0.5, 4, 3), "incline_3d": (0.5, 3, 2), "clattering_rod": (0.5, 5, 4),
    "slider_crank": (0.05, 4, 3), "four_bar": (0.05, 1, 1), "tumbling_box": (0.5, 1, 1),
}
found = {}
for name, (share, steps, most) in PROBLEMS.items():
    problem = getattr(sl.problems, name)()
    length = share * (problem.t_span[1] - problem.t_span[0])
    for scheme in EVERY:
        chooses = traits_of(scheme).adaptive
        how = {"max_steps": most} if chooses else {"h": length / steps}
        if hasattr(scheme, "control") and not chooses:
            how["max_steps"] = most
        try:
            sol = sl.solve(problem, (problem.t_span[0], problem.t_span[0] + length), scheme=scheme, **how)
            said = "reached its end"
        except sl.RunError as error:
            sol, said = error.solution, str(error)
        except sl.SettingError as error:
            sol, said = None, str(error)
        state = [] if sol is None else [sol.t[-1], *sol.q[-1], *sol.v[-1], *map(float, sol.work.values())]
        found[f"{scheme.name} {name}"] = [said.split(chr(10))[0], [float(x).hex() for x in state]]
json.dump(found, sys.stdout)
"""


def runs(**environment) -> dict:
    here = pathlib.Path(__file__).parent
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here), os.environ.get("PYTHONPATH", "")]), **environment}
    made = subprocess.run(  # noqa: S603  this interpreter, our own script
        [sys.executable, "-c", SCRIPT], env=known, capture_output=True, encoding="utf-8", check=False
    )
    assert made.returncode == 0, made.stderr[-2000:]
    return json.loads(made.stdout)


def test_every_scheme_stays_inside_of_its_memory_on_ten_problems():
    """Interpreted, every access is checked, and what failed would be told; the bits are those of compiled runs."""
    checked, compiled = runs(SALTUS_KERNELS="none"), runs()
    assert len(checked) == 10 * len(EVERY)
    assert checked == compiled
