"""The number of rows of a target without end."""

from __future__ import annotations

from typing import Final

ENDLESS: Final = 2**60  # more rows than any search reads
