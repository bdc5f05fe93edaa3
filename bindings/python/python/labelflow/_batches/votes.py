"""Votes in record batches: one column per labeler, or one column of lists.

The meaning of a cell does not depend on its batch: it follows from the column's type, the convention and the classes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._inputs.abstain import check_convention
from .arrow import choose_columns, is_list, list_lengths, pyarrow

_EXPECTED = {
    "minus_one": "a class from 0 to {last}, or -1 for an abstention",
    "missing": "a class from 0 to {last}",
    "zero": "a class from 1 to {n}, or 0 for an abstention",
    "signed": "-1, 1, or 0 for an abstention",
}
#: Larger than any class, yet its number of digits does not matter.
_UNKNOWN = 255


class BatchVotes:
    """Reads the rows of a batch as class indices, -1 for an abstention, and says which of them hold something else.

    Parameters
    ----------
    schema : pyarrow.Schema
        Of all batches.
    columns : list of str, str or None
        The labelers' columns, or the column of lists; None: those with the names of the fit.
    labelers : list of str or None
        The labelers of the fit; None before it.
    classes : array or None
        The classes; None if they are not known yet, and numbers.
    abstain : str
        The convention of votes that are numbers.
    """

    def __init__(self, schema: Any, columns: Any, labelers: list[str] | None, classes: Any, abstain: str) -> None:
        if check_convention(abstain) == "detect":
            raise ValueError("abstain: expected a convention, since votes come in parts, found 'detect'")
        self._abstain = abstain
        n_labelers = None if labelers is None else len(labelers)
        are_named = labelers is not None and labelers != [f"labeler{place}" for place in range(len(labelers))]
        chosen = choose_columns("votes", schema, columns, labelers if are_named else None, n_labelers)
        self._list = chosen if isinstance(chosen, str) else None
        self.columns = [chosen] if isinstance(chosen, str) else chosen
        self.labelers = labelers if labelers is not None else (None if self._list else list(self.columns))
        self._n_classes = None if classes is None else len(classes)
        self._places = {} if classes is None else {str(name): place for place, name in enumerate(classes.tolist())}
        kinds = [schema.field(name).type for name in self.columns]
        self._are_names = any(_is_text(kind) for kind in kinds)
        if self._are_names and classes is None:
            raise ValueError("classes: expected the names of the classes, since votes are names that come in parts, found none")

    def read(self, batch: Any) -> tuple[np.ndarray, np.ndarray, Callable[[int], str]]:
        """Class indices, which of them are bad, and the reason for a bad row."""
        cells, lengths = self._cells(batch)
        n_labelers = len(self.labelers) if self.labelers is not None else len(cells)
        n_rows = batch.num_rows
        dtype = np.int8 if self._n_classes is not None and self._n_classes <= 127 else np.int64
        votes = np.full((n_rows, n_labelers), -1, dtype=dtype)
        wrong = np.zeros((n_rows, n_labelers), dtype=bool)
        fits = slice(None) if lengths is None else lengths == n_labelers
        for place, values in enumerate(cells):
            votes[fits, place], wrong[fits, place] = self._names(values) if self._are_names else self._numbers(values)
        if lengths is not None:
            wrong[~fits] = True
        return votes, wrong, lambda row: self._reason(batch, wrong, lengths, row)

    def _cells(self, batch: Any) -> tuple[list[Any], np.ndarray | None]:
        """One column per labeler; with lists, of the rows whose lists have the right length, and the length of each."""
        if self._list is None:
            return [batch.column(name) for name in self.columns], None
        lists = batch.column(self._list)
        lengths = list_lengths(lists)
        if self.labelers is None:
            self.labelers = [f"labeler{place}" for place in range(int(lengths.max(initial=0)))]
        n_labelers = len(self.labelers)
        fits = lengths == n_labelers
        flat = (lists if fits.all() else lists.filter(pyarrow().array(fits))).flatten()
        places = np.arange(len(flat) // n_labelers if n_labelers else 0) * n_labelers
        return [flat.take(pyarrow().array(places + place)) for place in range(n_labelers)], lengths

    def _numbers(self, values: Any) -> tuple[np.ndarray, np.ndarray]:
        pa = pyarrow()
        if pa.types.is_boolean(values.type):
            values = values.cast(pa.int8())
        missing = np.zeros(len(values), dtype=bool)
        if values.null_count:
            missing = values.is_null().to_numpy(zero_copy_only=False)
            values = values.fill_null(0)
        numbers = values.to_numpy(zero_copy_only=False)
        if numbers.dtype.kind == "u":
            # Abstentions are negative, and numbers that are cut here are not classes in any case.
            numbers = np.minimum(numbers, np.uint64(_UNKNOWN)).astype(np.int64)
        wrong = np.zeros(len(values), dtype=bool)
        if numbers.dtype.kind == "f":
            missing |= np.isnan(numbers)
            wrong = ~missing & ~(np.isfinite(numbers) & (numbers == np.round(numbers)))
            numbers = np.where(missing | wrong, 0, numbers).astype(np.int64)
        last = _UNKNOWN - 1 if self._n_classes is None else self._n_classes - 1
        indices, low, silent = numbers, 0, None
        if self._abstain == "zero":
            wrong |= (numbers < 0) | (numbers > last + 1)
            indices, silent = numbers.astype(np.int16) - 1, numbers == 0
        elif self._abstain == "signed":
            wrong |= (numbers < -1) | (numbers > 1)
            indices, silent = (np.clip(numbers, -1, 1).astype(np.int8) + 1) // 2, numbers == 0
        else:
            low = -1 if self._abstain == "minus_one" else 0
            wrong |= (numbers < low) | (numbers > last)
        gone = wrong | missing if silent is None else wrong | missing | silent
        wrong &= ~missing
        return np.where(gone, -1, indices), wrong

    def _names(self, values: Any) -> tuple[np.ndarray, np.ndarray]:
        encoded = values.cast(pyarrow().string()).dictionary_encode()
        texts = encoded.dictionary.to_pylist()
        # One entry more, for cells without a name.
        known = np.array([self._places.get(text, -2) for text in texts] + [-1], dtype=np.int64)
        for place, text in enumerate(texts):
            if text in ("", "-1"):
                known[place] = -1
        codes = known[encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)]
        return np.where(codes == -2, -1, codes), codes == -2

    def _reason(self, batch: Any, wrong: np.ndarray, lengths: np.ndarray | None, row: int) -> str:
        n_labelers = wrong.shape[1]
        if lengths is not None and lengths[row] != n_labelers:
            found = "no list" if lengths[row] < 0 else f"a list of {lengths[row]}"
            return f"column {self._list!r}: expected a list of {n_labelers} votes, found {found}"
        place = int(np.flatnonzero(wrong[row])[0])
        cell = batch.column(self._list)[row].as_py()[place] if self._list else batch.column(self.columns[place])[row].as_py()
        name = self.labelers[place] if self.labelers is not None else self.columns[place]
        if self._are_names:
            expected = f"one of the classes {list(self._places)}"
        else:
            n_classes = self._n_classes or _UNKNOWN
            expected = _EXPECTED[self._abstain].format(last=n_classes - 1, n=n_classes)
        return f"labeler {name!r}: expected {expected}, found {cell!r}"


def _is_text(kind: Any) -> bool:
    types = pyarrow().types
    inner = kind.value_type if is_list(kind) else kind
    if types.is_dictionary(inner):
        inner = inner.value_type
    return types.is_string(inner) or types.is_large_string(inner) or str(inner) == "string_view"
