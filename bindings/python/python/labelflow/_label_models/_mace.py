"""Each labeler is competent or votes by habit."""

from __future__ import annotations

from .._label_model import LabelModel


class Mace(LabelModel):
    """Each labeler is competent or votes by habit.

    D. Hovy et al., *Learning whom to trust with MACE*, 2013.

    Parameters
    ----------
    max_iterations : int, default=1000
        The largest number of rounds after the starts were compared.
    tolerance : float, default=1e-6
        It stops when no competence changes by as much.
    n_starts : int, default=10
        The number of starts, of which the first has no randomness.
    prior_votes : float, default=20.0
        So many votes of each labeler are taken to be right 7 times in 10, and all votes of labelers of one class;
        published: 0.
    habit_votes : float, default=10.0
        So many votes for each class every labeler is taken to have cast out of habit.
    class_balance : {"estimated", "uniform"} or sequence of float, default="estimated"
        The class balance: estimated from the votes alone, the same for all classes, or given. (Published: "uniform".)
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
    >>> labelflow.Mace().fit_predict(votes)
    array([0, 1, 0, 1, 0, 1])
    """

    _name = "mace"
