"""From a loop in Python to a function that runs its machine code: compiled, or loaded from disk.

A loop is compiled from its source, but what identifies its code on disk is the bytecode in memory.
The file may have changed since it was imported: by an upgrade while the process runs, for example.
So the source is compiled to bytecode first, and must give the bytecode in memory. The source of
this compiler is read when it is imported, for the same reason.
"""

from __future__ import annotations
import __future__

import ast
import inspect
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from tokenize import TokenError
from types import CodeType, ModuleType
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
_NESTED = {0, 0x10}  # the flag of inner functions, which was one of __future__
# The bits of the flags of code that say what was imported from __future__.
_FUTURE = sum(
    {getattr(__future__, name).compiler_flag for name in __future__.all_feature_names} - _NESTED
)


class SourceError(Exception):
    """The source of a loop cannot be read, or is not that of the loop in memory."""


def _own_sources() -> tuple[str, ...] | None:
    """Return the source of all that determines the code of a loop, or None if it is missing."""
    own = values, instructions, lowering, machine, calling, code_cache, sys.modules[__name__]
    try:
        return tuple(map(inspect.getsource, own))
    except OSError:
        return None


_SOURCES = _own_sources()


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
        if _SOURCES is None:
            raise NotImplementedError("the source of the compiler is not installed")
        self.cache = CodeCache(tell)
        self._machine = Machine()
        self._is_checked = is_checked
        self._identity = digest(
            self._machine.identity, str(is_checked), str(calling.HEADER), *_SOURCES
        )
        self._loops: dict[bytes, CompiledLoop] = {}  # by identity

    def compiled(
        self, loop: Callable[..., Any], arguments: Sequence[Any], shared: Sequence[str]
    ) -> CompiledLoop:
        """Return the code of a loop for arguments of the types that these have.

        ``shared`` are the parameters that may overlap. SourceError is raised if the loop must be
        compiled and its source is not available.
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
        key = digest(
            self._machine.processor,
            str(sys.implementation.cache_tag),
            str(self._is_checked),
            str(loop.__module__),
            repr(types),
        )
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
            owner=self._machine,
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
        found = lowering.lower(
            _parsed(loop),
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


def _parsed(loop: Callable[..., Any]) -> ast.FunctionDef:
    """Return the source of a loop, without decorators; raise unless it is that of its bytecode."""
    code = loop.__code__
    try:
        text = inspect.getsource(loop)
        # In a block of its own, an inner function may be indented.
        is_indented = text[:1].isspace()
        tree = ast.parse(f"if 1:\n{text}" if is_indented else f"\n{text}")
    except (OSError, SyntaxError, TokenError, IndexError, ValueError):
        raise SourceError("its source is not available") from None
    body = tree.body[0].body if isinstance(tree.body[0], ast.If) else tree.body
    function = body[0]
    if not isinstance(function, ast.FunctionDef):
        raise SourceError("its source has changed since it was imported")
    function.decorator_list = []
    ast.increment_lineno(function, code.co_firstlineno - 2)
    # Python compiles calls of functions of a module differently if the module was imported at the
    # top of the file.
    imported = [
        name
        for name, value in _constants(loop).items()
        if isinstance(value, ModuleType) and name.isidentifier()
    ]
    again = (_compiled_again(function, code, names) for names in (imported, []))
    if not any(_bytecode(each) == _bytecode(code) for each in again):
        raise SourceError("its source has changed since it was imported")
    return function


def _compiled_again(function: ast.FunctionDef, like: CodeType, imported: Sequence[str]) -> CodeType:
    """Return the bytecode of a function that was parsed, inside one that has its free names."""
    imports = "".join(f"import {name}\n" for name in imported)
    module = ast.parse(f"{imports}def outer({', '.join(like.co_freevars)}): pass")
    outer = module.body[-1]
    assert isinstance(outer, ast.FunctionDef)
    outer.body = [function]
    flags = like.co_flags & _FUTURE
    found: Any = compile(module, like.co_filename, "exec", flags=flags, dont_inherit=True)
    for name in ("outer", function.name):
        inner = [each for each in found.co_consts if isinstance(each, CodeType)]
        found = next(each for each in inner if each.co_name == name)
    assert isinstance(found, CodeType)
    return found


def _constants(loop: Callable[..., Any]) -> dict[str, Any]:
    """Return what the names mean that a loop takes from outside."""
    names = (*loop.__code__.co_names, *loop.__code__.co_freevars)
    known = {**loop.__globals__, **inspect.getclosurevars(loop).nonlocals}
    return {name: known[name] for name in names if name in known}


def _content(loop: Callable[..., Any]) -> str:
    """Return all that the code of a loop depends on, except types and the compiler."""
    meanings = {name: _meaning(value) for name, value in sorted(_constants(loop).items())}
    return repr((_bytecode(loop.__code__), meanings))


def _meaning(value: Any) -> tuple[str, ...]:
    """Return what a name from outside means for the code of a loop."""
    if isinstance(value, (bool, int, float, np.generic)):
        return type(value).__name__, repr(value)
    name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
    return type(value).__name__, str(getattr(value, "__module__", "")), str(name)


def _bytecode(code: CodeType) -> tuple[Any, ...]:
    """Return what code of Python does, without where it is."""
    constants = [_bytecode(each) if isinstance(each, CodeType) else each for each in code.co_consts]
    return (
        *(code.co_code, repr(constants), code.co_names, code.co_varnames, code.co_freevars),
        *(code.co_cellvars, code.co_argcount),
    )


def _shown(type_: ParameterType) -> str:
    if isinstance(type_, tuple):
        return f"({', '.join(map(_shown, type_))})"
    return type_.name if isinstance(type_, Scalar) else str(type_)
