"""Rows from files: `open_rows`."""

from protobandit.rows.files.opening import open_rows

__all__ = ["open_rows"]
