"""The other classifiers on features."""

import json
import pickle

import numpy as np
import pytest
from conftest import quick

import labelflow
from labelflow import AdversarialLabels, DawidSkene, GeneralizedExpectation, TwoStageClassifier

SMALL = {"kind": "multilayer-perceptron", "hidden": [{"width": 16}], "learning_rate": 1e-2, "n_epochs": 15}
NETWORK = {"perceptron": {key: value for key, value in SMALL.items() if key != "kind"}}

CLASSIFIERS = [
    TwoStageClassifier(end_model=SMALL),
    TwoStageClassifier(label_model=DawidSkene(), end_model="logistic-regression"),
    TwoStageClassifier(label_model=quick(), end_model=SMALL, labels="soft"),
    AdversarialLabels(network=NETWORK),
    GeneralizedExpectation(penalty=0.1),
]


@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=repr)
def test_learns_pickles_and_saves(classifier, planted, tmp_path):
    base = pytest.importorskip("sklearn.base")
    model = base.clone(classifier).fit(planted.X, planted.votes)
    assert model.score(planted.X, planted.truth) > 0.7
    expected = model.predict_proba(planted.X)
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict_proba(planted.X), expected)
    model.save(tmp_path / "model.json")
    loaded = type(model).load(tmp_path / "model.json")
    np.testing.assert_array_equal(loaded.predict_proba(planted.X), expected)
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]
    contents = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps(contents, indent=2, sort_keys=True))
    type(model).load(tmp_path / "model.json")
    (tmp_path / "model.json").write_text(json.dumps({**contents, "classes": contents["classes"][::-1]}))
    with pytest.raises(labelflow.FormatError, match="a value was changed"):
        type(model).load(tmp_path / "model.json")
    (tmp_path / "model.json").write_text("[]")
    with pytest.raises(labelflow.FormatError):
        type(model).load(tmp_path / "model.json")


def test_any_classifier_is_an_end_model(planted):
    linear = pytest.importorskip("sklearn.linear_model")
    for labels in ("hard", "soft"):
        model = TwoStageClassifier(label_model=DawidSkene(), end_model=linear.LogisticRegression(), labels=labels)
        model.fit(planted.X, planted.votes)
        assert model.score(planted.X, planted.truth) > 0.8
        assert model.end_model_.coef_.shape == (1, 3)
        same = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(same.predict(planted.X), model.predict(planted.X))
    with pytest.raises(TypeError, match="use pickle"):
        model.save("model.json")


def test_rows_without_votes_are_left_out(planted):
    votes = planted.votes.copy()
    votes[:100] = -1
    model = TwoStageClassifier(end_model="logistic-regression").fit(planted.X, votes)
    part = TwoStageClassifier(end_model="logistic-regression").fit(planted.X[100:], votes[100:])
    np.testing.assert_array_equal(model.predict_proba(planted.X), part.predict_proba(planted.X))


def test_named_presets_are_those_of_rust(planted):
    for name in ("mlp", "mlp-cll-public", "mlp-llf-1hidden", "logistic-regression"):
        TwoStageClassifier(end_model=name).fit(planted.X[:40], planted.votes[:40])
    with pytest.raises(ValueError, match="end_model: expected mlp, mlp-cll-public"):
        TwoStageClassifier(end_model="tree").fit(planted.X, planted.votes)


def test_reference_proportions(planted):
    reference = np.tile([[[0.75, 0.25], [0.25, 0.75]]], (5, 1, 1))
    model = GeneralizedExpectation(reference=reference, penalty=0.1).fit(planted.X, planted.votes)
    assert model.score(planted.X, planted.truth) > 0.8
    with pytest.raises(ValueError, match=r"expected shape \(5, 2, 2\)"):
        GeneralizedExpectation(reference=reference[:2]).fit(planted.X, planted.votes)
    with pytest.raises(labelflow.DataError, match="shares that sum to 1"):
        GeneralizedExpectation(reference=reference * 2).fit(planted.X, planted.votes)


def test_settings_of_adversarial_labels(planted):
    full = np.where(planted.votes < 0, planted.truth[:, None], planted.votes)
    linear = AdversarialLabels(form="linear", linear={"learning_rate": 0.1, "max_iterations": 200}, bounds=0.25)
    assert linear.fit(planted.X, full).score(planted.X, planted.truth) > 0.8
    with pytest.raises(labelflow.DataError, match="no abstentions"):
        linear.fit(planted.X, planted.votes)
    with pytest.raises(labelflow.ConfigError, match="unknown field `rate`"):
        AdversarialLabels(linear={"rate": 1}).fit(planted.X, full)
