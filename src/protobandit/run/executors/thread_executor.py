"""Tasks on the threads of this process, for rows that are in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from protobandit.foundation.slices import cuts
from protobandit.foundation.threads import run, worker_count
from protobandit.rows.part_reading import carry_out
from protobandit.rows.parts import Part, PartForm, Parts, Result
from protobandit.run.executors.traffic import bytes_of

_PART_ROWS = 1 << 16


class ThreadExecutor:
    """Runs the tasks on the pool of this process; each uses one thread."""

    def __init__(self, n_jobs: int | None = None) -> None:
        self._n_jobs = n_jobs
        self.n_passes = self.n_tasks = self.n_sent = self.n_received = 0

    def run(
        self,
        task: Callable[..., Result],
        arguments: Mapping[int, tuple[Any, ...]],
        parts: Mapping[int, Part],
        shared: Any,
        doing: str,
        look: Callable[[int], None],
    ) -> Iterator[tuple[int, Result]]:
        found: dict[int, Result] = {}

        def call(number: int) -> None:
            part = parts[number]
            found[number] = task(part.blocks, part.weights, shared, number, *arguments[number])

        numbers, n_workers = list(parts), worker_count(self._n_jobs)
        self.n_passes += 1
        self.n_sent += bytes_of(shared)
        for cut in cuts(len(numbers), n_workers):
            look(cut.start)
            run(call, numbers[cut], n_workers)
            for number in numbers[cut]:
                self.n_tasks += 1
                self.n_received += bytes_of(found[number])
                yield number, found.pop(number)


def array_parts(array: Any, weights: Any, *, form: PartForm, n_jobs: int | None) -> Parts:
    """Return an array in memory as parts; ``form`` has the names of its columns."""
    pieces = list(cuts(len(array), _PART_ROWS))
    return Parts(
        form=form,
        parts=tuple(
            Part(
                number,
                [array[cut]],
                None if weights is None else weights[cut],
                cut.stop - cut.start,
                array[cut].nbytes,
            )
            for number, cut in enumerate(pieces)
        ),
        executor=ThreadExecutor(n_jobs),
        carry_out=carry_out,
        shape=(array.shape[1], array.dtype),
    )
