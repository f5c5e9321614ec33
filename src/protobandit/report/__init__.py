"""LOOK: pictures of a selection. Reads results, never solves."""

from protobandit.report._gallery import gallery

__all__ = ["gallery"]
