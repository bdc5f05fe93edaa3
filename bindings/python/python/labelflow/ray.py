"""labelflow on Ray Data: labeling functions, label models from counts, training on a sample, prediction by actors.

Ray reads, moves and distributes rows. labelflow must be installed where the workers run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import _labelflow
from ._batches import engine, training_rows
from ._batches.arrow import pieces, pyarrow, whole_batch
from ._batches.bad_rows import BadRows as _BadRows
from ._batches.bad_rows import named
from ._batches.engine import MAX_PATTERNS
from ._batches.prediction import BatchPredictor
from ._batches.row_hash import row_hashes
from ._batches.shipped_model import ShippedFunctions, loaded, packed
from ._batches.vote_counter import VoteCounter, too_many
from ._label_model import LabelModel
from ._labelflow import ConfigError, DataError

try:
    import ray
    from ray.data.aggregate import AggregateFn
except ImportError as error:
    raise ImportError("labelflow.ray needs Ray Data: pip install 'ray[data]'") from error

#: Rows per batch of an actor.
BATCH_SIZE = 65_536
_HASH = "labelflow_hash"
#: The current task of this process, and the number of its batches so far.
_TASK: dict[str, Any] = {"id": None, "n_batches": 0}


class BadRows(engine.JobBadRows):
    """Rows that workers could not use, counted by an actor while a dataset is computed. Use a new one for each
    prediction.

    Counts are kept per task, so that tasks that Ray repeats after a failure count once.

    Attributes
    ----------
    n_rows : int
        Their number, of the batches that were computed so far.
    places : list of str
        The positions of some of them, and the reasons.
    """

    def __init__(self) -> None:
        # It ends with the driver and takes no core.
        self._actor = ray.remote(num_cpus=0)(_Counter).remote()

    def _parts(self) -> dict[tuple[str, int], tuple[int, list[str]]]:
        return ray.get(self._actor.found.remote())


class _Counter:
    def __init__(self) -> None:
        self._found: dict[tuple[str, int], tuple[int, list[str]]] = {}

    def add(self, key: tuple[str, int], n_rows: int, places: list[str]) -> None:
        self._found[key] = (n_rows, places)

    def found(self) -> dict[tuple[str, int], tuple[int, list[str]]]:
        return self._found


def apply(
    functions: Sequence[Callable[[Any], Any]],
    dataset: Any,
    *,
    classes: Sequence[Any] | None = None,
    on_error: str = "raise",
    keep: Sequence[str] | None = None,
    report: BadRows | None = None,
) -> Any:
    """Applies labeling functions to every row of a Ray dataset.

    Parameters
    ----------
    functions : sequence of callables
        Labeling functions, or plain functions of a row (a :class:`labelflow.Row`). They are pickled by value.
    dataset : ray.data.Dataset
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
    ray.data.Dataset
        The kept columns, then one of small integers for each function, named after it, -1 where it abstains.
    """
    shipped = ShippedFunctions(functions, classes, on_error)
    kept = None if keep is None else list(keep)
    actor = _actor(report)

    def run(table: Any) -> Any:
        names = table.column_names if kept is None else kept
        engine.check_kept(shipped.names, names)
        batch, found = whole_batch(table), _BadRows()
        votes = shipped.votes(batch, 0, _place(batch, None), found)
        _tell(actor, found)
        return pyarrow().table([*(table.column(name) for name in names), *votes], names=[*names, *shipped.names])

    return dataset.map_batches(run, batch_format="pyarrow", batch_size=BATCH_SIZE)


def count_votes(dataset: Any, votes: Sequence[str] | str, *, max_patterns: int = MAX_PATTERNS) -> Any:
    """Counts the distinct rows of votes, block by block.

    Parameters
    ----------
    dataset : ray.data.Dataset
    votes : list of str or str
        The labelers' columns, or the name of one column of lists.
    max_patterns : int, default=5000000
        The limit on distinct rows, above which an error is raised.

    Returns
    -------
    pyarrow.Table
        For ``fit_counts`` of any label model.
    """
    names = engine.vote_columns(votes)

    def counted(_: bytes, block: Any) -> bytes:
        pa = pyarrow()
        table = block if isinstance(block, pa.Table) else pa.Table.from_pandas(block, preserve_index=False)
        counter = VoteCounter(votes if isinstance(votes, str) else names, max_patterns=max_patterns)
        counter.add(_plain(table.select(names)))
        return _bytes(counter)

    def together(one: bytes, other: bytes) -> bytes:
        counter = VoteCounter(max_patterns=max_patterns)
        for part in (one, other):
            if part:
                counter.add_counts(pyarrow().ipc.open_stream(part))
        return _bytes(counter)

    count = AggregateFn(init=lambda _: b"", accumulate_block=counted, merge=together, name="votes")
    found = dataset.select_columns(names).aggregate(count)["votes"]
    if not found:
        raise DataError("votes: expected at least one row, found none")
    table = pyarrow().ipc.open_stream(found).read_all()
    if table.num_rows > max_patterns:
        raise DataError(too_many(max_patterns))
    return table


def fit(
    model: Any,
    dataset: Any,
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
) -> Any:
    """Fits a model to a Ray dataset.

    A label model learns from all rows, through counts: the result is that of its own ``fit``, bit for bit. A model on features
    learns from a sample of at most ``max_rows``, chosen and ordered by a hash of each row, so that the same rows give the
    same model whatever blocks they are in.

    Parameters
    ----------
    model : label model, LabelFlowClassifier, another classifier on features, or LabelFlowRegressor
    dataset : ray.data.Dataset
    votes : list of str or str
        The labelers' columns, or the name of one column of lists.
    features : list of str or str
        The columns of features, or the name of one column of lists or tensors.
    rules, label_range
        Those of ``LabelFlowRegressor.fit``.
    bad_rows : {"fail", "abstain", "skip"}, default="fail"
        What to do with a row whose vote is not a class or whose feature is not a finite number: raise an error; let
        the vote abstain, and leave out a row with such a feature; or leave out all such rows.
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

    Returns
    -------
    model
        The same model, fitted.
    """
    engine.check_given(isinstance(model, LabelModel), features=features, votes=votes, rules=rules)
    if isinstance(model, LabelModel):
        return model.fit_counts(count_votes(dataset, votes, max_patterns=max_patterns), bad_rows=bad_rows, report=report)
    sample = _sample(dataset, features, votes, id_column, max_rows, seed)
    return training_rows.fit_rows(
        model,
        sample,
        features=features,
        votes=votes,
        rules=rules,
        label_range=label_range,
        bad_rows=bad_rows,
        place=_place(sample, id_column, "of the sample"),
        report=report,
    )


def predict(
    model: Any,
    dataset: Any,
    *,
    columns: Sequence[str] | str | None = None,
    keep: Sequence[str] | None = None,
    bad_rows: str = "fail",
    id_column: str | None = None,
    report: BadRows | None = None,
    batch_size: int = BATCH_SIZE,
    concurrency: Any = None,
    gpus: float | str = "auto",
) -> Any:
    """Predicts every row with actors, each of which loads the model once.

    Parameters
    ----------
    model : fitted label model, classifier or regressor
    dataset : ray.data.Dataset
    columns : list of str or str, default=None
        The columns that the model reads, or the name of one column of lists or tensors. None: those with the names of the fit.
    keep : list of str, default=None
        Columns to keep. None: all that the model does not read.
    bad_rows : {"fail", "abstain", "skip"}, default="fail"
        As for ``predict_batches``. Rows have no numbers in Ray: name an ``id_column``.
    id_column : str, default=None
        A column that identifies rows in messages.
    report : BadRows, default=None
        Collects such rows.
    batch_size : int, default=65536
        Rows that an actor predicts at a time.
    concurrency : int or (int, int), default=None
        The number of actors, or the least and the most. None: as many as there are GPUs, or cores, or one core less. A fixed number
        must leave cores for the tasks that read and write.
    gpus : float or "auto", default="auto"
        GPUs of each actor. "auto": one, if the model is a flow, the cluster has any and the package was built with cuda; else none.
        Predictions on a GPU equal those on a CPU to rounding, not bit for bit.

    Returns
    -------
    ray.data.Dataset
        The columns of ``predict_batches``. With the same numbers on CPUs, bit for bit.
    """
    model._check_is_fitted()
    n_gpus = _gpus(model, gpus)
    if concurrency is None:
        resources = ray.cluster_resources()
        n_most = resources.get("GPU", 1) / n_gpus if n_gpus else resources.get("CPU", 1)
        most = max(1, int(n_most))
        # Ray adds actors to a pool only when several batches wait for each, which is rare with large batches. Its own tasks need a core, but no GPU.
        concurrency = (most if n_gpus else max(1, most - 1), most)
    least, most = (concurrency, concurrency) if isinstance(concurrency, int) else concurrency
    settings = (columns, None if keep is None else list(keep), bad_rows, id_column)
    data, key = packed(model)
    arguments = ([ray.put(data)], key, settings, _actor(report), bool(n_gpus))
    device = {"num_gpus": n_gpus} if n_gpus else {"num_cpus": 1}
    return dataset.map_batches(
        _Predictor,
        fn_constructor_args=arguments,
        batch_format="pyarrow",
        batch_size=batch_size,
        compute=ray.data.ActorPoolStrategy(min_size=least, max_size=most),
        **device,
    )


class _Predictor:
    """An actor's model."""

    def __init__(self, sent: list[Any], key: str, settings: tuple[Any, ...], actor: Any, on_gpu: bool) -> None:
        # One core per actor, so that Ray places as many as there are cores.
        self._estimator = loaded(key, lambda: ray.get(sent[0]), 1)
        if on_gpu:
            self._estimator.model_ = self._estimator.model_.to_device("cuda")
        self._settings, self._actor = settings, actor

    def __call__(self, table: Any) -> Any:
        pa = pyarrow()
        found, parts = _BadRows(), []
        batch = whole_batch(_plain(table))
        predictor = BatchPredictor(self._estimator, batch.schema, *self._settings)
        for piece in pieces(batch):
            parts.append(predictor.predict(piece, _place(piece, None), found))
        _tell(self._actor, found)
        return pa.Table.from_batches(parts, predictor.schema)


def _gpus(model: Any, gpus: float | str) -> float:
    if gpus == "auto":
        can = hasattr(model, "device") and "cuda" in _labelflow.built_devices()
        return 1 if can and ray.cluster_resources().get("GPU", 0) >= 1 else 0
    if isinstance(gpus, str) or gpus < 0:
        raise ConfigError(f"gpus: expected 'auto' or a number, found {gpus!r}")
    if gpus and not hasattr(model, "device"):
        raise ConfigError(f"gpus: expected 0, since {type(model).__name__} computes on CPUs, found {gpus}")
    return gpus


def _sample(dataset: Any, features: Any, votes: Any, id_column: str | None, max_rows: int, seed: int) -> Any:
    """At most `max_rows` rows as one batch, those with the smallest hashes, in their order."""
    names = engine.sample_columns(features, votes, id_column)
    by = names if id_column is None else [id_column]
    bound = np.uint64(min(int(engine.sample_share(max_rows, dataset.count()) * 2**64), 2**64 - 1))

    def chosen(table: Any) -> Any:
        pa = pyarrow()
        batch = whole_batch(_plain(table.select(names)))
        hashes = row_hashes(batch, by, seed)
        rows = pa.Table.from_batches([batch]).append_column(_HASH, pa.array(hashes))
        return rows.filter(pa.array(hashes <= bound))

    parts, n_taken = [], 0
    taken = dataset.map_batches(chosen, batch_format="pyarrow", batch_size=BATCH_SIZE)
    for part in taken.iter_batches(batch_format="pyarrow", batch_size=None):
        parts.append(part)
        n_taken += part.num_rows
        if n_taken > 2 * max_rows + 100:
            # Equal rows have one hash, so there may be more of them than max_rows.
            break
    if not n_taken:
        raise DataError("expected at least one row, found none")
    table = pyarrow().concat_tables(parts, promote_options="permissive")
    return whole_batch(table.sort_by([(_HASH, "ascending")]).slice(0, max_rows))


def _plain(table: Any) -> Any:
    """Tensors, which Ray makes of arrays, as lists."""
    pa = pyarrow()
    for place, field in enumerate(table.schema):
        if isinstance(field.type, pa.BaseExtensionType):
            chunks = [chunk.storage for chunk in table.column(place).chunks]
            table = table.set_column(place, field.name, pa.chunked_array(chunks, field.type.storage_type))
    return table


def _bytes(counter: VoteCounter) -> bytes:
    if not counter.n_rows:
        return b""
    pa = pyarrow()
    sink = pa.BufferOutputStream()
    table = counter.table()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue().to_pybytes()


def _actor(report: Any) -> Any:
    return None if report is None else BadRows._check(report)._actor


def _tell(actor: Any, found: _BadRows) -> None:
    """Reports one batch. A repeated task has the same id, and its batches come in the same order."""
    task = ray.get_runtime_context().get_task_id()
    if task != _TASK["id"]:
        _TASK.update(id=task, n_batches=0)
    _TASK["n_batches"] += 1
    if actor is not None:
        ray.get(actor.add.remote((str(task), _TASK["n_batches"]), found.n_rows, found.places))


def _place(batch: Any, id_column: str | None, of: str = "of a batch") -> Callable[[int], str]:
    return lambda row: f"row {row} {of}{named(batch, id_column, row)}"
