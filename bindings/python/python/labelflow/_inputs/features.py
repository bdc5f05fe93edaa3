"""Features: scikit-learn's checks, and conversion to numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .._messages.warnings import warn
from . import frames


def read_features(X: Any, *, min_rows: int = 1) -> tuple[np.ndarray, list[str] | None]:
    """The numbers of `X` as a C-contiguous array, and its column names if it has any: float32 where that holds them, else float64."""
    if X is None:
        raise ValueError("Expected array-like features X, found None.")
    if frames.is_sparse(X):
        raise TypeError(
            "Sparse data was passed for X, but dense data is required. Use '.toarray()' to convert."
        )
    names = None
    if frames.library(X) is not None:
        names = _names(frames.column_names(X))
        X = frames.to_array(X)
    values = np.asarray(X)
    _check_shape(values, min_rows)
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: expected real features.")
    if values.dtype.kind not in "buif":
        values = values.astype(np.float64)
    _check_finite(values)
    return np.ascontiguousarray(values, dtype=number_type([values.dtype])), names


def number_type(kinds: Iterable[Any]) -> type[np.floating[Any]]:
    """The type of numbers of these kinds: float32 if that holds all of them exactly, else float64."""
    return np.float32 if all(np.can_cast(kind, np.float32) for kind in kinds) else np.float64


def _check_shape(values: np.ndarray, min_rows: int) -> None:
    if values.ndim == 0:
        raise ValueError(
            f"Expected 2D array, got scalar array instead:\narray={values}.\n"
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
            "or array.reshape(1, -1) if it contains a single sample."
        )
    if values.ndim == 1:
        raise ValueError(
            f"Expected 2D array, got 1D array instead:\narray={values}.\n"
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
            "or array.reshape(1, -1) if it contains a single sample."
        )
    if values.ndim > 2:
        raise ValueError(f"Found array with dim {values.ndim}, while dim <= 2 is required for X.")
    n_rows, n_features = values.shape
    if n_rows < min_rows:
        raise ValueError(
            f"Found array with {n_rows} sample(s) (shape={values.shape}) "
            f"while a minimum of {min_rows} is required."
        )
    if n_features < 1:
        raise ValueError(
            f"Found array with 0 feature(s) (shape={values.shape}) while a minimum of 1 is required."
        )


def _check_finite(values: np.ndarray) -> None:
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    if np.isnan(values).any():
        row, column = np.argwhere(np.isnan(values))[0]
        raise ValueError(
            f"Input X contains NaN (first in row {row}, column {column}): "
            "fill or drop missing values first."
        )
    raise ValueError(
        f"Input X contains infinity or a value too large for dtype('{values.dtype}')."
    )


def _names(columns: list[Any]) -> list[str] | None:
    are_strings = [isinstance(name, str) for name in columns]
    if all(are_strings):
        return list(columns)
    if any(are_strings):
        types = sorted({type(name).__name__ for name in columns})
        raise TypeError(
            "Feature names are only supported if all input features have string names, "
            f"but your input has {types} as feature name / column name types."
        )
    return None


def check_rows(n_rows: int, given: str, n_given: int | None) -> None:
    """Checks that there are as many of something as rows of features."""
    if n_given != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: {n_rows} rows of features and {given}."
        )


def set_features(estimator: Any, n_features: int, names: list[str] | None) -> None:
    """Stores which columns an estimator was fitted to."""
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def set_saved_features(estimator: Any, names: list[str]) -> None:
    """Stores which columns a saved model was fitted to. Columns without names are called x0, x1, … in it."""
    were_given = names != _unnamed(len(names))
    set_features(estimator, len(names), names if were_given else None)


def _unnamed(n_features: int) -> list[str]:
    """What columns without names are called in a saved model."""
    return [f"x{place}" for place in range(n_features)]


def read_like_fitted(estimator: Any, X: Any) -> np.ndarray:
    """The numbers of `X`, which has the columns that the estimator was fitted to."""
    features, names = read_features(X)
    check_same_features(estimator, features.shape[1], names)
    return features


def check_same_features(estimator: Any, n_features: int, names: list[str] | None) -> None:
    """Checks that rows to predict have the columns of the fit."""
    fitted = getattr(estimator, "feature_names_in_", None)
    unnamed = _unnamed(n_features)
    if fitted is None and names is not None and names != unnamed and sorted(names) == sorted(unnamed):
        raise ValueError(_name_difference(unnamed, names))
    name = type(estimator).__name__
    if fitted is not None and names is None:
        warn(f"X does not have valid feature names, but {name} was fitted with feature names")
    elif fitted is None and names is not None:
        warn(f"X has feature names, but {name} was fitted without feature names")
    elif fitted is not None and names is not None and list(fitted) != names:
        raise ValueError(_name_difference(list(fitted), names))
    if n_features != estimator.n_features_in_:
        raise ValueError(
            f"X has {n_features} features, but {name} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def _name_difference(fitted: list[str], names: list[str]) -> str:
    text = "The feature names should match those that were passed during fit.\n"
    unseen = sorted(set(names) - set(fitted))
    missing = sorted(set(fitted) - set(names))
    if unseen:
        text += "Feature names unseen at fit time:\n" + _listed(unseen)
    if missing:
        text += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
    if not unseen and not missing:
        text += "Feature names must be in the same order as they were in fit.\n"
    return text


def _listed(names: list[str]) -> str:
    shown = "".join(f"- {name}\n" for name in names[:5])
    return shown + ("- ...\n" if len(names) > 5 else "")
