"""Fitted classifiers other than flows, as one JSON file."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from typing import Any

import numpy as np

from .. import _labelflow
from .._inputs.settings import plain
from .._labelflow import FeatureClassifier as RawClassifier
from .._labelflow import FormatError
from .feature_classifier import FeatureClassifier

#: Format 1 had no hash.
_FORMAT = 2


class SavedClassifier(FeatureClassifier):
    """A classifier whose fitted model is numbers in JSON, in a file and in a pickle."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the classifier as one JSON file, replacing one that is there.

        Parameters
        ----------
        path : path
        """
        self._check_is_fitted()
        contents = {
            "format": _FORMAT,
            "labelflow": _labelflow.__version__,
            "estimator": type(self).__name__,
            "classes": self.classes_.tolist(),
            "labelers": self.labelers_,
            "n_features": self.n_features_in_,
            "features": plain(getattr(self, "feature_names_in_", None)),
            "fitted": json.loads(self.model_.to_json()),
        }
        _write_whole(os.fspath(path), json.dumps({**contents, "sha256": _hash_of(contents)}) + "\n")

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Any:
        """Reads a file that :meth:`save` wrote.

        Parameters
        ----------
        path : path

        Returns
        -------
        classifier
            With default parameters: the file holds the fitted model, not the settings of the fit.
        """
        place = os.fspath(path)
        with open(place, encoding="utf-8") as file:
            try:
                contents = json.load(file)
                if contents["format"] > _FORMAT or contents["estimator"] != cls.__name__:
                    found = f"{contents['estimator']}, format {contents['format']}"
                    raise FormatError(f"{place}: expected {cls.__name__}, format {_FORMAT} or earlier, found {found}")
                sha256 = contents.pop("sha256", None)
                if contents["format"] > 1 and sha256 != _hash_of(contents):
                    found = "another one: a value was changed, added or removed"
                    raise FormatError(f"{place}: expected values with sha256 {sha256}, as they were saved, found {found}")
                estimator = cls()
                estimator.model_ = RawClassifier.from_json(json.dumps(contents["fitted"]))
                estimator.classes_ = np.array(contents["classes"])
                estimator.labelers_ = contents["labelers"]
                estimator.n_features_in_ = contents["n_features"]
                if contents["features"] is not None:
                    estimator.feature_names_in_ = np.array(contents["features"], dtype=object)
            except (ValueError, KeyError, TypeError) as error:
                if isinstance(error, FormatError):
                    raise
                raise FormatError(f"{place}: expected a classifier of labelflow, found {error!r}") from error
        return estimator

    def _pack(self, model: RawClassifier) -> str:
        return model.to_json()

    def _unpack(self, packed: str) -> RawClassifier:
        return RawClassifier.from_json(packed)


def _hash_of(contents: dict[str, Any]) -> str:
    """The SHA-256 of all values, however they are written."""
    return hashlib.sha256(json.dumps(contents, sort_keys=True).encode()).hexdigest()


def _write_whole(path: str, text: str) -> None:
    """Writes a temporary file and renames it, so that a crash leaves the old or the new one."""
    folder = os.path.dirname(path) or "."
    handle, partial = tempfile.mkstemp(dir=folder, prefix=os.path.basename(path), suffix=".partial")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
