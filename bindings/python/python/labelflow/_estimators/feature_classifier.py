"""What all classifiers on features share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._batches.prediction import BatchPrediction, class_columns, class_fields
from .._inputs.features import check_rows, read_features, set_features
from .._inputs.frames import check_same_order
from .._inputs.settings import threads_of
from .._inputs.signals import Signals, as_signals
from .._labelflow import data_warnings
from .._messages.warnings import warn_of_data
from .estimator import Estimator


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureClassifier(BatchPrediction, Estimator):
    """A classifier on features that learns from the signals of labelers.

    Subclasses implement ``_train``, which returns a fitted model, and ``_predict``.
    """

    random_state: Any = 0
    n_jobs: int | None = None
    abstain: str = "minus_one"
    classes: Sequence[Any] | None = None

    def fit(self, X: Any, y: Any = None, *, signals: Any = None) -> Any:
        """Learns from features and the signals of labelers.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
            Finite numbers.
        y : signals
            Anything that :class:`Signals` takes; labels (n_rows,) are one labeler.
        signals : signals
            The same as a keyword; give one of the two.

        Returns
        -------
        self
        """
        if y is not None and signals is not None:
            raise TypeError("fit: expected y or signals, found both")
        features, names = read_features(X, min_rows=2)
        check_same_order(X, y if signals is None else signals, "signals")
        given = as_signals(y if signals is None else signals, self.abstain, self.classes)
        check_rows(len(features), f"{len(given)} rows of signals", len(given))
        given._raw.check_any_vote()
        n_jobs = threads_of(self.n_jobs)
        raw = given._raw.named(None, [str(value) for value in given.classes_.tolist()])
        warn_of_data(data_warnings(features, names, raw, n_jobs))
        model = self._train(features, names, given, n_jobs)
        # Attributes are set only after training: an interrupted fit leaves the model as it was.
        self._set_model(model)
        self.classes_ = given.classes_
        self.labelers_ = given.labelers_
        set_features(self, features.shape[1], names)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)

        Returns
        -------
        array (n_rows, n_classes)
            In the order of ``classes_``.
        """
        return self._predict(self._read(X), threads_of(self.n_jobs))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)

        Returns
        -------
        array (n_rows,)
        """
        probabilities = self.predict_proba(X)
        return self.classes_[np.argmax(probabilities, axis=1)]

    def score(self, X: Any, y: Any) -> float:
        """The accuracy of the predictions.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
        y : array (n_rows,) or signals
            True labels. Given the votes of several labelers, the share of votes that agree with the prediction, for
            searches without true labels.

        Returns
        -------
        float
        """
        predicted = self.predict(X)
        check_same_order(X, y, "y")
        if not isinstance(y, Signals) and np.ndim(y) == 1:
            labels = np.asarray(y)
            check_rows(len(predicted), f"{len(labels)} labels", len(labels))
            return float(np.mean(predicted == labels))
        signals = y if isinstance(y, Signals) else Signals(y, abstain=self.abstain, classes=self.classes_)
        check_rows(len(predicted), f"{len(signals)} rows of signals", len(signals))
        votes = signals.votes()
        places = np.argmax(predicted[:, np.newaxis] == self.classes_, axis=1)
        given = votes >= 0
        if not given.any():
            raise ValueError("signals: expected at least one vote, found abstentions only")
        return float(np.mean((votes == places[:, np.newaxis])[given]))

    def _train(
        self, features: np.ndarray, names: list[str] | None, signals: Signals, n_jobs: int | None
    ) -> Any:
        raise NotImplementedError

    def _predict(self, features: np.ndarray, n_jobs: int | None) -> np.ndarray:
        return self.model_.predict_proba(features, n_jobs)

    def _batch_fields(self) -> list[tuple[str, Any]]:
        return class_fields(self.classes_)

    def _batch_columns(self, values: np.ndarray) -> list[Any]:
        return class_columns(self.classes_, self._batch_probabilities(values))

    def _batch_probabilities(self, values: np.ndarray) -> np.ndarray:
        if not len(values):
            return np.empty((0, len(self.classes_)))
        return self._predict(values, threads_of(self.n_jobs))
