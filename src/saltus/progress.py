"""A progress bar for runs that take longer than a second, on terminals only unless asked for."""

from __future__ import annotations

import sys
import time

PATIENCE = 1.0  # seconds before anything is shown


class Progress:
    """Show how far a run has come; used as a context manager around the march."""

    def __init__(self, t_span: tuple[float, float], wanted: bool | None):
        self._span = t_span
        self._wanted = sys.stderr.isatty() if wanted is None else wanted
        self._began = time.perf_counter()
        self._bar = None
        self._task = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *unused) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, t: float) -> None:
        """Move the bar to simulated time t [s]."""
        if not self._wanted or time.perf_counter() - self._began < PATIENCE:
            return
        if self._bar is None or self._task is None:
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(f"t to {self._span[1]:g} s", total=self._span[1] - self._span[0])
            self._bar.start()
        self._bar.update(self._task, completed=t - self._span[0])
