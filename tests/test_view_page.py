"""The page itself, in a Chromium without a window: poses, jumps, event time, arrows, badge, keys, layout."""

from __future__ import annotations

import dataclasses
import io
import json

import numpy as np
import pytest

import saltus as sl
from chromium import needs_chromium
from saltus.certificate import FOUND
from saltus.view.browser import Browser
from saltus.view.keys import jump_times

pytestmark = needs_chromium
IMPULSE = (230, 97, 0)  # of page.css, by day


@pytest.fixture(scope="module")
def browser():
    with Browser(1280, 720) as made:
        yield made


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs and their pages by name, each made once."""
    folder, made = tmp_path_factory.mktemp("pages"), {}
    problems = {
        "crank": lambda: sl.problems.slider_crank_bodies(t_end=0.1),
        "box": lambda: sl.problems.tumbling_box(t_end=1.0),
        "ball": lambda: sl.problems.zeno_ball(),
    }

    def get(name):
        if name not in made:
            sol = sl.solve(problems[name](), tol=1e-6)
            view = sol.view(folder / f"{name}.html")
            made[name] = sol, view, folder / f"{name}.html"
        return made[name]

    return get


def opened(browser, page):
    browser.resize(1280, 720)
    browser.visit(page)
    assert browser.requests == [] and browser.messages == []


def states(browser, t, side):
    """Poses and rates of all bodies by the page (times, bodies, columns)."""
    text = json.dumps([float(x) for x in t])
    made = browser.run(f"{text}.map(t => {{const s = saltus.state(t, '{side}'); return [s.pose, s.rate]}})")
    return np.array([one[0] for one in made]), np.array([one[1] for one in made])


def true_states(sol, view, t, side):
    state, motion = sol(t, side), view.content.picture.motion
    return motion.poses(t, state.q), motion.rates(t, state.q, sol._rate(state.q, state.v))


@pytest.mark.parametrize("name", ["crank", "box"])
def test_poses_of_the_page_keep_the_bound_in_the_file_at_400_random_times(browser, runs, name):
    sol, view, page = runs(name)
    opened(browser, page)
    t = np.random.default_rng(11).uniform(sol.t[0], sol.t[-1], 400)
    pose, _ = states(browser, t, "+")
    true, _ = true_states(sol, view, t, "+")
    bound, n = browser.run("saltus.head.bound"), view.content.picture.dimension
    for b, angle in enumerate(bound["angle"]):
        assert np.linalg.norm(pose[:, b, :n] - true[:, b, :n], axis=1).max() <= bound["length"]
        turned = (
            np.abs(pose[:, b, 2] - true[:, b, 2])
            if n == 2
            else 2.0 * np.linalg.norm(pose[:, b, 3:] - true[:, b, 3:], axis=1)
        )
        assert turned.max() <= angle
    assert browser.requests == [] and browser.messages == []


@pytest.mark.parametrize("name", ["crank", "box", "ball"])
def test_both_sides_of_every_jump_are_those_of_the_run(browser, runs, name):
    sol, view, page = runs(name)
    opened(browser, page)
    t = jump_times(sol)
    assert browser.run("saltus.jumps()") == t.tolist()
    jumped = 0.0
    for side in ("-", "+"):
        pose, rate = states(browser, t, side)
        true_pose, true_rate = true_states(sol, view, t, side)
        np.testing.assert_allclose(pose, true_pose, rtol=0.0, atol=1e-6)
        assert (np.abs(rate - true_rate) / (1.0 + np.abs(true_rate))).max() <= 1e-6
        jumped = np.abs(rate - jumped).max()
    assert jumped > 0.5


def test_screen_time_and_time_are_inverse_at_every_jump(browser, runs):
    _, _, page = runs("crank")
    opened(browser, page)
    for share in (0, 0.5, 1):
        browser.run(f"saltus.stretch({share})")
        wrong = browser.run("saltus.jumps().filter(t => saltus.time(saltus.tau(t)) !== t)")
        assert wrong == [], share


def test_in_event_time_the_impacts_of_the_zeno_ball_are_equally_spaced(browser, runs):
    sol, _, page = runs("ball")
    opened(browser, page)
    browser.run("saltus.stretch(1)")
    wide = browser.run("document.getElementById('timeline').clientWidth")
    events = sol.events[np.isin(sol.events["kind"], ("impact", "zeno"))]
    until = events["t"][events["kind"] == "zeno"][0]
    times = np.unique(events["t"][events["t"] <= until])
    assert len(times) > 8
    x = wide * np.array(browser.run(f"{json.dumps(times.tolist())}.map(saltus.tau)"))
    assert np.ptp(np.diff(x)) <= 1.0
    browser.run("saltus.stretch(0)")
    x = wide * np.array(browser.run(f"{json.dumps(times.tolist())}.map(saltus.tau)"))
    assert np.diff(x).min() < 2.0  # in time the last ones share a pixel


def scene_pixels(browser, colour, within=12):
    """How many pixels of the scene have a colour."""
    image = pytest.importorskip("PIL.Image")
    picture = np.asarray(image.open(io.BytesIO(browser.picture())).convert("RGB")).astype(int)
    left, top, wide, tall = browser.run(
        "(r => [r.left, r.top, r.width, r.height])(document.getElementById('drawing').getBoundingClientRect())"
    )
    # without the row of switches above and the scales below, which have the colour of what they stand for
    scene = picture[int(top) + 36 : int(top + tall) - 48, int(left) : int(left + wide)]
    return int(np.all(np.abs(scene - colour) <= within, axis=2).sum())


def test_impulses_are_drawn_on_the_right_side_of_a_jump_alone(browser, runs):
    sol, _, page = runs("box")
    opened(browser, page)
    impacts = sol.events[sol.events["kind"] == "impact"]
    hardest = np.argsort(-np.linalg.norm(impacts["impulse"], axis=1))[:3]
    for t in impacts["t"][hardest]:
        browser.run(f"saltus.seek({float(t)!r}, '+')")
        assert scene_pixels(browser, IMPULSE) >= 100
        browser.run(f"saltus.seek({float(t)!r}, '-')")
        assert scene_pixels(browser, IMPULSE) == 0


def test_the_badge_is_red_in_the_step_with_a_residual_and_green_elsewhere(browser, runs, tmp_path):
    sol, _, _ = runs("crank")
    inside = sol._certificate.copy()
    wrong = 1 + int(np.argmax(np.diff(sol.t)[10:-10])) + 10  # a long step: those of roundings have no middle
    inside[wrong, FOUND.defect] = 1e-3
    spoilt = dataclasses.replace(sol, _certificate=inside)
    opened(browser, spoilt.view(tmp_path / "wrong.html").save(tmp_path / "wrong.html"))
    middles = 0.5 * (sol.t[1:] + sol.t[:-1])
    seen = np.flatnonzero(np.diff(sol.t) > 1e-12)
    red = browser.run(f"{json.dumps(middles[seen].tolist())}.map(t => saltus.state(t, '+').certificate.red)")
    assert seen[red].tolist() == [wrong - 1]
    others = seen[np.searchsorted(seen, wrong - 1) + np.array([-1, 1])]
    for k, style in ((wrong - 1, "bad"), *((k, "") for k in others)):
        browser.run(f"saltus.seek({float(middles[k])!r}, '+')")
        assert browser.run("document.getElementById('badge').className") == style
    browser.run(f"saltus.seek({float(middles[wrong - 1])!r}, '+')")
    assert "1.0e-3" in browser.run("document.getElementById('badge').textContent")


def test_gaps_forces_and_ledger_of_the_page_are_those_of_the_run(browser, runs):
    sol, _, page = runs("crank")
    opened(browser, page)
    t = np.concatenate([np.random.default_rng(5).uniform(0.0, 0.1, 60), jump_times(sol)[::5]])
    made = browser.run(
        f"{json.dumps(t.tolist())}.map(t => {{const s = saltus.state(t, '+'); return [s.gap, s.ledger]}})"
    )
    gap, ledger = (np.array([one[k] for one in made]) for k in (0, 1))
    assert np.abs(gap - sol.gap_at(t)).max() <= 2e-3 * np.abs(sol.gap_at(t)).max()
    true = sol.energy_at(t)
    for column, values in enumerate((true.kinetic, true.work, true.dissipation.sum(axis=1))):
        assert np.abs(ledger[:, column] - values).max() <= 1e-3 * np.abs(true.kinetic).max()
    jumps = jump_times(sol)
    force = np.array(browser.run(f"{json.dumps(jumps.tolist())}.map(t => saltus.state(t, '+').force)"))
    np.testing.assert_allclose(force, sol.force_at(jumps), rtol=1e-4, atol=1e-4 * np.abs(force).max())


CODES = {"Tab": 9, " ": 32, "ArrowRight": 39}  # without them Chromium moves no focus and presses no switch


def press(browser, key, text=""):
    code = {"windowsVirtualKeyCode": CODES[key]} if key in CODES else {}
    for kind in ("keyDown", "keyUp"):
        text_too = {"text": text} if text and kind == "keyDown" else {}
        browser.call("Input.dispatchKeyEvent", type=kind, key=key, **code, **text_too)


def test_keys_play_and_walk_from_event_to_event(browser, runs):
    sol, _, page = runs("crank")
    opened(browser, page)
    now = "+document.getElementById('clock').textContent.match(/= (.*) s/)[1]"
    events = np.unique(sol.events["t"])
    for expected in events[:3]:
        press(browser, ".", ".")
        assert browser.run(now) == pytest.approx(expected, rel=1e-11)
    press(browser, ",", ",")
    assert browser.run(now) == pytest.approx(events[1], rel=1e-11)
    press(browser, "s", "s")
    assert browser.run("document.getElementById('side').textContent") == "−"
    press(browser, "ArrowRight")
    assert browser.run(now) > events[1]
    before = browser.run(now)
    press(browser, " ", " ")
    browser.until(f"{now} !== {before}", 20.0)
    press(browser, " ", " ")
    still = browser.run(now)
    browser.run("new Promise(done => setTimeout(done, 200))")
    assert browser.run(now) == still


def test_every_switch_can_be_reached_and_used_without_a_mouse(browser, runs):
    opened(browser, runs("crank")[2])
    reached = []
    while "stretch" not in reached and len(reached) < 30:
        press(browser, "Tab")
        reached.append(browser.run("document.activeElement.id || document.activeElement.dataset.tab"))
        if reached[-1] == "forces":
            press(browser, " ", " ")
            browser.until("document.activeElement.checked === false", 10.0)
            clock = browser.run("document.getElementById('clock').textContent")
            assert clock.startswith("t = 0.0000")  # it did not play
        if reached[-1] == "magnify":
            press(browser, "ArrowRight")
            browser.until("+document.activeElement.value > 0", 10.0)
    wanted = {"follow", "magnify", "forces", "impulses", "curves", "phase", "events", "row"}
    assert wanted | {"previous", "play", "next", "side", "speed", "stretch"} <= set(reached)
    browser.run("document.activeElement.blur()")
    size = "(s => s(1) - s(0))(x => saltus.place([x, 0])[0])"
    before = browser.run(size)
    press(browser, "+", "+")
    assert browser.run(size) == pytest.approx(1.25 * before)
    press(browser, "0", "0")
    assert browser.run(size) == pytest.approx(before)
    left = browser.run("saltus.place([0, 0])[0]")
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight", modifiers=8)
    assert browser.run("saltus.place([0, 0])[0]") == pytest.approx(left + 20.0)


def test_the_list_of_events_is_filtered_and_a_row_leads_to_its_event(browser, runs):
    sol, _, page = runs("crank")
    opened(browser, page)
    browser.run("document.querySelector('[data-tab=events]').click()")
    rows = "document.querySelectorAll('#list tbody tr').length"
    assert browser.run(rows) == min(400, len(sol.events))
    kind = browser.run("saltus.head.kinds.indexOf('impact')")
    browser.run(f"(k => {{k.value = '{kind}'; k.onchange()}})(document.getElementById('kind'))")
    assert browser.run(rows) == np.count_nonzero(sol.events["kind"] == "impact")
    browser.run("(k => {k.value = '2'; k.onchange()})(document.getElementById('contact'))")
    mine = sol.events[(sol.events["kind"] == "impact") & (sol.events["contact"] == sol.system.contact_names[2])]
    assert browser.run(rows) == len(mine)
    browser.run("document.querySelectorAll('#list tbody tr')[1].click()")
    assert browser.run("+document.getElementById('clock').textContent.match(/= (.*) s/)[1]") == pytest.approx(
        mine["t"][1], rel=1e-11
    )


def test_events_closer_than_a_pixel_are_one_mark_with_their_count(browser, runs):
    sol, _, page = runs("ball")
    opened(browser, page)
    marks = browser.run("saltus.marks()")
    assert sum(one["count"] for one in marks) == len(sol.events)
    places = [(one["x"], one["hard"]) for one in marks]
    assert len(set(places)) == len(places) < len(sol.events)


OVERLAPS = """(() => {
  const boxes = [...document.querySelectorAll(
      'h1, #clock, #badge, #tools label, nav button, nav select, #bar button, #bar label, #ledger div')]
    .map(e => [e, e.getBoundingClientRect()]).filter(([, r]) => r.width && r.height);
  const made = [];
  boxes.forEach(([a, r], i) => boxes.slice(i + 1).forEach(([b, s]) => {
    const across = Math.min(r.right, s.right) - Math.max(r.left, s.left);
    const down = Math.min(r.bottom, s.bottom) - Math.max(r.top, s.top);
    if (!a.contains(b) && !b.contains(a) && across > 1 && down > 1) made.push([a.textContent, b.textContent]);
  }));
  for (const [e] of boxes) if (e.matches('#ledger div') && e.scrollWidth > e.clientWidth + 1)
    made.push([e.textContent, 'is cut']);
  return {made, wide: document.documentElement.scrollWidth - innerWidth};
})()"""


@pytest.mark.parametrize("size", [(1280, 720), (1920, 1080), (960, 540), (820, 620), (480, 620), (360, 740)])
def test_nothing_overlaps_and_nothing_is_wider_than_the_page(browser, runs, size):
    opened(browser, runs("crank")[2])
    browser.resize(*size)
    browser.run("saltus.seek(0.0351107589514, '+')")  # numbers are long there
    browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = browser.run(OVERLAPS)
    assert found["made"] == [] and found["wide"] <= 0


def test_a_failed_run_is_shown_with_its_message_and_the_blamed_contact_in_red(browser, tmp_path):
    floor = sl.Contact(lambda q: q[0] - np.where(q[0] < 0.2, np.nan, 0.0), e=0.5, name="floor")
    from saltus.view import Sketch

    s = Sketch()
    ball = s.circle(0.1, at=(0.0, s.q[0]), name="ball")
    s.contact("floor", ball.at(0.0, -0.1), normal=(0.0, 1.0))
    system = sl.System(M=1.0, f=-2.0, contacts=[floor], scene=s, name="ball")
    with pytest.raises(sl.RunError) as failed:
        sl.solve(system, (0.0, 4.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.01)
    page = failed.value.solution.view(tmp_path / "failed.html")
    opened(browser, page.save(tmp_path / "failed.html"))
    assert browser.run("document.getElementById('failure').hidden") is False
    assert "floor" in browser.run("document.getElementById('failure').textContent")
    assert browser.run("saltus.head.blamed") == [0]
    assert scene_pixels(browser, (196, 22, 28)) > 40


def test_no_contact_is_blamed_where_the_force_fails():
    """The message says what happened before, impacts of the floor, too."""
    from saltus.view.content import blamed

    made = sl.problems.zeno_ball()
    system = dataclasses.replace(made.system, f=lambda t, q, v: [-2.0 if t < 2.3 else np.nan * q[0]])
    with pytest.raises(sl.RunError) as failed:
        sl.solve(system, (0.0, 3.0), 1.0, 0.0)
    assert "'floor'" in failed.value.solution.message and blamed(failed.value.solution) == []


def drawn_ball(**given):
    from saltus.view import Sketch

    s = Sketch()
    s.circle(0.1, at=(0.0, s.q[0]), name="ball")
    return sl.System(M=1.0, **({"f": -2.0} | given), scene=s)


def test_a_run_that_fails_in_its_first_step_is_shown_where_it_began(browser, tmp_path):
    system = drawn_ball(f=lambda t, q, v: [np.where(t > 0.0, np.nan, -2.0)])
    with pytest.raises(sl.RunError) as failed:
        sl.solve(system, (0.0, 4.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.01)
    assert len(failed.value.solution.t) == 1
    page = failed.value.solution.view(tmp_path / "failed.html")
    opened(browser, page.save(tmp_path / "failed.html"))
    assert browser.run("saltus.state(0, '+').pose") == [[0.0, 1.0, 0.0]]
    assert "nan" in browser.run("document.getElementById('failure').textContent")
    for key in (".", ",", "s", " "):
        press(browser, key, key)
    assert browser.run("document.getElementById('badge').className") == "bad"
    assert "NaN" not in browser.run("document.body.innerText") and browser.messages == []
    with pytest.raises(sl.SettingError, match="nothing moves"):
        page.save(tmp_path / "failed.gif")


def test_without_contacts_their_switches_are_gone_and_what_moves_is_drawn(browser, tmp_path):
    low = sl.Event(lambda q: q[0] - 0.5, direction=-1, terminal=True, name="low")
    sol = sl.solve(drawn_ball(), (1e5, 1e5 + 4.0), 1.0, 0.0, tol=1e-6, events=[low])
    opened(browser, sol.view(tmp_path / "ball.html").save(tmp_path / "ball.html"))
    shown = "[...document.querySelectorAll('#tools label')].filter(e => e.offsetWidth).map(e => e.textContent.trim())"
    assert [one.split()[0] for one in browser.run(shown)] == ["follow"]
    assert browser.run("(r => r.options[r.selectedIndex].text)(document.getElementById('row'))") == "ball y"
    end = browser.run("saltus.seek(2e5); document.getElementById('clock').textContent")
    assert float(end.split()[2]) == pytest.approx(sol.t[-1], abs=2e-11)  # as many digits as tell events apart


def test_a_long_name_leaves_room_for_the_badge(browser, tmp_path):
    sol = sl.solve(drawn_ball(), (0.0, 1.0), 1.0, 0.0, tol=1e-6)
    page = sol.view(title="</script><script>alert(1)</script> long " * 20).save(tmp_path / "long.html")
    opened(browser, page)
    assert browser.run("(b => b.scrollWidth - b.clientWidth)(document.getElementById('badge'))") <= 1
    assert browser.run("document.documentElement.scrollWidth - innerWidth") <= 0


def test_the_factor_of_magnified_gaps_stands_in_the_picture(browser, runs):
    opened(browser, runs("crank")[2])
    browser.run("(m => {m.value = 1.3; m.oninput({target: m})})(document.getElementById('magnify'))")
    assert "gaps ×20" in browser.run("document.getElementById('notes').textContent")
    assert scene_pixels(browser, (47, 111, 222)) > 100
    browser.run("(m => {m.value = 0; m.oninput({target: m})})(document.getElementById('magnify'))")
    assert scene_pixels(browser, (47, 111, 222)) == 0
    assert "drawn to ±" in browser.run("document.getElementById('notes').textContent")


def test_a_floor_in_space_hides_what_is_behind_it(browser, tmp_path):
    from saltus.view import Sketch

    s = Sketch(3)
    s.solid("sphere", 0.4, at=(0.0, 0.0, s.q[0]), name="ball", colour="#00ff00")
    s.floor()
    sol = sl.solve(sl.System(M=1.0, f=0.0, scene=s), (0.0, 2.0), 1.0, -1.0, tol=1e-6)  # through the floor at t = 1
    opened(browser, sol.view(tmp_path / "through.html").save(tmp_path / "through.html"))

    def seen(t, pitch):
        browser.run(f"saltus.look({{pitch: {pitch}}}); saltus.seek({t}, '+')")
        return scene_pixels(browser, (0, 200, 0), within=60)

    above, half, below = (seen(t, 0.4) for t in (0.2, 1.0, 1.8))
    assert above > 1000 and 0.2 * above < half < 0.8 * above and below == 0
    assert seen(0.2, -0.3) == 0 and seen(1.8, -0.3) > 1000


def test_a_followed_body_stays_in_the_middle(browser, runs):
    _, _, page = runs("crank")
    opened(browser, page)
    browser.run("(f => {f.value = '2'; f.onchange({target: f})})(document.getElementById('follow'))")
    colour = (58, 166, 196)
    image = pytest.importorskip("PIL.Image")
    middles = []
    for t in (0.0, 0.013, 0.03):
        browser.run(f"saltus.seek({t}, '+')")
        picture = np.asarray(image.open(io.BytesIO(browser.picture())).convert("RGB")).astype(int)[:600, :750]
        edge = np.argwhere(np.all(np.abs(picture - colour) <= 10, axis=2))
        middles.append(edge.mean(axis=0))
    assert np.ptp(middles, axis=0).max() < 8.0


def test_a_page_shows_itself_in_a_notebook(browser, runs, tmp_path):
    _, view, _ = runs("ball")
    page = tmp_path / "notebook.html"
    page.write_text(
        "<!doctype html><html data-ready='yes'><link rel=icon href='data:,'><body>" + view._repr_html_(),
        encoding="utf-8",
    )
    browser.visit(page)
    browser.until("document.querySelector('iframe').contentWindow.saltus !== undefined", 30.0)
    assert browser.run("document.querySelector('iframe').contentWindow.saltus.state(1.0, '-').pose.length") == 1
    assert browser.requests == [] and browser.messages == []


def test_it_is_dark_where_the_reader_wants_it_dark(runs):
    with Browser(640, 480, dark=True) as night:
        opened(night, runs("ball")[2])
        assert night.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 30)"


def test_a_film_of_the_page_can_be_decoded_and_shows_every_event_of_its_span(runs, tmp_path):
    imageio_ffmpeg = pytest.importorskip("imageio_ffmpeg")
    sol, view, _ = runs("ball")
    place = view.save(tmp_path / "ball.mp4", seconds=1.0, rate=12, width=900, height=500, span=(0.5, 2.2))
    frames = imageio_ffmpeg.read_frames(str(place))
    assert next(frames)["size"] == (900, 500)
    pictures = [np.frombuffer(one, np.uint8).reshape(500, 900, 3).astype(int) for one in frames]
    assert len(pictures) == 12
    impacts = sol.events["t"][sol.events["kind"] == "impact"]
    impacts = impacts[(impacts > 0.5) & (impacts <= 2.2)]
    shown = [bool(np.all(np.abs(one[75:350, :520] - IMPULSE) < 40, axis=2).sum() > 20) for one in pictures]
    times = np.linspace(0.5, 2.2, 12)
    for t in impacts:
        assert shown[int(np.searchsorted(times, t))], t  # in the first frame that is not before it
    assert sum(shown) <= len(impacts) + 1
