"""What all label models share. The models themselves are in `_label_models/`."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _labelflow
from ._batches.arrow import as_reader, pyarrow, whole_batch
from ._batches.bad_rows import BadRows, check_rule, handle, warn_of
from ._batches.prediction import BatchPrediction, class_columns, class_fields
from ._batches.vote_counter import is_one_list, pattern_reader, read_counts
from ._batches.votes import BatchVotes
from ._estimators.estimator import Estimator
from ._inputs import frames
from ._inputs.bounds import estimate, read_bounds
from ._inputs.class_values import class_values
from ._inputs.settings import like, seed_of, threads_of
from ._inputs.signals import Signals, as_signals
from ._labelflow import DataError, RawSignals
from ._labelflow import LabelModel as RawLabelModel

#: Parameters about data and threads, which are not settings of the method.
_COMMON = {"abstain", "classes", "n_jobs", "random_state", "errors", "bounds"}


#: What the compiled module knows of each label model, by its name on the command line: the name of its class, what a fit
#: needs, and its settings with their defaults.
REGISTRY: dict[str, dict[str, Any]] = {entry["name"]: entry for entry in json.loads(_labelflow.label_models())}


def parameters(name: str) -> dict[str, Any]:
    """The parameters of a label model with their defaults: its settings, between those about data and threads."""
    entry = REGISTRY[name]
    settings = {setting: default for setting, default in entry["settings"].items() if setting != "model"}
    has_seed = settings.pop("seed", None) is not None
    found = {} if entry["needs"] == "signals" else {entry["needs"]: "auto"}
    for setting, default in settings.items():
        found[setting] = tuple(default) if isinstance(default, list) else default
    if has_seed:
        found["random_state"] = 0
    return {**found, "abstain": "minus_one", "classes": None, "n_jobs": None}


def known_classes(labels: Any, classes: np.ndarray) -> np.ndarray:
    """The indices of the classes that these labels are, -1 where one is None or NaN."""
    places = {value: place for place, value in enumerate(classes.tolist())}
    found = np.full(len(labels), -1, dtype=np.int64)
    for row, label in enumerate(np.asarray(labels, dtype=object).tolist()):
        if label is None or label != label:
            continue
        if label not in places:
            raise DataError(f"known_labels: expected one of {', '.join(map(str, places))}, found {label!r} in row {row}")
        found[row] = places[label]
    return found


def _constructor(name: str) -> Any:
    """A constructor that takes the parameters of a label model by their names."""
    defaults = parameters(name)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    by_name = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=value) for key, value in defaults.items()]
    signature = inspect.Signature([itself, *by_name])

    def __init__(self: Any, **settings: Any) -> None:
        # Unknown ones are the TypeError that Python itself would raise.
        signature.bind(self, **settings)
        self.__dict__.update({**defaults, **settings})

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


class LabelModel(BatchPrediction, Estimator):
    """A label model: combines the votes of labelers into labels, without features.

    Subclasses have the name of the command line; their constructor follows from the settings of the Rust type.
    """

    _name: str
    #: Set by the subclasses' constructors.
    abstain: str
    classes: Sequence[Any] | None
    n_jobs: int | None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "_name" in cls.__dict__:
            cls.__init__ = _constructor(cls._name)  # type: ignore[method-assign]

    def __init__(self, **settings: Any) -> None:
        raise TypeError("LabelModel: expected the class of a label model, or labelflow.label_model(name)")

    def fit(self, X: Any, y: Any = None, *, known_labels: Any = None) -> Any:
        """Fits the label model to signals.

        Parameters
        ----------
        X : signals
            Anything that :class:`Signals` takes.
        y : ignored
            For scikit-learn's conventions; true labels of all rows are never used.
        known_labels : array-like (n_rows,), default=None
            The classes of some of the rows, None or NaN where they are not known. :class:`AutoLabelModel` and
            :class:`HyperLabelModel` learn from them too; others refuse them.

        Returns
        -------
        self
        """
        signals = as_signals(X, self.abstain, self.classes)
        known = self._known(signals, threads_of(self.n_jobs))
        if known_labels is not None:
            known["known_labels"] = known_classes(known_labels, signals.classes_)
        return self._fit(signals, None, known)

    def fit_counts(
        self, X: Any, counts: Any = "count", *, bad_rows: str = "fail", report: BadRows | None = None
    ) -> Any:
        """Fits the label model to distinct rows of votes and their counts: bit for bit the fit to the rows that were
        counted.

        The one exception are votes of which more than seven eighths of the rows differ: those are fitted row by row by
        :meth:`fit`, so that sums may differ in their last digits.

        Parameters
        ----------
        X : VoteCounter, data frame or signals
            One row per pattern: a :class:`VoteCounter`, a data frame with a column of counts beside those of the
            labelers, or anything that :class:`Signals` takes. Patterns may come in any order and more than once, so
            tables of several machines can be concatenated.
        counts : str or array (n_patterns,), default="count"
            The name of the column of counts, or the counts.
        bad_rows : {"fail", "abstain", "skip"}, default="fail"
            What to do with rows with a vote that is not a class: raise an error; let that vote abstain; or leave them
            out. The last two warn with the number of such rows.
        report : BadRows, default=None
            Collects such rows.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> import labelflow
        >>> patterns = np.array([[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 0, 1]])
        >>> labelflow.DawidSkene().fit_counts(patterns, counts=[500, 300, 100, 50]).predict(patterns)
        array([0, 1, 0, 1])
        """
        check_rule(bad_rows)
        for name in ("errors", "bounds"):
            if getattr(self, name, None) == "auto":
                raise ValueError(f"{name}: expected numbers, since estimating them needs all rows and not counts, found 'auto'")
        values, numbers = read_counts(X, counts)
        if bad_rows == "fail" and not is_one_list(values):
            signals = as_signals(values, self.abstain, self.classes)
        else:
            signals, numbers = self._without_bad(values, numbers, bad_rows, report)
        if len(numbers) != len(signals):
            raise DataError(f"counts: expected {len(signals)}, one per pattern, found {len(numbers)}")
        return self._fit(signals, numbers, self._known(signals, threads_of(self.n_jobs)))

    def _fit(self, signals: Signals, counts: np.ndarray | None, known: dict[str, Any]) -> Any:
        config = json.dumps(self._config())
        n_jobs = threads_of(self.n_jobs)
        model = _labelflow.fit_label_model(config, signals._raw, n_jobs=n_jobs, counts=counts, **known)
        self.model_ = model
        self.classes_ = signals.classes_
        self.labelers_ = signals.labelers_
        self.n_features_in_ = len(signals.labelers_)
        return self

    def _without_bad(
        self, values: Any, counts: np.ndarray, rule: str, report: BadRows | None
    ) -> tuple[Signals, np.ndarray]:
        """The usable patterns, as signals, and their counts."""
        classes = None if self.classes is None else np.asarray(list(self.classes))
        if frames.library(values) is None:
            # A matrix has no column names; a table needs some.
            matrix = np.asarray(values)
            names = [f"labeler{place}" for place in range(matrix.shape[1])]
            values = pyarrow().table(dict(zip(names, matrix.T)))
        batch = whole_batch(as_reader(values).read_all())
        reader = pattern_reader(batch, counts, classes, self.abstain)
        votes, wrong, reason = reader.read(batch)
        bad = wrong.any(axis=1)
        found = BadRows()
        handle(bad, rule, lambda row: f"pattern {row}, of {counts[row]} rows", reason, found)
        found.n_rows = int(counts[bad].sum())
        warn_of(found, rule, "taken with abstentions")
        if report is not None:
            report.add(found.n_rows, found.places)
        good = ~bad if rule == "skip" else slice(None)
        return Signals(votes[good], classes=classes, labelers=reader.labelers), counts[good]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class.

        Parameters
        ----------
        X : signals
            Of the same labelers: found by name if they have names, else by position.

        Returns
        -------
        array (n_rows, n_classes)
        """
        self._check_is_fitted()
        return self.model_.predict_proba(self._read(X)._raw, threads_of(self.n_jobs))

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row.

        Of several that are equally probable, the one that the fit holds for more common; of several as common, the one
        that a hash of the row's votes chooses.

        Returns
        -------
        array (n_rows,)
        """
        self._check_is_fitted()
        return self.classes_[self.model_.predict(self._read(X)._raw, threads_of(self.n_jobs))]

    def fit_predict(self, X: Any, y: Any = None) -> np.ndarray:
        """``fit(X).predict(X)``, reading the signals once.

        Returns
        -------
        array (n_rows,)
        """
        signals = as_signals(X, self.abstain, self.classes)
        return self.fit(signals).predict(signals)

    def score(self, X: Any, y: Any) -> float:
        """The share of rows whose true label is predicted.

        Parameters
        ----------
        X : signals
        y : array (n_rows,)
            True labels.

        Returns
        -------
        float
        """
        frames.check_same_order(X, y, "y")
        labels = np.asarray(y)
        predicted = self.predict(X)
        if labels.shape != predicted.shape:
            raise ValueError(f"labels: expected shape {predicted.shape}, found {labels.shape}")
        return float(np.mean(predicted == labels))

    def doubts(self, X: Any) -> list[str]:
        """Reasons to doubt the labels of these signals, found without true labels, one sentence each.

        Parameters
        ----------
        X : signals
            Those of the fit.

        Returns
        -------
        list of str
        """
        self._check_is_fitted()
        signals = self._read(X)
        labels = self.model_.predict_proba(signals._raw)
        return _labelflow.label_warnings(signals._raw, labels, json.dumps(self._config()))

    def rows_to_relabel(self, X: Any, n: int = 100) -> np.ndarray:
        """The rows on which one more vote is expected to correct most labels, the best first.

        A vote gains something only where it may change the label; rows on which none does come after all others, the least certain
        first. The next vote is taken to be right as often as all votes are expected to be under the labels of this model.

        Parameters
        ----------
        X : signals
            Of the same labelers: found by name if they have names, else by position.
        n : int, default=100
            How many rows; all if there are fewer.

        Returns
        -------
        array (at most n,)
            Positions of rows.

        Examples
        --------
        >>> import labelflow
        >>> votes = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [1, 1, 1], [0, 1, -1], [0, 0, 0]]
        >>> labelflow.MajorityVote().fit(votes).rows_to_relabel(votes, n=2)
        array([4, 2])
        """
        self._check_is_fitted()
        if n < 1:
            raise ValueError(f"n: expected at least 1, found {n}")
        signals = self._read(X)
        labels = self.model_.predict_proba(signals._raw, threads_of(self.n_jobs))
        return np.array(_labelflow.rows_to_relabel(signals._raw, labels, min(n, len(labels))), dtype=np.int64)

    @property
    def remark_(self) -> str | None:
        """What there is to know of the fit, in a sentence; :class:`AutoLabelModel` says what it chose and why."""
        self._check_is_fitted()
        return self.model_.remark()

    @property
    def parameters_(self) -> dict[str, Any]:
        """What was learned, as plain numbers."""
        self._check_is_fitted()
        return json.loads(self.model_.to_json())["fitted"]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the file that ``labelflow label --save`` writes.

        Parameters
        ----------
        path : path
        """
        self._check_is_fitted()
        self.model_.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Reads a file that :meth:`save` or ``labelflow label --save`` wrote.

        Parameters
        ----------
        path : path

        Returns
        -------
        label model
            With default parameters: the file holds the fitted model, not the settings of the fit.
        """
        model = RawLabelModel.load(os.fspath(path))
        if model.name != cls._name:
            raise ValueError(f"{os.fspath(path)}: expected the label model {cls._name}, found {model.name}")
        estimator = cls()
        estimator.model_ = model
        estimator.classes_ = class_values(model.classes)
        estimator.labelers_ = model.labelers
        estimator.n_features_in_ = len(model.labelers)
        return estimator

    def _config(self) -> dict[str, Any]:
        """The settings as the Rust type of the same name reads them."""
        config: dict[str, Any] = {"model": self._name}
        for name, default in self._parameter_defaults().items():
            value = getattr(self, name)
            if name not in _COMMON and value is not None:
                config[name] = like(name, value, default if name != "precision" else None)
        if hasattr(self, "random_state"):
            config["seed"] = seed_of(self.random_state)
        return config

    def _known(self, signals: Signals, n_jobs: int | None) -> dict[str, Any]:
        """Bounds or errors of the labelers."""
        if hasattr(self, "bounds"):
            return {"bounds": read_bounds(self.bounds, signals, n_jobs)}
        if not hasattr(self, "errors"):
            return {}
        if isinstance(self.errors, str):
            if self.errors != "auto":
                raise ValueError(f"errors: expected 'auto' or error rates, found {self.errors!r}")
            return {"expected_under": estimate(signals, n_jobs)[1]}
        errors = self.errors
        if isinstance(errors, dict):
            missing = [name for name in signals.labelers_ if name not in errors]
            if missing:
                raise ValueError(f"errors: expected a rate for each labeler, found none for {missing[0]!r}")
            errors = [errors[name] for name in signals.labelers_]
        rates = np.asarray(errors, dtype=np.float64)
        n_labelers = len(signals.labelers_)
        if rates.shape not in ((), (n_labelers,)):
            raise ValueError(f"errors: expected a number or one for each of {n_labelers} labelers, found shape {rates.shape}")
        return {"errors": np.ascontiguousarray(np.broadcast_to(rates, n_labelers))}

    def _read(self, X: Any) -> Signals:
        """Signals to label, with the classes of the fit."""
        if isinstance(X, Signals):
            return X
        return Signals(X, abstain=self.abstain, classes=self.classes_)

    _batch_abstention = "labelled without those of their votes that are not classes"

    def _batch_reader(self, schema: Any, columns: Any) -> BatchVotes:
        return BatchVotes(schema, columns, self.labelers_, self.classes_, self.abstain)

    def _batch_fields(self) -> list[tuple[str, Any]]:
        return class_fields(self.classes_)

    def _batch_columns(self, values: np.ndarray) -> list[Any]:
        if not len(values):
            return class_columns(self.classes_, np.empty((0, len(self.classes_))))
        read = RawSignals.from_int8 if values.dtype == np.int8 else RawSignals.from_int64
        raw = read(values, len(self.classes_)).named(self.labelers_, [str(value) for value in self.classes_.tolist()])
        n_threads = threads_of(self.n_jobs)
        chosen = self.model_.predict(raw, n_threads)
        return class_columns(self.classes_, self.model_.predict_proba(raw, n_threads), chosen)

    def _pack(self, model: Any) -> str:
        return model.to_json()

    def _unpack(self, packed: str) -> RawLabelModel:
        return RawLabelModel.from_json(packed)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.input_tags.allow_nan = True
        return tags
