"""Compile a loop on its first call, or fall back to its NumPy reference.

Rules of this folder
--------------------
1. A kernel takes arrays and writes into arrays it is given; it allocates nothing in its loops.
2. It is serial and releases the interpreter lock; cutting work into tasks is not its business.
3. Each has a NumPy reference of the same signature, which serves when numba cannot be imported.
4. The compiler specialises the types; there are no copies by dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

# Sums may be re-associated (that is what lets them run in SIMD lanes), but NaN and infinity keep
# their meaning.
_FASTMATH = {"reassoc", "contract", "nsz", "arcp"}
_LOCK = Lock()


class Kernel:
    """A loop that compiles itself when first called.

    Parameters
    ----------
    loops
        The function to compile.
    reference
        The same in NumPy.
    """

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
        """Return the compiled loop, or the reference where numba is missing."""
        with _LOCK:
            if self._compiled is None:
                self._compiled = _compile(self.loops) or self.reference
            return self._compiled


def kernel(reference: Callable[..., Any]) -> Callable[[Callable[..., Any]], Kernel]:
    """Make the decorated loop a `Kernel` with this NumPy reference."""
    return lambda loops: Kernel(loops, reference)


def _compile(loops: Callable[..., Any]) -> Callable[..., Any] | None:
    try:
        import numba
    except Exception:  # missing, or at odds with the NumPy at hand, which may raise anything
        return None
    if getattr(numba.config, "DISABLE_JIT", False):  # the reference is the faster Python
        return None
    options: dict[str, Any] = {"nopython": True, "nogil": True, "error_model": "numpy"}
    try:
        compiled: Callable[..., Any] = numba.jit(cache=True, fastmath=_FASTMATH, **options)(loops)
    except RuntimeError:  # no folder to keep the cache in: a read-only or zipped installation
        compiled = numba.jit(fastmath=_FASTMATH, **options)(loops)
    return compiled
