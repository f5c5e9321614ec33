from __future__ import annotations

import os
from contextlib import nullcontext

import pytest

from protobandit.foundation.private_folders import (
    is_private,
    make_private,
    name_for_user,
    require_private,
    user_cache_folder,
)


def test_the_cache_folder_is_that_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert user_cache_folder() == tmp_path / "protobandit"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert user_cache_folder() == tmp_path / "home" / ".cache" / "protobandit"


def test_users_have_different_names(monkeypatch):
    names = set()
    for user in (1, 2):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user, raising=False)
        names.add(name_for_user("code"))
    assert names == {"code-1", "code-2"}
    monkeypatch.delattr(os, "geteuid")
    assert name_for_user("code") == "code"


def test_a_folder_that_is_made_is_private(tmp_path):
    folder = tmp_path / "a" / "b"
    assert not is_private(folder)
    assert make_private(folder) == folder
    assert is_private(folder)
    assert is_private(folder.parent)


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_to_which_others_can_write_is_not_private(tmp_path, mode):
    folder = make_private(tmp_path / "own")
    folder.chmod(mode)
    assert not is_private(folder)
    folder.chmod(0o755)
    assert is_private(folder), "others may read"


def test_links_and_files_are_not_private(tmp_path):
    folder = make_private(tmp_path / "own")
    (tmp_path / "link").symlink_to(folder)
    (tmp_path / "file").touch(mode=0o600)
    assert not is_private(tmp_path / "link")
    assert not is_private(tmp_path / "file")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_a_folder_of_another_user_is_not_private(tmp_path):
    folder = make_private(tmp_path / "own")
    os.chown(folder, 65534, -1)
    assert not is_private(folder)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="there are no users")
@pytest.mark.parametrize(("mode", "is_private"), [(0o600, True), (0o644, True), (0o620, False)])
def test_files_to_which_others_can_write_are_refused(tmp_path, mode, is_private):
    path = tmp_path / "file"
    path.touch()
    path.chmod(mode)
    with nullcontext() if is_private else pytest.raises(OSError, match="other users can write"):
        require_private(path.stat(), "file")
