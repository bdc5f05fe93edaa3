"""Planted problems for all tests."""

import numpy as np
import pytest


class Planted:
    """Gaussian classes, and labelers that err independently and abstain at random."""

    def __init__(self, n_rows=300, n_classes=2, n_labelers=5, accuracy=0.75, coverage=0.7, seed=0):
        rng = np.random.default_rng(seed)
        self.truth = rng.integers(0, n_classes, n_rows)
        self.X = rng.normal(size=(n_rows, 3)).astype(np.float32)
        self.X[:, 0] += 2.5 * self.truth
        wrong = rng.integers(1, n_classes, (n_rows, n_labelers))
        is_wrong = rng.random((n_rows, n_labelers)) > accuracy
        votes = (self.truth[:, None] + is_wrong * wrong) % n_classes
        votes[rng.random((n_rows, n_labelers)) > coverage] = -1
        self.votes = votes


@pytest.fixture(scope="session")
def planted():
    return Planted()


@pytest.fixture(scope="session")
def planted3():
    return Planted(n_classes=3, accuracy=0.7)


def quick(**parameters):
    """A flow that trains in a moment."""
    from labelflow import LabelFlowClassifier

    return LabelFlowClassifier(
        **{"max_epochs": 60, "learning_rate": 5e-3, "n_steps": 2, "d_hidden": 16, **parameters}
    )
