"""The label model that the votes ask for."""

from __future__ import annotations

from .._label_model import LabelModel


class AutoLabelModel(LabelModel):
    """The label model that the votes ask for, the default of the command line.

    :class:`HyperLabelModel` where labelers err together, :class:`DawidSkene` where they err independently and rows have
    three votes or more on average, the mean of both where labelers vote for one class each, or seldom. ``remark_`` says
    which and why. An abstention says nothing; a row without a vote gets the class balance.

    Parameters
    ----------
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated by what is chosen, the same for all classes, or given.
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
    >>> labelflow.AutoLabelModel().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "auto"
