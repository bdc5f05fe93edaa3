"""Generalized expectation criteria."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _labelflow
from .._inputs.bounds import estimate
from .._inputs.settings import plain, seed_of
from .._inputs.signals import Signals
from .saved_classifier import SavedClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class GeneralizedExpectation(SavedClassifier):
    """A linear classifier whose mean predictions match what is known of groups of rows.

    Each labeler defines groups of rows, one per class that it votes for. G. S. Mann and A. McCallum, *Generalized
    expectation criteria for semi-supervised learning with weakly labeled data*, 2010.

    Parameters
    ----------
    reference : "auto" or array (n_labelers, n_classes, n_classes), default="auto"
        The share of each class (last axis) among the rows on which a labeler votes for a class (second axis); NaN if it
        is not known. "auto" estimates them from agreement between the labelers.
    form : {"full", "half"}, default="full"
        The distance of predictions from the reference: the whole divergence, or its term of class 1 alone.
    scaling : {"standardize", "none"}, default="standardize"
        How features are scaled.
    penalty : float, default=1.0
        The weight of half the squared weights.
    max_iterations : int, default=1000
        The largest number of steps.
    tolerance : float, default=1e-5
        It stops when no entry of the gradient is larger.
    random_state : int, generator of numpy or None, default=0
        The seed of the initial weights.
    n_jobs : int, default=None
        Number of threads; None or -1: one per core. Results do not depend on it.
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

    Examples
    --------
    >>> import numpy as np
    >>> from labelflow import GeneralizedExpectation
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> votes = np.repeat((X > 0).astype(int), 3, axis=1)
    >>> GeneralizedExpectation().fit(X, votes).predict([[-0.5], [0.5]])
    array([0, 1])
    """

    reference: Any = "auto"
    form: str = "full"
    scaling: str = "standardize"
    penalty: float = 1.0
    max_iterations: int = 1000
    tolerance: float = 1e-5

    def _train(self, features: np.ndarray, names: list[str] | None, signals: Signals, n_jobs: int | None) -> Any:
        settings = ("form", "scaling", "penalty", "max_iterations", "tolerance")
        config = {name: plain(getattr(self, name)) for name in settings}
        config["seed"] = seed_of(self.random_state)
        reference = self._reference(signals, n_jobs)
        return _labelflow.fit_generalized_expectation(
            json.dumps(config), features, signals._raw, reference, n_jobs
        )

    def _reference(self, signals: Signals, n_jobs: int | None) -> np.ndarray:
        n_labelers, n_classes = len(signals.labelers_), len(signals.classes_)
        if isinstance(self.reference, str):
            if self.reference != "auto":
                raise ValueError(f"reference: expected 'auto' or shares, found {self.reference!r}")
            return _expected_shares(signals, estimate(signals, n_jobs)[1])
        reference = np.ascontiguousarray(self.reference, dtype=np.float64)
        if reference.shape != (n_labelers, n_classes, n_classes):
            raise ValueError(
                f"reference: expected shape {(n_labelers, n_classes, n_classes)}, found {reference.shape}"
            )
        return reference


def _expected_shares(signals: Signals, labels: np.ndarray) -> np.ndarray:
    """The expected share of each class among the rows on which a labeler votes for a class; NaN without such rows."""
    votes = signals.votes()
    n_classes = labels.shape[1]
    shares = np.full((votes.shape[1], n_classes, n_classes), np.nan)
    for labeler, of_labeler in enumerate(votes.T):
        for side in range(n_classes):
            rows = of_labeler == side
            if rows.any():
                shares[labeler, side] = labels[rows].mean(axis=0)
    return shares / shares.sum(axis=2, keepdims=True)
