"""labelflow on Spark 3.5 and 4: labeling functions, label models from counts, training on a sample, prediction on executors.

Spark reads, counts and distributes rows. labelflow must be installed where the executors run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ._batches import engine, training_rows
from ._batches.arrow import pieces, pyarrow, whole_batch
from ._batches.bad_rows import BadRows as _BadRows
from ._batches.bad_rows import named
from ._batches.engine import MAX_PATTERNS
from ._batches.prediction import BatchPredictor
from ._batches.shipped_model import ShippedFunctions, loaded, packed, predictions
from ._batches.vote_counter import COUNT, pattern_reader, too_many
from ._label_model import LabelModel
from ._labelflow import DataError

try:
    from pyspark import TaskContext
    from pyspark.accumulators import AccumulatorParam
    from pyspark.sql import functions as sql
    from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
except ImportError as error:
    raise ImportError("labelflow.spark needs Spark and pyarrow: pip install pyspark pyarrow") from error

_PLACE, _HASH = "labelflow_place", "labelflow_hash"


class BadRows(engine.JobBadRows):
    """Rows that executors could not use, counted while a job runs. Use a new one for each prediction.

    Counts are kept per partition, so that tasks that Spark repeats, after a failure or to be faster, count once.

    Parameters
    ----------
    spark : SparkSession

    Attributes
    ----------
    n_rows : int
        Their number, of the partitions that were computed so far.
    places : list of str
        The positions of the first ones of each partition, and the reasons.
    """

    def __init__(self, spark: Any) -> None:
        self._accumulator = spark.sparkContext.accumulator({}, _ByPartition())

    def _parts(self) -> dict[int, tuple[int, list[str]]]:
        return self._accumulator.value


class _ByPartition(AccumulatorParam):
    def zero(self, value: Any) -> Any:
        return {}

    def addInPlace(self, value1: Any, value2: Any) -> Any:  # noqa: N802 (Spark's name)
        value1.update(value2)
        return value1


def apply(
    functions: Sequence[Callable[[Any], Any]],
    frame: Any,
    *,
    classes: Sequence[Any] | None = None,
    on_error: str = "raise",
    keep: Sequence[str] | None = None,
    report: BadRows | None = None,
) -> Any:
    """Applies labeling functions to every row of a Spark data frame.

    Parameters
    ----------
    functions : sequence of callables
        Labeling functions, or plain functions of a row (a :class:`labelflow.Row`). They are pickled by value.
    frame : pyspark.sql.DataFrame
    classes : sequence, default=None
        The classes in order, needed if functions return names: votes are their indices.
    on_error : {"raise", "abstain"}, default="raise"
        What to do if a function raises an exception or returns something that is not a vote.
    keep : list of str, default=None
        Columns to keep. None: all.
    report : BadRows, default=None
        Collects rows on which a function failed.

    Returns
    -------
    pyspark.sql.DataFrame
        The kept columns, then one of small integers for each function, named after it, -1 where it abstains.
    """
    shipped = ShippedFunctions(functions, classes, on_error)
    kept = list(frame.columns if keep is None else keep)
    engine.check_kept(shipped.names, kept)
    accumulator = _accumulator(report)
    pa = pyarrow()
    votes = [pa.field(name, pa.int16()) for name in shipped.names]
    arrow = to_arrow_schema(frame.select(*kept).schema)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        partition, found, first = TaskContext.get().partitionId(), _BadRows(), 0
        for batch in batches:
            place = _place(partition, first)
            columns = [*(batch.column(name) for name in kept), *shipped.votes(batch, first, place, found)]
            names = [*kept, *shipped.names]
            yield pa.RecordBatch.from_arrays(columns, names=names)
            first += batch.num_rows
        _tell(accumulator, partition, found)

    return frame.mapInArrow(run, from_arrow_schema(pa.schema([*arrow, *votes])))


def count_votes(frame: Any, votes: Sequence[str] | str, *, max_patterns: int = MAX_PATTERNS) -> Any:
    """Counts the distinct rows of votes, in one Spark job.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    votes : list of str or str
        The labelers' columns, or the name of one column of arrays.
    max_patterns : int, default=5000000
        The limit on distinct rows, above which an error is raised before the driver's memory is full.

    Returns
    -------
    pyarrow.Table
        For ``fit_counts`` of any label model.
    """
    counted = frame.groupBy(*(sql.col(_quoted(name)) for name in engine.vote_columns(votes))).agg(sql.count(sql.lit(1)).alias(COUNT))
    table = _collect(counted.limit(max_patterns + 1))
    if table.num_rows > max_patterns:
        raise DataError(too_many(max_patterns))
    return table


def fit(
    model: Any,
    frame: Any,
    *,
    votes: Sequence[str] | str | None = None,
    features: Sequence[str] | str | None = None,
    rules: Any = None,
    label_range: Any = None,
    bad_rows: str = "fail",
    id_column: str | None = None,
    report: _BadRows | None = None,
    max_patterns: int = MAX_PATTERNS,
    max_rows: int = training_rows.MAX_ROWS,
    seed: int = 0,
    staging: str | None = None,
) -> Any:
    """Fits a model to a Spark data frame.

    A label model learns from all rows, through counts: the result is that of its own ``fit``, bit for bit. A model on features
    learns from a sample of at most ``max_rows``, chosen and ordered by a hash of each row, so that the same rows give the
    same model however they are partitioned.

    Parameters
    ----------
    model : label model, LabelFlowClassifier, another classifier on features, or LabelFlowRegressor
    frame : pyspark.sql.DataFrame
    votes : list of str or str
        The labelers' columns, or the name of one column of arrays.
    features : list of str or str
        The columns of features, or the name of one column of arrays or vectors.
    rules, label_range
        Those of ``LabelFlowRegressor.fit``.
    bad_rows : {"fail", "abstain", "skip"}, default="fail"
        What to do with a row whose vote is not a class or whose feature is not a finite number: raise an error with
        its position; let the vote abstain, and leave out a row with such a feature; or leave out all such rows.
    id_column : str, default=None
        A column that identifies rows: in messages, and to choose the sample.
    report : labelflow.BadRows, default=None
        Collects such rows.
    max_patterns : int, default=5000000
        See :func:`count_votes`.
    max_rows : int, default=1000000
        The rows that a model on features is trained on. They must fit in the driver's memory.
    seed : int, default=0
        Another seed chooses other rows.
    staging : str, default=None
        A folder that executors and driver can reach: the sample goes through Parquet files there, not through the
        driver's JVM. It must not exist yet, and is not removed.

    Returns
    -------
    model
        The same model, fitted.
    """
    engine.check_given(isinstance(model, LabelModel), features=features, votes=votes, rules=rules)
    if isinstance(model, LabelModel):
        return _fit_counts(model, frame, votes, bad_rows, id_column, report, max_patterns)
    sample = _sample(frame, features, votes, id_column, max_rows, seed, staging)
    places = sample.column(sample.schema.get_field_index(_PLACE))
    return training_rows.fit_rows(
        model,
        sample,
        features=features,
        votes=votes,
        rules=rules,
        label_range=label_range,
        bad_rows=bad_rows,
        place=lambda row: _number(places[row].as_py()) + named(sample, id_column, row),
        report=report,
    )


def predict(
    model: Any,
    frame: Any,
    *,
    columns: Sequence[str] | str | None = None,
    keep: Sequence[str] | None = None,
    bad_rows: str = "fail",
    id_column: str | None = None,
    report: BadRows | None = None,
) -> Any:
    """Predicts every row on the executors. The model is sent once to each.

    Parameters
    ----------
    model : fitted label model, classifier or regressor
    frame : pyspark.sql.DataFrame
    columns : list of str or str, default=None
        The columns that the model reads, or the name of one column of arrays or vectors. None: those with the names of the fit.
    keep : list of str, default=None
        Columns to keep. None: all that the model does not read.
    bad_rows : {"fail", "abstain", "skip"}, default="fail"
        As for ``predict_batches``; positions are partitions and rows in them.
    id_column : str, default=None
        A column that identifies rows in messages.
    report : BadRows, default=None
        Collects such rows.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of ``predict_batches``. With the same numbers, bit for bit. Uses ``spark.task.cpus`` threads.
    """
    frame = _without_vectors(frame, columns)
    settings = (columns, None if keep is None else list(keep), bad_rows, id_column)
    made = BatchPredictor(model, to_arrow_schema(frame.schema), *settings)
    accumulator = _accumulator(report)
    load = _ship(frame, model)

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        context, found = TaskContext.get(), _BadRows()
        partition, estimator = context.partitionId(), load(context.cpus())
        small = (piece for batch in batches for piece in pieces(batch))
        yield from predictions(lambda schema: BatchPredictor(estimator, schema, *settings), small, _place(partition, 0), found)
        _tell(accumulator, partition, found)

    return frame.mapInArrow(run, from_arrow_schema(made.schema))


def _ship(frame: Any, model: Any) -> Callable[[int], Any]:
    """The model on executors: broadcast once to each, and loaded once by each of its worker processes."""
    data, key = packed(model)
    if "connect" in type(frame).__module__:
        # Spark Connect has no broadcasts, so the model is pickled with the function.
        return lambda n_jobs: loaded(key, lambda: data, n_jobs)
    sent = frame.sparkSession.sparkContext.broadcast(data)
    return lambda n_jobs: loaded(key, lambda: sent.value, n_jobs)


def _fit_counts(
    model: LabelModel, frame: Any, votes: Any, rule: str, id_column: str | None, report: Any, max_patterns: int
) -> Any:
    table = count_votes(frame, votes, max_patterns=max_patterns)
    try:
        return model.fit_counts(table, bad_rows=rule, report=report)
    except DataError as error:
        found = _first_bad(model, frame, table, id_column) if rule == "fail" else None
        if found is None:
            raise
        raise DataError(found) from error


def _first_bad(model: LabelModel, frame: Any, table: Any, id_column: str | None) -> str | None:
    """The position of a row with the first bad pattern, found by a separate job."""
    import numpy as np

    counts = table.column(COUNT).to_numpy()
    batch = whole_batch(table.drop_columns([COUNT]))
    classes = None if model.classes is None else np.asarray(list(model.classes))
    try:
        _, wrong, reason = pattern_reader(batch, counts, classes, model.abstain).read(batch)
    except ValueError:
        return None
    rows = np.flatnonzero(wrong.any(axis=1))
    if not len(rows):
        return None
    row = int(rows[0])
    condition = sql.lit(True)
    for name in batch.schema.names:
        value = batch.column(name)[row].as_py()
        wanted = sql.array(*map(sql.lit, value)) if isinstance(value, list) else sql.lit(value)
        condition = condition & sql.col(_quoted(name)).eqNullSafe(wanted)
    ids = [] if id_column is None else [sql.col(_quoted(id_column))]
    numbered = frame.withColumn(_PLACE, sql.monotonically_increasing_id()).where(condition)
    first = numbered.select(_PLACE, *ids).first()
    where = _number(first[_PLACE]) + ("" if id_column is None else f" ({id_column} {first[id_column]!r})")
    n_rows = int(counts[rows].sum())
    return f"{where}: {reason(row)}; {n_rows} rows are bad in all (bad_rows='abstain' or 'skip' goes on without them)"


def _sample(
    frame: Any, features: Any, votes: Any, id_column: str | None, max_rows: int, seed: int, staging: str | None
) -> Any:
    """At most `max_rows` rows as one batch, those with the smallest hashes, in their order."""
    names = engine.sample_columns(features, votes, id_column)
    frame = _without_vectors(frame, features).select(*(sql.col(_quoted(name)) for name in names))
    by = [sql.col(_quoted(name)) for name in (names if id_column is None else [id_column])]
    frame = frame.withColumns({_PLACE: sql.monotonically_increasing_id(), _HASH: sql.xxhash64(*by, sql.lit(seed))})
    n_rows = frame.count()
    if n_rows > max_rows:
        bound = int(engine.sample_share(max_rows, n_rows) * 2**64) - 2**63
        frame = frame.where(sql.col(_HASH) < min(bound, 2**63 - 1)).limit(2 * max_rows + 100)
    if staging is not None:
        import pyarrow.dataset

        frame.write.parquet(staging)
        table = pyarrow.dataset.dataset(staging, format="parquet").to_table()
    else:
        table = _collect(frame)
    table = table.sort_by([(_HASH, "ascending"), (_PLACE, "ascending")]).slice(0, max_rows)
    return whole_batch(table)


def _without_vectors(frame: Any, columns: Any) -> Any:
    """The frame with arrays for the vectors of Spark's own machine learning."""
    vectors = [field.name for field in frame.schema if type(field.dataType).__name__ == "VectorUDT"]
    chosen = [name for name in vectors if columns is None or name == columns]
    if chosen:
        from pyspark.ml.functions import vector_to_array

        frame = frame.withColumns({name: vector_to_array(sql.col(_quoted(name))) for name in chosen})
    return frame


def _collect(frame: Any) -> Any:
    """All rows as a table of pyarrow."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    # In Spark 3.5 this is private.
    batches = frame._collect_as_arrow()
    return pyarrow().Table.from_batches(batches, to_arrow_schema(frame.schema) if not batches else None)


def _accumulator(report: Any) -> Any:
    return None if report is None else BadRows._check(report)._accumulator


def _tell(accumulator: Any, partition: int, found: _BadRows) -> None:
    if accumulator is not None:
        accumulator.add({partition: (found.n_rows, found.places)})


def _place(partition: int, first: int) -> Callable[[int], str]:
    return lambda row: f"partition {partition}, row {first + row}"


def _number(place: int) -> str:
    """The partition and row of a number of `monotonically_increasing_id`."""
    return f"partition {place >> 33}, row {place & (1 << 33) - 1}"


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"

