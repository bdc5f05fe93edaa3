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


class PlantedValues:
    """A function of the features with some noise, and the means that an expert knows of it."""

    label_range = (0.0, 20.0)

    def __init__(self, n_rows=300, seed=0):
        from labelflow import MeanRule

        rng = np.random.default_rng(seed)
        self.X = rng.normal(size=(n_rows, 3)).astype(np.float32)
        signal = 10.0 + 3.0 * self.X[:, 0] - 1.5 * self.X[:, 1]
        self.truth = np.clip(signal + rng.normal(size=n_rows), *self.label_range)
        self.rules = []
        for place in range(3):
            above = self.X[:, place] >= 0.0
            means = (round(float(self.truth[side].mean()), 1) for side in (above, ~above))
            self.rules.append(MeanRule(place, 0.0, *((mean - 0.2, mean + 0.2) for mean in means)))


class PlantedTables:
    """Tables with tops and four legs, in millimetres and far away on a map, and scans of others that lack their legs."""

    def __init__(self, n_shapes=10, n_points=120, seed=0):
        rng = np.random.default_rng(seed)
        made = [self.table(rng, n_points) for _ in range(n_shapes)]
        self.shapes = [points for points, _ in made]
        self.parts = [parts for _, parts in made]
        others = [self.table(rng, n_points) for _ in range(6)]
        self.scans = [points[parts == 0] for points, parts in others]

    @staticmethod
    def table(rng, n_points):
        width, depth, height = rng.uniform([800, 500, 400], [2000, 1000, 800])
        parts = np.sort(rng.integers(0, 5, n_points))
        points = rng.uniform(-0.5, 0.5, (n_points, 3)) * [width, depth, 20] + [0, 0, height]
        for leg, (x, y) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)], start=1):
            chosen = parts == leg
            points[chosen] = rng.uniform(0, 1, (chosen.sum(), 3)) * [30, 30, height] + [x * width / 2, y * depth / 2, 0]
        return points + [400_000_456.0, 5_000_000_123.0, 0.0], parts


@pytest.fixture(scope="session")
def tables():
    return PlantedTables()


@pytest.fixture(scope="session")
def valued():
    return PlantedValues()


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
        **{"preset": "paper", "max_epochs": 60, "learning_rate": 5e-3, "n_steps": 2, "d_hidden": 16, **parameters}
    )


def quick_regressor(**parameters):
    """A flow for regression that trains in a moment."""
    from labelflow import LabelFlowRegressor

    return LabelFlowRegressor(
        **{"max_epochs": 150, "learning_rate": 1e-2, "weight_decay": 1.0, "n_steps": 2, "d_hidden": 16, **parameters}
    )


#: The smallest completer that still has every part.
TINY = {
    "n_partial_points": 32,
    "n_points": 64,
    "n_steps": 2,
    "d_hidden": 8,
    "d_latent": 4,
    "feature_widths": [8, 16],
    "discriminator_widths": [8, 16],
    "discriminator_head": [16],
}
TINY_TRAINING = {"max_epochs": 8, "batch_size": 4, "statistics_batches": 4}


def quick_completer(**parameters):
    """A completer that trains in a moment."""
    from labelflow import PointCloudCompleter

    return PointCloudCompleter(**{**TINY, **TINY_TRAINING, **parameters})
