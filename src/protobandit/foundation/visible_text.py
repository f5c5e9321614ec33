"""Text from data without characters that a terminal would obey: they are escaped, not dropped."""

from __future__ import annotations

import re

# Control characters, and marks that change the direction of text or hide in it.
_CONTROL = "\x00-\x1f\x7f-\x9f"
_MARKS = "\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufff9-\ufffb"
_INVISIBLE = re.compile(f"[{_CONTROL}{_MARKS}]")


def visible(text: str, *, keeps_lines: bool = False) -> str:
    r"""Return text with control characters as escapes: ``\x1b``, ``\n``, ``\u202e``.

    Escapes beyond those of ASCII control characters are valid in JSON too.
    """

    def escaped(found: re.Match[str]) -> str:
        character = found.group()
        if keeps_lines and character in "\n\t":
            return character
        if character < " ":
            return character.encode("unicode_escape").decode("ascii")
        return f"\\u{ord(character):04x}"

    return _INVISIBLE.sub(escaped, text)
