"""Label learning flows for classification."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _labelflow
from .._batches.arrow import pyarrow
from .._batches.prediction import class_columns, label_values
from .._inputs.bounds import read_bounds
from .._inputs.class_values import class_values
from .._inputs.features import check_rows
from .._inputs.frames import check_same_order
from .._inputs.settings import like, plain, seed_of, threads_of
from .._inputs.signals import Signals
from .._labelflow import FlowClassifier
from .._messages.warnings import warn
from .feature_classifier import FeatureClassifier
from .flow import LabelFlow

#: Parameters whose value None means the preset's value, with values of their types.
_OF_PRESET = {
    "n_steps": 8, "d_hidden": 64, "n_members": 1, "max_log_scale": 0.5, "likelihood_weight": 1.0, "scaling": "auto",
}


@dataclass(kw_only=True, eq=False, repr=False)
class LabelFlowClassifier(LabelFlow, FeatureClassifier):
    """A classifier on features that is trained on the signals of labelers: a label learning flow.

    Parameters
    ----------
    bounds : "auto", float, array or dict, default="auto"
        How often each labeler may err: one number, (n_labelers,), (n_labelers, n_classes), or a dict by labeler name.
        "auto" estimates them from agreement between the labelers.
    constraints : sequence of dict, default=None
        Constraints on the labels, each with a kind and a weight: ``{"kind": "range", "weight": 10.0}``,
        ``"sum-to-one"``, ``"error-bound"``, ``"class-balance"`` with ``shares``, ``"group-mean"`` with ``feature``,
        ``threshold``, ``class``, ``above`` and ``below``, and ``"label-model"``: what the label model of the votes
        expects. None: the first three with weight 10, as in the paper; of an ensemble with
        ``bounds="auto"``, "label-model" in the place of "error-bound".
    preset : {"ensemble", "paper", "fast"}, default="ensemble"
        How to train. "ensemble" trains several small flows side by side for 90 epochs and averages them; "paper" trains
        one for up to 2,000 epochs, and "fast" one with an eleventh of that work.
    max_epochs, min_epochs : int, default=None
        The epoch limit, and the epochs before the stopping rule applies. None here and below: the value of the preset.
    learning_rate, learning_rate_decay, learning_rate_floor, max_gradient_norm, tolerance : float, default=None
        The initial step size, the factor on it after every epoch, the share of it at which the decay ends, the norm
        to which gradients are clipped, and the relative change of the loss below which training stops.
    betas : pair of float, default=None
        Adam's decay rates of the two moments.
    batch_size : int, "auto" or "full", default=None
        The rows of one step.
    n_steps, d_hidden : int, default=None
        Steps of the flow, and the width of all hidden layers; in the paper 8 and 64.
    n_members : int, default=None
        Flows side by side; in the paper 1.
    max_log_scale : float, default=None
        How far a coupling may shrink or stretch a label: the largest logarithm of the factor. In the paper 0.5.
    n_samples : int, default=10
        Samples of each flow that a prediction averages.
    likelihood_weight : float, default=None
        The weight of the likelihood term, in the paper 1; below 0, samples spread over all that the constraints allow.
    final_likelihood_weight : float, default=None
        The weight that it has moved to by the last epoch. None keeps it.
    scaling : {"auto", "standardize", "range", "none"}, default=None
        How features are scaled. None: as the preset does, an ensemble by "auto", the others by standardising. "auto" projects columns that
        are mostly zeros, as counts of words are, and standardises others.
    device : {"cpu", "cuda", "wgpu"}, default="cpu"
        The device. The last two need a package that was built with them.
    random_state : int, generator of numpy or None, default=0
        The seed of all random numbers.
    n_jobs : int, default=None
        Number of threads; None or -1: one per core. Results do not depend on it.
    abstain : {"minus_one", "zero", "missing", "signed", "detect"}, default="minus_one"
        How an abstention is written in votes that are numbers, see :class:`Signals`.
    classes : sequence, default=None
        The classes in order; None: as found in the votes.
    verbose : int, default=0
        1 for a progress bar, 2 for lines.
    callback : callable, default=None
        Called after every epoch with a dict of its numbers (epoch, max_epochs, loss, terms, learning_rate,
        gradient_norm). Training ends when it returns a true value.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes.
    labelers_ : list of str
        The labelers.
    bounds_ : array (n_labelers, n_classes) or None
        The bounds that were used; None where no constraint reads any.
    history_ : list of dict
        The numbers of every epoch.
    n_iter_ : int
        Number of epochs.
    stop_reason_ : str
        Why training ended: "converged", "max-epochs" or "interrupted".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : array (n_features_in_,)
        Their names, if X had names.

    Examples
    --------
    >>> import numpy as np
    >>> from labelflow import LabelFlowClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> truth = (X[:, 0] > 0).astype(int)
    >>> wrong = rng.random((200, 3)) < 0.2
    >>> votes = np.where(wrong, 1 - truth[:, None], truth[:, None])
    >>> model = LabelFlowClassifier(max_epochs=40).fit(X, votes)
    >>> model.predict([[2.0, 0.0], [-2.0, 0.0]])
    array([1, 0])
    >>> model.sample(X, 3).shape
    (3, 200, 2)
    """

    bounds: Any = "auto"
    constraints: Sequence[Mapping[str, Any]] | None = None
    preset: str = "ensemble"
    n_steps: int | None = None
    d_hidden: int | None = None
    n_members: int | None = None
    max_log_scale: float | None = None
    likelihood_weight: float | None = None
    scaling: str | None = None
    n_samples: int = 10
    final_likelihood_weight: float | None = None

    _compiled = FlowClassifier

    def calibrate(self, X: Any, y: Any, *, method: str | None = "auto", sets: float | None = None) -> Any:
        """Calibrates probabilities on labelled rows that the model was not trained on.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
        y : array (n_rows,)
            True labels, some of ``classes_``.
        method : {"auto", "temperature", "isotonic", None}, default="auto"
            How :meth:`predict_proba` is calibrated: by a temperature, which changes no prediction, or by isotonic
            curves, one per class, which need a hundred rows or more; "auto" chooses by the number of rows. None
            leaves probabilities as the flow gives them.
        sets : float, default=None
            The coverage of the sets of :meth:`predict_set`, such as 0.9.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from labelflow import LabelFlowClassifier
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(300, 2))
        >>> y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
        >>> votes = np.where(rng.random((300, 3)) < 0.8, y[:, None], 1 - y[:, None])
        >>> model = LabelFlowClassifier(max_epochs=40).fit(X[:200], votes[:200])
        >>> model.calibrate(X[200:], y[200:], sets=0.9).predict_set(X[:5]).shape
        (5, 2)
        """
        features = self._read(X)
        check_same_order(X, y, "y")
        labels = np.asarray(y)
        check_rows(len(features), f"labels of shape {labels.shape}", len(labels) if labels.ndim == 1 else None)
        known = labels[:, np.newaxis] == self.classes_
        if not known.any(axis=1).all():
            unknown = labels[~known.any(axis=1)][0]
            raise ValueError(f"y: expected some of the classes {list(self.classes_)}, found {unknown!r}")
        places = np.argmax(known, axis=1).tolist()
        self.model_ = self.model_.calibrated(features, places, method, sets, threads_of(self.n_jobs))
        return self

    def predict_set(self, X: Any) -> np.ndarray:
        """Prediction sets, after :meth:`calibrate` with ``sets``.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)

        Returns
        -------
        array (n_rows, n_classes) of bool
            In the order of ``classes_``, True for each class in the set of a row. A set may be empty.
        """
        return self._at_samples().predict_sets(self._read(X), threads_of(self.n_jobs))

    def _set_names(self, model: FlowClassifier) -> None:
        super()._set_names(model)
        self.classes_ = class_values(model.classes)

    def _config(self, n_rows: int, n_classes: int) -> dict[str, Any]:
        """The settings as the Rust type of the same name reads them."""
        has_bounds = not isinstance(self.bounds, str) or self.bounds != "auto"
        config = json.loads(_labelflow.classifier_preset(self.preset, n_rows, n_classes, has_bounds))
        for name, example in _OF_PRESET.items():
            value = getattr(self, name)
            if value is not None:
                config[name] = like(name, value, example)
        config["seed"], config["device"] = seed_of(self.random_state), self.device
        config["training"] = self._training(config["training"])
        config["n_samples"] = like("n_samples", self.n_samples, 10)
        if self.final_likelihood_weight is not None:
            config["final_likelihood_weight"] = like("final_likelihood_weight", self.final_likelihood_weight, 1.0)
        if self.constraints is not None:
            config["constraints"] = [plain(dict(constraint)) for constraint in self.constraints]
        return config

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        parameters = {"n_members": 1, "max_log_scale": 0.5, **super()._parameters_of(model)}
        return {**parameters, "preset": "paper" if parameters["n_members"] == 1 else "ensemble"}

    def _train(
        self, features: np.ndarray, names: list[str] | None, signals: Signals, n_jobs: int | None
    ) -> FlowClassifier:
        settings = self._config(len(features), len(signals.classes_))
        config = json.dumps(settings)
        needs_bounds = any(constraint.get("kind") == "error-bound" for constraint in settings["constraints"])
        bounds = read_bounds(self.bounds if needs_bounds else 0.5, signals, n_jobs)
        raw = signals._raw.named(None, [str(value) for value in signals.classes_.tolist()])
        model = self._watched(
            lambda observer: _labelflow.fit_label_flow(config, features, names, raw, bounds, observer, n_jobs)
        )
        self.bounds_ = bounds if needs_bounds else None
        return model

    def _at_samples(self) -> FlowClassifier:
        """The model with the number of samples that is set now."""
        self._check_is_fitted()
        if json.loads(self.model_.config)["n_samples"] == self.n_samples:
            return self.model_
        return self.model_.with_samples(self.n_samples)

    def _predict(self, features: np.ndarray, n_jobs: int | None) -> np.ndarray:
        probabilities, lost = self._at_samples().predict_proba(features, n_jobs)
        if lost:
            warn(
                f"{len(lost)} of {len(features)} rows, the first of them row {lost[0]}, are so far from the training "
                "rows that nothing is known of them; their classes are equally probable"
            )
        return probabilities

    def _batch_fields(self) -> list[tuple[str, Any]]:
        fields = super()._batch_fields()
        if self._has_sets():
            fields.append(("set", pyarrow().list_(label_values(self.classes_).type)))
        return fields

    def _batch_columns(self, values: np.ndarray) -> list[Any]:
        pa = pyarrow()
        n_jobs = threads_of(self.n_jobs)
        probabilities = np.empty((0, len(self.classes_)))
        if len(values):
            # In rows far from the training rows all classes are equally probable; in a stream there is no warning for each.
            probabilities, _ = self._at_samples().predict_proba(values, n_jobs)
        columns = class_columns(self.classes_, probabilities)
        if self._has_sets():
            members = np.zeros(probabilities.shape, dtype=bool)
            if len(values):
                members = self._at_samples().predict_sets(values, n_jobs)
            ends = np.concatenate([[0], np.cumsum(members.sum(axis=1))]).astype(np.int32)
            classes = label_values(self.classes_).take(pa.array(np.nonzero(members)[1]))
            columns.append(pa.ListArray.from_arrays(pa.array(ends), classes))
        return columns

    def _has_sets(self) -> bool:
        return json.loads(self.model_.certainty).get("sets") is not None
