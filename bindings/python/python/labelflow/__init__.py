"""Labels with calibrated probabilities from weak supervision.

Votes of rules, models or crowds go in, labels and a classifier come out::

    import labelflow

    signals = labelflow.apply([rule_a, rule_b, rule_c], frame)     # or an array of votes, -1 abstains
    labelflow.analyze(signals)                                     # coverage, overlaps, conflicts
    labels = labelflow.DawidSkene().fit_predict(signals)           # labels without features
    model = labelflow.LabelFlowClassifier().fit(X, signals)        # a classifier on features
    model.predict_proba(X_new)

Rules about means go in, real values come out::

    rules = [labelflow.MeanRule("hour", 12, above=230, below=(130, 170))]
    model = labelflow.LabelFlowRegressor().fit(X, rules, label_range=(0, 1000))
    mean, std = model.predict(X_new, return_std=True)

Complete shapes and partial scans go in, several completions of each scan come out::

    model = labelflow.PointCloudCompleter().fit(shapes, scans)
    clouds = model.complete(scan, 10)
"""

import sys as _sys

from ._batches.bad_rows import BadRows
from ._batches.vote_counter import VoteCounter, count_votes
from ._estimators.adversarial_labels import AdversarialLabels
from ._estimators.generalized_expectation import GeneralizedExpectation
from ._estimators.label_flow_classifier import LabelFlowClassifier
from ._estimators.label_flow_regressor import LabelFlowRegressor
from ._estimators.two_stage_classifier import TwoStageClassifier
from ._inputs.rules import MaskRule, MeanRule, QuantileRule
from ._inputs.signals import Signals
from ._label_models import (
    LABEL_MODELS,
    AdversarialMulticlass,
    AutoLabelModel,
    AverageSignals,
    ConstrainedLabels,
    DataProgramming,
    DawidSkene,
    FlyingSquid,
    Glad,
    HyperLabelModel,
    Mace,
    MajorityVote,
    MeTaL,
    MinimaxEntropy,
    PerformanceGuaranteedVote,
    SnorkelLabelModel,
    label_model,
)
from ._labelflow import (
    ConfigError,
    DataError,
    DeviceError,
    FormatError,
    TrainingError,
    __version__,
)
from ._labeling_functions.analysis import analyze, krippendorff_alpha
from ._labeling_functions.labeling_function import (
    ABSTAIN,
    LabelingFunction,
    LabelingFunctionError,
    Row,
    apply,
    labeling_function,
)
from ._messages.errors import NotFittedError
from ._messages.warnings import DataWarning
from ._point_cloud_completer import PointCloudCompleter

# Pickles of labelflow 0.1 name the modules in which their classes were then.
for _name, _public in {
    "_adversarial_labels": AdversarialLabels,
    "_bad_rows": BadRows,
    "_errors": NotFittedError,
    "_generalized_expectation": GeneralizedExpectation,
    "_label_flow_classifier": LabelFlowClassifier,
    "_label_flow_regressor": LabelFlowRegressor,
    "_labeling": LabelingFunctionError,
    "_rules": MeanRule,
    "_signals": Signals,
    "_two_stage_classifier": TwoStageClassifier,
    "_vote_counter": VoteCounter,
}.items():
    _sys.modules[f"{__name__}.{_name}"] = _sys.modules[_public.__module__]

# Label models that have no documented class, too.
globals().update({Model.__name__: Model for Model in LABEL_MODELS.values()})

__all__ = [
    "ABSTAIN",
    "LABEL_MODELS",
    "AdversarialLabels",
    "AdversarialMulticlass",
    "AutoLabelModel",
    "AverageSignals",
    "BadRows",
    "ConfigError",
    "ConstrainedLabels",
    "DataError",
    "DataWarning",
    "DataProgramming",
    "DawidSkene",
    "DeviceError",
    "FlyingSquid",
    "HyperLabelModel",
    "FormatError",
    "GeneralizedExpectation",
    "Glad",
    "LabelFlowClassifier",
    "LabelFlowRegressor",
    "LabelingFunction",
    "LabelingFunctionError",
    "Mace",
    "MajorityVote",
    "MaskRule",
    "MeTaL",
    "MeanRule",
    "MinimaxEntropy",
    "NotFittedError",
    "PerformanceGuaranteedVote",
    "PointCloudCompleter",
    "QuantileRule",
    "Row",
    "Signals",
    "SnorkelLabelModel",
    "TrainingError",
    "TwoStageClassifier",
    "VoteCounter",
    "__version__",
    "analyze",
    "apply",
    "count_votes",
    "krippendorff_alpha",
    "label_model",
    "labeling_function",
]
