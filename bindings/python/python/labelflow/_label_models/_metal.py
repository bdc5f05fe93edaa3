"""Accuracies from how often votes occur together; labelers may depend on each other."""

from __future__ import annotations

from .._label_model import LabelModel


class MeTaL(LabelModel):
    """Accuracies from how often votes occur together; labelers may depend on each other.

    A. Ratner et al., *Training complex models with multi-task weak supervision*, 2019. Needs three labelers.

    Parameters
    ----------
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated from the votes alone, the same for all classes, or given.
    dependencies : sequence of pairs of int, default=()
        Labelers, counted from 0, that depend on each other beyond the true class.
    n_epochs : int, default=1000
        Number of full-batch gradient steps.
    learning_rate : float, default=0.01
        The step size.
    momentum : float, default=0.9
        The momentum of the gradient steps.
    l2 : float, default=0.3
        The strength of the regularization towards the initial guess; published: 0.
    rate_margin : float, default=None
        The distance that rates keep from 0 and 1. None: a tenth of how often the labeler casts the vote, at most 0.01;
        published: 0.01.
    tempered : bool, default=True
        Whether labels are made less sure where the votes show that labelers err together; published: False.
    init_scale : float, default=None
        The factor on the initial guess. None: drawn between 0 and 1.
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
    >>> labelflow.MeTaL().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "metal"
