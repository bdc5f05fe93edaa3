"""Warnings that point at the user's own line."""

from __future__ import annotations

import sys
import warnings

#: Warnings that are listed; of more, only the number.
_SHOWN = 3


class DataWarning(UserWarning):
    """Something looks wrong in the data of a fit: a column or labeler that cannot help, bounds that cannot hold.

    ``warnings.simplefilter("error", labelflow.DataWarning)`` makes it an error, before anything is trained.
    """


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns at the first line outside this package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "labelflow":
        frame = frame.f_back
        level += 1
    warnings.warn(text, category, stacklevel=level)


def warn_of_data(texts: list[str]) -> None:
    """Warns of each thing that looks wrong in data."""
    for text in texts:
        warn(text, DataWarning)


def warn_of_all(about: str, texts: list[str]) -> None:
    """Warns once with all warnings about something."""
    if texts:
        more = f"; and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        warn(f"{about}: " + "; ".join(texts[:_SHOWN]) + more, DataWarning)
