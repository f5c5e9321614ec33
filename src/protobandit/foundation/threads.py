"""One pool of threads, and BLAS held to one thread while it works.

Rules
-----
1. Work is cut into tasks by the problem, never by the number of workers, and each task writes to a
   place of its own: one worker and many give the same bits.
2. Inside `one_blas_thread` every BLAS runs on one thread, on the calling thread too. Most can only
   be limited process-wide: overlapping users share one guard, the first sets it and the last
   restores it, on whatever threads they are. Some are limited thread by thread: there each user,
   and each thread of the pool, sets its own.
3. The pool starts when it is first needed, never starts a pool within a pool, is forgotten in a
   forked child, and stays out of the way inside joblib's workers.
"""

from __future__ import annotations

import operator
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeAlias, TypeVar

from protobandit.foundation.errors import InvalidInput

Task = TypeVar("Task")
Limited: TypeAlias = list[tuple[Any, int]]  # libraries, and their number of threads before

_MOST_THREADS = 256  # threads start on demand, so this costs nothing


class _State:
    """What a forked child must not inherit."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ThreadPoolExecutor | None = None
        self.guards = 0
        self.limited: Limited = []


_state = _State()
_inside = threading.local()


def _after_fork_in_child() -> None:
    global _state
    inherited, _state = _state, _State()
    inherited.lock = threading.Lock()  # another thread may have held it; a guard may still want it
    _restore(inherited.limited)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def worker_count(n_jobs: int | None) -> int:
    """Return how many threads ``n_jobs`` asks for.

    None and -1 mean every core this process may use (affinity and container quotas respected);
    other negative numbers count back from there, as in joblib.
    """
    asked = _as_count(n_jobs)
    if getattr(_inside, "pool", False) or _is_joblib_worker():
        return 1
    if asked < 0:
        import joblib

        asked = max(1, int(joblib.cpu_count()) + 1 + asked)
    return min(asked, _MOST_THREADS)


def _as_count(n_jobs: Any) -> int:
    try:
        count = -1 if n_jobs is None else operator.index(n_jobs)
    except TypeError:
        count = None
    if count is None or isinstance(n_jobs, bool):
        raise InvalidInput(f"n_jobs={n_jobs!r} is not a whole number. Pass None, -1 or a count.")
    if count == 0:
        raise InvalidInput("n_jobs=0 asks for no worker at all. Pass None, -1 or a count >= 1.")
    return count


def _is_joblib_worker() -> bool:
    parallel = sys.modules.get("joblib.parallel")
    if parallel is None:
        return False
    backend, _ = parallel.get_active_backend()
    return bool(getattr(backend, "nesting_level", 0))


def run(function: Callable[[Task], None], tasks: Iterable[Task], workers: int) -> None:
    """Call ``function`` on every task, on up to ``workers`` threads, this one among them.

    An error in one task lets running tasks end, starts no other, and is raised here.
    """
    todo = list(tasks)
    helpers = 0 if getattr(_inside, "pool", False) else min(workers, len(todo)) - 1
    if helpers <= 0:
        for task in todo:
            function(task)
        return
    queue = _Queue(todo)
    futures = [_pool().submit(_work, function, queue) for _ in range(helpers)]
    try:
        _work(function, queue)
    finally:
        queue.close()
        started = [future for future in futures if not future.cancel()]
        wait(started)
    for future in started:
        future.result()


class _Queue:
    """Hands each task out once; after `close`, none."""

    def __init__(self, tasks: list[Any]) -> None:
        self._tasks: Iterator[Any] = iter(tasks)
        self._lock = threading.Lock()
        self._is_open = True

    def __iter__(self) -> Iterator[Any]:
        while True:
            with self._lock:
                if not self._is_open:
                    return
                try:
                    task = next(self._tasks)
                except StopIteration:
                    return
            yield task

    def close(self) -> None:
        with self._lock:
            self._is_open = False


def _work(function: Callable[[Any], None], queue: _Queue) -> None:
    was_inside = getattr(_inside, "pool", False)
    _inside.pool = True
    try:
        for task in queue:
            function(task)
    except BaseException:
        queue.close()
        raise
    finally:
        _inside.pool = was_inside


def _pool() -> ThreadPoolExecutor:
    with _state.lock:
        if _state.pool is None:
            _state.pool = ThreadPoolExecutor(_MOST_THREADS, "protobandit", _limit_own)
        return _state.pool


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread until the last of overlapping users leaves."""
    state = _state
    shared, own = _blas_libraries()
    limited = _limit(own)
    with state.lock:
        if state.guards == 0:
            state.limited = _limit(shared)
        state.guards += 1
    try:
        yield
    finally:
        with state.lock:
            state.guards -= 1
            if state.guards == 0:
                _restore(state.limited)
                state.limited = []
        _restore(limited)


@cache
def _blas_libraries() -> tuple[list[Any], list[Any]]:
    """Return the BLAS libraries that are limited process-wide, and those limited by thread."""
    import threadpoolctl

    libraries = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    shared: list[Any] = []
    own: list[Any] = []
    for library in libraries:
        (own if _is_limited_by_thread(library) else shared).append(library)
    return shared, own


def _is_limited_by_thread(library: Any) -> bool:
    # So from version 3.8 of threadpoolctl.
    has_owner = hasattr(library, "clear_controlling_thread")
    return has_owner and getattr(library, "threading_layer", "") == "openmp"


def _limit(libraries: list[Any]) -> Limited:
    """Set these libraries to one thread; return what they were set to."""
    before = [(library, library.get_num_threads()) for library in libraries]
    limited = [(library, n) for library, n in before if n is not None and n > 1]
    for library, _ in limited:
        _set(library, 1)
    return limited


def _limit_own() -> None:
    _, own = _blas_libraries()
    _limit(own)


def _restore(limited: Limited) -> None:
    for library, n in limited:
        if library.get_num_threads() == 1:  # else somebody else has set it since
            _set(library, n)


def _set(library: Any, n: int) -> None:
    # threadpoolctl from 3.8 on obeys one thread at a time and silently ignores the others. A guard
    # may be set on one thread and lifted on another, so it must not stay with any.
    clear = getattr(library, "clear_controlling_thread", lambda force: None)
    clear(force=True)
    library.set_num_threads(n)
    clear(force=True)
