"""The label models: one documented class each, with the name of the Rust type.

The compiled module knows names, settings and defaults. A label model that has no file here has a class as well, made from
what the module knows.
"""

from __future__ import annotations

from typing import Any

from .._label_model import REGISTRY, LabelModel, parameters
from ._adversarial_multiclass import AdversarialMulticlass
from ._auto import AutoLabelModel
from ._average import AverageSignals
from ._constrained_labels import ConstrainedLabels
from ._data_programming import DataProgramming
from ._dawid_skene import DawidSkene
from ._flying_squid import FlyingSquid
from ._glad import Glad
from ._hyper import HyperLabelModel
from ._mace import Mace
from ._majority_vote import MajorityVote
from ._metal import MeTaL
from ._minimax_entropy import MinimaxEntropy
from ._performance_guaranteed_vote import PerformanceGuaranteedVote
from ._snorkel import SnorkelLabelModel


def made_class(name: str) -> type[LabelModel]:
    """The class of a label model without a file of its own."""
    lines = [f"The label model ``{name}``.", "", "Parameters", "----------"]
    for parameter, default in parameters(name).items():
        lines += [f"{parameter} : default={default!r}", "    As in the other label models, or a setting of the method."]
    members = {"_name": name, "__doc__": "\n".join(lines), "__module__": __name__}
    return type(REGISTRY[name]["class"], (LabelModel,), members)


_documented = {Model._name: Model for Model in LabelModel.__subclasses__()}
#: All of them, by their names on the command line.
LABEL_MODELS: dict[str, type[LabelModel]] = {name: _documented.get(name) or made_class(name) for name in REGISTRY}
# By name, so that they can be pickled.
globals().update({Model.__name__: Model for Model in LABEL_MODELS.values()})


def label_model(name: str, **settings: Any) -> LabelModel:
    """The label model with this name.

    Parameters
    ----------
    name : str
        As on the command line, one of ``LABEL_MODELS``.
    **settings
        Parameters of its class.

    Returns
    -------
    label model

    Examples
    --------
    >>> import labelflow
    >>> labelflow.label_model("dawid-skene", smoothing=1.0)
    DawidSkene(smoothing=1.0)
    """
    if name not in LABEL_MODELS:
        raise ValueError(f"model: expected one of {', '.join(LABEL_MODELS)}, found {name!r}")
    return LABEL_MODELS[name](**settings)


__all__ = [
    "LABEL_MODELS",
    "AdversarialMulticlass",
    "AverageSignals",
    "ConstrainedLabels",
    "DataProgramming",
    "DawidSkene",
    "FlyingSquid",
    "Glad",
    "HyperLabelModel",
    "LabelModel",
    "Mace",
    "MajorityVote",
    "MeTaL",
    "MinimaxEntropy",
    "PerformanceGuaranteedVote",
    "SnorkelLabelModel",
    "label_model",
]
