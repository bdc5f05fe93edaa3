"""Accuracies from triplets of labelers, in closed form."""

from __future__ import annotations

from .._label_model import LabelModel


class FlyingSquid(LabelModel):
    """Accuracies from triplets of labelers, in closed form.

    D. Fu et al., *Fast and three-rious: speeding up weak supervision with triplet methods*, 2020. Needs three
    labelers.

    Parameters
    ----------
    triplets : {"pooled", "mean", "median"}, default="pooled"
        How the estimates of a labeler's triplets are combined; published: "mean".
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated from the votes alone, the same for all classes, or given.
    negative_probabilities : {"bounded", "absolute", "clamped"}, default="bounded"
        How negative estimates of probabilities are treated; published: "absolute".
    one_versus_rest : {"shares", "softmax"}, default="shares"
        How classes are combined when there are more than two; published: "softmax".
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
    >>> labelflow.FlyingSquid().fit(votes).predict(votes[:6])
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "flying-squid"
