"""Replace attributes of a module for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any


@contextmanager
def replaced(module: ModuleType, **values: Any) -> Iterator[None]:
    """Set attributes of ``module`` within the block, and restore them at its end.

    Benchmarks use this to vary constants and to observe functions for which the library has no
    option. An attribute that does not exist is an error.
    """
    before = {name: getattr(module, name) for name in values}
    for name, value in values.items():
        setattr(module, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)
