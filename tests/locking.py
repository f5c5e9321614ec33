"""Files that cannot be read, also if the superuser runs the tests."""

from __future__ import annotations

import os
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def unprivileged():
    """Run as a user without privileges, since the superuser can read any file."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
