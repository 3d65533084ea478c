"""Everyday: names that completion shows, signatures, types, what notebooks show, messages with their remedies."""

from __future__ import annotations

import ast
import inspect
import pathlib
import queue
import re
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest

import saltus as sl

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture(scope="module")
def ball():
    return sl.solve(sl.problems.zeno_ball(), tol=1e-8)


class Cells(HTMLParser):
    """Texts of all cells of the tables in a page; complains about tags that are left open."""

    def __init__(self, page: str):
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.cells += [""] if tag in ("td", "th") else []

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.cells[-1] += data


# ---- names


def test_completion_shows_every_public_name_and_no_stray():
    shown = {name for name in dir(sl) if not name.startswith("__")}
    assert shown == set(sl.__all__)
    assert all(hasattr(sl, name) for name in sl.__all__)


def test_the_names_are_those_of_the_documentation():
    page = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([A-Za-z]+)` \|", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted(sl.__all__)


@pytest.mark.parametrize("name", sl.MODULES)
def test_completion_of_a_module_shows_its_public_names_and_no_stray(name):
    module = getattr(sl, name)
    assert {one for one in dir(module) if not one.startswith("__")} == set(module.__all__)
    assert all(hasattr(module, one) for one in module.__all__)


# what a user's file need not show: records that calls return, and parts that only saltus itself puts together
UNSHOWN = {
    "control": {"Grid", "Proposed"},
    "errors": set(sl.errors.__all__),  # shown as sl.NAME
    "problems": set(sl.problems.__all__),  # all alike: functions that return a Problem, of which some are shown
    "schemes": set(sl.schemes.__all__),  # shown as sl.NAME
    "study": {"Convergence", "WorkPoint", "ball_local_error", "hausdorff_in_space", "hausdorff_polylines"},
}
CALLED = ("Solution", "Problem", "Verification")


def test_the_file_of_types_uses_every_public_name():
    tree = ast.parse((ROOT / "tests" / "user_types.py").read_text(encoding="utf-8"))
    used = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    of = {(node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", ""), node.attr)
          for node in ast.walk(tree) if isinstance(node, ast.Attribute)}  # fmt: skip
    missing = {name for name in sl.__all__ if ("sl", name) not in of and name not in ("sweep", "view", "mechanics")}
    for module in sl.MODULES:
        names = set(getattr(sl, module).__all__) - UNSHOWN.get(module, set())
        missing |= {f"{module}.{name}" for name in names if (module, name) not in of and ("sl", name) not in of}
    classes = [getattr(sl, name) for name in CALLED] + [sl.view.View, sl.sweep.Grid, sl.sweep.PeriodicOrbit]
    for cls in classes:
        calls = [name for name in vars(cls) if not name.startswith("_") and not isinstance(vars(cls)[name], str)]
        missing |= {f"{cls.__name__}.{name}" for name in calls if name not in used}
    assert missing == set()


def test_importing_saltus_imports_no_numerics():
    program = "import sys, saltus; print('numpy' in sys.modules)"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)  # noqa: S603
    assert made.stdout.strip() == "False"


def test_solve_is_the_function_also_after_its_file_was_imported():
    program = "import saltus.solve, saltus; print(callable(saltus.solve), callable(saltus.resume))"
    made = subprocess.run([sys.executable, "-c", program], capture_output=True, encoding="utf-8", check=True)  # noqa: S603
    assert made.stdout.split() == ["True", "True"]


def test_a_name_that_does_not_exist_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        sl.sovle  # noqa: B018


# ---- signatures and types


def test_the_signature_of_plot_names_its_options():
    names = list(inspect.signature(sl.Solution.plot).parameters)
    assert names == ["self", "axes", "coordinates", "panels", "time", "width", "path"]
    assert all(inspect.getdoc(sl.Solution.plot).count(f"\n{name}\n") == 1 for name in names[1:])
    no_options = [inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL]
    for name, method in inspect.getmembers(sl.Solution, inspect.isfunction):
        if not name.startswith("_"):
            assert not [p for p in inspect.signature(method).parameters.values() if p.kind in no_options], name


@pytest.mark.timeout(280)
def test_a_users_file_passes_mypy_strictly():
    pytest.importorskip("mypy")
    command = [
        sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", str(ROOT / ".mypy_cache"),
        "tests/user_types.py",
    ]  # fmt: skip
    if tuple(map(int, np.__version__.split(".")[:2])) < (2, 2):
        command.append("--allow-any-generics")  # before 2.2 numpy asks whoever writes np.ndarray for its parameters
    made = subprocess.run(  # noqa: S603
        command, capture_output=True, encoding="utf-8", cwd=ROOT, env={"MYPYPATH": str(ROOT / "src"), "PATH": ""}
    )
    assert made.returncode == 0, made.stdout


# ---- notebooks


def test_a_solution_shows_itself_as_tables(ball):
    cells = Cells(ball._repr_html_()).cells
    for word in ("ended", "certificate", "energy", "floor", "fastest [m/s]"):
        assert word in cells
    assert "0 to 4 s, 18 steps" in cells


def test_events_show_themselves_as_a_table_of_bounded_length(ball):
    cells = Cells(ball.events._repr_html_()).cells
    assert cells[:3] == ["t [s]", "contact", "kind"] and cells.count("floor") == len(ball.events) == 16
    many = np.concatenate([ball.events] * 100).view(type(ball.events))
    assert len(many._repr_html_()) < 6000 and "1,580 more" in many._repr_html_()


def test_a_system_shows_its_contacts_and_names_are_no_markup():
    floor = sl.Contact(lambda q: q[0], e=0.5, mu=0.0, name="<b>floor")
    page = sl.System(M=1.0, f=-1.0, contacts=[floor])._repr_html_()
    assert "<b>floor" in Cells(page).cells and "&lt;b&gt;floor" in page


def test_the_energy_ledger_prints_in_one_line(ball):
    assert len(repr(ball.energy)) < 250 and "defect up to" in repr(ball.energy)


KERNEL_SETUP = """
import saltus as sl
slow = sl.System(M=1.0, f=-1.0, contacts=[sl.Contact(lambda q: q[0], name="floor")])
def run(steps):
    return sl.solve(slow, (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=1.0 / steps, save="events")
run(10);
"""


def test_a_notebook_shows_a_plain_bar_and_ctrl_c_returns_what_there_is():
    manager_of = pytest.importorskip("jupyter_client.manager")
    pytest.importorskip("ipykernel")
    manager, client = manager_of.start_new_kernel()

    def execute(code: str, interrupt: bool = False) -> str:
        said, asked = "", client.execute(code)
        while True:
            message = client.get_iopub_msg(timeout=120)
            if message["parent_header"].get("msg_id") != asked:
                continue
            content = message["content"]
            if message["msg_type"] in ("stream", "error", "execute_result", "display_data"):
                said += content.get("text", "") + "".join(content.get("traceback", ()))
                said += str(content.get("data", {}).get("text/plain", ""))
                if interrupt and "[" in said:
                    manager.interrupt_kernel()
                    interrupt = False
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return said

    try:
        assert execute(KERNEL_SETUP) == ""
        said = execute("sol = run(4_000_000_000); print(sol.status.name, sol.t[-1] < 1.0)", interrupt=True)
    except queue.Empty:
        pytest.fail("the kernel said nothing")
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    assert "INTERRUPTED True" in said and "t to 1 s [" in said
    assert "ipywidgets" not in said and "Warning" not in said


# ---- messages and settings


def test_a_start_inside_of_a_contact_names_start_tolerance_and_assemble():
    system = sl.System(M=1.0, f=-1.0, contacts=[sl.Contact(lambda q: q[0], name="floor")])
    with pytest.raises(sl.ModelError, match=r"start_tolerance=0\.003.*assemble\(\)"):
        sl.solve(system, (0.0, 1.0), -0.0025, 0.0)
    assert sl.solve(system, (0.0, 1.0), -0.0025, 0.0, scheme=sl.MoreauJean(), h=0.1, start_tolerance=0.003).success


def test_a_start_beside_a_joint_names_start_tolerance_and_assemble():
    rod = sl.Joint(lambda q: q[0] ** 2 + q[1] ** 2 - 1.0, name="rod")
    system = sl.System(M=np.ones(2), f=lambda t, q, v: [0.0, -1.0], joints=[rod])
    with pytest.raises(sl.ModelError, match=r"start_tolerance=0\.3.*assemble\(\)"):
        sl.solve(system, (0.0, 1.0), [np.sqrt(1.25), 0.0], [0.0, 0.0])


def test_breaks_may_be_none():
    problem = sl.problems.zeno_ball()
    without = sl.solve(problem, scheme=sl.MoreauJean(), h=0.1)
    np.testing.assert_array_equal(sl.solve(problem, scheme=sl.MoreauJean(), h=0.1, breaks=None).q, without.q)
