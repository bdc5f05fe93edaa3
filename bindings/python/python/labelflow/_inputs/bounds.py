"""Bounds: how often each labeler may err, in any of the accepted forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._labelflow import auto_bounds, bounds_warnings
from .._messages.warnings import warn, warn_of_all, warn_of_data
from .signals import Signals


def read_bounds(bounds: Any, signals: Signals, n_jobs: int | None) -> np.ndarray:
    """Bounds for each labeler and class, (n_labelers, n_classes).

    `bounds` is a number, (n_labelers,), (n_labelers, n_classes), a dict by labeler name, or "auto".
    """
    n_labelers, n_classes = len(signals.labelers_), len(signals.classes_)
    if isinstance(bounds, str):
        if bounds != "auto":
            raise ValueError(f"bounds: expected 'auto', numbers or a dict, found {bounds!r}")
        return estimate(signals, n_jobs)[0]
    if isinstance(bounds, dict):
        bounds = _by_name(bounds, signals)
    values = np.asarray(bounds, dtype=np.float64)
    if values.ndim == 1 and len(values) == n_labelers:
        values = values[:, np.newaxis]
    elif values.ndim != 0 and values.shape != (n_labelers, n_classes):
        raise ValueError(
            f"bounds: expected a number, one for each of {n_labelers} labelers, or one for each of "
            f"{n_labelers} labelers and {n_classes} classes, found shape {values.shape}"
        )
    values = np.ascontiguousarray(np.broadcast_to(values, (n_labelers, n_classes)))
    warn_of_data(bounds_warnings(signals._raw, values))
    return values


def _by_name(bounds: dict[Any, Any], signals: Signals) -> np.ndarray:
    names = signals.labelers_
    missing = [name for name in names if name not in bounds]
    unknown = [name for name in bounds if name not in names]
    if missing or unknown:
        raise ValueError(
            f"bounds: expected a bound for each of the labelers {names}, "
            + (f"found none for {missing[0]!r}" if missing else f"found one for {unknown[0]!r}")
        )
    n_classes = len(signals.classes_)
    return np.array([np.broadcast_to(np.asarray(bounds[name], dtype=float), n_classes) for name in names])


def estimate(signals: Signals, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Bounds estimated from agreement, (n_labelers, n_classes), and the labels behind them, (n_rows, n_classes).

    A single labeler has nothing to agree with: its bounds are 0.
    """
    if len(signals.labelers_) > 1:
        bounds, labels, warnings = auto_bounds(signals._raw, n_jobs)
        warn_of_all("bounds", warnings)
        return bounds, labels
    n_classes = len(signals.classes_)
    if not signals._is_one_label_a_row:
        warn(
            "bounds: a single labeler has no others to be compared with, so its bounds are 0; "
            "give the bounds if you know them"
        )
    votes = signals.votes()[:, 0]
    labels = np.full((len(votes), n_classes), 1.0 / n_classes)
    given = votes >= 0
    labels[given] = np.eye(n_classes)[votes[given]]
    return np.zeros((1, n_classes)), labels
