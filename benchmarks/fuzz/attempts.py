"""One call of the library: what it returned, how it refused, and what is wrong with either."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import protobandit as pb

_OWN_ERRORS = (pb.InvalidInput, pb.NotAvailable, pb.Interrupted)
_LONGEST_MESSAGE = 600


class Planned(Exception):
    """What a metric of the user raises; it must reach the caller as it is."""


@dataclass
class Report:
    """What one case did: its calls, the last refusal, and complaints."""

    text: str = ""
    refusal: str | None = None
    complaints: list[str] = field(default_factory=list)

    def describe(self, **arguments: Any) -> None:
        """Add arguments to the description."""
        shown = [f"{name}={' '.join(repr(value).split()):.60}" for name, value in arguments.items()]
        self.text = " ".join([self.text, *shown]).strip()

    def made(
        self,
        call: Callable[[], Any],
        *,
        is_due: bool = False,
        errors_of: str = "",
        expected: tuple[type[Warning], ...] = (),
    ) -> Any:
        """Make a call, judge its errors and warnings, and return its value or None.

        ``is_due`` is whether the call must be accepted. ``errors_of`` names a library whose own
        errors may pass, ``expected`` are warnings that may.
        """
        value = None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = call()
            except Planned:
                self.refusal = "an error of the metric"
            except Exception as error:
                self.refusal = str(error)
                self.complaints += judged_error(error, errors_of)
                if is_due and not self.complaints:
                    self.complaints.append(f"refused an ordinary call: {error}")
        self.complaints += [
            f"leaked {each.category.__name__} from {_place(each.filename)}: {each.message}"
            for each in caught
            if each.category not in expected
        ]
        return value


def judged_error(error: Exception, errors_of: str = "") -> list[str]:
    """Return what is wrong with an error that reached the caller."""
    frames = traceback.extract_tb(error.__traceback__)
    at = [n for n, each in enumerate(frames) if "protobandit" in Path(each.filename).parts]
    deeper = frames[at[-1] + 1 :] if at else frames
    if errors_of and any(f"/{errors_of}/" in each.filename for each in deeper):
        return []
    if type(error) not in _OWN_ERRORS:
        last = frames[at[-1] if at else -1]
        where = f"{_place(last.filename)}:{last.lineno}"
        return [f"{type(error).__name__} from {where}: {str(error)[:200]}"]
    message, complaints = str(error), []
    if not message.endswith("."):
        complaints.append(f"message without a full stop: {message[-80:]!r}")
    if len(message) > _LONGEST_MESSAGE:
        complaints.append(f"message of {len(message)} characters: {message[:80]!r}")
    if any(not letter.isprintable() for letter in message):
        complaints.append(f"message with control characters: {message[:200]!r}")
    return complaints


def _place(filename: str) -> str:
    return "/".join(Path(filename).parts[-3:])
