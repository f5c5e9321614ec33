"""WHERE do rows come from? One shape for every kind; the only folder that knows about storage."""

from protobandit.data._frames import as_numbers
from protobandit.data._memory import as_rows
from protobandit.data._rows import DenseRows, NumberedRows, ObjectRows, Rows, SparseRows

__all__ = ["DenseRows", "NumberedRows", "ObjectRows", "Rows", "SparseRows", "as_numbers", "as_rows"]
