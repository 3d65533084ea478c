"""Shared fixtures: the folder of external reference runs, a command line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from saltus.compile import code

# the same examples in every run: a suite that fails on Tuesdays tells nothing about the change of Monday
settings.register_profile("suite", derandomize=True, database=None)
settings.load_profile("suite")


def pytest_sessionstart(session):
    """Build the kernels that changed before the first test, in one process: no test has to wait for them.

    Programs that a shell runs in its background ignore Ctrl-C, which some tests send to themselves.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not hasattr(session.config, "workerinput"):
        code.interpreting()


EXTERNAL = ("SALTUS_FCLIB", "SALTUS_CASES")  # where files are that do not belong to the project


def pytest_terminal_summary(terminalreporter):
    """Say in one line how many tests were left out because files beside the checkout are absent."""
    reasons = [str(report.longrepr) for report in terminalreporter.stats.get("skipped", [])]
    absent = sum(any(name in reason for name in EXTERNAL) for reason in reasons)
    if absent:
        terminalreporter.write_line(
            f"{absent} tests were skipped: they need files beside the checkout (../shared), whose folders "
            f"{' and '.join(EXTERNAL)} name"
        )


@pytest.fixture(scope="session")
def reference_run():
    """Return a reader of external reference runs: name -> table, one row per time.

    The runs lie in `../shared/cases` beside the checkout, or where the environment says with SALTUS_CASES.
    """
    folder = Path(os.environ.get("SALTUS_CASES", Path(__file__).parents[2] / "shared" / "cases"))
    if not folder.is_dir():
        pytest.skip(f"no external reference runs at {folder}: set SALTUS_CASES to their folder")

    def read(name: str) -> np.ndarray:
        path = folder / name
        if not path.is_file():
            pytest.skip(f"the external reference run {path} is missing in the folder SALTUS_CASES")
        return np.loadtxt(path, skiprows=1)  # the first line holds the numbers of rows and columns

    return read


@pytest.fixture
def call(capsys):
    """Run a command line; returns exit code, output and errors."""

    from saltus.cli import main

    def run(line: str):
        code = main(line.split())
        out, err = capsys.readouterr()
        return code, out, err

    return run
