"""python -m saltus.compile.build: compile all units of the package ahead of time.

Front end (numba) and back end (LLVM) run in as many processes as there are cores, one unit and one module at a time.
What is kept in the folder `parts` beside the result is not made again: after an edit only the units whose code,
constants or inlined callees changed, and the objects of their modules.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import contextlib
import dataclasses
import importlib
import importlib.util
import json
import multiprocessing
import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator

from saltus.compile import cache, digest, sources
from saltus.compile.archive import Damaged, Manifest, pack, replace
from saltus.compile.levels import BY_NAME
from saltus.compile.library import TEXTS
from saltus.compile.native import NO_UNITS
from saltus.compile.texts import object_of, prefix_of
from saltus.compile.unit import Unit

# seconds of one core, measured over all units of the package on a free machine
STARTING, TRANSLATING, COMPILING = 3.0, 0.16, 0.06
FOLDER = sources.PACKAGE / "kernels"
KINDS_MODULE = "saltus.mechanics.kinds"  # where built-in kinds are listed; by name: it lies above this module
NO_ROOM = 3  # how the program ends where files cannot be written
Report = Callable[[str, int, int], None]


def unit_files() -> list[pathlib.Path]:
    """Return the files of the package that declare units, by their paths inside of it."""
    files = sorted(sources.PACKAGE.rglob("*.py"))
    return [file.relative_to(sources.PACKAGE) for file in files if b"\n@unit(" in file.read_bytes()]


def package_modules() -> list[str]:
    """Return the modules of the package that declare units."""
    found = []
    for place in unit_files():
        parts = place.with_suffix("").parts
        found.append(".".join(("saltus", *(parts[:-1] if parts[-1] == "__init__" else parts))))
    return found


def package_units() -> list[Unit]:
    """Return all units of the package, each once."""
    found = []
    for name in package_modules():
        module = importlib.import_module(name)
        values = (v for v in vars(module).values() if isinstance(v, Unit) and v.__module__ == name)
        found += [unit for unit in dict.fromkeys(values) if not unit.allocates]
    return found


def package_texts() -> tuple[list[str], list[str]]:
    """Return the texts that built-in kinds of mechanics are compiled from, and the files that they depend on."""
    kinds = importlib.import_module(KINDS_MODULE)
    files = digest.sources_of({KINDS_MODULE, "saltus.build.families", "saltus.compile.lower"})
    return sorted({NO_UNITS, *kinds.texts()}), files


def build(folder: pathlib.Path, levels: list[str], jobs: int | None = None, report: Report | None = None) -> Manifest:
    """Bring a folder of kernels up to date and return its manifest.

    Parameters
    ----------
    folder
        Where the libraries go; made where it is missing.
    levels
        Names of processor levels (levels.py).
    jobs
        Processes; as many as there are cores by default.
    report
        Called with what is being done, how much of it is done and how much there is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder):
        return _Build(folder, levels, jobs or cores(), report or (lambda what, done, total: None)).run()


def can_build() -> bool:
    """Return whether numba is there."""
    return importlib.util.find_spec("numba") is not None


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What a build has to do: units to translate, units whose objects are compiled, and how long it takes [s]."""

    translated: int
    compiled: int

    @property
    def seconds(self) -> float:
        return STARTING + (self.translated * TRANSLATING + self.compiled * COMPILING) / cores()


def estimate(folder: pathlib.Path, level: str) -> Estimate:
    """Return what has to be done for one level in a folder."""
    parts = _Parts(folder / "parts") if (folder / "parts").is_dir() else None
    stale, count = 0, 0
    for unit in package_units():
        versions = len(unit.unit_signatures)
        missing = sum(parts is None or not parts.has(f"{digest.unit_digest(unit)}-{k}.bc") for k in range(versions))
        stale, count = stale + missing, count + versions
    try:
        fresh = level not in Manifest.read(folder).libraries
    except Damaged:
        fresh = True
    return Estimate(stale, count if fresh else stale)


def is_current(folder: pathlib.Path, levels: list[str]) -> bool:
    """Return whether a folder holds undamaged kernels of these sources for all levels; nothing is imported for that."""
    try:
        manifest = Manifest.read(folder)
        known = all(file.as_posix() in manifest.sources for file in unit_files())  # no file is newer than the kernels
        return (
            known
            and sources.source_hashes(manifest.sources) == manifest.sources
            and all(
                level in manifest.libraries and manifest.members(folder, level) is not None
                for name in levels
                for level in (name, f"{name}{TEXTS}")
            )
        )
    except Damaged:
        return False


class _Build:
    def __init__(self, folder: pathlib.Path, levels: list[str], jobs: int, report: Report):
        self.folder, self.levels, self.jobs, self.report = folder, levels, jobs, report
        self.parts = _Parts(folder / "parts")

    def run(self) -> Manifest:
        units = package_units()
        # now, not at the end: what is edited meanwhile is not what was built
        files = digest.sources_of({unit.__module__ for unit in units})
        texts, text_files = package_texts()
        hashes = sources.source_hashes(sorted({*files, *digest.TRANSLATORS, *text_files}))
        keys = {unit: digest.unit_digest(unit) for unit in units}
        self._front(units, keys)
        modules: dict[str, list[Unit]] = {}
        for unit in units:
            modules.setdefault(unit.__module__, []).append(unit)
        libraries = {}
        for level in self.levels:
            content = pack(self._back(level, modules, keys))
            replace(self.folder / f"{level}.a", content)
            libraries[level] = {"size": len(content), "sha256": sources.hash_of(content)}
            content = pack(self._texts(level, texts))
            replace(self.folder / f"{level}{TEXTS}.a", content)
            libraries[f"{level}{TEXTS}"] = {"size": len(content), "sha256": sources.hash_of(content)}
        symbols = [unit.symbol(k) for unit in units for k in range(len(unit.unit_signatures))]
        made = Manifest(hashes, sorted(symbols), sorted(prefix_of(text) for text in texts), libraries)
        made.write(self.folder)
        self.parts.prune()
        return made

    def _front(self, units: list[Unit], keys: dict[Unit, str]) -> None:
        versions = [(unit, k) for unit in units for k in range(len(unit.unit_signatures))]
        todo = [(unit, k) for unit, k in versions if not self.parts.has(f"{keys[unit]}-{k}.bc")]
        todo.sort(key=lambda pair: -len(pair[0].py_func.__code__.co_code))  # the largest first: an even end
        names = [(unit.__module__, unit.__name__, k) for unit, k in todo]
        for at, made in self._spread(_front, names, "translating"):
            unit, k = todo[at]
            self.parts.write(f"{keys[unit]}-{k}.bc", made)

    def _back(self, level: str, modules: dict[str, list[Unit]], keys: dict[Unit, str]) -> dict[str, bytes]:
        tasks, names, files = [], [], {}
        for module, units in modules.items():
            foreign = _inlined(units)
            used = [(unit, k) for unit in (*units, *foreign) for k in range(len(unit.unit_signatures))]
            files[module] = f"{object_digest(level, units)}.o"
            if not self.parts.has(files[module]):
                code = [(unit.symbol(k), self.parts.read(f"{keys[unit]}-{k}.bc"), unit in foreign) for unit, k in used]
                small = [unit.symbol(k) for unit, k in used if unit.inlined]
                tasks.append((code, small, BY_NAME[level].cpu))
                names.append(module)
        order = sorted(range(len(tasks)), key=lambda k: -sum(len(code) for _, code, _ in tasks[k][0]))
        for at, made in self._spread(_back, [tasks[k] for k in order], f"compiling for {level}"):
            self.parts.write(files[names[order[at]]], made)
        return {module: self.parts.read(file) for module, file in files.items()}

    def _texts(self, level: str, texts: list[str]) -> dict[str, bytes]:
        """Return the objects of generated texts, by what their symbols begin with."""
        translator = sources.hash_of((sources.PACKAGE / "compile" / "lower.py").read_bytes())
        files = {}
        for text in texts:
            said = "\n".join([level, digest.compiler_digest(), translator, text])
            files[text] = f"{sources.hash_of(said.encode())}.o"
        todo = [text for text in texts if not self.parts.has(files[text])]
        tasks = [(text, BY_NAME[level].cpu) for text in todo]
        for at, made in self._spread(_text, tasks, f"compiling kinds for {level}"):
            self.parts.write(files[todo[at]], made)
        return {prefix_of(text): self.parts.read(files[text]) for text in texts}

    def _spread(self, task: Callable, arguments: list, what: str) -> Iterator[tuple[int, bytes]]:
        """Run a task for many arguments in several processes and yield results as they come."""
        if not arguments:
            return
        _warm(task)
        self.report(what, 0, len(arguments))
        if self.jobs == 1 or len(arguments) == 1:
            for at, argument in enumerate(arguments):
                yield at, task(argument)
                self.report(what, at + 1, len(arguments))
            return
        # a fork has everything imported already
        method = "fork" if sys.platform == "linux" else "spawn"
        context = multiprocessing.get_context(method)
        with concurrent.futures.ProcessPoolExecutor(min(self.jobs, len(arguments)), mp_context=context) as pool:
            running = {pool.submit(task, argument): at for at, argument in enumerate(arguments)}
            failures = []
            try:
                for done, future in enumerate(concurrent.futures.as_completed(running), 1):
                    if future.exception() is None:
                        yield running[future], future.result()
                    else:
                        failures.append(future.exception())
                    self.report(what, done, len(arguments))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            if failures:
                raise ExceptionGroup("some kernels were not built", failures)


class _Parts:
    """Bitcode and objects of former builds, by hashes of what they were made from; checked before they are used."""

    def __init__(self, folder: pathlib.Path):
        self.folder, self.used = folder, set()
        if cache.is_entry(folder.parent):
            cache.opened(folder)
            self._content_of = cache.content_of
        else:
            folder.mkdir(exist_ok=True)
            self._content_of = pathlib.Path.read_bytes
        self._index = folder / "index.json"
        try:
            known = json.loads(self._content_of(self._index))
            # a name that is none of ours could lead anywhere, and what is not used any more is removed
            self.known = {k: str(v) for k, v in known.items() if cache.PART_NAME.fullmatch(k)}
        except (OSError, ValueError, AttributeError, RecursionError, cache.Refused):
            self.known = {}

    def has(self, name: str) -> bool:
        self.used.add(name)
        if name not in self.known:
            return False
        try:
            self.read(name)
        except (OSError, Damaged, cache.Refused):
            return False
        return True

    def read(self, name: str) -> bytes:
        """Return a part; raises Damaged where it is not what was written."""
        content = self._content_of(self.folder / name)
        if sources.hash_of(content) != self.known[name]:
            raise Damaged(f"{self.folder / name} is not the file that was written")
        return content

    def write(self, name: str, content: bytes) -> None:
        replace(self.folder / name, content)
        self.known[name] = sources.hash_of(content)
        replace(self._index, json.dumps(self.known).encode())  # an interrupted build goes on where it was

    def prune(self) -> None:
        """Remove the parts that the last build did not use; nothing else lies here but what we wrote."""
        for name in [name for name in self.known if name not in self.used]:
            with contextlib.suppress(OSError):
                (self.folder / name).unlink()
            del self.known[name]
        replace(self._index, json.dumps(self.known).encode())


def object_digest(level: str, units: list[Unit]) -> str:
    """Return a hash of all that the object of some units depends on: their code, and that of what is put into them."""
    said = [level, digest.compiler_digest(), *map(digest.unit_digest, units), *map(digest.unit_digest, _inlined(units))]
    return sources.hash_of("\n".join(said).encode())


def _inlined(units: list[Unit]) -> list[Unit]:
    """Return the small units of other modules that units call, directly or through other small ones."""
    found: dict[Unit, None] = {}
    todo = list(units)
    while todo:
        for callee in digest.callees(todo.pop()):
            if callee.inlined and callee not in found and callee not in units:
                found[callee] = None
                todo.append(callee)
    return list(found)


def _warm(task: Callable) -> None:
    """Import in this process what its children need."""
    if task is _front:
        from saltus.compile.jit import front

        front.prepare()
    else:
        from saltus.compile.jit import back  # noqa: F401


def _front(named: tuple[str, str, int]) -> bytes:
    from saltus.compile.jit import front

    module, name, version = named
    try:
        return front.bitcode(getattr(importlib.import_module(module), name), version)
    except Exception as error:
        error.add_note(f"while {module}.{name} was compiled")
        raise


def _back(task: tuple) -> bytes:
    from saltus.compile.jit import back

    code, small, cpu = task
    own = [content for _, content, foreign in code if not foreign]
    inlined = [(symbol, content) for symbol, content, foreign in code if foreign]
    return back.object_code(own, inlined, small, back.machine(cpu))


def _text(task: tuple[str, str]) -> bytes:
    return object_of(*task)


@contextlib.contextmanager
def _locked(folder: pathlib.Path) -> Iterator[None]:
    """Let one process at a time build in a folder; the lock goes with the process, however it ends."""
    try:
        import fcntl
    except ImportError:  # Windows: files are replaced as a whole there too, so two builds only cost time
        yield
        return
    # neither through a link nor emptied: what others put there under this name is not ours
    handle = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
    with os.fdopen(handle, "rb") as file:
        if cache.is_entry(folder):
            cache.checked(folder / ".lock", folder=False)  # whoever owns it could hold it for ever
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def main(arguments: list[str] | None = None) -> int:
    """Build from the command line."""
    parser = argparse.ArgumentParser(prog="python -m saltus.compile.build", description="Compile all kernels.")
    parser.add_argument("--to", type=pathlib.Path, default=FOLDER, help="folder (default: inside of the package)")
    parser.add_argument("--level", action="append", choices=sorted(BY_NAME), help="processor level; may be repeated")
    parser.add_argument("--jobs", type=int, help="processes (default: one per core)")
    given = parser.parse_args(arguments)
    began, levels = time.perf_counter(), given.level or [best_level()]
    with contextlib.suppress(Damaged):  # what is there stays up to date
        levels += [level for level in Manifest.read(given.to).libraries if level not in levels and level in BY_NAME]
    if is_current(given.to, levels):
        print(f"saltus: the kernels in {given.to} are up to date", file=sys.stderr)
        return 0
    show = _line if sys.stderr.isatty() else (lambda what, done, total: None)
    try:
        made = build(given.to, levels, given.jobs, show)
    except OSError as error:
        print(f"saltus: kernels cannot be kept in {given.to}: {error.strerror}", file=sys.stderr)
        return NO_ROOM
    except cache.Refused as refused:
        print(f"saltus: {refused}.", file=sys.stderr)
        return NO_ROOM
    size = sum(library["size"] for library in made.libraries.values()) / 1e6
    said = f"saltus: {len(made.symbols)} kernels for {', '.join(levels)} in {given.to}, {size:.1f} MB"
    print(f"{said}, {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return 0


def best_level() -> str:
    """Return the best level that this processor has."""
    from saltus.compile.levels import fitting
    from saltus.compile.loader import processor

    found = fitting(*processor())
    if not found:
        raise SystemExit(f"saltus has no kernels for a processor of type {processor()[0]}: SALTUS_KERNELS=none runs")
    return found[0].name


def _line(what: str, done: int, total: int) -> None:
    width = 30
    bar = "#" * (width * done // total)
    end = "\n" if done == total else ""
    print(f"\r{what:<26} [{bar:<{width}}] {done}/{total}", end=end, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
