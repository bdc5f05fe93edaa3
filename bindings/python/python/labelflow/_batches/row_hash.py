"""A number for each row that depends on its cells alone: to choose the same sample of rows wherever they are."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)


def row_hashes(batch: Any, columns: list[str], seed: int) -> np.ndarray:
    """A 64-bit hash per row; rows with the same cells have the same hash."""
    hashes = _mixed(np.full(batch.num_rows, seed, dtype=np.uint64))
    for name in columns:
        hashes = _mixed(hashes ^ _bits(batch.column(name)))
    return hashes


def _bits(values: Any) -> np.ndarray:
    """The cells of a column as numbers of sixty-four bits."""
    import pyarrow as pa

    kind = values.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        numbers = values.to_numpy(zero_copy_only=False)
        if numbers.dtype.kind == "f":
            # One bit pattern for each number, of whatever width it came.
            return _mixed((numbers.astype(np.float64) + 0.0).view(np.uint64))
        return _mixed(numbers.astype(np.int64).view(np.uint64))
    encoded = values if pa.types.is_dictionary(kind) else _encoded(values)
    known = [_of_text(repr(cell)) for cell in encoded.dictionary.to_pylist()] + [_of_text("")]
    return np.array(known, dtype=np.uint64)[encoded.indices.fill_null(len(known) - 1).to_numpy(zero_copy_only=False)]


def _encoded(values: Any) -> Any:
    """Distinct cells and their places; lists and the like are compared as text."""
    import pyarrow as pa

    if pa.types.is_nested(values.type):
        values = pa.array([repr(cell) for cell in values.to_pylist()])
    return values.dictionary_encode()


def _of_text(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(values: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64: every bit depends on every bit."""
    values = values + _STEP
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))
