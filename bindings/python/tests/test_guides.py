"""The Python blocks of the book run, those of one page one after another."""

import json
import re
from pathlib import Path

import pytest

BOOK = Path(__file__).resolve().parents[3] / "docs"


def blocks_of(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)


#: The blocks of clusters.md need engines that may not be installed: test_scale_out.py runs them, section by section.
PAGES = [path for path in sorted(BOOK.glob("**/*.md")) if path.stem != "clusters" and blocks_of(path)]


def test_pages_with_blocks_are_found():
    assert {path.stem for path in PAGES} >= {"python", "coming-from-snorkel", "label-votes", "regression", "completion"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_blocks(path):
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    namespace = {}
    for block in blocks_of(path):
        exec(compile(block, str(path), "exec"), namespace)


def tool(name):
    import importlib.util

    place = BOOK.parent / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date():
    reference = tool("api_reference")
    assert reference.TARGET.read_text() == reference.page(), "run `make docs`"


def test_pages_have_no_broken_links(tmp_path):
    pytest.importorskip("markdown")
    tool("build_docs").main(tmp_path)
    first = (tmp_path / "index.html").read_text()
    assert 'href="docs/reference/tables.html' in first and "</html>" in first
    assert len(list(tmp_path.rglob("*.html"))) > 40


@pytest.mark.parametrize("path", sorted(BOOK.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_notebooks(path):
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    cells = json.loads(path.read_text())["cells"]
    namespace = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "notebooks are kept without output"
            exec(compile("".join(cell["source"]), str(path), "exec"), namespace)
