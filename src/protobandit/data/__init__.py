"""WHERE do rows come from? One shape for every kind; the only folder that knows about storage."""

from protobandit.data._columns import Columns
from protobandit.data._frames import as_numbers
from protobandit.data._gaps import called, require_whole
from protobandit.data._memory import as_rows, opened
from protobandit.data._names import matched, names_of
from protobandit.data._open import open_rows
from protobandit.data._opened import Opened
from protobandit.data._rows import DenseRows, NumberedRows, ObjectRows, Rows, SparseRows
from protobandit.data._stream import Arrived, Stream, arrive

__all__ = [
    "Arrived",
    "Columns",
    "DenseRows",
    "NumberedRows",
    "ObjectRows",
    "Opened",
    "Rows",
    "SparseRows",
    "Stream",
    "arrive",
    "as_numbers",
    "as_rows",
    "called",
    "matched",
    "names_of",
    "open_rows",
    "opened",
    "require_whole",
]
