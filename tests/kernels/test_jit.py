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
from protobandit.kernels import jit
from protobandit.kernels.jit import Kernel, kernel


def double_reference(values, out):
    out[:] = 2 * values


@kernel(double_reference)
def double(values, out):
    for i in range(len(values)):
        out[i] = 2 * values[i]


def fresh():
    return Kernel(double.loops, double_reference)


def is_correct(call):
    out = np.empty(3)
    call(np.arange(3.0), out)
    return out.tolist() == [0, 2, 4]


def test_nothing_is_compiled_before_the_first_call():
    pytest.importorskip("numba")
    kernel = fresh()
    assert kernel._compiled is None
    assert is_correct(kernel)
    assert kernel._compiled is not kernel.reference
    assert kernel.compile() is kernel._compiled


def test_first_call_from_many_threads():
    kernel, results = fresh(), []
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


@pytest.mark.parametrize("error", [ImportError, SystemError, AttributeError])
def test_without_numba_the_reference_is_used(monkeypatch, error):
    original = builtins.__import__

    def fail(name, *args, **options):
        if name == "numba":
            raise error(name)
        return original(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", fail)
    kernel = fresh()
    assert kernel.compile() is double_reference
    assert is_correct(kernel)


def test_if_compilation_is_disabled_the_reference_is_used(monkeypatch):
    numba = pytest.importorskip("numba")
    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    assert fresh().compile() is double_reference


READ_ONLY = """
import numpy as np
from protobandit.kernels import coverage as coverage_kernels
out = np.zeros(1)
coverage_kernels.costs(np.ones((1, 2)), np.array([0]), 0, np.ones(2), 8, out)
assert out[0] == 2
assert coverage_kernels.costs._compiled is not coverage_kernels.costs.reference
assert coverage_kernels.costs._compiled.stats.cache_path is None
from protobandit.kernels.jit import compiled_code
code = compiled_code()
(name,) = code.compiled
assert name.startswith("costs(Array(float64, 2") and not code.loaded and code.folder is None
"""


def test_a_read_only_installation_compiles_without_a_cache(tmp_path):
    pytest.importorskip("numba")
    package = Path(protobandit.__file__).parent
    shutil.copytree(package, tmp_path / "protobandit", ignore=shutil.ignore_patterns("__pycache__"))
    blocker = tmp_path / "protobandit" / "kernels" / "__pycache__"
    blocker.touch()  # a file instead of a folder: even an administrator cannot write there
    places = dict.fromkeys(
        ("HOME", "XDG_CACHE_HOME", "LOCALAPPDATA", "NUMBA_CACHE_DIR"), str(blocker)
    )
    environment = {**os.environ, **places, "PYTHONPATH": str(tmp_path)}
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


def test_fastmath_keeps_nan_and_infinity():
    assert {"nnan", "ninf"}.isdisjoint(jit._FASTMATH)


def test_no_signal_interrupts_compilation(monkeypatch):
    """Ctrl-C while numba holds a lock would leave it taken, and other threads waiting."""
    numba_dispatcher = pytest.importorskip("numba.core.dispatcher")
    done = []
    compile_all = numba_dispatcher.Dispatcher.compile

    def compile_interrupted(self, signature):
        signal.raise_signal(signal.SIGINT)
        result = compile_all(self, signature)
        done.append(signature)
        return result

    monkeypatch.setattr(numba_dispatcher.Dispatcher, "compile", compile_interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            fresh()(np.zeros(3), np.zeros(3))
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(done) == 1
