"""One accuracy per labeler, the same for all classes."""

from __future__ import annotations

from .._label_model import LabelModel


class DataProgramming(LabelModel):
    """One accuracy per labeler, the same for all classes.

    A. Ratner et al., *Data programming: creating large training sets, quickly*, 2016.

    Parameters
    ----------
    coverage : {"separate", "coupled"}, default="separate"
        Whether a labeler's coverage and accuracy have separate parameters or share one.
    accuracies : {"chosen", "per-labeler", "per-class"}, default="chosen"
        One accuracy for each labeler, or one for each class too; "chosen": by the votes. Published: "per-labeler".
    prior_votes : float, default=20.0
        So many votes of each labeler are taken to be right 7 times in 10, and all votes of labelers of one class;
        published: 0. Not in the coupled form.
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated from the votes alone, the same for all classes, or given.
    max_iterations : int, default=1000
        The largest number of EM iterations, or of gradient steps.
    tolerance : float, default=1e-8
        It stops when no parameter changes by more, or no entry of the gradient is larger.
    regularization : float, default=0.1
        The strength of the regularization of the weights towards one, in the coupled form only.
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
    >>> labelflow.DataProgramming().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "data-programming"
