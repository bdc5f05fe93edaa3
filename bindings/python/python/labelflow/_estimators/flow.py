"""What trained flows share: training, model folders and pickles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _labelflow
from .._inputs.features import set_saved_features
from .._inputs.settings import like, pair_like, seed_of, threads_of
from .._messages.progress import TrainingProgress
from .estimator import Estimator

#: Parameters of training, of one number each, whose value None means the preset's value. batch_size and betas are read apart.
_PARAMETERS = (
    "max_epochs",
    "min_epochs",
    "learning_rate",
    "learning_rate_decay",
    "learning_rate_floor",
    "max_gradient_norm",
    "tolerance",
)


class Flow(Estimator):
    """An estimator whose fitted model is a network, which the command line reads and writes as a folder.

    Subclasses name the compiled class in ``_compiled``, and implement ``_parameters_of``.
    """

    _compiled: Any
    device: str
    verbose: int
    callback: Callable[[dict[str, Any]], Any] | None

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
        estimator
            With the settings of the folder. Classes whose names are integers are integers.
        """
        model = cls._compiled.load(os.fspath(folder))
        estimator = cls(**cls._parameters_of(model))
        estimator._set_model(model)
        estimator._set_names(model)
        return estimator

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        """The parameters with which a loaded model was trained."""
        raise NotImplementedError

    def _watched(self, train: Callable[[TrainingProgress | None], Any]) -> Any:
        """The result of `train`, with the progress bar and callback of the estimator."""
        if not self.verbose and self.callback is None:
            return train(None)
        observer = TrainingProgress(type(self).__name__, self.verbose, self.callback)
        try:
            return train(observer)
        finally:
            observer.close()

    def _set_model(self, model: Any) -> None:
        """Sets the model and the attributes that describe its training."""
        self.model_ = model
        self.history_, self.n_iter_, self.stop_reason_ = json.loads(model.course)

    def _set_names(self, model: Any) -> None:
        """Sets the names that a loaded model holds."""

    def _pack(self, model: Any) -> bytes:
        return model.to_bytes()

    def _unpack(self, packed: bytes) -> Any:
        model = self._compiled.from_bytes(packed)
        return model if self.device == "cpu" else model.to_device(self.device)


@dataclass(kw_only=True, eq=False, repr=False)
class LabelFlow(Flow):
    """A label learning flow on features: the parameters that both of them have, and samples."""

    preset: str = "paper"
    max_epochs: int | None = None
    min_epochs: int | None = None
    learning_rate: float | None = None
    learning_rate_decay: float | None = None
    learning_rate_floor: float | None = None
    betas: Sequence[float] | None = None
    max_gradient_norm: float | None = None
    tolerance: float | None = None
    batch_size: int | str | None = None
    n_steps: int = 8
    d_hidden: int = 64
    likelihood_weight: float = 1.0
    scaling: str = "standardize"
    device: str = "cpu"
    random_state: Any = 0
    n_jobs: int | None = None
    verbose: int = 0
    callback: Callable[[dict[str, Any]], Any] | None = None

    def sample(self, X: Any, n: int = 1) -> np.ndarray:
        """Samples of the labels from p(y|x).

        Parameters
        ----------
        X : array or data frame (n_rows, n_features)
        n : int, default=1
            Number of samples.

        Returns
        -------
        array (n, n_rows, n_classes) of float32, or (n, n_rows)
            Of a classifier, soft labels: not clipped to [0, 1], and adding up to about one. Of a regressor, labels
            within their range.
        """
        features = self._read(X)
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise ValueError(f"n: expected a number of samples, at least 1, found {n!r}")
        return self.model_.sample(features, int(n), threads_of(self.n_jobs))

    def _set_names(self, model: Any) -> None:
        set_saved_features(self, model.feature_names)

    def _config(self, n_rows: int) -> dict[str, Any]:
        """The settings as the Rust type of the same name reads them."""
        return {
            "seed": seed_of(self.random_state),
            "n_steps": like("n_steps", self.n_steps, 8),
            "d_hidden": like("d_hidden", self.d_hidden, 64),
            "likelihood_weight": like("likelihood_weight", self.likelihood_weight, 1.0),
            "scaling": self.scaling,
            "device": self.device,
            "training": self._training(json.loads(_labelflow.preset_training(self.preset, n_rows))),
        }

    def _training(self, training: dict[str, Any]) -> dict[str, Any]:
        """How training proceeds: as the preset says, but for what is set."""
        for name in _PARAMETERS:
            value = getattr(self, name)
            if value is not None:
                training[name] = like(name, value, training[name])
        if self.betas is not None:
            training["betas"] = pair_like("betas", self.betas, training["betas"])
        if self.batch_size in ("auto", "full"):
            training["batch_size"] = self.batch_size
        elif self.batch_size is not None:
            training["batch_size"] = {"rows": like("batch_size", self.batch_size, 1)}
        return training

    @classmethod
    def _parameters_of(cls, model: Any) -> dict[str, Any]:
        config = json.loads(model.config)
        training = config.pop("training")
        batch = training["batch_size"]
        return {
            **{name: value for name, value in config.items() if name not in ("seed", "device")},
            **{name: training[name] for name in (*_PARAMETERS, "betas")},
            "batch_size": batch["rows"] if isinstance(batch, dict) else batch,
            "random_state": config["seed"],
        }
