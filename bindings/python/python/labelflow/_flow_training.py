"""Training of flows: the parameters that all of them share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from . import _labelflow
from ._progress import TrainingProgress
from ._settings import like, pair_like

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


def training_settings(estimator: Any, n_rows: int) -> dict[str, Any]:
    """The parameters of an estimator as the Rust settings of training read them."""
    training = json.loads(_labelflow.preset_training(estimator.preset, n_rows))
    for name in _PARAMETERS:
        value = getattr(estimator, name)
        if value is not None:
            training[name] = like(name, value, training[name])
    if estimator.betas is not None:
        training["betas"] = pair_like("betas", estimator.betas, training["betas"])
    if estimator.batch_size in ("auto", "full"):
        training["batch_size"] = estimator.batch_size
    elif estimator.batch_size is not None:
        training["batch_size"] = {"rows": like("batch_size", estimator.batch_size, 1)}
    return training


def training_parameters(training: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator that stand for these settings of training."""
    batch = training["batch_size"]
    return {
        **{name: training[name] for name in _PARAMETERS},
        "betas": training["betas"],
        "batch_size": batch["rows"] if isinstance(batch, dict) else batch,
    }


def watched(estimator: Any, train: Callable[[TrainingProgress | None], Any]) -> Any:
    """The result of `train`, with the progress bar and callback of the estimator."""
    if not estimator.verbose and estimator.callback is None:
        return train(None)
    observer = TrainingProgress(type(estimator).__name__, estimator.verbose, estimator.callback)
    try:
        return train(observer)
    finally:
        observer.close()


def set_course(estimator: Any, model: Any) -> None:
    """Sets the attributes that describe training."""
    estimator.history_ = json.loads(model.history)
    estimator.n_iter_ = len(estimator.history_)
    estimator.stop_reason_ = model.stop
