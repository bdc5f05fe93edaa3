"""Ray: label models bit for bit those of the rows, predictions bit for bit those of arrays, by actors."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import Planted, quick, quick_regressor

import labelflow
from labelflow import LABEL_MODELS, ConfigError, DataError

pa = pytest.importorskip("pyarrow")
ray = pytest.importorskip("ray", reason="NOT RUN: Ray is not installed; `make test-engines` installs it")
pytest.importorskip("ray.data", reason="NOT RUN: Ray Data is not installed; `make test-engines` installs it")

import labelflow.ray as lf_ray  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning")
RULES = [f"rule{place}" for place in range(4)]
FEATURES = ["x0", "x1", "x2"]
CLASSES = ["p_0", "p_1", "p_2"]


@pytest.fixture(scope="module", autouse=True)
def cluster():
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Workers import this module and conftest.
    paths = {"PYTHONPATH": os.pathsep.join(map(str, Path(__file__).parents[:2]))}
    ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": paths})
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def planted4():
    return Planted(n_rows=3000, n_classes=3, n_labelers=4)


def table_of(planted):
    columns = {"id": np.arange(len(planted.X)), **dict(zip(FEATURES, planted.X.T)), **dict(zip(RULES, planted.votes.T))}
    return pa.table({**columns, "xs": pa.array(planted.X.tolist(), pa.list_(pa.float32())), "votes": planted.votes.tolist()})


@pytest.fixture(scope="module")
def dataset(cluster, planted4):
    table = table_of(planted4)
    return ray.data.from_arrow([table.slice(start, 500) for start in range(0, 3000, 500)]).materialize()


@pytest.fixture(scope="module")
def flow(planted4):
    return quick(n_jobs=1).fit(pa.table(dict(zip(FEATURES, planted4.X.T))), planted4.votes)


def collected(dataset, names):
    rows = sorted(dataset.take_all(), key=lambda row: row["id"])
    return [row["id"] for row in rows], np.array([[row[name] for name in names] for row in rows])


def made(Model):
    told = {"errors": 0.25, "bounds": 0.25}
    return Model(**{name: value for name, value in told.items() if name in Model._parameter_defaults()})


def test_label_models_are_those_of_the_rows(dataset, planted4):
    table = lf_ray.count_votes(dataset, RULES)
    assert table.nbytes < 100_000 and sum(table["count"].to_pylist()) == 3000
    rows = pa.table(dict(zip(RULES, planted4.votes.T)))
    for Model in LABEL_MODELS.values():
        assert made(Model).fit_counts(table).model_.to_json() == made(Model).fit(rows).model_.to_json(), Model.__name__
    local = labelflow.DawidSkene().fit(rows)
    model = lf_ray.fit(labelflow.DawidSkene(), dataset, votes=RULES)
    assert model.model_.to_json() == local.model_.to_json()
    _, found = collected(lf_ray.predict(model, dataset, keep=["id"]), CLASSES)
    np.testing.assert_array_equal(found, local.predict_proba(rows))
    arrays = lf_ray.fit(labelflow.DawidSkene(), dataset, votes="votes")
    assert arrays.parameters_ == local.parameters_


def test_flows_predict_bit_for_bit(dataset, flow, planted4):
    expected = flow.predict_proba(pa.table(dict(zip(FEATURES, planted4.X.T))))
    labels = lf_ray.predict(flow, dataset, keep=["id"], batch_size=170)
    ids, found = collected(labels, CLASSES)
    assert ids == list(range(3000)) and set(labels.columns()) == {"id", "label", *CLASSES}
    np.testing.assert_array_equal(found, expected)
    _, found = collected(lf_ray.predict(flow, dataset, columns="xs", keep=["id"], concurrency=1), CLASSES)
    np.testing.assert_array_equal(found, expected)


def test_tensors(flow, planted4):
    X = planted4.X[:200]
    tensors = ray.data.from_items([{"id": place, "x": row} for place, row in enumerate(X)])
    _, found = collected(lf_ray.predict(flow, tensors, columns="x"), CLASSES)
    np.testing.assert_array_equal(found, flow.predict_proba(pa.table(dict(zip(FEATURES, X.T)))))


def test_values(valued):
    model = quick_regressor().fit(valued.X, valued.rules, label_range=valued.label_range)
    rows = ray.data.from_arrow(pa.table({"id": np.arange(300), **dict(zip(FEATURES, valued.X.T))}))
    _, found = collected(lf_ray.predict(model, rows, columns=FEATURES), ["mean", "std"])
    np.testing.assert_array_equal(found, np.column_stack(model.predict(valued.X, return_std=True)))
    learner = quick_regressor(max_epochs=3)
    lf_ray.fit(learner, rows, features=FEATURES, rules=valued.rules, label_range=valued.label_range)
    assert learner.range_ == valued.label_range


def test_labeling_functions():
    @labelflow.labeling_function(resources={"word": "http"})
    def has_link(row, word):
        return "spam" if word in row.text else labelflow.ABSTAIN

    def short(row):
        return "ham" if 1 / (len(row["text"]) - 4) > 0.5 or len(row["text"]) < 6 else None

    texts = ["see http://x", "yes", "a long text without"] * 50
    rows = ray.data.from_items([{"id": place, "text": text} for place, text in enumerate(texts)])
    votes = lf_ray.apply([has_link, short], rows, classes=["ham", "spam"], keep=["id"])
    _, found = collected(votes, ["has_link", "short"])
    np.testing.assert_array_equal(found, labelflow.apply([has_link, short], pa.table({"text": texts}), classes=["ham", "spam"]).votes())
    broken = ray.data.from_items([{"id": 0, "text": "four"}, {"id": 1, "text": "yes"}])
    with pytest.raises(Exception, match="labeling function 'short'.*ZeroDivisionError"):
        lf_ray.apply([short], broken, classes=["ham", "spam"]).take_all()
    report = lf_ray.BadRows()
    _, found = collected(lf_ray.apply([short], broken, classes=["ham", "spam"], on_error="abstain", report=report), ["short"])
    assert found.ravel().tolist() == [-1, 0] and report.n_rows == 1 and "ZeroDivisionError" in repr(report)


def test_training_does_not_depend_on_the_blocks(dataset):
    def trained(rows, **how):
        return lf_ray.fit(quick(max_epochs=3, classes=[0, 1, 2]), rows, features=FEATURES, votes=RULES, **how)

    one, two = trained(dataset, max_rows=500), trained(dataset.repartition(3), max_rows=500)
    assert one.model_.to_bytes() == two.model_.to_bytes() and one.feature_names_in_.tolist() == FEATURES
    assert trained(dataset, max_rows=500, seed=1).model_.to_bytes() != one.model_.to_bytes()
    ids = lf_ray._sample(dataset, FEATURES, RULES, "id", 500, 0).column("id").to_pylist()
    assert len(ids) == len(set(ids)) == 500
    arrays = lf_ray.fit(quick(max_epochs=3, classes=[0, 1, 2]), dataset, features="xs", votes="votes", max_rows=10_000)
    assert arrays.n_features_in_ == 3


def test_bad_rows(planted4, flow):
    X, votes = planted4.X.astype(float), planted4.votes.copy()
    X[130, 1], X[2500, 0] = np.nan, np.inf
    votes[77, 2] = 9
    table = pa.table({"id": np.arange(3000), **dict(zip(FEATURES, X.T)), **dict(zip(RULES, votes.T))})
    rows = ray.data.from_arrow([table.slice(0, 1500), table.slice(1500)])
    with pytest.raises(Exception, match=r"row \d+ of a batch \(id (130|2500)\): feature 'x[01]': expected a finite number"):
        lf_ray.predict(flow, rows, id_column="id").take_all()
    for rule, n_rows in (("skip", 2998), ("abstain", 3000)):
        report = lf_ray.BadRows()
        labels = lf_ray.predict(flow, rows, keep=["id"], bad_rows=rule, report=report, batch_size=400).materialize()
        assert labels.count() == n_rows and report.n_rows == 2 and len(report.places) == 2
    model = labelflow.DawidSkene(classes=[0, 1, 2])
    with pytest.raises(DataError, match="expected a class from 0 to 2, .* found 9"):
        lf_ray.fit(model, rows, votes=RULES)
    with pytest.warns(UserWarning, match="1 rows were left out"):
        lf_ray.fit(model, rows, votes=RULES, bad_rows="skip")
    kept = pa.table(dict(zip(RULES, np.delete(planted4.votes, [77], axis=0).T)))
    assert model.model_.to_json() == labelflow.DawidSkene(classes=[0, 1, 2]).fit(kept).model_.to_json()


def test_gpus(dataset, flow):
    # The cluster says that it has one, but this package was built without cuda: nobody waits for it, unless told to.
    assert lf_ray._gpus(flow, "auto") == ("cuda" in labelflow._labelflow.built_devices())
    assert lf_ray._gpus(labelflow.MajorityVote(), "auto") == 0 and lf_ray._gpus(flow, 0.5) == 0.5
    with pytest.raises(ConfigError, match="gpus: expected 0, since MajorityVote computes on CPUs, found 1"):
        lf_ray._gpus(labelflow.MajorityVote(), 1)
    with pytest.raises(ConfigError, match="gpus: expected 'auto' or a number, found 'all'"):
        lf_ray._gpus(flow, "all")


def test_what_cannot_be_done_is_said(dataset, flow):
    with pytest.raises(Exception, match="at most 3 distinct rows"):
        lf_ray.count_votes(dataset, RULES, max_patterns=3)
    with pytest.raises(ValueError, match="votes: expected the columns of the labelers"):
        lf_ray.fit(labelflow.DawidSkene(), dataset)
    with pytest.raises(ValueError, match="expected features, and either votes or rules"):
        lf_ray.fit(quick(), dataset, votes=RULES)
    with pytest.raises(TypeError, match="expected a labelflow.ray.BadRows"):
        lf_ray.predict(flow, dataset, report=labelflow.BadRows())
    with pytest.raises(labelflow.NotFittedError):
        lf_ray.predict(quick(), dataset)


def parent(process):
    with open(f"/proc/{process}/stat") as stat:
        return int(stat.read().rpartition(")")[2].split()[1])


def predicting():
    """The processes of actors that predict, of the cluster that this process started."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as command:
                if b"ray::" in command.read() and parent(parent(process)) == os.getpid():
                    found.append(int(process))
        except (OSError, IndexError):
            continue
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="NOT RUN: looks for processes in /proc")
def test_a_worker_killed_in_the_middle_changes_nothing(dataset, flow, planted4):
    class Slow(lf_ray._Predictor):
        def __call__(self, table):
            time.sleep(0.3)
            return super().__call__(table)

    killed = []

    def kill():
        """An actor that has begun to predict."""
        while not killed:
            time.sleep(0.1)
            for process in predicting():
                with open(f"/proc/{process}/cmdline", "rb") as command:
                    if b"Slow" in command.read():
                        time.sleep(0.7)
                        os.kill(process, signal.SIGKILL)
                        killed.append(process)
                        return

    report = lf_ray.BadRows()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lf_ray, "_Predictor", Slow)
        labels = lf_ray.predict(flow, dataset, keep=["id"], batch_size=100, concurrency=2, bad_rows="skip", report=report)
    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    ids, found = collected(labels, CLASSES)
    assert killed and killed[0] not in predicting(), "the kill must fall into the job"
    assert ids == list(range(3000)) and report.n_rows == 0
    np.testing.assert_array_equal(found, flow.predict_proba(pa.table(dict(zip(FEATURES, planted4.X.T)))))
    print(f"killed worker {killed[0]}: the same 3000 labels")
