"""The list of commands: where each one is, how it is used, and its line in the help; imported without their modules."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import NamedTuple


class Command(NamedTuple):
    """One command.

    Attributes
    ----------
    home
        Module in saltus.cli and name of its function in it.
    usage
        What follows the name.
    line
        First line of its help.
    makes
        None where the function is the command itself; "tokens" or "alone" where it makes the command, given the words
        that were typed, or nothing.
    """

    home: tuple[str, str]
    usage: str
    line: str
    makes: str | None = None

    def action(self, tokens: list[str]) -> Callable:
        """Import the command and return its function."""
        module, name = self.home
        found = getattr(importlib.import_module(f"saltus.cli.{module}"), name)
        return {None: lambda: found, "tokens": lambda: found(tokens), "alone": lambda: found()}[self.makes]()


COMMANDS = {
    "run": Command(
        ("run", "run_command"), "PROBLEM [OPTIONS]",
        "Integrate a problem over its time span and say what happened.", "tokens",
    ),
    "sweep": Command(
        ("sweep", "sweep_command"), "PROBLEM --NAME FROM:TO:COUNT [OPTIONS]",
        "Make many runs of a problem over ranges or distributions of its parameters.", "tokens",
    ),
    "view": Command(
        ("view", "view_command"), "RUN.h5 [OPTIONS]",
        "Write a page that plays a saved run: open it in any browser, it needs no network.",
    ),
    "info": Command(("info", "info_command"), "RUN.h5", "Say what a saved run is and how far it can be trusted."),
    "plot": Command(("plot", "plot_command"), "RUN.h5 [OPTIONS]", "Draw a saved run as a figure."),
    "events": Command(("events", "events_command"), "RUN.h5 [OPTIONS]", "List the events of a saved run."),
    "convergence": Command(
        ("convergence", "convergence_command"), "PROBLEM --h-max NUMBER [OPTIONS]",
        "Measure how the errors of schemes shrink with the step size.", "tokens",
    ),
    "work-precision": Command(
        ("work_precision", "work_precision_command"), "PROBLEM [OPTIONS]",
        "Measure which precision schemes reach for which work.", "tokens",
    ),
    "reproduce": Command(
        ("reproduce", "reproduce_command"), "NAME [OPTIONS]",
        "Run published experiments anew and print measured orders beside the expected ones.", "alone",
    ),
    "diagnose": Command(
        ("diagnose", "diagnose_command"), "PROBLEM [OPTIONS]",
        "Say whether the motion depends continuously on its data at a position.", "tokens",
    ),
    "list": Command(
        ("catalogue", "list_command"), "[problems|schemes|solvers|controls|reproductions]",
        "List the problems, schemes, contact solvers, controls and reproductions that there are, one line each.",
    ),
    "compile": Command(
        ("warm", "compile_command"), "",
        "Compile the kernels for this processor, where the installation has none or its sources were changed.",
    ),
    "resume": Command(
        ("resume", "resume_command"), "FILE [OPTIONS]",
        "Go on with a run that was interrupted, from its last checkpoint to the end of its span.",
    ),
    "version": Command(
        ("version", "version_command"), "", "Show the version of saltus and of what its results depend on."
    ),
}  # fmt: skip
CONTACT_LINE = "Solve contact problems of FCLib files, and store those that a run met."
CONTACT_COMMANDS = ("solve", "dump")
COMMAND_NAMES = tuple(
    name for first in COMMANDS for name in (("contact", first) if first == "list" else (first,))
)  # in the order of the help
