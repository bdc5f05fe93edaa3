"""Wrong rules and labels get an exception that names them."""

import numpy as np
import pytest
from conftest import quick_regressor as quick

from labelflow import DataError, MaskRule, MeanRule, NotFittedError, QuantileRule

X = np.linspace(-1, 1, 20)[:, None] * [[1.0, 2.0]]
RULE = MeanRule(0, 0.0, above=3, below=1)


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ([], "expected at least one that speaks of some row, found no rule"),
        ([MeanRule(0, 9.0, above=1)], "expected at least one that speaks of some row, found none of 1"),
        ([MeanRule(0, 0.0)], r"rules\[0\]: expected a claim above or below the threshold, found none"),
        ([RULE, MeanRule(2, 0.0, 1)], r"rules\[1\].feature: expected a position from 0 to 1, found 2"),
        ([MeanRule(-1, 0.0, 1)], "from 0 to 1, found -1"),
        ([MeanRule("size", 0.0, 1)], "rule 'size >= 0', features: expected a column 'size', found x0, x1"),
        ([MeanRule(0, np.nan, 1)], r"rules\[0\].threshold: expected a finite number, found nan"),
        ([MeanRule(0, 0.0, np.inf)], r"rules\[0\].above: expected a finite number, found inf"),
        ([MeanRule(0, 0.0, below=(1, 2, 3))], "expected a number or a lower and an upper one"),
        ([MeanRule(0, 0.0, above=(3, 1))], "rule 'x0 >= 0': expected a finite number, or a lower and an upper one"),
        ([MeanRule(0, 0.0, above=11)], "expected a claim within the range of the labels, 0 to 10, found mean 11"),
        ([QuantileRule(0, 0.0, 1.5, above=1)], "level of the quantile: expected a number between 0 and 1"),
        ([MaskRule(X[:, 0], 1)], r"rules\[0\].mask: expected one True or False for each row, found shape \(20,\)"),
        ([MaskRule(X > 0, 1)], "for each row, found shape"),
        ([MaskRule(X[:5, 0] > 0, 1, name="first")], "rule 'first', .*one entry for each of 20 rows, found 5 entries"),
        (
            [RULE, MaskRule(X[:, 0] >= 0, 5, name="mine")],
            "rules 'x0 >= 0' and 'mine': expected claims that some labels in their range satisfy together, "
            "found mean 3 on 10 rows and mean 5 on 10 rows, 10 of them shared",
        ),
    ],
)
def test_value_errors(rules, text):
    with pytest.raises(ValueError, match=text):
        quick().fit(X, rules=rules, label_range=(0, 10))


def test_contradictions_are_errors_about_data():
    with pytest.raises(DataError, match="correct one of the two, or give it a tolerance"):
        quick().fit(X, [RULE, MeanRule(1, 0.0, above=4)], label_range=(0, 10))


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ("rules.toml", "expected a list of MeanRule, QuantileRule or MaskRule, found str"),
        (3, "found int"),
        ([RULE, "x0 >= 0"], r"rules\[1\]: expected a MeanRule, QuantileRule or MaskRule, found 'x0 >= 0'"),
        ([MeanRule(0.5, 0.0, 1)], "expected the name or the position of a column, found 0.5"),
        ([MeanRule(True, 0.0, 1)], "expected the name or the position of a column, found True"),
        ([MeanRule(0, "high", 1)], r"rules\[0\].threshold: expected a number, found 'high'"),
        ([MeanRule(0, 0.0, above="many")], r"rules\[0\].above: expected a number, found 'many'"),
        ([MaskRule(X[:, 0] > 0, None)], r"rules\[0\].mean: expected a number, found None"),
    ],
)
def test_type_errors(rules, text):
    with pytest.raises(TypeError, match=text):
        quick().fit(X, rules=rules, label_range=(0, 10))


@pytest.mark.parametrize(
    ("label_range", "text"),
    [
        ((10, 0), "label range: expected two finite numbers, the lower one first"),
        ((0, np.inf), "label_range: expected a finite number"),
        ((0, 1, 2), "label_range: expected the lowest and the highest label"),
        (5, "label_range: expected the lowest and the highest label"),
    ],
)
def test_ranges(label_range, text):
    with pytest.raises(ValueError, match=text):
        quick().fit(X, [RULE], label_range=label_range)


def test_one_claim_says_nothing_of_the_range():
    with pytest.raises(ValueError, match="expected claims that differ, or the range of the labels"):
        quick().fit(X, [MeanRule(0, 0.0, above=3)])


@pytest.mark.parametrize(
    ("labels", "text"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (X[:5, 0], "inconsistent numbers of samples: 20 rows of features and 5 labels"),
        (X, "y should be a 1d array"),
        (np.where(X[:, 0] > 0, np.nan, 1.0), "Input y contains NaN"),
        (np.where(X[:, 0] > 0, np.inf, 1.0), "Input y contains infinity"),
        (["many"] * 20, "y: expected rules or one number per row"),
    ],
)
def test_labels(labels, text):
    with pytest.raises(ValueError, match=text):
        quick().fit(X, labels)


def test_features():
    model = quick(max_epochs=2)
    for use in ("predict", "predict_quantiles", "sample"):
        with pytest.raises(NotFittedError, match="LabelFlowRegressor instance is not fitted yet"):
            getattr(model, use)(X)
    with pytest.raises(NotFittedError):
        model.save("folder")
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(np.where(X > 0.9, np.nan, X), [RULE], label_range=(0, 10))
    model.fit(X, RULE, label_range=(0, 10))
    with pytest.raises(ValueError, match="X has 1 features, but LabelFlowRegressor is expecting 2 features as input"):
        model.predict(X[:, :1])


def test_rows_far_from_the_training_rows():
    far = [[0.0, 0.0], [3e38, 3e38]]
    model = quick(max_epochs=2).fit(X, RULE, label_range=(0, 10))
    assert np.isfinite(model.predict(far)).all(), "tanh has bounds"
    model = quick(max_epochs=2, activation="relu").fit(X, RULE, label_range=(0, 10))
    with pytest.raises(DataError, match="features, row 1: expected numbers in the range of the training rows"):
        model.predict(far)


def test_a_column_of_labels_is_told():
    with pytest.warns(UserWarning, match="A column-vector y was passed") as seen:
        quick(max_epochs=2).fit(X, X[:, :1])
    assert seen[0].filename == __file__
