"""Features in record batches: one column each, or one column of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._inputs.features import number_type
from .arrow import choose_columns, is_list, list_lengths, pyarrow


class BatchFeatures:
    """Reads the rows of a batch as a matrix, and says which of them are not finite numbers.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of all batches.
    columns : list of str, str or None
        The columns of features, or the column of lists; None: those with the names of the fit.
    names : list of str or None
        The features of the fit, if they have names.
    n_features : int or None
        Their number; None before the fit: as many as there are columns, or as the first list has.
    """

    def __init__(self, schema: Any, columns: Any, names: list[str] | None, n_features: int | None) -> None:
        chosen = choose_columns("features", schema, columns, names, n_features)
        self._list = chosen if isinstance(chosen, str) else None
        self.columns = [chosen] if isinstance(chosen, str) else chosen
        self._n_features = n_features if n_features is not None or self._list else len(self.columns)
        #: The names of the columns; None for lists.
        self.names = names or (None if self._list else self.columns)
        for name in self.columns:
            _check_numeric(name, schema.field(name).type)
        self._dtype = number_type(_kind(schema.field(name).type) for name in self.columns)

    def read(self, batch: Any) -> tuple[np.ndarray, np.ndarray, Callable[[int], str]]:
        """The matrix, whether each row is bad, and the reason for a bad row."""
        matrix, lengths = self._lists(batch) if self._list else (self._columns(batch), None)
        bad = ~np.isfinite(matrix).all(axis=1)
        if lengths is not None:
            bad |= lengths != self._n_features
        return matrix, bad, lambda row: self._reason(batch, matrix, lengths, row)

    def _columns(self, batch: Any) -> np.ndarray:
        matrix = np.empty((batch.num_rows, self._n_features), dtype=self._dtype)
        for place, name in enumerate(self.columns):
            matrix[:, place] = _numbers(batch.column(name))
        return matrix

    def _lists(self, batch: Any) -> tuple[np.ndarray, np.ndarray]:
        """The matrix, NaN in rows that are too short or too long, and the length of each row, -1 where there is none."""
        lists = batch.column(self._list)
        lengths = list_lengths(lists)
        if self._n_features is None:
            self._n_features = int(lengths[lengths >= 0][0]) if (lengths >= 0).any() else 0
        fits = lengths == self._n_features
        matrix = np.full((batch.num_rows, self._n_features), np.nan, dtype=self._dtype)
        whole = lists if fits.all() else lists.filter(pyarrow().array(fits))
        matrix[fits] = _numbers(whole.flatten()).reshape(-1, self._n_features)
        return matrix, lengths

    def _reason(self, batch: Any, matrix: np.ndarray, lengths: np.ndarray | None, row: int) -> str:
        if lengths is not None and lengths[row] != self._n_features:
            found = "no list" if lengths[row] < 0 else f"a list of {lengths[row]}"
            return f"column {self._list!r}: expected a list of {self._n_features} numbers, found {found}"
        place = int(np.flatnonzero(~np.isfinite(matrix[row]))[0])
        name = repr(self.names[place]) if self.names else str(place)
        if self._list:
            value = batch.column(self._list)[row].as_py()[place]
        else:
            value = batch.column(self.columns[place])[row].as_py()
        found = "none" if value is None else f"{float(value):g}"
        return f"feature {name}: expected a finite number, found {found}"


def _kind(kind: Any) -> Any:
    """The type of a column's numbers as numpy has it."""
    types = pyarrow().types
    kind = kind.value_type if is_list(kind) else kind
    return kind.to_pandas_dtype() if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) else np.float64


def _check_numeric(name: str, kind: Any) -> None:
    types = pyarrow().types
    inner = kind.value_type if is_list(kind) else kind
    tests = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    if not any(test(inner) for test in tests):
        raise ValueError(f"features: expected numbers, found the column {name!r} of {kind}")


def _numbers(values: Any) -> np.ndarray:
    """A column as floats or integers, NaN where there is none."""
    pa = pyarrow()
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        values = values.cast(pa.float64())
    return values.to_numpy(zero_copy_only=False)
