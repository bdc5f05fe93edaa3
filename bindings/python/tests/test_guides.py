"""Every Python block of the guides runs, those of one page one after another."""

import json
import re
from pathlib import Path

import pytest

GUIDES = Path(__file__).resolve().parents[3] / "docs" / "python"


#: Those whose engines may not be installed are run by test_scale_out.py, section by section.
PAGES = [path for path in sorted(GUIDES.glob("*.md")) if path.stem != "scale-out"]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_blocks(path):
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    blocks = re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)
    namespace = {}
    for block in blocks:
        exec(compile(block, str(path), "exec"), namespace)


def tool(name):
    import importlib.util

    place = GUIDES.parents[1] / "tools" / f"{name}.py"
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
    assert 'href="docs/files.html' in first and "</html>" in first
    assert len(list(tmp_path.rglob("*.html"))) > 15


@pytest.mark.parametrize("path", sorted(GUIDES.glob("notebooks/*.ipynb")), ids=lambda path: path.stem)
def test_notebooks(path):
    pytest.importorskip("pandas")
    pytest.importorskip("sklearn")
    cells = json.loads(path.read_text())["cells"]
    namespace = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == [], "notebooks are kept without output"
            exec(compile("".join(cell["source"]), str(path), "exec"), namespace)
