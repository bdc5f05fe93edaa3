"""Training of flows on a sample of rows from an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._inputs.signals import Signals
from .arrow import pyarrow
from .bad_rows import BadRows, check_rule, handle, warn_of
from .features import BatchFeatures
from .votes import BatchVotes

#: The default size of the sample.
MAX_ROWS = 1_000_000


def fit_rows(
    model: Any,
    batch: Any,
    *,
    features: Any,
    votes: Any,
    rules: Any = None,
    label_range: Any = None,
    bad_rows: str,
    place: Callable[[int], str],
    report: BadRows | None,
) -> Any:
    """Fits a model on features to the rows of a batch, with votes or with rules."""
    found = BadRows()
    reader = BatchFeatures(batch.schema, features, None, None)
    matrix, bad, reason = reader.read(batch)
    handle(bad, check_rule(bad_rows), place, reason, found)
    signals = None
    if votes is not None:
        signals, wrong = _signals(model, batch, votes, bad_rows, place, found, bad)
        bad = bad | wrong if bad_rows == "skip" else bad
    warn_of(found, bad_rows, "left out, or taken with abstentions")
    if report is not None:
        report.add(found.n_rows, found.places)
    good = np.flatnonzero(~bad)
    X: Any = np.ascontiguousarray(matrix[good])
    if reader.names is not None:
        X = pyarrow().table(dict(zip(reader.names, X.T)))
    if signals is None:
        return model.fit(X, rules=rules, label_range=label_range)
    return model.fit(X, signals if len(good) == len(signals) else signals[good])


def _signals(
    model: Any, batch: Any, columns: Any, rule: str, place: Callable[[int], str], found: BadRows, counted: np.ndarray
) -> tuple[Signals, np.ndarray]:
    """The votes, and the rows in which one of them is no class. Rows that were counted as bad are not counted again."""
    classes = None if model.classes is None else np.asarray(list(model.classes))
    if classes is None and not isinstance(columns, str):
        table = pyarrow().Table.from_batches([batch]).select(list(columns))
        if any(pyarrow().types.is_string(kind) or pyarrow().types.is_large_string(kind) for kind in table.schema.types):
            # Any value that is there is the name of a class.
            return Signals(table), np.zeros(batch.num_rows, dtype=bool)
    reader = BatchVotes(batch.schema, columns, None, classes, model.abstain)
    votes, wrong, reason = reader.read(batch)
    bad = wrong.any(axis=1)
    handle(bad & ~counted, rule, place, reason, found)
    return Signals(votes, classes=classes, labelers=reader.labelers), bad
