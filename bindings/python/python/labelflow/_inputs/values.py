"""Real-valued labels: scikit-learn's checks, and rules measured on them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .._messages.warnings import warn
from .features import check_rows
from .rules import MeanRule


def read_values(y: Any, n_rows: int) -> np.ndarray:
    """One number per row, as float64."""
    values = np.asarray(y)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: expected real labels y.")
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y: expected rules or one number per row, found {error}") from error
    if values.ndim == 2 and values.shape[1] == 1:
        _warn_of_column()
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"y should be a 1d array, got an array of shape {values.shape} instead.")
    check_rows(n_rows, f"{len(values)} labels", len(values))
    if np.isnan(values).any():
        raise ValueError(f"Input y contains NaN (first in row {np.flatnonzero(np.isnan(values))[0]}).")
    if not np.isfinite(values).all():
        raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
    return values


def measured_rules(features: np.ndarray, values: np.ndarray) -> list[MeanRule]:
    """For each feature, the mean label at or above the feature's mean, and below it."""
    rules = []
    for place, column in enumerate(features.T):
        threshold = column.mean(dtype=np.float64)
        # As the rules are read: numbers that single precision holds are compared in it.
        single = column.astype(np.float32)
        is_above = np.where(single == column, single >= np.float32(threshold), column >= threshold)
        above, below = (
            float(values[side].mean()) if side.any() else None for side in (is_above, ~is_above)
        )
        rules.append(MeanRule(place, float(threshold), above, below))
    return rules


def measured_range(values: np.ndarray) -> tuple[float, float]:
    """The lowest and the highest label; if they are equal, a range around them."""
    lower, upper = float(values.min()), float(values.max())
    if lower < upper:
        return lower, upper
    margin = max(abs(lower), 1.0)
    return lower - margin, upper + margin


def r2(values: np.ndarray, predicted: np.ndarray) -> float:
    """The coefficient of determination; of equal labels, 1 if they are predicted exactly, else 0."""
    left = float(np.sum((values - predicted) ** 2))
    spread = float(np.sum((values - values.mean()) ** 2))
    if spread == 0.0:
        return 1.0 if left == 0.0 else 0.0
    return 1.0 - left / spread


def _warn_of_column() -> None:
    """scikit-learn's warning; of its own type where scikit-learn is in use."""
    theirs = sys.modules.get("sklearn.exceptions")
    warn(
        "A column-vector y was passed when a 1d array was expected. Please change the shape of y to (n_samples,).",
        UserWarning if theirs is None else theirs.DataConversionWarning,
    )
