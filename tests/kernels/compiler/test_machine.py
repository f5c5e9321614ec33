from __future__ import annotations

import ctypes
import platform
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.kernels.compiler import machine as machine_module
from protobandit.kernels.compiler.instructions import BLAS, SYMBOL
from protobandit.kernels.compiler.machine import PROCESSOR, Machine, add_blas

ADD = """
define i64 @{}(i64 %a, i64 %b) {{
  %sum = add i64 %a, %b
  %result = mul i64 %sum, {}
  ret i64 %result
}}
"""
FILL = """
define void @fill(ptr %start, i64 %n) {
entry:
  br label %test
test:
  %i = phi i64 [ 0, %entry ], [ %next, %inside ]
  %is_inside = icmp slt i64 %i, %n
  br i1 %is_inside, label %inside, label %after
inside:
  %at = getelementptr i64, ptr %start, i64 %i
  store i64 0, ptr %at
  %next = add nsw i64 %i, 1
  br label %test
after:
  ret void
}
"""
POWER = """
declare {0} @llvm.pow.{1}({0}, {0})
define {0} @{2}({0} %a, {0} %b) {{
  %result = call {0} @llvm.pow.{1}({0} %a, {0} %b)
  ret {0} %result
}}
"""
PRODUCT = """
declare void @{}({})
define void @{}({}) {{
  call void @{}({})
  ret void
}}
"""


@pytest.fixture(scope="module")
def machine():
    return Machine()


def integer_function(address):
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(address)


def test_code_is_compiled_and_loaded(machine):
    code = machine.compiled(ADD.format("add", 1))
    assert isinstance(code, bytes)
    assert integer_function(machine.loaded(code, "add"))(2, -5) == -3


def test_functions_of_different_names_stay_loaded(machine):
    functions = [
        integer_function(
            machine.loaded(machine.compiled(ADD.format(f"times_{n}", n)), f"times_{n}")
        )
        for n in range(20)
    ]
    assert [function(1, 2) for function in functions] == [3 * n for n in range(20)]


def test_code_runs_in_another_process(machine, tmp_path):
    (tmp_path / "code").write_bytes(machine.compiled(ADD.format("stored", 10)))
    text = (
        "import ctypes, sys; from pathlib import Path;"
        "from protobandit.kernels.compiler.machine import Machine;"
        "machine = Machine(); address = machine.loaded(Path(sys.argv[1]).read_bytes(), 'stored');"
        "number = ctypes.c_int64; print(ctypes.CFUNCTYPE(number, number, number)(address)(1, 2))"
    )
    command = [sys.executable, "-c", text, str(tmp_path / "code")]
    found = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert found.stdout.strip() == b"30"


def test_a_function_that_is_missing_raises(machine):
    code = machine.compiled(ADD.format("present", 1))
    with pytest.raises(OSError, match="the code has no function named absent"):
        machine.loaded(code, "absent")


def test_wrong_text_raises(machine):
    with pytest.raises(RuntimeError, match="parsing error"):
        machine.compiled("define nothing")


def test_functions_that_llvm_calls_are_known(machine):
    fill = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)
    values = np.arange(1000)
    fill(machine.loaded(machine.compiled(FILL), "fill"))(values.ctypes.data, 900)
    assert np.flatnonzero(values).tolist() == list(range(900, 1000))
    for code, name, number in (
        ("double", "f64", ctypes.c_double),
        ("float", "f32", ctypes.c_float),
    ):
        text = POWER.format(code, name, f"power_{name}")
        address = machine.loaded(machine.compiled(text), f"power_{name}")
        function = ctypes.CFUNCTYPE(number, number, number)(address)
        assert function(2.5, 3.0) == pytest.approx(15.625)


def test_loops_become_calls_of_functions_in_a_library(machine):
    assert b"memset" in machine.compiled(FILL)


def test_code_depends_on_the_processor_that_is_asked_for(machine, monkeypatch):
    assert machine.identity == Machine().identity
    is_x86 = platform.machine() in ("x86_64", "AMD64")
    monkeypatch.setenv(PROCESSOR, "x86-64" if is_x86 else "generic")
    portable = Machine()
    assert portable.identity != machine.identity
    assert portable.processor != machine.processor
    code = portable.compiled(ADD.format("portable", 3))
    assert integer_function(machine.loaded(code, "portable"))(1, 2) == 9
    monkeypatch.setenv(PROCESSOR, "pentium")
    with pytest.raises(InvalidInput, match="PROTOBANDIT_PROCESSOR='pentium' not allowed here"):
        Machine()


@pytest.mark.parametrize(("code", "dtype"), [("double", np.float64), ("float", np.float32)])
def test_the_blas_of_scipy_multiplies_matrices(machine, code, dtype):
    add_blas()
    add_blas()
    symbol, name = SYMBOL.format(BLAS[code]), f"product_{code}"
    values = ", ".join(f"ptr %{i}" for i in range(13))
    text = PRODUCT.format(symbol, ", ".join(["ptr"] * 13), name, values, symbol, values)
    address = machine.loaded(machine.compiled(text), name)
    # Matrices by column: a is 2 x 3, b is 3 x 2.
    a, b, out = np.arange(6, dtype=dtype), np.arange(6, dtype=dtype), np.zeros(4, dtype)
    m, n, k, one, zero = (*map(np.int32, (2, 2, 3)), dtype(1), dtype(0))
    letter = np.frombuffer(b"N", np.uint8)
    m, n, k, one, zero = (np.array([each]) for each in (m, n, k, one, zero))
    numbers = letter, letter, m, n, k, one, a, m, b, k, zero, out, m
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 13)(address)
    function(*(each.ctypes.data for each in numbers))
    expected = a.reshape(2, 3, order="F") @ b.reshape(3, 2, order="F")
    assert out.reshape(2, 2, order="F").tolist() == expected.tolist()


def test_a_blas_with_other_integers_is_not_used(monkeypatch):
    types = b"void (char *, char *, int64_t *)"
    monkeypatch.setattr(machine_module, "_capsules", lambda: (lambda own: types, pytest.fail))
    with pytest.raises(ImportError, match="takes other numbers than int"):
        add_blas.__wrapped__()


ROUND_UP = """
declare {0} @llvm.ceil.{1}({0})
define {0} @{2}({0} %a) {{
  %result = call {0} @llvm.ceil.{1}({0} %a)
  ret {0} %result
}}
"""


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="others round in code")
def test_a_processor_without_an_instruction_calls_a_function(monkeypatch):
    monkeypatch.setenv(PROCESSOR, "x86-64")
    portable = Machine()
    for code, name, number in (
        ("double", "f64", ctypes.c_double),
        ("float", "f32", ctypes.c_float),
    ):
        content = portable.compiled(ROUND_UP.format(code, name, f"ceil_{name}"))
        assert b"ceil\0" in content or b"ceilf\0" in content
        function = ctypes.CFUNCTYPE(number, number)(portable.loaded(content, f"ceil_{name}"))
        assert function(2.5) == 3


class Symbols:
    """In place of LLVM: knows some functions, and records those that are added."""

    def __init__(self, *known):
        self.known = {*known}

    def address_of_symbol(self, name):
        return name in self.known or None

    def add_symbol(self, name, address):
        assert address
        assert name not in self.known
        self.known.add(name)


def library(*names):
    return SimpleNamespace(**{name: ctypes.CFUNCTYPE(None)(lambda: None) for name in names})


def test_functions_that_are_not_known_are_found_in_a_library(monkeypatch):
    needed, rare = machine_module._FUNCTIONS, machine_module._RARE_FUNCTIONS
    assert {"ceil", "ceilf", "pow", "memset"} <= {*needed}
    symbols = Symbols("pow")
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library(*needed, *rare))
    machine_module._add_functions(symbols)
    assert symbols.known == {*needed, *rare}
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library(*needed))
    symbols = Symbols()
    machine_module._add_functions(symbols)
    assert symbols.known == {*needed}, "others are rarely called"
    monkeypatch.setattr(ctypes, "CDLL", lambda name: library(*needed[:-1]))
    with pytest.raises(AttributeError):
        machine_module._add_functions(Symbols())


def test_wrong_instructions_raise(machine):
    text = "define i64 @f() {\nentry:\n  %a = add i64 %b, 1\n  %b = add i64 1, 1\n  ret i64 %a\n}"
    with pytest.raises(RuntimeError, match="does not dominate all uses"):
        machine.compiled(text)
