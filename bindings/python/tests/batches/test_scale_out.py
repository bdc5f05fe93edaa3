"""Every section of the page on clusters and streams runs where its engine is installed, and gives the same labels."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

GUIDE = Path(__file__).resolve().parents[4] / "docs" / "how-to" / "clusters.md"
#: What must be importable for a section, beside pyarrow.
ENGINES = {
    "Polars": "polars",
    "DuckDB": "duckdb",
    "DataFusion": "datafusion",
    "Dask": "dask.dataframe",
    "Spark": "pyspark",
    "Ray": "ray.data",
}


def blocks_of_sections():
    """The blocks of each section; the first has no title."""
    sections = re.split(r"^## (.*)\n", GUIDE.read_text(), flags=re.M)
    texts = {"": sections[0], **dict(zip(sections[1::2], sections[2::2]))}
    return {title: re.findall(r"^```python\n(.*?)^```", text, re.M | re.S) for title, text in texts.items()}


SECTIONS = blocks_of_sections()


def as_table(labels):
    pa = pytest.importorskip("pyarrow")
    if type(labels).__module__.startswith("pandas"):
        return pa.Table.from_pandas(labels, preserve_index=False)
    if hasattr(labels, "toPandas"):
        return pa.Table.from_pylist([row.asDict() for row in labels.collect()])
    if hasattr(labels, "take_all"):
        return pa.Table.from_pylist(labels.take_all())
    return labels if isinstance(labels, pa.Table) else pa.table(labels)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("title", [title for title, blocks in SECTIONS.items() if title and blocks])
def test_section(title, monkeypatch):
    pytest.importorskip("pyarrow")
    engine = ENGINES.get(title)
    if engine is not None:
        pytest.importorskip(engine, reason=f"NOT RUN: {title} is not installed", exc_type=ImportError)
    if title in ("Spark", "Ray"):
        # Workers of the same Python, and a small cluster rather than one that is looked for.
        monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
        monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    namespace = {}
    before = [] if title == "Streams" else SECTIONS["Streams"]
    for block in [*SECTIONS[""], *before, *SECTIONS[title]]:
        assert engine is None or block.count("\n") <= 16, "ten lines or so"
        exec(compile(block, str(GUIDE), "exec"), namespace)
    if title == "DuckDB":
        namespace["labels"] = namespace["database"].sql("select * from labels").to_arrow_table()
    if engine is not None:
        check_labels(namespace)
    if title == "Spark":
        namespace["spark"].stop()
    if title == "Ray":
        namespace["ray"].shutdown()


def check_labels(namespace):
    """Labels and the label model are those of the local fit, bit for bit."""
    import labelflow

    rows, flow = namespace["rows"], namespace["flow"]
    labels = as_table(namespace["labels"]).sort_by("id")
    found = np.column_stack([labels["p_0"].to_numpy(), labels["p_1"].to_numpy()])
    np.testing.assert_array_equal(found, flow.predict_proba(rows.select(namespace["features"])))
    local = labelflow.DawidSkene().fit(rows.select(namespace["rules"]))
    assert namespace["label_model"].model_.to_json() == local.model_.to_json()
