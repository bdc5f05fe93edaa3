"""Labelers have confusion matrices, and so have rows."""

from __future__ import annotations

from .._label_model import LabelModel


class MinimaxEntropy(LabelModel):
    """Labelers have confusion matrices, and so have rows.

    D. Zhou et al., *Learning from the wisdom of crowds by minimax entropy*, 2012.

    Parameters
    ----------
    labeler_penalty : float, default=None
        The penalty on the labelers' parameters. None: a quarter of the squared number of classes.
    row_penalty : float, default=None
        The penalty on the rows' parameters. None: that of the labelers times the mean number of votes per labeler,
        over the mean number of votes per row.
    prior_accuracy : float, default=0.7
        How often votes are right before anything is learned, and those of labelers of one class; published: 0, for chance.
    abstentions : {"silence", "answer"}, default="silence"
        Whether abstentions say nothing or are one more answer, for every labeler.
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated from the votes alone, the same for all classes, or given.
    max_iterations : int, default=50
        The largest number of rounds.
    tolerance : float, default=5e-3
        The change of the labels below which it stops.
    inner_iterations : int, default=25
        The largest number of L-BFGS steps for one labeler or row, in each round.
    inner_tolerance : float, default=1e-3
        The largest entry of the gradient at which L-BFGS stops.
    tempered : bool, default=True
        Whether labels are made less sure where the votes show that labelers err together; published: False.
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
    >>> votes = 5 * [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1]] + 3 * [[0, 0, 0]]
    >>> labelflow.MinimaxEntropy().fit(votes).predict(votes[:6])
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "minimax-entropy"
