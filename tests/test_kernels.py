"""Machine code of the package: built once, recognised when stale or damaged, kept where nobody else can write."""

from __future__ import annotations

import json
import logging
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import time

import pytest

import saltus as sl
from extras import needs_jit
from saltus.compile import archive, build, cache, digest, library, sources
from saltus.compile.seam import unit
from saltus.compile.types import A, F, I

PACKAGE = pathlib.Path(sl.__file__).parent
ROOT = hasattr(os, "getuid") and os.getuid() == 0


def python(script: str, package: pathlib.Path = PACKAGE, **changes: str) -> subprocess.CompletedProcess:
    """Run a script with a package of one's own."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SALTUS_")}
    environment = {**kept, "PYTHONPATH": str(package.parent), **changes}
    return subprocess.run(  # noqa: S603  our own script
        [sys.executable, "-c", script], env=environment, capture_output=True, encoding="utf-8", timeout=250
    )


@pytest.fixture
def copied(tmp_path, monkeypatch) -> pathlib.Path:
    """A copy of the package with its kernels, that may be edited; the library is looked for in it."""
    if library.find() is None:
        pytest.skip("no kernels are built for these sources")
    copy = tmp_path / "lib" / "saltus"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "parts"))
    if not (copy / "kernels").is_dir():  # they lie in the cache
        shutil.copytree(cache.known_entry(library._key()), copy / "kernels", ignore=shutil.ignore_patterns("parts"))
    monkeypatch.setattr(sources, "PACKAGE", copy)
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path / "cache"))
    return copy


# ---- processes

BALL = """
import json, sys
import saltus as sl
ball = sl.System(M=1.0, f=-9.81, contacts=[sl.Contact(gap=lambda q: q[0], e=0.8, name="floor")])
sol = sl.solve(ball, t_span=(0.0, 3.0), q0=1.0, v0=0.0, tol=1e-8)
loaded = [name for name in ("numba", "scipy", "rich", "h5py", "numpy.ma") if name in sys.modules]
print(json.dumps({"loaded": loaded, "v": [x.hex() for x in sol.v[:, 0]]}))
"""


def test_a_ball_needs_neither_numba_nor_scipy_and_says_nothing():
    made = python(BALL)
    assert made.stderr == ""
    assert json.loads(made.stdout)["loaded"] == []


def test_problems_without_bodies_do_not_import_the_layer_of_mechanisms():
    made = python("import sys, saltus; saltus.problems.slider_crank(); print('saltus.mechanics' in sys.modules)")
    assert made.stdout.strip() == "False", made.stderr


def test_no_file_is_written_where_kernels_fit(tmp_path):
    made = python(BALL, SALTUS_CACHE=str(tmp_path / "cache"), HOME=str(tmp_path / "home"))
    assert made.returncode == 0
    assert list(tmp_path.iterdir()) == []


def test_without_home_and_with_a_cache_that_is_a_file_the_run_goes_on(tmp_path):
    file = tmp_path / "file"
    file.write_text("not a folder", encoding="utf-8")
    made = python(BALL, SALTUS_CACHE=str(file), HOME="")
    assert made.returncode == 0, made.stderr


# ---- stale and damaged files


def test_kernels_of_these_sources_are_found(copied):
    assert library.find() is not None


@pytest.mark.parametrize(
    "name", ["run/march.py", "memory/layout.py", "compile/kinds.py", "compile/jit/lanes.py", "status.py"]
)
def test_an_edited_source_makes_kernels_stale(copied, name):
    file = copied / name
    file.write_text(file.read_text(encoding="utf-8") + "\nEDITED = 1\n", encoding="utf-8")
    assert library.find() is None


def test_a_missing_source_makes_kernels_stale(copied):
    (copied / "run/march.py").unlink()
    assert library.find() is None


def test_an_edit_of_what_no_kernel_sees_keeps_them(copied):
    for name in ("solve.py", "problems/zeno_ball.py", "cli/warm.py"):
        file = copied / name
        file.write_text(file.read_text(encoding="utf-8") + "\nEDITED = 1\n", encoding="utf-8")
    assert library.find() is not None


def library_file(folder: pathlib.Path) -> pathlib.Path:
    return max(folder.glob("*.a"), key=lambda path: path.name)


def test_a_hundred_flipped_bits_are_recognised(copied, caplog):
    before, chance = library.find(), random.Random(16)  # noqa: S311  flips, not secrets
    for file in (library_file(copied / "kernels"), copied / "kernels" / archive.MANIFEST):
        content = file.read_bytes()
        for _ in range(50):
            place = chance.randrange(len(content))
            changed = bytearray(content)
            changed[place] ^= 1 << chance.randrange(8)
            file.write_bytes(bytes(changed))
            found = library.find()
            # a flip in the list of symbols changes no code
            assert found is None or (found == before and file.name == archive.MANIFEST)
        file.write_bytes(content)
    assert library.find() == before


def test_truncated_and_missing_files_are_recognised(copied, caplog):
    manifest = copied / "kernels" / archive.MANIFEST
    for file in (library_file(copied / "kernels"), manifest):
        content = file.read_bytes()
        for size in (0, 1, 8, len(content) // 2, len(content) - 1):
            file.write_bytes(content[:size])
            assert library.find() is None, (file, size)
        file.unlink()
        assert library.find() is None
        file.write_bytes(content)


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"format": 99}', "[" * 100_000, '{"format": 1, "sources": {}, "symbols": []}']
)
def test_a_manifest_of_nonsense_is_refused(copied, text):
    (copied / "kernels" / archive.MANIFEST).write_text(text, encoding="utf-8")
    assert library.find() is None


def test_a_damaged_library_is_named_in_a_warning(copied, caplog):
    file = library_file(copied / "kernels")
    file.write_bytes(file.read_bytes()[:-1])
    with caplog.at_level(logging.WARNING, "saltus"):
        assert library.find() is None
    assert str(file) in caplog.text
    assert "SHA-256" in caplog.text


def test_an_unknown_level_is_refused_by_name(monkeypatch):
    monkeypatch.setenv("SALTUS_KERNELS", "x86-64-v9")
    with pytest.raises(ValueError, match="x86-64-v9"):
        library.levels()


def test_a_library_is_a_static_library_with_the_objects_it_was_given():
    members = {"a": b"1", "b": b"", "c": b"odd"}
    assert archive.unpack(archive.pack(members)) == members
    assert archive.pack(members) == archive.pack(dict(reversed(members.items())))


# ---- digests of units


def declared(text: str):
    """Return a kernel from its source, with constants and callees of its own."""
    names = {"unit": unit, "A": A, "F": F, "I": I, "__name__": "saltus.declared"}
    exec(text, names)  # noqa: S102  our own text
    return names["kernel"]


KERNEL = """
LIMIT = 2
@unit(F(F){flags})
def callee(x):
    return {callee}
@unit(I(A, F))
def kernel(a, x):
    '''{doc}'''
    a[0] = callee(x)
    return {limit}
"""
PLAIN = {"flags": "", "callee": "2.0 * x", "doc": "one", "limit": "LIMIT"}


def key(**changes: str) -> str:
    return digest.unit_digest(declared(KERNEL.format(**{**PLAIN, **changes})))


def object_key(**changes: str) -> str:
    return build.object_digest("x86-64-v2", [declared(KERNEL.format(**{**PLAIN, **changes}))])


@needs_jit
def test_a_docstring_and_the_body_of_a_callee_leave_a_unit_as_it_is():
    assert key() == key(doc="two") == key(callee="3.0 * x")
    assert object_key() == object_key(doc="two") == object_key(callee="3.0 * x")


@needs_jit
def test_code_and_constants_change_a_unit_and_its_object():
    assert key() != key(limit="LIMIT + 1")
    assert object_key() != object_key(limit="LIMIT + 1")
    assert digest.unit_digest(declared(KERNEL.format(**PLAIN).replace("LIMIT = 2", "LIMIT = 3"))) != key()


@needs_jit
def test_the_body_of_a_small_callee_changes_the_objects_that_it_is_put_into_but_not_the_units():
    small = {"flags": ", small=True"}
    assert key(**small) == key(**small, callee="3.0 * x")
    assert object_key(**small) != object_key(**small, callee="3.0 * x")
    assert object_key(**small) != object_key()


@needs_jit
def test_a_kernel_that_raises_is_refused():
    from saltus.compile.jit.front import RaisingKernel, bitcode

    with pytest.raises(RaisingKernel, match="kernel"):
        bitcode(declared("@unit(F(F))\ndef kernel(x):\n    if x < 0.0:\n        raise ValueError\n    return x\n"), 0)


# ---- building, with three units instead of four hundred

SOME = """
import pathlib, sys
from saltus.compile import build
from saltus.memory import profile
build.package_units = lambda: [profile.factor, profile.solve, profile.multiply]
made = build.build(pathlib.Path(sys.argv[1]), ["x86-64-v2"], jobs=2)
print(made.libraries["x86-64-v2"]["sha256"])
"""


def start_build(folder: pathlib.Path, script: str = SOME) -> subprocess.Popen:
    return subprocess.Popen(  # noqa: S603  our own script
        [sys.executable, "-c", script, str(folder)],
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[pathlib.Path, str]:
    """A folder with three kernels and the hash of their library."""
    folder = tmp_path_factory.mktemp("built")
    process = start_build(folder)
    out, _ = process.communicate(timeout=200)
    assert process.returncode == 0
    return folder, out


@needs_jit
def test_only_what_is_missing_is_built_again(built):
    folder, content = built
    parts = sorted((folder / "parts").glob("*.bc"))
    assert len(parts) == 3
    before = {part: part.stat().st_mtime_ns for part in parts}
    damaged = parts[1]
    damaged.write_bytes(damaged.read_bytes()[:-8])
    (folder / archive.MANIFEST).unlink()
    process = start_build(folder)
    assert process.communicate(timeout=200)[0] == content
    assert {part for part in parts if part.stat().st_mtime_ns != before[part]} == {damaged}


@needs_jit
def test_two_builds_at_once_give_one_library(built, tmp_path):
    _, content = built
    both = [start_build(tmp_path / "both") for _ in range(2)]
    assert [process.communicate(timeout=200)[0] for process in both] == [content, content]
    manifest = archive.Manifest.read(tmp_path / "both")
    assert manifest.objects(tmp_path / "both", "x86-64-v2")


@needs_jit
@pytest.mark.skipif(os.name == "nt", reason="signals of Windows differ")
def test_a_build_that_was_killed_is_completed_by_the_next(built, tmp_path):
    _, content = built
    folder = tmp_path / "killed"
    process = start_build(folder)
    deadline = time.monotonic() + 100.0
    while not list(folder.glob("parts/*.bc")) and time.monotonic() < deadline and process.poll() is None:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with pytest.raises(archive.Damaged):
        archive.Manifest.read(folder)
    assert start_build(folder).communicate(timeout=200)[0] == content


# ---- the cache


def test_the_cache_is_a_folder_of_its_own_inside_of_the_one_that_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    assert cache.root() == tmp_path / cache.FOLDER_NAME
    assert (tmp_path / cache.FOLDER_NAME).stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("mode", [0o777, 0o775, 0o770, 0o722, 0o1777])
def test_a_folder_that_others_may_write_is_refused_and_left_as_it_is(monkeypatch, tmp_path, caplog, mode):
    folder = tmp_path / cache.FOLDER_NAME
    folder.mkdir()
    folder.chmod(mode)
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    with caplog.at_level(logging.WARNING, "saltus"):
        assert cache.root() is None
    assert str(folder) in caplog.text
    assert folder.stat().st_mode & 0o7777 == mode


@pytest.mark.skipif(not ROOT, reason="only root can give a folder away")
def test_a_folder_of_somebody_else_is_refused(monkeypatch, tmp_path, caplog):
    (tmp_path / cache.FOLDER_NAME).mkdir(mode=0o700)
    os.chown(tmp_path / cache.FOLDER_NAME, 12345, 12345)
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    with caplog.at_level(logging.WARNING, "saltus"):
        assert cache.root() is None
    assert "12345" in caplog.text


@pytest.mark.parametrize("kind", ["link", "file"])
def test_a_link_or_a_file_in_place_of_the_folder_is_refused(monkeypatch, tmp_path, kind):
    target = tmp_path / "elsewhere"
    target.mkdir(mode=0o700)
    place = tmp_path / "named" / cache.FOLDER_NAME
    place.parent.mkdir()
    if kind == "link":
        place.symlink_to(target)
    else:
        place.write_text("", encoding="utf-8")
    monkeypatch.setenv("SALTUS_CACHE", str(place.parent))
    assert cache.root() is None
    assert list(target.iterdir()) == []


def entry_of(copied: pathlib.Path) -> pathlib.Path:
    """Move the kernels of a copied package into its cache and return their entry."""
    entry = cache.entry(library._key())
    assert entry is not None
    for file in (copied / "kernels").iterdir():
        file.rename(entry / file.name)
    (copied / "kernels").rmdir()
    return entry


def test_kernels_in_the_cache_are_found(copied):
    entry_of(copied)
    assert library.find() is not None


def make_foreign(path: pathlib.Path) -> None:
    os.chown(path, 12345, 12345)


def make_writable(path: pathlib.Path) -> None:
    path.chmod(0o777 if path.is_dir() else 0o666)


def make_group_writable(path: pathlib.Path) -> None:
    path.chmod(0o775 if path.is_dir() else 0o664)


def make_link(path: pathlib.Path) -> None:
    elsewhere = path.parent.parent / f"{path.name}.elsewhere"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
@pytest.mark.parametrize("what", ["entry", "manifest", "library", "root"])
@pytest.mark.parametrize("attack", [make_foreign, make_writable, make_group_writable, make_link])
def test_an_entry_that_others_own_or_may_write_is_never_loaded(copied, what, attack, caplog):
    if attack is make_foreign and not ROOT:
        pytest.skip("only root can give files away")
    entry = entry_of(copied)
    places = {
        "entry": entry,
        "manifest": entry / archive.MANIFEST,
        "library": library_file(entry),
        "root": entry.parent,
    }
    attack(places[what])
    with caplog.at_level(logging.WARNING, "saltus"):
        assert library.find() is None
    assert str(places[what]) in caplog.text


def test_a_planted_library_with_another_content_is_never_loaded(copied):
    entry = entry_of(copied)
    file = library_file(entry)
    file.write_bytes(file.read_bytes()[::-1])
    assert library.find() is None


def test_only_entries_of_our_making_are_removed(monkeypatch, tmp_path):
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    root = cache.root()
    assert root is not None
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("secret", encoding="utf-8")
    old = root / f"built-{'0' * 16}"
    (old / "parts").mkdir(parents=True)
    for name in ("manifest.json", "x86-64-v3.a", f"parts/{'a' * 64}-0.bc", "parts/index.json"):
        (old / name).write_text("", encoding="utf-8")
    kept = root / f"built-{'1' * 16}"
    kept.mkdir()
    (kept / "thesis.tex").write_text("mine", encoding="utf-8")
    other = root / "thesis"
    other.mkdir()
    (other / "manifest.json").write_text("mine", encoding="utf-8")
    linked = root / f"built-{'2' * 16}"
    linked.symlink_to(tmp_path / ".ssh")
    long_ago = time.time() - 400.0 * 86400.0
    for path in (tmp_path / ".ssh", old, kept, other):
        os.utime(path, (long_ago, long_ago))
    assert cache.entry("f" * 16) is not None
    assert not old.exists()
    assert (kept / "thesis.tex").read_text(encoding="utf-8") == "mine"
    assert (other / "manifest.json").exists()
    assert (tmp_path / ".ssh" / "id").read_text(encoding="utf-8") == "secret"
    assert linked.is_symlink()


@pytest.mark.skipif(ROOT, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_left_out(monkeypatch, tmp_path):
    tmp_path.chmod(0o500)
    monkeypatch.setenv("SALTUS_CACHE", str(tmp_path))
    assert cache.root() is None


def test_a_checkout_that_cannot_be_written_builds_into_the_cache(copied, monkeypatch):
    assert library._place() == cache.entry(library._key())  # an installed package is left alone
    checkout = copied.parent / "src" / "saltus"
    checkout.parent.mkdir()
    copied.rename(checkout)
    (checkout.parent.parent / "pyproject.toml").write_text("", encoding="utf-8")
    monkeypatch.setattr(sources, "PACKAGE", checkout)
    assert library._place() == checkout / "kernels"
    writable = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != checkout and writable(path, mode))
    assert library._place() == cache.entry(library._key())


@needs_jit
def test_a_full_disk_is_said_and_the_run_goes_on_interpreted(copied, monkeypatch, caplog):
    shutil.rmtree(copied / "kernels")

    def full(command, **options):
        script = """
import errno, sys
from saltus.compile import build
def full(*arguments):
    raise OSError(errno.ENOSPC, "No space left on device")
build.build = full
sys.exit(build.main(sys.argv[1:]))
"""
        return run([sys.executable, "-c", script, *command[3:]], **options)

    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", full)
    with caplog.at_level(logging.WARNING, "saltus"):
        assert not library.build_here()
    assert "No space left on device" in caplog.text
    assert "interpreted" in caplog.text


NO_NUMBA = """
import sys
class NoNumba:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "numba":
            raise ModuleNotFoundError(name)
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "numba" else found(name, *rest)
sys.meta_path.insert(0, NoNumba())
"""


def test_without_numba_and_fitting_kernels_the_run_is_interpreted_and_says_so(tmp_path):
    copy = tmp_path / "lib" / "saltus"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "kernels"))
    script = f"""{NO_NUMBA}
import saltus as sl
sol = sl.solve(sl.problems.zeno_ball(), t_span=(0.0, 0.1), scheme=sl.MoreauJean(), h=0.01)
print(sol.success)
"""
    made = python(script, copy, SALTUS_CACHE=str(tmp_path / "cache"))
    assert made.stdout.strip() == "True", made.stderr
    assert "saltus[jit]" in made.stderr
    assert "interpreted" in made.stderr


def test_a_kernel_of_a_user_without_numba_names_the_extra():
    made = python(f"""{NO_NUMBA}
from saltus.compile.seam import ready, unit
from saltus.compile.types import F
@unit(F(F))
def twice(x):
    return 2.0 * x
ready(twice)
""")
    assert "twice> is a kernel of your own, which numba compiles: pip install saltus[jit]" in made.stderr
