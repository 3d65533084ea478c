"""Contact problems in FCLib files: what is written is read back bit by bit, what is wrong is named."""

from __future__ import annotations

import h5py
import numpy as np
import pytest
import scipy.sparse as sparse

import saltus as sl
from external import fclib_file
from saltus.contact import NSGS, ContactProblem, read_fclib, write_fclib
from saltus.contact.problem import GlobalForm
from saltus.errors import FileError, FileFormatError, ModelError
from saltus.io.fclib import read_impulses

# rows and contacts as the README of the files says
EXTERNAL = {
    "Box_Stacks-i0122-82-5": 82,
    "BoxesStack-48": 48,
    "Capsules-i125-1213": 286,
    "LMGC_100_PR_PerioBox-i00361-60-03000": 60,
    "LMGC_GFC3D-i00001-1-00000": 1,
    "LMGC_GFC3D-i00501-4-00000": 4,
}


def external(name):
    return fclib_file(f"{name}.hdf5")


def dense(matrix):
    return matrix.toarray() if sparse.issparse(matrix) else np.asarray(matrix)


def assert_same(found, given):
    """Every number of a problem is the same, bit by bit."""
    assert type(found.given) is type(given.given)
    for a, b in zip(found.given, given.given, strict=True):
        assert np.array_equal(dense(a), dense(b))
    assert np.array_equal(found.kinds, given.kinds)
    friction = given.kinds > 1
    assert np.array_equal(found.mu[friction], given.mu[friction])
    assert found.names == given.names


def matrices(seed=0, nv=9, n=12):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((nv, nv))
    W = rng.standard_normal((nv, n)) * (rng.random((nv, n)) < 0.6)
    return A @ A.T + np.eye(nv), W, rng.standard_normal(nv), rng.standard_normal(n)


MIXED = {
    "spatial": ["coulomb_spatial"] * 4,
    "planar": ["coulomb_planar"] * 6,
    "spatial with joints between": ["bilateral", "coulomb_spatial", "bilateral", *["coulomb_spatial"] * 2, "bilateral"],
    "spatial without friction between": ["unilateral", *["coulomb_spatial"] * 3, "unilateral", "unilateral"],
    "planar, joints and no friction": ["unilateral", "bilateral", *["coulomb_planar"] * 5],
    "no friction": ["unilateral"] * 12,
}


# ---- what is written is read back


@pytest.mark.parametrize("kinds", MIXED.values(), ids=MIXED)
@pytest.mark.parametrize("form", ["global", "reduced"])
def test_a_problem_is_read_back_bit_by_bit(tmp_path, kinds, form):
    M, W, f, w = matrices()
    mu = np.linspace(0.1, 0.7, len(kinds))
    names = [f"contact {k}" for k in range(len(kinds))]
    if form == "global":
        problem = ContactProblem.from_global(M, W, f, w, mu=mu, kinds=kinds, names=names)
    else:
        D = W.T @ np.linalg.solve(M, W)
        problem = ContactProblem(0.5 * (D + D.T), w, mu=mu, kinds=kinds, names=names)
    write_fclib(problem, tmp_path / "p.hdf5")
    assert_same(read_fclib(tmp_path / "p.hdf5"), problem)


@pytest.mark.parametrize("storage", ["csc", "csr", "coo", "dense"])
def test_every_storage_is_read_back_as_it_was_written(tmp_path, storage):
    M, W, f, w = matrices()
    M, W = (sparse.csc_array(x).asformat(storage) if storage != "dense" else x for x in (M, W))
    write_fclib(ContactProblem.from_global(M, W, f, w, mu=0.3, dim=3), tmp_path / "p.hdf5")
    with h5py.File(tmp_path / "p.hdf5") as file:
        nz = int(file["fclib_global/H/nz"][0])
    assert nz == {"csc": -1, "csr": -2, "dense": -2}.get(storage, sparse.csc_array(W).nnz)
    found = read_fclib(tmp_path / "p.hdf5")
    assert found.given.W.format == ("csr" if storage == "dense" else storage)
    assert np.array_equal(dense(found.given.W), dense(W))


@pytest.mark.parametrize(("name", "contacts"), EXTERNAL.items())
def test_external_problems_survive_being_written(tmp_path, name, contacts):
    problem = read_fclib(external(name))
    assert len(problem.mu) == contacts
    assert problem.n == 3 * contacts
    assert isinstance(problem.given, GlobalForm) == (name.startswith(("Box_Stacks", "LMGC_GFC3D")))
    write_fclib(problem, tmp_path / "p.hdf5", title="again")
    again = read_fclib(tmp_path / "p.hdf5")
    assert_same(again, problem)
    P = np.random.default_rng(0).standard_normal(problem.n)
    assert again.residual(P) == problem.residual(P)
    with h5py.File(external(name)) as old, h5py.File(tmp_path / "p.hdf5") as new:
        form = next(key for key in old if key.startswith("fclib"))
        for key, vector in old[form]["vectors"].items():
            assert np.array_equal(vector[()], new[form]["vectors"][key][()])


def test_equality_constraints_of_other_writers_become_bilateral_rows(tmp_path):
    M, W, f, w = matrices()
    problem = ContactProblem.from_global(M, W, f, w, mu=0.4, kinds=["coulomb_spatial"] * 3 + ["bilateral"] * 3)
    write_fclib(problem, tmp_path / "p.hdf5")
    with h5py.File(tmp_path / "p.hdf5", "r+") as file:
        del file["saltus"]  # other writers know no such group
        assert np.array_equal(file["fclib_global/vectors/b"][()], w[9:])
    found = read_fclib(tmp_path / "p.hdf5")
    assert list(found.kinds) == [3, 3, 3, 0, 0, 0]
    assert np.array_equal(dense(found.given.W), W)


def test_equality_constraints_of_a_local_problem_are_coupled_by_v_and_its_transpose(tmp_path):
    M, W, _, w = matrices()
    D = W.T @ np.linalg.solve(M, W)
    D = 0.5 * (D + D.T)
    kinds = ["bilateral", *["coulomb_planar"] * 5, "bilateral"]
    write_fclib(ContactProblem(D, w, mu=0.4, kinds=kinds), tmp_path / "p.hdf5")
    with h5py.File(tmp_path / "p.hdf5", "r+") as file:
        del file["saltus"]
    found = read_fclib(tmp_path / "p.hdf5")
    order = [*range(1, 11), 0, 11]
    assert list(found.kinds) == [2] * 5 + [0, 0]
    assert np.array_equal(dense(found.given.D), D[np.ix_(order, order)])
    assert np.array_equal(found.b, w[order])


@pytest.mark.parametrize("form", ["global", "reduced"])
def test_rows_without_friction_mean_the_same_to_readers_that_know_only_blocks(tmp_path, form):
    rng = np.random.default_rng(1)
    W, f = rng.standard_normal((12, 8)), rng.standard_normal(12)
    kinds = ["unilateral", "coulomb_spatial", "unilateral", "coulomb_spatial"]
    if form == "global":
        problem = ContactProblem.from_global(np.eye(12), W, f, mu=0.3, kinds=kinds)
    else:
        problem = ContactProblem(W.T @ W, W.T @ f, mu=0.3, kinds=kinds)
    write_fclib(problem, tmp_path / "p.hdf5")
    with h5py.File(tmp_path / "p.hdf5", "r+") as file:
        del file["saltus"]
    blocks = read_fclib(tmp_path / "p.hdf5")
    assert list(blocks.kinds) == [3, 3, 3, 3]
    assert list(blocks.mu) == [0.0, 0.3, 0.0, 0.3]
    mine, theirs = NSGS().solve(problem), NSGS().solve(blocks)
    assert mine.converged and theirs.converged
    kept = [0, 3, 4, 5, 6, 9, 10, 11]
    assert np.allclose(theirs.P[kept], mine.P, atol=1e-10)
    assert np.all(np.delete(theirs.P, kept) == 0.0)


def test_solution_and_guesses_are_stored_with_their_velocities(tmp_path):
    M, W, f, w = matrices()
    kinds = ["bilateral", *["coulomb_planar"] * 5, "unilateral"]
    problem = ContactProblem.from_global(M, W, f, w, mu=0.4, kinds=kinds)
    result = NSGS(max_sweeps=3).solve(problem)
    guess = np.arange(12.0)
    write_fclib(problem, tmp_path / "p.hdf5", solution=result, guesses=[guess, result], title="t", description="d")
    stored = read_impulses(tmp_path / "p.hdf5", problem)
    assert list(stored) == ["solution", "guess 1", "guess 2"]
    assert np.array_equal(stored["solution"], result.P)
    assert np.array_equal(stored["guess 1"], guess)
    with h5py.File(tmp_path / "p.hdf5") as file:
        assert file["fclib_global/info/title"][()] == b"t"
        assert file["guesses/number_of_guesses"][0] == 2
        v, u, r, multiplier = (file[f"guesses/1/{key}"][()] for key in "vurl")
    assert M @ v == pytest.approx(W @ guess + f, abs=1e-10)
    assert u == pytest.approx([*(W.T @ v + w)[1:], 0.0], abs=1e-10)
    assert list(r) == [*guess[1:], 0.0]
    assert list(multiplier) == [0.0]


def test_the_doors_are_in_the_contact_package_and_files_are_whole(tmp_path):
    M, W, f, w = matrices()
    problem = ContactProblem.from_global(M, W, f, w, mu=0.3, dim=3)
    sl.contact.write_fclib(problem, tmp_path / "p.hdf5")
    sl.contact.write_fclib(problem, tmp_path / "p.hdf5")  # in its place
    assert [file.name for file in tmp_path.iterdir()] == ["p.hdf5"]
    assert_same(sl.contact.read_fclib(tmp_path / "p.hdf5"), problem)
    with pytest.raises(FileError, match="cannot be written"):
        write_fclib(problem, tmp_path / "missing" / "p.hdf5")


# ---- what the format cannot hold


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (
            ["coulomb_planar", "coulomb_spatial"],
            "contact 'left' is coulomb_planar and contact 'right' is coulomb_spatial",
        ),
        (["bilateral", "bilateral"], "only bilateral rows"),
    ],
)
def test_laws_that_a_file_cannot_hold_are_refused_by_name(tmp_path, kinds, words):
    n = sum({"coulomb_planar": 2, "coulomb_spatial": 3, "bilateral": 1}[kind] for kind in kinds)
    problem = ContactProblem(np.eye(n), np.ones(n), mu=0.3, kinds=kinds, names=["left", "right"])
    with pytest.raises(ModelError, match=words):
        write_fclib(problem, tmp_path / "p.hdf5")
    assert not list(tmp_path.iterdir())


def test_a_local_problem_whose_joints_are_coupled_unsymmetrically_is_refused(tmp_path):
    D = np.eye(3) + np.diag([0.5, 0.0], 1)
    problem = ContactProblem(D, np.ones(3), mu=0.3, kinds=["bilateral", "coulomb_planar"])
    with pytest.raises(ModelError, match="coupled unsymmetrically"):
        write_fclib(problem, tmp_path / "p.hdf5")


# ---- what is wrong with a file


def removed(name):
    return lambda file: file.__delitem__(name)


def replaced(name, value):
    def change(file):
        del file[name]
        file[name] = value

    return change


BROKEN = {
    "no problem": (lambda file: file.move("fclib_global", "problem"), "must have one of the groups"),
    "no spacedim": (removed("fclib_global/spacedim"), "the dataset 'spacedim' is missing"),
    "wrong spacedim": (replaced("fclib_global/spacedim", np.array([4])), "spacedim is 4, but must be 2 or 3"),
    "another spacedim": (replaced("fclib_global/spacedim", np.array([2])), "'mu' has 4 entries, but must have 6"),
    "no matrix": (removed("fclib_global/M"), "the group 'M' is missing"),
    "no values": (removed("fclib_global/M/x"), "/M': the dataset 'x' is missing"),
    "no vectors": (removed("fclib_global/vectors"), "the group 'vectors' is missing"),
    "no f": (removed("fclib_global/vectors/f"), "/vectors': the dataset 'f' is missing"),
    "short f": (replaced("fclib_global/vectors/f", np.ones(3)), "'f' has 3 entries, but must have 9"),
    "text": (replaced("fclib_global/vectors/w", "text"), "'w' holds object, but must hold numbers"),
    "negative mu": (replaced("fclib_global/vectors/mu", [0.1, -0.2, 0.3, 0.4]), "mu[1] = -0.2 is negative"),
    "nan": (replaced("fclib_global/vectors/w", np.full(12, np.nan)), "w[0] = nan is not a finite number"),
    "nan in a matrix": (replaced("fclib_global/H/x", np.full(200, np.inf)), "/H': x[0] = inf is not a finite number"),
    "other sizes": (replaced("fclib_global/M/m", np.array([8])), "the matrix is 8 x 9, but must be 9 x 9"),
    "negative size": (replaced("fclib_global/H/n", np.array([-3])), "the matrix is 9 x -3"),
    "unknown storage": (replaced("fclib_global/H/nz", np.array([-7])), "nz is -7"),
    "short starts": (replaced("fclib_global/H/p", np.zeros(2, int)), "'p' has 2 entries, but must have 13"),
    "falling starts": (replaced("fclib_global/H/p", np.arange(13)[::-1].copy()), "'p' must start with 0"),
    "too many entries": (replaced("fclib_global/H/p", 1000 * np.arange(13)), "'i' has"),
    "outside": (replaced("fclib_global/H/i", np.full(200, 9)), "i[0] = 9 is no place between 0 and 8"),
    "floats": (replaced("fclib_global/H/i", np.full(200, 1.0)), "'i' holds float64, but must hold integers"),
    "singular": (replaced("fclib_global/M/x", np.zeros(200)), "M cannot be factored"),
    "own kinds": (lambda file: file.create_dataset("saltus/kinds", data=[3, 3]), "'kinds' does not fit 4 contacts"),
    "own names": (lambda file: file.create_dataset("saltus/names", data=["a"]), "there are 1 names for 4 contacts"),
    "never written": (lambda file: _reserve(file, "fclib_global/vectors/w", 12), "'w' was never written"),
}


def _reserve(file, name, size):
    del file[name]
    file.create_dataset(name, shape=(size,), dtype=float)


@pytest.mark.parametrize(("change", "words"), BROKEN.values(), ids=BROKEN)
def test_what_is_wrong_with_a_file_is_named_with_its_group_and_remedy(tmp_path, change, words):
    M, W, f, w = matrices()
    path = tmp_path / "broken.hdf5"
    write_fclib(ContactProblem.from_global(M, sparse.csc_array(W), f, w, mu=0.3, dim=3), path)
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(FileFormatError) as caught:
        read_fclib(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    assert "write_fclib" in str(caught.value) or words.startswith("must have")


def test_files_that_are_missing_or_not_hdf5_are_refused(tmp_path):
    with pytest.raises(FileError, match="cannot be read: No such file"):
        read_fclib(tmp_path / "missing.hdf5")
    (tmp_path / "text.hdf5").write_text("fclib_local", encoding="utf-8")
    with pytest.raises(FileFormatError, match="is not an HDF5 file"):
        read_fclib(tmp_path / "text.hdf5")
    M, W, f, w = matrices()
    write_fclib(ContactProblem.from_global(M, W, f, w, mu=0.3, dim=3), tmp_path / "p.hdf5")
    whole = (tmp_path / "p.hdf5").read_bytes()
    (tmp_path / "cut.hdf5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(FileFormatError):
        read_fclib(tmp_path / "cut.hdf5")


# ---- problems that a run met


@pytest.fixture(scope="module")
def sliding():
    return sl.solve(sl.problems.incline_3d(), scheme=sl.MoreauJean(), h=1e-2)


def impulses(sol, problem, k):
    return sol.impulse[k][[i for i, (name, _) in enumerate(sol.rows) if name in problem.names]]


@pytest.mark.parametrize("k", [0, 70, -1])
def test_the_problem_of_a_step_judges_the_stored_impulses_as_the_run_did(sliding, tmp_path, k):
    problem = sliding.contact_problem(k)
    assert problem.names == ("incline",)
    assert problem.residual(impulses(sliding, problem, k)) == pytest.approx(sliding.residual[k], abs=1e-12)
    write_fclib(problem, tmp_path / "p.hdf5")
    assert_same(read_fclib(tmp_path / "p.hdf5"), problem)


def test_the_problem_of_a_step_is_that_of_the_textbook(sliding):
    # a block of 1 kg on an incline: D = I, b the velocity after a step of 0.01 s under its weight alone
    problem, h, g, alpha = sliding.contact_problem(10), 1e-2, 9.81, 0.3
    vx, vy, vz = sliding.v[10]
    assert problem.D() == pytest.approx(np.eye(3), abs=1e-14)
    assert problem.b == pytest.approx([vz - h * g * np.cos(alpha), vx + h * g * np.sin(alpha), vy], abs=1e-13)


def test_corrections_of_positions_are_chosen_only_when_asked_for():
    sol = sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(projection=True), h=1e-2)
    k = int(np.flatnonzero(sol.impulse[:, 0])[0])
    # velocity after the step of the free fall, with restitution; then a penetration
    assert sol.contact_problem(k).b[0] < -0.1
    assert -1e-2 < sol.contact_problem(k, number=-1).b[0] < 0.0


@pytest.mark.parametrize("scheme", [sl.TDGMinus(degree=2), sl.HpTDG()], ids=lambda scheme: scheme.name)
def test_schemes_with_stages_meet_the_impact_among_their_problems(scheme):
    sol = sl.solve(sl.problems.zeno_ball(), scheme=scheme, h=1e-2)
    impact = sol.events[sol.events["kind"] == "impact"][0]
    k = int(np.searchsorted(sol.t, impact["t"])) - 1
    problem = sol.contact_problem(k)
    assert problem.n == 1
    # the impulse that stops the approach with restitution is that of the event
    assert -problem.b[0] / problem.D()[0, 0] == pytest.approx(impact["impulse"][0], rel=1e-6)


def test_a_loaded_run_needs_its_problem(sliding, tmp_path):
    sliding.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    with pytest.raises(sl.SettingError, match="give the problem it was made from"):
        loaded.contact_problem(3)
    assert_same(loaded.contact_problem(3, problem=sl.problems.incline_3d()), sliding.contact_problem(3))
    with pytest.raises(sl.SettingError, match="it ends elsewhere"):
        loaded.contact_problem(3, problem=sl.problems.incline_3d(gravity=9.8))
    with pytest.raises(sl.SettingError, match=r"mu 0.618672.*mu 0.464004"):
        loaded.contact_problem(3, problem=sl.problems.incline_3d(k=2.0))
    with pytest.raises(sl.SettingError, match="give the problem of the run"):
        loaded.contact_problem(3, problem=sl.problems.zeno_ball())


def test_steps_that_were_not_kept_or_do_not_exist_are_refused(sliding):
    thin = sl.solve(sl.problems.incline_3d(), scheme=sl.MoreauJean(), h=1e-2, save=10)
    with pytest.raises(sl.SettingError, match="was not kept from its start to its end"):
        thin.contact_problem(3)
    for step in (150, -151, 1.5, True):
        with pytest.raises(sl.SettingError, match="the run has steps 0 to 149"):
            sliding.contact_problem(step)
    with pytest.raises(sl.SettingError, match="problems 0 to 0"):
        sliding.contact_problem(3, number=1)


def test_a_step_without_contact_names_the_nearest_one_with(tmp_path):
    sol = sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(), h=1e-2)
    first = int(np.flatnonzero(sol.impulse[:, 0])[0])
    with pytest.raises(sl.SettingError, match=f"the nearest step with contact is {first}"):
        sol.contact_problem(0)
    assert sol.contact_problem(first).n == 1


def test_two_step_schemes_remember_the_step_before():
    sol = sl.solve(sl.problems.zeno_ball(), scheme=sl.SchatzmanPaoli(), h=1e-2)
    struck = np.flatnonzero(sol.impulse[:, 0])
    for k in struck[[0, 1, -1]]:
        assert sol.contact_problem(int(k)).n == 1


def test_a_step_of_a_stack_at_rest_is_made_again():
    # its velocities are rounding errors, which no step made again repeats
    sol = sl.solve(sl.problems.block_stack(n=5, t_end=0.02), scheme=sl.MoreauJean(), h=1e-3)
    assert np.abs(sol.v).max() < 1e-13  # a step without contacts would make it 1e-2
    problem = sol.contact_problem(10)
    assert len(problem.names) == 10
    assert problem.residual(sol.impulse[10]) < 1e-11
