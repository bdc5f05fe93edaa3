"""Labels under which labelers err as often as their bounds say."""

from __future__ import annotations

from .._label_model import LabelModel


class ConstrainedLabels(LabelModel):
    """Labels under which labelers err as often as their bounds say.

    C. Arachie and B. Huang, *Constrained labeling for weakly supervised learning*, 2021.

    Parameters
    ----------
    bounds : "auto", float, array or dict, default="auto"
        How often each labeler may err: one number, (n_labelers,), (n_labelers, n_classes), or a dict by labeler name.
        "auto" estimates them from agreement between the labelers.
    n_steps : int, default=300
        Adagrad steps from each start.
    n_trials : int, default=3
        Random starts whose labels are averaged.
    single_start : bool, default=False
        Whether all trials begin with the same labels, as in the authors' code; only one is run.
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
    >>> labelflow.ConstrainedLabels().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "constrained-labels"
