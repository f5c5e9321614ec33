"""From a loop in Python to a function that runs its machine code: compiled, or loaded from disk."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from protobandit.kernels.compiler import (
    calling,
    code_cache,
    instructions,
    lowering,
    machine,
    values,
)
from protobandit.kernels.compiler.code_cache import CodeCache, digest
from protobandit.kernels.compiler.machine import Machine
from protobandit.kernels.compiler.values import ParameterType, Scalar

_TYPES = values.INT64, values.UINT64, values.FLOAT32, values.FLOAT64
_RESULTS = {each.name: each for each in _TYPES}


@dataclass(frozen=True)
class CompiledLoop:
    """Machine code of a loop for arguments of some types.

    ``call`` takes the arguments as one sequence. ``name`` says which loop and types it is for;
    ``was_loaded`` that it had been compiled before.
    """

    call: Callable[[Sequence[Any]], Any]
    name: str
    was_loaded: bool
    written: tuple[int, ...]  # positions among the arrays
    machine: Machine  # it frees the code when it is deleted


class LoopCompiler:
    """Compiles loops for the processor of this process, or loads what was compiled for it before.

    An exception is raised if no machine code can be made or loaded here.
    """

    def __init__(self, tell: Callable[[str], None], *, is_checked: bool) -> None:
        if not calling.is_layout_known():
            raise NotImplementedError("arrays lie in memory in an unknown way")
        self.cache = CodeCache(tell)
        self._machine = Machine()
        self._is_checked = is_checked
        own = values, instructions, lowering, machine, calling, code_cache
        self._identity = digest(
            self._machine.identity, str(is_checked), *map(inspect.getsource, own)
        )
        self._loops: dict[bytes, CompiledLoop] = {}  # by identity

    def compiled(
        self, loop: Callable[..., Any], arguments: Sequence[Any], shared: Sequence[str]
    ) -> CompiledLoop:
        """Return the code of a loop for arguments of the types that these have.

        ``shared`` are the parameters that may overlap.
        """
        types = tuple(map(calling.type_of, arguments))
        where = f"{loop.__module__}.{loop.__qualname__}"
        identity = digest(self._identity, where, _content(loop), repr(types), repr(shared))
        if identity not in self._loops:
            self._loops[identity] = self._found(loop, types, identity, shared)
        found = self._loops[identity]
        calling.require_writeable(arguments, found.written, found.name)
        return found

    def _found(
        self,
        loop: Callable[..., Any],
        types: Sequence[ParameterType],
        identity: bytes,
        shared: Sequence[str],
    ) -> CompiledLoop:
        # Code of another version has the same file, so it is replaced.
        key = digest(self._machine.processor, str(self._is_checked), loop.__module__, repr(types))
        file_name, symbol = f"{loop.__name__}-{key.hex()}.code", f"loop_{identity.hex()}"
        content = self.cache.read(file_name, identity)
        was_loaded = content is not None
        if content is None:
            content = self._made(loop, types, symbol, shared)
            self.cache.write(file_name, identity, content)
        head, _, code = content.partition(b"\n")
        facts = json.loads(head)
        if facts["needs_blas"]:
            machine.add_blas()
        name, written = loop.__qualname__, tuple(facts["written"])
        call = calling.callable_at(
            self._machine.loaded(code, symbol),
            types,
            [_RESULTS[each] for each in facts["results"]],
            is_tuple=facts["is_tuple"],
            name=name,
        )
        if self._is_checked:
            call = calling.checked(call, written, facts["shared"], name)
        shown = f"{name}({', '.join(map(_shown, types))})"
        return CompiledLoop(call, shown, was_loaded, written, self._machine)

    def _made(
        self,
        loop: Callable[..., Any],
        types: Sequence[ParameterType],
        symbol: str,
        shared: Sequence[str],
    ) -> bytes:
        """Return the content of a file: a line of facts, and the machine code."""
        function = ast.parse(textwrap.dedent(inspect.getsource(loop))).body[0]
        assert isinstance(function, ast.FunctionDef)
        ast.increment_lineno(function, loop.__code__.co_firstlineno - 1)
        found = lowering.lower(
            function,
            _constants(loop),
            types,
            symbol=symbol,
            header=calling.HEADER,
            shared=shared,
            is_checked=self._is_checked,
        )
        facts = {
            "results": [each.name for each in found.results],
            "is_tuple": found.is_tuple,
            "written": found.written,
            "shared": found.shared,
            "needs_blas": found.needs_blas,
        }
        return json.dumps(facts).encode() + b"\n" + self._machine.compiled(found.text)


def _constants(loop: Callable[..., Any]) -> dict[str, Any]:
    """Return what the names mean that a loop takes from outside."""
    names = (*loop.__code__.co_names, *loop.__code__.co_freevars)
    known = {**loop.__globals__, **inspect.getclosurevars(loop).nonlocals}
    return {name: known[name] for name in names if name in known}


def _content(loop: Callable[..., Any]) -> str:
    """Return all that the code of a loop depends on, except types and the compiler."""
    code = loop.__code__
    numbers = {
        name: value
        for name, value in sorted(_constants(loop).items())
        if isinstance(value, (bool, int, float, np.generic))
    }
    parts = code.co_code, code.co_consts, code.co_names, code.co_varnames, code.co_argcount, numbers
    return repr(parts)


def _shown(type_: ParameterType) -> str:
    if isinstance(type_, tuple):
        return f"({', '.join(map(_shown, type_))})"
    return type_.name if isinstance(type_, Scalar) else str(type_)
