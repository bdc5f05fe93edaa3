"""Every label model keeps the same conventions."""

import json
import pickle

import numpy as np
import pytest

import labelflow
from labelflow import LABEL_MODELS, ConfigError, NotFittedError
from labelflow._label_models import made_class

MODELS = list(LABEL_MODELS.values())


@pytest.mark.parametrize("Model", MODELS)
def test_labels_are_better_than_single_votes(Model, planted):
    model = Model().fit(planted.votes)
    probabilities = model.predict_proba(planted.votes)
    assert probabilities.shape == (300, 2)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert model.score(planted.votes, planted.truth) > 0.78
    assert model.classes_.tolist() == [0, 1] and len(model.labelers_) == 5


@pytest.mark.parametrize("Model", MODELS)
def test_pickle_clone_and_file(Model, planted, tmp_path):
    base = pytest.importorskip("sklearn.base")
    model = Model(n_jobs=1).fit(planted.votes)
    expected = model.predict_proba(planted.votes)
    same = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(same.predict_proba(planted.votes), expected)
    assert same.get_params() == model.get_params()
    copy = base.clone(model)
    assert copy.get_params() == model.get_params() and not hasattr(copy, "model_")
    path = tmp_path / "model.json"
    model.save(path)
    np.testing.assert_array_equal(Model.load(path).predict_proba(planted.votes), expected)


@pytest.mark.parametrize("Model", MODELS)
def test_named_classes_and_labelers(Model, planted):
    pandas = pytest.importorskip("pandas")
    names = np.array(["no", "yes", None], dtype=object)[planted.votes]
    frame = pandas.DataFrame(names, columns=list("abcde"))
    model = Model().fit(frame)
    assert set(model.predict(frame)) <= {"no", "yes"}
    assert model.labelers_ == list("abcde")
    moved = frame[list("cabed")]
    np.testing.assert_array_equal(model.predict_proba(moved), model.predict_proba(frame))
    numbers = Model().fit(planted.votes)
    np.testing.assert_array_equal(model.predict_proba(frame), numbers.predict_proba(planted.votes))


@pytest.mark.parametrize("Model", MODELS)
def test_results_do_not_depend_on_threads(Model, planted):
    one, two = (Model(n_jobs=n).fit(planted.votes).predict_proba(planted.votes) for n in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("Model", MODELS)
def test_unfitted(Model):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        Model().predict([[0, 1, 1]])


@pytest.mark.parametrize("Model", MODELS)
def test_other_labelers_are_an_error(Model, planted):
    with pytest.raises(ValueError, match="expected the labelers labeler0, .*, found 3 without names"):
        Model().fit(planted.votes).predict(planted.votes[:, :3])


def test_settings_reach_the_method():
    for n_epochs, found in [(-1, "not negative, found -1"), (2.5, "found 2.5"), ("many", "found 'many'")]:
        with pytest.raises(ConfigError, match=f"n_epochs: expected a whole number.*{found}"):
            labelflow.MeTaL(n_epochs=n_epochs).fit([[0, 0, 1], [1, 1, 1]])
    with pytest.raises(ConfigError, match="unknown variant `loud`"):
        labelflow.MajorityVote(share="loud").fit([[0, 0, 1], [1, 1, 1]])
    votes = [[0, 0, 1], [1, 1, 1]]
    winners = labelflow.MajorityVote(share="winners").fit(votes).predict_proba(votes)
    np.testing.assert_array_equal(winners, [[1, 0], [0, 1]])
    balance = labelflow.DataProgramming(class_balance=np.array([0.9, 0.1])).fit(votes)
    assert balance.predict_proba(votes).shape == (2, 2)


def test_what_is_known_of_labelers(planted):
    names = [f"labeler{place}" for place in range(5)]
    told = [
        labelflow.AdversarialMulticlass(errors=errors).fit(planted.votes).predict_proba(planted.votes)
        for errors in (0.25, [0.25] * 5, dict.fromkeys(names, 0.25))
    ]
    for other in told[1:]:
        np.testing.assert_array_equal(other, told[0])
    with pytest.raises(ValueError, match="errors: expected a number or one for each of 5 labelers"):
        labelflow.PerformanceGuaranteedVote(errors=[0.1, 0.2]).fit(planted.votes)
    with pytest.raises(ValueError, match="none for 'labeler0'"):
        labelflow.ConstrainedLabels(bounds={}).fit(planted.votes)


def test_doubts_are_told(planted):
    model = labelflow.DawidSkene().fit(planted.votes[:, :2])
    assert any("too few to learn" in doubt for doubt in model.doubts(planted.votes[:, :2]))


def test_parameters_are_plain_numbers(planted):
    assert isinstance(labelflow.DawidSkene().fit(planted.votes).parameters_, dict)


def test_a_file_of_another_model(planted, tmp_path):
    labelflow.MajorityVote().fit(planted.votes).save(tmp_path / "m.json")
    with pytest.raises(ValueError, match="expected the label model dawid-skene, found majority-vote"):
        labelflow.DawidSkene.load(tmp_path / "m.json")
    with pytest.raises(FileNotFoundError):
        labelflow.DawidSkene.load(tmp_path / "none.json")
    (tmp_path / "broken.json").write_text("{")
    with pytest.raises(labelflow.FormatError, match="expected a label model of labelflow"):
        labelflow.DawidSkene.load(tmp_path / "broken.json")


def test_a_crowd(planted):
    pandas = pytest.importorskip("pandas")
    rows, workers = np.nonzero(planted.votes >= 0)
    frame = pandas.DataFrame({"task": rows, "worker": workers, "label": planted.votes[rows, workers]})
    signals = labelflow.Signals(frame)
    model = labelflow.DawidSkene().fit(signals)
    expected = labelflow.DawidSkene().fit(planted.votes)
    by_task = dict(zip(signals.tasks_.tolist(), model.predict(signals)))
    places = np.unique(rows)
    agreement = np.mean([by_task[row] == label for row, label in zip(places, expected.predict(planted.votes)[places])])
    assert agreement > 0.98


def test_every_label_model_of_the_registry_has_a_class():
    registry = json.loads(labelflow._labelflow.label_models())
    assert [entry["name"] for entry in registry] == list(LABEL_MODELS)
    for entry in registry:
        Model = LABEL_MODELS[entry["name"]]
        assert Model.__name__ == entry["class"]
        assert labelflow.label_model(entry["name"]).get_params() == Model().get_params()
    with pytest.raises(ValueError, match="expected one of majority-vote, .*, found 'vote'"):
        labelflow.label_model("vote")
    with pytest.raises(TypeError, match="smooth"):
        labelflow.label_model("dawid-skene", smooth=1)


def test_a_label_model_without_a_file_of_its_own(planted):
    Model = made_class("dawid-skene")
    assert Model().get_params() == labelflow.DawidSkene().get_params()
    assert "smoothing : default=0.01" in Model.__doc__
    expected = labelflow.DawidSkene(smoothing=0.5).fit(planted.votes).predict_proba(planted.votes)
    np.testing.assert_array_equal(Model(smoothing=0.5).fit(planted.votes).predict_proba(planted.votes), expected)


def test_rows_worth_another_vote(planted):
    model = labelflow.HyperLabelModel().fit(planted.votes)
    rows = model.rows_to_relabel(planted.votes, n=60)
    assert rows.shape == (60,) and len(set(rows.tolist())) == 60
    wrong = model.predict(planted.votes) != planted.truth
    assert wrong[rows].mean() > 2 * wrong.mean()
    assert len(model.rows_to_relabel(planted.votes, n=10_000)) == 300
    with pytest.raises(ValueError, match="n: expected at least 1, found 0"):
        model.rows_to_relabel(planted.votes, n=0)


def test_agreement_beyond_chance():
    # The example of four observers of Krippendorff, 2011.
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
        [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
    ]
    votes = np.array(observers).T
    assert labelflow.krippendorff_alpha(votes, abstain="zero") == pytest.approx(0.743, abs=5e-4)
    assert np.isnan(labelflow.krippendorff_alpha([[0, -1], [-1, 1]]))


def test_labels_of_some_rows_are_learned_from():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    # Two labelers guess, the third is mostly wrong, and only labelled rows can tell.
    votes = np.stack([rng.integers(0, 2, 400), rng.integers(0, 2, 400), np.where(rng.random(400) < 0.9, 1 - truth, truth)], axis=1)
    names = np.array(["ham", "spam"])
    known = [names[label] if row < 100 else None for row, label in enumerate(truth)]
    model = labelflow.AutoLabelModel(classes=names)
    without = (model.fit(votes).predict(votes) == names[truth]).mean()
    fitted = model.fit(votes, known_labels=known)
    assert fitted.remark_.startswith("hyper was chosen: it learns from the known classes")
    assert without < 0.2 and (fitted.predict(votes) == names[truth]).mean() > 0.65
    with pytest.raises(labelflow.DataError, match="known_labels: expected one of ham, spam, found 'eggs' in row 1"):
        model.fit(votes, known_labels=[None, "eggs"] + [None] * 398)
    with pytest.raises(labelflow.ConfigError, match="known_labels: expected a label model that learns from labels too"):
        labelflow.DawidSkene(classes=names).fit(votes, known_labels=known)
    with pytest.raises(labelflow.DataError, match="known labels"):
        model.fit(votes, known_labels=known[:5])


def test_auto_says_what_it_chose():
    votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1]]
    assert " was chosen: " in labelflow.AutoLabelModel().fit(votes).remark_
    assert labelflow.MajorityVote().fit(votes).remark_ is None
