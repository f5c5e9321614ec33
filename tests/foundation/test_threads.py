from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import chain
from pathlib import Path

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import protobandit as pb
from protobandit import InvalidInput
from protobandit.foundation import threads as threads_module
from protobandit.foundation.threads import one_blas_thread, run, worker_count

TIMEOUT = 60  # seconds; a test that hangs fails after this time
ORIGINAL = 3  # BLAS threads of a process without limit


@pytest.fixture(autouse=True)
def several_blas_threads():
    """Set BLAS to several threads on every machine, so that a limit can be seen."""
    with threadpool_limits(limits=ORIGINAL, user_api="blas"):
        before = blas_threads()
        yield
        assert blas_threads() == before, "the process state is not restored"


@pytest.fixture
def blas():
    if blas_threads() != {ORIGINAL}:
        pytest.skip("the number of threads of this BLAS cannot be set")


needs_blas = pytest.mark.usefixtures("blas")


def blas_threads():
    return {library.get_num_threads() for library in chain(*threads_module._blas_libraries())}


# -- n_jobs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_jobs", "cores", "workers"),
    [
        (None, 4, 4),
        (-1, 4, 4),
        (-2, 4, 3),
        (-4, 4, 1),
        (-9, 4, 1),
        (1, 4, 1),
        (7, 4, 7),
        (np.int64(2), 4, 2),
        (10**6, 4, 256),
        (None, 1000, 256),
    ],
)
def test_worker_count(monkeypatch, n_jobs, cores, workers):
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    assert worker_count(n_jobs) == workers


@pytest.mark.parametrize("n_jobs", [0, np.int8(0), True, False, 1.0, "2", [2], np.array([2, 3])])
def test_invalid_n_jobs_raises(n_jobs):
    with pytest.raises(InvalidInput, match=r"^n_jobs=.* is not allowed. Pass an integer >= 1"):
        worker_count(n_jobs)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib_workers_use_one_thread(backend):
    counts = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(worker_count)(n_jobs) for n_jobs in (None, -1, 2, 8)
    )
    assert counts == [1, 1, 1, 1]
    assert worker_count(8) == 8


def test_joblib_with_one_worker_uses_all_threads():
    assert joblib.Parallel(n_jobs=1)([joblib.delayed(worker_count)(8)]) == [8]


# -- running --------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 3, 7])
@pytest.mark.parametrize("n_tasks", [0, 1, 2, 50])
def test_every_task_runs_once(workers, n_tasks):
    done = np.zeros(n_tasks, dtype=int)

    def work(task):
        done[task] += 1

    run(work, (i for i in range(n_tasks)), workers)
    assert done.tolist() == [1] * n_tasks


def test_one_worker_is_the_calling_thread():
    seen = []
    run(lambda task: seen.append(threading.get_ident()), range(5), 1)
    assert set(seen) == {threading.get_ident()}


def test_workers_run_concurrently_including_the_calling_thread():
    barrier, seen = threading.Barrier(3, timeout=TIMEOUT), []

    def work(task):
        barrier.wait()
        seen.append(threading.get_ident())

    run(work, range(3), 3)
    assert len(set(seen)) == 3
    assert threading.get_ident() in seen


def test_nested_runs_stay_on_their_thread():
    threads = {}

    def inner(place):
        threads.setdefault(place, []).append(threading.get_ident())

    def outer(task):
        assert worker_count(4) == 1
        thread = threading.get_ident()
        run(inner, [(task, i) for i in range(10)], 4)
        assert {thread} == {i for place, ids in threads.items() if place[0] == task for i in ids}

    run(outer, range(6), 3)
    assert sorted(threads) == [(task, i) for task in range(6) for i in range(10)]
    assert worker_count(4) == 4


class Interrupted(BaseException):
    """Like KeyboardInterrupt, which would stop pytest itself."""


@needs_blas
@pytest.mark.parametrize("error", [ValueError, Interrupted, SystemExit])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("failing", [0, 5, 9])
def test_an_error_in_a_task_is_raised_and_the_state_restored(error, workers, failing):
    def work(task):
        if task == failing:
            raise error(f"task {task}")

    for _ in range(3):
        with pytest.raises(error, match=f"task {failing}"), one_blas_thread():
            run(work, range(10), workers)
    assert blas_threads() == {ORIGINAL}
    assert worker_count(4) == 4
    test_workers_run_concurrently_including_the_calling_thread()


@pytest.mark.parametrize("raises_here", [True, False], ids=["caller", "helper"])
def test_after_an_error_no_task_starts_and_running_ones_finish(raises_here):
    here, barrier = threading.get_ident(), threading.Barrier(2, timeout=TIMEOUT)
    has_raised, ended = threading.Event(), []

    def work(task):
        if task < 2:
            barrier.wait()
        if (threading.get_ident() == here) is raises_here:
            has_raised.set()
            raise ValueError(f"task {task}")
        assert has_raised.wait(TIMEOUT)
        ended.append(task)

    with pytest.raises(ValueError, match="task"):
        run(work, range(200_000), 2)
    n_ended = len(ended)
    assert 0 < n_ended < 199_000
    run(lambda task: None, range(4), 2)
    assert len(ended) == n_ended


def test_callers_do_not_wait_for_each_other(monkeypatch):
    """The pool is busy with one caller's tasks; another caller runs its own tasks itself."""
    monkeypatch.setattr(threads_module, "_MOST_THREADS", 1)
    monkeypatch.setattr(threads_module, "_state", threads_module._State())
    started, is_over = threading.Barrier(3, timeout=TIMEOUT), threading.Event()

    def wait(task):
        started.wait()
        assert is_over.wait(TIMEOUT)

    slow = threading.Thread(target=run, args=(wait, range(2), 2))
    slow.start()
    started.wait()
    done = []
    run(done.append, range(10), 2)
    assert done == list(range(10))
    assert slow.is_alive()
    is_over.set()
    slow.join()


def test_concurrent_callers_get_their_own_results():
    rows = np.random.default_rng(0).normal(size=(300, 40)).astype(np.float32)
    alone = pb.select(rows, k=4, method="spotgreedy", n_jobs=1)

    def call(seed):
        sums = np.zeros(50)

        def work(task):
            sums[task] = seed * task

        with one_blas_thread():
            run(work, range(50), 3)
        selection = pb.select(rows, k=4, method="spotgreedy", n_jobs=3)
        return sums.tolist(), selection.indices.tolist(), selection.costs.tolist()

    with ThreadPoolExecutor(6) as callers:
        answers = list(callers.map(call, range(6)))
    for seed, (sums, indices, costs) in enumerate(answers):
        assert sums == [seed * task for task in range(50)]
        assert indices == alone.indices.tolist()
        assert costs == alone.costs.tolist()


def test_threads_are_reused_and_started_only_on_demand(monkeypatch):
    state = threads_module._State()
    monkeypatch.setattr(threads_module, "_state", state)
    for _ in range(50):
        test_workers_run_concurrently_including_the_calling_thread()  # uses 2 of the pool
    assert 2 <= len(state.pool.threads) <= 4


def test_without_new_threads_the_caller_does_all_the_work(monkeypatch):
    """As under a limit of processes, or while the interpreter ends."""

    def refuse(function, arguments):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads_module, "_state", threads_module._State())
    monkeypatch.setattr(threads_module, "start_new_thread", refuse)
    done = []
    run(done.append, range(10), 3)
    assert done == list(range(10))
    assert threads_module._state.pool._jobs.empty(), "jobs would keep their arrays alive"


INTERRUPTED_EVERYWHERE = """
import dis, sys, threading
from protobandit.foundation import threads

class Interrupted(BaseException):
    pass

def interrupt_at(n):
    # Interrupt a run at the n-th place where Python runs the handlers of signals: where a function
    # begins and after a call, in whatever module.
    left, before = n, {}

    def trace(frame, event, argument):
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            earlier = dis.opname[frame.f_code.co_code[before.get(frame, 0)]]
            before[frame] = frame.f_lasti
            is_place = earlier.startswith("CALL")
        else:
            is_place = event == "call"
        if is_place:
            left -= 1
            if left == 0:
                raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        with threads.one_blas_thread():
            threads.run(lambda task: None, range(4), 3)
    except Interrupted:
        return True
    finally:
        sys.settrace(None)
        before.clear()
    return False

n = 0
for has_new_pool in (True, False):
    at = 1
    while True:
        if has_new_pool:
            threads._state = threads._State()
        if not interrupt_at(at):
            break
        at, n = at + 1, n + 1
        assert threads._state.guards == 0 and not threads._state.lock.locked(), at
        barrier = threading.Barrier(2, timeout=60)
        threads.run(lambda task: barrier.wait(), range(2), 2)  # the pool still works
print(n)
"""


def test_an_interruption_at_any_instruction_leaves_no_thread_waiting(tmp_path):
    """Ctrl-C between any two instructions: later runs use the pool, and the process ends."""
    script = tmp_path / "interrupted.py"
    script.write_text(INTERRUPTED_EVERYWHERE, encoding="utf-8")
    home = os.fspath(Path(pb.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": home}
    command = [sys.executable, script]
    done = subprocess.run(
        command, env=environment, timeout=TIMEOUT, check=True, capture_output=True, text=True
    )
    assert int(done.stdout) > 50


@pytest.mark.parametrize(("workers", "n_tasks", "helpers"), [(3, 9, 2), (9, 3, 2), (2, 2, 1)])
def test_no_more_threads_than_workers_and_tasks(monkeypatch, workers, n_tasks, helpers):
    submitted = []

    class Pool:
        def submit(self, job):
            submitted.append(job)

    monkeypatch.setattr(threads_module._state, "pool", Pool())
    done = []
    run(done.append, range(n_tasks), workers)
    assert len(submitted) == helpers
    assert done == list(range(n_tasks)), "the calling thread works as well"


def test_a_task_is_taken_in_one_atomic_step(monkeypatch):
    """A queue that can only be popped and cleared: to look first and then take needs a lock."""

    class Queue:
        def __init__(self, tasks):
            tasks = deque(tasks)
            self.popleft, self.clear = tasks.popleft, tasks.clear

    monkeypatch.setattr(threads_module, "deque", Queue)
    done = []
    run(done.append, range(50), 3)
    assert sorted(done) == list(range(50))


def test_without_joblib_nothing_is_its_worker(monkeypatch):
    monkeypatch.setattr(joblib.parallel, "get_active_backend", lambda: (object(), 1))
    assert worker_count(3) == 3, "a backend that does not know how deep it is nested"
    monkeypatch.delitem(sys.modules, "joblib.parallel")
    assert worker_count(3) == 3


# -- BLAS -----------------------------------------------------------------------------------------


@needs_blas
def test_blas_is_limited_until_the_last_overlapping_user_leaves():
    """The uses are not nested: the first to enter is the first to leave."""
    first, second = ExitStack(), ExitStack()
    first.enter_context(one_blas_thread())
    assert blas_threads() == {1}
    second.enter_context(one_blas_thread())
    first.close()
    assert blas_threads() == {1}
    second.close()
    assert blas_threads() == {ORIGINAL}


class GuardThread:
    """A thread that enters and leaves `one_blas_thread` on demand."""

    def __init__(self):
        self.pool = ThreadPoolExecutor(1)
        self.guard = ExitStack()

    def call(self, function, *args):
        return self.pool.submit(function, *args).result(TIMEOUT)

    def enter(self):
        self.call(self.guard.enter_context, one_blas_thread())

    def leave(self, error=None):
        with suppress(Interrupted):
            self.call(self.guard.__exit__, type(error) if error else None, error, None)


@needs_blas
@pytest.mark.parametrize("error", [None, Interrupted()], ids=["normal", "error"])
@pytest.mark.parametrize("first_out", [0, 1])
def test_blas_is_limited_until_the_last_overlapping_thread_leaves(error, first_out):
    threads = GuardThread(), GuardThread()
    for thread in threads:
        thread.enter()
        assert {1} == blas_threads() == threads[0].call(blas_threads)
    threads[first_out].leave(error)
    assert blas_threads() == {1}
    threads[1 - first_out].leave(error)
    assert blas_threads() == {ORIGINAL}


@needs_blas
def test_a_limit_set_by_the_user_meanwhile_is_kept():
    """The main thread set the limit of the fixture, which stays in force."""
    thread = GuardThread()
    thread.enter()
    assert blas_threads() == {1}
    with threadpool_limits(limits=2, user_api="blas"):
        thread.leave()
        assert blas_threads() == {2}, "a limit that the user set meanwhile is kept"
    threadpool_limits(limits=ORIGINAL, user_api="blas")


class Library:
    """A BLAS that is limited per process, as threadpoolctl < 3.8 shows it."""

    def __init__(self, n):
        self.n = n

    def get_num_threads(self):
        return self.n

    def set_num_threads(self, n):
        self.n = n


class OpenMPLibrary(threading.local):
    """A BLAS that is limited per thread, as threadpoolctl >= 3.8 shows it."""

    threading_layer = "openmp"
    n = ORIGINAL

    def get_num_threads(self):
        return self.n

    def set_num_threads(self, n):
        self.n = n

    def clear_controlling_thread(self, force=False):
        assert force


def test_libraries_limited_per_thread_are_recognised():
    assert not threads_module._is_limited_by_thread(Library(4))
    assert threads_module._is_limited_by_thread(OpenMPLibrary())


def test_each_kind_of_library_is_limited_and_restored(monkeypatch):
    shared, own, unknown = Library(4), OpenMPLibrary(), Library(None)
    monkeypatch.setattr(threads_module, "_blas_libraries", lambda: ([shared, unknown], [own]))
    monkeypatch.setattr(threads_module, "_state", threads_module._State())
    seen, barrier = [], threading.Barrier(2, timeout=TIMEOUT)

    def work(task):
        barrier.wait()
        seen.append((shared.n, own.n))

    threads = GuardThread(), GuardThread()
    for thread in threads:
        thread.enter()
        assert thread.call(lambda: (shared.n, own.n)) == (1, 1)
    assert own.n == ORIGINAL
    threads[0].call(run, work, range(2), 2)
    assert seen == [(1, 1)] * 2
    threads[0].leave()
    assert threads[0].call(lambda: (shared.n, own.n)) == (1, ORIGINAL)
    assert threads[1].call(lambda: (shared.n, own.n)) == (1, 1)
    threads[1].leave()
    assert threads[1].call(lambda: (shared.n, own.n)) == (4, ORIGINAL)
    assert unknown.n is None


def test_limits_of_the_process_change_while_the_lock_is_held(monkeypatch):
    """Otherwise one user might restore the limit that another one has just set."""
    state = threads_module._State()

    class Guarded(Library):
        def set_num_threads(self, n):
            assert state.lock.locked()
            super().set_num_threads(n)

    library = Guarded(4)
    monkeypatch.setattr(threads_module, "_blas_libraries", lambda: ([library], []))
    monkeypatch.setattr(threads_module, "_state", state)
    with one_blas_thread():
        assert (library.n, state.guards, state.lock.locked()) == (1, 1, False)
    assert (library.n, state.guards, state.limited, state.lock.locked()) == (4, 0, [], False)


@needs_blas
def test_blas_stays_limited_in_nested_use():
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {ORIGINAL}


@needs_blas
def test_blas_is_limited_in_every_task():
    seen = []
    with one_blas_thread():
        run(lambda task: seen.append(blas_threads()), range(6), 3)
    assert seen == [{1}] * 6


@needs_blas
def test_blas_is_restored_after_a_callback_raises():
    def callback(step):
        assert blas_threads() == {1}
        raise Interrupted

    rows = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(Interrupted):
        pb.select(rows, k=3, n_jobs=2, callback=callback)
    assert blas_threads() == {ORIGINAL}


# -- fork -----------------------------------------------------------------------------------------


def succeeds_in_a_fork(function):
    """Return whether ``function()`` returns True in a forked child, which then exits."""
    receive, send = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking with threads, Python >= 3.12
        child = os.fork()
    if child == 0:
        try:
            os.write(send, b"1" if function() is True else b"0")
        finally:
            os._exit(0)
    os.close(send)
    try:
        is_ready, _, _ = select.select([receive], [], [], TIMEOUT)
        if not is_ready:
            os.kill(child, signal.SIGKILL)
        return os.read(receive, 1) == b"1" if is_ready else False
    finally:
        os.close(receive)
        os.waitpid(child, 0)


def runs_in_threads():
    done = []
    with one_blas_thread():
        is_limited = blas_threads() == {1}
        run(done.append, range(20), 4)
    rows = np.random.default_rng(0).normal(size=(300, 40))
    selection = pb.select(rows, k=2, n_jobs=2)
    return sorted(done) == list(range(20)) and is_limited and len(selection.indices) == 2


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")


@forks
@needs_blas
def test_a_child_forked_after_a_run_can_run():
    assert runs_in_threads()
    assert succeeds_in_a_fork(lambda: runs_in_threads() and blas_threads() == {ORIGINAL})
    assert runs_in_threads()


@forks
@needs_blas
def test_a_child_forked_inside_the_guard_is_not_limited():
    guard = ExitStack()
    guard.enter_context(one_blas_thread())

    def child():
        was_restored = blas_threads() == {ORIGINAL}
        can_run = runs_in_threads()
        guard.close()
        return was_restored and can_run and blas_threads() == {ORIGINAL}

    assert succeeds_in_a_fork(child)
    assert blas_threads() == {1}
    guard.close()


@forks
@needs_blas
def test_a_child_does_not_wait_for_a_lock_of_the_parent():
    guard = ExitStack()
    guard.enter_context(one_blas_thread())

    def child():
        guard.close()
        return runs_in_threads()

    with threads_module._state.lock:
        assert succeeds_in_a_fork(child)
    guard.close()


@forks
@needs_blas
def test_a_child_forked_in_a_task_can_run():
    answers = []
    run(lambda task: answers.append(succeeds_in_a_fork(runs_in_threads)), range(2), 2)
    assert answers == [True, True]
