"""The folder of cached rows is private and bounded; other files in it are left alone."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.files import cache_folder as module
from protobandit.rows.files.cache_folder import (
    LIMIT,
    cache_folder,
    cached_files,
    make_room,
    private_folder,
    remove_all,
    remove_oldest,
    size_limit,
)
from protobandit.rows.files.row_file import unfinished_rows
from rows.files.test_row_file import write


def filled(folder, n_files=4):
    """Write files of 1,000 bytes; the time of the last use of the n-th one is n."""
    for at in range(n_files):
        path = folder / f"{at}.rows"
        path.write_bytes(bytes(1000))
        os.utime(path, (at, at))
    return folder


def names(folder):
    return sorted(os.listdir(folder))


def test_the_default_folder_is_that_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    own = f"rows-{os.geteuid()}"
    assert cache_folder(None) == tmp_path / "xdg" / "protobandit" / own
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache_folder(None) == tmp_path / "home" / ".cache" / "protobandit" / own
    assert cache_folder(tmp_path) == tmp_path / own


def test_a_user_without_home_has_no_folder(monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(module.Path, "home", lambda: module.Path("~nobody-here").expanduser())
    with pytest.raises(OSError, match="this user has no home folder"):
        private_folder(None)


@pytest.mark.parametrize("umask", [0, 0o022])
def test_new_folders_are_private(tmp_path, umask):
    before = os.umask(umask)
    try:
        folder = private_folder(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    for each in (folder, folder.parent, folder.parent.parent):
        assert stat.S_IMODE(each.stat().st_mode) == 0o700


def test_a_folder_that_others_can_read_is_made_private(tmp_path):
    folder = cache_folder(tmp_path)
    folder.mkdir(mode=0o755)
    given = stat.S_IMODE(tmp_path.stat().st_mode)
    assert private_folder(tmp_path) == folder
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(tmp_path.stat().st_mode) == given, "the folder of the user is not changed"


def test_a_folder_that_stays_readable_raises(tmp_path, monkeypatch):
    cache_folder(tmp_path).mkdir(mode=0o755)
    monkeypatch.setattr(module.Path, "chmod", lambda path, mode: None)
    with pytest.raises(OSError, match="other users can read"):
        private_folder(tmp_path)


def test_links_files_and_foreign_folders_raise(tmp_path):
    folder = cache_folder(tmp_path)
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a link or belongs to another user"):
        private_folder(tmp_path)
    folder.unlink()
    folder.write_text("in the way")
    with pytest.raises(OSError, match="is a link or belongs to another user"):
        private_folder(tmp_path)
    folder.unlink()
    if os.geteuid() == 0:
        folder.mkdir(mode=0o700)
        os.chown(folder, 65534, -1)
        with pytest.raises(OSError, match="is a link or belongs to another user"):
            private_folder(tmp_path)


def test_files_are_listed_by_last_use(tmp_path):
    filled(tmp_path)
    (tmp_path / "other.txt").write_text("not ours")
    os.utime(tmp_path / "1.rows", (9, 9))
    assert [file.path.name[0] for file in cached_files(tmp_path)] == ["0", "2", "3", "1"]
    assert {file.n_bytes for file in cached_files(tmp_path)} == {1000}
    assert cached_files(tmp_path / "missing") == []
    write(tmp_path / "4.rows")
    headers = {file.path.name: file.header() for file in cached_files(tmp_path)}
    assert headers["4.rows"].source == "rows.csv"
    assert headers["0.rows"] is None


@pytest.mark.parametrize(
    ("n_bytes", "limit", "left"),
    [(0, 4000, "0123"), (0, 3999, "123"), (1000, 4000, "123"), (2500, 4000, "3"), (1, 0, "")],
)
def test_the_least_recently_used_files_are_removed(tmp_path, n_bytes, limit, left):
    filled(tmp_path)
    make_room(tmp_path, n_bytes, limit)
    assert names(tmp_path) == [f"{each}.rows" for each in left]


def test_files_of_others_and_unfinished_files_in_use_stay(tmp_path):
    filled(tmp_path)
    (tmp_path / "other.txt").write_text("not ours")
    (tmp_path / ".abandoned.part").write_bytes(bytes(9000))
    with unfinished_rows(tmp_path, (500, 2), np.dtype("f4"), 0o600) as unfinished:
        make_room(tmp_path, 0, unfinished.path.stat().st_size + 1000)
        assert names(tmp_path) == [unfinished.path.name, "3.rows", "other.txt"]


def test_the_oldest_file_is_removed_one_by_one(tmp_path):
    filled(tmp_path, 2)
    assert not remove_oldest(tmp_path, 1 << 60), "no disk is so large"
    assert names(tmp_path) == ["0.rows", "1.rows"]
    assert remove_oldest(tmp_path, 1)
    assert names(tmp_path) == ["1.rows"]
    assert remove_oldest(tmp_path, 1)
    assert not remove_oldest(tmp_path, 1)


def test_all_files_are_removed_and_others_stay(tmp_path):
    filled(tmp_path)
    (tmp_path / "other.txt").write_text("not ours")
    (tmp_path / ".some.part").write_bytes(bytes(500))
    assert remove_all(tmp_path) == 4500
    assert names(tmp_path) == ["other.txt"]
    assert remove_all(tmp_path / "missing") == 0


def test_the_limit_can_be_set(monkeypatch):
    monkeypatch.delenv(LIMIT, raising=False)
    assert size_limit() == 20_000_000_000
    monkeypatch.setenv(LIMIT, "0.5")
    assert size_limit() == 500_000_000
    for wrong in ("much", "-1", "nan", "inf", ""):
        monkeypatch.setenv(LIMIT, wrong)
        with pytest.raises(InvalidInput, match="is not a size"):
            size_limit()
