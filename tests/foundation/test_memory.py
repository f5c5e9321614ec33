from __future__ import annotations

import os
import subprocess
import sys

import pytest

from protobandit.foundation import memory

GB = 2**30
SHOW_AVAILABLE = (
    "from protobandit.foundation import memory; print(memory._free_addresses(memory.Path"
    '("/proc/self/statm")))'
)


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_of_", ".")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder


def test_available_memory_is_positive():
    assert 0 < memory.available_memory() < 2**50


def test_meminfo_is_read_in_bytes(tmp_path):
    facts = "MemTotal:  100 kB\nMemFree:  2 kB\nMemAvailable:   30 kB\nHugePages_Total:  0\nodd\n"
    assert memory._meminfo(write(tmp_path, meminfo=facts) / "meminfo") == 30 * 1024


@pytest.mark.parametrize("text", ["", "MemTotal: 3 kB\n", "MemAvailable: much\n", "é"])
def test_missing_entries_are_none(tmp_path, text):
    assert memory._meminfo(write(tmp_path, meminfo=text) / "meminfo") is None
    assert memory._meminfo(tmp_path / "absent") is None


def group(folder, limit, used, version=2, cached=0):
    """Write the files of a control group."""
    names = {1: ("limit_in_bytes", "usage_in_bytes", "total_inactive_file")}
    most, usage, reclaimable = names.get(version, ("max", "current", "inactive_file"))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"memory.{most}").write_text(f"{limit}\n")
    (folder / f"memory.{usage}").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 2\n{reclaimable} {cached}\n")


def in_groups(tmp_path, text):
    (tmp_path / "cgroup").write_text(text)
    return memory._free_in_groups(tmp_path / "cgroup", tmp_path / "fs")


def test_without_control_groups_there_is_no_limit(tmp_path):
    assert memory._free_in_groups(tmp_path / "absent", tmp_path) is None
    assert in_groups(tmp_path, "") is None
    assert in_groups(tmp_path, "odd\n0::/a\n") is None


@pytest.mark.parametrize(
    ("limit", "used", "cached", "free"), [("max", 7, 0, None), (10, 7, 0, 3), (10, 12, 0, 0)]
)
def test_the_limit_of_a_group(tmp_path, limit, used, cached, free):
    group(tmp_path / "fs", limit, used, cached=cached)
    assert in_groups(tmp_path, "0::/\n") == free


@pytest.mark.parametrize("version", [1, 2])
def test_cached_files_are_free(tmp_path, version):
    group(tmp_path / "fs" / ("memory" if version == 1 else ""), 10, 7, version, cached=4)
    line = "5:cpu:/x\n3:blkio,memory:/\n" if version == 1 else "0::/\n"
    assert in_groups(tmp_path, line) == 7


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("tightest", ["", "a", "a/b", "a/b/c"])
def test_the_tightest_group_up_to_the_root_counts(tmp_path, version, tightest):
    root = tmp_path / "fs" / ("memory" if version == 1 else "")
    for name in ("", "a", "a/b", "a/b/c"):
        group(root / name, 50 if name == tightest else 1000, 10, version)
    line = "4:memory:/a/b/c\n" if version == 1 else "0::/a/b/c\n"
    assert in_groups(tmp_path, line) == 40


def test_groups_that_a_container_hides_are_skipped(tmp_path):
    group(tmp_path / "fs", 100, 30)
    assert in_groups(tmp_path, "0::/../hidden/group\n") == 70
    assert in_groups(tmp_path, "0::/system/of/the/host\n") == 70


def test_the_address_space_is_limited():
    command = f"ulimit -v 4000000; {sys.executable} -c '{SHOW_AVAILABLE}'"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60
    )
    assert 0 < int(done.stdout) < 4_000_000 * 1024


@pytest.mark.parametrize(
    ("free", "in_groups", "addresses", "available"),
    [
        (4 * GB, None, None, 4 * GB),
        (4 * GB, GB, None, GB),
        (GB, 4 * GB, None, GB),
        (None, GB, None, GB),
        (None, None, None, 5 * GB),
        (4 * GB, 2 * GB, GB, GB),
    ],
)
def test_available_memory_is_the_smallest_limit(monkeypatch, free, in_groups, addresses, available):
    monkeypatch.setattr(memory, "_meminfo", lambda path: free)
    monkeypatch.setattr(memory, "_free_in_groups", lambda groups, root: in_groups)
    monkeypatch.setattr(memory, "_free_addresses", lambda sizes: addresses)
    monkeypatch.setattr(memory, "_half_of_physical", lambda: 5 * GB)
    assert memory.available_memory() == available


def test_half_of_physical_memory_is_the_fallback(monkeypatch):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 100}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert memory._half_of_physical() == 4096 * 50
    monkeypatch.delattr(os, "sysconf")
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert memory._half_of_physical() == 2 * GB
