"""Why a call had to compile, or why the next process will have to: sentences for the user.

Kernels cannot print, and compiled code is kept for the whole process. So sentences are collected
here, and the next run that ends takes them.
"""

from __future__ import annotations

_REMARKS: dict[str, None] = {}  # in the order in which they arose


def add_remark(remark: str) -> None:
    """Add a sentence, once."""
    _REMARKS[remark] = None


def take_remarks() -> list[str]:
    """Return the sentences and forget them."""
    found = list(_REMARKS)
    _REMARKS.clear()
    return found
