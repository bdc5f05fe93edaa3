"""Labeling functions: Python functions that vote on rows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._inputs import frames
from .._inputs.settings import threads_of
from .._inputs.signals import Signals
from .._messages.progress import Progress
from .._messages.warnings import warn

#: What a labeling function returns to abstain; None does the same.
ABSTAIN = -1
#: Rows per task of a worker.
_CHUNK = 2000


class LabelingFunctionError(RuntimeError):
    """A labeling function raised an exception, or returned something that is not a vote.

    Attributes
    ----------
    function : str
        Its name.
    row : int
        The row, counted from 0.
    """

    def __init__(self, function: str, row: int, reason: str) -> None:
        super().__init__(function, row, reason)
        self.function = function
        self.row = row
        self.reason = reason

    def __str__(self) -> str:
        return f"labeling function {self.function!r}, row {self.row}: {self.reason}"


class LabelingFunction:
    """A function that votes on a row: it returns a class, or -1 or None to abstain. Made by :func:`labeling_function`.

    Attributes
    ----------
    name : str
        The labeler's name.
    resources : dict
        Further arguments of the function.

    Examples
    --------
    >>> from labelflow import labeling_function
    >>> @labeling_function(resources={"words": {"free", "prize"}})
    ... def spam(text, words):
    ...     return 1 if words & set(text.split()) else None
    >>> spam
    LabelingFunction('spam')
    >>> spam("a free phone")
    1
    """

    __qualname__: str

    def __init__(self, function: Callable[..., Any], name: str | None, resources: dict[str, Any] | None) -> None:
        functools.update_wrapper(self, function)
        self.name = name or function.__name__
        self.resources = dict(resources or {})
        self._function = function

    def __call__(self, row: Any) -> Any:
        return self._function(row, **self.resources)

    def __repr__(self) -> str:
        return f"LabelingFunction({self.name!r})"

    def __reduce__(self) -> str:
        # Pickled by its place in a module, as functions are: workers import it.
        return self.__qualname__


def labeling_function(
    function: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    resources: dict[str, Any] | None = None,
) -> Any:
    """Turns a function of a row into a labeling function.

    Parameters
    ----------
    function : callable
        Takes a row, returns a class (an index or a name), or -1 or None to abstain.
    name : str, default=None
        The labeler's name; None: that of the function.
    resources : dict, default=None
        Further arguments of the function.

    Returns
    -------
    LabelingFunction

    Examples
    --------
    >>> from labelflow import ABSTAIN, labeling_function
    >>> @labeling_function()
    ... def has_link(row):
    ...     return 1 if "http" in row["text"] else ABSTAIN
    >>> has_link({"text": "see http://example.org"})
    1
    """
    if function is not None:
        return LabelingFunction(function, name, resources)
    return lambda function: LabelingFunction(function, name, resources)


class Row:
    """A row of a data frame: ``row.text`` or ``row["text"]``.

    Examples
    --------
    >>> import pandas
    >>> import labelflow
    >>> def has_links(row):
    ...     return row.n_links > 0
    >>> def is_short(row):
    ...     return len(row["text"]) < 4
    >>> frame = pandas.DataFrame({"text": ["hello", "bye"], "n_links": [0, 3]})
    >>> labelflow.apply([has_links, is_short], frame).votes()
    array([[0, 0],
           [1, 1]])
    """

    __slots__ = ("_places", "_values")

    def __init__(self, places: dict[Any, int], values: tuple[Any, ...]) -> None:
        self._places = places
        self._values = values

    def __getitem__(self, name: Any) -> Any:
        return self._values[self._places[name]]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in Row.__slots__:
            raise AttributeError(name)
        try:
            return self._values[self._places[name]]
        except KeyError:
            raise AttributeError(f"expected one of the columns {list(self._places)}, found {name!r}") from None

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={self._values[place]!r}" for name, place in self._places.items())
        return f"Row({shown})"


def apply(
    functions: Sequence[Callable[[Any], Any]],
    frame: Any,
    *,
    classes: Sequence[Any] | None = None,
    on_error: str = "raise",
    n_jobs: int | None = 1,
    progress: bool = False,
) -> Signals:
    """Applies labeling functions to every row.

    Parameters
    ----------
    functions : sequence of callables
        Labeling functions, or plain functions of a row.
    frame : data frame or sequence
        A data frame of pandas, polars or pyarrow, whose rows are passed as :class:`Row`; or any sequence, whose items
        are passed.
    classes : sequence, default=None
        The classes in order. Needed if functions return names and not all classes get a vote, or indices and the last
        class gets none.
    on_error : {"raise", "abstain"}, default="raise"
        What to do if a function raises an exception or returns something that is not a vote: raise an error with the
        name of the function and the row, or abstain and warn with the number of such rows.
    n_jobs : int, default=1
        Number of processes; None or -1: one per core. With more than one, functions must be importable where the
        system starts processes afresh.
    progress : bool, default=False
        Whether to show a bar.

    Returns
    -------
    Signals
        One row per row, one labeler per function.

    Examples
    --------
    >>> import labelflow
    >>> @labelflow.labeling_function()
    ... def long(text):
    ...     return 1 if len(text) > 20 else 0
    >>> @labelflow.labeling_function()
    ... def asks(text):
    ...     return 1 if "?" in text else labelflow.ABSTAIN
    >>> labelflow.apply([long, asks], ["yes", "are you sure about this?", "no"]).votes()
    array([[ 0, -1],
           [ 1,  1],
           [ 0, -1]])
    """
    if on_error not in ("raise", "abstain"):
        raise ValueError(f"on_error: expected 'raise' or 'abstain', found {on_error!r}")
    functions = list(functions)
    names = function_names(functions)
    rows = _Rows(frame)
    if not len(rows):
        raise ValueError("frame: expected at least one row, found none")
    bar = Progress("apply", 1) if progress else None
    parts, n_errors = [], dict.fromkeys(names, 0)
    chunks = [(start, min(start + _CHUNK, len(rows))) for start in range(0, len(rows), _CHUNK)]
    for (_, stop), (votes, errors) in zip(chunks, _label_chunks(functions, rows, chunks, on_error, n_jobs)):
        parts.append(votes)
        for name, count in zip(names, errors):
            n_errors[name] += count
        if bar is not None:
            bar.update(stop, len(rows))
    if bar is not None:
        bar.close()
    failed = {name: count for name, count in n_errors.items() if count}
    if failed:
        told = ", ".join(f"{name!r} on {count}" for name, count in failed.items())
        warn(f"labeling functions that failed abstain: {told} of {len(rows)} rows")
    return _signals(np.concatenate(parts), names, classes)


def function_names(functions: Sequence[Any]) -> list[str]:
    """The names of the functions, which must differ."""
    names = [_name(function) for function in functions]
    if not functions:
        raise ValueError("functions: expected at least one, found none")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"functions: expected names that differ, found {twice!r} twice")
    return names


def _signals(votes: np.ndarray, names: list[str], classes: Sequence[Any] | None) -> Signals:
    given = [vote for vote in votes.flat if vote is not None]
    if any(isinstance(vote, str) for vote in given):
        return Signals(votes, classes=classes, labelers=names)
    numbers = np.array([-1 if vote is None else int(vote) for vote in votes.flat], dtype=np.int64)
    largest = int(numbers.max())
    if classes is None:
        # Functions return class indices from 0, and functions for class 1 alone are common.
        classes = range(max(largest + 1, 2))
    indices = numbers.reshape(votes.shape)
    return Signals(indices.astype(np.int8) if largest <= 127 else indices, classes=classes, labelers=names)


class _Rows:
    """Rows of a data frame, or items of a sequence, in parts."""

    def __init__(self, frame: Any) -> None:
        self._library = frames.library(frame)
        self._frame: Any = frame if self._library or hasattr(frame, "__getitem__") else list(frame)

    def __len__(self) -> int:
        return self._frame.num_rows if self._library == "pyarrow" else len(self._frame)

    def part(self, start: int, stop: int) -> list[Any]:
        if self._library is None:
            if type(self._frame).__module__.partition(".")[0] == "pandas":
                return list(self._frame.iloc[start:stop])
            return list(self._frame[start:stop])
        names = frames.column_names(self._frame)
        places = {name: place for place, name in enumerate(names)}
        return [Row(places, values) for values in self._tuples(start, stop)]

    def _tuples(self, start: int, stop: int) -> Iterable[tuple[Any, ...]]:
        if self._library == "pandas":
            return self._frame.iloc[start:stop].itertuples(index=False, name=None)
        if self._library == "polars":
            return self._frame[start:stop].iter_rows()
        part = self._frame.slice(start, stop - start)
        return zip(*(part[name].to_pylist() for name in part.column_names))


def _label_chunks(
    functions: list[Callable[[Any], Any]],
    rows: _Rows,
    chunks: list[tuple[int, int]],
    on_error: str,
    n_jobs: int | None,
) -> Iterator[tuple[np.ndarray, list[int]]]:
    n_workers = threads_of(n_jobs)
    if n_workers == 1 or len(chunks) == 1:
        for start, stop in chunks:
            yield _label(functions, rows.part(start, stop), start, on_error)
        return
    # Imported here, since it takes a tenth of the package's import time.
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(n_workers) as pool:
        tasks = [pool.submit(_label, functions, rows.part(start, stop), start, on_error) for start, stop in chunks]
        try:
            for task in tasks:
                yield task.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _label(
    functions: list[Callable[[Any], Any]], rows: list[Any], start: int, on_error: str
) -> tuple[np.ndarray, list[int]]:
    """The votes on some rows, and how often each function failed."""
    errors = [0] * len(functions)

    def failed(place: int, column: int, reason: str, error: Exception) -> None:
        if on_error == "raise":
            raise LabelingFunctionError(_name(functions[column]), start + place, reason) from error
        errors[column] += 1

    return vote_on(functions, rows, failed), errors


def vote_on(
    functions: Sequence[Callable[[Any], Any]], rows: Iterable[Any], failed: Callable[[int, int, str, Exception], None]
) -> np.ndarray:
    """The votes on some rows, None for an abstention. `failed` is called with row, function and reason, and may raise."""
    votes = []
    for place, row in enumerate(rows):
        cells: list[Any] = [None] * len(functions)
        for column, function in enumerate(functions):
            try:
                cells[column] = _vote(function(row))
            except Exception as error:
                reason = str(error) if isinstance(error, _NoVote) else f"{type(error).__name__}: {error}"
                failed(place, column, reason, error)
        votes.append(cells)
    matrix = np.full((len(votes), len(functions)), None, dtype=object)
    if votes:
        matrix[:] = votes
    return matrix


class _NoVote(TypeError):
    pass


def _vote(value: Any) -> Any:
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, (int, np.integer, np.bool_)):
        vote = int(value)
        if vote >= ABSTAIN:
            return vote if vote != ABSTAIN else None
    raise _NoVote(f"expected a class, or -1 or None for an abstention, found {value!r}")


def _name(function: Any) -> str:
    return getattr(function, "name", None) or getattr(function, "__name__", None) or repr(function)
