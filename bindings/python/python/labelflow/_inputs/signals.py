"""Weak signals: votes or probabilities of named labelers about named classes, from many types of input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._labelflow import DataError, RawSignals
from . import frames
from .abstain import check_convention, to_indices

_LONG_COLUMNS = {"task", "worker", "label"}


class Signals:
    """Votes or probabilities of several labelers, any of which may abstain.

    Every ``fit`` takes the same input, so you need this only to convert once and use often, or to keep names.

    Parameters
    ----------
    values : array, data frame or sparse matrix
        One of

        - integers (n_rows, n_labelers): votes, -1 abstains. A C-contiguous int8 array is not copied;
          do not write into it as long as the signals are in use.
        - floats (n_rows, n_labelers): probabilities of class 1, NaN abstains;
        - floats (n_rows, n_labelers, n_classes): probabilities, NaN abstains;
        - names (n_rows, n_labelers): votes for named classes; None, NaN or an empty text abstains;
        - a data frame of pandas, polars or pyarrow, one column per labeler, of any of the above. As in a csv file,
          numbers are votes if all of them are whole;
        - a data frame with the columns task, worker and label, one row per vote: tasks become rows in the order in
        which
          they first appear, workers become labelers;
        - a sparse matrix of scipy, with ``abstain="zero"`` or ``"signed"``;
        - labels (n_rows,): one labeler. All values are classes, as in scikit-learn, but -1 abstains if
          there are two other values.
    abstain : {"minus_one", "zero", "missing", "signed", "detect"}, default="minus_one"
        How an abstention is written in votes that are numbers: -1; 0, where classes count from 1; missing values
        alone; 0, where the classes are -1 and 1; or whichever of these alone fits.
    classes : sequence, default=None
        The classes in order. Without it they are 0, 1, … up to the largest vote, or the names found, sorted.
    labelers : sequence of str, default=None
        Names of the labelers. Without it they are the columns of a data frame, or labeler0, labeler1, ….

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes, as given or found.
    labelers_ : list of str
        The labelers.
    tasks_ : array or None
        The tasks, one per row, of a data frame of tasks, workers and labels.

    Examples
    --------
    >>> import numpy as np
    >>> import labelflow
    >>> signals = labelflow.Signals(np.array([[0, 1], [-1, 1], [0, -1]], dtype=np.int8))
    >>> signals
    Signals(3 rows, 2 labelers, classes [0, 1])
    >>> signals.votes()
    array([[ 0,  1],
           [-1,  1],
           [ 0, -1]])
    """

    def __init__(
        self,
        values: Any,
        *,
        abstain: str = "minus_one",
        classes: Any = None,
        labelers: Sequence[str] | None = None,
    ) -> None:
        reader = _Reader(check_convention(abstain), classes)
        raw, found = reader.read(values)
        names = labelers if labelers is not None else reader.labelers
        self.tasks_ = reader.tasks
        self._is_one_label_a_row = reader.is_one_label_a_row
        self._set(raw, found, [str(name) for name in names] if names is not None else None)

    def _set(self, raw: RawSignals, classes: np.ndarray, labelers: list[str] | None) -> None:
        self._raw = raw.named(labelers, [str(value) for value in classes.tolist()])
        self.classes_ = classes
        self.labelers_ = self._raw.labelers

    def votes(self) -> np.ndarray:
        """Class indices: the most probable class of each labeler, -1 where it abstains, (n_rows, n_labelers)."""
        return self._raw.votes()

    def to_pandas(self) -> Any:
        """The votes as a pandas data frame, one column per labeler."""
        import pandas

        return pandas.DataFrame(self.votes(), columns=self.labelers_, index=self.tasks_)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of labelers."""
        return self._raw.n_rows, len(self.labelers_)

    @property
    def ndim(self) -> int:
        """Two: rows and labelers."""
        return 2

    def __len__(self) -> int:
        return self._raw.n_rows

    def __getitem__(self, rows: Any) -> Signals:
        """The rows with these indices (or True in a mask, or in a slice), in this order."""
        indices = np.atleast_1d(np.arange(len(self))[rows])
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__)
        part._raw = self._raw.select_rows(indices.tolist())
        part.tasks_ = None if self.tasks_ is None else self.tasks_[indices]
        return part

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        votes = self.votes()
        return votes if dtype is None else votes.astype(dtype)

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        del state["_raw"]
        probabilities = self._raw.probabilities()
        state["values"] = self.votes().astype(np.int16) if probabilities is None else probabilities
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        values = state.pop("values")
        self.__dict__.update(state)
        if values.ndim == 3:
            raw = RawSignals.from_probabilities(values)
        else:
            raw = RawSignals.from_int64(values.astype(np.int64), len(self.classes_))
        self._set(raw, self.classes_, self.labelers_)

    def __repr__(self) -> str:
        classes = self.classes_.tolist()
        n_rows, n_labelers = self.shape
        return f"Signals({n_rows} rows, {n_labelers} labelers, classes {classes})"


def as_signals(values: Any, abstain: str, classes: Any) -> Signals:
    """`values` themselves if they are signals already, else read."""
    if values is None:
        raise ValueError(
            "This estimator requires y to be passed, but the target y is None: "
            "give the signals of the labelers."
        )
    if isinstance(values, Signals):
        return values
    return Signals(values, abstain=abstain, classes=classes)


class _Reader:
    """Reads one value and keeps the names that are found beside the numbers."""

    def __init__(self, abstain: str, classes: Any) -> None:
        self.abstain = abstain
        self.classes = None if classes is None else np.asarray(list(classes))
        self.labelers: list[Any] | None = None
        self.tasks: np.ndarray | None = None
        self.is_one_label_a_row = False
        if self.classes is not None and len(np.unique(self.classes)) != len(self.classes):
            raise ValueError(f"classes: expected values that differ, found {self.classes.tolist()}")
        if self.classes is not None and len(self.classes) < 2:
            raise ValueError(f"classes: expected at least two, found {len(self.classes)}")

    @property
    def n_classes(self) -> int | None:
        return None if self.classes is None else len(self.classes)

    def read(self, values: Any) -> tuple[RawSignals, np.ndarray]:
        if frames.is_sparse(values):
            return self._votes(self._dense(values))
        if frames.library(values) is not None:
            return self._frame(values)
        array = np.asarray(values)
        if array.dtype.kind in "SU":
            array = array.astype(object)
        if array.ndim == 1:
            return self._labels(array)
        if array.ndim == 2 and array.dtype.kind == "O":
            return self._objects(array)
        if array.ndim == 2 and array.dtype.kind in "iub":
            return self._votes(array)
        if array.ndim == 2 and array.dtype.kind == "f":
            return self._floats(array)
        if array.ndim == 3 and array.dtype.kind in "fiu":
            return self._probabilities(array)
        raise ValueError(
            "signals: expected votes (n_rows, n_labelers), probabilities (n_rows, n_labelers) or "
            "(n_rows, n_labelers, n_classes), a data frame, or labels (n_rows,), "
            f"found an array of {array.dtype} with shape {array.shape}"
        )

    def _votes(self, votes: np.ndarray) -> tuple[RawSignals, np.ndarray]:
        if votes.size == 0:
            raise DataError(f"signals: expected at least one row and one labeler, found shape {votes.shape}")
        if votes.dtype.kind == "b":
            votes = votes.astype(np.int8)
        indices = to_indices(votes, self.abstain, self.n_classes)
        if indices.dtype != np.int8 and int(indices.max()) <= 127:
            indices = indices.astype(np.int8, order="C")
        if indices.dtype == np.int8:
            raw = RawSignals.from_int8(np.ascontiguousarray(indices), self.n_classes)
        else:
            raw = RawSignals.from_int64(indices.astype(np.int64), self.n_classes)
        return raw, self._classes_of(raw)

    def _classes_of(self, raw: RawSignals) -> np.ndarray:
        found = len(raw.classes)
        if self.classes is None:
            return np.arange(found)
        if len(self.classes) != found:
            raise ValueError(f"classes: expected {found}, as the signals have, found {len(self.classes)}")
        return self.classes

    def _floats(self, values: np.ndarray) -> tuple[RawSignals, np.ndarray]:
        """Probabilities of class 1, or votes if a convention other than the usual one was asked for."""
        if self.abstain in ("zero", "signed", "missing"):
            return self._votes(self._whole(values))
        given = values[~np.isnan(values)]
        if given.size and (given.min() < 0 or given.max() > 1):
            wrong = given.min() if given.min() < 0 else given.max()
            row, labeler = np.argwhere(values == wrong)[0]
            text = (
                f"signals, row {row}, labeler {labeler}: expected a probability of class 1 from 0 to 1, "
                f"since the array has floats, found {wrong:g}"
            )
            if np.array_equal(given, np.round(given)):
                text += (
                    " (these look like votes: convert them to integers, as in votes.astype(int); "
                    "where NaN abstains, pass abstain='missing')"
                )
            raise DataError(text)
        raw = RawSignals.from_class1(np.ascontiguousarray(values, dtype=np.float32))
        return raw, self._classes_of(raw)

    def _whole(self, values: np.ndarray) -> np.ndarray:
        """Floats that are whole as integers; what is missing becomes the number that abstains."""
        missing = np.isnan(values)
        given = np.where(missing, 0.0, values)
        if not np.array_equal(given, np.round(given)):
            row, labeler = np.argwhere(given != np.round(given))[0]
            raise DataError(
                f"signals, row {row}, labeler {labeler}: expected a vote, since abstain={self.abstain!r}, "
                f"found {given[row, labeler]:g}"
            )
        votes = given.astype(np.int64)
        if self.abstain == "missing":
            if (votes < 0).any():
                to_indices(votes, self.abstain, self.n_classes)
            # From here on as usual: -1 abstains.
            self.abstain = "minus_one"
        if self.abstain in ("minus_one", "detect"):
            votes[missing] = -1
        return votes

    def _probabilities(self, values: np.ndarray) -> tuple[RawSignals, np.ndarray]:
        raw = RawSignals.from_probabilities(np.ascontiguousarray(values, dtype=np.float32))
        return raw, self._classes_of(raw)

    def _objects(self, values: np.ndarray) -> tuple[RawSignals, np.ndarray]:
        """Numbers or names, some of them missing."""
        missing = frames.is_missing(values)
        given = values[~missing]
        if all(_is_number(value) for value in given):
            numbers = np.full(values.shape, np.nan)
            numbers[~missing] = given.astype(np.float64)
            return self._numbers(numbers)
        return self._names(values, missing)

    def _numbers(self, values: np.ndarray) -> tuple[RawSignals, np.ndarray]:
        """Floats of a data frame, which has no integers beside missing values: votes if all of them are whole."""
        given = values[~np.isnan(values)]
        if np.array_equal(given, np.round(given)):
            return self._votes(self._whole(values))
        if self.abstain in ("minus_one", "detect"):
            values = np.where(values == -1, np.nan, values)
        return self._floats(values)

    def _names(self, values: np.ndarray, missing: np.ndarray) -> tuple[RawSignals, np.ndarray]:
        texts = values.astype(str)
        missing = missing | (texts == "") | (texts == "-1")
        found = np.unique(texts[~missing])
        classes = found if self.classes is None else self.classes
        places = {str(name): place for place, name in enumerate(classes.tolist())}
        unknown = [name for name in found.tolist() if name not in places]
        if unknown:
            raise DataError(f"signals: expected the classes {list(places)}, found {unknown[0]!r}")
        if len(classes) < 2:
            raise DataError(f"signals: expected votes for at least two classes, found {found.tolist()}")
        codes = np.array([places[name] for name in found.tolist()], dtype=np.int64)
        votes = np.full(values.shape, -1, dtype=np.int64)
        votes[~missing] = codes[np.searchsorted(found, texts[~missing])]
        return RawSignals.from_int64(votes, len(classes)), classes

    def _frame(self, frame: Any) -> tuple[RawSignals, np.ndarray]:
        names = frames.column_names(frame)
        if set(names) == _LONG_COLUMNS:
            return self._long(frame)
        self.labelers = names
        votes = frames.integers(frame)
        if votes is not None:
            return self._votes(votes)
        array = frames.to_array(frame)
        if array.dtype.kind == "f":
            return self._numbers(array)
        if array.dtype.kind in "iub":
            return self._votes(array)
        return self._objects(array.astype(object))

    def _long(self, frame: Any) -> tuple[RawSignals, np.ndarray]:
        """One row per vote: task, worker, label."""
        columns = [frames.column(frame, name) for name in ("task", "worker", "label")]
        if not len(columns[0]):
            raise DataError("signals: expected at least one vote, found an empty data frame")
        tasks, rows = _codes(columns[0])
        workers, labelers = _codes(columns[1])
        pairs = rows * len(workers) + labelers
        first, counts = np.unique(pairs, return_counts=True)
        if (counts > 1).any():
            twice = int(first[counts > 1][0])
            task, worker = tasks[twice // len(workers)], workers[twice % len(workers)]
            raise DataError(
                f"signals: expected one label of each worker for a task, found several of worker {worker!r} "
                f"for task {task!r} (drop duplicates first)"
            )
        labels = columns[2]
        values = np.full((len(tasks), len(workers)), None, dtype=object)
        values[rows, labelers] = labels
        self.tasks, self.labelers = tasks, list(workers)
        return self._objects(values)

    def _dense(self, matrix: Any) -> np.ndarray:
        if self.abstain not in ("zero", "signed"):
            raise DataError(
                "signals: expected abstain='zero' (classes count from 1) or abstain='signed' (classes -1 and 1) "
                "for a sparse matrix, whose entries that are not stored are 0, "
                f"found abstain={self.abstain!r}"
            )
        dense = matrix.toarray()
        return self._whole(dense) if dense.dtype.kind == "f" else dense

    def _labels(self, labels: np.ndarray) -> tuple[RawSignals, np.ndarray]:
        """One label per row, as in scikit-learn."""
        self.is_one_label_a_row = True
        missing = frames.is_missing(labels)
        if labels.dtype.kind == "f":
            if np.isinf(labels).any():
                raise ValueError("Input y contains infinity or a value too large for dtype('float64').")
            if missing.any() and self.abstain != "missing":
                raise ValueError("Input y contains NaN; if NaN abstains, pass abstain='missing'.")
            if not np.array_equal(labels[~missing], np.round(labels[~missing])):
                raise ValueError(
                    "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects "
                    "discrete classes, on a regression target with continuous values."
                )
        elif labels.dtype.kind == "c":
            raise ValueError("Complex data not supported: expected labels.")
        if labels.dtype.kind == "O":
            missing = missing | np.array([value == "" for value in labels], dtype=bool)
            if len({isinstance(value, str) for value in labels[~missing]}) > 1:
                raise TypeError("labels: expected names or numbers, found both (uniformly strings or numbers)")
        given = labels[~missing]
        if given.size == 0:
            raise DataError("signals: expected at least one vote, found abstentions only")
        found = np.unique(given.astype(str) if isinstance(given[0], str) else given)
        if self.classes is None and self.abstain == "minus_one" and found.dtype.kind in "iuf" and -1 in found and len(found) > 2:
            found = found[found != -1]
        classes = found if self.classes is None else self.classes
        if len(classes) < 2:
            raise DataError(
                f"signals: expected labels of at least two classes, found one class only: {classes.tolist()}"
            )
        places = {value: place for place, value in enumerate(classes.tolist())}
        votes = np.full((len(labels), 1), -1, dtype=np.int64)
        for row in np.flatnonzero(~missing):
            value = labels[row].item() if hasattr(labels[row], "item") else labels[row]
            place = places.get(value)
            if place is None and value != -1:
                raise DataError(f"labels, row {row}: expected one of {classes.tolist()}, found {value!r}")
            votes[row, 0] = -1 if place is None else place
        return RawSignals.from_int64(votes, len(classes)), classes


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, np.bool_))


def _codes(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The values that occur, in the order of their first appearance, and the index of each."""
    places: dict[Any, int] = {}
    codes = np.array([places.setdefault(value, len(places)) for value in values.tolist()])
    return np.array(list(places), dtype=object if values.dtype.kind == "O" else None), codes
