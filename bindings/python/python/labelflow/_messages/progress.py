"""Progress on standard error: a bar in terminals and notebooks, lines where neither can show one."""

from __future__ import annotations

import sys
import time
from typing import Any

_WIDTH = 30
#: Seconds from one drawing of a bar to the next.
_PAUSE = 0.1


class Progress:
    """A bar that counts to `total`.

    `verbose` is 0 for nothing, 1 for a bar (nothing if standard error is a file or a pipe), 2 for a line at every
    tenth of the way.
    """

    def __init__(self, title: str, verbose: int = 1) -> None:
        self._title = title
        self._lines = verbose >= 2
        self._bar = verbose == 1 and _can_redraw()
        self._start = time.monotonic()
        self._drawn = 0.0
        self._tenth = 0

    def update(self, done: int, total: int, note: str = "") -> None:
        """Shows that `done` of `total` steps are over."""
        now = time.monotonic()
        if self._bar and (now - self._drawn >= _PAUSE or done == total):
            self._drawn = now
            filled = _WIDTH * done // max(total, 1)
            bar = "█" * filled + "░" * (_WIDTH - filled)
            self._write(f"\r{self._title} {bar} {done}/{total} {note} {self._rest(done, total)}  ")
        elif self._lines and 10 * done // max(total, 1) > self._tenth:
            self._tenth = 10 * done // max(total, 1)
            self._write(f"{self._title} {done}/{total} {note}\n")

    def close(self) -> None:
        """Leaves the bar where it is."""
        if self._bar and self._drawn:
            self._write("\n")

    def _rest(self, done: int, total: int) -> str:
        passed = time.monotonic() - self._start
        rest = passed / max(done, 1) * (total - done)
        return f"{rest:.0f} s left" if done < total else f"{passed:.1f} s"

    @staticmethod
    def _write(text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _can_redraw() -> bool:
    if "ipykernel" in sys.modules:
        return True
    return bool(getattr(sys.stderr, "isatty", lambda: False)())


class TrainingProgress:
    """Called with the numbers of each epoch: shows progress, then calls the user's callback."""

    def __init__(self, title: str, verbose: int, callback: Any) -> None:
        self._progress = Progress(title, verbose) if verbose else None
        self._callback = callback

    def __call__(self, record: dict[str, Any]) -> bool:
        if self._progress is not None:
            note = f"loss {record['loss']:.4g}"
            self._progress.update(record["epoch"] + 1, record["max_epochs"], note)
        return bool(self._callback(record)) if self._callback is not None else False

    def close(self) -> None:
        """Ends the bar."""
        if self._progress is not None:
            self._progress.close()
