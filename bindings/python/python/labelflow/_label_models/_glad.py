"""An ability for each labeler and a difficulty for each row."""

from __future__ import annotations

from .._label_model import LabelModel


class Glad(LabelModel):
    """An ability for each labeler and a difficulty for each row.

    J. Whitehill et al., *Whose vote should count more: optimal integration of labels from labelers of unknown expertise*,
    2009.

    Parameters
    ----------
    max_iterations : int, default=1000
        The largest number of EM iterations.
    tolerance : float, default=1e-5
        It stops when no ability changes by as much.
    ability_spread : float, default=1.0
        How much abilities differ: their standard deviation before any vote.
    difficulty_spread : float, default=1.0
        How much rows differ: the standard deviation of the logarithm of their difficulty. At zero all rows are equally
        difficult. At most 10.
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated from the votes alone, the same for all classes, or given.
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
    >>> labelflow.Glad().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "glad"
