"""Let LLVM turn its language into machine code for this processor, and load such code.

LLVM is called through llvmlite, whose lock would stay taken if a signal interrupted a call: callers
defer signals.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from protobandit.foundation.errors import InvalidInput
from protobandit.kernels.compiler.instructions import BLAS, SYMBOL

# Environment variable: compile for all processors of a kind, so that different machines can use the
# same files. The value is a key of `_FEATURES`, which lists what a processor must have.
PROCESSOR = "PROTOBANDIT_PROCESSOR"
_FEATURES = {
    "x86-64": (),
    "x86-64-v2": ("sse4.2", "popcnt"),
    "x86-64-v3": ("avx2", "bmi2", "fma"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
_LEVEL = 3  # of optimisation
# What LLVM may call in place of loops, or where a processor has no instruction. LLVM would end the
# process if it did not find one.
_FUNCTIONS = "memset", "memcpy", "memmove", "pow", "powf", "ceil", "ceilf"
_RARE_FUNCTIONS = "memcmp", "floor", "floorf", "sqrt", "sqrtf", "exp2", "exp2f", "ldexp"
_LIBRARY = "ucrtbase" if os.name == "nt" else "libm.so.6"  # that has them


class Machine:
    """The processor of this process, and the code that was loaded for it.

    ImportError, or an error of llvmlite, is raised if no code can be made or loaded here, and
    InvalidInput if the user asked for a processor that this one is not.
    """

    def __init__(self) -> None:
        import llvmlite
        import llvmlite.binding as llvm

        self._llvm: Any = llvm
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        triple = llvm.get_process_triple()
        name, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
        if PROCESSOR in os.environ:
            name, features = _asked_processor(triple, llvm.get_host_cpu_features()), ""
        self.processor = repr((triple, name, features))
        # What the code depends on, apart from the text.
        self.identity = repr((llvmlite.__version__, llvm.llvm_version_info, _LEVEL, self.processor))
        self._target: Any = llvm.Target.from_triple(triple).create_target_machine(
            cpu=name, features=features, opt=_LEVEL, jit=True
        )
        self._engine: Any = llvm.create_mcjit_compiler(self._parsed(""), self._target)
        _add_functions(llvm)

    def compiled(self, text: str) -> bytes:
        """Return the machine code of a module in the language of LLVM, as an object file."""
        module = self._parsed(text)
        module.verify()  # wrong instructions could otherwise end the process, or give wrong results
        options = self._llvm.create_pipeline_tuning_options(speed_level=_LEVEL)
        options.slp_vectorization = False
        builder = self._llvm.create_pass_builder(self._target, options)
        builder.getModulePassManager().run(module, builder)
        code: bytes = self._target.emit_object(module)
        return code

    def _parsed(self, text: str) -> Any:
        module = self._llvm.parse_assembly(text)
        module.triple = self._target.triple
        module.data_layout = str(self._target.target_data)
        return module

    def loaded(self, code: bytes, name: str) -> int:
        """Return the address of a function of an object file. No two functions have one name."""
        self._engine.add_object_file(self._llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        address: int = self._engine.get_function_address(name)
        if not address:
            raise OSError(f"the code has no function named {name}")
        return address


def _asked_processor(triple: str, own: Mapping[str, bool]) -> str:
    """Return the processor that the user asked for; of one that is unknown, LLVM would abort."""
    name = os.environ[PROCESSOR]
    known = _FEATURES if triple.startswith("x86_64") else {"generic": ()}
    allowed = [each for each, needed in known.items() if all(own.get(x) for x in needed)]
    if name not in allowed:
        raise InvalidInput(f"{PROCESSOR}={name!r} not allowed here. Use one of {allowed}.")
    return name


def _add_functions(llvm: Any) -> None:
    """Let code call these functions; raise OSError or AttributeError if they cannot be found."""
    for name in (*_FUNCTIONS, *_RARE_FUNCTIONS):
        if llvm.address_of_symbol(name):
            continue
        with suppress(*([OSError, AttributeError] if name in _RARE_FUNCTIONS else [])):
            function: Any = getattr(ctypes.CDLL(_LIBRARY), name)
            llvm.add_symbol(name, ctypes.cast(function, ctypes.c_void_p).value)


@cache
def add_blas() -> None:
    """Let code call the matrix products of the BLAS that SciPy brings."""
    import llvmlite.binding as llvm
    from scipy.linalg import cython_blas

    functions: Any = cython_blas.__pyx_capi__
    name_of, pointer_of = _capsules()
    for name in BLAS.values():
        capsule: Any = functions[name]
        types = name_of(capsule)
        if types.count(b" int *") != 6:
            raise ImportError(f"the BLAS of SciPy takes other numbers than int: {types!r}")
        llvm.add_symbol(SYMBOL.format(name), pointer_of(capsule, types))


def _capsules() -> tuple[Callable[..., bytes], Callable[..., int]]:
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return name_of, pointer_of
