"""Tables of measured numbers in docs carry the command that wrote them, and say what it writes today."""

from __future__ import annotations

import importlib
import pathlib
import re

import pytest

from saltus.study.records import markdown_table
from saltus.study.reproductions import REPRODUCTIONS

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
MEASURED = re.compile(r"(?<![\w.`])-?\d+(\.\d+|(\.\d+)?e-?\d+)(?![\w`])")  # 0.95, 1e-6, 3.1e-7
FEW = 4  # such numbers in a table may be those of a law or of a default
# tables of numbers that are chosen, not measured, and held against the code elsewhere; of numbered equations and cases
CHOSEN = {("hp_tdg.md", "number"), ("papers.md", "there"), ("schemes.md", "case of the lecture")}
COMMAND = re.compile(r"<!-- (saltus reproduce|python bench/docs_tables\.py) ([\w-]+) -->")


def tables(page: pathlib.Path) -> list[tuple[str, str, str]]:
    """Return head, text and the comment before each table of a page."""
    found, before = [], ""
    lines = page.read_text(encoding="utf-8").splitlines()
    for k, line in enumerate(lines):
        if line.startswith("<!--"):
            before = "" if line.startswith("<!-- end of") else line
        if line.startswith("|") and not lines[k - 1].startswith("|"):
            end = next(j for j in range(k, len(lines) + 1) if j == len(lines) or not lines[j].startswith("|"))
            found.append((line.strip("| ").split(" |")[0], "\n".join(lines[k + 2 : end]), before))
    return found


@pytest.fixture
def docs_tables(monkeypatch):
    """The script that writes tables of docs."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("docs_tables")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_table_of_measured_numbers_carries_the_command_that_wrote_it(page, docs_tables):
    known = {"saltus reproduce": REPRODUCTIONS, "python bench/docs_tables.py": docs_tables.TABLES}
    for head, text, before in tables(page):
        if len(MEASURED.findall(re.sub(r"`[^`]*`", "", text))) >= FEW and (page.name, head) not in CHOSEN:
            command = COMMAND.fullmatch(before)
            assert command is not None, f"the table of {head!r} is typed by hand: let bench/docs_tables.py write it"
            assert command[2] in known[command[1]], before


def test_every_table_of_the_script_has_its_place(docs_tables):
    for name in docs_tables.TABLES:
        assert docs_tables.held(name)[1].startswith("|")


CHEAP = ["hp-errors", "hp-evaluations", "event-driven-errors", "event-driven-work"]


@pytest.mark.parametrize("name", CHEAP)
def test_a_table_of_the_docs_says_what_its_script_measures(docs_tables, name):
    assert docs_tables.TABLES[name].cheap
    assert docs_tables.same(docs_tables.held(name)[1], markdown_table(docs_tables.TABLES[name].make()))


def test_a_changed_number_or_word_is_seen(docs_tables):
    assert docs_tables.same("| a | 1.00 | 2e-14 |", "| a | 1.01 | 3e-14 |")
    assert not docs_tables.same("| a | 1.00 |", "| a | 1.20 |")
    assert not docs_tables.same("| a | 1.00 |", "| b | 1.00 |")
    assert not docs_tables.same("| a | 1.00 |", "| a | 1.00 | 2.00 |")
