from __future__ import annotations

import os
import select
import signal
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import chain

import joblib
import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import protobandit as pb
from protobandit import InvalidInput
from protobandit.foundation import threads as threads_module
from protobandit.foundation.threads import one_blas_thread, run, worker_count

PATIENCE = 60  # seconds after which a test that hangs is taken to have failed
ORIGINAL = 3  # BLAS threads of a process that is not limited


@pytest.fixture(autouse=True)
def several_blas_threads():
    """Let BLAS have several threads, whatever the machine, so that a limit can be seen."""
    with threadpool_limits(limits=ORIGINAL, user_api="blas"):
        before = blas_threads()
        yield
        assert blas_threads() == before, "the process is not as it was found"


@pytest.fixture
def blas():
    if blas_threads() != {ORIGINAL}:
        pytest.skip("this BLAS cannot be told how many threads to use")


needs_blas = pytest.mark.usefixtures("blas")


def blas_threads():
    return {library.get_num_threads() for library in chain(*threads_module._blas_libraries())}


# -- how many -------------------------------------------------------------------------------------


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
def test_workers_asked_for(monkeypatch, n_jobs, cores, workers):
    monkeypatch.setattr(joblib, "cpu_count", lambda: cores)
    assert worker_count(n_jobs) == workers


@pytest.mark.parametrize("n_jobs", [0, np.int8(0), True, False, 1.0, "2", [2], np.array([2, 3])])
def test_other_numbers_of_workers_are_refused(n_jobs):
    with pytest.raises(InvalidInput, match="Pass None, -1 or a count"):
        worker_count(n_jobs)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_of_joblib_work_alone(backend):
    counts = joblib.Parallel(n_jobs=2, backend=backend)(
        joblib.delayed(worker_count)(n_jobs) for n_jobs in (None, -1, 2, 8)
    )
    assert counts == [1, 1, 1, 1]
    assert worker_count(8) == 8


def test_one_worker_of_joblib_is_the_process_itself():
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


def test_several_workers_work_at_once_the_calling_thread_among_them():
    meeting, seen = threading.Barrier(3, timeout=PATIENCE), []

    def work(task):
        meeting.wait()
        seen.append(threading.get_ident())

    run(work, range(3), 3)
    assert len(set(seen)) == 3
    assert threading.get_ident() in seen


def test_work_within_work_stays_on_its_thread():
    threads = {}

    def inner(place):
        threads.setdefault(place, []).append(threading.get_ident())

    def outer(task):
        assert worker_count(4) == 1
        home = threading.get_ident()
        run(inner, [(task, i) for i in range(10)], 4)
        assert {home} == {i for place, ids in threads.items() if place[0] == task for i in ids}

    run(outer, range(6), 3)
    assert sorted(threads) == [(task, i) for task in range(6) for i in range(10)]
    assert worker_count(4) == 4


class Interrupted(BaseException):
    """Like KeyboardInterrupt, which would stop pytest itself."""


@needs_blas
@pytest.mark.parametrize("error", [ValueError, Interrupted, SystemExit])
@pytest.mark.parametrize("workers", [1, 2, 4])
@pytest.mark.parametrize("culprit", [0, 5, 9])
def test_an_error_in_a_task_is_raised_and_leaves_nothing_behind(error, workers, culprit):
    def work(task):
        if task == culprit:
            raise error(f"task {task}")

    for _ in range(3):
        with pytest.raises(error, match=f"task {culprit}"), one_blas_thread():
            run(work, range(10), workers)
    assert blas_threads() == {ORIGINAL}
    assert worker_count(4) == 4
    test_several_workers_work_at_once_the_calling_thread_among_them()


@pytest.mark.parametrize("raises_here", [True, False], ids=["caller", "helper"])
def test_after_an_error_no_task_is_started_and_running_ones_end(raises_here):
    here, meeting = threading.get_ident(), threading.Barrier(2, timeout=PATIENCE)
    has_raised, ended = threading.Event(), []

    def work(task):
        if task < 2:
            meeting.wait()
        if (threading.get_ident() == here) is raises_here:
            has_raised.set()
            raise ValueError(f"task {task}")
        assert has_raised.wait(PATIENCE)
        ended.append(task)

    with pytest.raises(ValueError, match="task"):
        run(work, range(200_000), 2)
    n_ended = len(ended)
    assert 0 < n_ended < 199_000
    run(lambda task: None, range(4), 2)
    assert len(ended) == n_ended


def test_users_do_not_wait_for_each_others_work(monkeypatch):
    """The pool is full of one user's work; another does its own alone and goes on."""
    monkeypatch.setattr(threads_module, "_MOST_THREADS", 1)
    monkeypatch.setattr(threads_module, "_state", threads_module._State())
    started, is_over = threading.Barrier(3, timeout=PATIENCE), threading.Event()

    def wait(task):
        started.wait()
        assert is_over.wait(PATIENCE)

    slow = threading.Thread(target=run, args=(wait, range(2), 2))
    slow.start()
    started.wait()
    done = []
    run(done.append, range(10), 2)
    assert done == list(range(10))
    assert slow.is_alive()
    is_over.set()
    slow.join()
    threads_module._pool().shutdown()


def test_many_users_at_once_each_get_their_own_results():
    rows = np.random.default_rng(0).normal(size=(300, 40)).astype(np.float32)
    alone = pb.select(rows, k=4, method="spotgreedy", n_jobs=1)

    def user(seed):
        sums = np.zeros(50)

        def work(task):
            sums[task] = seed * task

        with one_blas_thread():
            run(work, range(50), 3)
        selection = pb.select(rows, k=4, method="spotgreedy", n_jobs=3)
        return sums.tolist(), selection.indices.tolist(), selection.costs.tolist()

    with ThreadPoolExecutor(6) as users:
        answers = list(users.map(user, range(6)))
    for seed, (sums, indices, costs) in enumerate(answers):
        assert sums == [seed * task for task in range(50)]
        assert indices == alone.indices.tolist()
        assert costs == alone.costs.tolist()


# -- BLAS -----------------------------------------------------------------------------------------


@needs_blas
def test_blas_is_held_until_the_last_of_overlapping_users_leaves():
    """Neither user encloses the other: the first to come is the first to go."""
    first, second = ExitStack(), ExitStack()
    first.enter_context(one_blas_thread())
    assert blas_threads() == {1}
    second.enter_context(one_blas_thread())
    first.close()
    assert blas_threads() == {1}
    second.close()
    assert blas_threads() == {ORIGINAL}


class Stage:
    """A thread that enters and leaves the guard when told to."""

    def __init__(self):
        self.pool = ThreadPoolExecutor(1)
        self.guard = ExitStack()

    def does(self, function, *args):
        return self.pool.submit(function, *args).result(PATIENCE)

    def enter(self):
        self.does(self.guard.enter_context, one_blas_thread())

    def leave(self, error=None):
        with suppress(Interrupted):
            self.does(self.guard.__exit__, type(error) if error else None, error, None)


@needs_blas
@pytest.mark.parametrize("error", [None, Interrupted()], ids=["quietly", "by an error"])
@pytest.mark.parametrize("first_out", [0, 1])
def test_blas_is_held_until_the_last_of_overlapping_threads_leaves(error, first_out):
    stages = Stage(), Stage()
    for stage in stages:
        stage.enter()
        assert {1} == blas_threads() == stages[0].does(blas_threads)
    stages[first_out].leave(error)
    assert blas_threads() == {1}
    stages[1 - first_out].leave(error)
    assert blas_threads() == {ORIGINAL}


@needs_blas
def test_a_thread_may_hold_blas_while_another_limits_it_otherwise():
    """The fixture's limit was set by the main thread, and stays in force."""
    stage = Stage()
    stage.enter()
    assert blas_threads() == {1}
    with threadpool_limits(limits=2, user_api="blas"):
        stage.leave()
        assert blas_threads() == {2}, "what another has set since is not touched"
    threadpool_limits(limits=ORIGINAL, user_api="blas")


class Library:
    """A BLAS that is limited process-wide, as threadpoolctl shows it before version 3.8."""

    def __init__(self, n):
        self.n = n

    def get_num_threads(self):
        return self.n

    def set_num_threads(self, n):
        self.n = n


class OpenMPLibrary(threading.local):
    """A BLAS that is limited thread by thread, as threadpoolctl shows it from version 3.8."""

    threading_layer = "openmp"
    n = ORIGINAL

    def get_num_threads(self):
        return self.n

    def set_num_threads(self, n):
        self.n = n

    def clear_controlling_thread(self, force=False):
        assert force


def test_libraries_are_told_apart():
    assert not threads_module._is_limited_by_thread(Library(4))
    assert threads_module._is_limited_by_thread(OpenMPLibrary())


def test_each_kind_of_library_is_held_and_restored(monkeypatch):
    shared, own, unknown = Library(4), OpenMPLibrary(), Library(None)
    monkeypatch.setattr(threads_module, "_blas_libraries", lambda: ([shared, unknown], [own]))
    monkeypatch.setattr(threads_module, "_state", threads_module._State())
    seen, meeting = [], threading.Barrier(2, timeout=PATIENCE)

    def work(task):
        meeting.wait()
        seen.append((shared.n, own.n))

    stages = Stage(), Stage()
    for stage in stages:
        stage.enter()
        assert stage.does(lambda: (shared.n, own.n)) == (1, 1)
    assert own.n == ORIGINAL
    stages[0].does(run, work, range(2), 2)
    assert seen == [(1, 1)] * 2
    stages[0].leave()
    assert stages[0].does(lambda: (shared.n, own.n)) == (1, ORIGINAL)
    assert stages[1].does(lambda: (shared.n, own.n)) == (1, 1)
    stages[1].leave()
    assert stages[1].does(lambda: (shared.n, own.n)) == (4, ORIGINAL)
    assert unknown.n is None
    threads_module._pool().shutdown()


@needs_blas
def test_blas_is_held_through_nested_use():
    with one_blas_thread():
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}
    assert blas_threads() == {ORIGINAL}


@needs_blas
def test_blas_is_held_in_every_task():
    seen = []
    with one_blas_thread():
        run(lambda task: seen.append(blas_threads()), range(6), 3)
    assert seen == [{1}] * 6


@needs_blas
def test_a_callback_that_raises_leaves_blas_as_it_was():
    def callback(step):
        assert blas_threads() == {1}
        raise Interrupted

    rows = np.random.default_rng(0).normal(size=(50, 3))
    with pytest.raises(Interrupted):
        pb.select(rows, k=3, n_jobs=2, callback=callback)
    assert blas_threads() == {ORIGINAL}


# -- fork -----------------------------------------------------------------------------------------


def succeeds_in_a_fork(function):
    """Tell whether ``function()`` returns True in a forked child, and the child then ends."""
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
        is_ready, _, _ = select.select([receive], [], [], PATIENCE)
        if not is_ready:
            os.kill(child, signal.SIGKILL)
        return os.read(receive, 1) == b"1" if is_ready else False
    finally:
        os.close(receive)
        os.waitpid(child, 0)


def work_in_threads():
    done = []
    with one_blas_thread():
        is_held = blas_threads() == {1}
        run(done.append, range(20), 4)
    rows = np.random.default_rng(0).normal(size=(300, 40))
    selection = pb.select(rows, k=2, n_jobs=2)
    return sorted(done) == list(range(20)) and is_held and len(selection.indices) == 2


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")


@forks
@needs_blas
def test_a_child_forked_after_work_can_work():
    assert work_in_threads()
    assert succeeds_in_a_fork(lambda: work_in_threads() and blas_threads() == {ORIGINAL})
    assert work_in_threads()


@forks
@needs_blas
def test_a_child_forked_during_work_is_not_limited_by_it():
    guard = ExitStack()
    guard.enter_context(one_blas_thread())

    def child():
        was_restored = blas_threads() == {ORIGINAL}
        can_work = work_in_threads()
        guard.close()
        return was_restored and can_work and blas_threads() == {ORIGINAL}

    assert succeeds_in_a_fork(child)
    assert blas_threads() == {1}
    guard.close()


@forks
@needs_blas
def test_a_child_does_not_wait_for_a_lock_that_nobody_holds_any_more():
    guard = ExitStack()
    guard.enter_context(one_blas_thread())

    def child():
        guard.close()
        return work_in_threads()

    with threads_module._state.lock:
        assert succeeds_in_a_fork(child)
    guard.close()


@forks
@needs_blas
def test_a_child_forked_in_a_task_can_work():
    answers = []
    run(lambda task: answers.append(succeeds_in_a_fork(work_in_threads)), range(2), 2)
    assert answers == [True, True]
