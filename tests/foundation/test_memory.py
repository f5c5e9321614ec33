from __future__ import annotations

import os

import pytest

from protobandit.foundation import memory

GB = 2**30


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


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({}, None),
        ({"memory_of_max": "max\n", "memory_of_current": "7\n"}, None),
        ({"memory_of_max": "10\n", "memory_of_current": "7\n"}, 3),
        ({"memory_of_max": "10\n", "memory_of_current": "12\n"}, 0),
        (
            {
                "memory_of_max": "10\n",
                "memory_of_current": "7\n",
                "memory_of_stat": "anon 2\ninactive_file 4\n",
            },
            7,
        ),
        (
            {
                "memory__memory_of_limit_in_bytes": "10\n",
                "memory__memory_of_usage_in_bytes": "7\n",
                "memory__memory_of_stat": "inactive_file 1\ntotal_inactive_file 4\n",
            },
            7,
        ),
    ],
)
def test_container_limit_excludes_cached_files(tmp_path, files, free):
    assert memory._free_in_container(write(tmp_path, **files)) == free


@pytest.mark.parametrize(
    ("free", "in_container", "available"),
    [
        (4 * GB, None, 4 * GB),
        (4 * GB, GB, GB),
        (GB, 4 * GB, GB),
        (None, GB, GB),
        (None, None, 5 * GB),
    ],
)
def test_available_memory_is_the_smallest_limit(monkeypatch, free, in_container, available):
    monkeypatch.setattr(memory, "_meminfo", lambda path: free)
    monkeypatch.setattr(memory, "_free_in_container", lambda folder: in_container)
    monkeypatch.setattr(memory, "_half_of_physical", lambda: 5 * GB)
    assert memory.available_memory() == available


def test_half_of_physical_memory_is_the_fallback(monkeypatch):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 100}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__, raising=False)
    assert memory._half_of_physical() == 4096 * 50
    monkeypatch.delattr(os, "sysconf")
    assert memory._half_of_physical() == 2 * GB
