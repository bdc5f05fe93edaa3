"""The exception that the extension does not define, and how it is raised."""

from __future__ import annotations

import sys


class NotFittedError(ValueError, AttributeError):
    """A model is used before it was fitted.

    Where scikit-learn is in use, it is also scikit-learn's exception of the same name.
    """


def not_fitted(estimator: object) -> NotFittedError:
    """The exception to raise when `estimator` was not fitted."""
    text = (
        f"This {type(estimator).__name__} instance is not fitted yet. "
        "Call 'fit' with appropriate arguments before using this estimator."
    )
    theirs = sys.modules.get("sklearn.exceptions")
    if theirs is None:
        return NotFittedError(text)
    both = type("NotFittedError", (NotFittedError, theirs.NotFittedError), {"__module__": __name__})
    return both(text)
