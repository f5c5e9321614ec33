"""What can go wrong, as types.

    Exception
    └── ProtobanditError
        ├── InvalidInput (also a ValueError)    the call cannot be carried out as given
        ├── NotAvailable (also a RuntimeError)  the answer needs something that is not at hand
        ├── PartFailed (also a RuntimeError)    a part of a Dask collection could not be read
        └── Interrupted                         a search was ended before it had found anything

Every message says: what - got - allowed - what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from protobandit.foundation.visible_text import visible


class ProtobanditError(Exception):
    """The root of every error this package raises on purpose.

    Names of files and columns in the message may hold control characters, which are escaped.
    """

    def __str__(self) -> str:
        return visible(super().__str__())


class InvalidInput(ProtobanditError, ValueError):
    """A parameter or a row that cannot be worked with; the message names it."""


class NotAvailable(ProtobanditError, RuntimeError):
    """Something the request needs is missing: the original rows, a callable, an extra."""


class PartFailed(ProtobanditError, RuntimeError):
    """A task on a part of a Dask collection failed; the message names the part and its bytes."""


class Interrupted(ProtobanditError):
    """A search was interrupted before there was any answer to return.

    Attributes
    ----------
    evaluations_by_phase
        The number of dissimilarities that the search had computed, by phase, where it is known.
    """

    evaluations_by_phase: Mapping[str, int] = MappingProxyType({})
