"""Counts of distinct rows of votes, which are all that label models learn from."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._inputs import frames
from .._inputs.signals import Signals
from .._labelflow import DataError
from .arrow import as_reader, choose_columns, is_list, list_lengths, pyarrow
from .votes import BatchVotes

#: The column of counts.
COUNT = "count"
#: Rows of partial counts that are kept before they are added up.
_PATIENCE = 1 << 18
#: Above this, a float no longer holds every whole number.
_MAX_ROWS = 1 << 53


class VoteCounter:
    """Counts distinct rows of votes, batch by batch. Keeps only the distinct rows in memory. Needs pyarrow.

    Cells are counted as they are; what they mean (names or numbers, which of them abstain) is decided when a label
    model is fitted, from all of them together.

    Parameters
    ----------
    columns : list of str or str, default=None
        The labelers' columns, or the name of one column that has their votes as lists. None: all columns.
    max_patterns : int, default=None
        The limit on distinct rows, above which an error is raised. None: no limit.

    Attributes
    ----------
    n_rows : int
        Rows counted.

    Examples
    --------
    >>> import pyarrow
    >>> from labelflow import DawidSkene, VoteCounter
    >>> counter = VoteCounter()
    >>> for day in ([0, 1, 0], [1, 1, 1]):
    ...     counter.add(pyarrow.table({"a": day, "b": day, "c": [0, 1, 1]}))
    >>> counter
    VoteCounter(6 rows, 4 distinct)
    >>> DawidSkene().fit_counts(counter).labelers_
    ['a', 'b', 'c']
    """

    def __init__(self, columns: Any = None, *, max_patterns: int | None = None) -> None:
        self.columns = columns
        self.max_patterns = max_patterns
        self.n_rows = 0
        self._labelers: list[str] | None = None
        self._parts: list[Any] = []
        self._n_waiting = 0

    def add(self, votes: Any) -> None:
        """Counts further rows.

        Parameters
        ----------
        votes : stream of record batches or data frame
            Anything that ``predict_batches`` takes.
        """
        for batch in as_reader(votes):
            self._add(_vote_table(batch, self.columns))

    def merge(self, other: VoteCounter) -> None:
        """Adds the counts of another. The result does not depend on the order.

        Parameters
        ----------
        other : VoteCounter
        """
        if other._parts:
            self._add_counts(other.table())

    def add_counts(self, table: Any, counts: str = COUNT) -> None:
        """Adds distinct rows that were counted elsewhere.

        Parameters
        ----------
        table : stream of record batches or data frame
            One row per pattern, with a column of counts.
        counts : str, default="count"
            That column.
        """
        whole = as_reader(table).read_all()
        if counts not in whole.column_names:
            raise DataError(f"counts: expected a column {counts!r}, found {whole.column_names}")
        votes = _vote_table(whole.drop_columns([counts]), self.columns)
        self._add_counts(votes.append_column(COUNT, whole.column(counts).cast(pyarrow().int64())))

    def table(self) -> Any:
        """The distinct rows with their counts: one column per labeler, then ``count``.

        Returns
        -------
        pyarrow.Table
        """
        self._add_up()
        if not self._parts:
            raise DataError("counts: expected at least one row, found none")
        return self._parts[0]

    @property
    def n_patterns(self) -> int:
        """Number of distinct rows."""
        self._add_up()
        return self._parts[0].num_rows if self._parts else 0

    def _add(self, votes: Any) -> None:
        if COUNT in votes.column_names:
            raise DataError(f"votes: expected labelers that are not called {COUNT!r}, found one")
        if votes.num_rows:
            counted = votes.group_by(votes.column_names).aggregate([([], "count_all")])
            names = [COUNT if name == "count_all" else name for name in counted.column_names]
            self._add_counts(counted.rename_columns(names))

    def _add_counts(self, counted: Any) -> None:
        labelers = [name for name in counted.column_names if name != COUNT]
        if self._labelers is None:
            self._labelers = labelers
        elif labelers != self._labelers:
            raise DataError(f"votes: expected the labelers {self._labelers}, found {labelers}")
        counted = counted.select([*labelers, COUNT])
        self.n_rows += _total(counted.column(COUNT).to_numpy())
        self._parts.append(counted)
        self._n_waiting += counted.num_rows
        if self._n_waiting > _PATIENCE + 2 * self._parts[0].num_rows:
            self._add_up()

    def _add_up(self) -> None:
        if len(self._parts) > 1:
            pa = pyarrow()
            together = pa.concat_tables(self._parts, promote_options="permissive")
            summed = together.group_by(self._labelers).aggregate([(COUNT, "sum")])
            names = [COUNT if name == f"{COUNT}_sum" else name for name in summed.column_names]
            self._parts = [summed.rename_columns(names).select([*self._labelers, COUNT])]
        self._n_waiting = 0
        n_patterns = self._parts[0].num_rows if self._parts else 0
        if self.max_patterns is not None and n_patterns > self.max_patterns:
            raise DataError(too_many(self.max_patterns))

    def __repr__(self) -> str:
        return f"VoteCounter({self.n_rows} rows, {self.n_patterns} distinct)"


def count_votes(source: Any, columns: Any = None, *, max_patterns: int | None = None) -> VoteCounter:
    """Counts the distinct rows of votes in a stream of record batches. Needs pyarrow.

    Parameters
    ----------
    source : stream of record batches or data frame
        Anything that ``predict_batches`` takes.
    columns : list of str or str, default=None
        The labelers' columns, or the name of one column that has their votes as lists. None: all columns.
    max_patterns : int, default=None
        The limit on distinct rows, above which an error is raised. None: no limit.

    Returns
    -------
    VoteCounter
        For ``fit_counts`` of any label model.

    Examples
    --------
    >>> import pyarrow
    >>> import labelflow
    >>> votes = pyarrow.table({"a": [0, 1, 0, 0], "b": [0, 1, 0, 1]})
    >>> labelflow.count_votes(votes)
    VoteCounter(4 rows, 3 distinct)
    """
    counter = VoteCounter(columns, max_patterns=max_patterns)
    counter.add(source)
    return counter


def too_many(max_patterns: int) -> str:
    """The error for votes that hardly repeat."""
    return (
        f"votes: expected at most {max_patterns} distinct rows (max_patterns), found more; label models that need no counts, "
        "MajorityVote and AverageSignals, can be fitted to any few rows"
    )


def read_counts(X: Any, counts: Any) -> tuple[Any, np.ndarray]:
    """Patterns, as `Signals` takes them, and their counts."""
    if isinstance(X, VoteCounter):
        X = X.table()
    if isinstance(counts, str):
        if frames.library(X) is None or counts not in frames.column_names(X):
            raise DataError(f"counts: expected counts, or a data frame with a column {counts!r}, found {type(X).__name__}")
        numbers = frames.column(X, counts)
        X = frames.without(X, counts)
    else:
        numbers = np.asarray(counts)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iuf":
        raise DataError(f"counts: expected whole numbers, one per pattern, found {numbers.dtype} of shape {numbers.shape}")
    wrong = ~((numbers >= 0) & (numbers == np.round(numbers)))
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise DataError(f"counts, pattern {row}: expected a whole number that is not negative, found {numbers[row]}")
    _total(numbers)
    return X if isinstance(X, Signals) or frames.library(X) else np.asarray(X), numbers.astype(np.uint64)


def is_one_list(values: Any) -> bool:
    """Whether patterns are one column of lists."""
    return frames.library(values) == "pyarrow" and values.num_columns == 1 and is_list(values.schema.field(0).type)


def pattern_reader(batch: Any, counts: np.ndarray, classes: Any, abstain: str) -> BatchVotes:
    """The reader of the votes of patterns. For lists, the most common length is the number of labelers."""
    if not is_one_list(batch):
        return BatchVotes(batch.schema, batch.schema.names, None, classes, abstain)
    lengths = np.maximum(list_lengths(batch.column(0)), 0)
    n_labelers = int(np.bincount(lengths, weights=counts).argmax()) if len(lengths) else 0
    labelers = [f"labeler{place}" for place in range(n_labelers)]
    return BatchVotes(batch.schema, batch.schema.names[0], labelers, classes, abstain)


def _total(numbers: np.ndarray) -> int:
    total = sum(numbers.tolist())
    if total > _MAX_ROWS:
        raise DataError(f"counts: expected at most 2^53 rows, found {total:.3g}")
    return int(total)


def _vote_table(batch: Any, columns: Any) -> Any:
    """The votes of a batch, one column per labeler."""
    pa = pyarrow()
    table = pa.Table.from_batches([batch]) if isinstance(batch, pa.RecordBatch) else batch
    chosen = choose_columns("votes", table.schema, columns, None, None)
    if isinstance(chosen, str):
        return spread(table.column(chosen), chosen)
    if any(is_list(table.schema.field(name).type) for name in chosen):
        raise DataError(f"votes: expected columns of votes, or one column of lists, found the columns {chosen}")
    return table.select(chosen)


def spread(lists: Any, name: str) -> Any:
    """A column of lists as one column per labeler, labeler0, labeler1, …"""
    import pyarrow.compute as compute

    pa = pyarrow()
    lengths = list_lengths(lists)
    if not len(lengths):
        return pa.table({})
    n_labelers = int(lengths[0])
    if n_labelers < 1 or (lengths != n_labelers).any():
        row = int(np.flatnonzero((lengths != n_labelers) | (lengths < 1))[0])
        found = "no list" if lengths[row] < 0 else f"a list of {lengths[row]}"
        raise DataError(f"votes, row {row}, column {name!r}: expected lists of one length, found {found}")
    flat = compute.list_flatten(lists)
    places = np.arange(len(lengths)) * n_labelers
    return pa.table({f"labeler{place}": flat.take(pa.array(places + place)) for place in range(n_labelers)})
