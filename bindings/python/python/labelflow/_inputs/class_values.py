"""Classes from their names in a file."""

from __future__ import annotations

import numpy as np


def class_values(names: list[str]) -> np.ndarray:
    """The classes with these names: integers if all names are integers, as those of arrays without names are."""
    try:
        numbers = [int(name) for name in names]
    except ValueError:
        return np.array(names)
    return np.array(numbers) if [str(number) for number in numbers] == names else np.array(names)
