"""73 rules on real messages: rules, analysis, label model, classifier."""

import os
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.mark.skipif("LABELFLOW_DATA" not in os.environ, reason="LABELFLOW_DATA does not name the real datasets")
def test_a_flow_is_not_worse_than_two_stages(monkeypatch, capsys):
    pytest.importorskip("sklearn")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    import sms_spam

    scores = sms_spam.main()
    with capsys.disabled():
        sys.stdout.write("\n" + "".join(f"{name:75} F1 {score:.3f}\n" for name, score in scores.items()))
    others = [score for name, score in scores.items() if name != "LabelFlowClassifier"]
    assert scores["LabelFlowClassifier"] >= max(others)
