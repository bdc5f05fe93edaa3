"""Models and labeling functions, serialized for the processes of a cluster."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .._labeling_functions.labeling_function import LabelingFunction, LabelingFunctionError, Row, function_names, vote_on
from .arrow import pyarrow
from .bad_rows import BadRows

#: The models that this process has loaded, by their hash; the last few, for jobs that predict with several.
_LOADED: dict[str, Any] = {}
_KEPT = 4


def packed(estimator: Any) -> tuple[bytes, str]:
    """A fitted model as bytes without code in them, and their hash."""
    estimator._check_is_fitted()
    data = pickle.dumps(estimator)
    return data, hashlib.sha256(data).hexdigest()


def loaded(key: str, data: Callable[[], bytes], n_jobs: int) -> Any:
    """The model with this hash, from memory or else from its bytes, on so many threads."""
    estimator = _LOADED.get(key)
    if estimator is None:
        while len(_LOADED) >= _KEPT:
            del _LOADED[next(iter(_LOADED))]
        estimator = _LOADED[key] = pickle.loads(data())
    estimator.n_jobs = n_jobs
    return estimator


class ShippedFunctions:
    """Labeling functions, pickled by value: a worker cannot import those of a notebook.

    Parameters
    ----------
    functions : sequence of callables
    classes : sequence or None
        The classes in order; votes are their indices.
    on_error : {"raise", "abstain"}
    """

    def __init__(self, functions: Sequence[Callable[[Any], Any]], classes: Sequence[Any] | None, on_error: str) -> None:
        if on_error not in ("raise", "abstain"):
            raise ValueError(f"on_error: expected 'raise' or 'abstain', found {on_error!r}")
        self.names = function_names(list(functions))
        self._functions = [_bare(function) for function in functions]
        self._classes = None if classes is None else list(classes)
        self._on_error = on_error

    def votes(self, batch: Any, first: int, place: Callable[[int], str], report: BadRows) -> list[Any]:
        """One column per function, of class indices, -1 for an abstention. `first` is the number of the first row."""
        pa = pyarrow()
        places = {name: column for column, name in enumerate(batch.schema.names)}
        rows = (Row(places, values) for values in zip(*(column.to_pylist() for column in batch.columns)))
        failures: dict[int, str] = {}

        def failed(row: int, column: int, reason: str, error: Exception | None = None) -> None:
            if self._on_error == "raise":
                where = f"{reason} ({place(row)})"
                raise LabelingFunctionError(self.names[column], first + row, where) from error
            failures.setdefault(row, f"{place(row)}: labeling function {self.names[column]!r}: {reason}")

        cells = vote_on([lambda row, f=function, r=resources: f(row, **r) for function, resources in self._functions], rows, failed)
        indices = self._indices(cells, failed)
        report.add(len(failures), [failures[row] for row in sorted(failures)])
        return [pa.array(np.ascontiguousarray(column)) for column in indices.T]

    def _indices(self, cells: np.ndarray, failed: Callable[[int, int, str], None]) -> np.ndarray:
        indices = np.full(cells.shape, -1, dtype=np.int16)
        places = {} if self._classes is None else {name: place for place, name in enumerate(self._classes)}
        last = 254 if self._classes is None else len(self._classes) - 1
        for (row, column), vote in np.ndenumerate(cells):
            if vote is None:
                continue
            index = places.get(vote, None) if isinstance(vote, str) else vote
            if index is None or index > last:
                expected = f"one of {self._classes}" if self._classes is not None else "a class from 0 to 254 (pass classes)"
                failed(row, column, f"expected {expected}, found {vote!r}")
                continue
            indices[row, column] = index
        return indices


def _bare(function: Any) -> tuple[Callable[..., Any], dict[str, Any]]:
    if isinstance(function, LabelingFunction):
        return function._function, function.resources
    return function, {}


def predictions(
    predictor: Callable[[Any], Any], batches: Iterator[Any], place: Callable[[int], str], report: BadRows
) -> Iterator[Any]:
    """Batches through a predictor that is made for the first of them; `place` says where a row of them all is."""
    made, n_rows = None, 0
    for batch in batches:
        made = made or predictor(batch.schema)
        yield made.predict(batch, lambda row, first=n_rows: place(first + row), report)
        n_rows += batch.num_rows
