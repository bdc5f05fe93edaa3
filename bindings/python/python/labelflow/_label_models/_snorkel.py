"""Snorkel's label model: accuracies from how often votes occur together."""

from __future__ import annotations

from .._label_model import LabelModel


class SnorkelLabelModel(LabelModel):
    """Snorkel's label model: accuracies from how often votes occur together.

    With the class balance, the scale of the start and the settings of Snorkel, its numbers are Snorkel's. Needs three
    labelers.

    Parameters
    ----------
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated from the votes alone, the same for all classes, or given. (Snorkel: "uniform"
        unless given.)
    n_epochs : int, default=100
        Number of full-batch gradient steps.
    learning_rate : float, default=0.01
        The step size.
    schedule : {"constant", "linear"} or dict, default="constant"
        How the learning rate falls; ``{"exponential": {"factor": 0.9}}`` and
        ``{"step": {"factor": 0.9, "every": 5}}`` are dicts.
    warm_up_epochs : int, default=0
        Epochs over which the learning rate rises from zero.
    min_learning_rate : float, default=0.0
        The lower limit of the learning rate.
    momentum : float, default=0.9
        The momentum of the gradient steps.
    l2 : float, default=0.0
        As in Snorkel: its square regularizes towards the initial guess, and the value itself is a decay towards zero.
    precision : float or sequence of float, default=0.7
        The initial guess of the accuracy of each labeler's votes.
    rate_margin : float, default=None
        The distance that rates keep from 0 and 1. None: one over the number of rows, rounded down to a power of ten.
    tempered : bool, default=True
        Whether labels are made less sure where the votes show that labelers err together; published: False.
    init_scale : float, default=1.0
        The factor on the initial guess. None, as in Snorkel: drawn between 0 and 1.
    random_state : int, generator of numpy or None, default=0
        The seed of random draws.
    abstain : {"minus_one", "zero", "missing", "signed", "detect"}, default="minus_one"
        How an abstention is written in votes that are numbers, see :class:`Signals`.
    classes : sequence, default=None
        The classes in order; None: as found in the votes.
    n_jobs : int, default=None
        Number of threads; None or -1: one per core. Results do not depend on it.

    Attributes
    ----------
    classes_ : array (n_classes,)
        The classes.
    labelers_ : list of str
        The labelers.
    parameters_ : dict
        The fitted parameters.

    Examples
    --------
    >>> import labelflow
    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1]]
    >>> labelflow.SnorkelLabelModel().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "snorkel"
