"""The mixture of labelers whose worst case is best."""

from __future__ import annotations

from .._label_model import LabelModel


class AdversarialMulticlass(LabelModel):
    """The mixture of labelers whose worst case is best.

    A. Mazzetto et al., *Adversarial multi class learning under weak supervision with performance guarantees*, 2021.

    Parameters
    ----------
    errors : "auto", float, sequence of float or dict, default="auto"
        The share of each labeler's votes that are wrong: one number, one per labeler, or a dict by labeler name.
        "auto" estimates them from agreement between the labelers.
    n_steps : int, default=500
        Steps of projected subgradient descent.
    n_labelled_rows : int, default=None
        The number of labelled rows on which the errors were measured: the given errors may then differ from the true
        ones by sampling error.
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
    >>> labelflow.AdversarialMulticlass().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "adversarial-multiclass"
