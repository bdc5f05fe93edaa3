"""Streams of Arrow record batches, from any source of them. pyarrow is imported where a stream is first used.

pyarrow and not a compiled reader of our own: whoever has a stream of batches has pyarrow already (Spark, Ray, Dask and pandas
bring it; Polars, DuckDB and DataFusion speak the C stream interface, which it reads), and the wheel stays as small as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .._inputs import frames

#: Rows per step. No result depends on it.
MAX_ROWS = 1 << 16
_UNNAMED = {"features": "x", "votes": "labeler"}


def pyarrow() -> Any:
    """The module, or an error that says what to install."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError("streams of batches need pyarrow: pip install pyarrow") from error
    return pyarrow


def as_reader(source: Any) -> Any:
    """A `pyarrow.RecordBatchReader` over `source`."""
    pa = pyarrow()
    if isinstance(source, pa.RecordBatchReader):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.RecordBatchReader.from_batches(source.schema, [source])
    if frames.library(source) == "pandas":
        # The stream of pandas would have the index as a column.
        return pa.Table.from_pandas(source, preserve_index=False).to_reader()
    if hasattr(source, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(source)
    if hasattr(source, "scanner"):
        return source.scanner().to_reader()
    if isinstance(source, Iterable) and not isinstance(source, (str, bytes)):
        return _from_batches(iter(source))
    raise TypeError(
        "expected a stream of record batches: an object with __arrow_c_stream__, a pyarrow reader, table or dataset, a data "
        f"frame, or an iterable of record batches, found {type(source).__name__}"
    )


def _from_batches(batches: Iterator[Any]) -> Any:
    pa = pyarrow()
    first = next(batches, None)
    if not isinstance(first, pa.RecordBatch):
        raise TypeError(f"expected an iterable of pyarrow record batches, found {type(first).__name__} in it")

    def all_of_them() -> Iterator[Any]:
        yield first
        yield from batches

    return pa.RecordBatchReader.from_batches(first.schema, all_of_them())


def pieces(batch: Any) -> Iterator[Any]:
    """A batch as parts of at most `MAX_ROWS` rows, which share its memory."""
    if batch.num_rows <= MAX_ROWS:
        yield batch
        return
    for start in range(0, batch.num_rows, MAX_ROWS):
        yield batch.slice(start, MAX_ROWS)


def whole_batch(table: Any) -> Any:
    """A table as one batch."""
    pa = pyarrow()
    columns = [pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type) for column in table.columns]
    return pa.RecordBatch.from_arrays(columns, schema=table.schema)


def is_list(kind: Any) -> bool:
    """Whether a type is one of the types of lists."""
    types = pyarrow().types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def list_lengths(lists: Any) -> np.ndarray:
    """The length of each list, -1 where there is none."""
    import pyarrow.compute as compute

    return compute.fill_null(compute.list_value_length(lists), -1).to_numpy()


def choose_columns(
    what: str, schema: Any, given: Any, fitted: list[str] | None, n_expected: int | None
) -> list[str] | str:
    """The columns to read: a list of names, or the name of one column of lists.

    `given` are those that the user named, or None; `fitted` the names of the fit, if it had any; `n_expected` their number, if it is
    known.
    """
    names = schema.names
    if given is None:
        given = _usual_columns(what, schema, fitted, n_expected)
    if isinstance(given, str):
        if given in names and not is_list(schema.field(given).type):
            given = [given]
        else:
            _check_there(what, [given], names)
            return given
    chosen = [str(name) for name in given]
    _check_there(what, chosen, names)
    if n_expected is not None and len(chosen) != n_expected:
        raise ValueError(f"{what}: expected {n_expected} columns, as in the fit, found {len(chosen)}")
    if fitted is not None and set(chosen) == set(fitted):
        return list(fitted)
    return chosen


def _usual_columns(what: str, schema: Any, fitted: list[str] | None, n_expected: int | None) -> Any:
    names = schema.names
    # Files call columns without names so.
    unnamed = [f"{_UNNAMED[what]}{place}" for place in range(n_expected or 0)]
    likely = unnamed if fitted is None else fitted
    if likely and set(likely) <= set(names):
        return likely
    lists = [field.name for field in schema if is_list(field.type)]
    if len(lists) == 1:
        return lists[0]
    if fitted is None and (n_expected is None or len(names) == n_expected):
        return names
    expected = f"the columns {fitted}" if fitted is not None else f"{n_expected} columns or one of lists"
    raise ValueError(f"{what}: expected {expected}, found the columns {names}: say which are meant")


def _check_there(what: str, chosen: list[str], names: list[str]) -> None:
    for name in chosen:
        if names.count(name) != 1:
            found = "none" if name not in names else "several"
            raise ValueError(f"{what}: expected one column {name!r} among {names}, found {found}")
