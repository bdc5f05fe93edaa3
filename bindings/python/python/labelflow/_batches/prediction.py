"""Prediction over record batches: one batch, and streams of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .arrow import as_reader, pieces, pyarrow
from .bad_rows import BadRows, check_rule, handle, named, warn_of


class BatchPredictor:
    """Turns batches into batches: columns that are kept, and the predictions of each row.

    Spark, Ray and plain streams all predict with it. A row's prediction depends on its own cells alone.

    Parameters
    ----------
    estimator : fitted estimator
    schema : pyarrow.Schema
        Of all batches that come.
    columns : list of str, str or None
        The columns that the model reads, or the column of lists.
    keep : list of str or None
        The columns that go along; None: all that the model does not read.
    bad_rows : {"fail", "abstain", "skip"}
    id_column : str or None
        The column that names a row in messages.
    """

    def __init__(
        self,
        estimator: Any,
        schema: Any,
        columns: Any = None,
        keep: Sequence[str] | None = None,
        bad_rows: str = "fail",
        id_column: str | None = None,
    ) -> None:
        estimator._check_is_fitted()
        self._estimator = estimator
        self._rule = check_rule(bad_rows)
        self._reader = estimator._batch_reader(schema, columns)
        read = set(self._reader.columns)
        self._keep = [name for name in schema.names if name not in read] if keep is None else list(keep)
        self._id_column = id_column
        for name in [*self._keep, *([] if id_column is None else [id_column])]:
            if name not in schema.names:
                raise ValueError(f"keep: expected columns among {schema.names}, found {name!r}")
        fields = estimator._batch_fields()
        taken = [name for name, _ in fields if name in self._keep]
        if taken:
            raise ValueError(f"keep: expected columns other than those of the prediction, found {taken[0]!r}: name those to keep")
        pa = pyarrow()
        kept = [schema.field(name).remove_metadata() for name in self._keep]
        #: The schema of the output.
        self.schema = pa.schema([*kept, *(pa.field(name, kind) for name, kind in fields)])

    def predict(self, batch: Any, place: Callable[[int], str], report: BadRows) -> Any:
        """One batch. `place` says where a row is, for messages."""
        pa = pyarrow()
        values, wrong, reason = self._reader.read(batch)
        bad = wrong.any(axis=1) if wrong.ndim == 2 else wrong
        handle(bad, self._rule, lambda row: place(row) + named(batch, self._id_column, row), reason, report)
        # A bad vote abstains, and the other votes of its row count. A row with a bad feature gets no prediction.
        lost = bad if wrong.ndim == 1 or self._rule == "skip" else np.zeros(len(bad), dtype=bool)
        some_lost = bool(lost.any())
        found = self._estimator._batch_columns(np.ascontiguousarray(values[~lost]) if some_lost else values)
        kept = [batch.column(name) for name in self._keep]
        if some_lost and self._rule == "skip":
            kept = [column.filter(pa.array(~lost)) for column in kept]
        elif some_lost:
            # Rows without a prediction have no index to take it from.
            places = pa.array(np.cumsum(~lost) - 1, mask=lost)
            found = [column.take(places) for column in found]
        return pa.RecordBatch.from_arrays([*kept, *found], schema=self.schema)


class BatchPrediction:
    """A mixin for estimators that predict over streams."""

    def predict_batches(
        self,
        source: Any,
        *,
        columns: Any = None,
        keep: Sequence[str] | None = None,
        bad_rows: str = "fail",
        id_column: str | None = None,
        report: BadRows | None = None,
    ) -> Any:
        """Predictions over a stream of record batches, as a stream of record batches in the same order.

        Needs memory for one batch. A row's prediction is that of ``predict_proba``, bit for bit, whatever batch it is
        in.

        Parameters
        ----------
        source : stream of record batches
            Anything with ``__arrow_c_stream__`` (data frames of Polars, relations of DuckDB, results of DataFusion), a reader,
            table or dataset of pyarrow, a data frame of pandas, or an iterable of record batches.
        columns : list of str or str, default=None
            The columns that the model reads (features, or votes of the labelers), or the name of one column that has them as
            lists. None: those with the names of the fit, else all.
        keep : list of str, default=None
            Columns to keep beside the predictions. None: all that the model does not read.
        bad_rows : {"fail", "abstain", "skip"}, default="fail"
            What to do with a row whose feature is missing or not finite, or whose vote is not a class: raise an error
            with its position; give no prediction (nulls; in label models, that vote abstains); or leave the row out.
            The last two warn at the end with the number of such rows.
        id_column : str, default=None
            A column that identifies rows in messages, beside their position.
        report : BadRows, default=None
            Collects such rows.

        Returns
        -------
        pyarrow.RecordBatchReader
            With the columns ``label``, ``p_<class>`` for each class, and ``set`` of a classifier calibrated with sets; of a
            regressor ``mean``, ``std``, ``q05``, ``q50`` and ``q95``.
        """
        reader = as_reader(source)
        predictor = BatchPredictor(self, reader.schema, columns, keep, bad_rows, id_column)
        counted = BadRows() if report is None else report

        def batches() -> Iterator[Any]:
            n_rows = 0
            for whole in reader:
                for batch in pieces(whole):
                    yield predictor.predict(batch, lambda row, first=n_rows: f"row {first + row}", counted)
                    n_rows += batch.num_rows
            warn_of(counted, bad_rows, self._batch_abstention)

        return pyarrow().RecordBatchReader.from_batches(predictor.schema, batches())

    #: What a warning says about rows without a prediction.
    _batch_abstention = "given no prediction"

    def _batch_reader(self, schema: Any, columns: Any) -> Any:
        """The reader of the batches."""
        from .features import BatchFeatures

        names = getattr(self, "feature_names_in_", None)
        return BatchFeatures(schema, columns, None if names is None else names.tolist(), self.n_features_in_)

    def _batch_fields(self) -> list[tuple[str, Any]]:
        """Names and types of what is predicted."""
        raise NotImplementedError

    def _batch_columns(self, values: np.ndarray) -> list[Any]:
        """The predictions for good rows, as arrays of pyarrow."""
        raise NotImplementedError


def class_fields(classes: np.ndarray) -> list[tuple[str, Any]]:
    """The columns of classes with their probabilities."""
    pa = pyarrow()
    return [("label", label_values(classes).type), *((f"p_{name}", pa.float64()) for name in classes.tolist())]


def class_columns(classes: np.ndarray, probabilities: np.ndarray, chosen: Any = None) -> list[Any]:
    """The chosen classes, by their indices, or the most probable ones; and the probabilities of each."""
    pa = pyarrow()
    labels = label_values(classes).take(pa.array(np.argmax(probabilities, axis=1) if chosen is None else chosen))
    return [labels, *(pa.array(column) for column in np.ascontiguousarray(probabilities.T))]


def label_values(classes: np.ndarray) -> Any:
    """The classes as an array of pyarrow."""
    return pyarrow().array(classes.tolist())
