"""Files that were prepared to do harm are refused with an error that has a name, quickly, and without a look elsewhere.

tests/hostile.py prepares them and reads them in a process of its own.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys

import pytest

import hostile
import saltus as sl
from counts import counted
from saltus.contact import read_fclib
from saltus.io.format import parsed, regular_bytes
from saltus.io.settings import SETTING_FAMILIES, rebuild

JUDGE = pathlib.Path(__file__).with_name("hostile.py")
FLIPS = counted(
    {"results": 60, "scenes": 40, "checkpoints": 50, "fclib": 40},
    {"results": 24, "scenes": 16, "checkpoints": 20, "fclib": 16},
)
LEAST = {"results": 100, "scenes": 50, "checkpoints": 200, "fclib": 50}  # prepared files that are not flips
MOST_MEMORY = 300.0  # what reading them all may take [MB]


@pytest.mark.parametrize("family", FLIPS)
def test_prepared_files_are_refused_and_changed_bytes_are_refused_or_harmless(family, tmp_path):
    command = [sys.executable, str(JUDGE), family, str(tmp_path), str(FLIPS[family])]
    made = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=250)  # noqa: S603
    said = [json.loads(line) for line in made.stdout.splitlines()]
    assert made.returncode == 0, f"{said[-1:]} ended the process: {made.stderr[-2000:]}"
    lines = [line for line in said if "outcome" in line]
    assert len(lines) >= LEAST[family] + FLIPS[family]
    for line in lines:
        assert line["outcome"] in ("refused", "typed", "used"), line
        if not line["name"].startswith("may load"):
            assert line["outcome"] == "refused" or "give the object itself" in line["message"], line
    assert max(line["MB"] for line in lines) < MOST_MEMORY
    assert lines[-1]["name"] == "victim", "the last line says whether a foreign file was written"


# ---- single doors


def test_every_class_that_a_file_can_name_is_a_frozen_dataclass():
    for module, names in SETTING_FAMILIES.values():
        for name in names:
            assert getattr(module, name).__dataclass_params__.frozen


@pytest.mark.parametrize("name", ["write_fclib", "read_fclib", "diagnose", "ContactProblem", "__doc__", "os", ""])
@pytest.mark.parametrize("family", SETTING_FAMILIES)
def test_no_function_can_be_named_by_a_file(name, family):
    with pytest.raises(sl.SettingError, match="not part of saltus"):
        rebuild({"class": name, "settings": {}}, family)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": ' + 70 * b"[" + 70 * b"]" + b"}", "deep"),
        (b'{"a": [' + 1_000_001 * b"1," + b"1]}", "more than 1000000 values"),
        (b'{"a": ' + 40 * b"1" + b"}", "40 digits"),
        (b"[]", "no JSON object"),
        (b'{"a": "\xff"}', "utf-8"),
        ('{"a": 1}'.encode("utf-16"), "utf-8"),
        (b'{"a"', "Expecting"),
    ],
    ids=["twice", "deep", "many", "digits", "list", "bytes", "utf-16", "cut"],
)
def test_json_is_bounded(text, why):
    with pytest.raises(ValueError, match=why):
        parsed(text)


def test_brackets_inside_of_texts_do_not_count():
    assert parsed(b'{"a": "' + 100 * b"[" + b'\\"' + 100 * b"{" + b'"}')["a"] == 100 * "[" + '"' + 100 * "{"


def test_texts_of_a_file_cannot_command_a_terminal(tmp_path):
    path = tmp_path / "run.h5"
    run = sl.solve(hostile.ball(), (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.1)
    run.save(path)
    assert sl.load(path).message == run.message
    words = {"message": "done\n\x1b]0;mine\x07\x1b[2J \ud800 µ", "name": "\x9b31m\u202e"}
    path.write_bytes(hostile.changed(path.read_bytes(), hostile.said(lambda about: about.update(words))))
    loaded = sl.load(path)
    assert loaded.message == "done\n\\x1b]0;mine\\x07\\x1b[2J \\ud800 µ"
    assert loaded.name == "\\x9b31m\\u202e"
    assert repr(loaded).replace("\n", "").isprintable()


def test_a_larger_file_than_allowed_is_refused_and_can_be_allowed(tmp_path):
    path = tmp_path / "run.h5"
    sl.solve(sl.System(M=1.0, f=-9.81), (0.0, 1.0), 1.0, 0.0, scheme=sl.MoreauJean(), h=0.01).save(path)
    with pytest.raises(sl.FileFormatError, match="allow it by max_bytes="):
        sl.load(path, max_bytes=1000)
    assert len(sl.load(path, max_bytes=10_000_000).t) == 101
    for wrong in (0, -1, float("nan"), float("inf"), "many", True):
        with pytest.raises(sl.SettingError, match="max_bytes is"):
            sl.load(path, max_bytes=wrong)
    with pytest.raises(sl.FileFormatError, match="allow it by max_bytes="):
        read_fclib(path, max_bytes=1000)


@pytest.mark.parametrize("read", [sl.load, lambda path: sl.resume(path, sl.System(M=1.0, f=0.0)), read_fclib])
def test_names_of_no_file_are_file_errors(read, tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for path in (tmp_path / "loop", tmp_path / "missing", "a\0b", "x" * 5000):
        with pytest.raises(sl.FileError):
            read(path)
    with pytest.raises(sl.FileFormatError, match="is a folder"):
        read(tmp_path)


@pytest.mark.skipif(not pathlib.Path("/proc/self/mem").exists(), reason="files that cannot be read are those of Linux")
@pytest.mark.parametrize("read", [sl.load, lambda path: sl.resume(path, sl.System(M=1.0, f=0.0)), read_fclib])
def test_a_file_that_fails_while_it_is_read_is_a_file_error(read):
    with pytest.raises(sl.FileError, match=r"cannot be read|not an HDF5 file|not a file of saltus"):
        read("/proc/self/mem")


@pytest.mark.skipif(not pathlib.Path("/proc/self/status").exists(), reason="files without a size are those of Linux")
def test_no_more_is_read_than_a_file_says_it_has():
    assert pathlib.Path("/proc/self/status").read_bytes()
    assert regular_bytes("/proc/self/status", None) == b""
