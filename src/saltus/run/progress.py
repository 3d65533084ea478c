"""Progress bars for runs and studies that take longer than a second, on terminals and in notebooks unless asked for."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any, Self


def in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, whose output is a page and no terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


class PlainBar:
    """A bar of characters in one line that is written again and again; notebooks need nothing installed for it."""

    def __init__(self) -> None:
        self._shown, self._width = 0.0, 0

    def draw(self, share: float, text: str) -> None:
        """Write the bar, a few times per second at most."""
        now = time.perf_counter()
        if now - self._shown < 0.2:
            return
        length = 40  # characters of the bar itself
        done = int(length * min(max(share, 0.0), 1.0))
        line = f"{text} [{'#' * done}{'.' * (length - done)}] {100.0 * share:3.0f} %"
        self._shown, self._width = now, max(self._width, len(line))
        sys.stderr.write("\r" + line.ljust(self._width))
        sys.stderr.flush()

    def stop(self) -> None:
        """Clear the line."""
        sys.stderr.write("\r" + " " * self._width + "\r")
        sys.stderr.flush()


class Bar:
    """A bar with a text before it, made when patience has ended; used as a context manager."""

    def __init__(self, wanted: bool | None):
        self._wanted = (sys.stderr.isatty() or in_notebook()) if wanted is None else wanted
        self._began = time.perf_counter()
        self._bar: Any = None
        self._task: Any = None

    @property
    def wanted(self) -> bool:
        """Whether a bar may be shown at all."""
        return self._wanted

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *unused) -> None:
        if self._bar is not None:
            self._bar.stop()

    def move(self, share: float, text: str) -> None:
        """Move the bar to a share of its length and change its text."""
        if not self._wanted or time.perf_counter() - self._began < 1.0:  # a second is waited for without a bar
            return
        if in_notebook():
            self._bar = self._bar or PlainBar()
            self._bar.draw(share, text)
            return
        if self._bar is None or self._task is None:
            from rich.console import Console
            from rich.progress import Progress as RichBar

            self._bar = RichBar(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(text, total=1.0)
            self._bar.start()
        self._bar.update(self._task, completed=share, description=text)


class Progress(Bar):
    """Show how far a run has come in simulated time; used around the march."""

    def __init__(self, t_span: tuple[float, float], wanted: bool | None):
        super().__init__(wanted)
        self._span = t_span

    def show(self, t: float) -> None:
        """Move the bar to simulated time t [s]."""
        start, end = self._span
        self.move((t - start) / (end - start), f"t to {end:g} s")


class StudyProgress(Bar):
    """Show which run of a study is under way; costs: what the runs take in proportion, one number for each."""

    def __init__(self, costs: Sequence[float], wanted: bool | None):
        super().__init__(wanted)
        self._costs = [float(cost) for cost in costs]
        self._done = 0

    def next_run(self) -> None:
        """Say that the next run begins."""
        share = sum(self._costs[: self._done]) / sum(self._costs)
        self._done += 1
        self.move(share, f"run {self._done} of {len(self._costs)}")
