"""``protobandit cache`` lists what is kept and removes it."""

import json
import os

import pytest

from interfaces.cli.run_cli import call
from interfaces.cli.test_main import printed_by
from protobandit.data import open_rows
from protobandit.rows.files.cache_folder import LIMIT, cache_folder


@pytest.fixture
def cache(folder, monkeypatch):
    """Keep two samples and an unfinished file in the cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    monkeypatch.setenv(LIMIT, "1.5")
    for name, n in (("first\x1b[2J.csv", 3), ("second.csv", 4)):
        path = folder / name
        path.write_text("a,b\n" + "1,2\n" * 2000, encoding="utf-8")
        open_rows(path, sample=1000 + n)
    found = cache_folder(None)
    for at, file in enumerate(sorted(found.iterdir(), key=lambda file: file.stat().st_size)):
        os.utime(file, (at, at))
    (found / ".0.part").write_bytes(bytes(2000))
    return found


def test_files_are_listed_by_last_use(cache, capsys):
    printed = printed_by(capsys, "cache")
    lines = [line.split() for line in printed.splitlines() if " kB " in line]
    assert [line[2:6] for line in lines] == [
        ["20.1", "kB", "1,003", "2"],
        ["20.2", "kB", "1,004", "2"],
        ["2", "kB", "(being", "written,"],
        ["of", "at", "most", "1.5"],
    ]
    whole = "".join(printed.split())  # long paths take several lines
    assert whole.index(r"first\x1b[2J.csv") < whole.index("second.csv")
    assert whole.endswith(f"42.3kBofatmost1.5GBin{cache}.")
    assert "\x1b[2J" not in printed


def test_json(cache, capsys):
    listed = json.loads(printed_by(capsys, "cache", "--json"))
    assert (listed["folder"], listed["limit"]) == (str(cache), 1_500_000_000)
    first, second, unfinished = listed["files"]
    assert (first["shape"], first["dtype"], first["bytes"]) == ([1003, 2], "<f8", 4096 + 16 * 1003)
    assert second["source"].endswith("second.csv")
    assert unfinished["shape"] is None
    assert (first["used"], second["used"]) == (0, 1)


def test_everything_is_removed(cache, capsys):
    assert printed_by(capsys, "cache", "--clear") == f"Removed 42.3 kB from {cache}.\n"
    assert os.listdir(cache) == []
    emptied = json.loads(printed_by(capsys, "cache", "--clear", "--json"))
    assert emptied == {"folder": str(cache), "removed_bytes": 0}


def test_a_folder_that_was_given(cache, folder, capsys):
    open_rows(folder / "second.csv", sample=10, cache=folder / "own")
    listed = json.loads(printed_by(capsys, "cache", "--cache", "own", "--json"))
    assert [file["shape"] for file in listed["files"]] == [[10, 2]]
    assert call("cache", "--cache", "own", "--clear") == 0
    assert len(os.listdir(cache)) == 3


def test_a_cache_that_does_not_exist_is_empty(folder, capsys):
    assert json.loads(printed_by(capsys, "cache", "--cache", "none", "--json"))["files"] == []
    assert "0 bytes of at most" in printed_by(capsys, "cache", "--cache", "none")
    assert not (folder / "none").exists()
