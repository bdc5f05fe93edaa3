"""Conversion of parameters for the extension, which checks everything but their type."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._labelflow import ConfigError

_WHOLE = (int, np.integer)
_NUMBER = (int, float, np.integer, np.floating)


def plain(value: Any) -> Any:
    """Arrays, numpy's numbers, mappings and tuples as JSON has them."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    return value


def like(name: str, value: Any, example: Any) -> Any:
    """A parameter of the same type as `example`, if that is a number."""
    if isinstance(example, bool) or not isinstance(example, _NUMBER):
        return plain(value)
    is_whole = isinstance(example, _WHOLE)
    if isinstance(value, bool) or not isinstance(value, _WHOLE if is_whole else _NUMBER):
        expected = "a whole number" if is_whole else "a number"
        raise ConfigError(f"{name}: expected {expected}, found {value!r}")
    if not np.isfinite(value) or (is_whole and value < 0):
        expected = "a whole number that is not negative" if is_whole else "a finite number"
        raise ConfigError(f"{name}: expected {expected}, found {value}")
    return plain(value)


def pair_like(name: str, value: Any, example: Any) -> Any:
    """A parameter that is two numbers, each of the same type as its `example`."""
    value = plain(value)
    if not isinstance(value, list) or len(value) != 2:
        raise ConfigError(f"{name}: expected 2 numbers, found {value!r}")
    return [like(name, one, kind) for one, kind in zip(value, example)]


def seed_of(random_state: Any) -> int:
    """The seed that a `random_state` stands for: an integer itself, or a draw from a generator."""
    if random_state is None:
        return int(np.random.randint(0, 2**31 - 1))
    if isinstance(random_state, _WHOLE) and not isinstance(random_state, bool):
        if random_state < 0:
            raise ConfigError(f"random_state: expected a number that is not negative, found {random_state}")
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(0, 2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(0, 2**31 - 1))
    raise ConfigError(f"random_state: expected an integer, None or a generator of numpy, found {random_state!r}")


def threads_of(n_jobs: Any) -> int | None:
    """The number of threads that `n_jobs` stands for, or None for as many as there are cores."""
    if n_jobs is None or n_jobs == -1:
        return None
    if isinstance(n_jobs, _WHOLE) and not isinstance(n_jobs, bool) and n_jobs >= 1:
        return int(n_jobs)
    raise ConfigError(f"n_jobs: expected None, -1 or a number of threads, found {n_jobs!r}")
