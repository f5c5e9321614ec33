"""Files of compiled code: whatever happens to them, the result is right."""

from __future__ import annotations

import errno
import shutil

import pytest

import faults
from kernels.test_jit import fresh, is_correct
from protobandit.kernels.compilation_remarks import take_remarks
from protobandit.kernels.jit import compiled_code

numba = pytest.importorskip("numba")
_CodeFiles = pytest.importorskip("protobandit.kernels.code_cache")._CodeFiles


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Keep code in an empty folder."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    take_remarks()
    return tmp_path


def compiled():
    """Call a kernel as in a new process; return whether its code was compiled, and the remarks."""
    kernel = fresh()
    assert is_correct(kernel)
    return sum(kernel._compiled.stats.cache_hits.values()) == 0, take_remarks()


def code_file(folder):
    (path,) = folder.rglob("*.nbc")
    return path


def test_code_is_compiled_once(folder):
    assert compiled() == (True, [])
    assert compiled() == (False, [])
    assert [path.suffix for path in folder.rglob("*") if path.is_file()] == [".nbc"]


def test_damaged_code_is_compiled_again(folder):
    compiled()
    path = code_file(folder)
    damaged = bytearray(path.read_bytes())
    damaged[2000] ^= 1
    path.write_bytes(damaged)
    was_compiled, (remark,) = compiled()
    assert was_compiled
    assert remark == (
        f"Compiled code in {path.parent} cannot be used (a file is damaged), so it was compiled "
        f"again, which takes some seconds."
    )
    assert compiled() == (False, []), "the file was written again"


KEY = ("float64", "processor", "digest of the function")


def test_flipped_bits_and_cuts_are_found(folder):
    files = _CodeFiles(folder / "loops", "version")
    files.save(KEY, list(range(30)))
    assert files.load(KEY) == list(range(30))
    path = code_file(folder)
    whole = path.read_bytes()
    for at in range(0, len(whole), 5):
        flipped = bytearray(whole)
        flipped[at] ^= 1 << at % 8
        for content in (flipped, whole[:at]):
            path.write_bytes(content)
            with pytest.raises(ValueError, match="a file is damaged"):
                files.load(KEY)


def test_code_of_another_version_or_function_is_replaced(folder):
    new = _CodeFiles(folder / "loops", "version 2"), KEY
    changed = _CodeFiles(folder / "loops", "version"), (*KEY[:2], "digest of a changed function")
    for files, key in (new, changed):
        _CodeFiles(folder / "loops", "version").save(KEY, "old")
        assert files.load(key) is None
        files.save(key, "new")
        assert files.load(key) == "new"
        code_file(folder)  # there is one


def test_code_of_another_signature_is_not_used(folder):
    files, narrow = _CodeFiles(folder / "loops", "version"), ("float32", *KEY[1:])
    files.save(KEY, "wide")
    wide = code_file(folder)
    files.save(narrow, "narrow")
    (path,) = set(folder.iterdir()) - {wide}
    shutil.copy(wide, path)
    assert files.load(narrow) is None
    assert files.load(KEY) == "wide"


def test_code_of_other_settings_is_not_used(monkeypatch):
    compiled()
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    assert compiled() == (True, [])
    monkeypatch.setattr("protobandit.kernels.jit._FASTMATH", {"contract"})
    assert compiled() == (True, [])
    stamp = "numba.core.caching.UserProvidedCacheLocator.get_source_stamp"
    monkeypatch.setattr(stamp, lambda self: "another source")
    assert compiled() == (True, [])


def test_no_fault_changes_the_result(folder):
    def clear():
        shutil.rmtree(folder)
        folder.mkdir()

    kinds = (faults.FULL_DISK, faults.Kind(errno.EIO, {"write", "replace"}))
    remarks = set()
    for fault in faults.each(folder, compiled, kinds, before=clear):
        with fault:
            _, found = compiled()
        assert fault.is_reached
        assert not list(folder.rglob("*.tmp")), fault
        remarks.update(remark.partition("(")[2].partition(")")[0] for remark in found)
    assert remarks >= {"No space left on device", "Input/output error"}


def test_no_folder_can_be_written(folder, monkeypatch):
    (folder / "file").touch()
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(folder / "file"))
    for locator in ("InTreeCacheLocator", "UserWideCacheLocator", "ZipCacheLocator"):
        monkeypatch.setattr(f"numba.core.caching.{locator}.from_function", lambda *given: None)
    was_compiled, (remark,) = compiled()
    assert was_compiled
    assert remark.startswith("There is no folder that can be written for compiled code")


def test_code_that_was_not_kept_is_reported(folder, monkeypatch):
    kernel = fresh()
    assert is_correct(kernel)
    code = compiled_code()
    assert any(name.startswith("double(") for name in code.compiled)
    assert kernel.dispatcher._cache.is_writable

    def fail(*paths):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("protobandit.kernels.code_cache.os.replace", fail)
    kernel = fresh()
    code_file(folder).unlink()
    assert is_correct(kernel)
    assert not kernel.dispatcher._cache.is_writable
    assert compiled_code().folder is None
