"""scikit-learn's own checks, its pipelines and its searches."""

import numpy as np
import pytest
from conftest import quick, quick_regressor

import labelflow

pytest.importorskip("sklearn", minversion="1.6")

from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

SMALL = {
    "kind": "multilayer-perceptron",
    "hidden": [{"width": 16}],
    "learning_rate": 1e-2,
    "n_epochs": 40,
}

ESTIMATORS = [
    quick(max_epochs=100, learning_rate=1e-2),
    labelflow.TwoStageClassifier(end_model=SMALL),
    labelflow.TwoStageClassifier(end_model="logistic-regression"),
    labelflow.TwoStageClassifier(label_model=quick(max_epochs=40), end_model=SMALL),
    labelflow.TwoStageClassifier(end_model=LogisticRegression()),
    labelflow.AdversarialLabels(linear={"learning_rate": 0.1, "max_iterations": 300}, network={"perceptron": {k: v for k, v in SMALL.items() if k != "kind"}}),
    labelflow.GeneralizedExpectation(penalty=0.1),
]


#: Checks that cannot pass, and why.
EXPECTED_FAILURES = {
    "check_supervised_y_2d": "a column of votes is the signals of one labeler, and no slip to be warned of",
}


@parametrize_with_checks([quick_regressor()])
def test_checks_of_scikit_learn_for_regression(estimator, check):
    check(estimator)


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED_FAILURES)
def test_checks_of_scikit_learn(estimator, check):
    check(estimator)


def test_pipeline(planted):
    model = make_pipeline(StandardScaler(), quick()).fit(planted.X, planted.votes)
    assert model.score(planted.X, planted.truth) > 0.8
    assert model.predict_proba(planted.X).shape == (300, 2)


def test_search_over_parameters(planted):
    search = GridSearchCV(quick(max_epochs=20), {"likelihood_weight": [0.0, 1.0], "d_hidden": [4, 16]}, cv=2)
    for votes in (planted.votes, labelflow.Signals(planted.votes)):
        search.fit(planted.X, votes)
        assert search.best_score_ > 0.5
    assert search.best_estimator_.score(planted.X, planted.truth) > 0.7


def test_cross_validation_of_hard_labels(planted):
    scores = cross_val_score(quick(), planted.X, planted.truth, cv=3)
    assert scores.min() > 0.8


def test_search_inside_two_stages(planted):
    model = labelflow.TwoStageClassifier(label_model=labelflow.SnorkelLabelModel(), end_model=LogisticRegression())
    search = GridSearchCV(model, {"label_model__l2": [0.0, 0.1], "end_model__C": [0.1, 1.0]}, cv=2)
    assert search.fit(planted.X, planted.votes).best_score_ > 0.6
    assert model.get_params()["label_model__n_epochs"] == 100


def test_not_fitted_is_scikit_learns_too():
    from sklearn.exceptions import NotFittedError

    for error in (NotFittedError, labelflow.NotFittedError):
        with pytest.raises(error):
            quick().predict(np.zeros((2, 2)))


def test_regression_in_pipelines_and_searches(valued):
    rules = [labelflow.MeanRule(0, 0.0, above=12.5, below=7.5)]
    model = make_pipeline(StandardScaler(), quick_regressor())
    model.fit(valued.X, rules, labelflowregressor__label_range=valued.label_range)
    assert model.score(valued.X, valued.truth) > 0.4
    search = GridSearchCV(quick_regressor(max_epochs=50), {"weight_decay": [0.0, 10.0]}, cv=2)
    assert search.fit(valued.X, valued.truth).best_score_ > 0.3
