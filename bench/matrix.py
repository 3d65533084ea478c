"""make matrix: the suite on every Python >= 3.11 of this machine, and on the lowest versions of what it needs.

Environments lie in .matrix (or in the folder of `--at`) and are kept, each with the log of its last run beside it.
`--only python3.13 --only lowest` takes some of them. All other arguments are pytest's: `python bench/matrix.py
tests/test_laws.py -x`. Pythons are those of uv, of pyenv and of the path; the lowest versions are those that
pyproject.toml names, on the oldest Python.

Kernels are built once, by the Python that runs this program, and serve all environments: machine code knows no Python.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
OLDEST = (3, 11)
ASK = "import sys; print(*sys.version_info[:2], sys.implementation.name, sys.executable)"
VERSIONS = """
import importlib.metadata, platform
found = (f"{name} {importlib.metadata.version(name)}" for name in ("numpy", "scipy", "numba"))
print(platform.python_version(), *found, sep=", ")
"""


def said(*command: str | os.PathLike) -> str:
    """Return what a program prints, nothing where it is missing or fails."""
    try:
        made = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=60)  # noqa: S603
    except OSError:
        return ""
    return made.stdout if made.returncode == 0 else ""


def pythons() -> dict[tuple[int, int], str]:
    """Return an interpreter for every version from 3.11 on."""
    candidates = [sys.executable]
    if shutil.which("uv"):
        candidates += [line.split()[-1] for line in said("uv", "python", "list", "--only-installed").splitlines()]
    pyenv = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
    candidates += [str(path) for path in sorted(pyenv.glob("versions/*/bin/python"))]
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        candidates += [str(path) for path in sorted(pathlib.Path(folder).glob("python3.[0-9][0-9]"))]
    found: dict[tuple[int, int], str] = {}
    for candidate in dict.fromkeys(candidates):
        words = said(candidate, "-c", ASK).split()
        if len(words) >= 4 and words[2] == "cpython" and (version := (int(words[0]), int(words[1]))) >= OLDEST:
            found.setdefault(version, candidate)
    return dict(sorted(found.items()))


def lowest() -> list[str]:
    """Return the lowest version of every package that saltus and its tests name: pkg>=1.2,<3 becomes pkg==1.2.*"""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(need for name in ("jit", "plot", "xarray", "conic") for need in extras[name])]
    found = (re.match(r"([\w.-]+)>=([\d.]+)", need) for need in named)
    return [f"{match[1]}=={match[2]}.*" for match in found if match]


def environment(folder: pathlib.Path, python: str, pins: list[str]) -> pathlib.Path | None:
    """Return the interpreter of an environment with saltus, its tests and pinned packages; None where that fails."""
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp = folder / "ready"
    made_for = stamp.read_text(encoding="utf-8") if stamp.is_file() else ""
    if made_for == str(ROOT) and stamp.stat().st_mtime > (ROOT / "pyproject.toml").stat().st_mtime:
        return inside
    pip = [str(inside), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    # without an environment of its own for the build, which would get another numba for nothing
    install = [*pip, "--no-build-isolation", "-e", f"{ROOT}[test]", *pins]
    new = [] if inside.exists() else [[python, "-m", "venv", str(folder)]]
    for command in (*new, [*pip, "hatchling", "editables"], install):
        if subprocess.run(command).returncode != 0:  # noqa: S603
            return None
    stamp.write_text(str(ROOT), encoding="utf-8")
    return inside


def suite(inside: pathlib.Path, log: pathlib.Path, arguments: list[str]) -> tuple[bool, str]:
    """Run the tests, print the names of those that fail; returns whether none did and the last line of pytest.

    The log grows with every test: a run that is cut off has said which ones failed.
    """
    # only the sources of this checkout: a path of the caller could bring other ones
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(inside), "-m", "pytest", "-n", "2", "-v", "-rfE", *arguments]
    with log.open("w", encoding="utf-8") as file:
        made = subprocess.run(command, cwd=ROOT, env=clean, stdout=file, stderr=subprocess.STDOUT)  # noqa: S603
    lines = log.read_text(encoding="utf-8").strip().splitlines() or ["no output"]
    print("\n".join(line for line in lines if line.startswith(("FAILED ", "ERROR "))), end="", flush=True)
    return made.returncode == 0, lines[-1].strip("= ")


def main(arguments: list[str]) -> int:
    """Run the tests in all environments and print a table; returns 1 where one of them is not green."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", type=pathlib.Path, default=ROOT / ".matrix", help="folder of the environments")
    parser.add_argument("--only", action="append", help="an environment: python3.12, lowest, ...; may be repeated")
    given, for_pytest = parser.parse_known_args(arguments)
    found = pythons()
    plans = {f"python{a}.{b}": (python, []) for (a, b), python in found.items()}
    plans["lowest"] = found[min(found)], lowest()
    if unknown := set(given.only or ()) - set(plans):
        parser.error(f"there is no environment {', '.join(sorted(unknown))}: it must be one of {', '.join(plans)}")
    folder = given.at.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    building = [sys.executable, "-m", "saltus.compile.build"]
    subprocess.run(building, check=True, env={**os.environ, "PYTHONPATH": str(ROOT / "src")})  # noqa: S603  our own
    table, failed = ["| environment | versions | | pytest | wall |", "|---|---|---|---|---|"], False
    for name in given.only or plans:
        inside = environment(folder / name, *plans[name])
        began, green, last, versions = time.perf_counter(), False, "the environment cannot be made", ""
        if inside is not None:
            versions = said(inside, "-c", VERSIONS).strip()
            green, last = suite(inside, folder / f"{name}.log", for_pytest)
        failed = failed or not green
        verdict, wall = "green" if green else f"RED, see {folder / name}.log", time.perf_counter() - began
        table.append(f"| {name} | {versions} | {verdict} | {last} | {wall:.0f} s |")
        print(table[-1], flush=True)
    print("\n".join(["", *table]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
