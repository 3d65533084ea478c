"""Verification: a second run says how large the error is, how long two runs agree, where they part and why."""

from __future__ import annotations

import dataclasses
import io

import h5py
import numpy as np
import pytest

import saltus as sl
from saltus import problems
from saltus.io import format as files
from saltus.study import errors
from saltus.verify.parting import undecided
from saltus.verify.verify import FINER_RATIO, VERIFY, compared
from test_ties import LANDING, dropped_box

QUANTITIES = {"q": "q", "v": "v", "i": "impulse"}


def oscillator(wall: float = 1.0, e: float = 1.0) -> sl.Problem:
    """q = sin t until it reaches a wall."""
    contact = sl.Contact(lambda q: wall - q[0], e=e, name="wall")
    system = sl.System(M=1.0, f=lambda t, q, v: [-q[0]], contacts=[contact])
    return sl.Problem(system, (0.0, 6.0), 0.0, 1.0)


def true_errors(sol: sl.Solution) -> dict[str, float]:
    """Mean errors against the exact solution of the problem."""
    span = sol.t[-1] - sol.t[0]
    return {name: errors(sol, None, quantity, ("L1",))["L1"] / span for name, quantity in QUANTITIES.items()}


# ---- the size of the error


@pytest.mark.parametrize("scheme", [None, sl.EventDriven()], ids=["HpTDG", "EventDriven"])
@pytest.mark.parametrize("tol", [1e-4, 1e-8])
def test_the_verified_error_is_the_true_one(scheme, tol):
    sol = sl.solve(problems.zeno_ball(), scheme=scheme, tol=tol, progress=False)
    verification = sol.verify(progress=False)
    assert verification.kept and verification.until == verification.end == sol.t[-1]
    largest = {"q": sol.q, "v": [sol.v, sol.v_minus], "i": sol.impulse_at(sol.t)}
    for name, true in true_errors(sol).items():
        size = 1.0 + np.abs(largest[name]).max()
        small = max(true, verification.errors[name]) < 1e-2 * tol * size
        assert small or true / 10.0 <= verification.errors[name] <= 10.0 * true
        assert verification.ratios[name] == pytest.approx(verification.errors[name] / (tol * size), rel=0.05)


def test_the_error_of_a_time_stepping_is_seen_by_smaller_steps():
    # impacts of this ball lie on no decimal grid, so that the first grid flatters no one
    sol = sl.solve(problems.zeno_ball(e=0.7), scheme=sl.MoreauJean(), h=1.3e-3, progress=False)
    verification = sol.verify(progress=False)
    assert not verification.promised
    for name, true in true_errors(sol).items():
        assert true / 3.0 <= verification.errors[name] <= 3.0 * true


def test_the_curve_ends_at_the_ratios_and_gives_the_time_up_to_which_the_promise_is_kept():
    sol = sl.solve(sl.System(M=1.0, f=lambda t, q, v: [q[0]]), (0.0, 40.0), 1.0, -1.0, tol=1e-8, progress=False)
    verification = sol.verify(progress=False)
    np.testing.assert_allclose(verification.growth[-1], list(verification.ratios.values()), rtol=1e-12)
    within = verification.growth.max(axis=1) <= 1.0
    assert np.all(within[verification.t < 0.99 * verification.until])
    assert not np.any(within[verification.t > 1.01 * verification.until])


def test_units_do_not_matter_where_the_scale_is_given():
    found = []
    for unit in (1.0, 1e3):
        problem = oscillator(0.8 * unit, e=0.5)
        sol = sl.solve(dataclasses.replace(problem, v0=unit), tol=1e-6, scale=unit, progress=False)
        found.append(sol.verify(progress=False))
    for name in QUANTITIES:
        assert found[0].ratios[name] == pytest.approx(found[1].ratios[name], rel=0.05, abs=1e-6)


# ---- where runs part


def test_differences_that_grow_exponentially_are_called_sensitive_with_their_rate():
    sol = sl.solve(
        sl.System(M=1.0, f=lambda t, q, v: [q[0]]), (0.0, 40.0), 1.0, -1.0, tol=1e-10, progress=False, verify=True
    )
    verification = sol.verification
    assert verification is not None and not verification.kept
    assert verification.parting.why == "sensitive"
    assert verification.parting.rate == pytest.approx(1.0, rel=0.15)  # e^t
    assert "sensitive" in sol.message and sol.message.startswith("The run reached the end")


def pair(first: sl.Problem, second: sl.Problem, tol: float = 1e-8, **options):
    """Compare two runs of problems that differ a little."""
    runs = [sl.solve(problem, tol=tol, progress=False, **options) for problem in (first, second)]
    return compared(*runs)


def test_runs_of_which_one_touches_a_wall_and_one_does_not_part_by_a_graze():
    found = pair(oscillator(1.0 + 1e-6), oscillator(1.0 - 1e-6))
    assert (found.parting.why, found.parting.contact) == ("graze", "wall")
    assert found.parting.t == pytest.approx(np.pi / 2.0, abs=2e-3)  # it enters the wall sqrt(2e-6) before
    assert found.until == pytest.approx(np.pi / 2.0, abs=2e-3)


def test_boxes_that_land_on_the_one_or_the_other_corner_first_part_by_a_tie():
    found = pair(dropped_box(0.3, tilt=2e-9), dropped_box(0.3, tilt=-2e-9))
    assert found.parting.why == "tie"
    assert found.parting.t == pytest.approx(LANDING, abs=1e-6)


def test_a_box_that_lands_flat_is_left_open_although_both_runs_agree():
    verification = sl.solve(dropped_box(0.3), tol=1e-6, progress=False).verify(progress=False)
    assert verification.kept
    assert [row[1:] for row in verification.undecided] == [("left", "tie"), ("right", "tie")]
    assert "other motions are as true" in str(verification)


def test_a_pulse_between_the_nodes_of_the_first_run_is_seen_by_the_second_one():
    def pulse(t, q, v):
        return [100.0 * ((t > 0.61) & (t < 0.64))]  # midpoints of the first run: 0.55, 0.65

    sol = sl.solve(sl.System(M=1.0, f=pulse), (0.0, 1.0), 0.0, 0.0, scheme=sl.MoreauJean(), h=0.1, progress=False)
    assert sol.v[-1, 0] == 0.0
    verification = sol.verify(progress=False)
    assert verification.parting.why == "one run only"
    assert verification.parting.t == pytest.approx(0.61, abs=0.1 / FINER_RATIO)


def test_runs_that_a_terminal_event_ends_at_other_times_part_there():
    system = sl.System(M=1.0, f=lambda t, q, v: [-q[0]])
    runs = []
    for level in (1.0 + 1e-9, 1.0 - 1e-9):
        top = sl.Event(lambda t, q, v, level=level: q[0] - level, terminal=True, name="top")
        runs.append(sl.solve(system, (0.0, 3.0), 0.0, 1.0, tol=1e-10, events=[top], progress=False))
    found = compared(*runs)
    assert not found.kept
    assert (found.parting.why, found.parting.contact) == ("ends", "top")
    assert found.end == pytest.approx(np.pi / 2.0, abs=1e-3)


def test_impulses_that_contacts_share_are_not_unique():
    feet = [sl.Contact(lambda q: q[0], name=name) for name in ("left", "right")]
    system = sl.System(M=1.0, f=-1.0, contacts=feet)
    # one solver splits the weight into halves, the other one gives it to the first foot
    run, other = (
        sl.solve(system, (0.0, 1.0), 0.0, 0.0, scheme=sl.MoreauJean(solver=solver), h=0.01, progress=False)
        for solver in (sl.NSGS(), sl.contact.ADMM())
    )
    assert np.abs(run.impulse_at(1.0) - other.impulse_at(1.0)).max() > 0.1
    found = compared(run, other)
    assert found.ratios["v"] < 1e-3 and found.ratios["i"] > 1.0
    assert found.parting.why == "not unique"
    assert undecided(run, other) == ()


# ---- the second run


def test_the_second_run_has_other_steps_and_a_hundredth_of_the_tolerance():
    sol = sl.solve(problems.zeno_ball(), tol=1e-6, progress=False)
    assert f"tol = {1e-6 / VERIFY.share:g}" in sol.verify(progress=False).by
    coarse = sol.verify(max_step=1.0, progress=False)
    assert int(coarse.by.split(",")[1].split()[0]) < 200


def test_thinned_runs_are_made_again_as_a_whole():
    whole = sl.solve(problems.zeno_ball(), tol=1e-6, progress=False).verify(progress=False)
    thinned = sl.solve(problems.zeno_ball(), tol=1e-6, t_eval=[1.0, 2.0], progress=False).verify(progress=False)
    assert thinned.errors == whole.errors


@pytest.mark.parametrize(
    ("scheme", "options"),
    [
        (sl.SchatzmanPaoli(), {"h": 1e-2}),
        (sl.TDGMinus((1, 2) * 200), {"h": 1e-2}),
        (sl.MoreauJean(), {"tol": 1e-3}),
        (sl.HpTDG(zeno_speed=0.1), {"tol": 1e-4}),
    ],
    ids=["no other step", "list of degrees", "doubled steps", "threshold by hand"],
)
def test_every_kind_of_steps_has_a_second_run(scheme, options):
    sol = sl.solve(problems.zeno_ball(), scheme=scheme, progress=False, **options)
    true, verification = true_errors(sol), sol.verify(progress=False)
    assert verification.errors["v"] >= true["v"] / 10.0
    assert verification.end == 4.0


def test_a_run_that_failed_is_verified_up_to_its_end():
    with pytest.raises(sl.LimitError) as caught:
        sl.solve(problems.zeno_ball(), tol=1e-6, max_steps=6, progress=False)
    part = caught.value.solution
    assert part.verify(progress=False).end == pytest.approx(part.t[-1])


def test_senseless_requests_are_refused():
    sol = sl.solve(problems.zeno_ball(), tol=1e-6, progress=False)
    with pytest.raises(sl.SettingError, match="max_step is 0"):
        sol.verify(max_step=0.0)
    with pytest.raises(sl.SettingError, match="must be the System or Problem of the run"):
        sol.verify(system=3.0)


# ---- files


def test_a_verification_is_kept_in_a_file(tmp_path):
    sol = sl.solve(problems.zeno_ball(), tol=1e-6, verify=True, progress=False)
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    assert str(loaded.verification) == str(sol.verification)
    assert loaded.verification.growth.tobytes() == sol.verification.growth.tobytes()
    assert loaded.message == sol.message and "A second run" in sol.message


def test_a_loaded_run_needs_its_system_to_be_verified(tmp_path):
    low = sl.Event(lambda t, q, v: q[0] - 0.25, name="low")
    sol = sl.solve(problems.zeno_ball(), tol=1e-6, events=low, progress=False)
    sol.save(tmp_path / "run.h5")
    loaded = sl.load(tmp_path / "run.h5")
    with pytest.raises(sl.SettingError, match=r"a loaded solution has no functions: give verify\(system=...\)"):
        loaded.verify()
    with pytest.raises(sl.SettingError, match="the run had the events 'low'"):
        loaded.verify(problems.zeno_ball())
    again = loaded.verify(problems.zeno_ball(), events=low, progress=False)
    assert again.errors == sol.verify(progress=False).errors


def rewritten(path, *, minor: int | None, change) -> None:
    """Change words and variables of a file of results and give it a valid checksum again."""
    content = files.read(path, "results")
    with h5py.File(path, "r") as file:
        variables = {
            name: files.Variable(values, tuple(scale[0].name.strip("/") for scale in file[name].dims if len(scale)))
            for name, values in content.arrays.items()
        }
    variables, about = change(variables, {k: v for k, v in content.about.items() if k not in ("version", "variables")})
    image = files._image("results", variables, about)
    buffer = io.BytesIO(image)
    with h5py.File(buffer, "r+") as file:
        del file.attrs["saltus_format_minor"]
        if minor is not None:
            file.attrs["saltus_format_minor"] = minor
    image = buffer.getvalue()
    at = image.index(files.MARK) + len(files.MARK)
    path.write_bytes(image[:at] + files._checksum(image, at).encode() + image[at + len(files.BLANK) :])


def test_results_of_the_first_layout_load_with_defaults(tmp_path):
    path, problem = tmp_path / "run.h5", problems.zeno_ball()
    sol = sl.solve(problem, tol=1e-6, verify=True, progress=False)
    sol.save(path)

    def older(variables, about):
        kept = {
            name: part for name, part in variables.items() if name.split("/")[0] not in ("verification", "certificate")
        }
        return kept, {k: v for k, v in about.items() if k not in ("kinds", "asked", "verification")}

    rewritten(path, minor=None, change=older)
    assert files.read(path, "results").minor == 0
    loaded = sl.load(path)
    assert loaded.verification is None
    assert loaded.q.tobytes() == sol.q.tobytes() and list(loaded.events["kind"]) == list(sol.events["kind"])
    assert loaded(1.7).q == sol(1.7).q
    with pytest.raises(sl.SettingError, match="older files: solve again"):
        loaded.verify(problem)


def test_what_a_later_minor_version_adds_is_passed_over(tmp_path):
    path = tmp_path / "run.h5"
    sol = sl.solve(problems.zeno_ball(), tol=1e-6, verify=True, progress=False)
    sol.save(path)

    def later(variables, about):
        variables["scene/faces"] = files.Variable(np.arange(6.0).reshape(2, 3), ("face", "axis"))
        variables["parameters/values"] = files.Variable(np.ones(2), ("parameter",))
        about["scheme"]["description"]["settings"]["setting_to_come"] = 3.0
        about["verification"]["word_to_come"] = "x"
        about["kinds"][0] = "a kind of event that is to come"
        return variables, {**about, "scene": {"camera": [0.0, 1.0]}}

    rewritten(path, minor=files.LIMITS.minor + 5, change=later)
    loaded = sl.load(path)
    assert loaded.v.tobytes() == sol.v.tobytes()
    assert set(loaded.events["kind"]) == {"unknown", "zeno"}
    assert loaded.scheme.name == sol.scheme.name
    assert loaded.verification.errors == sol.verification.errors
    loaded.save(tmp_path / "again.h5")
    assert list(sl.load(tmp_path / "again.h5").events["kind"]) == list(loaded.events["kind"])


def test_a_later_format_is_refused_with_the_version_that_reads_it(tmp_path, monkeypatch):
    path = tmp_path / "run.h5"
    monkeypatch.setattr(files, "LIMITS", files.LIMITS._replace(format=7))
    monkeypatch.setattr(sl, "__version__", "9.2")
    sl.solve(problems.zeno_ball(), tol=1e-6, progress=False).save(path)
    monkeypatch.undo()
    with pytest.raises(sl.FileFormatError, match=r"written by saltus 9.2, read it with that version"):
        sl.load(path)


# ---- words and pictures


def test_the_command_line_verifies(call):
    code, out, _ = call("run zeno-ball --tol 1e-6 --verify --progress never")
    assert code == 0
    assert "verified     Second run: hp-TDG with tol = 1e-08" in out and "kept." in out


def test_a_verification_is_drawn(tmp_path):
    sol = sl.solve(problems.zeno_ball(), tol=1e-6, progress=False)
    sol.verify(progress=False).plot(path=tmp_path / "verified.png")
    assert (tmp_path / "verified.png").stat().st_size > 10_000
