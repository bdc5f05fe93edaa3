"""Which numbers in a matrix of votes are classes, and which are abstentions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._labelflow import DataError

#: The conventions, as on the command line.
CONVENTIONS = ("minus_one", "zero", "missing", "signed", "detect")

_READINGS = {
    "minus_one": "-1 abstains and the classes are 0, 1, …",
    "zero": "0 abstains and the classes are 1, 2, …",
    "signed": "0 abstains and the classes are -1 and 1",
}


def check_convention(abstain: Any) -> str:
    """`abstain` itself, if it is one of the conventions."""
    if abstain not in CONVENTIONS:
        raise ValueError(f"abstain: expected one of {', '.join(CONVENTIONS)}, found {abstain!r}")
    return abstain


def to_indices(votes: np.ndarray, abstain: str, n_classes: int | None) -> np.ndarray:
    """Votes of any integer type as class indices, -1 for an abstention. `n_classes` is None if it is not known.

    Where `abstain` is the default and the votes look like another convention, the error says so.
    """
    low, high = int(votes.min()), int(votes.max())
    if abstain == "detect":
        abstain = _detect(votes, low, high, n_classes)
    if abstain == "minus_one":
        _check_usual(votes, low, high, n_classes)
        return votes
    if abstain == "missing":
        if low < 0:
            raise _out_of_range(low, "a class from 0 (only missing values abstain)", votes, n_classes)
        return votes
    if abstain == "zero":
        if low < 0:
            raise _out_of_range(low, "a class from 1, or 0 for an abstention", votes, n_classes)
        return votes.astype(np.int16) - 1
    if low < -1 or high > 1:
        wrong = low if low < -1 else high
        raise _out_of_range(wrong, "-1, 1, or 0 for an abstention", votes, n_classes)
    signed = votes.astype(np.int8)
    return np.where(signed == 0, np.int8(-1), (signed + 1) // 2).astype(np.int8)


def _check_usual(votes: np.ndarray, low: int, high: int, n_classes: int | None) -> None:
    if low < -1 or (n_classes is not None and high >= n_classes):
        top = "" if n_classes is None else f" to {n_classes - 1}"
        wrong = low if low < -1 else high
        expected = f"a class from 0{top}, or -1 for an abstention"
        raise _out_of_range(wrong, expected, votes, n_classes)
    if n_classes is not None or high < 1 or (votes == 0).any():
        return
    # No vote for class 0 is possible, but more often the votes follow another convention.
    if low == -1 and high == 1:
        other = "if -1 is a class and 0 abstains, pass abstain='signed'"
        named = "classes=[0, 1]"
    else:
        other = "if classes count from 1 and 0 abstains, pass abstain='zero'"
        named = f"classes=range({high + 1})"
    raise DataError(
        f"signals: expected votes for class 0 among others, found none; {other}; "
        f"if class 0 exists but gets no votes, name the classes: {named}"
    )


def _out_of_range(
    found: int, expected: str, votes: np.ndarray, n_classes: int | None
) -> DataError:
    row, labeler = np.argwhere(votes == found)[0]
    text = f"signals, row {row}, labeler {labeler}: expected {expected}, found {found}"
    fitting = [name for name in _READINGS if _classes_with_votes(votes, name, n_classes)[0] >= 2]
    if fitting:
        text += f" (if {_READINGS[fitting[0]]}, pass abstain={fitting[0]!r})"
    return DataError(text)


def _detect(votes: np.ndarray, low: int, high: int, n_classes: int | None) -> str:
    """The only convention that fits, by the same rules as on the command line."""
    counts = {name: _classes_with_votes(votes, name, n_classes) for name in _READINGS}
    fitting = [name for name, (n_voted, _) in counts.items() if n_voted >= 2]
    complete = [name for name in fitting if counts[name][1] == n_classes]
    fitting = complete or fitting
    if len(fitting) > 1:
        readings = "; or ".join(_READINGS[name] for name in fitting)
        names = " or ".join(f"abstain={name!r}" for name in fitting)
        raise DataError(
            f"signals: expected votes with one reading, found numbers from {low} to {high} with "
            f"several: {readings} (say which is meant: {names})"
        )
    return fitting[0] if fitting else "minus_one"


def _classes_with_votes(votes: np.ndarray, name: str, n_classes: int | None) -> tuple[int, int]:
    """How many classes get a vote under a convention, and one more than the last of them; (0, 0) if it does not fit."""
    values = np.unique(votes)
    if name == "minus_one":
        classes = values[values != -1]
    elif name == "zero":
        classes = values[values != 0] - 1
    else:
        if np.setdiff1d(values, [-1, 0, 1]).size or n_classes not in (None, 2):
            return 0, 0
        classes = (values[values != 0] + 1) // 2
    if classes.size == 0 or classes.min() < 0 or (n_classes is not None and classes.max() >= n_classes):
        return 0, 0
    return classes.size, int(classes.max()) + 1
