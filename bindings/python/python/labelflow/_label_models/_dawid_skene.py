"""One confusion matrix per labeler, estimated by expectation maximisation."""

from __future__ import annotations

from .._label_model import LabelModel


class DawidSkene(LabelModel):
    """One confusion matrix per labeler, estimated by expectation maximisation.

    A. P. Dawid and A. M. Skene, *Maximum likelihood estimation of observer error-rates using the EM algorithm*, 1979.

    Parameters
    ----------
    max_iterations : int, default=10000
        The largest number of EM iterations.
    tolerance : float, default=1e-5
        The sum of absolute changes of the parameters below which it stops.
    smoothing : float, default=0.01
        Added to each count of answers, so that an answer not seen in the fit is unlikely but not impossible.
    abstentions : {"silence", "automatic", "ignored", "answer"}, default="silence"
        Whether abstentions say nothing or count as one more answer: "automatic" for labelers of one class only, which
        "silence" counts as right 7 times in 10.
    prior_votes : float, default=20.0
        So many votes of each labeler in each class are taken to be right as often as all of its votes; published: 0.
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated from the votes alone, the same for all classes, or given.
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
    >>> votes = [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1]]
    >>> labelflow.DawidSkene().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "dawid-skene"
