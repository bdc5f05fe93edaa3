"""Each labeler is right with one probability of its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._label_model import LabelModel


class DataProgramming(LabelModel):
    """Each labeler is right with one probability of its own.

    A. Ratner et al., *Data programming: creating large training sets, quickly*, 2016.

    Parameters
    ----------
    coverage : {"separate", "coupled"}, default="separate"
        How coverage enters the model.
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        How common each class is: estimated from the votes alone, the same for all, or given.
    max_iterations : int, default=1000
        The most rounds of expectation and maximisation, or steps along the gradient.
    tolerance : float, default=1e-8
        It stops when no parameter changes by as much, or no entry of the gradient is larger.
    regularization : float, default=0.1
        The pull of the weights towards one, in the coupled form only.
    abstain : {"minus_one", "zero", "missing", "signed", "detect"}, default="minus_one"
        What abstains in votes that are numbers, see :class:`Signals`.
    classes : sequence, default=None
        The classes in order; None: as found in the votes.
    n_jobs : int, default=None
        Number of threads; None or -1: one a core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes.
    labelers_ : list of str
        The labelers.
    parameters_ : dict
        What was learned.

    Examples
    --------
    >>> import labelflow
    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1]]
    >>> labelflow.DataProgramming().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "data-programming"

    def __init__(
        self,
        *,
        coverage: str = "separate",
        class_balance: Any = "estimated",
        max_iterations: int = 1000,
        tolerance: float = 1e-8,
        regularization: float = 0.1,
        abstain: str = "minus_one",
        classes: Sequence[Any] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.coverage = coverage
        self.class_balance = class_balance
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.regularization = regularization
        self.abstain = abstain
        self.classes = classes
        self.n_jobs = n_jobs
