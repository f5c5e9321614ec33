"""Rows of a collection whose parts lie elsewhere, or are too many to be read at once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from protobandit.foundation.array_types import Ids, Where
from protobandit.foundation.errors import NotAvailable
from protobandit.rows.part_sampling import Sampled, Survey
from protobandit.rows.parts import PartRows, Parts, Result
from protobandit.rows.rows import DenseRows, Rows, strided, working_dtype

OF_PARTS = "parts-"  # with which the digest of a collection begins
_MOST_GATHERED = 1 << 20  # rows that are read into memory at once


class PartitionedRows(Rows):
    """Rows in parts, of which a sample and some other rows are kept in memory.

    Parameters
    ----------
    parts, survey
        The parts, and what the first pass has learned from them.
    sampled
        The rows of the sample that a search uses.
    """

    kind = "dense"
    is_partitioned = True
    is_checked = True

    def __init__(self, parts: Parts, survey: Survey, sampled: Sampled, *, name: str) -> None:
        self.parts = parts
        self.name = name
        self.sampled = sampled
        self.n_columns = survey.first.n_columns
        self.dtype = working_dtype(np.result_type(*(p.dtype for p in survey.parts if p.n_rows)))
        self.digests = survey.digests
        self.lengths = survey.lengths
        self.starts = np.cumsum([0, *survey.lengths])
        self.total = float(sum(part.total for part in survey.parts))
        sizes = [part.largest for part in survey.parts if part.n_rows]
        extreme = [size for size in sizes if size is not None]
        # One ordinary part is enough for numbers not to be all extremely small.
        is_ordinary = len(extreme) < len(sizes) and max(extreme, default=0.0) <= 1.0
        self.largest = None if is_ordinary else max(extreme, default=None)
        self._known = np.empty(0, dtype=np.int64)
        self._known_rows = np.empty((0, self.n_columns), dtype=self.dtype)

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def held_weights(self) -> Any:
        return self.sampled.weights

    @property
    def held(self) -> Rows:
        return DenseRows(self.sampled.rows, name=self.name, dtype=self.dtype)

    def run(
        self,
        function: Callable[[PartRows, Any, int], Result],
        shared: Any,
        *,
        doing: str,
        look: Callable[[int], None] = lambda n_done: None,
        numbers: list[int] | None = None,
    ) -> Iterator[tuple[int, Result]]:
        """Call a function with every part, which must be what it was in the first pass.

        Parts that are known to be empty are left out.
        """
        some = range(len(self.lengths)) if numbers is None else numbers
        return self.parts.run(
            function,
            shared,
            doing=doing,
            digests=self.digests,
            numbers=[number for number in some if self.lengths[number]],
            look=look,
        )

    def keep(self, ids: Ids, rows: Any) -> None:
        """Keep some rows, so that `take` need not read them."""
        order = np.argsort(ids, kind="stable")
        self._known, self._known_rows = ids[order], np.asarray(rows, dtype=self.dtype)[order]

    def take(self, where: Where) -> Any:
        if isinstance(where, slice):
            cut = range(*where.indices(len(self)))
            if len(cut) <= len(self._known):
                ids = np.arange(cut.start, cut.stop, cut.step)
                if np.isin(ids, self._known).all():  # prototypes that follow each other
                    return self.take(ids)
            raise NotAvailable(
                f"This needs all {len(self):,} rows of the {self.name}, which are parts of a "
                f"collection. Select from rows in memory, such as a sample: "
                f"{self.name}.sample(...).compute()."
            )
        ids = np.asarray(where, dtype=np.int64)
        at = np.minimum(np.searchsorted(self._known, ids), max(len(self._known) - 1, 0))
        if len(self._known) and (self._known[at] == ids).all():
            return self._known_rows[at]
        return self._gathered(ids)

    def _gathered(self, ids: Ids) -> Any:
        if len(ids) > _MOST_GATHERED:
            raise NotAvailable(
                f"This needs {len(ids):,} rows of the {self.name} in memory, more than "
                f"{_MOST_GATHERED:,}. Select from rows in memory."
            )
        part = np.searchsorted(self.starts, ids, side="right") - 1
        wanted = {int(p): ids[part == p] - self.starts[p] for p in np.unique(part)}
        out = np.empty((len(ids), self.n_columns or 0), dtype=self.dtype)
        for number, rows in self.run(
            _some_rows, wanted, doing=f"reading rows of the {self.name}", numbers=list(wanted)
        ):
            out[part == number] = rows
        return out

    def sample(self, most: int) -> Any:
        rows = self.sampled.rows
        return rows[strided(len(rows), most)].astype(self.dtype, copy=False)

    def fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=12)
        digest.update(f"parts {len(self)} {self.n_columns} {' '.join(self.digests)}".encode())
        return OF_PARTS + digest.hexdigest()

    def _bytes(self, ids: Ids) -> bytes:
        raise NotImplementedError  # the digests of the parts are used instead


def _some_rows(part: PartRows, wanted: dict[int, Ids], number: int) -> Any:
    return np.array(part.numbers[wanted[number]])
