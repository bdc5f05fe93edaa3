"""Label learning flows for regression."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _labelflow
from ._arrow import pyarrow
from ._batch_prediction import BatchPrediction
from ._estimator import Estimator
from ._features import read_features, read_like_fitted, set_features, set_saved_features
from ._flow_training import set_course, training_parameters, training_settings, watched
from ._labelflow import FlowRegressor, RawRules
from ._rules import are_rules, read_range, read_rules
from ._settings import like, seed_of, threads_of
from ._values import measured_range, measured_rules, r2, read_values
from ._warnings import warn_of_doubts

#: The quantiles that a stream of predictions has, as on the command line.
_BATCH_QUANTILES = {"q05": 0.05, "q50": 0.5, "q95": 0.95}


class LabelFlowRegressor(BatchPrediction, Estimator):
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
    model_: FlowRegressor

    def __init__(
        self,
        *,
        preset: str = "paper",
        max_epochs: int | None = None,
        min_epochs: int | None = None,
        learning_rate: float | None = None,
        learning_rate_decay: float | None = None,
        learning_rate_floor: float | None = None,
        betas: Sequence[float] | None = None,
        max_gradient_norm: float | None = None,
        tolerance: float | None = None,
        batch_size: int | str | None = None,
        n_steps: int = 8,
        d_hidden: int = 64,
        activation: str = "tanh",
        likelihood_weight: float = 1.0,
        range_weight: float = 10.0,
        rules_weight: float = 10.0,
        weight_decay: float = 10.0,
        scaling: str = "standardize",
        device: str = "cpu",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callable[[dict[str, Any]], Any] | None = None,
    ) -> None:
        self.preset = preset
        self.max_epochs = max_epochs
        self.min_epochs = min_epochs
        self.learning_rate = learning_rate
        self.learning_rate_decay = learning_rate_decay
        self.learning_rate_floor = learning_rate_floor
        self.betas = betas
        self.max_gradient_norm = max_gradient_norm
        self.tolerance = tolerance
        self.batch_size = batch_size
        self.n_steps = n_steps
        self.d_hidden = d_hidden
        self.activation = activation
        self.likelihood_weight = likelihood_weight
        self.range_weight = range_weight
        self.rules_weight = rules_weight
        self.weight_decay = weight_decay
        self.scaling = scaling
        self.device = device
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

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
            values = read_values(y, len(features))
            given = measured_rules(features, values)
            label_range = label_range or measured_range(values)
        n_jobs = threads_of(self.n_jobs)
        config = json.dumps(self._config(len(features)))
        stated = json.dumps(read_rules(given, features.shape[1], names))
        raw = RawRules(features, names, stated, label_range, n_jobs)
        warn_of_doubts("rules", raw.warnings)
        model = watched(
            self, lambda observer: _labelflow.fit_label_flow_regressor(config, raw, observer, n_jobs)
        )
        # Attributes are set only after training: an interrupted fit leaves the model as it was.
        self.model_ = model
        self.range_ = model.label_range
        set_course(self, model)
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

    def sample(self, X: Any, n: int = 1) -> np.ndarray:
        """Samples of the labels from p(y|x), within their range.

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
        n : int, default=1
            Number of samples.

        Returns
        -------
        array (n, n_rows)
        """
        features = self._read(X)
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"n: expected a number of samples, at least 1, found {n!r}")
        return self.model_.sample(features, int(n), threads_of(self.n_jobs))

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
        return r2(read_values(y, len(predicted)), predicted)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Saves a model folder, which the command line reads too. Replaces an existing model.

        Parameters
        ----------
        folder : path
        """
        self._check_is_fitted()
        self.model_.save(os.fspath(folder))

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> Any:
        """Loads a model folder of :meth:`save` or of the command line.

        Parameters
        ----------
        folder : path

        Returns
        -------
        LabelFlowRegressor
            With the settings of the folder.
        """
        model = FlowRegressor.load(os.fspath(folder))
        config = json.loads(model.config)
        training = training_parameters(config.pop("training"))
        config["random_state"] = config.pop("seed")
        estimator = cls(**config, **training)
        estimator.model_ = model
        estimator.range_ = model.label_range
        set_course(estimator, model)
        set_saved_features(estimator, model.feature_names)
        return estimator

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, multi_output=False),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(),
        )

    def _read(self, X: Any) -> np.ndarray:
        self._check_is_fitted()
        return read_like_fitted(self, X)

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
        """The settings as the Rust type of the same name reads them."""
        weights = ("likelihood_weight", "range_weight", "rules_weight", "weight_decay")
        return {
            "seed": seed_of(self.random_state),
            "n_steps": like("n_steps", self.n_steps, 8),
            "d_hidden": like("d_hidden", self.d_hidden, 64),
            **{name: like(name, getattr(self, name), 1.0) for name in weights},
            "activation": self.activation,
            "device": self.device,
            "scaling": self.scaling,
            "training": training_settings(self, n_rows),
        }

    def _pack(self, model: FlowRegressor) -> bytes:
        return model.to_bytes()

    def _unpack(self, packed: bytes) -> FlowRegressor:
        model = FlowRegressor.from_bytes(packed)
        return model if self.device == "cpu" else model.to_device(self.device)
