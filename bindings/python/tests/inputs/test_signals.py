"""All forms of signals, and what is wrong with others."""

import pickle

import numpy as np
import pytest

import labelflow
from labelflow import DataError, Signals

VOTES = np.array([[0, 1, -1], [2, -1, 2], [1, 1, 1]])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_votes_of_any_integer_type(dtype):
    signals = Signals(VOTES.astype(dtype))
    np.testing.assert_array_equal(signals.votes(), VOTES)
    assert signals.labelers_ == ["labeler0", "labeler1", "labeler2"]
    assert signals.classes_.tolist() == [0, 1, 2]
    assert signals.shape == (3, 3) and len(signals) == 3


def test_votes_in_any_layout():
    for votes in (np.asfortranarray(VOTES.astype(np.int8)), VOTES.astype(np.int8)[::-1], VOTES[:, ::2]):
        np.testing.assert_array_equal(Signals(votes).votes(), votes)
    np.testing.assert_array_equal(Signals(VOTES.tolist()).votes(), VOTES)


def test_an_int8_matrix_is_not_copied():
    votes = np.ascontiguousarray(VOTES.astype(np.int8))
    assert Signals(votes)._raw.address == votes.ctypes.data
    # The signals keep the array alive.
    signals = Signals(np.zeros((1000, 10), dtype=np.int8), classes=[0, 1])
    assert signals.votes().sum() == 0


def test_many_classes():
    votes = np.array([[0, 200], [254 - 1, -1]])
    signals = Signals(votes)
    np.testing.assert_array_equal(signals.votes(), votes)
    assert len(signals.classes_) == 254


def test_probabilities_of_class_1():
    signals = Signals(np.array([[0.9, np.nan], [0.2, 0.6]]))
    np.testing.assert_array_equal(signals.votes(), [[1, -1], [0, 1]])


def test_probabilities_of_all_classes():
    values = np.array([[[0.1, 0.2, 0.7]], [[np.nan] * 3]])
    signals = Signals(values, classes=["a", "b", "c"])
    np.testing.assert_array_equal(signals.votes(), [[2], [-1]])
    assert signals.classes_.tolist() == ["a", "b", "c"]


def test_names_of_classes():
    votes = np.array([["spam", None], ["ham", "spam"], ["", "ham"]], dtype=object)
    signals = Signals(votes)
    assert signals.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(signals.votes(), [[1, -1], [0, 1], [-1, 0]])
    reversed_classes = Signals(votes, classes=["spam", "ham"])
    np.testing.assert_array_equal(reversed_classes.votes(), [[0, -1], [1, 0], [-1, 1]])
    with pytest.raises(DataError, match="expected the classes .* found 'spam'"):
        Signals(votes, classes=["ham", "eggs"])


def test_pandas_frames():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(VOTES, columns=["a", "b", "c"])
    signals = Signals(frame)
    assert signals.labelers_ == ["a", "b", "c"]
    np.testing.assert_array_equal(signals.votes(), VOTES)
    # A missing cell makes floats of integers.
    missing = frame.where(frame >= 0)
    np.testing.assert_array_equal(Signals(missing).votes(), VOTES)
    np.testing.assert_array_equal(Signals(missing.astype("Int64")).votes(), VOTES)
    probabilities = pandas.DataFrame({"a": [0.25, 0.75], "b": [np.nan, 1.0]})
    np.testing.assert_array_equal(Signals(probabilities).votes(), [[0, -1], [1, 1]])
    names = pandas.DataFrame({"a": ["ham", None], "b": ["spam", "ham"]})
    assert Signals(names).classes_.tolist() == ["ham", "spam"]
    pandas.testing.assert_frame_equal(signals.to_pandas(), frame)


def test_frames_of_integers_are_copied_once():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": np.array([0, 1], np.int64), "b": np.array([300, -1], np.int16)})
    small = frame.assign(b=[1, -1])
    np.testing.assert_array_equal(Signals(small).votes(), [[0, 1], [1, -1]])
    with pytest.raises(DataError, match="'a' twice"):
        Signals(pandas.DataFrame([[0, 1], [1, 0]], columns=["a", "a"]))
    with pytest.raises(ValueError, match="n_classes: expected 2 to 255, found 301"):
        Signals(frame)


def test_polars_and_pyarrow_frames():
    polars = pytest.importorskip("polars")
    pyarrow = pytest.importorskip("pyarrow")
    columns = {"a": [0, 2, None], "b": [1, None, 1]}
    expected = [[0, 1], [2, -1], [-1, 1]]
    for frame in (polars.DataFrame(columns), pyarrow.table(columns)):
        signals = Signals(frame)
        assert signals.labelers_ == ["a", "b"]
        np.testing.assert_array_equal(signals.votes(), expected)
    names = polars.DataFrame({"a": ["x", None], "b": ["y", "x"]})
    np.testing.assert_array_equal(Signals(names).votes(), [[0, 1], [-1, 0]])


def test_tasks_workers_and_labels():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "task": ["t2", "t1", "t2", "t3"],
            "worker": ["w1", "w1", "w2", "w2"],
            "label": ["no", "yes", "yes", "no"],
        }
    )
    signals = Signals(frame)
    assert signals.tasks_.tolist() == ["t2", "t1", "t3"]
    assert signals.labelers_ == ["w1", "w2"]
    np.testing.assert_array_equal(signals.votes(), [[0, 1], [1, -1], [-1, 0]])
    twice = pandas.concat([frame, frame.iloc[:1]])
    with pytest.raises(DataError, match="several of worker 'w1' for task 't2'"):
        Signals(twice)


def test_sparse_matrices():
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.csr_matrix(np.array([[1, 0], [2, 1]]))
    np.testing.assert_array_equal(Signals(matrix, abstain="zero").votes(), [[0, -1], [1, 0]])
    signed = sparse.csr_matrix(np.array([[1.0, 0.0], [-1.0, 1.0]]))
    np.testing.assert_array_equal(Signals(signed, abstain="signed").votes(), [[1, -1], [0, 1]])
    with pytest.raises(DataError, match="abstain='zero'"):
        Signals(matrix)


def test_other_conventions_by_argument():
    expected = [[0, -1], [1, 0]]
    np.testing.assert_array_equal(Signals([[1, 0], [2, 1]], abstain="zero").votes(), expected)
    np.testing.assert_array_equal(Signals([[-1, 0], [1, -1]], abstain="signed").votes(), expected)
    np.testing.assert_array_equal(Signals([[0, np.nan], [1, 0]], abstain="missing").votes(), expected)
    np.testing.assert_array_equal(Signals([[1.0, np.nan], [2, 0]], abstain="zero").votes(), [[0, -1], [1, -1]])
    np.testing.assert_array_equal(Signals([[-1, 1], [1, -1]], abstain="detect").votes(), [[0, 1], [1, 0]])
    with pytest.raises(DataError, match="several: -1 abstains .*; or 0 abstains and the classes are -1 and 1"):
        Signals([[-1, 0], [1, 0]], abstain="detect")
    with pytest.raises(ValueError, match="abstain: expected one of minus_one"):
        Signals(VOTES, abstain="nan")


@pytest.mark.parametrize(
    ("votes", "text"),
    [
        ([[-1, 1], [1, -1]], "pass abstain='signed'"),
        ([[1, 2], [3, 1]], "pass abstain='zero'"),
        ([[0.0, 1.0], [2.0, -1.0]], "these look like votes: convert them to integers"),
        ([[0.0, np.nan], [2.0, 1.0]], "where NaN abstains, pass abstain='missing'"),
        ([[0, 1], [-2, 1]], "row 1, labeler 0: expected a class from 0, or -1 for an abstention, found -2"),
    ],
)
def test_votes_that_look_like_another_convention(votes, text):
    with pytest.raises(DataError, match=text.replace("(", r"\(")):
        Signals(votes)


def test_named_classes_say_that_nothing_is_wrong():
    signals = Signals([[-1, 1], [1, -1]], classes=["ham", "spam"])
    np.testing.assert_array_equal(signals.votes(), [[-1, 1], [1, -1]])


def test_votes_out_of_range_of_named_classes():
    with pytest.raises(DataError, match="row 0, labeler 1: expected a class from 0 to 1, .* found 2"):
        Signals([[0, 2], [1, 0]], classes=["a", "b"])


def test_labels_are_one_labeler():
    signals = Signals(["b", "a", "b"])
    assert signals.shape == (3, 1) and signals.classes_.tolist() == ["a", "b"]
    assert Signals([-1, 1, 1]).classes_.tolist() == [-1, 1]
    abstains = Signals([-1, 1, 0])
    assert abstains.classes_.tolist() == [0, 1]
    np.testing.assert_array_equal(abstains.votes(), [[-1], [1], [0]])
    assert Signals(np.array([True, False])).classes_.tolist() == [False, True]


@pytest.mark.parametrize("votes", [np.zeros((0, 3), int), np.zeros((3, 0), int), np.full((3, 2), -1), np.zeros((3, 2), int)])
def test_nothing_to_learn_from(votes):
    with pytest.raises(DataError):
        Signals(votes)


@pytest.mark.parametrize("values", [np.zeros((2, 2, 2, 2)), np.zeros((2, 2), complex), 3])
def test_wrong_shapes_and_types(values):
    with pytest.raises(ValueError, match="signals: expected votes"):
        Signals(values)


def test_rows_can_be_chosen():
    signals = Signals(VOTES, labelers=["a", "b", "c"])
    part = signals[np.array([2, 0])]
    np.testing.assert_array_equal(part.votes(), VOTES[[2, 0]])
    assert part.labelers_ == ["a", "b", "c"]
    np.testing.assert_array_equal(signals[1:].votes(), VOTES[1:])
    np.testing.assert_array_equal(signals[np.array([True, False, True])].votes(), VOTES[[0, 2]])
    np.testing.assert_array_equal(np.asarray(signals), VOTES)


def test_pickle():
    pandas = pytest.importorskip("pandas")
    names = Signals(pandas.DataFrame({"a": ["x", None], "b": ["y", "x"]}))
    for signals in (Signals(VOTES), Signals(np.array([[0.25, np.nan], [1.0, 0.5]])), names):
        same = pickle.loads(pickle.dumps(signals))
        np.testing.assert_array_equal(same.votes(), signals.votes())
        assert same.labelers_ == signals.labelers_ and same.classes_.tolist() == signals.classes_.tolist()
        if signals._raw.probabilities() is not None:
            np.testing.assert_array_equal(same._raw.probabilities(), signals._raw.probabilities())


def test_repr():
    assert repr(Signals(VOTES)) == "Signals(3 rows, 3 labelers, classes [0, 1, 2])"
    assert labelflow.__version__
