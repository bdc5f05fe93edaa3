"""Streams of record batches: predictions, counts and fits to counts, bit for bit those of arrays."""

import itertools

import numpy as np
import pytest
from conftest import Planted, quick, quick_regressor

import labelflow
from labelflow import LABEL_MODELS, BadRows, DataError, VoteCounter, count_votes

pa = pytest.importorskip("pyarrow")

TOLD = {"errors": 0.25, "bounds": 0.25}


def made(Model):
    """A label model that needs no rows beside counts."""
    known = {name: value for name, value in TOLD.items() if name in Model._parameter_defaults()}
    return Model(**known)


def vote_table(votes):
    return pa.table({f"rule{place}": column for place, column in enumerate(votes.T)})


def feature_table(X):
    return pa.table({"id": np.arange(len(X)), **{f"x{place}": column for place, column in enumerate(X.T)}})


def probabilities(table):
    return np.column_stack([table[name].to_numpy() for name in table.column_names if name.startswith("p_")])


@pytest.fixture(scope="module")
def flow(planted):
    return quick().fit(planted.X, planted.votes)


@pytest.mark.parametrize("Model", LABEL_MODELS.values())
def test_a_fit_to_counts_is_the_fit_to_the_rows(Model):
    planted = Planted(n_rows=4000, n_classes=3, n_labelers=4)
    table = vote_table(planted.votes)
    rows = made(Model).fit(table)
    counter = count_votes(table.to_reader(max_chunksize=170))
    assert (counter.n_rows, counter.n_patterns) == (4000, len(np.unique(planted.votes, axis=0)))
    counted = made(Model).fit_counts(counter)
    assert counted.model_.to_json() == rows.model_.to_json()
    streamed = counted.predict_batches(table.to_reader(max_chunksize=93)).read_all()
    np.testing.assert_array_equal(probabilities(streamed), rows.predict_proba(table))
    np.testing.assert_array_equal(streamed["label"].to_numpy(), rows.predict(table))


def test_counts_come_in_any_form_and_order(planted):
    expected = labelflow.DawidSkene().fit(planted.votes).model_.to_json()
    patterns, counts = np.unique(planted.votes, axis=0, return_counts=True)
    order = np.random.default_rng(0).permutation(len(counts))
    assert labelflow.DawidSkene().fit_counts(patterns[order], counts[order]).model_.to_json() == expected
    names = [f"labeler{place}" for place in range(5)]
    for library in ("pandas", "polars"):
        module = pytest.importorskip(library)
        frame = module.DataFrame({**dict(zip(names, patterns.T)), "count": counts})
        assert labelflow.DawidSkene().fit_counts(frame).model_.to_json() == expected
    halves = [VoteCounter(), VoteCounter()]
    for counter, rows in zip(halves, np.array_split(planted.votes, 2)):
        counter.add(pa.table(dict(zip(names, rows.T))))
    halves[1].merge(halves[0])
    assert labelflow.DawidSkene().fit_counts(halves[1]).model_.to_json() == expected
    twice = VoteCounter()
    twice.add_counts(halves[0].table())
    assert (twice.n_rows, twice.n_patterns) == (halves[0].n_rows, halves[0].n_patterns)
    lists = pa.table({"votes": pa.array(planted.votes.tolist())})
    assert labelflow.DawidSkene().fit_counts(count_votes(lists, "votes")).model_.to_json() == expected


def test_names_and_missing_cells_mean_the_same_in_counts(planted):
    names = np.array(["no", "yes", None], dtype=object)[planted.votes]
    table = pa.table({f"rule{place}": pa.array(column.tolist()) for place, column in enumerate(names.T)})
    rows = labelflow.DawidSkene().fit(table)
    counted = labelflow.DawidSkene().fit_counts(count_votes(table.to_reader(max_chunksize=7)))
    assert counted.model_.to_json() == rows.model_.to_json() and counted.classes_.tolist() == ["no", "yes"]
    streamed = counted.predict_batches(table.to_reader(max_chunksize=11)).read_all()
    np.testing.assert_array_equal(probabilities(streamed), rows.predict_proba(table))
    assert streamed["label"].to_pylist() == rows.predict(table).tolist()


@pytest.mark.parametrize("abstain", ["zero", "signed", "missing"])
def test_conventions_mean_the_same_in_batches(abstain, planted):
    votes = planted.votes
    cells = {"zero": votes + 1, "signed": np.where(votes < 0, 0, 2 * votes - 1), "missing": votes}[abstain]
    mask = votes < 0 if abstain == "missing" else np.zeros(votes.shape, dtype=bool)
    kinds = [pa.int8(), pa.int64(), pa.float64(), *([] if abstain == "signed" else [pa.uint8(), pa.uint64()])]
    for kind in kinds:
        columns = [pa.array(np.where(gone, 0, column), mask=gone).cast(kind) for column, gone in zip(cells.T, mask.T)]
        table = pa.Table.from_arrays(columns, names=list("abcde"))
        model = labelflow.DawidSkene(abstain=abstain).fit_counts(count_votes(table.to_reader(max_chunksize=50)))
        usual = labelflow.DawidSkene().fit(votes)
        assert model.parameters_ == usual.parameters_
        streamed = model.predict_batches(table.to_reader(max_chunksize=1)).read_all()
        np.testing.assert_array_equal(probabilities(streamed), usual.predict_proba(votes))


def test_a_prediction_does_not_depend_on_the_batch(flow, planted):
    table = feature_table(planted.X)
    expected = flow.predict_proba(planted.X)
    for size in (1, 7, 64, 300):
        found = flow.predict_batches(table.to_reader(max_chunksize=size), columns=["x0", "x1", "x2"]).read_all()
        assert found.equals(flow.predict_batches(table).read_all()), "features without names are x0, x1, … as in files"
        assert found.column_names == ["id", "label", "p_0", "p_1"]
        np.testing.assert_array_equal(probabilities(found), expected)
        np.testing.assert_array_equal(found["label"].to_numpy(), flow.predict(planted.X))
        np.testing.assert_array_equal(found["id"].to_numpy(), np.arange(300))


def test_large_batches_are_taken_in_pieces(flow, monkeypatch, planted):
    monkeypatch.setattr("labelflow._batches.arrow.MAX_ROWS", 70)
    stream = flow.predict_batches(feature_table(planted.X), columns=["x0", "x1", "x2"])
    sizes = [batch.num_rows for batch in stream]
    assert sizes == [70, 70, 70, 70, 20]


LISTS = [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.list_(pa.float32(), 3), pa.large_list(pa.float32())]


@pytest.mark.parametrize("kind", LISTS, ids=str)
def test_features_in_one_column(flow, kind, planted):
    table = pa.table({"features": pa.array(planted.X.tolist(), type=kind)})
    found = flow.predict_batches(table.to_reader(max_chunksize=31)).read_all()
    np.testing.assert_array_equal(probabilities(found), flow.predict_proba(planted.X))
    sliced = flow.predict_batches(table.slice(10, 20)).read_all()
    np.testing.assert_array_equal(probabilities(sliced), flow.predict_proba(planted.X[10:30]))


def test_features_are_found_by_name(planted):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(planted.X, columns=["a", "b", "c"])
    model = quick().fit(frame, planted.votes)
    moved = frame[["c", "a", "b"]].assign(text="t")
    found = model.predict_batches(moved).read_all()
    assert found.column_names == ["text", "label", "p_0", "p_1"]
    np.testing.assert_array_equal(probabilities(found), model.predict_proba(frame))
    with pytest.raises(ValueError, match=r"expected the columns \['a', 'b', 'c'\], found"):
        model.predict_batches(frame[["a", "b"]])


def test_sets_go_along(planted):
    model = quick().fit(planted.X[:200], planted.votes[:200])
    model.calibrate(planted.X[200:], planted.truth[200:], sets=0.9)
    found = model.predict_batches(feature_table(planted.X).drop_columns(["id"])).read_all()
    members = model.predict_set(planted.X)
    assert found["set"].to_pylist() == [np.flatnonzero(row).tolist() for row in members]


def test_values(valued):
    model = quick_regressor().fit(valued.X, valued.rules, label_range=valued.label_range)
    stream = feature_table(valued.X).to_reader(max_chunksize=17)
    found = model.predict_batches(stream, columns=["x0", "x1", "x2"]).read_all()
    mean, std = model.predict(valued.X, return_std=True)
    np.testing.assert_array_equal(found["mean"].to_numpy(), mean)
    np.testing.assert_array_equal(found["std"].to_numpy(), std)
    quantiles = np.column_stack([found[name].to_numpy() for name in ("q05", "q50", "q95")])
    np.testing.assert_array_equal(quantiles, model.predict_quantiles(valued.X))


def test_other_classifiers_stream_too(planted):
    model = labelflow.TwoStageClassifier().fit(planted.X, planted.votes)
    found = model.predict_batches(feature_table(planted.X), columns=["x0", "x1", "x2"]).read_all()
    np.testing.assert_array_equal(probabilities(found), model.predict_proba(planted.X))


def test_a_stream_is_read_as_it_is_asked_for(flow, planted):
    taken = []

    def batches():
        for batch in feature_table(planted.X).to_batches(max_chunksize=100):
            taken.append(batch.num_rows)
            yield batch

    stream = flow.predict_batches(batches(), columns=["x0", "x1", "x2"])
    next(iter(stream))
    assert sum(taken) <= 200, "a stream must not be read ahead of those who read it"


def broken(planted):
    X = planted.X.astype(np.float64)
    X[17, 1], X[140, 0], X[141, 2] = np.nan, np.inf, -np.inf
    table = feature_table(X)
    holes = pa.array(X[:, 2], mask=np.arange(300) == 250)
    return table.set_column(3, "x2", holes), [17, 140, 141, 250]


def test_bad_rows_fail_with_their_place(flow, planted):
    table, _ = broken(planted)
    stream = flow.predict_batches(table.to_reader(max_chunksize=10), columns=["x0", "x1", "x2"], id_column="id")
    with pytest.raises(ValueError, match=r"row 17 \(id 17\): feature 'x1': expected a finite number, found nan"):
        stream.read_all()
    late = flow.predict_batches(table.slice(200).to_reader(max_chunksize=7), columns=["x0", "x1", "x2"])
    with pytest.raises(ValueError, match=r"row 50: feature 'x2': .* found none"):
        late.read_all()


@pytest.mark.parametrize("as_list", [False, True])
def test_bad_rows_are_left_out_or_left_empty(as_list, flow, planted):
    table, bad = broken(planted)
    columns = ["x0", "x1", "x2"]
    if as_list:
        rows = [list(row) for row in zip(*(table[name].to_pylist() for name in columns))]
        rows[250] = None
        table, columns = pa.table({"id": table["id"], "x": pa.array(rows)}), "x"
    good = np.setdiff1d(np.arange(300), bad)
    expected = flow.predict_proba(planted.X[good])
    report = BadRows()
    with pytest.warns(UserWarning, match="4 rows were left out, the first of them row 17: feature"):
        stream = flow.predict_batches(table.to_reader(max_chunksize=9), columns=columns, bad_rows="skip", report=report)
        found = stream.read_all()
    assert found["id"].to_numpy().tolist() == good.tolist() and report.n_rows == 4 and len(report.places) == 4
    np.testing.assert_array_equal(probabilities(found), expected)
    with pytest.warns(UserWarning, match="4 rows were given no prediction"):
        found = flow.predict_batches(table.to_reader(max_chunksize=9), columns=columns, bad_rows="abstain").read_all()
    assert np.flatnonzero([label is None for label in found["label"].to_pylist()]).tolist() == bad
    np.testing.assert_array_equal(probabilities(found)[good], expected)


def test_lists_of_another_length_are_bad(flow):
    table = pa.table({"x": [[0.0, 1.0, 2.0], [1.0], [0.0, 1.0, 2.0]]})
    with pytest.raises(ValueError, match="row 1: column 'x': expected a list of 3 numbers, found a list of 1"):
        flow.predict_batches(table).read_all()
    with pytest.warns(UserWarning, match="1 rows were left out"):
        assert flow.predict_batches(table, bad_rows="skip").read_all().num_rows == 2


def test_bad_votes(planted):
    votes = planted.votes.copy()
    model = labelflow.DawidSkene().fit(votes)
    votes[5, 2], votes[77, 0] = 9, -3
    table = pa.table({f"labeler{place}": column for place, column in enumerate(votes.T)})
    with pytest.raises(ValueError, match="row 5: labeler 'labeler2': expected a class from 0 to 1, or -1 .* found 9"):
        model.predict_batches(table.to_reader(max_chunksize=4)).read_all()
    mended = np.where((votes == 9) | (votes == -3), -1, votes)
    with pytest.warns(UserWarning, match="2 rows were labelled without those of their votes that are not classes"):
        found = model.predict_batches(table, bad_rows="abstain").read_all()
    np.testing.assert_array_equal(probabilities(found), model.predict_proba(mended))
    with pytest.warns(UserWarning, match="2 rows were left out"):
        assert model.predict_batches(table, bad_rows="skip").read_all().num_rows == 298

    counter = count_votes(table)
    for rule, rows in (("abstain", mended), ("skip", np.delete(votes, [5, 77], axis=0))):
        report = BadRows()
        with pytest.warns(UserWarning, match="2 rows were"):
            counted = labelflow.DawidSkene(classes=[0, 1]).fit_counts(counter, bad_rows=rule, report=report)
        assert counted.model_.to_json() == labelflow.DawidSkene(classes=[0, 1]).fit(rows).model_.to_json()
        assert report.n_rows == 2
    with pytest.raises(ValueError, match="expected a class from 0 to 1"):
        labelflow.DawidSkene(classes=[0, 1]).fit_counts(counter)


def test_fractions_are_no_votes(planted):
    model = labelflow.DawidSkene().fit(planted.votes)
    columns = {f"labeler{place}": column.astype(float) for place, column in enumerate(planted.votes.T)}
    columns["labeler0"] = columns["labeler0"] * 0.5
    with pytest.raises(ValueError, match="labeler 'labeler0': expected a class .* found [-0]"):
        model.predict_batches(pa.table(columns)).read_all()


def test_what_cannot_be_done_is_said(flow, planted):
    table = feature_table(planted.X)
    with pytest.raises(ValueError, match="bad_rows: expected one of fail, abstain, skip, found 'drop'"):
        flow.predict_batches(table, columns=["x0", "x1", "x2"], bad_rows="drop")
    with pytest.raises(ValueError, match="features: expected 3 columns"):
        flow.predict_batches(table, columns=["x0"])
    with pytest.raises(ValueError, match="features: expected one column 'y' among"):
        flow.predict_batches(table, columns=["x0", "x1", "y"])
    with pytest.raises(ValueError, match="features: expected 3 columns or one of lists"):
        flow.predict_batches(table.rename_columns(["id", "a", "b", "c"]))
    with pytest.raises(ValueError, match="features: expected numbers, found the column 't' of string"):
        flow.predict_batches(table.append_column("t", [["a"] * 300]), columns=["x0", "x1", "t"])
    with pytest.raises(ValueError, match="keep: expected columns other than those of the prediction, found 'label'"):
        flow.predict_batches(table.append_column("label", [["a"] * 300]), columns=["x0", "x1", "x2"])
    with pytest.raises(TypeError, match="expected a stream of record batches"):
        flow.predict_batches(3)
    with pytest.raises(labelflow.NotFittedError):
        quick().predict_batches(table)
    with pytest.raises(DataError, match="counts: expected counts, or a data frame with a column 'count'"):
        labelflow.DawidSkene().fit_counts(planted.votes)
    with pytest.raises(DataError, match="counts, pattern 1: expected a whole number that is not negative, found -1"):
        labelflow.DawidSkene().fit_counts(planted.votes[:2], [1, -1])
    with pytest.raises(DataError, match="counts: expected at most 2.53 rows"):
        labelflow.DawidSkene().fit_counts(planted.votes[:2], np.array([2**63, 2**63], dtype=np.uint64))
    with pytest.raises(DataError, match="counts: expected 2, one per pattern, found 1"):
        labelflow.DawidSkene().fit_counts(planted.votes[:2], [1])
    with pytest.raises(ValueError, match="bounds: expected numbers, since estimating them needs all rows"):
        labelflow.ConstrainedLabels().fit_counts(planted.votes, np.ones(300))
    fitted = labelflow.DawidSkene().fit(planted.votes).set_params(abstain="detect")
    with pytest.raises(ValueError, match="abstain: expected a convention, since votes come in parts, found 'detect'"):
        fitted.predict_batches(vote_table(planted.votes))
    with pytest.raises(DataError, match="at most 3 distinct rows"):
        count_votes(vote_table(planted.votes), max_patterns=3).table()
    with pytest.raises(DataError, match="expected at least one row, found none"):
        VoteCounter().table()
    other = VoteCounter()
    other.add(vote_table(planted.votes))
    with pytest.raises(DataError, match="expected the labelers"):
        other.add(pa.table({"else": [0, 1]}))


def test_empty_batches(flow):
    empty = pa.table({"x": pa.array([], type=pa.list_(pa.float32()))})
    assert flow.predict_batches(empty).read_all().num_rows == 0
    votes = pa.schema([("labeler0", pa.int8()), ("labeler1", pa.int8())]).empty_table()
    model = labelflow.MajorityVote().fit(np.array([[0, 1], [1, 1]]))
    assert model.predict_batches(votes).read_all().num_rows == 0
    nothing = flow.predict_batches(pa.table({"x": [[np.nan] * 3] * 4}), bad_rows="skip")
    with pytest.warns(UserWarning, match="4 rows"):
        assert nothing.read_all().num_rows == 0


def test_many_patterns_are_added_up_in_time(monkeypatch):
    monkeypatch.setattr("labelflow._batches.vote_counter._PATIENCE", 10)
    rows = np.array(list(itertools.product([-1, 0, 1], repeat=4)))
    counter = VoteCounter()
    for _ in range(5):
        counter.add(vote_table(rows))
        assert counter._n_waiting <= 10 + 3 * 81
    assert counter.n_patterns == 81 and counter.n_rows == 405
    assert set(counter.table()["count"].to_pylist()) == {5}
