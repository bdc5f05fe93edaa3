"""Spark: label models bit for bit those of the rows, predictions bit for bit those of arrays, on two executors."""

import os
import pickle
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import Planted, quick, quick_regressor

import labelflow
from labelflow import LABEL_MODELS, DataError

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark", reason="NOT RUN: Spark is not installed; `make test-engines` installs it")

import labelflow.spark as lf_spark  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
RULES = [f"rule{place}" for place in range(4)]
FEATURES = ["x0", "x1", "x2"]


@pytest.fixture(scope="module")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    # Executors import this module and conftest.
    tests = os.pathsep.join(map(str, Path(__file__).parents[:2]))
    session = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executor.memory", "1g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "170")
        .config("spark.executorEnv.PYTHONPATH", tests)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def as_frame(spark, tmp_path_factory):
    """A table as a data frame, by way of a file: Spark 3.5 knows no pandas of today."""
    from pyarrow import parquet

    def stored(table):
        path = tmp_path_factory.mktemp("rows") / "rows.parquet"
        parquet.write_table(table, path)
        return spark.read.parquet(str(path))

    return stored


@pytest.fixture(scope="module")
def planted4():
    return Planted(n_rows=3000, n_classes=3, n_labelers=4)


@pytest.fixture(scope="module")
def frame(as_frame, planted4):
    """Ids, features and votes as columns and as arrays, in four partitions."""
    columns = {"id": np.arange(3000), **dict(zip(FEATURES, planted4.X.T)), **dict(zip(RULES, planted4.votes.T))}
    table = pa.table({**columns, "xs": pa.array(planted4.X.tolist(), pa.list_(pa.float32())), "votes": planted4.votes.tolist()})
    return as_frame(table).repartition(4).cache()


@pytest.fixture(scope="module")
def flow(planted4):
    return quick(n_jobs=1).fit(pa.table(dict(zip(FEATURES, planted4.X.T))), planted4.votes)


def collected(frame, names):
    rows = sorted(frame.collect(), key=lambda row: row["id"])
    return [row["id"] for row in rows], np.array([[row[name] for name in names] for row in rows])


def made(Model):
    told = {"errors": 0.25, "bounds": 0.25}
    return Model(**{name: value for name, value in told.items() if name in Model._parameter_defaults()})


def test_label_models_are_those_of_the_rows(frame, planted4):
    table = lf_spark.count_votes(frame, RULES)
    assert table.nbytes < 100_000 and sum(table["count"].to_pylist()) == 3000
    rows = pa.table(dict(zip(RULES, planted4.votes.T)))
    for Model in LABEL_MODELS.values():
        assert made(Model).fit_counts(table).model_.to_json() == made(Model).fit(rows).model_.to_json(), Model.__name__
    model = lf_spark.fit(labelflow.DawidSkene(), frame, votes=RULES)
    local = labelflow.DawidSkene().fit(rows)
    assert model.model_.to_json() == local.model_.to_json()
    _, found = collected(lf_spark.predict(model, frame, keep=["id"]), ["p_0", "p_1", "p_2"])
    np.testing.assert_array_equal(found, local.predict_proba(rows))
    arrays = lf_spark.fit(labelflow.DawidSkene(), frame, votes="votes")
    assert arrays.parameters_ == local.parameters_
    _, found = collected(lf_spark.predict(arrays, frame, columns="votes", keep=["id"]), ["p_0", "p_1", "p_2"])
    np.testing.assert_array_equal(found, local.predict_proba(rows))


def test_flows_predict_bit_for_bit(spark, frame, flow, planted4):
    expected = flow.predict_proba(pa.table(dict(zip(FEATURES, planted4.X.T))))
    labels = lf_spark.predict(flow, frame, keep=["id"])
    assert labels.columns == ["id", "label", "p_0", "p_1", "p_2"]
    ids, found = collected(labels, ["p_0", "p_1", "p_2"])
    assert ids == list(range(3000))
    np.testing.assert_array_equal(found, expected)
    _, found = collected(lf_spark.predict(flow, frame.repartition(7), columns="xs", keep=["id"]), ["p_0", "p_1", "p_2"])
    np.testing.assert_array_equal(found, expected)


def test_vectors_of_spark(spark, flow, planted4):
    from pyspark.ml.linalg import Vectors

    rows = [(place, Vectors.dense(row.tolist())) for place, row in enumerate(planted4.X[:50])]
    vectors = spark.createDataFrame(rows, ["id", "features"])
    _, found = collected(lf_spark.predict(flow, vectors, columns="features"), ["p_0", "p_1", "p_2"])
    np.testing.assert_array_equal(found, flow.predict_proba(pa.table(dict(zip(FEATURES, planted4.X[:50].T)))))


def test_values(as_frame, valued):
    model = quick_regressor().fit(valued.X, valued.rules, label_range=valued.label_range)
    frame = as_frame(pa.table({"id": np.arange(300), **dict(zip(FEATURES, valued.X.T))}))
    _, found = collected(lf_spark.predict(model, frame, columns=FEATURES), ["mean", "std"])
    np.testing.assert_array_equal(found, np.column_stack(model.predict(valued.X, return_std=True)))


def test_a_model_is_loaded_once_by_each_worker(frame, flow):
    from labelflow._batches import shipped_model

    data, key = shipped_model.packed(flow)
    first = shipped_model.loaded(key, lambda: data, 1)
    assert shipped_model.loaded(key, lambda: pytest.fail("loaded twice"), 1) is first
    for place in range(shipped_model._KEPT):
        shipped_model.loaded(str(place), lambda: pickle.dumps(flow), 1)
    assert key not in shipped_model._LOADED and len(shipped_model._LOADED) == shipped_model._KEPT


def test_labeling_functions(spark):
    @labelflow.labeling_function(resources={"word": "http"})
    def has_link(row, word):
        return "spam" if word in row.text else labelflow.ABSTAIN

    @labelflow.labeling_function()
    def short(row):
        return "ham" if len(row["text"]) < 6 else None

    texts = ["see http://x", "yes", "a long text without", "http"] * 50
    frame = spark.createDataFrame([(place, text) for place, text in enumerate(texts)], ["id", "text"])
    votes = lf_spark.apply([has_link, short], frame, classes=["ham", "spam"])
    assert votes.columns == ["id", "text", "has_link", "short"]
    ids, found = collected(votes, ["has_link", "short"])
    rows = pa.table({"text": texts})
    np.testing.assert_array_equal(found, labelflow.apply([has_link, short], rows, classes=["ham", "spam"]).votes())


def fails_on_forty(row):
    return 1 if 10 // (row.id - 40) else 0


def test_labeling_functions_that_fail(spark):
    frame = spark.range(0, 100, 1, 2).withColumnRenamed("id", "id")
    with pytest.raises(Exception, match=r"labeling function 'fails_on_forty', row 40: ZeroDivisionError.*partition 0, row 40"):
        lf_spark.apply([fails_on_forty], frame).collect()
    report = lf_spark.BadRows(spark)
    assert lf_spark.apply([fails_on_forty], frame, on_error="abstain", report=report).where("fails_on_forty = -1").count() == 1
    assert report.n_rows == 1 and report.places[0].startswith("partition 0, row 40: labeling function 'fails_on_forty'")


def test_training_does_not_depend_on_the_partitions(frame, planted4, tmp_path):
    def trained(rows, **how):
        model = quick(max_epochs=3, classes=[0, 1, 2])
        return lf_spark.fit(model, rows, features=FEATURES, votes=RULES, **how)

    one, two = trained(frame, max_rows=500), trained(frame.repartition(3), max_rows=500)
    assert one.model_.to_bytes() == two.model_.to_bytes()
    assert one.feature_names_in_.tolist() == FEATURES and one.labelers_ == RULES
    staged = trained(frame, max_rows=500, staging=str(tmp_path / "sample"))
    assert staged.model_.to_bytes() == one.model_.to_bytes()
    assert trained(frame, max_rows=500, seed=1).model_.to_bytes() != one.model_.to_bytes()
    arrays = lf_spark.fit(quick(max_epochs=3, classes=[0, 1, 2]), frame, features="xs", votes="votes", max_rows=500, id_column="id")
    assert arrays.n_features_in_ == 3
    batch = lf_spark._sample(frame, FEATURES, RULES, "id", 500, 0, None)
    ids = batch.column("id").to_pylist()
    assert len(ids) == len(set(ids)) == 500
    assert lf_spark._sample(frame, FEATURES, RULES, "id", 10_000, 0, None).num_rows == 3000


def test_rules_on_a_sample(as_frame, valued):
    frame = as_frame(pa.table(dict(zip(FEATURES, valued.X.T))))
    model = lf_spark.fit(
        quick_regressor(max_epochs=3), frame, features=FEATURES, rules=valued.rules, label_range=valued.label_range
    )
    assert model.range_ == valued.label_range


@pytest.fixture(scope="module")
def bad_frame(as_frame, planted4):
    X, votes = planted4.X.astype(float), planted4.votes.copy()
    X[130, 1], X[2500, 0] = np.nan, np.inf
    votes[77, 2], votes[78, 2] = 9, 9
    table = pa.table({"id": np.arange(3000), **dict(zip(FEATURES, X.T)), **dict(zip(RULES, votes.T))})
    return as_frame(table).repartition(2).cache()


def test_bad_rows_of_a_prediction(spark, bad_frame, flow):
    with pytest.raises(Exception, match=r"partition \d, row \d+ \(id (130|2500)\): feature 'x[01]': expected a finite number"):
        lf_spark.predict(flow, bad_frame, id_column="id").collect()
    for rule, n_rows in (("skip", 2998), ("abstain", 3000)):
        report = lf_spark.BadRows(spark)
        labels = lf_spark.predict(flow, bad_frame, keep=["id"], bad_rows=rule, report=report)
        assert labels.count() == n_rows
        # Counted again by a second job, yet not twice.
        assert labels.where("label is null").count() == (2 if rule == "abstain" else 0)
        assert report.n_rows == 2 and len(report.places) == 2 and "feature 'x" in repr(report)


def test_bad_rows_of_a_fit(bad_frame, planted4):
    model = labelflow.DawidSkene(classes=[0, 1, 2])
    expected = r"partition \d, row \d+ \(id 7[78]\): labeler 'rule2': expected a class from 0 to 2, .* found 9; 2 rows are bad"
    with pytest.raises(DataError, match=expected):
        lf_spark.fit(model, bad_frame, votes=RULES, id_column="id")
    report = labelflow.BadRows()
    with pytest.warns(UserWarning, match="2 rows were left out"):
        lf_spark.fit(model, bad_frame, votes=RULES, bad_rows="skip", report=report)
    rows = pa.table(dict(zip(RULES, np.delete(planted4.votes, [77, 78], axis=0).T)))
    assert model.model_.to_json() == labelflow.DawidSkene(classes=[0, 1, 2]).fit(rows).model_.to_json()
    assert report.n_rows == 2
    learner = quick(max_epochs=2, classes=[0, 1, 2])
    with pytest.raises(DataError, match=r"partition \d, row \d+ \(id \d+\): (feature|labeler)"):
        lf_spark.fit(learner, bad_frame, features=FEATURES, votes=RULES, id_column="id")
    with pytest.warns(UserWarning, match="4 rows were left out"):
        lf_spark.fit(learner, bad_frame, features=FEATURES, votes=RULES, bad_rows="skip")


def test_what_cannot_be_done_is_said(frame, flow):
    with pytest.raises(DataError, match="at most 3 distinct rows"):
        lf_spark.count_votes(frame, RULES, max_patterns=3)
    with pytest.raises(ValueError, match="votes: expected the columns of the labelers"):
        lf_spark.fit(labelflow.DawidSkene(), frame)
    with pytest.raises(ValueError, match="expected features, and either votes or rules, found votes"):
        lf_spark.fit(quick(), frame, votes=RULES)
    with pytest.raises(ValueError, match="features: expected one column 'nothing' among"):
        lf_spark.predict(flow, frame, columns=["x0", "x1", "nothing"])
    with pytest.raises(TypeError, match="expected a labelflow.spark.BadRows"):
        lf_spark.predict(flow, frame, report=labelflow.BadRows())
    with pytest.raises(labelflow.NotFittedError):
        lf_spark.predict(quick(), frame)


def slowly(flow_rows):
    """Rows that take their time, and the process that has them."""
    import time

    for batch in flow_rows:
        time.sleep(0.3)
        yield batch


def executors(spark):
    """The processes of the session's executors, as their workers see them: worker, its daemon, the executor."""

    def ancestors(batches):
        for _ in batches:
            with open(f"/proc/{os.getppid()}/stat") as stat:
                yield pa.RecordBatch.from_pydict({"process": [int(stat.read().rpartition(")")[2].split()[1])]})

    return {row["process"] for row in spark.range(0, 400, 1, 8).mapInArrow(ancestors, "process long").collect()}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="NOT RUN: looks for processes in /proc")
def test_an_executor_killed_in_the_middle_changes_nothing(spark, frame, flow, planted4):
    victim = min(executors(spark))
    frame.count()
    slow = frame.repartition(8).mapInArrow(slowly, frame.schema)
    report = lf_spark.BadRows(spark)
    labels = lf_spark.predict(flow, slow, keep=["id"], bad_rows="skip", report=report)
    found_running = []

    def kill():
        """Once the first of eight tasks that predict have ended."""
        status = spark.sparkContext.statusTracker()
        while not found_running:
            time.sleep(0.05)
            for stage in map(status.getStageInfo, status.getActiveStageIds()):
                if stage is not None and stage.numTasks == 8 and stage.numCompletedTasks >= 2 and stage.numActiveTasks:
                    found_running.append(stage.numCompletedTasks)
                    os.kill(victim, signal.SIGKILL)
                    return

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    ids, found = collected(labels, ["p_0", "p_1", "p_2"])
    assert found_running, "the kill must fall into the job"
    assert victim not in executors(spark)
    assert ids == list(range(3000)) and report.n_rows == 0
    np.testing.assert_array_equal(found, flow.predict_proba(pa.table(dict(zip(FEATURES, planted4.X.T)))))
    print(f"killed executor {victim} after {found_running[0]} of 8 tasks: the same 3000 labels")
