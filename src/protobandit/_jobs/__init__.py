"""What lies between words typed and the library: open files, select, and keep what was found.

Nothing here parses words or prints; the command line does, and nothing else.
"""

from protobandit._jobs._assign import assigned
from protobandit._jobs._compare import Comparison, Score, compared
from protobandit._jobs._files import require_new, write_whole, written
from protobandit._jobs._order import Done, Order
from protobandit._jobs._reading import Reading
from protobandit._jobs._result import Result, Run, selection_file
from protobandit._jobs._saved import Reopened, certified, reopened, save
from protobandit._jobs._tables import WRITERS, csv_text
from protobandit._jobs._task import Posed, Task

__all__ = [
    "WRITERS",
    "Comparison",
    "Done",
    "Order",
    "Posed",
    "Reading",
    "Reopened",
    "Result",
    "Run",
    "Score",
    "Task",
    "assigned",
    "certified",
    "compared",
    "csv_text",
    "reopened",
    "require_new",
    "save",
    "selection_file",
    "write_whole",
    "written",
]
