"""Compile a loop on its first call, or use its NumPy reference.

Rules of this folder
--------------------
1. A kernel reads arrays and writes to arrays that are passed to it. It allocates nothing. Arrays
   that it needs for itself are made by its ``scratch`` function, in NumPy.
2. A kernel is serial and releases the interpreter lock. Its callers split work into tasks.
3. Each kernel has a NumPy reference with the same signature, which is used if nothing can be
   compiled.
4. A kernel is compiled for each combination of dtypes, so there are no copies of the code by dtype.
5. The features of Python that a kernel may use are listed in `compiler/lowering.py`.
6. Arrays that a kernel writes to do not overlap its other arrays, except those named as shared.
   No index is negative or too large. `tests/test_memory_safety.py` and most tests of kernels run
   them with checks of both; no others do.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from threading import RLock
from typing import Any, TypeAlias

from protobandit.foundation.deferred_signals import deferred_signals
from protobandit.foundation.errors import InvalidInput
from protobandit.kernels.compilation_remarks import add_remark
from protobandit.kernels.compiler.calling import kind_of
from protobandit.kernels.compiler.loop_compiler import (
    CompiledLoop,
    LoopCompiler,
    SourceError,
)

NUMPY_ONLY = "PROTOBANDIT_NUMPY_ONLY"  # environment variable: use the references
CHECKED = "PROTOBANDIT_CHECK_INDICES"  # environment variable: let a wrong index raise, for tests
_LOCK = RLock()
if hasattr(os, "register_at_fork"):
    # No other thread compiles during a fork: the child would wait for the locks of that thread, and
    # for those of llvmlite, forever.
    os.register_at_fork(
        before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
    )

_KERNELS: list[Kernel] = []  # all that were defined

Scratch: TypeAlias = Callable[..., tuple[Any, ...]] | None


@dataclass(frozen=True)
class CompiledCode:
    """The code of all kernels that this process has used.

    ``compiled`` and ``loaded`` are the names of kernels, with the types of their arguments, that
    were compiled here or loaded from ``folder``. The folder is None if code could not be kept.
    """

    compiled: frozenset[str]
    loaded: frozenset[str]
    folder: str | None


def compiled_code() -> CompiledCode:
    """Return which kernels this process has compiled, and which it has loaded."""
    used = [loop for each in _KERNELS for loop in each.compiled_loops()]
    compiled, loaded = (
        frozenset(loop.name for loop in used if loop.was_loaded is kind) for kind in (False, True)
    )
    compiler = _compiler()
    is_kept = compiler is not None and compiler.cache.is_writable
    return CompiledCode(compiled, loaded, compiler.cache.folder if compiler and is_kept else None)


class Kernel:
    """A loop that is compiled when it is first called; ``reference`` is the same in NumPy."""

    def __init__(
        self,
        loops: Callable[..., Any],
        reference: Callable[..., Any],
        scratch: Scratch = None,
        shared: Sequence[str] = (),
    ) -> None:
        self.loops = loops
        self.reference = reference
        self.scratch = scratch
        self.shared = tuple(shared)
        self._run: Callable[..., Any] = self._first_run
        self._compiled: dict[Any, CompiledLoop] = {}  # by the kinds of the arguments
        _KERNELS.append(self)

    def __call__(self, *arguments: Any) -> Any:
        return self._run(*arguments)

    def _first_run(self, *arguments: Any) -> Any:
        with deferred_signals(), _LOCK:
            self._run = self._run_compiled if _compiler() else self.reference
        return self._run(*arguments)

    def _run_compiled(self, *given: Any) -> Any:
        arguments = given if self.scratch is None else (*given, *self.scratch(*given))
        kinds = tuple(map(kind_of, arguments))
        found = self._compiled.get(kinds)
        if found is None:
            try:
                found = self._compile(kinds, arguments)
            except SourceError as error:
                add_remark(
                    f"{self.loops.__module__}.{self.loops.__name__} cannot be compiled ({error}), "
                    f"so it runs in NumPy, which takes several times as long."
                )
                self._run = self.reference
                return self.reference(*given)
        return found.call(arguments)

    def _compile(self, kinds: Any, arguments: tuple[Any, ...]) -> CompiledLoop:
        # No signal interrupts this: the lock of llvmlite could stay taken. Python does not look for
        # reference cycles meanwhile, which takes a tenth of the time.
        with deferred_signals(), _LOCK:
            if kinds not in self._compiled:
                compiler, is_collecting = _compiler(), gc.isenabled()
                assert compiler is not None
                gc.disable()
                try:
                    self._compiled[kinds] = compiler.compiled(self.loops, arguments, self.shared)
                finally:
                    if is_collecting:
                        gc.enable()
            return self._compiled[kinds]

    def compiled_loops(self) -> list[CompiledLoop]:
        """Return the code of all types for which it was called."""
        return list(self._compiled.values())


def _is_set(name: str) -> bool:
    """Return whether an environment variable is set, to anything but 0."""
    return os.environ.get(name, "0") not in ("", "0")


@cache
def _compiler() -> LoopCompiler | None:
    """Return the compiler of this process, or None if nothing can be compiled."""
    if _is_set(NUMPY_ONLY):
        return None
    try:
        return LoopCompiler(add_remark, is_checked=_is_set(CHECKED))
    except InvalidInput:
        raise
    except Exception as error:  # llvmlite is missing, or raises anything
        add_remark(
            f"Loops cannot be compiled ({type(error).__name__}: {error}), so they run in NumPy, "
            f"which takes several times as long."
        )
        return None


def kernel(
    reference: Callable[..., Any], scratch: Scratch = None, shared: Sequence[str] = ()
) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a loop a `Kernel` with this NumPy reference.

    ``scratch`` takes the arguments of the kernel and returns the arrays that its loop, but not its
    reference, gets after them. ``shared`` are names of parameters that share memory.
    """
    return lambda loops: Kernel(loops, reference, scratch, shared)
