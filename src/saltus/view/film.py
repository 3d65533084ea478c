"""Films: the page frame by frame in Chromium where there is one, else the scene by matplotlib; ffmpeg packs it."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import io
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from saltus.errors import MissingExtraError, SaltusError, SettingError
from saltus.view.browser import Browser, chromium

if TYPE_CHECKING:
    from saltus.view.view import View

MOST_FRAMES = 20_000
RATES = {".mp4": 25.0, ".gif": 12.0}  # frames per second


@dataclasses.dataclass(frozen=True)
class Film:
    """What a film may be told.

    Parameters
    ----------
    seconds
        How long it lasts [s].
    rate
        Frames per second; 25, of a .gif 12.
    width, height
        Size in pixels.
    span
        Begin and end of what it shows, in the time of the run [s]; all of it by default.
    event_time
        From 0, the axis is time, to 1, every interval between jumps lasts equally long.
    dark
        Dark colours.
    """

    seconds: float = 10.0
    rate: float | None = None
    width: int = 1280
    height: int = 720
    span: tuple[float, float] | None = None
    event_time: float = 0.0
    dark: bool = False

    def __post_init__(self):
        for name in ("seconds", "rate"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float) or not 0.0 < value < 1e5):
                raise SettingError(f"{name} of a film is {value!r}: it must be a positive number")
        for name in ("width", "height"):
            value = getattr(self, name)
            if not isinstance(value, int) or not 64 <= value <= 8192 or value % 2:
                raise SettingError(
                    f"{name} of a film is {value!r}: it must be an even number of pixels from 64 to 8192"
                )
        if not isinstance(self.event_time, int | float) or not 0.0 <= self.event_time <= 1.0:
            raise SettingError(f"event_time is {self.event_time!r}: it must lie between 0 and 1")


def film_of(view: View, place: Path, **given: Any) -> None:
    """Write a film of a view."""
    known = {field.name for field in dataclasses.fields(Film)}
    if not known.issuperset(given):
        raise SettingError(f"a film has no {', '.join(sorted(set(given) - known))}: it has {', '.join(sorted(known))}")
    film = Film(**given)
    suffix = place.suffix.lower()
    rate = film.rate or RATES[suffix]
    count = max(2, round(film.seconds * rate))
    if count > MOST_FRAMES:
        raise SettingError(f"the film would have {count} frames: at most {MOST_FRAMES} are made")
    with _frames(view, film, count) as frames:
        if suffix == ".gif" and ffmpeg() is None:
            _gif(place, frames, rate)
        else:
            _packed(place, frames, rate)


def ffmpeg() -> str | None:
    """Return a program ffmpeg: that of imageio-ffmpeg, or of this machine."""
    if importlib.util.find_spec("imageio_ffmpeg") is not None:
        import imageio_ffmpeg

        with contextlib.suppress(RuntimeError):
            return imageio_ffmpeg.get_ffmpeg_exe()
    return shutil.which("ffmpeg")


@contextlib.contextmanager
def _frames(view: View, film: Film, count: int) -> Iterator[Iterator[bytes]]:
    """Give the frames as PNG, one after the other."""
    if chromium() is not None:
        with Browser(film.width, film.height, dark=film.dark) as browser, tempfile.TemporaryDirectory() as folder:
            page = Path(folder, "run.html")
            page.write_text(view.html, encoding="utf-8")
            browser.visit(page)
            yield _page_frames(browser, film, count)
    elif importlib.util.find_spec("matplotlib") is not None:
        yield _drawn_frames(view, film, count)
    else:
        raise MissingExtraError(
            "a film needs Chromium (Debian: apt install chromium), which films the page, or matplotlib, which draws "
            "the scene alone: pip install saltus[film]"
        )


def _page_frames(browser: Browser, film: Film, count: int) -> Iterator[bytes]:
    begin, end = film.span or browser.run("saltus.head.span")
    browser.run(f"saltus.stretch({film.event_time})")
    first, last = browser.run(f"[saltus.tau({begin!r}), saltus.tau({end!r})]")
    since = begin
    for k in range(count):
        tau = first + (last - first) * k / (count - 1)
        t = repr(end) if k == count - 1 else f"saltus.time({tau!r})"
        # events since the last frame are shown in this one, the first shows its own time
        since = browser.run(f"saltus.film({since!r}, {t})")
        yield browser.picture()


def _drawn_frames(view: View, film: Film, count: int) -> Iterator[bytes]:
    """Draw the scene alone, in the plane or seen along y in space."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from saltus.view.drawing import Drawing

    seen = view.content
    begin, end = film.span or (seen.solution.t[0], seen.solution.t[-1])
    figure = Figure(figsize=(film.width / 100.0, film.height / 100.0), dpi=100)
    canvas = FigureCanvasAgg(figure)
    drawing = Drawing(figure.add_axes((0.03, 0.05, 0.94, 0.88)), seen)
    for t in _times(seen.solution, begin, end, film.event_time, count):
        drawing.at(float(t))
        buffer = io.BytesIO()
        canvas.print_png(buffer, pil_kwargs={"compress_level": 1})
        yield buffer.getvalue()


def _times(solution: Any, begin: float, end: float, event_time: float, count: int) -> np.ndarray:
    from saltus.view.keys import jump_times

    jumps = jump_times(solution)
    knots = np.unique(np.concatenate([[begin], jumps[(jumps > begin) & (jumps < end)], [end]]))
    marks = (1.0 - event_time) * (knots - begin) / (end - begin) + event_time * np.linspace(0.0, 1.0, len(knots))
    return np.interp(np.linspace(0.0, 1.0, count), marks, knots)


def _packed(place: Path, frames: Iterator[bytes], rate: float) -> None:
    program = ffmpeg()
    if program is None:
        raise MissingExtraError(
            "a film needs ffmpeg to be packed: pip install saltus[film], which brings imageio-ffmpeg (or install "
            "ffmpeg); frames come from Chromium (Debian: apt install chromium) or matplotlib"
        )
    if place.suffix.lower() == ".gif":
        coding = ["-vf", "split[a][b];[a]palettegen=max_colors=96:stats_mode=diff[p];[b][p]paletteuse=dither=none"]
    else:
        coding = [
            "-c:v",
            "libx264",
            "-preset",
            "veryfast",
            "-pix_fmt",
            "yuv420p",
            "-crf",
            "20",
            "-movflags",
            "+faststart",
        ]
    part = place.with_name(f".{place.stem}.part{place.suffix.lower()}")
    command = [program, "-y", "-loglevel", "error", "-f", "image2pipe", "-c:v", "png", "-framerate", f"{rate:g}"]
    command += ["-i", "-", *coding, "-r", f"{rate:g}", str(part)]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=said)  # noqa: S603
        stream: Any = process.stdin
        try:
            with contextlib.suppress(BrokenPipeError):
                for frame in frames:
                    stream.write(frame)
        finally:
            with contextlib.suppress(BrokenPipeError):
                stream.close()
            code = process.wait()
            if code == 0:
                part.replace(place)
            part.unlink(missing_ok=True)
        if code != 0:
            said.seek(0)
            raise SaltusError(f"ffmpeg could not write {place}: {said.read().decode(errors='replace')[-500:].strip()}")


def _gif(place: Path, frames: Iterator[bytes], rate: float) -> None:
    """Write a GIF by Pillow, which matplotlib brings, where there is no ffmpeg."""
    if importlib.util.find_spec("PIL") is None:
        raise MissingExtraError("a .gif needs ffmpeg or Pillow: pip install saltus[film]")
    from PIL import Image

    pictures = [
        Image.open(io.BytesIO(frame)).convert("P", palette=Image.Palette.ADAPTIVE, colors=96) for frame in frames
    ]
    pictures[0].save(place, save_all=True, append_images=pictures[1:], duration=round(1000.0 / rate), loop=0)
