"""What all estimators share: scikit-learn's conventions, without scikit-learn."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from .._inputs.features import read_like_fitted
from .._messages.errors import not_fitted


class Estimator:
    """Parameters by name, a representation that shows those that differ from the defaults, and pickling as plain data.

    Subclasses are dataclasses, whose fields are the parameters, or write their constructor themselves.

    scikit-learn is not imported, but its `clone`, pipelines, searches and checks work.
    """

    _estimator_type: str | None = "classifier"
    model_: Any
    classes_: np.ndarray
    labelers_: list[str]
    n_features_in_: int

    @classmethod
    def _parameter_defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls.__init__).parameters.values()
        return {p.name: p.default for p in parameters if p.name != "self"}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Also those of parameters that are estimators, as ``name__parameter``.

        Returns
        -------
        dict
        """
        parameters = {}
        for name in self._parameter_defaults():
            value = getattr(self, name)
            parameters[name] = value
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                inner = value.get_params(deep=True)
                parameters.update({f"{name}__{key}": item for key, item in inner.items()})
        return parameters

    def set_params(self, **params: Any) -> Any:
        """Sets parameters by name; ``name__parameter`` sets a parameter of a parameter that is an estimator.

        Returns
        -------
        self
        """
        known = self._parameter_defaults()
        inner: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, _, rest = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. "
                    f"Valid parameters are: {sorted(known)!r}."
                )
            if rest:
                inner.setdefault(name, {})[rest] = value
            else:
                setattr(self, name, value)
        for name, values in inner.items():
            getattr(self, name).set_params(**values)
        return self

    def __repr__(self) -> str:
        shown = []
        for name, default in self._parameter_defaults().items():
            value = getattr(self, name, default)
            same = value is default or (type(value) is type(default) and not _differs(value, default))
            if not same:
                shown.append(f"{name}={value!r}")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, multi_output=False),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def _check_is_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted(self)

    def _read(self, X: Any) -> np.ndarray:
        """The features to predict, with the columns of the fit."""
        self._check_is_fitted()
        return read_like_fitted(self, X)

    def _set_model(self, model: Any) -> None:
        """Keeps the fitted model."""
        self.model_ = model

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        model = state.pop("model_", None)
        if model is not None:
            state["_packed"] = self._pack(model)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        packed = state.pop("_packed", None)
        # Parameters that are younger than the pickle have their defaults.
        self.__dict__.update({**self._parameter_defaults(), **state})
        if packed is not None:
            self.model_ = self._unpack(packed)

    def _pack(self, model: Any) -> Any:
        """The compiled model as bytes or text without code in it."""
        raise NotImplementedError

    def _unpack(self, packed: Any) -> Any:
        raise NotImplementedError


def _differs(value: Any, default: Any) -> bool:
    return bool(np.any(np.asarray(value != default)))
