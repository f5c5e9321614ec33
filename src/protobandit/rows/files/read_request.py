"""ReadRequest: the checked options of `open_rows`, which every reader receives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


def _ignore(message: str) -> None:
    """Do nothing with a message."""


@dataclass(frozen=True, kw_only=True)
class ReadRequest:
    """The checked options of `open_rows`; ``shown`` is the path in messages."""

    shown: str
    name: str = "source"
    columns: tuple[str, ...] | None = None
    without: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    categories: bool = False
    image_size: tuple[int, int] | None = None
    is_colour: bool = False
    sample: int | None = None
    assume_shuffled: bool = False
    cache: Path | None = None
    seed: int = 0
    tell: Callable[[str], None] = _ignore
