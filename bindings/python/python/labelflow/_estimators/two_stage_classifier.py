"""Two stages: labels for the training rows first, then a classifier on their features."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _labelflow
from .._inputs.settings import plain, seed_of
from .._inputs.signals import Signals
from .._label_model import LabelModel
from .._label_models import MajorityVote
from .._labelflow import DataError
from .._labelflow import FeatureClassifier as RawClassifier
from .feature_classifier import FeatureClassifier
from .saved_classifier import SavedClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class TwoStageClassifier(SavedClassifier):
    """A classifier on features from the labels of another model.

    The second stage can correct the first where features tell more than votes. Rows without votes are left out,
    unless the first stage is itself a classifier on features.

    Parameters
    ----------
    label_model : label model or classifier, default=None
        The first stage: a label model, or a classifier on features such as :class:`LabelFlowClassifier`. None: a majority
        vote.
    end_model : str, dict or classifier, default="mlp"
        The second stage: "mlp", "mlp-cll-public", "mlp-llf-1hidden", "logistic-regression"; a dict with the settings of
        one, ``{"kind": "multilayer-perceptron", "n_epochs": 5}``; or any classifier with scikit-learn's conventions.
    labels : {"hard", "soft"}, default="hard"
        What the second stage learns from: the most probable class of each row, or the probabilities.
    ties : "lowest", "abstain", "hash" or dict, default="lowest"
        The class of rows with several most probable classes, when labels are hard; ``{"random": {"seed": 0}}`` draws.
        Rows that abstain are left out.
    random_state : int, generator of numpy or None, default=0
        The seed of the second stage.
    n_jobs : int, default=None
        Number of threads; None or -1: one per core.
    abstain : {"minus_one", "zero", "missing", "signed", "detect"}, default="minus_one"
        How an abstention is written in votes that are numbers, see :class:`Signals`.
    classes : sequence, default=None
        The classes in order; None: as found in the votes.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes.
    labelers_ : list of str
        The labelers.
    label_model_ : label model or classifier
        The fitted first stage.
    end_model_ : classifier
        The fitted second stage, where it is a classifier of scikit-learn's kind.

    Examples
    --------
    >>> import numpy as np
    >>> from labelflow import DawidSkene, TwoStageClassifier
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> votes = np.repeat((X > 0).astype(int), 3, axis=1)
    >>> model = TwoStageClassifier(label_model=DawidSkene(), end_model="logistic-regression")
    >>> model.fit(X, votes).predict([[-0.5], [0.5]])
    array([0, 1])
    """

    label_model: LabelModel | FeatureClassifier | None = None
    end_model: Any = "mlp"
    labels: str = "hard"
    ties: str | Mapping[str, Any] = "lowest"

    def _train(self, features: np.ndarray, names: list[str] | None, signals: Signals, n_jobs: int | None) -> Any:
        if self.labels not in ("hard", "soft"):
            raise ValueError(f"labels: expected 'hard' or 'soft', found {self.labels!r}")
        first = copy.deepcopy(self.label_model) if self.label_model is not None else MajorityVote(n_jobs=self.n_jobs)
        if isinstance(first, LabelModel):
            covered = np.array(signals._raw.covered_rows(), dtype=np.int64)
            if not len(covered):
                raise DataError("signals: expected at least one vote, found abstentions only")
            labels = first.fit(signals).predict_proba(signals[covered])
            features = features[covered]
        else:
            labels = first.fit(features, signals).predict_proba(features)
        if hasattr(self.end_model, "fit"):
            model = self._fit_theirs(features, labels, signals.classes_)
        else:
            config = {"labels": self.labels, "ties": plain(self.ties), "end_model": self._end_model()}
            model = _labelflow.fit_end_model(json.dumps(config), features, labels, n_jobs)
        self.label_model_ = first
        return model

    def _end_model(self) -> dict[str, Any]:
        if isinstance(self.end_model, str):
            settings = json.loads(_labelflow.end_model_preset(self.end_model))
            return {**settings, "seed": seed_of(self.random_state)} if "seed" in settings else settings
        settings = plain(dict(self.end_model))
        if settings.get("kind") == "multilayer-perceptron":
            settings.setdefault("seed", seed_of(self.random_state))
        return settings

    def _fit_theirs(self, features: np.ndarray, labels: np.ndarray, classes: np.ndarray) -> Any:
        """Fits a classifier with scikit-learn's conventions."""
        if self.ties not in ("lowest", "abstain"):
            raise ValueError(f"ties: expected 'lowest' or 'abstain' with this end model, found {self.ties!r}")
        model = copy.deepcopy(self.end_model)
        if self.labels == "soft":
            rows, places = np.nonzero(labels)
            return model.fit(features[rows], classes[places], sample_weight=labels[rows, places])
        decided = np.ones(len(labels), dtype=bool)
        if self.ties == "abstain":
            ordered = np.sort(labels, axis=1)
            decided = ordered[:, -1] - ordered[:, -2] >= 1e-5
        return model.fit(features[decided], classes[np.argmax(labels[decided], axis=1)])

    @property
    def end_model_(self) -> Any:
        """The fitted second stage, where it is a classifier of scikit-learn's kind."""
        self._check_is_fitted()
        if isinstance(self.model_, RawClassifier):
            raise AttributeError("end_model_: the second stage is built in")
        return self.model_

    def _predict(self, features: np.ndarray, n_jobs: int | None) -> np.ndarray:
        if isinstance(self.model_, RawClassifier):
            return self.model_.predict_proba(features, n_jobs)
        probabilities = np.zeros((len(features), len(self.classes_)))
        places = np.searchsorted(self.classes_, self.model_.classes_)
        probabilities[:, places] = self.model_.predict_proba(features)
        return probabilities

    def _pack(self, model: Any) -> Any:
        return model.to_json() if isinstance(model, RawClassifier) else model

    def _unpack(self, packed: Any) -> Any:
        return RawClassifier.from_json(packed) if isinstance(packed, str) else packed

    def save(self, path: Any) -> None:
        """Writes the second stage as one JSON file, replacing one that is there.

        Parameters
        ----------
        path : path
        """
        self._check_is_fitted()
        if not isinstance(self.model_, RawClassifier):
            raise TypeError("save: expected a built-in end model, found another; use pickle or joblib for it")
        super().save(path)
