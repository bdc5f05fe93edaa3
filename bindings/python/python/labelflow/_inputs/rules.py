"""Rules about real-valued labels: as users write them, and as the extension reads them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

#: A number, or a lower and an upper end.
Value = Union[float, "tuple[float, float]"]


@dataclass(frozen=True)
class MeanRule:
    """The mean of the labels where a feature is at least a threshold, and where it is below it.

    Parameters
    ----------
    feature : str or int
        The column, by name or position.
    threshold : float
        In the feature's own units.
    above, below : float, (float, float) or None, default=None
        The mean at or above the threshold, and below it: a number, a lower and an upper end, or None for no claim.

    Examples
    --------
    >>> from labelflow import MeanRule
    >>> MeanRule("hour", 12, above=230, below=(130, 170))
    MeanRule(feature='hour', threshold=12, above=230, below=(130, 170))
    """

    feature: str | int
    threshold: float
    above: Value | None = None
    below: Value | None = None


@dataclass(frozen=True)
class QuantileRule:
    """A quantile of the labels where a feature is at least a threshold, and where it is below it.

    Parameters
    ----------
    feature : str or int
        The column, by name or position.
    threshold : float
        In the feature's own units.
    level : float
        The share of the labels below the quantile; 0.5 is the median.
    above, below : float, (float, float) or None, default=None
        The quantile at or above the threshold, and below it: a number, a lower and an upper end, or None for no claim.

    Examples
    --------
    >>> from labelflow import QuantileRule
    >>> QuantileRule("hour", 17, level=0.9, above=600)
    QuantileRule(feature='hour', threshold=17, level=0.9, above=600, below=None)
    """

    feature: str | int
    threshold: float
    level: float
    above: Value | None = None
    below: Value | None = None


@dataclass(frozen=True, eq=False)
class MaskRule:
    """The mean of the labels of given rows.

    Parameters
    ----------
    mask : array (n_rows,) of bool
        The rows that the rule is about.
    mean : float or (float, float)
        Their mean: a number, or a lower and an upper end.
    name : str, default=None
        The name of the rule in messages.

    Examples
    --------
    >>> from labelflow import MaskRule
    >>> MaskRule([True, True, False], mean=(20, 30), name="weekends")
    MaskRule(mask=[True, True, False], mean=(20, 30), name='weekends')
    """

    mask: Any
    mean: Value
    name: str | None = None


Rule = (MeanRule, QuantileRule, MaskRule)
#: The name of a rule, or None to name it after its region; the region; the claim.
_Read = tuple[str | None, dict[str, Any], dict[str, Any]]


def are_rules(value: Any) -> bool:
    """Whether it is a rule or a list that starts with one; true labels never are."""
    if isinstance(value, (list, tuple)):
        return len(value) > 0 and isinstance(value[0], Rule)
    return isinstance(value, Rule)


def read_rules(rules: Any, n_features: int, names: list[str] | None) -> list[_Read]:
    """Rules as the extension reads them, one for each side of a threshold with a claim."""
    rules = [rules] if isinstance(rules, Rule) else rules
    if isinstance(rules, (str, bytes, dict)) or not hasattr(rules, "__iter__"):
        raise TypeError(f"rules: expected a list of MeanRule, QuantileRule or MaskRule, found {type(rules).__name__}")
    read = []
    for place, rule in enumerate(rules):
        where = f"rules[{place}]"
        if isinstance(rule, MaskRule):
            read.append(_mask_rule(rule, where))
        elif isinstance(rule, (MeanRule, QuantileRule)):
            read += _threshold_rules(rule, where, n_features, names)
        else:
            raise TypeError(f"{where}: expected a MeanRule, QuantileRule or MaskRule, found {rule!r}")
    return read


def _threshold_rules(
    rule: MeanRule | QuantileRule, where: str, n_features: int, names: list[str] | None
) -> list[_Read]:
    if rule.above is None and rule.below is None:
        raise ValueError(f"{where}: expected a claim above or below the threshold, found none")
    side = {
        "feature": _feature_name(rule.feature, f"{where}.feature", n_features, names),
        "threshold": _number(rule.threshold, f"{where}.threshold"),
    }
    statistic: Any = "mean"
    if isinstance(rule, QuantileRule):
        statistic = {"quantile": _number(rule.level, f"{where}.level")}
    read = []
    for region, name in (("at_least", "above"), ("below", "below")):
        value = getattr(rule, name)
        if value is not None:
            claim = _claim(value, statistic, f"{where}.{name}")
            read.append((None, {region: side}, claim))
    return read


def _mask_rule(rule: MaskRule, where: str) -> _Read:
    mask = np.asarray(rule.mask)
    if mask.ndim != 1 or mask.dtype != bool:
        found = f"shape {mask.shape} of {mask.dtype}"
        raise ValueError(f"{where}.mask: expected one True or False for each row, found {found}")
    claim = _claim(rule.mean, "mean", f"{where}.mean")
    name = None if rule.name is None else str(rule.name)
    return name, {"rows": mask.tolist()}, claim


def _feature_name(feature: Any, where: str, n_features: int, names: list[str] | None) -> str:
    """The name of a column; the extension calls columns without names x0, x1, …"""
    if isinstance(feature, str):
        return feature
    if not isinstance(feature, (int, np.integer)) or isinstance(feature, bool):
        raise TypeError(f"{where}: expected the name or the position of a column, found {feature!r}")
    if not 0 <= feature < n_features:
        raise ValueError(f"{where}: expected a position from 0 to {n_features - 1}, found {feature}")
    return f"x{feature}" if names is None else names[feature]


def _claim(value: Any, statistic: Any, where: str) -> dict[str, Any]:
    if isinstance(value, (tuple, list, np.ndarray)) and np.ndim(value) == 1:
        if len(value) != 2:
            raise ValueError(f"{where}: expected a number or a lower and an upper one, found {value!r}")
        lower, upper = (_number(end, where) for end in value)
    else:
        lower = upper = _number(value, where)
    return {"statistic": statistic, "lower": lower, "upper": upper}


def _number(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"{where}: expected a number, found {value!r}")
    if not math.isfinite(value):
        raise ValueError(f"{where}: expected a finite number, found {value}")
    return float(value)


def read_range(label_range: Any) -> tuple[float, float] | None:
    """The lowest and the highest label, or None if they are not given."""
    if label_range is None:
        return None
    if np.ndim(label_range) != 1 or len(label_range) != 2:
        raise ValueError(f"label_range: expected the lowest and the highest label, found {label_range!r}")
    lower, upper = (_number(end, "label_range") for end in label_range)
    return lower, upper
