"""Compile a loop on its first call, or use its NumPy reference.

Rules of this folder
--------------------
1. A kernel reads arrays and writes to arrays that are passed to it. It allocates nothing in its
   loops.
2. A kernel is serial and releases the interpreter lock. Its callers split work into tasks.
3. Each kernel has a NumPy reference with the same signature, which is used if numba cannot be
   imported.
4. The compiler specialises a kernel for each dtype, so there are no copies of the code by dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

# Sums may be re-associated, which SIMD lanes require, but NaN and infinity keep their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
_LOCK = Lock()


class Kernel:
    """A loop that is compiled when it is first called; ``reference`` is the same in NumPy."""

    def __init__(self, loops: Callable[..., Any], reference: Callable[..., Any]) -> None:
        self.loops = loops
        self.reference = reference
        self._compiled: Callable[..., Any] | None = None

    def __call__(self, *arrays: Any) -> Any:
        compiled = self._compiled
        if compiled is None:
            compiled = self.compile()
        return compiled(*arrays)

    def compile(self) -> Callable[..., Any]:
        """Return the compiled loop, or the reference if numba is missing."""
        with _LOCK:
            if self._compiled is None:
                self._compiled = _compile(self.loops) or self.reference
            return self._compiled


def kernel(reference: Callable[..., Any]) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a decorator that makes a loop a `Kernel` with this NumPy reference."""
    return lambda loops: Kernel(loops, reference)


def _compile(loops: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba
    except Exception:  # missing, or incompatible with the installed NumPy, which may raise anything
        return None
    if getattr(numba.config, "DISABLE_JIT", False):  # the reference is faster than a loop in Python
        return None
    options: dict[str, Any] = {"nopython": True, "nogil": True, "error_model": "numpy"}
    # The cache does not distinguish loops with and without checks of indices (NUMBA_BOUNDSCHECK).
    is_cached = getattr(numba.config, "BOUNDSCHECK", None) is None
    try:
        compiled: Callable[..., Any] = numba.jit(cache=is_cached, fastmath=_FASTMATH, **options)(
            loops
        )
    except RuntimeError:  # no folder for the cache: a read-only or zipped installation
        compiled = numba.jit(fastmath=_FASTMATH, **options)(loops)
    return compiled
