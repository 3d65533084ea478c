"""What a view is made of: keys that keep their bound, packed numbers, sketches, files, glTF, films."""

from __future__ import annotations

import copy
import dataclasses
import io
import json
import struct
import subprocess
import sys

import numpy as np
import pytest

import saltus as sl
from saltus.cli import main
from saltus.io import sketch as sketch_files
from saltus.view import Sketch, film, wave
from saltus.view.content import Options, limits_of
from saltus.view.frames import frames_at
from saltus.view.gltf import clip_times
from saltus.view.keys import cubic, jump_times, reaches
from saltus.view.pack import Pack, unpacked


def data_of(page: str) -> str:
    return page.split('<script id="data" type="text/plain">')[1].split("</script>")[0]


@pytest.fixture(scope="module")
def crank():
    return sl.solve(sl.problems.slider_crank_bodies(t_end=0.06), tol=1e-6)


@pytest.fixture(scope="module")
def box():
    return sl.solve(sl.problems.tumbling_box(t_end=1.0), tol=1e-6)


# ---- keys


def drawn(keys, t, side="+"):
    """Poses by the cubics between keys."""
    k = np.searchsorted(keys.t, t, side="right" if side == "+" else "left") - 1
    k = np.clip(k, 0, len(keys.t) - 2)
    h = (keys.t[k + 1] - keys.t[k])[:, None]
    s = (t - keys.t[k])[:, None] / h
    return cubic(s, h, keys.behind[k], keys.rate_behind[k], keys.before[k + 1], keys.rate_before[k + 1])


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7])
def test_no_body_is_drawn_farther_from_the_run_than_the_bound(crank, accuracy):
    seen = crank.view(accuracy=accuracy).content
    motion = seen.motion()
    t = np.random.default_rng(7).uniform(crank.t[0], crank.t[-1], 3000)
    true = seen.picture.motion.poses(t, crank(t).q)
    for b, keys in enumerate(motion.keys):
        off = np.abs(drawn(keys, t) - true[:, b])
        assert np.hypot(off[:, 0], off[:, 1]).max() <= motion.length
        assert off[:, 2].max() <= motion.angle[b]


def test_bodies_have_keys_of_their_own():
    sol = sl.solve(sl.problems.bead_column(t_end=1.3), tol=1e-6)
    counts = [len(keys.t) for keys in sol.view().content.motion().keys]
    assert counts[-1] < counts[0] / 3, counts  # the highest bead has hardly been touched


def test_a_pose_that_is_reset_is_drawn_from_both_sides():
    from saltus.problems.simplest_walker import heelstrike

    sol = sl.solve(sl.problems.simplest_walker(), tol=1e-8, events=heelstrike())
    t = jump_times(sol)
    seen = sol.view().content
    stance = seen.motion().keys[0]
    for side in ("-", "+"):
        true = seen.picture.motion.poses(t, sol(t, side).q)[:, 0]
        np.testing.assert_allclose(drawn(stance, t, side), true, atol=1e-9)
    assert np.abs(stance.behind - stance.before).max() > 0.3


def test_a_run_of_a_time_stepping_scheme_is_drawn_to_the_bound():
    sol = sl.solve(sl.problems.zeno_ball(), scheme=sl.MoreauJean(), h=2e-3)
    seen = sol.view(accuracy=1e-3).content
    t = np.random.default_rng(2).uniform(0.0, 4.0, 2000)
    off = drawn(seen.motion().keys[0], t)[:, 1] - seen.picture.motion.poses(t, sol(t).q)[:, 0, 1]
    assert np.abs(off).max() <= seen.bound
    assert len(seen.motion().keys[0].t) < 0.7 * len(sol.t)


def test_what_cannot_be_seen_is_refused_with_a_remedy():
    system = sl.System(M=1.0, f=-1.0, contacts=[sl.Contact(lambda q: q[0], name="floor")])
    sol = sl.solve(system, (0.0, 1.0), 1.0, 0.0)
    with pytest.raises(sl.SettingError, match=r"carries no sketch; give view\(scene=Sketch"):
        sol.view()
    few = sl.solve(sl.problems.zeno_ball(), tol=1e-6, t_eval=[0.0, 1.0, 4.0])
    with pytest.raises(sl.SettingError, match="save='steps'"):
        _ = few.view().html
    ball = sl.solve(sl.problems.zeno_ball(), tol=1e-6)
    with pytest.raises(sl.SettingError, match=r"must end in .html, .mp4"):
        ball.view("run.avi")
    for wrong in ({"accuracy": 0.0}, {"limits": (1.0, 2.0)}, {"limits": (1.0, -1.0, 1.0)}):
        with pytest.raises(sl.SettingError, match=r"accuracy is|limits are"):
            ball.view(**wrong)


# ---- contacts of mechanisms


def test_a_contact_acts_where_the_corner_of_the_slider_is(crank):
    frames = frames_at(crank, np.array([0.0, 0.03]))
    names = crank.system.contact_names
    for c, name in enumerate(names):
        x, y = (0.05 if "front" in name else -0.05), (0.025 if "upper" in name else -0.025)
        np.testing.assert_allclose(frames[:, c], [[x, y, 0.0, -np.sign(y), 1.0, 0.0]] * 2, atol=1e-12)


def test_a_contact_of_a_circle_acts_on_the_circle_towards_its_middle():
    sol = sl.solve(sl.problems.valve_train_bodies(t_end=0.01), tol=1e-6)
    t = np.linspace(0.0, 0.01, 7)
    frames = frames_at(sol, t)[:, sol.system.contact_names.index("tip contact")]
    roller = sol.system.scene.body("rocker").outlines[1]
    to_middle = np.array(roller.points[0]) - frames[:, :2]  # in the frame of the rocker
    np.testing.assert_allclose(np.hypot(*to_middle.T), roller.radius, rtol=1e-9)
    turn = sol.body("rocker").pose_at(t)[:, 2]
    c, s = np.cos(turn), np.sin(turn)
    normal = np.column_stack([c * frames[:, 2] + s * frames[:, 3], c * frames[:, 3] - s * frames[:, 2]])
    np.testing.assert_allclose(normal, to_middle / roller.radius, atol=1e-9)


# ---- packing


def test_packed_numbers_come_back_and_the_same_numbers_give_the_same_text():
    rng = np.random.default_rng(1)
    arrays = {"a": rng.normal(size=(7, 3)), "b": np.arange(5) - 2, "empty": np.zeros((0, 2))}
    texts = []
    for _ in range(2):
        pack = Pack()
        pack.add("a", arrays["a"], "f8")
        pack.add("b", arrays["b"], "i4")
        pack.add("empty", arrays["empty"], "f4")
        texts.append(pack.text({"title": "é <&>"}))
    assert texts[0] == texts[1]
    head, made = unpacked(texts[0])
    assert head["title"] == "é <&>"
    for name, values in arrays.items():
        np.testing.assert_array_equal(made[name], values)


def test_a_title_cannot_leave_its_place_in_the_page(crank):
    page = crank.view(title="</title><script>alert(1)</script>").html
    assert "<script>alert" not in page and page.count("<script") == 2


def test_the_bound_and_the_limits_are_written_in_the_file(crank):
    view = crank.view(accuracy=1e-4, limits=(1e-3, 1e-4, 1e-5))
    head, _ = unpacked(data_of(view.html))
    assert head["bound"]["length"] == view.content.bound == pytest.approx(1e-4 * view.content.size)
    assert head["limits"] == [1e-3, 1e-4, 1e-5]
    assert limits_of(crank)[0] == 1e-5
    assert Options().accuracy == 1e-5


def test_a_page_too_large_for_a_browser_is_refused(crank, monkeypatch):
    monkeypatch.setattr("saltus.view.content.MOST_BYTES", 1000)
    with pytest.raises(sl.SettingError, match="more than browsers open"):
        _ = crank.view().html


# ---- sketches


def test_parts_of_a_sketch_ride_on_each_other_and_their_rates_are_those_of_their_poses():
    s = Sketch()
    crank = s.bar(0.2, angle=2.0 * s.q[0] + 0.3, name="crank")
    rod = s.bar(0.5, at=crank.end, angle=s.q[1] - 1.0)
    s.box(0.1, 0.1, at=rod.at(0.2, 0.1), angle=wave(0.4, 3.0, 0.2))
    s.circle(0.1, at=(0.5 - s.q[1], wave(0.1, 5.0)))
    from saltus.view.picture import SketchMotion

    motion, rng = SketchMotion(s), np.random.default_rng(4)
    t, q, q_dot = rng.normal(size=4), rng.normal(size=(4, 2)), rng.normal(size=(4, 2))
    poses = motion.poses(t, q)
    tip = np.column_stack([np.cos(2.0 * q[:, 0] + 0.3), np.sin(2.0 * q[:, 0] + 0.3)]) * 0.2
    np.testing.assert_allclose(poses[:, 1, :2], tip, atol=1e-15)
    h = 1e-6
    slope = (motion.poses(t + h, q + h * q_dot) - motion.poses(t - h, q - h * q_dot)) / (2.0 * h)
    np.testing.assert_allclose(motion.rates(t, q, q_dot), slope, atol=1e-8)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda s: s.bar(-1.0), "length of a sketch is -1.0"),
        (lambda s: s.box(1.0, 1.0, at=(0.0,)), "give a point of a part, or 2 numbers"),
        (lambda s: s.circle(1.0, angle="up"), "angle of 'circle' is 'up'"),
        (lambda s: s.q[-1], "whole number from 0"),
        (lambda s: s.q[0] * s.q[1], "only plain numbers can multiply"),
        (lambda s: s.polygon([(0.0, 0.0), (1.0, 0.0)]), "has 2 corners"),
        (lambda s: s.solid("box", 1.0), r"belongs to Sketch\(3\)"),
        (lambda s: s.contact("floor", (0.0, 0.0), normal=(0.0, 0.0)), "it must be a direction"),
        (lambda s: Sketch(4), "must be 2 or 3"),
        (lambda s: Sketch(3).solid("mesh", points=[(0.0, 0.0, 0.0)], triangles=[(0, 1, 2)]), "a mesh needs points"),
        (lambda s: Sketch(3).solid("cone", 1.0), "knows no solid 'cone'"),
    ],
)
def test_a_wrong_sketch_says_what_is_wrong(wrong, said):
    with pytest.raises(sl.ModelError, match=said):
        wrong(Sketch())


def test_a_sketch_that_does_not_fit_the_run_is_refused():
    sol = sl.solve(sl.problems.zeno_ball(), tol=1e-6)
    s = Sketch()
    s.circle(0.1, at=(0.0, s.q[3]))
    with pytest.raises(sl.SettingError, match=r"follows q\[3\], but the run has 1 coordinates"):
        sol.view(scene=s)
    s = Sketch()
    part = s.circle(0.1, at=(0.0, s.q[0]))
    s.contact("wall", part.at(0.0, 0.0), normal=(0.0, 1.0))
    with pytest.raises(sl.SettingError, match="draws a contact 'wall', but the run has 'floor'"):
        sol.view(scene=s)


def test_every_sketch_of_the_library_fits_its_problem():
    found = 0
    for name in sl.problems.__all__:
        problem = getattr(sl.problems, name)()
        if isinstance(problem.system.scene, Sketch):
            from saltus.view.picture import check_sketch

            check_sketch(problem.system.scene, len(problem.q0), problem.system.contact_names)
            found += 1
    assert found >= 30


# ---- files


def test_a_sketch_comes_back_from_a_file_as_it_was(box, tmp_path):
    for scene in (
        sl.problems.slider_crank().system.scene,
        box.system.scene,
        sl.problems.vibrating_table().system.scene,
    ):
        given = json.loads(json.dumps(sketch_files.described(scene)))
        names = [touch.contact for touch in scene.touches]
        again = sketch_files.sketch_of(given, 20, names, [])
        assert sketch_files.described(again) == sketch_files.described(scene)


WRONG_SKETCHES = [
    (lambda g: g.update(dimension=5), "5 dimensions"),
    (lambda g: g["parts"][1].update(carrier=1), "does not come before it"),
    (lambda g: g["parts"][0].update(number=7), "not in their order"),
    (lambda g: g["parts"][0]["angle"].update(terms=[[99, 1.0]]), "follows coordinates that are not there"),
    (lambda g: g["parts"][0]["angle"].update(constant=float("inf")), "not finite"),
    (lambda g: g["parts"][0]["outlines"][0].update(kind="star"), "an outline of the scene is a 'star'"),
    (lambda g: g["touches"][0].update(contact="nobody"), "names contacts that are not there"),
    (lambda g: g["touches"][0]["place"].update(part=77), "on part 77 that is not there"),
    (lambda g: g["touches"][0].update(normal=[1.0]), "direction of a contact"),
    (lambda g: g.update(parts="many"), "no list"),
]


@pytest.mark.parametrize(("spoil", "said"), WRONG_SKETCHES, ids=[said for _, said in WRONG_SKETCHES])
def test_a_hostile_sketch_is_refused(spoil, said):
    scene = sl.problems.slider_crank().system.scene
    given = json.loads(json.dumps(sketch_files.described(scene)))
    spoil(given)
    with pytest.raises(ValueError, match=said):
        sketch_files.sketch_of(given, 3, sl.problems.slider_crank().system.contact_names, [])


@pytest.mark.parametrize("name", ["slider_crank_bodies", "slider_crank", "tumbling_box", "valve_train_bodies"])
def test_the_page_of_a_saved_run_is_that_of_the_live_one_byte_by_byte(name, tmp_path):
    ends = {"valve_train_bodies": 0.008, "tumbling_box": 0.8}
    sol = sl.solve(getattr(sl.problems, name)(t_end=ends.get(name, 0.03)), tol=1e-6)
    sol.save(tmp_path / "run.h5")
    assert main(["view", str(tmp_path / "run.h5"), "--out", str(tmp_path / "run.html")]) == 0
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == sol.view().html
    sl.load(tmp_path / "run.h5").save(tmp_path / "again.h5")
    assert sl.load(tmp_path / "again.h5").view().html == sol.view().html


def test_hostile_tables_between_the_times_are_refused(crank, tmp_path):
    from saltus.io import results
    from saltus.io.format import Content, read

    crank.save(tmp_path / "run.h5")
    whole = read(tmp_path / "run.h5", "results")

    def spoilt(**changed):
        arrays = {**whole.arrays, **changed}
        content = Content({k: v for k, v in arrays.items() if v is not None}, copy.deepcopy(whole.about), whole.minor)
        results.check_tables(content)
        return results._solution(content)

    t, gap, frames = (whole.arrays[name] for name in ("between/t", "between/gap", "contact_frame"))
    for changed in (
        {"between/t": t[::-1].copy()}, {"between/t": t[:-1]}, {"between/gap": np.full_like(gap, np.nan)},
        {"between/gap": gap[:, :3]}, {"between/t": t + 1.0}, {"between/kinetic_energy": None},
        {"contact_frame": frames[:-1]}, {"contact_frame": np.full_like(frames, np.inf)},
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"between|contact_frame"):
            spoilt(**changed)
    assert spoilt().view().html == crank.view().html


def test_an_older_file_without_the_tables_can_be_seen_without_curves_of_gaps(crank, tmp_path):
    from saltus.io import results
    from saltus.io.format import Content, read

    crank.save(tmp_path / "run.h5")
    whole = read(tmp_path / "run.h5", "results")
    arrays = {k: v for k, v in whole.arrays.items() if not k.startswith(("between/", "contact_frame"))}
    head, made = unpacked(data_of(results._solution(Content(arrays, whole.about, 2)).view().html))
    assert "gap_before" not in made and "t0" in made and head["bodies"][2]["name"] == "slider"


# ---- the command line


def test_a_run_is_seen_from_the_command_line(tmp_path, capsys):
    assert main(["run", "zeno-ball", "--save", str(tmp_path / "a.h5"), "--view", str(tmp_path / "live.html")]) == 0
    assert main(["view", str(tmp_path / "a.h5")]) == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "live.html").read_bytes()
    assert main(["view", str(tmp_path / "a.h5"), "--out", str(tmp_path / "a.avi")]) == 2
    assert "must end in .html" in capsys.readouterr().err
    assert main(["run", "zeno-ball", "--view", str(tmp_path / "nowhere" / "a.html")]) in (1, 2)


def test_a_page_needs_no_matplotlib(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = None; import saltus as sl; "
        "sl.solve(sl.problems.zeno_ball(), tol=1e-6).view('ball.html')"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)  # noqa: S603
    assert (tmp_path / "ball.html").stat().st_size > 10_000


# ---- glTF


def read_glb(data: bytes):
    """A checker of our own: head and accessors of a binary glTF file."""
    magic, version, size = struct.unpack("<4sII", data[:12])
    assert (magic, version, size) == (b"glTF", 2, len(data))
    length, kind = struct.unpack("<I4s", data[12:20])
    assert kind == b"JSON" and length % 4 == 0
    head = json.loads(data[20 : 20 + length])
    length2, kind2 = struct.unpack("<I4s", data[20 + length : 28 + length])
    assert kind2 == b"BIN\0" and 28 + length + length2 == len(data)
    binary = data[28 + length :]

    def array(number: int) -> np.ndarray:
        one = head["accessors"][number]
        view = head["bufferViews"][one["bufferView"]]
        columns = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[one["type"]]
        kind = {5126: "<f4", 5125: "<u4"}[one["componentType"]]
        made = np.frombuffer(binary, kind, one["count"] * columns, view["byteOffset"]).reshape(-1, columns)
        if "min" in one:
            np.testing.assert_array_equal(made.min(axis=0), np.array(one["min"], dtype="f4"))
        return made

    return head, array


def played(head, array, node: int, path: str, s: np.ndarray) -> np.ndarray:
    """Values of a channel at times of the clip, as the glTF specification defines CUBICSPLINE."""
    animation = head["animations"][0]
    channel = next(c for c in animation["channels"] if c["target"] == {"node": node, "path": path})
    sampler = animation["samplers"][channel["sampler"]]
    assert sampler["interpolation"] == "CUBICSPLINE"
    t, values = array(sampler["input"])[:, 0].astype(float), array(sampler["output"]).astype(float)
    assert np.all(np.diff(t) > 0.0)
    into, at, out = values[0::3], values[1::3], values[2::3]
    k = np.clip(np.searchsorted(t, s, side="right") - 1, 0, len(t) - 2)
    h = (t[k + 1] - t[k])[:, None]
    made = cubic((s - t[k])[:, None] / h, h, at[k], out[k], at[k + 1], into[k + 1])
    return made / np.linalg.norm(made, axis=1)[:, None] if path == "rotation" else made


def check_glb(sol, view, tmp_path):
    data = view.save(tmp_path / "run.glb").read_bytes()
    head, array = read_glb(data)
    extras = head["animations"][0]["extras"]
    t = np.random.default_rng(5).uniform(sol.t[0], sol.t[-1], 400)
    s = np.interp(t, extras["run"], extras["clip"]) if extras["stretched"] else t - sol.t[0]
    picture = view.content.picture
    poses = picture.motion.poses(t, sol(t).q)
    for b, reach in enumerate(reaches(picture)):
        place, turn = played(head, array, b, "translation", s), played(head, array, b, "rotation", s)
        flat = picture.dimension == 2
        moved = np.linalg.norm(place[:, : picture.dimension] - poses[:, b, : picture.dimension], axis=1)
        if flat:
            half = 0.5 * poses[:, b, 2]
            true = np.column_stack([0.0 * half, 0.0 * half, np.sin(half), np.cos(half)])
        else:
            true = poses[:, b][:, [4, 5, 6, 3]]
        off = np.minimum(np.linalg.norm(turn - true, axis=1), np.linalg.norm(turn + true, axis=1))
        assert (moved + 2.0 * reach * off).max() <= extras["bound"]
    for mesh in head["meshes"]:
        for part in mesh["primitives"]:
            corners, triangles = array(part["attributes"]["POSITION"]), array(part["indices"])
            assert triangles.max() < len(corners) and len(triangles) % 3 == 0
    return extras


def test_gltf_holds_the_poses_of_the_box_to_the_bound(box, tmp_path):
    check_glb(box, box.view(), tmp_path)


def test_gltf_is_stretched_where_keys_would_fall_onto_each_other(tmp_path):
    sol = sl.solve(sl.problems.circuit_breaker(t_end=0.008), tol=1e-6)
    assert np.diff(jump_times(sol)).min() < 1e-12
    assert check_glb(sol, sol.view(), tmp_path)["stretched"]


def test_a_clip_whose_times_are_apart_is_not_stretched():
    t = np.linspace(1.0, 3.0, 100)
    clip, stretched = clip_times(t)
    assert not stretched
    np.testing.assert_array_equal(clip, t - 1.0)
    clip, stretched = clip_times(np.array([0.0, 1.0, 1.0 + 1e-15, 1.0 + 2e-15, 2.0]))
    assert stretched and np.all(np.diff(clip.astype(np.float32)) > 0.0)


# ---- films


def test_a_film_without_chromium_is_drawn_by_matplotlib_and_can_be_decoded(box, tmp_path, monkeypatch):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    monkeypatch.setenv("SALTUS_CHROMIUM", "no such program")
    place = box.view().save(tmp_path / "box.mp4", seconds=0.4, rate=10, width=320, height=200)
    frames = imageio_ffmpeg.read_frames(str(place))
    about = next(frames)
    assert about["size"] == (320, 200) and len(list(frames)) == 4


def test_a_film_without_any_program_names_both_remedies(box, monkeypatch):
    monkeypatch.setenv("SALTUS_CHROMIUM", "no such program")
    monkeypatch.setattr(film.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(sl.SaltusError, match=r"(?s)Chromium.*matplotlib.*saltus\[film\]"):
        box.view().save("box.mp4")


def test_a_gif_is_written_without_ffmpeg(box, tmp_path, monkeypatch):
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setenv("SALTUS_CHROMIUM", "no such program")
    monkeypatch.setattr(film, "ffmpeg", lambda: None)
    place = box.view().save(tmp_path / "box.gif", seconds=0.3, rate=10, width=200, height=120)
    assert image.open(io.BytesIO(place.read_bytes())).n_frames >= 2


@pytest.mark.parametrize("wrong", [{"seconds": -1.0}, {"width": 33}, {"event_time": 2.0}])
def test_wrong_settings_of_a_film_are_refused(box, wrong):
    with pytest.raises(sl.SettingError, match=f"{next(iter(wrong))}"):
        box.view().save("box.mp4", **wrong)


def test_a_film_has_a_signature_so_that_python_refuses_names_it_does_not_have(box):
    with pytest.raises(TypeError, match="fps"):
        box.view().save("box.mp4", fps=3)


def test_settings_of_films_belong_to_films(box):
    with pytest.raises(sl.SettingError, match="seconds belong to films"):
        box.view().save("box.html", seconds=3.0)


def test_a_view_says_what_it_is_and_shows_itself_in_a_notebook(box):
    assert repr(box.view()).startswith("View(1 body in space, drawn to ")
    shown = box.view()._repr_html_()
    assert shown.startswith('<iframe srcdoc="') and shown.count('"') == shown.count('="') * 2
    assert dataclasses.is_dataclass(Options)
