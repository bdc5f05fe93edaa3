"""Label learning flows for regression."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _labelflow
from .._batches.arrow import pyarrow
from .._batches.prediction import BatchPrediction
from .._inputs.features import read_features, set_features
from .._inputs.rules import are_rules, read_range, read_rules
from .._inputs.settings import like, threads_of
from .._inputs.frames import check_same_order
from .._inputs.values import measured_range, measured_rules, r2, read_values
from .._labelflow import FlowRegressor, RawRules
from .._messages.warnings import warn_of_all, warn_of_data
from .flow import LabelFlow

#: The quantiles that a stream of predictions has, as on the command line.
_BATCH_QUANTILES = {"q05": 0.05, "q50": 0.5, "q95": 0.95}


@dataclass(kw_only=True, eq=False, repr=False)
class LabelFlowRegressor(LabelFlow, BatchPrediction):
    """A regression that learns from rules about means: a label learning flow.

    Parameters
    ----------
    preset : {"paper", "fast"}, default="paper"
        How to train. "fast" does an eleventh of the work.
    max_epochs, min_epochs : int, default=None
        The epoch limit, and the epochs before the stopping rule applies. None here and below: the value of the preset.
    learning_rate, learning_rate_decay, learning_rate_floor, max_gradient_norm, tolerance : float, default=None
        The initial step size, the factor on it after every epoch, the share of it at which the decay ends, the norm
        to which gradients are clipped, and the relative change of the loss below which training stops.
    betas : pair of float, default=None
        Adam's decay rates of the two moments.
    batch_size : int, "auto" or "full", default=None
        The rows of one step.
    n_steps : int, default=8
        Number of affine maps in sequence.
    d_hidden : int, default=64
        Width of all hidden layers.
    activation : {"tanh", "relu", "normalized-silu"}, default="tanh"
        The activation of the hidden layers.
    likelihood_weight : float, default=1.0
        The weight of the likelihood term.
    range_weight, rules_weight : float, default=10.0
        The weight of the constraint that labels lie in their range, and that of the rules.
    weight_decay : float, default=10.0
        The share of the step size by which weights shrink after every step. It prefers simple functions among those
        that satisfy the rules.
    scaling : {"standardize", "none"}, default="standardize"
        How features are scaled. Thresholds of rules stay in the features' own units.
    device : {"cpu", "cuda", "wgpu"}, default="cpu"
        The device. The last two need a package that was built with them.
    random_state : int, generator of numpy or None, default=0
        The seed of all random numbers.
    n_jobs : int, default=None
        Number of threads; None or -1: one per core. Results do not depend on it.
    verbose : int, default=0
        1 for a progress bar, 2 for lines.
    callback : callable, default=None
        Called after every epoch with a dict of its numbers (epoch, max_epochs, loss, terms, learning_rate,
        gradient_norm). Training ends when it returns a true value.

    Attributes
    ----------
    range_ : tuple of float
        The lowest and the highest label: as given, or from the rules.
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
    >>> from labelflow import LabelFlowRegressor, MeanRule
    >>> X = np.random.default_rng(0).uniform(0, 24, size=(200, 1))
    >>> rules = [MeanRule(0, 12, above=30, below=(8, 12))]
    >>> model = LabelFlowRegressor(max_epochs=100).fit(X, rules, label_range=(0, 40))
    >>> early, late = model.predict([[3.0], [21.0]])
    >>> bool(early < 15 and late > 25)
    True
    >>> model.sample(X, 3).shape
    (3, 200)
    """

    _estimator_type = "regressor"
    _compiled = FlowRegressor

    activation: str = "tanh"
    range_weight: float = 10.0
    rules_weight: float = 10.0
    weight_decay: float = 10.0

    def fit(self, X: Any, y: Any = None, *, rules: Any = None, label_range: Any = None) -> Any:
        """Learns from features and rules about the labels.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
            Finite numbers.
        y : list of rules, or array (n_rows,)
            A list of :class:`MeanRule`, :class:`QuantileRule` and :class:`MaskRule`. Numbers are true labels, to try
            the method: rules are measured on them, for each feature the mean label at or above the feature's mean and
            below it, and the range of the labels. Nothing else of them is used.
        rules : list of rules
            The same as a keyword; give one of the two.
        label_range : (float, float), default=None
            The lowest and the highest value that a label can have. None: from the rules, with a warning; with true
            labels, theirs.

        Returns
        -------
        self
        """
        if y is not None and rules is not None:
            raise TypeError("fit: expected y or rules, found both")
        features, names = read_features(X, min_rows=2)
        label_range = read_range(label_range)
        given = y if rules is None else rules
        if given is None:
            raise ValueError(
                "This estimator requires y to be passed, but the target y is None: give rules about the labels."
            )
        if rules is None and not are_rules(y):
            check_same_order(X, y, "y")
            values = read_values(y, len(features))
            given = measured_rules(features, values)
            label_range = label_range or measured_range(values)
        n_jobs = threads_of(self.n_jobs)
        config = json.dumps(self._config(len(features)))
        stated = json.dumps(read_rules(given, features.shape[1], names))
        raw = RawRules(features, names, stated, label_range, n_jobs)
        warn_of_data(_labelflow.data_warnings(features, names, None, n_jobs))
        warn_of_all("rules", raw.warnings)
        model = self._watched(lambda observer: _labelflow.fit_label_flow_regressor(config, raw, observer, n_jobs))
        # Attributes are set only after training: an interrupted fit leaves the model as it was.
        self._set_model(model)
        set_features(self, features.shape[1], names)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of each row's label.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
        return_std : bool, default=False
            Also the standard deviation of each row's label.

        Returns
        -------
        array (n_rows,), or two of them
        """
        features = self._read(X)
        mean, std = self.model_.predict(features, threads_of(self.n_jobs))
        return (mean, std) if return_std else mean

    def predict_quantiles(self, X: Any, levels: Sequence[float] = (0.05, 0.5, 0.95)) -> np.ndarray:
        """Quantiles of each row's label.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
        levels : sequence of float, default=(0.05, 0.5, 0.95)
            The shares of the probability below them, between 0 and 1.

        Returns
        -------
        array (n_rows, n_levels)
        """
        features = self._read(X)
        shares = np.asarray(levels)
        if shares.ndim != 1 or shares.dtype.kind not in "iuf" or not len(shares):
            raise ValueError(f"levels: expected numbers between 0 and 1, found {levels!r}")
        return self.model_.predict_quantiles(features, shares.tolist(), threads_of(self.n_jobs))

    def score(self, X: Any, y: Any) -> float:
        """R², the coefficient of determination: 1 at best, 0 for the mean of `y`.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
        y : array (n_rows,)
            True labels.

        Returns
        -------
        float
        """
        predicted = self.predict(X)
        check_same_order(X, y, "y")
        return r2(read_values(y, len(predicted)), predicted)

    def _set_model(self, model: FlowRegressor) -> None:
        super()._set_model(model)
        self.range_ = model.label_range

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, multi_output=False),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(),
        )

    def _batch_fields(self) -> list[tuple[str, Any]]:
        return [(name, pyarrow().float64()) for name in ("mean", "std", *_BATCH_QUANTILES)]

    def _batch_columns(self, values: np.ndarray) -> list[Any]:
        pa = pyarrow()
        if not len(values):
            return [pa.array([], pa.float64())] * (2 + len(_BATCH_QUANTILES))
        n_jobs = threads_of(self.n_jobs)
        mean, std = self.model_.predict(values, n_jobs)
        quantiles = self.model_.predict_quantiles(values, list(_BATCH_QUANTILES.values()), n_jobs)
        return [pa.array(column) for column in (mean, std, *np.ascontiguousarray(quantiles.T))]

    def _config(self, n_rows: int) -> dict[str, Any]:
        weights = ("range_weight", "rules_weight", "weight_decay")
        own = {name: like(name, getattr(self, name), 1.0) for name in weights}
        return {**super()._config(n_rows), **own, "activation": self.activation}
