"""Tasks on Dask: on the scheduler that is active when the call begins.

Theory of operation
-------------------
A task depends on the blocks of its part, which are the user's graph, and on one object that all
tasks of the pass share. That object is a key of the graph, so it is sent once and not with every
task, and a worker that was lost takes nothing with it: the scheduler has the graph and runs again
what is missing. Nothing is scattered, there are no actors and no barriers, and any worker may run
any task.

With a distributed client the results are taken as they arrive. The driver waits with a timeout, so
that it notices an interruption, a closed client and a cluster without workers. Other schedulers
(synchronous, threads, processes) compute all tasks of a pass in one call.
"""

from __future__ import annotations

import pickle
import queue
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from protobandit.foundation.errors import NotAvailable, PartFailed, ProtobanditError
from protobandit.foundation.memory import shown_bytes
from protobandit.foundation.observer import Halt
from protobandit.rows.parts import Part, Result
from protobandit.run.executors.traffic import bytes_of

KEY = "protobandit"  # with which the keys of all tasks begin
_POLL = 0.2  # seconds between two looks
_MOST_NAMED = 8  # parts in a message
_MOST_TRIED = 64  # parts that are computed again to find the one that fails
_NO_WORKERS = 300.0  # seconds without any worker, after which a run ends


class DaskExecutor:
    """Runs the tasks on the Dask scheduler that is active where it is made."""

    def __init__(self) -> None:
        try:
            from dask.base import get_scheduler
        except ImportError:
            raise NotAvailable(
                "Dask collections need dask and distributed. Install protobandit[dask]."
            ) from None
        self._get = get_scheduler()
        self._client = _client_of(self._get)
        self._memory: list[int] = []  # the limits of the workers, also after they have died
        self._futures: dict[Any, int] = {}
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
        from dask import delayed

        name = f"{KEY}-{doing.replace(' ', '-')}-{uuid.uuid4().hex[:12]}"
        self.n_passes += 1
        self.n_sent += bytes_of(shared)
        one = delayed(shared, name=f"{name}-shared", traverse=False)
        call = delayed(task, pure=False, name=f"{name}-task")
        tasks = {
            number: call(
                part.blocks,
                part.weights,
                one,
                number,
                *arguments[number],
                dask_key_name=f"{name}-{number}",
            )
            for number, part in parts.items()
        }
        compute = self._on_scheduler if self._client is None else self._on_client
        for number, result in compute(tasks, parts, doing, look):
            self.n_tasks += 1
            self.n_received += bytes_of(result)
            yield number, result

    # -- schedulers of one process --------------------------------------------------------------

    def _on_scheduler(
        self,
        tasks: Mapping[int, Any],
        parts: Mapping[int, Part],
        doing: str,
        look: Callable[[int], None],
    ) -> Iterator[tuple[int, Any]]:
        import dask
        from dask.callbacks import Callback

        own = {one.key: number for number, one in tasks.items()}
        unfinished: dict[Any, None] = {}
        n_done = 0

        def begin(key: Any, dsk: Any, state: Any) -> None:
            unfinished[key] = None

        def end(key: Any, result: Any, dsk: Any, state: Any, worker: Any) -> None:
            nonlocal n_done
            unfinished.pop(key, None)
            n_done += key in own
            look(n_done)

        look(0)
        try:
            with Callback(pretask=begin, posttask=end):
                results = dask.compute(*tasks.values(), scheduler=self._get)
        except (ProtobanditError, Halt):
            raise
        except BrokenExecutor as error:
            # Nothing is computed again here, since it would end this process too.
            found = _suspected_parts(unfinished, tasks)[:_MOST_NAMED]
            reason = (
                "a process that ran it ended abruptly. Most often the memory is too small: use "
                "smaller parts (rechunk or repartition), or fewer processes (num_workers)"
            )
            raise _failed(doing, found, parts, reason) from error
        except Exception as error:
            found = _failing_parts(unfinished, tasks)
            raise _failed(doing, found, parts, _reason(error)) from error
        yield from zip(tasks, results, strict=True)

    # -- distributed ----------------------------------------------------------------------------

    def _on_client(
        self,
        tasks: Mapping[int, Any],
        parts: Mapping[int, Part],
        doing: str,
        look: Callable[[int], None],
    ) -> Iterator[tuple[int, Any]]:
        client = self._client
        self._require_room(parts, doing)
        arrived: queue.SimpleQueue[Any] = queue.SimpleQueue()
        try:
            with _seceded(), self._open(doing):
                with warnings.catch_warnings():
                    # The shared object is large on purpose, and it is in the graph once.
                    warnings.filterwarnings("ignore", message="Sending large graph")
                    try:
                        made = client.compute(list(tasks.values()))
                    except (TypeError, AttributeError, pickle.PicklingError) as error:
                        raise _not_sent(doing, error) from error
                self._futures = dict(zip(made, tasks, strict=True))
                for future in made:
                    future.add_done_callback(arrived.put)
                for n_done in range(len(made)):
                    future = self._next(arrived, doing, partial(look, n_done))
                    number = self._futures[future]
                    yield number, self._result(future, number, parts, doing)
                    future.release()
        except BaseException:
            if client.status == "running":
                with suppress(Exception):
                    client.cancel(list(self._futures))
            raise
        finally:
            self._futures = {}

    @contextmanager
    def _open(self, doing: str) -> Iterator[None]:
        """Say so if the client was closed meanwhile."""
        try:
            yield
        except (ProtobanditError, Halt):
            raise
        except Exception as error:
            if self._client.status in ("closed", "closing"):
                raise _closed(doing) from error
            raise

    def _next(self, arrived: Any, doing: str, look: Callable[[], None]) -> Any:
        """Wait for the next future that is done."""
        since = None
        while True:
            look()
            with suppress(queue.Empty):
                return arrived.get(timeout=_POLL)
            if self._client.status in ("closed", "closing"):
                raise _closed(doing)
            has_workers = bool(self._client.scheduler_info()["workers"])
            since = None if has_workers else since or time.monotonic()
            if since is not None and time.monotonic() - since > _NO_WORKERS:
                raise PartFailed(
                    f"{doing}: the cluster has had no worker for {_NO_WORKERS:.0f} seconds. Start "
                    f"workers, and call again; with a checkpoint the last pass is not lost."
                )

    def _result(self, future: Any, number: int, parts: Mapping[int, Part], doing: str) -> Any:
        from distributed import KilledWorker

        if future.status == "cancelled":
            if self._client.status in ("closed", "closing"):
                raise _closed(doing)
            raise _failed(doing, [number], parts, "its task was cancelled by the scheduler")
        try:
            return future.result()
        except ProtobanditError:
            raise
        except KilledWorker as error:
            import dask

            allowed = dask.config.get("distributed.scheduler.allowed-failures")
            reason = (
                f"the workers that ran it were killed {allowed + 1} time(s), more often than the "
                f"scheduler allows ({allowed}); {self._limit()}. Most often the memory of a worker "
                f"is too small: use smaller parts (rechunk or repartition), or more memory per "
                f"worker"
            )
            raise _failed(doing, self._killed(number), parts, reason) from error
        except Exception as error:
            if self._client.status in ("closed", "closing"):
                raise _closed(doing) from error
            raise _failed(doing, [number], parts, _reason(error)) from error

    def _killed(self, number: int) -> list[int]:
        """Return the parts that may have killed the workers: all whose tasks failed so far.

        The scheduler suspects every task that a worker had when it died.
        """
        time.sleep(_POLL)  # the other failures arrive at the same time
        others = [n for future, n in self._futures.items() if future.status == "error"]
        return sorted({number, *others})

    def _limit(self) -> str:
        limits = self._memory
        return f"a worker has {shown_bytes(min(limits))}" if limits else "workers have no limit"

    def _require_room(self, parts: Mapping[int, Part], doing: str) -> None:
        """Raise if a part is known to be larger than the memory of every worker."""
        workers = self._client.scheduler_info()["workers"].values()
        limits = [worker["memory_limit"] for worker in workers if worker.get("memory_limit")]
        self._memory = limits or self._memory
        largest = max(parts.values(), key=lambda part: part.n_bytes or 0, default=None)
        if limits and largest is not None and (largest.n_bytes or 0) > max(limits):
            reason = (
                f"it is larger than the memory of a worker, which is {shown_bytes(max(limits))}. "
                f"Use smaller parts (rechunk or repartition), or more memory per worker"
            )
            raise _failed(doing, [largest.number], parts, reason)


def _client_of(get: Any) -> Any:
    """Return the client that a ``get`` function belongs to; None for other schedulers."""
    owner = getattr(get, "__self__", None)
    return owner if hasattr(owner, "scheduler_info") and hasattr(owner, "cancel") else None


@contextmanager
def _seceded() -> Iterator[None]:
    """Inside a task, leave the thread pool of the worker while waiting for other tasks."""
    from distributed import rejoin, secede
    from distributed.worker import thread_state

    is_task = getattr(thread_state, "execution_state", None) is not None
    if is_task:
        secede()
    try:
        yield
    finally:
        if is_task:
            rejoin()


def _failing_parts(unfinished: Mapping[Any, None], tasks: Mapping[int, Any]) -> list[int]:
    """Return the part that fails, of those that were not finished; none if it is not found."""
    import dask

    for number in _suspected_parts(unfinished, tasks)[:_MOST_TRIED]:
        try:
            dask.compute(tasks[number], scheduler="synchronous")
        except Exception:
            return [number]
    return []


def _suspected_parts(unfinished: Mapping[Any, None], tasks: Mapping[int, Any]) -> list[int]:
    """Return the parts whose tasks were not finished, or needed something that was not."""
    own = [number for number, one in tasks.items() if one.key in unfinished]
    others = [n for n, one in tasks.items() if n not in own and _needs(one, unfinished)]
    return own + others


def _needs(task: Any, keys: Mapping[Any, None]) -> bool:
    graph = task.dask.cull([task.key]) if hasattr(task.dask, "cull") else task.dask
    return any(key in graph for key in keys)


def _reason(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"its task raised {type(error).__name__}" + (f": {text[0]}" if text else "")


def _failed(
    doing: str, numbers: Sequence[int], parts: Mapping[int, Part], reason: str
) -> PartFailed:
    if not numbers:
        return PartFailed(f"{doing}: {reason}. Compute one part of the collection to see why.")
    sizes = [parts[number].n_bytes for number in numbers]
    known = [size for size in sizes if size is not None]
    size = f"of {shown_bytes(max(known))}" if known else "of unknown size"
    which = "part " + " or ".join(map(str, numbers))
    return PartFailed(f"{doing}: {which} ({size}) failed: {reason}.")


def _not_sent(doing: str, error: BaseException) -> PartFailed:
    chain: list[BaseException] = [error]
    while (before := chain[-1].__cause__ or chain[-1].__context__) is not None:
        chain.append(before)
    why = next((one for one in chain if "cannot pickle" in str(one)), error)
    return PartFailed(
        f"{doing}: its tasks cannot be sent to workers: {why}. Pass a metric "
        f"and a collection that cloudpickle can write, or use dask.config.set(scheduler='threads')."
    )


def _closed(doing: str) -> PartFailed:
    return PartFailed(
        f"{doing}: the Dask client was closed during the run. Keep it open until the call returns; "
        f"with a checkpoint, the same call resumes after the last pass."
    )
