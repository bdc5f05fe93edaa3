"""Rows that cannot be used: their positions, and what to do with them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._labelflow import DataError
from .._messages.warnings import warn

RULES = ("fail", "abstain", "skip")
#: Rows whose reasons are kept.
_KEPT = 20


class BadRows:
    """Rows that could not be used, counted while a stream is read.

    Pass it to a method as ``report``. It is complete once the stream has been read to its end.

    Attributes
    ----------
    n_rows : int
        Their number.
    places : list of str
        The positions of the first of them, and the reasons; at most twenty.

    Examples
    --------
    >>> import numpy as np
    >>> import pyarrow
    >>> import labelflow
    >>> model = labelflow.MajorityVote().fit(np.array([[0, 0], [1, 1]]))
    >>> votes = pyarrow.table({"labeler0": [0, 7, 1], "labeler1": [0, 1, 1]})
    >>> report = labelflow.BadRows()
    >>> labels = model.predict_batches(votes, bad_rows="skip", report=report).read_all()
    >>> report
    BadRows(1 rows, the first: row 1: labeler 'labeler0': expected a class from 0 to 1, or -1 for an abstention, found 7)
    """

    def __init__(self) -> None:
        self.n_rows = 0
        self.places: list[str] = []

    def add(self, n_rows: int, places: list[str]) -> None:
        """Counts further rows."""
        self.n_rows += n_rows
        self.places += places[: _KEPT - len(self.places)]

    def __repr__(self) -> str:
        first = f", the first: {self.places[0]}" if self.places else ""
        return f"BadRows({self.n_rows} rows{first})"


def check_rule(bad_rows: Any) -> str:
    """`bad_rows` itself, if it is one of the rules."""
    if bad_rows not in RULES:
        raise ValueError(f"bad_rows: expected one of {', '.join(RULES)}, found {bad_rows!r}")
    return bad_rows


def named(batch: Any, id_column: str | None, row: int) -> str:
    """What a message says of a row beside its position."""
    return "" if id_column is None else f" ({id_column} {batch.column(id_column)[row].as_py()!r})"


def handle(
    bad: np.ndarray, rule: str, place: Callable[[int], str], reason: Callable[[int], str], report: BadRows
) -> None:
    """Fails at the first row that is bad, or counts them all."""
    rows = np.flatnonzero(bad)
    if not len(rows):
        return
    texts = [f"{place(int(row))}: {reason(int(row))}" for row in rows[:_KEPT]]
    if rule == "fail":
        raise DataError(f"{texts[0]} (bad_rows='abstain' or 'skip' goes on without such rows)")
    report.add(len(rows), texts)


def warn_of(report: BadRows, rule: str, became: str) -> None:
    """Warns once with the number of bad rows."""
    if report.n_rows:
        became = "left out" if rule == "skip" else became
        warn(f"{report.n_rows} rows were {became}, the first of them {report.places[0]}")
