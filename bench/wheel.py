"""make wheel: build the wheel of this platform and test it in a clean environment without numba.

Prints what was measured beside the targets; `--suite` runs the whole test suite on the wheel as well. The wheel goes to
`dist`, the environment to a temporary folder.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile

import waiting

ROOT = pathlib.Path(__file__).resolve().parents[1]
MOST_MEGABYTES = 3.0
# what objects may need from elsewhere: the C library, and our own function
ALLOWED = frozenset(
    (
        "acos acosh asin asinh atan atan2 atanh cos cosh erf erfc exp exp2 expm1 floor ceil trunc fmod hypot "
        "ldexp log log10 log1p log2 "
        "memcpy memmove memset pow sin sinh sqrt tan tanh saltus_give_way _GLOBAL_OFFSET_TABLE_"
    ).split()
)
PROBLEMS = """
import sys, warnings
import saltus as sl
warnings.simplefilter("ignore")
for name in sl.problems.__all__:
    problem = getattr(sl.problems, name)()
    first, last = problem.t_span
    end = first + 0.02 * (last - first)
    if problem.system is not None:
        assert sl.solve(problem, t_span=(first, end), progress=False).success, name
assert "numba" not in sys.modules
print(len(sl.problems.__all__))
"""


def run(*command: str | os.PathLike, **options) -> subprocess.CompletedProcess:
    """Run a program, which must end well."""
    return subprocess.run([str(word) for word in command], check=True, encoding="utf-8", **options)  # noqa: S603


def build_wheel() -> pathlib.Path:
    """Return the wheel of this checkout."""
    folder = ROOT / "dist"
    for old in folder.glob("saltus-*.whl"):
        old.unlink()
    run(sys.executable, "-m", "pip", "-q", "wheel", "--no-deps", "-w", folder, ROOT)
    return next(folder.glob("saltus-*.whl"))


def undefined_symbols(wheel: pathlib.Path, folder: pathlib.Path) -> set[str]:
    """Return what the objects of a wheel need from elsewhere."""
    found = set()
    with zipfile.ZipFile(wheel) as file:
        for name in (name for name in file.namelist() if name.endswith(".a")):
            path = pathlib.Path(file.extract(name, folder))
            said = run("nm", path, stdout=subprocess.PIPE).stdout
            defined = set(re.findall(r"^[0-9a-f]+ [A-TV-Z] (\S+)$", said, re.MULTILINE))
            found |= set(re.findall(r"^ +U (\S+)$", said, re.MULTILINE)) - defined
    # texts of built-in kinds ask for the sine of the C library by the name "libm.sin"
    return {name.removeprefix("libm.") for name in found}


def environment(wheel: pathlib.Path, folder: pathlib.Path, *extra: str) -> pathlib.Path:
    """Return the interpreter of a new environment with the wheel and what it depends on."""
    venv.create(folder, with_pip=True)
    inside = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    run(inside, "-m", "pip", "--disable-pip-version-check", "-q", "install", wheel, *extra)
    return inside


def main(arguments: list[str]) -> int:
    """Build, install, measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--suite", action="store_true", help="run all tests on the wheel")
    given = parser.parse_args(arguments)
    wheel = build_wheel()
    failed = False

    def row(what: str, measured: str, good: bool) -> None:
        nonlocal failed
        failed = failed or not good
        print(f"{'meets ' if good else 'MISSES'}  {what}: {measured}", flush=True)

    size = wheel.stat().st_size / 1e6
    row(f"{wheel.name} at most {MOST_MEGABYTES} MB", f"{size:.2f} MB", size <= MOST_MEGABYTES)
    with zipfile.ZipFile(wheel) as file:
        libraries = [name for name in file.namelist() if name.endswith(".a")]
    row("kernels are in the wheel", ", ".join(libraries) or "none", len(libraries) > 0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        if shutil.which("nm"):
            foreign = undefined_symbols(wheel, folder / "unpacked") - ALLOWED
            row("undefined symbols are of libm, libc and our own", str(sorted(foreign)), not foreign)
        inside = environment(wheel, folder / "venv")
        home = folder / "home"
        home.mkdir()
        # pip compiled what it installed; nothing of this process or this user may help
        clean = {"HOME": str(home), "PYTHONPATH": "", "PYTHONSAFEPATH": "1", "SALTUS_CACHE": ""}
        first = waiting.seconds(waiting.BALL, str(inside), **clean)
        found = waiting.ratios(str(inside), **clean)
        unit = found[waiting.NUMPY][1]
        row("README ball, first process, at most 3 x import numpy", f"{first / unit:.2f}", first <= 3.0 * unit)
        for program, (what, target) in waiting.PROGRAMS.items():
            ratio, spent = found[program]
            row(f"{what}, at most {target:g} x import numpy", f"{ratio:.2f} ({spent:.2f} s)", ratio <= target)
        made = run(inside, "-c", PROBLEMS, env={**os.environ, **clean}, cwd=folder, stdout=subprocess.PIPE)
        row("every problem of the library runs without numba", made.stdout.strip(), True)
        row("nothing was written into an empty home", str(list(home.iterdir())), not list(home.iterdir()))
        if given.suite:
            failed = not suite(inside, folder, clean) or failed
    return 1 if failed else 0


def suite(inside: pathlib.Path, folder: pathlib.Path, clean: dict[str, str]) -> bool:
    """Run the tests on the installed wheel, with numba absent; skipped ones are listed by name."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    needs = [need for name in ("test", "plot", "xarray", "conic") for need in extras[name] if "saltus" not in need]
    run(inside, "-m", "pip", "--disable-pip-version-check", "-q", "install", *needs)
    (folder / "copy").mkdir()
    for source in ROOT.iterdir():  # all but the sources: what is tested is installed
        if source.name in ("tests", "docs", "examples", "bench"):
            shutil.copytree(source, folder / "copy" / source.name)
        elif source.suffix in (".md", ".toml", ".cff") or source.name in ("LICENSE", "Makefile"):
            shutil.copy(source, folder / "copy")
    command = [inside, "-m", "pytest", "-n", "2", "-q", "-rfEs", "-p", "no:cacheprovider"]
    return (
        subprocess.run(  # noqa: S603
            [str(word) for word in command], cwd=folder / "copy", env={**os.environ, **clean}
        ).returncode
        == 0
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
