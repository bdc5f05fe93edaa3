"""Adversarial label learning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _labelflow
from .._inputs.bounds import read_bounds
from .._inputs.settings import plain, seed_of
from .._inputs.signals import Signals
from .saved_classifier import SavedClassifier


@dataclass(kw_only=True, eq=False, repr=False)
class AdversarialLabels(SavedClassifier):
    """A classifier that does well on the worst labels that the bounds allow.

    C. Arachie and B. Huang, *Adversarial label learning*, 2019.

    Parameters
    ----------
    bounds : "auto", float, array or dict, default="auto"
        How often each labeler may err, see :class:`LabelFlowClassifier`.
    form : {"automatic", "linear", "network"}, default="automatic"
        A logistic classifier for two classes and labelers that never abstain, or a network. "automatic": the first
        where it applies.
    scaling : {"standardize", "none"}, default="standardize"
        How features are scaled.
    linear : dict, default=None
        Settings of the linear form: max_iterations, learning_rate, penalty, penalty_gradient, tolerance,
        weight_tolerance.
    network : dict, default=None
        Settings of the network: loss, penalty, first_iterations, later_iterations, perceptron.
    random_state : int, generator of numpy or None, default=0
        The seed of the network.
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

    Examples
    --------
    >>> import numpy as np
    >>> from labelflow import AdversarialLabels
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> votes = np.repeat((X > 0).astype(int), 3, axis=1)
    >>> AdversarialLabels(bounds=0.1).fit(X, votes).predict([[-0.5], [0.5]])
    array([0, 1])
    """

    bounds: Any = "auto"
    form: str = "automatic"
    scaling: str = "standardize"
    linear: Mapping[str, Any] | None = None
    network: Mapping[str, Any] | None = None

    def _train(self, features: np.ndarray, names: list[str] | None, signals: Signals, n_jobs: int | None) -> Any:
        network = dict(self.network or {})
        network["perceptron"] = {"seed": seed_of(self.random_state), **network.get("perceptron", {})}
        config = {
            "form": self.form,
            "scaling": self.scaling,
            "linear": plain(dict(self.linear or {})),
            "network": plain(network),
        }
        bounds = read_bounds(self.bounds, signals, n_jobs)
        return _labelflow.fit_adversarial_labels(json.dumps(config), features, signals._raw, bounds, n_jobs)
