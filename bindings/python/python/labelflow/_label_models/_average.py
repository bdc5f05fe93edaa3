"""The mean of the probabilities that labelers give."""

from __future__ import annotations

from .._label_model import LabelModel


class AverageSignals(LabelModel):
    """The mean of the probabilities that labelers give.

    Votes count as probabilities of 0 and 1.

    Parameters
    ----------
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
    >>> labelflow.AverageSignals().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "average"
