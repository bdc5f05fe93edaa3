"""Labeling functions and their analysis."""

import numpy as np
import pytest

import labelflow
from labelflow import ABSTAIN, LabelingFunctionError, analyze, apply, labeling_function

TEXTS = ["buy now", "hello", "buy hello now", "see you"]


@labeling_function()
def buys(row):
    return 1 if "buy" in row["text"] else ABSTAIN


@labeling_function(name="greets", resources={"word": "hello"})
def greeting(row, word):
    return 0 if word in row.text else None


@labeling_function
def short(row):
    return 0 if len(row.text) < 8 else 1


FUNCTIONS = [buys, greeting, short]
EXPECTED = [[1, -1, 0], [-1, 0, 0], [1, 0, 1], [-1, -1, 0]]


def frames():
    columns = {"text": TEXTS, "n": [1, 2, 3, 4]}
    found = []
    for name, make in [("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")]:
        try:
            found.append(getattr(__import__(name), make)(columns))
        except ImportError:
            pass
    return found


@pytest.mark.parametrize("frame", frames(), ids=lambda frame: type(frame).__module__)
def test_functions_vote_on_frames(frame):
    signals = apply(FUNCTIONS, frame)
    assert signals.labelers_ == ["buys", "greets", "short"]
    np.testing.assert_array_equal(signals.votes(), EXPECTED)


def test_functions_vote_on_sequences():
    def long(text):
        return "long" if len(text) > 8 else "short"

    def shout(text):
        return "long" if "!" in text else None

    signals = apply([long, shout], TEXTS)
    assert signals.classes_.tolist() == ["long", "short"]
    np.testing.assert_array_equal(signals.votes()[:, 0], [1, 1, 0, 1])
    assert buys({"text": "buy"}) == 1


def test_rules_for_one_class_alone():
    signals = apply([lambda text: 1 if "buy" in text else -1], TEXTS)
    assert signals.classes_.tolist() == [0, 1]


def test_parallel_workers_vote_the_same():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": TEXTS * 1500})
    np.testing.assert_array_equal(apply(FUNCTIONS, frame, n_jobs=2).votes(), EXPECTED * 1500)


def fails(text):
    if text == "hello":
        raise KeyError("no such word")
    return 0 if text == "see you" else 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_exception_names_function_and_row(n_jobs):
    texts = TEXTS * 1500
    with pytest.raises(LabelingFunctionError, match="labeling function 'fails', row 1: KeyError: 'no such word'") as raised:
        apply([fails], texts, n_jobs=n_jobs)
    assert (raised.value.function, raised.value.row) == ("fails", 1)
    with pytest.warns(UserWarning, match="'fails' on 1500 of 6000 rows"):
        signals = apply([fails], texts, n_jobs=n_jobs, on_error="abstain")
    np.testing.assert_array_equal(signals.votes()[:4, 0], [1, -1, 1, 0])


@pytest.mark.parametrize("vote", [0.5, -2, [1]])
def test_what_is_no_vote(vote):
    with pytest.raises(LabelingFunctionError, match="row 0: expected a class, or -1 or None"):
        apply([lambda text: vote], TEXTS)


def test_functions_themselves_are_checked():
    with pytest.raises(ValueError, match="at least one, found none"):
        apply([], TEXTS)
    with pytest.raises(ValueError, match="'buys' twice"):
        apply([buys, buys], TEXTS)
    with pytest.raises(ValueError, match="at least one row"):
        apply([buys], [])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(LabelingFunctionError, match="expected one of the columns .* found 'text'"):
        apply([short], pandas.DataFrame({"body": TEXTS}))


def test_progress(capsys):
    apply([fails], ["a"], progress=True, on_error="abstain")
    assert capsys.readouterr().err == "", "no bar where it cannot be redrawn"


def test_analysis_has_snorkels_columns():
    pytest.importorskip("pandas")
    summary = analyze(np.array(EXPECTED))
    assert list(summary.columns) == ["j", "Polarity", "Coverage", "Overlaps", "Conflicts"]
    assert summary["Coverage"].tolist() == [0.5, 0.5, 1.0]
    assert summary["Polarity"].tolist() == [[1], [0], [0, 1]]
    with_truth = analyze(np.array(EXPECTED), labels=[1, 0, 1, 0])
    assert list(with_truth.columns)[5:] == ["Correct", "Incorrect", "Emp. Acc."]
    assert with_truth["Correct"].tolist() == [2, 1, 3]
    with pytest.raises(ValueError, match="expected the classes .* found 7"):
        analyze(np.array(EXPECTED), labels=[1, 0, 1, 7])
    with pytest.raises(labelflow.DataError, match="4 rows"):
        analyze(np.array(EXPECTED), labels=[1, 0])
