"""Wrong inputs get the exception that a user of scikit-learn expects."""

import numpy as np
import pytest
from conftest import quick

import labelflow
from labelflow import NotFittedError

X = np.linspace(-1, 1, 20)[:, None] * [[1.0, 2.0]]
VOTES = np.repeat((X[:, :1] > 0).astype(int), 3, axis=1)


@pytest.mark.parametrize(
    ("features", "signals", "text"),
    [
        (X[:10], VOTES, "inconsistent numbers of samples: 10 rows of features and 20 rows of signals"),
        (X[:, 0], VOTES, "Expected 2D array, got 1D array instead"),
        (X[None], VOTES, "Found array with dim 3"),
        (X[:0], VOTES[:0], "0 sample"),
        (X[:1], VOTES[:1], "1 sample"),
        (X[:, :0], VOTES, "0 feature"),
        (np.where(X > 0.9, np.nan, X), VOTES, "Input X contains NaN .first in row"),
        (np.where(X > 0.9, np.inf, X), VOTES, "Input X contains infinity"),
        (X * 1e300, VOTES, "expected numbers whose squares"),
        (X.astype(complex), VOTES, "Complex data not supported"),
        (X, VOTES[..., None, None], "signals: expected votes"),
        (X, VOTES * 1.0 - 1.0, "these look like votes"),
        (X, VOTES * 0.7 + 0.5, "expected a probability of class 1 from 0 to 1"),
        (X, np.where(VOTES == 1, -3, VOTES), "found -3"),
        (X, np.full_like(VOTES, -1), "only abstentions"),
        (X, VOTES * 0, "only votes for class 0"),
        (X, None, "requires y to be passed, but the target y is None"),
        (X, X[:, 0], "Unknown label type: continuous"),
    ],
)
def test_value_errors(features, signals, text):
    with pytest.raises(ValueError, match=text):
        quick().fit(features, signals)


def test_text_among_features():
    with pytest.raises(ValueError, match="could not convert string to float"):
        quick().fit([["a", "b"], ["c", "d"]], VOTES[:2])


def test_abstentions_only_with_named_classes():
    with pytest.raises(ValueError, match="expected at least one vote, found abstentions only"):
        quick(classes=[0, 1]).fit(X, np.full_like(VOTES, -1))
    with pytest.raises(ValueError, match="expected at least one vote, found abstentions only"):
        labelflow.MajorityVote(classes=[0, 1]).fit(np.full_like(VOTES, -1))


def test_unfitted():
    for use in ("predict", "predict_proba", "sample"):
        with pytest.raises(NotFittedError, match="LabelFlowClassifier instance is not fitted yet"):
            getattr(quick(), use)(X)
    for use in ("save",):
        with pytest.raises(NotFittedError):
            getattr(quick(), use)("folder")


def test_another_number_of_features():
    model = quick(max_epochs=2).fit(X, VOTES)
    with pytest.raises(ValueError, match="X has 1 features, but LabelFlowClassifier is expecting 2 features as input"):
        model.predict(X[:, :1])


def test_an_unknown_parameter():
    with pytest.raises(TypeError):
        labelflow.LabelFlowClassifier(epochs=3)
    with pytest.raises(ValueError, match="Invalid parameter 'epochs' for estimator LabelFlowClassifier"):
        labelflow.LabelFlowClassifier().set_params(epochs=3)


def test_rows_far_from_the_training_rows_are_told():
    model = quick(max_epochs=2).fit(X, VOTES)
    far = np.vstack([X[:2], [[3e38, 3e38]]])
    with pytest.warns(UserWarning, match="1 of 3 rows, the first of them row 2"):
        probabilities = model.predict_proba(far)
    np.testing.assert_allclose(probabilities[2], [0.5, 0.5])


def test_scipy_sparse_features():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        quick().fit(sparse.csr_matrix(X), VOTES)
