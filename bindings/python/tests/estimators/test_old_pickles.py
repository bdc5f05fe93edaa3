"""Estimators that were pickled before their modules moved."""

import pickle
from pathlib import Path

import numpy as np
import pytest

#: Written by `write`, with labelflow 0.1 when each public class had a module of its own at the top of the package.
PICKLES = Path(__file__).with_name("old_pickles.bin")
X = np.linspace(-1, 1, 20, dtype=np.float32)[:, None]
VOTES = np.repeat((X > 0).astype(np.int8), 3, axis=1)


def write():
    import labelflow

    small = {"max_epochs": 2, "n_steps": 1, "d_hidden": 4}
    two_stage = labelflow.TwoStageClassifier(label_model=labelflow.DawidSkene(), end_model="logistic-regression")
    rules = [labelflow.MeanRule(0, 0.0, above=3, below=1)]
    boxes = np.random.default_rng(0).uniform(-1, 1, (4, 60, 3))
    completer = labelflow.PointCloudCompleter(
        preset="small", n_points=16, n_partial_points=8, max_epochs=1, batch_size=2, statistics_batches=1, n_steps=1,
        d_hidden=4, d_latent=2, feature_widths=[4], discriminator_widths=[4], discriminator_head=[4],
    )
    labels_of_rows = {
        "LabelFlowClassifier": labelflow.LabelFlowClassifier(**small).fit(X, VOTES),
        "TwoStageClassifier": two_stage.fit(X, VOTES),
        "AdversarialLabels": labelflow.AdversarialLabels(bounds=0.1).fit(X, VOTES),
        "GeneralizedExpectation": labelflow.GeneralizedExpectation().fit(X, VOTES),
        "LabelFlowRegressor": labelflow.LabelFlowRegressor(**small).fit(X, rules, label_range=(0, 4)),
    }
    # All but a fitted ConstrainedLabels, which takes 100 KB.
    names = [name for name in labelflow.LABEL_MODELS if name != "constrained-labels"]
    label_models = {name: labelflow.LABEL_MODELS[name]().fit(VOTES) for name in names}
    expected = {name: estimator.predict(X) for name, estimator in labels_of_rows.items()}
    expected |= {name: model.predict_proba(VOTES) for name, model in label_models.items()}
    completer.fit(boxes, parts=[(box[:, 0] > 0).astype(int) for box in boxes])
    expected["PointCloudCompleter"] = completer.complete(boxes[0], 1, frame="scan")
    values = {"Signals": labelflow.Signals(VOTES), "rules": rules, "BadRows": labelflow.BadRows()}
    estimators = {**labels_of_rows, **label_models, "PointCloudCompleter": completer}
    PICKLES.write_bytes(pickle.dumps((estimators, expected, values)))


@pytest.mark.filterwarnings("ignore")
def test_old_pickles():
    import labelflow

    estimators, expected, values = pickle.loads(PICKLES.read_bytes())
    assert set(estimators) == set(expected) and len(estimators) > 10
    for name, estimator in estimators.items():
        if name == "PointCloudCompleter":
            box = np.random.default_rng(0).uniform(-1, 1, (4, 60, 3))[0]
            found = estimator.complete(box, 1, frame="scan")
            assert estimator.learning_rate_floor is None and not hasattr(estimator, "final_rate")
        elif name in labelflow.LABEL_MODELS:
            found = estimator.predict_proba(VOTES)
        else:
            found = estimator.predict(X)
        np.testing.assert_allclose(found, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)
        assert type(estimator) is getattr(labelflow, type(estimator).__name__)
        assert repr(estimator).startswith(f"{type(estimator).__name__}(")
        again = pickle.loads(pickle.dumps(estimator))
        assert again.get_params().keys() == estimator.get_params().keys()
    np.testing.assert_array_equal(values["Signals"].votes(), VOTES)
    assert values["rules"] == [labelflow.MeanRule(0, 0.0, above=3, below=1)]
    assert values["BadRows"].n_rows == 0
