from __future__ import annotations

import gc
import linecache
import threading
import weakref

import numpy as np
import pytest

from kernels.compiler.three_ways import compiled, compiler, line_of, run
from protobandit.kernels.compiler import calling, loop_compiler
from protobandit.kernels.compiler.loop_compiler import LoopCompiler, SourceError
from protobandit.kernels.compiler.values import KernelError

FACTOR = 3


def scale(values, out):
    n = 0
    for i in range(len(values)):
        out[i] = FACTOR * values[i]
        n += 1
    return n


def test_arguments_of_each_type_have_their_own_code():
    values = np.arange(4.0)
    for own in (values, values[::-1], values.astype("f4"), values.astype("i4")):
        for out in (np.zeros(4), np.zeros(8)[::2]):
            loop = compiled(scale, (own, out))
            assert loop.call((own, out)) == 4
            assert out.tolist() == (FACTOR * own).tolist()
    assert compiled(scale, (values, out)) is compiled(scale, (values[:2], out[:2]))


def test_names_show_the_types():
    arguments = np.zeros((2, 3), "i2").T, (np.zeros(2), 1, ()), 0.5

    def shown(values, parts, share):
        return len(values)

    loop = compiled(shown, arguments)
    assert loop.name.endswith("shown(array(i2, 2d, strided), (array(f8, 1d), int64, ()), float64)")
    assert not loop.was_loaded
    assert loop.written == ()


def test_numbers_from_outside_are_constants_of_the_code(monkeypatch):
    def result():
        out = np.zeros(1)
        run(scale, np.ones(1), out)
        return out[0]

    assert result() == 3
    for factor in (5, 0.5, -0.5, True):
        monkeypatch.setitem(globals(), "FACTOR", factor)
        assert result() == factor


def test_numbers_from_an_enclosing_function():
    def adding(amount):
        def add(n):
            return n + amount

        return add

    assert [run(adding(amount), 10) for amount in (1, 2, 0.5)] == [11, 12, 10.5]


def test_a_changed_loop_has_other_code():
    def first(n):
        return n + 1

    def second(n):
        return n + 2

    second.__qualname__ = first.__qualname__
    assert (run(first, 1), run(second, 1)) == (2, 3)


def decorated(loop):
    return loop


@decorated
@decorated
def read_below_decorators(values, i):
    """
    Take up some lines.
    """
    return values[
        i  # the line of the statement is shown
    ]


def test_lines_are_those_of_the_file():
    with pytest.raises(IndexError) as found:
        run(read_below_decorators, np.zeros(2), 2, is_checked=True)
    line = line_of(read_below_decorators, "return values[")
    assert str(found.value) == f"read_below_decorators, line {line}: an index is out of bounds"

    def indented(n):
        return [n]  # wrong

    with pytest.raises(KernelError, match=f"^Line {line_of(indented)}: "):
        run(indented, 1)


def copy_first(values, parts, out):
    out[0] = values[0] + parts[0][0]


def test_arrays_that_overlap_raise_with_checks():
    values, out = np.ones(3), np.zeros(3)
    run(copy_first, values, (values,), out, is_checked=True)
    assert out[0] == 2
    for own in (values, values[:1], values[::-1], values.view("f4")):
        with pytest.raises(ValueError, match=r"copy_first: arrays 2 and \d overlap"):
            run(copy_first, values, (out,), own, is_checked=True)
        with pytest.raises(ValueError, match=r"copy_first: arrays 2 and 1 overlap"):
            run(copy_first, out, (values,), own, is_checked=True)
    run(copy_first, values, (out,), values, shared=("values", "out"), is_checked=True)
    with pytest.raises(ValueError, match="arrays 2 and 1 overlap"):
        run(copy_first, out, (values,), values, shared=("values", "out"), is_checked=True)


@pytest.mark.parametrize("is_checked", [False, True])
def test_a_read_only_array_is_not_written(is_checked):
    values, out = np.ones(3), np.zeros(3)
    for each in (values, out):
        each.flags.writeable = False
    for _ in range(2):  # also of code that there is
        with pytest.raises(ValueError, match=r"writes to an array of shape \(3,\): read-only"):
            run(scale, values, out, is_checked=is_checked)
    assert out.tolist() == [0, 0, 0]
    assert run(scale, values, np.zeros(3), is_checked=is_checked) == 3


def test_an_unknown_layout_raises(monkeypatch):
    monkeypatch.setattr(calling, "is_layout_known", lambda: False)
    with pytest.raises(NotImplementedError, match="arrays lie in memory in an unknown way"):
        LoopCompiler(pytest.fail, is_checked=False)


class Watched(np.ndarray):
    """An array whose objects can be referred to weakly."""


def test_arrays_live_until_the_code_returns_and_no_longer():
    loop = compiled(scale, (np.zeros(1000), np.zeros(1000)))
    total = 0
    for n in range(50):
        out = np.zeros(1000).view(Watched)
        loop.call((np.full(1000, n).astype(float), out))
        total += out.sum()
        watch = weakref.ref(out)
        del out
        gc.collect(0)
        assert watch() is None
    assert total == sum(3000 * n for n in range(50))


def test_subclasses_of_arrays(tmp_path):
    values = np.memmap(tmp_path / "values", "f8", "w+", shape=(4,))
    values[:] = 2
    out = np.zeros(4).view(Watched)
    assert run(scale, values, out) == run(scale, values, out, is_checked=True) == 4
    assert out.tolist() == [6, 6, 6, 6]


def repeated(values, out, n):
    for k in range(n):
        for i in range(len(values)):
            out[i] = values[i] + k
    return out[0]


def test_threads_call_the_same_code_at_the_same_time():
    loop = compiled(repeated, (np.zeros(1), np.zeros(1), 1))
    barrier, failures = threading.Barrier(8), []

    def call(number):
        values, out = np.full(200 + number, float(number)), np.zeros(200 + number)
        barrier.wait(timeout=60)
        for _ in range(20):
            found = loop.call((values, out, 50))
            if found != number + 49 or set(out.tolist()) != {number + 49.0}:
                failures.append((number, found))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_compilers_with_and_without_checks_are_different():
    assert compiler(True) is not compiler(False)
    values = np.zeros(3)
    assert run(read_below_decorators, values, 2) == 0


SOURCE = """
from __future__ import annotations
import numpy as np

def decorated(loop):
    return loop

{before}@decorated
def loop(values):
    ''' Lines of a text\n  keep their indentation. '''
    total = 0.0
    for i in range(len(values)):
        total += {}
    return total

def other(values):
    return 7.0
"""


@pytest.fixture
def imported(tmp_path):
    """Return a function that imports a file with a loop, and one that changes the file."""
    path = tmp_path / "a_file.py"

    def write(what, before=""):
        path.write_text(SOURCE.format(what, before=before))
        linecache.checkcache()

    def load(what):
        write(what)
        compiler.cache_clear()
        names = {"__name__": "a_file", "__file__": str(path)}
        exec(compile(path.read_text(), str(path), "exec"), names)
        return names["loop"]

    return load, write


def test_a_source_that_changed_in_ways_that_do_not_matter(imported):
    load, write = imported
    loop = load("np.sqrt(values[i])")
    write("np.sqrt( # twice\n values[i])")
    assert run(loop, np.array([4.0, 9.0])) == 5


@pytest.mark.parametrize(
    ("after", "before"),
    [
        ("np.sqrt(values[i]) + 1", ""),  # another loop
        ("np.ceil(values[i])", ""),
        ("np.sqrt(values[i])", "N = 1\n" * 8),  # what is in its place is another function
        ("np.sqrt(values[i])", "N = 1\n"),  # or nothing that is a function
        ("np.sqrt(values[i]", ""),  # or no Python
    ],
)
def test_a_loop_whose_source_has_changed_is_not_compiled(imported, after, before):
    load, write = imported
    loop = load("np.sqrt(values[i])")
    write(after, before)
    with pytest.raises(SourceError, match=r"^its source "):
        run(loop, np.ones(2))


def test_types_of_constants_are_part_of_the_source(imported):
    load, write = imported
    loop = load("1")
    for wrong in ("1.0", "True"):
        write(wrong)
        with pytest.raises(SourceError, match=r"^its source has changed since it was imported$"):
            run(loop, np.ones(2))
    write("1")
    assert run(loop, np.ones(2)) == 2


def test_a_loop_without_source_is_not_compiled():
    names = {"__name__": "nowhere"}
    exec("def loop(n):\n    return n", names)
    with pytest.raises(SourceError, match=r"^its source is not available$"):
        run(names["loop"], 1)


def test_without_the_source_of_the_compiler_nothing_is_compiled(monkeypatch):
    def fail(part):
        raise OSError("could not get source code")

    monkeypatch.setattr(loop_compiler.inspect, "getsource", fail)
    assert loop_compiler._own_sources() is None
    monkeypatch.setattr(loop_compiler, "_SOURCES", None)
    with pytest.raises(NotImplementedError, match="the source of the compiler is not installed"):
        LoopCompiler(pytest.fail, is_checked=False)


def calling_by_name(function, type_):
    def loop(x):
        return type_(function(x))

    return loop


def test_names_of_functions_and_types_are_part_of_the_code():
    loops = [
        calling_by_name(function, type_)
        for function in (np.sqrt, np.ceil)
        for type_ in (np.float64, np.int64)
    ]
    assert [run(loop, 6.25) for loop in loops] == [2.5, 2, 7, 7]
    assert [type(run(loop, 6.25)) for loop in loops] == [float, int, float, int]


def test_a_number_of_another_type_is_another_constant():
    def adding(amount):
        def add(x):
            return x + amount

        return add

    x = np.float32(1)
    narrow, wide = (run(adding(kind(0.1)), x) for kind in (np.float32, np.float64))
    assert narrow == float(np.float32(1) + np.float32(0.1)) != wide == 1 + 0.1


def test_the_code_lives_as_long_as_the_function_that_calls_it():
    own = LoopCompiler(pytest.fail, is_checked=False)
    call = own.compiled(scale, (np.zeros(1), np.zeros(1)), ()).call
    machine = weakref.ref(own._machine)
    del own
    gc.collect()
    out = np.zeros(2)
    assert call((np.ones(2), out)) == 2
    assert out.tolist() == [3, 3]
    assert machine() is not None
    del call
    gc.collect()
    assert machine() is None
