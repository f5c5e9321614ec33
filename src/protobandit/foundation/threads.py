"""One thread pool for the process; BLAS is limited to one thread while the pool works.

Rules
-----
1. The problem determines how work is split into tasks, never the number of workers, and each task
   writes to its own part of the output. So one worker and many give the same bits.
2. Inside `one_blas_thread` every BLAS library runs on one thread, also on the calling thread. Most
   libraries can only be limited for the whole process. Overlapping users then share one limit: the
   first sets it and the last restores it, on any thread. Other libraries are limited per
   thread; there each user, and each thread of the pool, sets its own limit.
3. The pool starts when it is first needed and never inside one of its own threads. A forked child
   does not inherit it. Inside joblib's workers everything runs on one thread.
4. Ctrl-C raises KeyboardInterrupt between any two instructions of the main thread, also between
   taking a lock inside the standard library and entering its `with` block. A thread that waits for
   that lock then waits forever, and so does the exit of the process. So the main thread shares no
   lock with the pool: both only use deques and a SimpleQueue, whose operations are atomic.
   (`concurrent.futures` hung in 1 of 60 interrupted runs of tiny tasks.)
"""

from __future__ import annotations

import operator
import os
import sys
import threading
from _thread import start_new_thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from queue import Empty, SimpleQueue
from typing import Any, TypeAlias, TypeVar

from protobandit.foundation.errors import InvalidInput

Task = TypeVar("Task")
Limited: TypeAlias = list[tuple[Any, int]]  # limited libraries and their earlier thread counts

_MOST_THREADS = 256  # threads start on demand, so this costs nothing


class _Pool:
    """Threads that run jobs. An idle one does not keep the process alive."""

    def __init__(self) -> None:
        self.threads: list[int] = []  # their identifiers
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle: deque[None] = deque()  # one entry per thread that waits for a job

    def submit(self, job: Callable[[], None]) -> None:
        """Run ``job`` when a thread is free; it never runs if no thread can be started."""
        self._jobs.put(job)
        try:
            self._idle.pop()
        except IndexError:
            self._start_thread()

    def _start_thread(self) -> None:
        if len(self.threads) >= _MOST_THREADS:
            return  # the job waits for one of them
        try:
            # Not threading.Thread, whose start takes locks that the new thread needs (rule 4).
            self.threads.append(start_new_thread(self._run_jobs, ()))
        except RuntimeError:  # the limit of the system, or the interpreter is ending
            with suppress(Empty):
                self._jobs.get_nowait()  # callers do not depend on a job

    def _run_jobs(self) -> None:
        _limit_this_thread()
        while True:
            self._jobs.get()()
            self._idle.append(None)


class _State:
    """The state that a forked child must not inherit."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool = _Pool()
        self.guards = 0
        self.limited: Limited = []


_state = _State()
_inside = threading.local()


def _after_fork_in_child() -> None:
    global _state
    inherited, _state = _state, _State()
    # Another thread may have held the lock, and a guard entered before the fork still uses it.
    inherited.lock = threading.Lock()
    _restore(inherited.limited)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def worker_count(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``.

    None and -1 mean every core this process may use, within its CPU affinity and the quota of its
    container. Other negative numbers count back from there, as in joblib.
    """
    requested = _as_integer(n_jobs)
    if requested == 0:
        raise InvalidInput(
            f"n_jobs={n_jobs!r:.60} is not allowed. Pass an integer >= 1, -1 for all cores, or "
            f"None."
        )
    if getattr(_inside, "pool", False) or _is_joblib_worker():
        return 1
    if requested < 0:
        import joblib

        requested = max(1, int(joblib.cpu_count()) + 1 + requested)
    return min(requested, _MOST_THREADS)


def _as_integer(n_jobs: Any) -> int:
    """Return ``n_jobs`` as an int, -1 for None, 0 for anything that is not an integer."""
    if n_jobs is None:
        return -1
    with suppress(TypeError):
        return 0 if isinstance(n_jobs, bool) else operator.index(n_jobs)
    return 0


def _is_joblib_worker() -> bool:
    parallel = sys.modules.get("joblib.parallel")
    if parallel is None:
        return False
    backend, _ = parallel.get_active_backend()
    return bool(getattr(backend, "nesting_level", 0))


def run(function: Callable[[Task], None], tasks: Iterable[Task], workers: int) -> None:
    """Call ``function`` on every task, on up to ``workers`` threads including the calling one.

    After an error in a task no other task starts; the running ones finish, then it is raised here.
    """
    remaining = list(tasks)
    helpers = 0 if getattr(_inside, "pool", False) else min(workers, len(remaining)) - 1
    if helpers <= 0:
        for task in remaining:
            function(task)
        return
    queue = deque(remaining)
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    # A helper takes a ticket to begin. The tickets that are left are removed at the end, so that a
    # helper that comes too late, or never, finds nothing and keeps nothing alive.
    tickets = deque((function, queue, ended) for _ in range(helpers))
    try:
        for _ in range(helpers):
            _state.pool.submit(partial(_help, tickets))
        _work(function, queue)
    finally:
        queue.clear()
        while True:
            try:
                tickets.popleft()
            except IndexError:
                break
            helpers -= 1
        errors = [error for error in [ended.get() for _ in range(helpers)] if error is not None]
    if errors:
        raise errors.pop(0)  # and no name keeps it: its traceback refers to this frame


def _help(tickets: deque[Any]) -> None:
    try:
        function, queue, ended = tickets.popleft()
    except IndexError:
        return
    try:
        _work(function, queue)
    except BaseException as error:
        ended.put(error)
    else:
        ended.put(None)


def _work(function: Callable[[Any], None], queue: deque[Any]) -> None:
    was_inside = getattr(_inside, "pool", False)
    try:
        _inside.pool = True
        while True:
            try:
                task = queue.popleft()  # atomic: each task goes to one thread
            except IndexError:
                return
            function(task)
    except BaseException:
        queue.clear()
        raise
    finally:
        _inside.pool = was_inside


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of overlapping users leaves."""
    state = _state
    per_process, per_thread = _blas_libraries()
    limited: Limited = []
    is_inside = False
    try:  # from here on, an interruption restores what was changed
        limited = _limit(per_thread)
        with state.lock:
            if state.guards == 0:
                state.limited = _limit(per_process)
            state.guards += 1
            is_inside = True
        yield
    finally:
        if is_inside:
            with state.lock:
                state.guards -= 1
                if state.guards == 0:
                    _restore(state.limited)
                    state.limited = []
        _restore(limited)


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Let everything that this thread calls run on it alone, without the pool and with one BLAS.

    For tasks of another engine, which already runs one task per core.
    """
    was_inside = getattr(_inside, "pool", False)
    _inside.pool = True
    try:
        with one_blas_thread():
            yield
    finally:
        _inside.pool = was_inside


@cache
def load_compiled_blas() -> None:
    """Load the BLAS that compiled code calls, and limit it where the others are limited now.

    It is the one of SciPy, which may be another library than NumPy's. It would be loaded
    when the first such code runs, after the limits were set.
    """
    import scipy.linalg.cython_blas  # noqa: F401

    with _state.lock:
        known = {library.filepath for group in _blas_libraries() for library in group}
        _blas_libraries.cache_clear()
        per_process, _ = _blas_libraries()
        new = [library for library in per_process if library.filepath not in known]
        if _state.guards:
            _state.limited += _limit(new)


@cache
def _blas_libraries() -> tuple[list[Any], list[Any]]:
    """Return the BLAS libraries that are limited per process, and those limited per thread."""
    import threadpoolctl

    libraries = threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers
    per_process: list[Any] = []
    per_thread: list[Any] = []
    for library in libraries:
        (per_thread if _is_limited_by_thread(library) else per_process).append(library)
    return per_process, per_thread


def _is_limited_by_thread(library: Any) -> bool:
    # How threadpoolctl >= 3.8 shows a library that is limited per thread.
    has_owner = hasattr(library, "clear_controlling_thread")
    return has_owner and getattr(library, "threading_layer", "") == "openmp"


def _limit(libraries: list[Any]) -> Limited:
    """Limit these libraries to one thread; return those that had more, with their thread counts."""
    before = [(library, library.get_num_threads()) for library in libraries]
    limited = [(library, n) for library, n in before if n is not None and n > 1]
    for library, _ in limited:
        _set(library, 1)
    return limited


def _limit_this_thread() -> None:
    _, per_thread = _blas_libraries()
    _limit(per_thread)


def _restore(limited: Limited) -> None:
    for library, n in limited:
        if library.get_num_threads() == 1:  # otherwise the user has changed it meanwhile
            _set(library, n)


def _set(library: Any, n: int) -> None:
    # threadpoolctl >= 3.8 accepts calls from one controlling thread and silently ignores those of
    # others. A limit may be set on one thread and lifted on another, so no thread may keep control.
    clear = getattr(library, "clear_controlling_thread", lambda force: None)
    clear(force=True)
    library.set_num_threads(n)
    clear(force=True)
