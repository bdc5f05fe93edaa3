"""Data frames of pandas, polars and pyarrow. None of these is imported here."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np


def library(value: Any) -> str | None:
    """The library of a data frame, or None if `value` is not one."""
    name = type(value).__module__.partition(".")[0]
    if name in ("pandas", "polars") and hasattr(value, "columns") and hasattr(value, "shape"):
        return name
    if name == "pyarrow" and hasattr(value, "column_names"):
        return name
    return None


def column_names(frame: Any) -> list[Any]:
    """The names of the columns, of whatever type they are."""
    return list(frame.column_names if library(frame) == "pyarrow" else frame.columns)


def column(frame: Any, name: Any) -> np.ndarray:
    """One column as an array."""
    return np.asarray(frame[name].to_numpy())


def to_array(frame: Any) -> np.ndarray:
    """All columns as one array: numbers if all are numbers, else objects."""
    if library(frame) == "pyarrow":
        return np.column_stack([column(frame, name) for name in column_names(frame)])
    return frame.to_numpy()


def integers(frame: Any) -> np.ndarray | None:
    """All columns as one C-contiguous array if all are integers, in one copy and in bytes if they fit; else None."""
    names = column_names(frame)
    # A name that occurs twice would select several columns; the caller raises the error.
    columns = [column(frame, name) for name in names] if len(set(names)) == len(names) else []
    if not columns or any(values.dtype.kind not in "iub" or not values.size for values in columns):
        return None
    limits = np.iinfo(np.int8)
    is_small = all(limits.min <= values.min() and values.max() <= limits.max for values in columns)
    matrix = np.empty((len(columns[0]), len(columns)), dtype=np.int8 if is_small else np.int64)
    for place, values in enumerate(columns):
        matrix[:, place] = values
    return matrix


def check_same_order(X: Any, other: Any, name: str) -> None:
    """Refuses rows that pandas calls the same but that stand in another order: rows are matched by position."""
    own, others = (getattr(value, "index", None) if _is_of_pandas(value) else None for value in (X, other))
    if own is None or others is None or len(own) != len(others) or own.equals(others):
        return
    if own.is_unique and others.is_unique and own.isin(others).all():
        raise ValueError(
            f"Expected X and {name} with the same index in the same order, found the same index in another order: "
            f"rows are matched by position, so use {name}.loc[X.index]."
        )


def _is_of_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"


def is_sparse(value: Any) -> bool:
    """Whether it is a sparse matrix or array of scipy."""
    return type(value).__module__.partition(".")[0] == "scipy" and hasattr(value, "tocoo")


def is_missing(values: np.ndarray) -> np.ndarray:
    """Where an array has no value: None, NaN, NaT, pandas' NA."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind != "O":
        return np.zeros(values.shape, dtype=bool)
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        return np.asarray(pandas.isna(values))
    flat = [value is None or (isinstance(value, float) and value != value) for value in values.flat]
    return np.array(flat, dtype=bool).reshape(values.shape)


def without(frame: Any, name: Any) -> Any:
    """A frame without one of its columns."""
    if library(frame) == "pandas":
        return frame.drop(columns=name)
    return frame.drop_columns([name]) if library(frame) == "pyarrow" else frame.drop(name)
