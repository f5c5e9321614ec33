"""Files of compiled code: whatever happens to them, the result is right."""

from __future__ import annotations

import errno
import os
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import faults
from protobandit.foundation.private_folders import name_for_user
from protobandit.kernels.compiler import calling, code_cache, loop_compiler
from protobandit.kernels.compiler.code_cache import FOLDER, CodeCache, digest
from protobandit.kernels.compiler.loop_compiler import LoopCompiler

NAME = "loop.code"
IDENTITY, OTHER = digest("this version"), digest("another version")


def double(values, out):
    for i in range(len(values)):
        out[i] = 2 * values[i]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Keep code in an empty folder."""
    monkeypatch.setenv(FOLDER, str(tmp_path / "code"))
    return tmp_path / "code"


def compiled():
    """Call a loop as in a new process; return whether its code was compiled, and the remarks."""
    remarks, out = [], np.empty(3)
    compiler = LoopCompiler(remarks.append, is_checked=False)
    loop = compiler.compiled(double, (np.arange(3.0), out), ())
    loop.call((np.arange(3.0), out))
    assert out.tolist() == [0, 2, 4]
    return not loop.was_loaded, remarks


def code_file(folder):
    (path,) = folder.rglob("*.code")
    return path


def test_code_is_compiled_once(folder):
    assert compiled() == (True, [])
    assert compiled() == (False, [])
    assert [path.suffix for path in folder.rglob("*") if path.is_file()] == [".code"]


def test_damaged_code_is_compiled_again(folder):
    compiled()
    path = code_file(folder)
    damaged = bytearray(path.read_bytes())
    damaged[500] ^= 1
    path.write_bytes(damaged)
    was_compiled, (remark,) = compiled()
    assert was_compiled
    assert remark == (
        f"Compiled code in {path.parent} cannot be used (a file is damaged), so it was compiled "
        f"again."
    )
    assert compiled() == (False, []), "the file was written again"


def test_flipped_bits_and_cuts_are_found(folder):
    remarks = []
    cache = CodeCache(remarks.append)
    cache.write(NAME, IDENTITY, b"machine code")
    assert cache.read(NAME, IDENTITY) == b"machine code"
    path = code_file(folder)
    whole = path.read_bytes()
    n_changes = 0
    for at in range(len(whole)):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        for content in (flipped, whole[:at]):
            path.write_bytes(content)
            assert cache.read(NAME, IDENTITY) is None
            n_changes += 1
    assert len(remarks) == n_changes


def test_code_of_another_version_is_replaced(folder):
    cache = CodeCache(pytest.fail)
    cache.write(NAME, OTHER, b"old")
    assert cache.read(NAME, IDENTITY) is None
    cache.write(NAME, IDENTITY, b"new")
    assert cache.read(NAME, IDENTITY) == b"new"
    assert cache.read(NAME, OTHER) is None
    code_file(folder)  # there is one


def test_a_digest_depends_on_where_parts_end():
    digests = {digest(), digest(""), digest("ab"), digest("a", "b"), digest("b", "a"), digest("aé")}
    assert len(digests) == 6
    assert digest("ab") == digest(b"ab")


def scaled(factor):
    """Return a loop that depends on a number from outside."""

    def loop(values, out):
        for i in range(len(values)):
            out[i] = factor * values[i]

    return loop


def test_code_depends_on_loop_numbers_types_and_options(folder, monkeypatch):
    def result(loop, dtype=np.float64, *, shared=(), is_checked=False):
        out = np.empty(3, dtype)
        compiler = LoopCompiler(pytest.fail, is_checked=is_checked)
        found = compiler.compiled(loop, (np.arange(3, dtype=dtype), out), shared)
        found.call((np.arange(3, dtype=dtype), out))
        return out.tolist(), found.was_loaded

    assert result(scaled(3)) == ([0, 3, 6], False)
    assert result(scaled(3)) == ([0, 3, 6], True)
    assert result(scaled(5)) == ([0, 5, 10], False)
    assert result(scaled(5), np.float32) == ([0, 5, 10], False)
    assert result(scaled(5)) == ([0, 5, 10], True), "that of another type is not in the way"
    assert result(scaled(5), is_checked=True) == ([0, 5, 10], False)
    assert result(scaled(5)) == ([0, 5, 10], True)
    assert result(scaled(5), shared=("values", "out")) == ([0, 5, 10], False)
    assert result(scaled(5), shared=("values", "out")) == ([0, 5, 10], True)
    n_sources = len(loop_compiler._SOURCES)
    assert n_sources == len({*loop_compiler._SOURCES}) == 7
    for i in range(n_sources):
        changed = [each + "# new" * (i == at) for at, each in enumerate(loop_compiler._SOURCES)]
        with monkeypatch.context() as patch:
            patch.setattr(loop_compiler, "_SOURCES", tuple(changed))
            assert result(scaled(5)) == ([0, 5, 10], False)


def test_code_depends_on_the_header_of_objects(monkeypatch):
    before = LoopCompiler(pytest.fail, is_checked=False)._identity
    monkeypatch.setattr(calling, "is_layout_known", lambda: True)
    monkeypatch.setattr(calling, "HEADER", calling.HEADER + 8)
    assert LoopCompiler(pytest.fail, is_checked=False)._identity != before


def test_each_version_of_python_has_its_own_files(folder, monkeypatch):
    compiled()
    monkeypatch.setattr(sys, "implementation", SimpleNamespace(cache_tag="cpython-399"))
    assert compiled() == (True, [])
    assert len(list(folder.rglob("*.code"))) == 2


def test_no_fault_changes_the_result(folder):
    def clear():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    kinds = (faults.FULL_DISK, faults.Kind(errno.EIO, {"write", "replace"}))
    remarks = set()
    for fault in faults.each(folder, compiled, kinds, before=clear):
        with fault:
            _, found = compiled()
        assert fault.is_reached
        assert not list(folder.rglob("*.part")), fault
        remarks.update(remark.partition("(")[2].partition(")")[0] for remark in found)
    assert remarks >= {"No space left on device", "Input/output error"}


def test_no_folder_can_be_written(folder):
    folder.touch()  # a file
    was_compiled, (remark,) = compiled()
    assert was_compiled
    assert remark == (
        "Compiled code cannot be kept (File exists), so each process compiles it again, which "
        "takes some seconds. Set PROTOBANDIT_CODE_FOLDER to a folder that can be written."
    )


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Return the folders that are used if the user names none: beside the kernels, and own."""
    monkeypatch.delenv(FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(code_cache, "_BESIDE", tmp_path / "package" / "__pycache__")
    (tmp_path / "package").mkdir()
    return code_cache._BESIDE, tmp_path / "cache" / "protobandit" / name_for_user("code")


def test_code_is_kept_beside_the_kernels_if_possible(places):
    beside, own = places
    cache = CodeCache(pytest.fail)
    cache.write(NAME, IDENTITY, b"code")
    assert cache.folder == str(beside)
    assert not own.exists()


def test_otherwise_code_is_kept_in_a_private_folder(places):
    beside, own = places
    beside.touch()  # a file: even an administrator cannot write there
    cache = CodeCache(pytest.fail)
    cache.write(NAME, IDENTITY, b"code")
    assert cache.folder == str(own)
    assert own.stat().st_mode & 0o077 == 0
    assert CodeCache(pytest.fail).read(NAME, IDENTITY) == b"code"


def test_code_that_was_compiled_ahead_is_found_where_it_cannot_be_written(places):
    beside, _ = places
    beside.mkdir()
    CodeCache(pytest.fail).write(NAME, IDENTITY, b"code of the administrator")
    cache = CodeCache(pytest.fail)
    assert cache.read(NAME, IDENTITY) == b"code of the administrator"
    assert cache.folder == str(beside)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no users")
@pytest.mark.parametrize("is_link", [False, True])
def test_code_to_which_others_can_write_is_not_loaded(places, tmp_path, is_link):
    beside, own = places
    beside.touch()
    CodeCache(pytest.fail).write(NAME, IDENTITY, b"code")
    if is_link:
        own.rename(tmp_path / "elsewhere")
        own.symlink_to(tmp_path / "elsewhere")
    else:
        own.chmod(0o777)
    assert CodeCache(pytest.fail).read(NAME, IDENTITY) is None


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no users")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o602])
def test_a_file_to_which_others_can_write_is_not_loaded(places, mode):
    """The folder was private again when the file was read."""
    beside, own = places
    beside.touch()
    CodeCache(pytest.fail).write(NAME, IDENTITY, b"code")
    (own / NAME).chmod(mode)
    found = CodeCache(pytest.fail).read(NAME, IDENTITY)
    assert found == (None if mode & 0o022 else b"code")


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no users")
def test_a_link_in_the_private_folder_is_not_followed(places, tmp_path):
    beside, own = places
    beside.touch()
    CodeCache(pytest.fail).write(NAME, IDENTITY, b"code")
    (own / NAME).rename(tmp_path / "elsewhere")
    (own / NAME).symlink_to(tmp_path / "elsewhere")
    assert CodeCache(pytest.fail).read(NAME, IDENTITY) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="gives files away")
def test_a_file_of_somebody_else_is_not_loaded(places):
    beside, own = places
    beside.touch()
    CodeCache(pytest.fail).write(NAME, IDENTITY, b"code")
    os.chown(own / NAME, os.geteuid() + 1234, -1)
    own.chmod(0o777)
    cache = CodeCache(pytest.fail)
    cache.write("other.code", OTHER, b"other")
    assert own.stat().st_mode & 0o022 == 0
    assert cache.read(NAME, IDENTITY) is None
    assert cache.read("other.code", OTHER) == b"other"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no users")
def test_own_files_are_private_whatever_the_mask(places):
    beside, own = places
    beside.touch()
    before = os.umask(0)
    try:
        CodeCache(pytest.fail).write(NAME, IDENTITY, b"code")
    finally:
        os.umask(before)
    assert (own / NAME).stat().st_mode & 0o777 == 0o600
    assert CodeCache(pytest.fail).read(NAME, IDENTITY) == b"code"


def test_a_user_without_home_compiles_every_time(places, monkeypatch):
    beside, _ = places
    beside.touch()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(code_cache.Path, "home", lambda: code_cache.Path("~nobody-").expanduser())
    remarks = []
    cache = CodeCache(remarks.append)
    cache.write(NAME, IDENTITY, b"code")
    assert not cache.is_writable
    assert len(remarks) == 1
