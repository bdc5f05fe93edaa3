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

from ._adversarial_labels import AdversarialLabels
from ._analysis import analyze
from ._bad_rows import BadRows
from ._errors import NotFittedError
from ._generalized_expectation import GeneralizedExpectation
from ._label_flow_classifier import LabelFlowClassifier
from ._label_flow_regressor import LabelFlowRegressor
from ._label_models import (
    LABEL_MODELS,
    AdversarialMulticlass,
    AverageSignals,
    ConstrainedLabels,
    DataProgramming,
    DawidSkene,
    FlyingSquid,
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
from ._labeling import ABSTAIN, LabelingFunction, LabelingFunctionError, Row, apply, labeling_function
from ._point_cloud_completer import PointCloudCompleter
from ._rules import MaskRule, MeanRule, QuantileRule
from ._signals import Signals
from ._two_stage_classifier import TwoStageClassifier
from ._vote_counter import VoteCounter, count_votes

# Label models that have no documented class, too.
globals().update({Model.__name__: Model for Model in LABEL_MODELS.values()})

__all__ = [
    "ABSTAIN",
    "LABEL_MODELS",
    "AdversarialLabels",
    "AdversarialMulticlass",
    "AverageSignals",
    "BadRows",
    "ConfigError",
    "ConstrainedLabels",
    "DataError",
    "DataProgramming",
    "DawidSkene",
    "DeviceError",
    "FlyingSquid",
    "FormatError",
    "GeneralizedExpectation",
    "LabelFlowClassifier",
    "LabelFlowRegressor",
    "LabelingFunction",
    "LabelingFunctionError",
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
    "label_model",
    "labeling_function",
]
