"""Machine code in the cache is attacked: by other users, by links, by damage. Nothing foreign is run or removed.

Every attack is a function that changes a cache with good kernels in it. Then kernels are looked for, an entry is
opened, old ones are pruned and a build runs: what is found must be nothing or the good kernels bit by bit, and what was
there outside of the entry must still be there. Another user is a real one: a forked process that gave up its rights.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import pathlib
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import pytest

import saltus as sl
from extras import needs_jit
from saltus.compile import archive, build, cache, library, sources

fcntl = pytest.importorskip("fcntl", reason="owners, modes and locks of Windows differ")
PACKAGE = pathlib.Path(sl.__file__).parent
ROOT = hasattr(os, "getuid") and os.getuid() == 0
OTHER = 12345  # a user who is not here
LONG_AGO = time.time() - 400.0 * 86400.0
PART = f"{'a' * 64}-0.bc"


@dataclasses.dataclass
class Place:
    """A cache with good kernels in it."""

    named: pathlib.Path  # what SALTUS_CACHE names: an old folder of the user
    base: pathlib.Path
    entry: pathlib.Path
    secret: pathlib.Path  # a key of the user, beside the cache
    monkeypatch: pytest.MonkeyPatch

    @property
    def manifest(self) -> pathlib.Path:
        return self.entry / archive.MANIFEST

    @property
    def library(self) -> pathlib.Path:
        return max(self.entry.glob("*.a"), key=lambda path: path.name)

    def plant(self, entry: pathlib.Path) -> None:
        """Make an entry that fits these sources and holds other code; all its hashes are right."""
        entry.mkdir(parents=True, exist_ok=True)
        good = json.loads(json.dumps(GOOD))
        evil = archive.pack({"evil": b"evil"})
        for level in good["libraries"]:
            _write(entry / f"{level}.a", evil)
            good["libraries"][level] = {"size": len(evil), "sha256": sources.hash_of(evil)}
        _write(entry / archive.MANIFEST, json.dumps(good).encode())

    def plant_parts(self, folder: pathlib.Path, name: str = PART) -> None:
        """Make parts of a build, with their hashes in the index."""
        folder.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):
            _write(folder / name, b"evil")
        _write(folder / "index.json", json.dumps({name: sources.hash_of(b"evil")}).encode())


GOOD: dict = {}  # the manifest of the good kernels


def _write(path: pathlib.Path, content: bytes) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()
    path.write_bytes(content)


def as_other(task: Callable[[], object]) -> None:
    """Run a task as another user, who must be able to do it."""
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            os.umask(0)
            task()
            os._exit(0)
        except BaseException as error:
            print(error, file=sys.stderr)
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, "the attack itself failed"


@pytest.fixture(scope="module")
def package(tmp_path_factory) -> pathlib.Path:
    """A copy of the package without kernels."""
    if library.find() is None:
        pytest.skip("no kernels are built for these sources")
    copy = tmp_path_factory.mktemp("lib") / "saltus"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "kernels"))
    return copy


@pytest.fixture
def place(package, tmp_path, monkeypatch) -> Place:
    folder = PACKAGE / "kernels" if (PACKAGE / "kernels").is_dir() else cache.known_entry(library._key())
    assert folder is not None
    monkeypatch.setattr(sources, "PACKAGE", package)
    named = tmp_path / "home"
    for way in (tmp_path, *tmp_path.parents):  # another user must get as far as this
        if way.name.startswith(("test_", "pytest-", "popen-")):  # folders that pytest made
            way.chmod(way.stat().st_mode | 0o111)
    (named / ".ssh").mkdir(parents=True)
    # names that a careless clean-up would take for its own
    for name in ("id_rsa", "manifest.json", "x86-64-v3.a", PART, "index.json", ".lock"):
        (named / ".ssh" / name).write_text(f"secret {name}", encoding="utf-8")
        (named / ".ssh" / name).chmod(0o600)
    os.utime(named / ".ssh", (LONG_AGO, LONG_AGO))
    monkeypatch.setenv("SALTUS_CACHE", str(named))
    monkeypatch.setattr(build, "package_units", list)  # a build of nothing: what matters is what it does to files
    monkeypatch.setattr(build, "package_texts", lambda: ([], []))
    entry = cache.entry(library._key())
    assert entry is not None
    for file in (archive.MANIFEST, *(path.name for path in folder.glob("*.a"))):
        shutil.copy(folder / file, entry / file)
    GOOD.clear()
    GOOD.update(json.loads((entry / archive.MANIFEST).read_bytes()))
    return Place(named, entry.parent, entry, named / ".ssh" / "id_rsa", monkeypatch)


# ---- attacks: name -> (needs another user, what is done)

ATTACKS: dict[str, tuple[bool, Callable[[Place], None]]] = {}


def attack(name: str, *, other: bool = False):
    def register(function):
        ATTACKS[name] = other, function
        return function

    return register


# another user, folders that all can write


@attack("a whole cache planted into a folder of mode 0777", other=True)
def _(place):
    shutil.rmtree(place.base)
    place.named.chmod(0o777)
    as_other(lambda: place.plant(place.entry))


@attack("a whole cache planted into a folder of mode 1777", other=True)
def _(place):
    shutil.rmtree(place.base)
    place.named.chmod(0o1777)
    as_other(lambda: place.plant(place.entry))


@attack("an empty cache folder of mode 0777 made in advance", other=True)
def _(place):
    shutil.rmtree(place.base)
    place.named.chmod(0o1777)
    as_other(lambda: (place.base.mkdir(), place.base.chmod(0o777)))


@attack("the folder exchanged for another one in a folder of mode 0777", other=True)
def _(place):
    place.named.chmod(0o777)
    as_other(lambda: (place.base.rename(place.named / "aside"), place.plant(place.entry)))


@attack("the folder exchanged for a link in a folder of mode 0777", other=True)
def _(place):
    place.named.chmod(0o777)

    def exchange():
        place.base.rename(place.named / "aside")
        place.plant(place.named / "evil" / place.entry.name)
        place.base.symlink_to(place.named / "evil")

    as_other(exchange)


@attack("an entry planted into a cache of mode 0777", other=True)
def _(place):
    shutil.rmtree(place.entry)
    place.base.chmod(0o777)
    as_other(lambda: place.plant(place.entry))


@attack("an entry planted into a cache of mode 0777 that was closed later", other=True)
def _(place):
    shutil.rmtree(place.entry)
    place.base.chmod(0o777)
    as_other(lambda: place.plant(place.entry))
    place.base.chmod(0o700)


@attack("an entry planted into a cache of mode 0775 by its group", other=True)
def _(place):
    shutil.rmtree(place.entry)
    os.chown(place.base, -1, OTHER)
    place.base.chmod(0o775)
    as_other(lambda: place.plant(place.entry))


@attack("an entry planted into a cache of mode 0775 that was closed later", other=True)
def _(place):
    shutil.rmtree(place.entry)
    os.chown(place.base, -1, OTHER)
    place.base.chmod(0o775)
    as_other(lambda: place.plant(place.entry))
    place.base.chmod(0o700)


def while_open(place: Place, task: Callable[[], object], mode: int = 0o777) -> None:
    """Let another user do something in the entry while it is open; then its owner closes it again."""
    for folder in (place.base, place.entry):
        folder.chmod(mode)
    as_other(task)
    for folder in (place.base, place.entry):
        folder.chmod(0o700)


@attack("manifest and library written while an entry was open", other=True)
def _(place):
    while_open(place, lambda: place.plant(place.entry))


@attack("the library alone exchanged while an entry was open", other=True)
def _(place):
    while_open(place, lambda: _write(place.library, archive.pack({"evil": b"evil"})))


@attack("the manifest alone exchanged while an entry was open", other=True)
def _(place):
    while_open(place, lambda: _write(place.manifest, json.dumps(GOOD).encode()))


@attack("a library of mode 0666 overwritten in place, the manifest made to fit", other=True)
def _(place):
    evil = archive.pack({"evil": b"evil"})
    for path in (place.library, place.manifest):
        path.chmod(0o666)
    for folder in (place.base, place.entry):
        folder.chmod(0o711)
    said = json.loads(place.manifest.read_bytes())
    said["libraries"][place.library.stem] = {"size": len(evil), "sha256": sources.hash_of(evil)}
    name = place.library  # others may pass through the folder, but not list it

    def overwrite():
        name.write_bytes(evil)
        place.manifest.write_bytes(json.dumps(said).encode())

    as_other(overwrite)


@attack("parts of a build planted while an entry was open", other=True)
def _(place):
    while_open(place, lambda: place.plant_parts(place.entry / "parts"))


@attack("parts planted into a folder of parts of one's own", other=True)
def _(place):
    (place.entry / "parts").mkdir()
    (place.entry / "parts").chmod(0o777)
    while_open(place, lambda: place.plant_parts(place.entry / "parts"))
    (place.entry / "parts").chmod(0o700)


@attack("an index of parts that names a key of the user, by another user", other=True)
def _(place):
    (place.entry / "parts").mkdir()
    (place.entry / "parts").chmod(0o777)
    while_open(place, lambda: place.plant_parts(place.entry / "parts", "../../../.ssh/id_rsa"))
    (place.entry / "parts").chmod(0o700)


@attack("a lock that another user owns", other=True)
def _(place):
    while_open(place, lambda: (_write(place.entry / ".lock", b""), (place.entry / ".lock").chmod(0o666)))


@attack("a lock that is a link to a key", other=True)
def _(place):
    while_open(place, lambda: (place.entry / ".lock").symlink_to(place.secret))


@attack("parts that are a link to a folder of keys", other=True)
def _(place):
    while_open(place, lambda: (place.entry / "parts").symlink_to(place.secret.parent))


@attack("a manifest that is a link to a planted one", other=True)
def _(place):
    def exchange():
        place.plant(place.entry / "evil")
        place.manifest.unlink()
        place.manifest.symlink_to(place.entry / "evil" / archive.MANIFEST)

    while_open(place, exchange)


@attack("a manifest that is a pipe", other=True)
def _(place):
    while_open(place, lambda: (place.manifest.unlink(), os.mkfifo(place.manifest)))


@attack("a library that is a pipe", other=True)
def _(place):
    name = place.library
    while_open(place, lambda: (name.unlink(), os.mkfifo(name)))


@attack("an index of parts that is a pipe", other=True)
def _(place):
    while_open(place, lambda: ((place.entry / "parts").mkdir(), os.mkfifo(place.entry / "parts" / "index.json")))


@attack("a lock that is a pipe", other=True)
def _(place):
    while_open(place, lambda: os.mkfifo(place.entry / ".lock"))


@attack("a folder of the user's name in the folder for temporary files", other=True)
def _(place):
    with_temporary_folder(place, lambda folder: place.plant(folder / cache.FOLDER_NAME / place.entry.name))


@attack("an empty folder of the user's name in the folder for temporary files", other=True)
def _(place):
    with_temporary_folder(place, lambda folder: (folder.mkdir(), folder.chmod(0o777)))


@attack("a link of the user's name in the folder for temporary files", other=True)
def _(place):
    def plant(folder):
        place.plant(folder.parent / "evil" / cache.FOLDER_NAME / place.entry.name)
        folder.symlink_to(folder.parent / "evil")

    with_temporary_folder(place, plant)


def with_temporary_folder(place: Place, plant: Callable[[pathlib.Path], object]) -> None:
    """Leave only the folder for temporary files to the user, after another user was there."""
    place.monkeypatch.delenv("SALTUS_CACHE")
    (place.named / "file").write_text("", encoding="utf-8")
    for name in ("XDG_CACHE_HOME", "HOME"):  # neither can be made
        place.monkeypatch.setenv(name, str(place.named / "file" / "none"))
    common = place.named / "tmp"
    common.mkdir()
    common.chmod(0o1777)
    place.monkeypatch.setattr(tempfile, "tempdir", str(common))
    as_other(lambda: plant(common / f"saltus-{os.getuid() if not ROOT else 0}"))


@attack("an old entry of another user", other=True)
def _(place):
    old = place.base / f"built-{'0' * 16}"
    place.base.chmod(0o777)
    as_other(lambda: (place.plant(old), os.utime(old, (LONG_AGO, LONG_AGO))))
    place.base.chmod(0o700)


@attack("the entry exchanged after it was judged", other=True)
def _(place):
    known = cache.known_entry

    def exchanged(key):
        found = known(key)
        if found is not None:
            place.entry.rename(place.base / "aside")
            place.base.chmod(0o777)
            as_other(lambda: place.plant(place.entry))
            place.base.chmod(0o700)
        return found

    place.monkeypatch.setattr(cache, "known_entry", exchanged)


@attack("the library exchanged after the manifest was read", other=True)
def _(place):
    read, name = archive.Manifest.read.__func__, place.library

    def exchanged(cls, folder, *rest):
        made = read(cls, folder, *rest)
        if folder == place.entry and name.exists():
            content = name.read_bytes()
            place.entry.chmod(0o777)
            place.base.chmod(0o711)
            as_other(lambda: _write(name, content))  # even the same bytes are not ours
            place.entry.chmod(0o700)
        return made

    place.monkeypatch.setattr(archive.Manifest, "read", classmethod(exchanged))


# links and names of one's own folder


@attack("the cache is a link")
def _(place):
    place.base.rename(place.named / "elsewhere")
    place.base.symlink_to(place.named / "elsewhere")


@attack("the cache is a link that leads nowhere")
def _(place):
    shutil.rmtree(place.base)
    place.base.symlink_to(place.named / "nowhere")


@attack("the cache is a link to itself")
def _(place):
    shutil.rmtree(place.base)
    place.base.symlink_to(place.base)


@attack("the cache is a link to a folder of keys")
def _(place):
    shutil.rmtree(place.base)
    place.base.symlink_to(place.secret.parent)


@attack("the entry is a link to a folder of keys")
def _(place):
    shutil.rmtree(place.entry)
    place.entry.symlink_to(place.secret.parent)


@attack("the library is a link")
def _(place):
    name, elsewhere = place.library, place.named / "elsewhere.a"
    name.rename(elsewhere)
    name.symlink_to(elsewhere)


@attack("an old entry is a link to a folder of keys")
def _(place):
    (place.base / f"built-{'1' * 16}").symlink_to(place.secret.parent)


@attack("parts of an old entry are a link to a folder of keys")
def _(place):
    old = place.base / f"built-{'2' * 16}"
    old.mkdir(mode=0o700)
    (old / "parts").symlink_to(place.secret.parent)
    os.utime(old, (LONG_AGO, LONG_AGO))


@attack("files of an old entry are links to keys")
def _(place):
    old = place.base / f"built-{'3' * 16}"
    old.mkdir(mode=0o700)
    for name in ("manifest.json", "x86-64-v3.a", ".lock"):
        (old / name).symlink_to(place.secret)
    os.utime(old, (LONG_AGO, LONG_AGO))


@attack("an old entry holds a thesis")
def _(place):
    old = place.base / f"built-{'4' * 16}"
    (old / "parts" / "chapters").mkdir(parents=True)
    for name in ("thesis.tex", "parts/notes.txt", "parts/chapters/index.json", "Manifest.json", "library.a.bak"):
        (old / name).write_text("mine", encoding="utf-8")
    os.utime(old, (LONG_AGO, LONG_AGO))


@attack("folders whose names are nearly ours")
def _(place):
    names = ("built-" + "A" * 16, "built-" + "0" * 15, "built-" + "0" * 17, "xbuilt-" + "0" * 16, "parts")
    for folder in (place.named / "saltus-kernels-old", *(place.base / name for name in names)):
        folder.mkdir()
        (folder / "manifest.json").write_text("mine", encoding="utf-8")
        os.utime(folder, (LONG_AGO, LONG_AGO))


@attack("an index of parts that names a key of the user")
def _(place):
    place.plant_parts(place.entry / "parts", "../../../.ssh/id_rsa")
    (place.entry / "parts").chmod(0o700)


@attack("an index of parts that names a key of the user by its whole path")
def _(place):
    place.plant_parts(place.entry / "parts", str(place.secret))
    (place.entry / "parts").chmod(0o700)


# damage


@attack("the library of another level under this name")
def _(place):
    name = place.library
    content = archive.pack({"other": b"code of another processor"})
    _write(name, content)


@attack("one byte more at the end of the library")
def _(place):
    place.library.write_bytes(place.library.read_bytes() + b"\0")


@attack("a manifest that names no library of a level")
def _(place):
    place.manifest.write_text(json.dumps({**GOOD, "libraries": {}}), encoding="utf-8")


@attack("a manifest that names a library outside")
def _(place):
    wrong = {f"../../../.ssh/{name}": said for name, said in GOOD["libraries"].items()}
    place.manifest.write_text(json.dumps({**GOOD, "libraries": wrong}), encoding="utf-8")


@attack("a manifest whose sizes are words")
def _(place):
    wrong = {name: {**said, "size": "large"} for name, said in GOOD["libraries"].items()}
    place.manifest.write_text(json.dumps({**GOOD, "libraries": wrong}), encoding="utf-8")


@attack("a manifest nested a hundred thousand times")
def _(place):
    place.manifest.write_text("[" * 100_000, encoding="utf-8")


@attack("an index of parts nested a hundred thousand times")
def _(place):
    (place.entry / "parts").mkdir(mode=0o700)
    (place.entry / "parts" / "index.json").write_text("[" * 100_000, encoding="utf-8")


@attack("folders in the place of files")
def _(place):
    for path in (place.library, place.manifest):
        path.unlink()
        path.mkdir()


@attack("a manifest whose sources are a device")
def _(place):
    said = json.loads(place.manifest.read_bytes())
    said["sources"]["/dev/zero"] = ""
    _write(place.manifest, json.dumps(said).encode())


@attack("a manifest whose sources are a pipe outside of the package")
def _(place):
    os.mkfifo(place.named / "pipe")
    said = json.loads(place.manifest.read_bytes())
    said["sources"][os.path.relpath(place.named / "pipe", sources.PACKAGE)] = ""
    _write(place.manifest, json.dumps(said).encode())


@attack("a manifest whose sources have names that no file can have")
def _(place):
    said = json.loads(place.manifest.read_bytes())
    said["sources"] |= {"a\0b": "", "\ud800": ""}
    _write(place.manifest, json.dumps(said).encode())


def seen(folder: pathlib.Path, but: pathlib.Path) -> dict[str, tuple]:
    """Return all that is in a folder, without the entry of this package."""
    made = {}
    for path in folder.rglob("*"):
        if path != but and but not in path.parents:
            info = path.lstat()
            content = path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
            link = os.readlink(path) if path.is_symlink() else ""
            made[str(path.relative_to(folder))] = stat.S_IFMT(info.st_mode), info.st_uid, content, link
    return made


def test_there_are_at_least_forty_attacks():
    assert len(ATTACKS) >= 40


@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_foreign_is_run_or_removed(place, name):
    other, run = ATTACKS[name]
    if other and not ROOT:
        pytest.skip("only root can be another user")
    good = library.find()
    assert good is not None
    run(place)
    before = seen(place.named, place.entry)
    signal.alarm(60)  # a pipe or a lock must not stop anybody
    try:
        for allowed in ((None, good), (None, good, [])):  # the second time also what our own build of nothing made
            assert library.find() in allowed
            entry = cache.entry(library._key())
            if entry is not None:
                assert not (entry / "parts").is_dir() or not planted_part_is_used(entry)
                with contextlib.suppress(OSError, cache.Refused):
                    build.build(entry, library.levels()[:1], jobs=1)
    finally:
        signal.alarm(0)
    after = seen(place.named, place.entry)
    assert {path: after.get(path) for path in before} == before


def planted_part_is_used(entry: pathlib.Path) -> bool:
    try:
        return build._Parts(entry / "parts").has(PART)
    except cache.Refused:
        return False


@pytest.mark.skipif(not ROOT, reason="only root can be another user")
def test_a_lock_that_another_user_holds_stops_nobody(place):
    lock = place.entry / ".lock"
    while_open(place, lambda: (_write(lock, b""), lock.chmod(0o666)))
    with open(lock, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(cache.Refused, match="belongs to user"):
            build.build(place.entry, library.levels()[:1], jobs=1)


@pytest.mark.parametrize("what", ["library", "manifest"])
def test_of_a_hundred_flipped_bits_none_is_run(place, what):
    good, file, chance = library.find(), getattr(place, what), random.Random(17)  # noqa: S311  flips, not secrets
    content = file.read_bytes()
    places = chance.sample(range(8 * len(content)), 100)
    for bit in places:
        changed = bytearray(content)
        changed[bit // 8] ^= 1 << bit % 8
        file.write_bytes(bytes(changed))
        found = library.find()
        # a flip in the list of symbols changes no code
        assert found is None or (what == "manifest" and found == good)
    file.write_bytes(content)
    assert library.find() == good


@pytest.mark.parametrize("what", ["library", "manifest"])
def test_of_files_cut_off_anywhere_none_is_run(place, what):
    file, chance = getattr(place, what), random.Random(18)  # noqa: S311
    content = file.read_bytes()
    for size in (0, 1, 7, 8, 68, len(content) - 1, *(chance.randrange(len(content)) for _ in range(20))):
        file.write_bytes(content[:size])
        assert library.find() is None


NOWHERE = {
    "the home of nobody": {"SALTUS_CACHE": "~nobody-of-this-name/cache"},
    "a name that is too long": {"SALTUS_CACHE": "/" + "x" * 5000},
    "a file": {"SALTUS_CACHE": "/etc/passwd"},
    "a device": {"SALTUS_CACHE": "/dev/null/cache"},
}


@pytest.mark.parametrize("where", NOWHERE)
def test_a_cache_that_cannot_be_is_said_and_nothing_is_raised(place, where, caplog):
    for name, value in NOWHERE[where].items():
        place.monkeypatch.setenv(name, value)
    place.monkeypatch.chdir(place.named / ".ssh")
    (place.named / ".ssh").chmod(0o500)
    assert library.find() is None
    if not (ROOT and where == "the home of nobody"):  # root may make a folder of that name where it stands
        assert cache.entry(library._key()) is None
        assert "saltus" in caplog.text


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES])
def test_no_inodes_no_room_and_no_rights_are_said_and_nothing_is_raised(place, code, caplog):
    shutil.rmtree(place.base)

    def refuse(*arguments, **options):
        raise OSError(code, os.strerror(code))

    place.monkeypatch.setattr(pathlib.Path, "mkdir", refuse)
    assert library.find() is None
    assert cache.entry(library._key()) is None
    assert os.strerror(code) in caplog.text


# ---- builds at once and builds that are killed, with three units instead of four hundred

SOME = """
import pathlib, sys, time
from saltus.compile import build
from saltus.memory import profile
build.package_units = lambda: [profile.factor, profile.solve, profile.multiply]
made = build.build(pathlib.Path(sys.argv[1]), ["x86-64-v2"], jobs=1)
print(made.libraries["x86-64-v2"]["sha256"])
"""


def start_build(folder: pathlib.Path) -> subprocess.Popen:
    return subprocess.Popen(  # noqa: S603  our own script
        [sys.executable, "-c", SOME, str(folder)], env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        stdout=subprocess.PIPE, encoding="utf-8", start_new_session=True,
    )  # fmt: skip


@needs_jit
def test_builds_that_are_killed_at_any_moment_leave_nothing_that_is_wrong(tmp_path):
    folder = tmp_path / cache.FOLDER_NAME / f"built-{'0' * 16}"
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)
    moments = {
        "at its beginning": lambda: (folder / ".lock").exists(),
        "after one part": lambda: len(list(folder.glob("parts/*.bc"))) >= 1,
        "after two parts": lambda: len(list(folder.glob("parts/*.bc"))) >= 2,
        "while it compiles": lambda: len(list(folder.glob("parts/*.bc"))) >= 3,
        "after its objects": lambda: bool(list(folder.glob("parts/*.o"))),
        "after its library": lambda: bool(list(folder.glob("*.a"))),
    }
    killed = 0
    for reached in moments.values():
        process = start_build(folder)
        while not reached() and process.poll() is None:
            time.sleep(0.001)
        killed += process.poll() is None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        with contextlib.suppress(archive.Damaged):  # whole, or none
            assert archive.Manifest.read(folder).objects(folder, "x86-64-v2")
    assert killed >= 4
    both = [start_build(folder), start_build(folder), start_build(tmp_path / "undisturbed")]
    said = [process.communicate(timeout=250)[0] for process in both]
    assert said[0] == said[1] == said[2] != ""
