"""View: a run to look at, in a notebook or saved as a page, a film or glTF; what `Solution.view` returns."""

from __future__ import annotations

import functools
import html
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from saltus.errors import SettingError
from saltus.view.content import Options, Seen, packed, seen
from saltus.view.page import page

if TYPE_CHECKING:
    from saltus.solution import Solution

SUFFIXES = (".html", ".mp4", ".gif", ".glb")
TALL = 620  # pixels of a page in a notebook


class View:
    """A run to look at: shows itself in a notebook, `save` writes .html, .mp4, .gif or .glb."""

    def __init__(self, solution: Solution, options: Options):
        self._options, self._seen = options, seen(solution, options)

    def __repr__(self) -> str:
        picture = self._seen.picture
        count = len(picture.bodies)
        what = f"{count} {'body' if count == 1 else 'bodies'} in {'the plane' if picture.dimension == 2 else 'space'}"
        return f"View({what}, drawn to {self._seen.bound:.2g} m; save('run.html') writes it)"

    def _repr_html_(self) -> str:
        """Return the page inside of a frame, as notebooks show it."""
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width:100%;height:{TALL}px;border:0" '
            'title="a run of saltus"></iframe>'
        )

    @functools.cached_property
    def html(self) -> str:
        """The page as text."""
        title = self._options.title or self._seen.solution.name or self._seen.solution.system.name or "run"
        return page(title.replace("_", " "), packed(self._seen, self._options))

    @property
    def content(self) -> Seen:
        """What is drawn, as numbers."""
        return self._seen

    def save(
        self, path: str | os.PathLike, *, seconds: float | None = None, rate: float | None = None,
        width: int | None = None, height: int | None = None, span: tuple[float, float] | None = None,
        event_time: float | None = None, dark: bool | None = None,
    ) -> Path:  # fmt: skip
        """Write .html, a film (.mp4, .gif) or a scene for other programs (.glb); returns the path.

        Parameters
        ----------
        path
            Its ending decides.
        seconds
            Of films, as all that follow: how long it lasts [s]; 10.
        rate
            Frames per second; 25, of a .gif 12.
        width, height
            Size in pixels; 1280 x 720.
        span
            Begin and end of what it shows, in the time of the run [s]; all of it.
        event_time
            From 0, the axis is time, to 1, every interval between jumps lasts equally long; 0.
        dark
            Dark colours.
        """
        asked: dict[str, Any] = {
            "seconds": seconds, "rate": rate, "width": width, "height": height, "span": span,
            "event_time": event_time, "dark": dark,
        }  # fmt: skip
        film = {name: value for name, value in asked.items() if value is not None}
        place = Path(path)
        suffix = place.suffix.lower()
        if suffix not in SUFFIXES:
            raise SettingError(f"a view cannot be written to {str(path)!r}: it must end in {', '.join(SUFFIXES)}")
        if film and suffix not in (".mp4", ".gif"):
            raise SettingError(f"{', '.join(film)} belong to films, not to {suffix}: leave them out")
        if suffix != ".html" and len(self._seen.solution.t) < 2:
            raise SettingError(f"the run failed in its first step, so that nothing moves: save .html, not {suffix}")
        if suffix == ".html":
            place.write_text(self.html, encoding="utf-8", newline="\n")
        elif suffix == ".glb":
            from saltus.view.gltf import glb

            place.write_bytes(glb(self._seen))
        else:
            from saltus.view.film import film_of

            film_of(self, place, **film)
        return place


def view(solution: Solution, path: str | os.PathLike | None, options: Options) -> View:
    """Return the view of a run, saved where a path is given; see `Solution.view`."""
    made = View(solution, options)
    if path is not None:
        made.save(path)
    return made
