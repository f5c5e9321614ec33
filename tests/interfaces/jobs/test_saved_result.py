"""Rows that a saved selection was made from, and opening them again."""

from __future__ import annotations

import json

import fsspec
import pytest

from interfaces.cli.run_cli import call, only_line
from protobandit.interfaces.jobs.saved_result import SavedResult
from protobandit.interfaces.jobs.select_job import default_folder

CSV = b"x,y\n1,2\n3,4\n9,9\n8,8\n"


@pytest.fixture
def memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pipe("/rows.csv", CSV)
    yield system
    system.store.clear()


def test_a_recorded_url_is_opened_only_if_it_is_passed_again(memory, tmp_path, capsys):
    assert call("select", "memory://rows.csv", "-k", 2, "--quiet") == 0
    folder = tmp_path / "rows-prototypes"
    assert SavedResult.load(folder).run.sources == ("memory://rows.csv",)
    for command in ("report", "certify"):
        assert call(command, folder) == 2
        message = only_line(capsys.readouterr().err)
        assert "made from the URL memory://rows.csv, which is not opened again unasked" in message
        assert "Pass --source with the same rows" in message
        assert call(command, folder, "--source", "memory://rows.csv") == 0
        capsys.readouterr()


def test_a_url_in_a_changed_file_is_not_opened(memory, tmp_path, capsys, monkeypatch):
    (tmp_path / "rows.csv").write_bytes(CSV)
    assert call("select", "rows.csv", "--target", "rows.csv", "-k", 2, "--quiet") == 0
    path = tmp_path / "rows-prototypes" / "selection.json"
    document = json.loads(path.read_text())
    document["run"]["target"] = ["zip://a.csv::https://example.org/a.zip"]
    path.write_text(json.dumps(document))

    def opened(*arguments, **options):
        raise AssertionError("a URL was opened")

    monkeypatch.setattr(fsspec, "url_to_fs", opened)
    assert call("report", path) == 2
    assert "--target" in only_line(capsys.readouterr().err)


def test_secrets_of_urls_are_not_recorded(memory, tmp_path):
    memory.pipe("/user:secret@rows.csv", CSV)
    assert call("select", "memory://user:secret@rows.csv", "-k", 2, "--quiet", "--out", "o") == 0
    assert "secret" not in (tmp_path / "o" / "selection.json").read_text()


@pytest.mark.parametrize(
    ("source", "folder"),
    [
        ("-", "rows-prototypes"),
        ("https://example.org/data.csv?v=1.2", "data-prototypes"),
        ("zip://in/data.csv::https://example.org/a.zip", "data-prototypes"),
        ("s3://bucket/year=*/*.parquet", "bucket-prototypes"),
    ],
)
def test_the_default_folder_of_other_sources(source, folder):
    assert str(default_folder(source)) == folder
