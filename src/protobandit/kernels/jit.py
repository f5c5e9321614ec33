"""Compile a loop on its first call, or use its NumPy reference.

Rules of this folder
--------------------
1. A kernel reads arrays and writes to arrays that are passed to it. It allocates nothing in its
   loops. Arrays that it needs for itself are made by its ``scratch`` function, in NumPy, where many
   or unusual ones would take long to compile.
2. A kernel is serial and releases the interpreter lock. Its callers split work into tasks.
3. Each kernel has a NumPy reference with the same signature, which is used if numba cannot be
   imported.
4. The compiler specialises a kernel for each dtype, so there are no copies of the code by dtype.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeAlias

from protobandit.foundation.deferred_signals import deferred_signals
from protobandit.kernels.compilation_remarks import add_remark

# Sums may be re-associated, which SIMD lanes require, but NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
# No kernel is called from C or has array expressions to fuse: without them numba compiles faster.
_OPTIONS: dict[str, Any] = {
    "nopython": True,
    "nogil": True,
    "error_model": "numpy",
    "no_cfunc_wrapper": True,
    "no_rewrites": True,
}
_LOCK = Lock()

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
    used = [each for each in _KERNELS if each.dispatcher is not None]
    compiled, loaded = (
        frozenset(
            f"{each.loops.__qualname__}{types}"
            for each in used
            for types in getattr(each.dispatcher.stats, kind)
        )
        for kind in ("cache_misses", "cache_hits")
    )
    caches = [each.dispatcher._cache for each in used]
    are_kept = bool(caches) and all(getattr(cache, "is_writable", False) for cache in caches)
    return CompiledCode(compiled, loaded, caches[0].cache_path if are_kept else None)


class Kernel:
    """A loop that is compiled when it is first called; ``reference`` is the same in NumPy."""

    def __init__(
        self, loops: Callable[..., Any], reference: Callable[..., Any], scratch: Scratch = None
    ) -> None:
        self.loops = loops
        self.reference = reference
        self.scratch = scratch
        self.dispatcher: Any = None  # of numba, once the loop is compiled
        self._compiled: Callable[..., Any] | None = None
        _KERNELS.append(self)

    def __call__(self, *arrays: Any) -> Any:
        compiled = self._compiled
        if compiled is None:
            compiled = self.compile()
        return compiled(*arrays)

    def compile(self) -> Callable[..., Any]:
        """Return the compiled loop, or the reference if numba is missing."""
        with deferred_signals(), _LOCK:
            if self._compiled is None:
                compiled, scratch = _compile(self.loops), self.scratch
                self.dispatcher = compiled
                if compiled is None:
                    self._compiled = self.reference
                elif scratch is None:
                    self._compiled = compiled
                else:
                    self._compiled = lambda *arrays: compiled(*arrays, *scratch(*arrays))
            return self._compiled


def kernel(
    reference: Callable[..., Any], scratch: Scratch = None
) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a loop a `Kernel` with this NumPy reference.

    ``scratch`` takes the arguments of the kernel and returns the arrays that its loop, but not its
    reference, gets after them.
    """
    return lambda loops: Kernel(loops, reference, scratch)


def _compile(loops: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba
    except Exception:  # missing, or incompatible with the installed NumPy, which may raise anything
        return None
    if getattr(numba.config, "DISABLE_JIT", False):  # the reference is faster than a loop in Python
        return None
    compiled: Any = numba.jit(fastmath=_FASTMATH, **_OPTIONS)(loops)
    _keep_on_disk(compiled, {**_OPTIONS, "fastmath": sorted(_FASTMATH)})
    _guard(compiled)
    return compiled  # type: ignore[no-any-return]


def _guard(compiled: Any) -> None:
    """Let no signal interrupt compiling or loading: the locks of numba could stay taken.

    Meanwhile Python does not look for reference cycles, which takes a tenth of the time.
    """
    compile_for_types = compiled._compile_for_args  # called for arguments of new types

    def guarded(*arguments: Any, **named: Any) -> Any:
        with deferred_signals():
            is_collecting = gc.isenabled()
            gc.disable()
            try:
                return compile_for_types(*arguments, **named)
            finally:
                if is_collecting:
                    gc.enable()

    compiled._compile_for_args = guarded


def _keep_on_disk(compiled: Any, options: dict[str, Any]) -> None:
    """Let a compiled function keep its code on disk, where that is possible."""
    from protobandit.kernels.code_cache import CodeCache  # imports numba

    try:
        compiled._cache = CodeCache(compiled.py_func, options, add_remark)
    except (RuntimeError, OSError):  # a read-only or zipped installation without a home folder
        add_remark(
            "There is no folder that can be written for compiled code, so each process compiles it "
            "again, which takes some seconds. Set NUMBA_CACHE_DIR to such a folder."
        )
