"""Models by llvmlite and models by numba give the same runs, bit for bit (as long as both ways exist)."""

from __future__ import annotations

import pytest

import saltus as sl
from counts import counted
from extras import needs_jit
from saltus import problems
from saltus.compile.native import NativeUnit

SCHEMES = (sl.HpTDG(), sl.MoreauJean())
# one for each kind of unit: moving contacts, M(q), joints, rotations with a q_dot of their own, K and C, tables, resets
SOME = (
    *("zeno_ball", "vibrating_table", "belt", "slider_crank", "four_bar", "rod_pendulum", "rolling_sphere"),
    *("spinning_top", "impacting_bar", "valve_train", "simplest_walker", "bowl"),
)


def short(problem: sl.Problem, scheme) -> bytes:
    """Return the bits of the first twentieth of a problem, or of what there is before it fails."""
    begin, end = problem.t_span
    step = {"h": 1e-3 * (end - begin)} if isinstance(scheme, sl.MoreauJean) else {}
    try:
        sol = sl.solve(problem, t_span=(begin, begin + 0.05 * (end - begin)), scheme=scheme, **step)
    except sl.RunError as error:
        sol = error.solution
    return b"".join(part.tobytes() for part in (sol.t, sol.q, sol.v, sol.impulse))


@needs_jit
@pytest.mark.parametrize("name", counted(problems.__all__, SOME))
def test_runs_have_the_same_bits_whoever_compiled_the_model(name, monkeypatch):
    made = getattr(problems, name)
    direct = [short(made(), scheme) for scheme in SCHEMES]
    monkeypatch.setenv("SALTUS_MODELS", "numba")
    seen = []
    build = NativeUnit.__init__

    def counted(self, code, text, name):
        seen.append(name)
        build(self, code, text, name)

    monkeypatch.setattr(NativeUnit, "__init__", counted)
    by_numba = [short(made(), scheme) for scheme in SCHEMES]
    assert "force" not in seen, "the second runs have units of numba"
    assert direct == by_numba
