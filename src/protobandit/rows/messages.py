"""Parts of error messages: shortened lists, similar names, the reason of an error, advice."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

_MOST_CHARACTERS = 160
MISSING_ADVICE = (
    "Drop these rows, or pass Preparation(impute='median') (--impute median on the command line)."
)


def shortened(items: Iterable[str], most: int = 8) -> str:
    """Return items in one line; of more than ``most``, the first ones and the number of all."""
    shown = list(items)
    rest = f", … ({len(shown)} in all)" if len(shown) > most else ""
    return ", ".join(shown[:most]) + rest


def suggestion(wanted: Any, known: Iterable[str]) -> str:
    """Return a sentence with the known names most similar to ``wanted``, or an empty text.

    Capitals do not matter.
    """
    if not isinstance(wanted, str):
        return ""
    names, word = {name.lower(): name for name in known}, wanted.lower()
    found = [word] if word in names else get_close_matches(word, list(names), n=3)
    similar = [names[name] for name in found]
    return f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def reason_of(error: BaseException) -> str:
    """Return the first line of an error's message, shortened and without a full stop."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    line = lines[0].rstrip(" .:")
    return line if len(line) <= _MOST_CHARACTERS else line[: _MOST_CHARACTERS - 1] + "…"
