"""Every Python block of README and docs runs as it stands."""

from __future__ import annotations

import pathlib
import re

import pytest

from extras import needs_jit

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(
        match.group(1),
        id=f"{page.name}:{page.read_text(encoding='utf-8')[: match.start()].count(chr(10)) + 2}",
        marks=needs_jit if "@unit(" in match.group(1) else (),  # a kernel of the reader's own
    )
    for page in PAGES
    for match in re.finditer(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)
]


@pytest.mark.filterwarnings("ignore::saltus.SlowFunctionWarning")
@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_of_the_documentation_runs(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "<documentation>", "exec"), {"__name__": "__main__"})  # noqa: S102  our own pages


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_documentation_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target
