"""The flow: conventions, settings, files, and what watches it."""

import pickle
import threading
import warnings

import numpy as np
import pytest
from conftest import quick

import labelflow
from labelflow import ConfigError, LabelFlowClassifier, NotFittedError


@pytest.fixture(scope="module")
def fitted(planted):
    return quick().fit(planted.X, planted.votes)


def test_it_learns(fitted, planted, planted3):
    assert fitted.score(planted.X, planted.truth) > 0.8
    assert fitted.predict_proba(planted.X).shape == (300, 2)
    assert fitted.n_iter_ == len(fitted.history_) == 60
    assert fitted.stop_reason_ == "max-epochs"
    assert fitted.bounds_.shape == (5, 2)
    three = quick().fit(planted3.X, planted3.votes)
    assert three.score(planted3.X, planted3.truth) > 0.6


def test_samples(fitted, planted):
    samples = fitted.sample(planted.X, 4)
    assert samples.shape == (4, 300, 2) and samples.dtype == np.float32
    mean = np.clip(fitted.sample(planted.X, 10), 0, 1).astype(float).mean(axis=0)
    np.testing.assert_allclose(mean / mean.sum(axis=1, keepdims=True), fitted.predict_proba(planted.X), atol=1e-6)
    with pytest.raises(ValueError, match="at least 1"):
        fitted.sample(planted.X, 0)


def test_names_under_which_signals_come(fitted, planted):
    expected = fitted.predict_proba(planted.X)
    for model in (quick().fit(planted.X, signals=planted.votes), quick().fit(X=planted.X, y=planted.votes)):
        np.testing.assert_array_equal(model.predict_proba(planted.X), expected)
    with pytest.raises(TypeError, match="both"):
        quick().fit(planted.X, planted.votes, signals=planted.votes)


def test_pickle(fitted, planted):
    same = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(same.predict_proba(planted.X), fitted.predict_proba(planted.X))
    assert same.history_ == fitted.history_


def test_folder(fitted, planted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = LabelFlowClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(planted.X), fitted.predict_proba(planted.X))
    assert loaded.get_params()["n_steps"] == 2 and loaded.classes_.tolist() == [0, 1]
    again = loaded.set_params(bounds=fitted.bounds_).fit(planted.X, planted.votes)
    np.testing.assert_array_equal(again.predict_proba(planted.X), fitted.predict_proba(planted.X))
    # No prediction depends on the metrics; all depend on the order of the classes.
    (tmp_path / "model" / "metrics.jsonl").unlink()
    lost = LabelFlowClassifier.load(tmp_path / "model")
    assert lost.history_ == [] and lost.n_iter_ == fitted.n_iter_
    text = (tmp_path / "model" / "model.toml").read_text()
    (tmp_path / "model" / "model.toml").write_text(text.replace('["0", "1"]', '["1", "0"]'))
    with pytest.raises(labelflow.FormatError, match="a value was changed"):
        LabelFlowClassifier.load(tmp_path / "model")
    with pytest.raises(labelflow.FormatError, match="expected a model folder"):
        LabelFlowClassifier.load(tmp_path / "none")


def test_frames_keep_names(planted, tmp_path):
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame(planted.X, columns=["size", "weight", "age"])
    labels = np.array(["no", "yes", None], dtype=object)[planted.votes]
    votes = pandas.DataFrame(labels, columns=list("abcde"))
    bounds = {name: 0.3 for name in "abcde"}
    model = quick(bounds=bounds).fit(X, votes)
    assert model.feature_names_in_.tolist() == ["size", "weight", "age"]
    assert model.labelers_ == list("abcde") and model.classes_.tolist() == ["no", "yes"]
    assert set(model.predict(X)) <= {"no", "yes"}
    model.save(tmp_path / "model")
    assert LabelFlowClassifier.load(tmp_path / "model").feature_names_in_.tolist() == ["size", "weight", "age"]
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        model.predict(X[["weight", "size", "age"]])


def test_bounds_in_all_forms(planted):
    forms = [0.3, [0.3] * 5, np.full((5, 2), 0.3), {f"labeler{j}": 0.3 for j in range(5)}]
    models = [quick(bounds=bounds, max_epochs=5).fit(planted.X, planted.votes) for bounds in forms]
    for model in models:
        np.testing.assert_array_equal(model.bounds_, np.full((5, 2), 0.3))
    for bounds, text in [("all", "'auto'"), ([0.3] * 4, "shape"), ({"labeler0": 0.1}, "none for"), (1.5, "error rate")]:
        with pytest.raises(ValueError, match=text):
            quick(bounds=bounds).fit(planted.X, planted.votes)


def test_constraints_by_name(planted):
    usual = [{"kind": kind, "weight": 10.0} for kind in ("range", "sum-to-one", "error-bound")]
    same = quick(constraints=usual, max_epochs=5).fit(planted.X, planted.votes)
    expected = quick(max_epochs=5).fit(planted.X, planted.votes)
    np.testing.assert_array_equal(same.predict_proba(planted.X), expected.predict_proba(planted.X))
    balance = {"kind": "class-balance", "weight": 100.0, "shares": [0.9, 0.1]}
    shifted = quick(constraints=[*usual, balance]).fit(planted.X, planted.votes)
    assert shifted.predict_proba(planted.X)[:, 0].mean() > 0.6
    assert "class-balance" in shifted.history_[0]["terms"]
    mean = {"kind": "group-mean", "weight": 1.0, "feature": "x0", "threshold": 1.0, "class": 1, "above": 0.9, "below": 0.1}
    quick(constraints=[*usual, mean], max_epochs=2).fit(planted.X, planted.votes)
    with pytest.raises(ConfigError, match="unknown variant `sum-to-two`"):
        quick(constraints=[{"kind": "sum-to-two", "weight": 1.0}]).fit(planted.X, planted.votes)


def test_presets_and_settings(planted, tmp_path):
    fast = LabelFlowClassifier(preset="fast", n_steps=1, d_hidden=4).fit(planted.X, planted.votes)
    assert fast.n_iter_ == 180
    fast.save(tmp_path / "fast")
    again = LabelFlowClassifier.load(tmp_path / "fast").fit(planted.X, planted.votes)
    np.testing.assert_array_equal(again.predict_proba(planted.X), fast.predict_proba(planted.X))
    ensemble = LabelFlowClassifier(preset="ensemble", max_epochs=4, n_members=2).fit(planted.X, planted.votes)
    assert ensemble.sample(planted.X, 3).shape == (3, len(planted.X), 2)
    ensemble.save(tmp_path / "ensemble")
    loaded = LabelFlowClassifier.load(tmp_path / "ensemble")
    assert (loaded.n_members, loaded.n_steps, loaded.scaling) == (2, 4, "auto")
    again = loaded.fit(planted.X, planted.votes)
    np.testing.assert_array_equal(again.predict_proba(planted.X), ensemble.predict_proba(planted.X))
    # With bounds of one's own there is nothing for a label model to say.
    bounded = LabelFlowClassifier(preset="ensemble", max_epochs=4, bounds=0.3).fit(planted.X, planted.votes)
    assert "error-bound" in bounded.history_[0]["terms"] and "label-model" in ensemble.history_[0]["terms"]
    with pytest.raises(ConfigError, match="n_members: expected a whole number"):
        LabelFlowClassifier(preset="ensemble", n_members=1.5).fit(planted.X, planted.votes)
    with pytest.raises(ConfigError, match="preset: unknown variant"):
        LabelFlowClassifier(preset="slow").fit(planted.X, planted.votes)
    # A name is printed so that a terminal does not obey it.
    with pytest.raises(ConfigError, match=r"unknown variant `\\u\{1b\}\[31m`"):
        LabelFlowClassifier(preset="\x1b[31m").fit(planted.X, planted.votes)
    with pytest.raises(ConfigError, match="learning_rate: expected a positive number"):
        quick(learning_rate=-1.0).fit(planted.X, planted.votes)
    with pytest.raises(ConfigError, match="betas: expected two shares"):
        quick(betas=(0.9, 1.0)).fit(planted.X, planted.votes)
    with pytest.raises(ConfigError, match="betas: expected 2 numbers, found 0.9"):
        quick(betas=0.9).fit(planted.X, planted.votes)
    with pytest.raises(labelflow.DeviceError, match="cuda"):
        quick(device="cuda").fit(planted.X, planted.votes)
    with pytest.raises(ConfigError, match="max_epochs: expected a whole number, found 'all'"):
        quick(max_epochs="all").fit(planted.X, planted.votes)
    with pytest.raises(ConfigError, match="batch_size: expected a whole number, found 'half'"):
        quick(batch_size="half").fit(planted.X, planted.votes)
    batches = quick(batch_size=64, max_epochs=3).fit(planted.X, planted.votes)
    assert batches.n_iter_ == 3


def test_random_state(planted):
    def probabilities(state):
        return quick(random_state=state, max_epochs=3).fit(planted.X, planted.votes).predict_proba(planted.X)

    np.testing.assert_array_equal(probabilities(7), probabilities(7))
    assert not np.array_equal(probabilities(7), probabilities(8))
    same = [probabilities(np.random.RandomState(1)) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    same = [probabilities(np.random.default_rng(1)) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    with pytest.raises(ValueError, match="random_state"):
        probabilities("seven")


def test_threads_change_nothing(planted):
    one, two = (quick(n_jobs=n, max_epochs=5).fit(planted.X, planted.votes) for n in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(planted.X), two.predict_proba(planted.X))
    with pytest.raises(ValueError, match="n_jobs"):
        quick(n_jobs=0).fit(planted.X, planted.votes)


def test_callback_sees_epochs_and_may_stop(planted):
    seen = []
    model = quick(callback=lambda record: seen.append(record) or record["epoch"] == 9)
    model.fit(planted.X, planted.votes)
    assert [record["epoch"] for record in seen] == list(range(10))
    assert set(seen[0]) == {"epoch", "max_epochs", "loss", "terms", "learning_rate", "gradient_norm"}
    assert model.stop_reason_ == "interrupted" and model.n_iter_ == 10


def test_an_exception_in_the_callback_is_raised_and_nothing_is_stored(planted):
    def fail(record):
        raise KeyError("mine")

    model = quick(callback=fail)
    with pytest.raises(KeyError, match="mine"):
        model.fit(planted.X, planted.votes)
    with pytest.raises(NotFittedError):
        model.predict(planted.X)


def test_progress(planted, capsys):
    quick(verbose=2, max_epochs=20).fit(planted.X, planted.votes)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10 and lines[-1].startswith("LabelFlowClassifier 20/20 loss ")
    quick(verbose=1, max_epochs=5).fit(planted.X, planted.votes)
    assert capsys.readouterr().err == "", "no bar where it cannot be redrawn"


def test_fits_in_several_threads(planted):
    expected = quick(max_epochs=10).fit(planted.X, planted.votes).predict_proba(planted.X)
    results = [None] * 4

    def work(place):
        results[place] = quick(max_epochs=10).fit(planted.X, planted.votes).predict_proba(planted.X)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_the_gil_is_released(planted):
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(1)
            stop.wait(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    quick(max_epochs=200).fit(planted.X, planted.votes)
    stop.set()
    thread.join()
    assert len(ticks) > 20


def test_scores_of_votes_need_no_truth(fitted, planted):
    predicted = fitted.predict(planted.X)
    given = planted.votes >= 0
    expected = np.mean((planted.votes == predicted[:, None])[given])
    assert fitted.score(planted.X, planted.votes) == pytest.approx(expected)
    assert fitted.score(planted.X, labelflow.Signals(planted.votes)) == pytest.approx(expected)


def test_calibration(fitted, planted):
    model = pickle.loads(pickle.dumps(fitted))
    raw = model.predict_proba(planted.X)
    assert model.calibrate(planted.X, planted.truth, method="temperature", sets=0.8) is model
    calibrated = model.predict_proba(planted.X)
    rows = np.arange(len(planted.X))

    def loss(p):
        return -np.mean(np.log(np.maximum(p[rows, planted.truth], 1e-3)))

    assert loss(calibrated) <= loss(raw)
    np.testing.assert_array_equal(calibrated.argmax(axis=1), raw.argmax(axis=1))
    sets = model.predict_set(planted.X)
    assert sets.dtype == bool and sets.shape == raw.shape
    assert abs(sets[rows, planted.truth].mean() - 0.8) < 0.01
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict_proba(planted.X), calibrated)
    np.testing.assert_array_equal(same.predict_set(planted.X), sets)
    model.calibrate(planted.X, planted.truth, method=None)
    np.testing.assert_array_equal(model.predict_proba(planted.X), raw)
    with pytest.raises(ConfigError, match="learned sets"):
        model.predict_set(planted.X)


def test_calibration_wrong(fitted, planted):
    with pytest.raises(ValueError, match="inconsistent numbers"):
        fitted.calibrate(planted.X, planted.truth[:-1])
    with pytest.raises(ValueError, match="expected some of the classes"):
        fitted.calibrate(planted.X, planted.truth + 5)
    with pytest.raises(ValueError, match="isotonic"):
        fitted.calibrate(planted.X, planted.truth, method="platt")
    with pytest.raises(ValueError, match="between 0 and 1"):
        fitted.calibrate(planted.X, planted.truth, sets=1.0)


def test_a_likelihood_weight_that_moves(planted):
    spread = quick(likelihood_weight=1.0, final_likelihood_weight=-0.5).fit(planted.X, planted.votes)
    deviation = {name: m.sample(planted.X, 30).std(axis=0).mean() for name, m in
                 {"spread": spread, "paper": quick().fit(planted.X, planted.votes)}.items()}
    assert deviation["spread"] > deviation["paper"]


def test_data_that_looks_wrong_is_warned_of(planted):
    far = planted.X.astype(np.float64)
    far[7, 1] = 3e38
    votes = planted.votes.copy()
    model = quick()
    with pytest.warns(labelflow.DataWarning, match="the column 'x1' is 3e38 in row 7"):
        model.fit(far, votes)
    # One cell does not flatten the column.
    assert np.mean(model.predict(planted.X) == quick().fit(planted.X, votes).predict(planted.X)) > 0.95
    with pytest.warns(labelflow.DataWarning, match="every column is constant"):
        quick().fit(np.full_like(planted.X, 5), votes)
    with pytest.warns(labelflow.DataWarning, match="any labels keep them"):
        LabelFlowClassifier(max_epochs=1, bounds=1).fit(planted.X, votes)
    with warnings.catch_warnings():
        warnings.simplefilter("error", labelflow.DataWarning)
        LabelFlowClassifier(max_epochs=1, bounds=0.3).fit(planted.X, votes)
        with pytest.raises(labelflow.DataWarning, match="agree on 0.0 %"):
            quick().fit(planted.X, np.column_stack([votes, np.where(votes < 0, -1, 1 - votes)[:, :1]]))


def test_a_far_zero_teaches_the_same(planted):
    def accuracy(X):
        return np.mean(quick().fit(X, planted.votes).predict(X) == planted.truth)

    # The noise of a prediction is that of the row's features, so labels at the border between classes may differ.
    far = planted.X.astype(np.float64) + 1e9
    assert abs(accuracy(far) - accuracy(planted.X)) < 0.04
