from __future__ import annotations

import json

from protobandit import InvalidInput
from protobandit.foundation.visible_text import visible


def test_control_characters_are_escaped():
    assert visible("a\x1b[31m\r\n\t\x07é 漢") == r"a\x1b[31m\r\n\t\x07é 漢"
    assert visible("\x7f\x9b\u202e\u2066\u2028") == r"\u007f\u009b\u202e\u2066\u2028"
    assert visible("a\n\tb\x1b", keeps_lines=True) == "a\n\tb\\x1b"


def test_json_stays_json():
    text = "\x7f\x9b\u202e\x1b\n"
    assert json.loads(visible(json.dumps(text, ensure_ascii=False))) == text


def test_messages_of_errors_are_visible():
    assert str(InvalidInput("source: a\x1b]0;x\x07.csv does not exist.")) == (
        r"source: a\x1b]0;x\x07.csv does not exist."
    )
