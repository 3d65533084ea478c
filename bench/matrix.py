"""make matrix: the suite on every Python >= 3.11 of this machine, and on the lowest versions of what it needs.

Environments lie in .matrix and are kept. `python bench/matrix.py tests/test_laws.py -x` runs a part of the suite: all
arguments are pytest's. Pythons are those of uv, of pyenv and of the path; the lowest versions are those that
pyproject.toml names, on the oldest Python.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".matrix"
OLDEST = (3, 11)
ASK = "import sys; print(*sys.version_info[:2], sys.implementation.name, sys.executable)"


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


def environment(name: str, python: str, pins: list[str]) -> pathlib.Path | None:
    """Return the interpreter of an environment with saltus, its tests and pinned packages; None where that fails."""
    folder = FOLDER / name
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    stamp = folder / "ready"
    if stamp.is_file() and stamp.stat().st_mtime > (ROOT / "pyproject.toml").stat().st_mtime:
        return inside
    shutil.rmtree(folder, ignore_errors=True)
    pip = [str(inside), "-m", "pip", "--disable-pip-version-check", "-qq", "install"]
    # without an environment of its own for the build, which would get another numba for nothing
    install = [*pip, "--no-build-isolation", "-e", f"{ROOT}[test]", *pins]
    for command in ([python, "-m", "venv", str(folder)], [*pip, "hatchling", "editables"], install):
        if subprocess.run(command).returncode != 0:  # noqa: S603
            return None
    stamp.touch()
    return inside


def main(arguments: list[str]) -> int:
    found = pythons()
    plans = [(f"python{a}.{b}", python, []) for (a, b), python in found.items()]
    plans += [("lowest", found[min(found)], lowest())]
    rows, failed = [], False
    for name, python, pins in plans:
        inside = environment(name, python, pins)
        began, last = time.perf_counter(), "the environment cannot be made"
        if inside is not None:
            command = [str(inside), "-m", "pytest", "-n", "2", "-q", *arguments]
            made = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8")  # noqa: S603
            last = (made.stdout.strip().splitlines() or ["no output"])[-1]
            if made.returncode != 0:
                print(made.stdout[-5000:])
        green = inside is not None and made.returncode == 0
        failed = failed or not green
        rows.append(f"| {name} | {'green' if green else 'RED'} | {last} | {time.perf_counter() - began:.0f} s |")
        print(rows[-1], flush=True)
    table = ["| environment | | pytest | wall |", "|---|---|---|---|", *rows]
    print("\n".join(["", *table]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
