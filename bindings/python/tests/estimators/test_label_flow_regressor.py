"""Regression from rules: conventions, rules in all their forms, settings, files."""

import pickle

import numpy as np
import pytest
from conftest import quick_regressor as quick

import labelflow
from labelflow import ConfigError, LabelFlowRegressor, MaskRule, MeanRule, NotFittedError, QuantileRule


@pytest.fixture(scope="module")
def fitted(valued):
    return quick().fit(valued.X, valued.rules, label_range=valued.label_range)


def test_it_learns(fitted, valued):
    assert fitted.score(valued.X, valued.truth) > 0.6
    assert fitted.predict(valued.X).shape == (300,)
    assert fitted.n_iter_ == len(fitted.history_) == 150
    assert fitted.stop_reason_ == "max-epochs"
    assert fitted.range_ == valued.label_range
    assert fitted.n_features_in_ == 3 and not hasattr(fitted, "feature_names_in_")
    above = valued.X[:, 0] >= 0.0
    assert fitted.predict(valued.X)[above].mean() == pytest.approx(valued.truth[above].mean(), abs=1.0)


def test_distributions(fitted, valued):
    mean, std = fitted.predict(valued.X, return_std=True)
    np.testing.assert_array_equal(mean, fitted.predict(valued.X))
    quantiles = fitted.predict_quantiles(valued.X, [0.05, 0.5, 0.95])
    assert quantiles.shape == (300, 3) and (np.diff(quantiles, axis=1) >= 0.0).all() and (std >= 0.0).all()
    np.testing.assert_array_equal(fitted.predict_quantiles(valued.X), quantiles)
    samples = fitted.sample(valued.X, 400)
    assert samples.shape == (400, 300)
    lower, upper = fitted.range_
    assert samples.min() >= lower and samples.max() <= upper
    np.testing.assert_allclose(samples.mean(axis=0), mean, atol=6.0 * std.max() / 20.0)
    np.testing.assert_allclose(samples.std(axis=0).mean(), std.mean(), rtol=0.05)
    for levels in ([0.0], [1.5], [], 0.5, ["median"]):
        with pytest.raises(ValueError, match="between 0 and 1"):
            fitted.predict_quantiles(valued.X, levels)
    with pytest.raises(ValueError, match="at least 1"):
        fitted.sample(valued.X, 0)


def test_names_under_which_rules_come(fitted, valued):
    expected = fitted.predict(valued.X)
    for model in (
        quick().fit(valued.X, rules=valued.rules, label_range=list(valued.label_range)),
        quick().fit(valued.X, tuple(valued.rules), label_range=np.array(valued.label_range)),
        quick().fit(valued.X, rules=iter(valued.rules), label_range=valued.label_range),
    ):
        np.testing.assert_array_equal(model.predict(valued.X), expected)
    with pytest.raises(TypeError, match="both"):
        quick().fit(valued.X, valued.rules, rules=valued.rules)


def test_a_rule_is_the_same_by_name_by_place_and_by_mask(valued):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(valued.X, columns=["size", "weight", "age"])
    above = valued.X[:, 1] >= 0.25
    same = [
        (valued.X, [MeanRule(1, 0.25, above=12, below=(8.0, 9))]),
        (valued.X, [MeanRule(np.int64(1), 0.25, 12), MeanRule("x1", 0.25, below=(8, 9))]),
        (frame, [MeanRule("weight", 0.25, np.float32(12), [8, 9])]),
        (frame, [MaskRule(frame["weight"] >= 0.25, 12), MaskRule(~above, np.array([8.0, 9.0]), name="light")]),
        (valued.X, [MaskRule(above.tolist(), 12), MaskRule(~above, (8, 9))]),
    ]
    models = [quick(max_epochs=5).fit(X, rules, label_range=(0, 20)) for X, rules in same]
    for model, (X, _) in zip(models, same):
        np.testing.assert_array_equal(model.predict(X), models[0].predict(valued.X))
    assert models[2].feature_names_in_.tolist() == ["size", "weight", "age"]


def test_quantiles_of_groups(valued):
    rules = [QuantileRule(0, 0.0, 0.5, above=14, below=(6, 7))]
    model = quick(max_epochs=300).fit(valued.X, rules, label_range=(0, 20))
    above = valued.X[:, 0] >= 0.0
    samples = model.sample(valued.X, 50)
    assert np.median(samples[:, above]) == pytest.approx(14, abs=1.5)
    assert np.median(samples[:, ~above]) == pytest.approx(6.5, abs=1.5)


def test_true_labels_are_seen_through_rules_only(valued):
    model = quick(max_epochs=20).fit(valued.X, valued.truth)
    assert model.range_ == (valued.truth.min(), valued.truth.max())
    thresholds = valued.X.mean(axis=0, dtype=np.float64).astype(np.float32)
    rules = []
    for place, threshold in enumerate(thresholds):
        above = valued.X[:, place] >= threshold
        means = (float(valued.truth[side].mean()) for side in (above, ~above))
        rules.append(MeanRule(place, float(threshold), *means))
    same = quick(max_epochs=20).fit(valued.X, rules, label_range=model.range_)
    np.testing.assert_array_equal(model.predict(valued.X), same.predict(valued.X))
    wider = quick(max_epochs=2).fit(valued.X, valued.truth, label_range=(-50, 50))
    assert wider.range_ == (-50.0, 50.0)
    constant = quick(max_epochs=2).fit(valued.X, np.full(300, 3.0))
    assert constant.range_ == (0.0, 6.0)


def test_doubts_are_warnings(valued):
    with pytest.warns(UserWarning, match="rules: no range of the labels is given; .* between 0 and 30: give the range"):
        model = quick(max_epochs=2).fit(valued.X, [MeanRule(0, 0.0, above=20, below=10)])
    assert model.range_ == (0.0, 30.0)
    rules = [*valued.rules, MeanRule(2, 99.0, above=15)]
    with pytest.warns(UserWarning, match="the rule 'x2 >= 99' speaks of no row and is skipped") as seen:
        quick(max_epochs=2).fit(valued.X, rules, label_range=valued.label_range)
    assert seen[0].filename == __file__


def test_pickle_and_clone(fitted, valued):
    same = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(same.predict(valued.X), fitted.predict(valued.X))
    assert same.history_ == fitted.history_ and same.range_ == fitted.range_
    sklearn = pytest.importorskip("sklearn.base")
    clone = sklearn.clone(fitted)
    assert clone.get_params() == fitted.get_params() and not hasattr(clone, "range_")
    assert sklearn.is_regressor(fitted) and not sklearn.is_classifier(fitted)


def test_rules_compare_and_pickle():
    rule = MeanRule("a", 1.0, above=2.0)
    assert pickle.loads(pickle.dumps(rule)) == rule == MeanRule("a", 1.0, 2.0, None)
    assert repr(rule) == "MeanRule(feature='a', threshold=1.0, above=2.0, below=None)"
    with pytest.raises(AttributeError):
        rule.above = 3.0


def test_folder(fitted, valued, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = LabelFlowRegressor.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(valued.X), fitted.predict(valued.X))
    assert loaded.range_ == fitted.range_ and loaded.n_iter_ == 150
    assert loaded.get_params() == {**fitted.get_params(), **{
        name: loaded.get_params()[name]
        for name in ("min_epochs", "learning_rate_decay", "learning_rate_floor", "betas", "max_gradient_norm", "tolerance", "batch_size")
    }}
    again = loaded.fit(valued.X, valued.rules, label_range=fitted.range_)
    np.testing.assert_array_equal(again.predict(valued.X), fitted.predict(valued.X))
    with pytest.raises(labelflow.FormatError, match="expected a model folder"):
        LabelFlowRegressor.load(tmp_path / "none")
    with pytest.raises(labelflow.FormatError, match="classification"):
        labelflow.LabelFlowClassifier.load(tmp_path / "model")


def test_settings(valued):
    def fit(**parameters):
        return quick(**{"max_epochs": 2, **parameters}).fit(valued.X, valued.rules, label_range=valued.label_range)

    for parameters, text in [
        ({"activation": "sine"}, "unknown variant `sine`"),
        ({"weight_decay": -1.0}, "weight_decay: expected from 0"),
        ({"rules_weight": "much"}, "rules_weight: expected a number, found 'much'"),
        ({"n_steps": 0}, "n_steps: expected at least 1"),
        ({"max_epochs": 1.5}, "max_epochs: expected a whole number"),
        ({"preset": "slow"}, "preset: unknown variant"),
        ({"scaling": "whiten"}, "unknown variant `whiten`"),
    ]:
        with pytest.raises(ConfigError, match=text):
            fit(**parameters)
    expected = fit().predict(valued.X)
    for parameters in ({"weight_decay": 0.0}, {"activation": "relu"}, {"range_weight": 1.0}, {"random_state": 1}):
        assert not np.array_equal(fit(**parameters).predict(valued.X), expected), parameters
    np.testing.assert_array_equal(fit(n_jobs=1).predict(valued.X), expected)
    assert fit(batch_size=64).n_iter_ == 2


def test_callback_and_progress(valued, capsys):
    seen = []
    model = quick(callback=lambda record: seen.append(record) or record["epoch"] == 9)
    model.fit(valued.X, valued.rules, label_range=valued.label_range)
    assert model.n_iter_ == len(seen) == 10 and model.stop_reason_ == "interrupted"
    quick(verbose=2, max_epochs=20).fit(valued.X, valued.rules, label_range=valued.label_range)
    assert capsys.readouterr().err.splitlines()[-1].startswith("LabelFlowRegressor 20/20 loss ")

    def fail(record):
        raise KeyError("mine")

    model = quick(callback=fail)
    with pytest.raises(KeyError, match="mine"):
        model.fit(valued.X, valued.rules, label_range=valued.label_range)
    with pytest.raises(NotFittedError):
        model.predict(valued.X)


def test_scores(fitted, valued):
    predicted = fitted.predict(valued.X)
    metrics = pytest.importorskip("sklearn.metrics")
    assert fitted.score(valued.X, valued.truth) == pytest.approx(metrics.r2_score(valued.truth, predicted))
    assert fitted.score(valued.X, predicted) == 1.0
    assert fitted.score(valued.X, np.zeros(300)) == 0.0
    with pytest.raises(ValueError, match="inconsistent numbers of samples: 300 rows of features and 2 labels"):
        fitted.score(valued.X, valued.truth[:2])
