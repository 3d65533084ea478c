"""What a view costs: sizes of pages, how soon they are ready and how fast they move, against an empty page.

    python bench/view.py            prints the table and writes bench/view.md

Times of a browser mean nothing by themselves: they are given as ratios to an empty page in the same browser, least of
several. Frames per second are those of a page that plays, without a GPU; an empty page that asks for frames is beside
them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

import saltus as sl
from saltus.mechanics.scene import Outline
from saltus.view import content
from saltus.view.browser import Browser, chromium
from saltus.view.film import ffmpeg
from saltus.view.keys import Keys, Motion
from saltus.view.page import page
from saltus.view.picture import Drawn, Picture, Touching
from saltus.view.sketch import Solid

HERE = Path(__file__).parent
EMPTY = "<!doctype html><html data-ready='yes'><link rel=icon href='data:,'><title>empty</title><body>"
FPS = """new Promise(done => { let n = 0; const at = performance.now(); const tick = () => { n++;
  performance.now() - at > 2500 ? done(1000 * n / (performance.now() - at)) : requestAnimationFrame(tick); };
  requestAnimationFrame(tick); })"""


@dataclasses.dataclass(frozen=True)
class Many:
    """Bodies that swing, as a run would give them, without a run: keys of their own for each."""

    bodies: int
    keys: int
    dimension: int = 2

    def text(self) -> str:
        """Return the packed data of a page with these bodies."""
        rng = np.random.default_rng(0)
        sol = sl.solve(sl.problems.zeno_ball(t_end=2.0), tol=1e-6)
        columns = 3 if self.dimension == 2 else 7
        side = int(np.ceil(np.sqrt(self.bodies)))
        keys = []
        for b in range(self.bodies):
            t = np.sort(np.concatenate([[0.0, 2.0], rng.uniform(0.0, 2.0, self.keys - 2)]))
            wave = 0.3 * np.sin(3.0 * t[:, None] + rng.uniform(0.0, 6.0, columns))
            rate = 0.9 * np.cos(3.0 * t[:, None] + rng.uniform(0.0, 6.0, columns))
            wave[:, 0] += b % side
            wave[:, 1] += b // side
            if self.dimension == 3:
                wave[:, 3:] = [1.0, 0.0, 0.0, 0.0] + 0.1 * wave[:, 3:]
            keys.append(Keys(t, wave, wave, rate, rate * rng.uniform(0.5, 1.0, (self.keys, 1))))
        square = Outline(kind="polygon", points=((-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2)))
        body = (
            Drawn("body", (square,)) if self.dimension == 2 else Drawn("body", solids=(Solid("box", (0.4, 0.4, 0.4)),))
        )
        made = Picture(self.dimension, (body,) * self.bodies, None, contacts=(Touching("floor"),))
        motion = Motion(tuple(keys), 1e-5, (1e-4,) * self.bodies)
        seen = content.Seen(sol, made, None, 1e-5, float(side))
        object.__setattr__(seen, "motion", lambda form=None: motion)
        return content.packed(seen, content.Options(title=f"{self.bodies} bodies"))


def ready(browser: Browser, path: Path, times: int) -> float:
    """Return how long a page takes until it can be used, least of several [s]."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        browser.visit(path)
        found.append(time.perf_counter() - began)
    return min(found)


def playing(browser: Browser) -> float:
    """Return frames per second of a page that plays."""
    browser.run("saltus.play()")
    made = browser.run(FPS)
    browser.run("saltus.pause()")
    return made


def filmed(folder: Path, name: str) -> str:
    """Return how fast a film of a page is made, as a line."""
    view = sl.solve(getattr(sl.problems, name)(), tol=1e-6).view()
    began, frames = time.perf_counter(), 100
    place = view.save(folder / "film.mp4", seconds=frames / 25.0)
    passed = time.perf_counter() - began
    return f"{name} {frames / passed:.1f} frames/s, {place.stat().st_size / 1000.0 / frames * 250.0:.0f} kB for 10 s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--loads", type=int, default=5, help="how often a page is opened")
    parser.add_argument("--out", type=Path, default=HERE / "view.md")
    given = parser.parse_args()
    if chromium() is None:
        raise SystemExit("there is no Chromium on this machine: make chromium")
    rows, sizes = [], []
    with tempfile.TemporaryDirectory() as folder, Browser() as browser:
        empty = Path(folder, "empty.html")
        empty.write_text(EMPTY, encoding="utf-8")
        plain, still = ready(browser, empty, given.loads), browser.run(FPS)
        pages = {
            "slider_crank 0.2 s": ("slider_crank", {}, 400),
            "slider_crank_bodies 0.2 s": ("slider_crank_bodies", {}, 400),
            "tumbling_box 2 s": ("tumbling_box", {"t_end": 2.0}, 200),
            "bead_column 20 s": ("bead_column", {"t_end": 20.0}, None),
            "valve_train_bodies": ("valve_train_bodies", {}, None),
        }
        for title, (name, options, aim) in pages.items():
            sol = sl.solve(getattr(sl.problems, name)(**options), tol=1e-6)
            began = time.process_time()
            view = sol.view()
            place = view.save(Path(folder, f"{name}.html"))
            made = time.process_time() - began
            keys = [len(one.t) for one in view.content.motion().keys]
            poses = content.Pack()
            content._keys(poses, view.content.motion())
            opened = ready(browser, place, given.loads)
            assert browser.requests == [] and browser.messages == []
            kilobytes = place.stat().st_size / 1000.0
            sizes.append((title, kilobytes, aim))
            rows.append(
                f"| {title} | {len(keys)} | {min(keys)} to {max(keys)} | {kilobytes:.0f} | "
                f"{len(poses.text({})) / 1000.0:.0f} | {aim or '-'} | {made:.2f} | {opened / plain:.1f} | "
                f"{browser.run('saltus.ready'):.0f} | {playing(browser):.0f} |"
            )
            print(rows[-1], flush=True)
        many = []
        for crowd, aim in (
            (Many(100, 300), 30),
            (Many(1000, 300), None),
            (Many(100, 300, 3), 20),
            (Many(1000, 300, 3), None),
        ):
            place = Path(folder, "many.html")
            place.write_text(page("many", crowd.text()), encoding="utf-8")
            opened = ready(browser, place, 2)
            # frames as they follow each other at full speed; short blocks, because others use the machine too
            blocks = [np.linspace(begin, begin + 1.0 / 6.0, 10) for begin in np.linspace(0.0, 1.8, 60)]
            evaluated = min(browser.run(f"saltus.evaluate({json.dumps(block.tolist())})") for block in blocks)
            drawn = min(
                browser.run(f"saltus.frames({json.dumps(np.linspace(0.1, 1.9, 10).tolist())})") for _ in range(3)
            )
            many.append(
                f"| {crowd.bodies} {'in the plane' if crowd.dimension == 2 else 'in space'} x {crowd.keys} keys | "
                f"{place.stat().st_size / 1e6:.1f} | {opened / plain:.1f} | {browser.run('saltus.ready'):.0f} | "
                f"{evaluated:.3f} | {drawn:.1f} | {playing(browser):.0f} | {aim or '-'} |"
            )
            print(many[-1], flush=True)
        again = browser.visit(empty) or browser.run(FPS)
        films = [filmed(Path(folder), name) for name in ("slider_crank_bodies", "tumbling_box")] if ffmpeg() else []
    text = [
        "# What a view costs",
        "",
        f"Written by `python bench/view.py`. Chromium without a window and without a GPU, 1280 x 720, 2 shared cores "
        f"(load {os.getloadavg()[0]:.0f} at the end). An empty page is open after {1000.0 * plain:.0f} ms and draws "
        f"{statistics.mean((still, again)):.0f} frames/s there.",
        "",
        "| run, tol 1e-6 | bodies | keys per body | page [kB] | poses alone [kB] | aim [kB] | made in [s of CPU] | "
        "ready / empty page | ready in page [ms] | frames/s |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *rows,
        "",
        "| bodies | page [MB] | ready / empty page | ready in page [ms] | evaluated [ms per frame] | "
        "drawn [ms per frame] | frames/s | aim |",
        "|---|---|---|---|---|---|---|---|",
        *many,
        "",
        f"Films of 1280 x 720 (aim 10 frames/s), Chromium started and page made included: {'; '.join(films)}.",
        "",
    ]
    given.out.write_text("\n".join(text), encoding="utf-8")
    for title, kilobytes, aim in sizes:
        assert aim is None or kilobytes <= aim, f"{title}: {kilobytes:.0f} kB"


if __name__ == "__main__":
    main()
