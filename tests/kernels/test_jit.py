from __future__ import annotations

import builtins
import importlib
import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import protobandit
from protobandit import kernels
from protobandit.foundation.errors import InvalidInput
from protobandit.kernels import jit
from protobandit.kernels.compilation_remarks import take_remarks
from protobandit.kernels.compiler.code_cache import FOLDER
from protobandit.kernels.compiler.loop_compiler import LoopCompiler, SourceError
from protobandit.kernels.compiler.machine import PROCESSOR
from protobandit.kernels.jit import Kernel, compiled_code, kernel


def double_reference(values, out):
    out[:] = 2 * values


@kernel(double_reference)
def double(values, out):
    for i in range(len(values)):
        out[i] = 2 * values[i]


def fresh(reference=double_reference):
    return Kernel(double.loops, reference)


def is_correct(call):
    out = np.empty(3)
    call(np.arange(3.0), out)
    return out.tolist() == [0, 2, 4]


def fail(*arguments):
    raise AssertionError("the reference was called")


@pytest.fixture
def new_process():
    """Let the next kernel make a new compiler, as in a new process; restore the old one."""
    before = jit._compiler
    jit._compiler.cache_clear()
    take_remarks()
    yield
    jit._compiler = before
    jit._compiler.cache_clear()


def test_nothing_is_compiled_before_the_first_call():
    kernel = fresh(reference=fail)
    assert not kernel.compiled_loops()
    assert is_correct(kernel)
    (loop,) = kernel.compiled_loops()
    assert loop.name == "double(array(f8, 1d), array(f8, 1d))"
    assert is_correct(kernel)
    assert kernel.compiled_loops() == [loop]


def test_code_is_compiled_for_each_combination_of_types():
    kernel = fresh(reference=fail)
    for dtype in (np.float32, np.float64):
        values = np.arange(6, dtype=dtype)
        for given in (values, values[::2]):
            out = np.empty(len(given), dtype)
            kernel(given, out)
            assert out.tolist() == (2 * given).tolist()
    assert len(kernel.compiled_loops()) == 4


def test_read_only_arrays_use_the_same_code():
    kernel = fresh(reference=fail)
    values, out = np.arange(3.0), np.empty(3)
    kernel(values, out)
    values.flags.writeable = False
    kernel(values, out)
    assert out.tolist() == [0, 2, 4]
    assert len(set(map(id, kernel.compiled_loops()))) == 1
    with pytest.raises(ValueError, match=r"double.* writes to an array .*: read-only"):
        kernel(out, values)


def test_first_call_from_many_threads():
    kernel, results = fresh(reference=fail), []
    barrier = threading.Barrier(8)

    def call():
        barrier.wait()
        results.append(is_correct(kernel))

    threads = [threading.Thread(target=call) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 8


@pytest.mark.usefixtures("new_process")
@pytest.mark.parametrize("error", [ImportError, SystemError, AttributeError])
def test_without_a_compiler_the_reference_is_used_and_a_remark_made(monkeypatch, error):
    original = builtins.__import__

    def fail(name, *args, **options):
        if name.startswith("llvmlite"):
            raise error(name)
        return original(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", fail)
    called = []
    kernel = fresh(lambda *arrays: called.append(double_reference(*arrays)))
    assert is_correct(kernel)
    assert is_correct(kernel)
    assert len(called) == 2
    assert compiled_code().folder is None
    (remark,) = take_remarks()
    assert remark == (
        f"Loops cannot be compiled ({error.__name__}: llvmlite), so they run in NumPy, which takes "
        f"several times as long."
    )


@pytest.mark.usefixtures("new_process")
def test_if_the_layout_of_arrays_is_unknown_the_reference_is_used(monkeypatch):
    monkeypatch.setattr("protobandit.kernels.compiler.calling.is_layout_known", lambda: False)
    assert is_correct(fresh())
    (remark,) = take_remarks()
    assert "unknown" in remark


@pytest.mark.usefixtures("new_process")
def test_users_can_choose_the_reference(monkeypatch):
    monkeypatch.setenv(jit.NUMPY_ONLY, "1")
    called = []
    assert is_correct(fresh(lambda *arrays: called.append(double_reference(*arrays))))
    assert called
    assert take_remarks() == []


@pytest.mark.usefixtures("new_process")
@pytest.mark.parametrize("value", ["", "0"])
def test_zero_is_the_same_as_unset(monkeypatch, value):
    monkeypatch.setenv(jit.NUMPY_ONLY, value)
    monkeypatch.setenv(jit.CHECKED, value)
    kernel = fresh(reference=fail)
    assert is_correct(kernel)
    assert not jit._compiler()._is_checked
    jit._compiler.cache_clear()
    monkeypatch.setenv(jit.CHECKED, "1")
    assert jit._compiler()._is_checked


@pytest.mark.usefixtures("new_process")
def test_a_processor_that_is_not_known_raises(monkeypatch):
    monkeypatch.setenv(PROCESSOR, "z80")
    with pytest.raises(InvalidInput, match="PROTOBANDIT_PROCESSOR='z80' not allowed here"):
        is_correct(fresh())


READ_ONLY = """
import numpy as np
from protobandit.kernels import coverage as coverage_kernels
out = np.zeros(1)
coverage_kernels.costs(np.ones((1, 2)), np.array([0]), 0, np.ones(2), 8, out)
assert out[0] == 2
from protobandit.kernels.jit import compiled_code
code = compiled_code()
(name,) = code.compiled
assert name.startswith("costs(array(f8, 2d") and not code.loaded and code.folder is None
"""


def test_a_read_only_installation_compiles_without_a_cache(tmp_path):
    package = Path(protobandit.__file__).parent
    shutil.copytree(package, tmp_path / "protobandit", ignore=shutil.ignore_patterns("__pycache__"))
    blocker = tmp_path / "protobandit" / "kernels" / "__pycache__"
    blocker.touch()  # a file instead of a folder: even an administrator cannot write there
    places = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"), str(blocker))
    environment = {**os.environ, **places, "PYTHONPATH": str(tmp_path)}
    environment.pop(FOLDER, None)
    subprocess.run([sys.executable, "-c", READ_ONLY], env=environment, check=True, timeout=120)


def every_kernel():
    for module in pkgutil.iter_modules(kernels.__path__):
        home = importlib.import_module(f"protobandit.kernels.{module.name}")
        for name, value in vars(home).items():
            if isinstance(value, Kernel) and value.loops.__module__ == home.__name__:
                yield pytest.param(value, id=f"{module.name}.{name}")


@pytest.mark.parametrize("kernel", list(every_kernel()))
def test_loops_and_reference_have_the_same_number_of_arguments(kernel):
    code = kernel.reference.__code__
    expected = kernel.loops.__code__.co_argcount
    names = kernel.loops.__code__.co_varnames[:expected]
    assert set(kernel.shared) <= set(names)
    if kernel.scratch is not None:  # its arrays come after the arguments of the reference
        assert code.co_argcount < expected
        return
    assert code.co_argcount == expected or code.co_flags & 0x04  # *arguments


def test_scratch_arrays_go_to_the_loop_only():
    def fill_reference(out):
        out[:] = 2.0

    def fill(out, room):
        for i in range(len(out)):
            room[i] += 2.0
            out[i] = room[i]

    made = []

    def scratch(out):
        made.append(np.zeros(len(out)))
        return (made[-1],)

    kernel = Kernel(fill, fill_reference, scratch)
    for _ in range(2):  # new arrays in every call
        out = np.empty(3)
        kernel(out)
        assert out.tolist() == [2.0] * 3
    assert len(made) == 2
    kernel.reference(out)


def test_no_signal_interrupts_compilation(monkeypatch):
    """Ctrl-C while llvmlite holds its lock would leave it taken, and other threads waiting."""
    done = []
    compiled = LoopCompiler.compiled

    def compile_interrupted(self, *arguments):
        signal.raise_signal(signal.SIGINT)
        result = compiled(self, *arguments)
        done.append(result)
        return result

    monkeypatch.setattr(LoopCompiler, "compiled", compile_interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fresh()(np.zeros(3), np.zeros(3))
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(done) == 1


def test_a_kernel_whose_source_has_changed_uses_its_reference(monkeypatch):
    def change(loop):
        raise SourceError("its source has changed since it was imported")

    monkeypatch.setattr("protobandit.kernels.compiler.loop_compiler._parsed", change)
    monkeypatch.setattr(LoopCompiler, "compiled", lambda self, loop, *_: change(loop))
    take_remarks()
    called = []

    def reference(values, out):
        called.append(1)
        double_reference(values, out)

    def scratch(values, out):
        return (np.empty(3),)

    kernel = Kernel(double.loops, reference, scratch)  # the reference does not get the scratch
    assert is_correct(kernel)
    assert is_correct(kernel)
    assert len(called) == 2
    assert take_remarks() == [
        f"{__name__}.double cannot be compiled (its source has changed since it was imported), so "
        f"it runs in NumPy, which takes several times as long."
    ]


FORK = """
import os, threading
import numpy as np
from protobandit.kernels import coverage as coverage_kernels
from protobandit.kernels.compiler.machine import Machine

begun, may_end = threading.Event(), threading.Event()
compiled = Machine.compiled

def compiled_slowly(self, text):
    begun.set()
    may_end.wait(0.3)  # a fork comes meanwhile, and waits
    return compiled(self, text)

def costs(dtype):
    out = np.zeros(1)
    matrix = np.ones((1, 2), dtype)
    coverage_kernels.costs(matrix, np.array([0]), 0, np.ones(2), 8, out)
    assert out[0] == 2

Machine.compiled = compiled_slowly
thread = threading.Thread(target=costs, args=["f8"])
thread.start()
begun.wait()
child = os.fork()
may_end.set()
if child == 0:
    costs("f4")
    os._exit(0)
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_forked_while_another_thread_compiles_can_compile(tmp_path):
    environment = {**os.environ, FOLDER: str(tmp_path)}
    command = [sys.executable, "-W", "ignore", "-c", FORK]
    subprocess.run(command, env=environment, check=True, timeout=60)


def test_a_fork_in_a_thread_that_compiles_goes_on():
    """The lock can be taken twice by one thread, and a fork releases it once."""
    with jit._LOCK:
        child = os.fork() if hasattr(os, "fork") else None
        if child == 0:
            os._exit(0 if is_correct(fresh()) else 1)
        assert child is None or os.waitpid(child, 0)[1] == 0
    assert is_correct(fresh())
