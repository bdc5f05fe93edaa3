"""The label models, one file each, with the names and settings of the Rust types."""

from __future__ import annotations

from .._label_model import LabelModel
from ._adversarial_multiclass import AdversarialMulticlass
from ._average import AverageSignals
from ._constrained_labels import ConstrainedLabels
from ._data_programming import DataProgramming
from ._dawid_skene import DawidSkene
from ._flying_squid import FlyingSquid
from ._majority_vote import MajorityVote
from ._metal import MeTaL
from ._minimax_entropy import MinimaxEntropy
from ._performance_guaranteed_vote import PerformanceGuaranteedVote
from ._snorkel import SnorkelLabelModel

#: All of them, by their names on the command line.
LABEL_MODELS: dict[str, type[LabelModel]] = {
    "majority-vote": MajorityVote,
    "average": AverageSignals,
    "dawid-skene": DawidSkene,
    "data-programming": DataProgramming,
    "flying-squid": FlyingSquid,
    "minimax-entropy": MinimaxEntropy,
    "metal": MeTaL,
    "snorkel": SnorkelLabelModel,
    "performance-guaranteed-vote": PerformanceGuaranteedVote,
    "adversarial-multiclass": AdversarialMulticlass,
    "constrained-labels": ConstrainedLabels,
}

__all__ = [
    "LABEL_MODELS",
    "AdversarialMulticlass",
    "AverageSignals",
    "ConstrainedLabels",
    "DataProgramming",
    "DawidSkene",
    "FlyingSquid",
    "LabelModel",
    "MajorityVote",
    "MeTaL",
    "MinimaxEntropy",
    "PerformanceGuaranteedVote",
    "SnorkelLabelModel",
]
