"""A stack of blocks: geometry of its corners, exact forces, rest over many steps, slip at the friction angle."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import saltus as sl
from saltus import problems

N = 5  # one structure for all runs: another number of blocks compiles again


def corners(q: np.ndarray, width: float, height: float) -> np.ndarray:
    """Lower left, lower right, upper left, upper right corner of a block in the plane."""
    c, s = np.cos(q[2]), np.sin(q[2])
    local = np.array([[-width, -height], [width, -height], [-width, height], [width, height]]) / 2.0
    return q[:2] + local @ np.array([[c, s], [-s, c]])


def distance(q: np.ndarray, block: int, side: int, width: float, height: float) -> tuple[float, np.ndarray]:
    """Signed distance of a lower corner to the upper face below it, and the unit vector along that face."""
    point = corners(q[block], width, height)[side]
    if block == 0:
        return point[1], np.array([1.0, 0.0])
    left, right = corners(q[block - 1], width, height)[2:]
    along = (right - left) / width
    return along[0] * (point - left)[1] - along[1] * (point - left)[0], along


def test_gaps_and_slips_are_those_of_corners_and_faces():
    width, height = 0.3, 0.2
    problem = problems.block_stack(n=3, width=width, height=height)
    rng = np.random.default_rng(1)
    q = problem.q0.reshape(3, 3) + 0.2 * rng.normal(size=(3, 3))
    v = rng.normal(size=(3, 3))
    assert [contact.name for contact in problem.system.contacts][:3] == [
        "block 1 left",
        "block 1 right",
        "block 2 left",
    ]
    for k, contact in enumerate(problem.system.contacts):
        block, side = divmod(k, 2)
        gap, along = distance(q, block, side, width, height)
        assert contact.gap(q.ravel()) == pytest.approx(gap, abs=1e-14)
        # the corner as a point of its block and as one of the face, both moved by v
        point, step = corners(q[block], width, height)[side], 1e-6
        moved = [corners((q + s * v)[block], width, height)[side] for s in (-step, step)]
        velocity = (moved[1] - moved[0]) / (2.0 * step)
        if block > 0:
            reach, below = point - q[block - 1, :2], v[block - 1]
            velocity = velocity - below[:2] - below[2] * np.array([-reach[1], reach[0]])
        assert contact.slip(0.0, q.ravel(), v.ravel()) == pytest.approx(along @ velocity, abs=1e-8)


def test_the_stack_starts_flush_and_at_rest():
    problem = problems.block_stack()
    gaps = [contact.gap(problem.q0) for contact in problem.system.contacts]
    assert len(gaps) == 40 and np.abs(gaps).max() < 1e-15
    assert not problem.v0.any()


@pytest.mark.parametrize(("slope", "mu"), [(0.0, 0.5), (0.2, 0.5), (0.3, 0.2), (-0.3, 0.2), (-0.1, 0.3)])
def test_the_exact_forces_carry_the_blocks_and_obey_coulomb(slope, mu):
    mass, gravity, height, width = 2.0, 9.81, 0.1, 0.2
    problem = problems.block_stack(n=N, slope=slope, mu=mu, mass=mass)
    force = problem.exact.impulse(1.0).reshape(N, 2, 2)
    a = problem.exact.v(1.0).reshape(N, 3)
    total, weight = force.sum(axis=1), mass * gravity
    above = np.vstack([total[1:], np.zeros(2)])
    np.testing.assert_allclose(total[:, 0] - above[:, 0], weight * np.cos(slope), rtol=1e-13)
    np.testing.assert_allclose(mass * a[:, 0], weight * np.sin(slope) + total[:, 1] - above[:, 1], atol=1e-12)
    lever = width / 2.0 * (force[:, 1, 0] - force[:, 0, 0])  # moments about the centres
    np.testing.assert_allclose(lever - np.append(lever[1:], 0.0), -height / 2.0 * (total + above)[:, 1], atol=1e-12)
    assert force[..., 0].min() >= 0.0
    assert np.all(np.abs(force[..., 1]) <= mu * force[..., 0] * (1.0 + 1e-14))
    if a.any():
        np.testing.assert_allclose(force[..., 1], -mu * force[..., 0] * np.sign(a[0, 0]), rtol=1e-13)


def test_a_stack_that_tips_has_no_exact_solution():
    assert problems.block_stack(n=20, slope=0.099).exact is not None
    assert problems.block_stack(n=20, slope=0.101).exact is None
    with pytest.raises(sl.ModelError, match="whole number"):
        problems.block_stack(n=0)
    with pytest.raises(sl.ModelError, match="slope"):
        problems.block_stack(slope=2.0)


@pytest.mark.parametrize("theta", [0.5, 1.0])
@pytest.mark.parametrize("mu", [0.1, 1.0])
def test_a_stack_stays_at_rest_for_500_steps(theta, mu):
    h = 1e-3
    problem = problems.block_stack(n=N, mu=mu, t_end=500 * h)
    solution = sl.solve(problem, scheme=sl.MoreauJean(theta=theta), h=h)
    assert np.abs(np.diff(solution.q, axis=0)).max() < 1e-15  # [m] per step
    assert np.abs(solution.q - problem.q0).max() < 1e-13
    assert len(solution.residual) == 500 and solution.residual.max() < 2e-12
    # the impulses of the step before are a start that hardly needs a sweep
    assert solution.work["contact_sweeps"] < 3 * solution.work["iterations"]
    normal = solution.impulse.sum(axis=0).reshape(N, 2, 2)[..., 0]
    np.testing.assert_allclose(normal, problem.exact.impulse(0.5).reshape(N, 2, 2)[..., 0], rtol=1e-11)


@pytest.mark.parametrize(("slope", "mu"), [(0.19, 0.2), (0.21, 0.2), (-0.21, 0.2)])
def test_the_stack_slides_beyond_the_friction_angle_and_stays_below(slope, mu):
    problem = problems.block_stack(n=N, slope=slope, mu=mu, t_end=0.2)
    solution = sl.solve(problem, scheme=sl.MoreauJean(), h=1e-3)
    np.testing.assert_allclose(solution.q, problem.exact.q(solution.t), atol=1e-12)
    np.testing.assert_allclose(solution.v, problem.exact.v(solution.t), atol=1e-11)
    found, exact = (i.reshape(N, 2, 2) for i in (solution.impulse.sum(axis=0), problem.exact.impulse(0.2)))
    np.testing.assert_allclose(found[..., 0], exact[..., 0], rtol=1e-10)
    np.testing.assert_allclose(found[..., 1].sum(axis=1), exact[..., 1].sum(axis=1), atol=1e-10)


def load(name: str):
    path = Path(__file__).parent.parent / "examples" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pulled_block_leaves_takes_along_or_stays_as_coulomb_says():
    example = load("block_stack")
    for force in example.FORCES:
        solution = example.pull(force)
        speeds = solution.v[-1].reshape(-1, 3)[:, 0]
        np.testing.assert_allclose(speeds, example.exact_speeds(force, solution.t[-1]), atol=1e-9)


def test_a_stack_at_rest_reports_no_impact():
    sol = sl.solve(sl.problems.block_stack(n=5, t_end=0.05), scheme=sl.MoreauJean(), h=1e-3)
    assert not np.any(sol.events["kind"] == "impact")
    assert np.sum(sol.events["kind"] == "closing") == 10
    assert np.abs(sol.v_minus).max() < 1e-13  # forces that last leave no jump
