"""External contact problems, beside the checkout in `../shared/fclib` or where SALTUS_FCLIB says; skipped elsewhere."""

from __future__ import annotations

import os
import pathlib

import numpy as np
import pytest

from saltus.contact import ContactProblem, read_fclib

FCLIB = pathlib.Path(os.environ.get("SALTUS_FCLIB", pathlib.Path(__file__).resolve().parents[2] / "shared" / "fclib"))


def fclib_file(name: str) -> pathlib.Path:
    """Return a file of the folder by its name with folders and ending; skip the test where it is absent."""
    path = FCLIB / name
    if not path.exists():
        pytest.skip(f"{path} is absent; SALTUS_FCLIB names the folder of the FCLib problems")
    return path


def fclib(name: str) -> ContactProblem:
    """Return a frictional contact problem."""
    return read_fclib(fclib_file(f"{name}.hdf5"))


def lcp(name: str) -> ContactProblem:
    """Return a complementarity problem as unilateral contacts."""
    with np.load(fclib_file(f"lcp/{name}.npz")) as data:
        return ContactProblem(data["M"], data["q"])
