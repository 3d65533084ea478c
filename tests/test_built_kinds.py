"""Built-in kinds are compiled with the package: a mechanism of them compiles nothing."""

import numpy as np
import pytest

import saltus as sl
from saltus import mechanics as me
from saltus.build.families import FamilyBuilder
from saltus.compile import code, direct, library, texts
from saltus.compile.archive import pack, unpack
from saltus.mechanics import kinds

built_in_library = pytest.mark.skipif(code.interpreting(), reason="nothing is compiled here")


@pytest.fixture
def compiled(monkeypatch):
    """The texts that are compiled meanwhile; those of before are forgotten."""
    made = []
    real = direct.assemble

    def counted(text, *rest):
        made.append(text)
        return real(text, *rest)

    monkeypatch.setattr(direct, "assemble", counted)
    monkeypatch.setattr(direct, "_known", {})
    monkeypatch.setattr(direct, "_recent", type(direct._recent)())
    return made


def slider_crank():
    w = me.Planar(gravity=9.81)
    crank, rod = w.bar(0.153, mass=0.038, angle=0.3), w.bar(0.306, mass=0.038, angle=-0.2)
    block = w.body(mass=0.076, inertia=1e-4)
    w.revolute(w.ground, crank.start)
    w.revolute(crank.end, rod.start, clearance=1e-4, radius=5e-3, e=0.3, mu=0.1)
    w.revolute(rod.end, block)
    w.prismatic(w.ground, block, clearance=1e-3, length=0.1, height=0.05, mu=0.1)
    w.spring(w.ground.at(0.6, 0.0), block, k=10.0, length=0.1)
    return w.problem((0.0, 0.02))


@built_in_library
def test_a_mechanism_of_built_in_kinds_compiles_nothing(compiled):
    problem = slider_crank()
    run = sl.solve(problem, scheme=sl.MoreauJean(projection=True), h=1e-4)
    assert run.t[-1] == pytest.approx(0.02)
    assert compiled == []


@built_in_library
@pytest.mark.parametrize(
    "name", ["chain", "circuit_breaker", "four_bar_bodies", "gear_rattle", "slider_crank_bodies", "woodpecker"]
)
@pytest.mark.parametrize("scheme", [sl.MoreauJean(projection=True), sl.HpTDG()], ids=["MoreauJean", "HpTDG"])
def test_problems_of_mechanisms_compile_nothing(name, scheme, compiled):
    problem = getattr(sl.problems, name)()
    options = {"h": 1e-5} if isinstance(scheme, sl.MoreauJean) else {"tol": 1e-3}
    sl.solve(problem, (0.0, 2e-5), scheme=scheme, **options)
    assert [text for text in compiled if "LOOP" in text] == []


@built_in_library
def test_a_function_of_the_user_is_the_only_one_that_is_compiled(compiled):
    problem = slider_crank()
    pull = sl.ForceFamily("pull", lambda t, q, v, p: ((p[0] * np.tanh(q[0][0]), 0.0, 0.0),), [[0]], p=[[-0.1]])
    system = problem.system
    mixed = sl.System(
        bodies=system.bodies, forces=[*system.forces, pull], joints=list(system.joint_parts),
        contacts=list(system.contact_parts),
    )  # fmt: skip
    FamilyBuilder(mixed, 0.0, problem.q0, problem.v0, (), {}).build()
    assert len(compiled) == 1
    assert "tanh" in compiled[0]


@built_in_library
def test_machine_code_of_the_package_gives_the_bits_of_the_one_made_at_run_time(monkeypatch):
    problem = slider_crank()
    ends = []
    for found in (texts.built, lambda text: None):
        monkeypatch.setattr(direct, "built", found)
        monkeypatch.setattr(direct, "_known", {})
        object.__setattr__(problem.system, "_compiled", None)
        run = sl.solve(problem, scheme=sl.HpTDG(), tol=1e-5)
        ends.append(np.concatenate([run.q[-1], run.v[-1]]))
    assert np.array_equal(*ends)


@built_in_library
def test_all_built_in_kinds_are_in_the_library():
    made = kinds.texts()
    missing = [text for text in made if library.text(texts.prefix_of(text)) is None]
    assert not missing, "python -m saltus.compile.build"


def test_a_library_gives_back_its_objects_by_name():
    members = {"text.one": b"abc", "saltus.reaction.react": b"defg", "x" * 40: b""}
    assert unpack(pack(members)) == members
