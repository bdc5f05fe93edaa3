"""A table of labelers: coverage, overlaps, conflicts, accuracy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .. import _labelflow
from .._inputs.signals import Signals, as_signals


def analyze(
    signals: Any,
    labels: Any = None,
    *,
    abstain: str = "minus_one",
    classes: Any = None,
) -> Any:
    """Describes each labeler, in the columns of Snorkel's ``LFAnalysis.lf_summary``.

    Parameters
    ----------
    signals : signals
        Anything that :class:`Signals` takes.
    labels : array (n_rows,), default=None
        True labels, for the columns Correct, Incorrect and Emp. Acc.
    abstain, classes
        As in :class:`Signals`.

    Returns
    -------
    pandas.DataFrame
        One row per labeler: j (its position), Polarity (the classes it votes for), Coverage, Overlaps, Conflicts
        (shares of all rows). Without pandas a dict of columns, with the names of the labelers as "labeler".

    Examples
    --------
    >>> import labelflow
    >>> summary = labelflow.analyze([[0, 1], [1, -1], [0, 0], [-1, -1]], labels=[0, 1, 0, 1])
    >>> print(summary.to_string())
              j Polarity  Coverage  Overlaps  Conflicts  Correct  Incorrect  Emp. Acc.
    labeler0  0   [0, 1]      0.75       0.5       0.25        3          0        1.0
    labeler1  1   [0, 1]      0.50       0.5       0.25        1          1        0.5
    """
    signals = as_signals(signals, abstain, classes)
    truth = None if labels is None else _places(labels, signals)
    summaries = json.loads(_labelflow.analyze(signals._raw, truth))
    values = signals.classes_.tolist()
    columns: dict[str, list[Any]] = {
        "j": list(range(len(summaries))),
        "Polarity": [[values[place] for place in summary["polarity"]] for summary in summaries],
        "Coverage": [summary["coverage"] for summary in summaries],
        "Overlaps": [summary["overlaps"] for summary in summaries],
        "Conflicts": [summary["conflicts"] for summary in summaries],
    }
    if truth is not None:
        columns["Correct"] = [summary["correct"] for summary in summaries]
        columns["Incorrect"] = [summary["incorrect"] for summary in summaries]
        columns["Emp. Acc."] = [summary.get("accuracy", 0.0) for summary in summaries]
    names = [summary["name"] for summary in summaries]
    try:
        import pandas
    except ImportError:
        return {"labeler": names, **columns}
    return pandas.DataFrame(columns, index=names)


def krippendorff_alpha(signals: Any, *, abstain: str = "minus_one", classes: Any = None) -> float:
    """How far labelers agree beyond chance, with any number of labelers, classes and missing votes (nominal metric).

    Parameters
    ----------
    signals : signals
        Anything that :class:`Signals` takes.
    abstain, classes
        As in :class:`Signals`.

    Returns
    -------
    float
        1 for full agreement, 0 for what chance gives. NaN where it is not defined: no row has two votes, or all votes of
        those rows are for one class.

    Examples
    --------
    >>> import labelflow
    >>> votes = [[0, 0], [1, 1], [0, 1], [1, 1], [1, -1]]
    >>> round(labelflow.krippendorff_alpha(votes), 3)
    0.533
    """
    alpha = _labelflow.krippendorff_alpha(as_signals(signals, abstain, classes)._raw)
    return float("nan") if alpha is None else alpha


def _places(labels: Any, signals: Signals) -> list[int]:
    values = np.asarray(labels)
    if values.ndim != 1:
        raise ValueError(f"labels: expected one per row, found shape {values.shape}")
    places = {value: place for place, value in enumerate(signals.classes_.tolist())}
    unknown = [value for value in np.unique(values).tolist() if value not in places]
    if unknown:
        raise ValueError(f"labels: expected the classes {list(places)}, found {unknown[0]!r}")
    return [places[value] for value in values.tolist()]
