"""What the modules of Spark and Ray share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .vote_counter import COUNT

#: The default limit on distinct rows of votes that the driver receives.
MAX_PATTERNS = 5_000_000
#: How many standard deviations a sample may be larger than expected before it is cut.
_MARGIN = 6


class JobBadRows:
    """Counts and places of bad rows per part of a job. A part that an engine repeats counts once."""

    def _parts(self) -> dict[Any, tuple[int, list[str]]]:
        raise NotImplementedError

    @property
    def n_rows(self) -> int:
        return sum(n_rows for n_rows, _ in self._parts().values())

    @property
    def places(self) -> list[str]:
        return [place for _, (_, places) in sorted(self._parts().items()) for place in places]

    def __repr__(self) -> str:
        places = self.places
        first = f", the first: {places[0]}" if places else ""
        return f"BadRows({self.n_rows} rows{first})"

    @classmethod
    def _check(cls, report: Any) -> Any:
        """`report` itself, if it is one of this engine, or None."""
        if report is not None and not isinstance(report, cls):
            raise TypeError(f"report: expected a {cls.__module__}.BadRows, found {type(report).__name__}")
        return report


def check_kept(functions: Sequence[str], kept: Sequence[str]) -> None:
    """Fails if a column that is kept has the name of a function."""
    twice = [name for name in functions if name in kept]
    if twice:
        raise ValueError(f"keep: expected columns that are not called like functions, found {twice[0]!r}")


def vote_columns(votes: Sequence[str] | str) -> list[str]:
    """The names of the columns of votes."""
    names = [votes] if isinstance(votes, str) else list(votes)
    if COUNT in names:
        raise ValueError(f"votes: expected columns that are not called {COUNT!r}, found one")
    return names


def check_given(is_label_model: bool, **groups: Any) -> None:
    """Fails unless the columns that a fit needs are given: of votes; or of features, and either votes or rules."""
    if is_label_model:
        if groups["votes"] is None:
            raise ValueError("votes: expected the columns of the labelers, found none")
    elif groups["features"] is None or (groups["votes"] is None) == (groups["rules"] is None):
        found = ", ".join(name for name, group in groups.items() if group is not None) or "none of them"
        raise ValueError(f"expected features, and either votes or rules, found {found}")


def sample_columns(*groups: Sequence[str] | str | None) -> list[str]:
    """The names of the columns of a sample, each once."""
    given = [group for group in groups if group is not None]
    return list(dict.fromkeys(name for group in given for name in ([group] if isinstance(group, str) else group)))


def sample_share(max_rows: int, n_rows: int) -> float:
    """The share of all rows of which a sample is taken. It is larger than `max_rows` only if rows repeat."""
    return min((max_rows + _MARGIN * max_rows**0.5) / max(n_rows, 1), 1.0)
