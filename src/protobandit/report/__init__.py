"""LOOK: pictures of a selection, and a page that shows all of it. Reads results, never solves."""

from protobandit.report._exhibit import Exhibit
from protobandit.report._findings import Findings, findings
from protobandit.report._gallery import gallery
from protobandit.report._page import page

__all__ = ["Exhibit", "Findings", "findings", "gallery", "page"]
