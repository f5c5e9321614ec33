"""Rows behind URLs: in memory, on a web server, in archives."""

from __future__ import annotations

import gc
import io
import shutil
import subprocess
import sys
import tempfile
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import fsspec
import numpy as np
import pytest

import protobandit as pb
from protobandit.data import open_rows
from protobandit.rows.files import remote
from rows.files import files

CSV = b"x,y\n1,2\n3,4\n5,6\n"


@pytest.fixture
def memory():
    """Return the file system in memory, empty before and after the test."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


@pytest.fixture(autouse=True)
def no_copy_is_left(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield
    if list(folder.iterdir()):  # unless no cycle holds a copy
        gc.collect()
    assert not list(folder.iterdir())


def numbers(rows):
    return rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)


# -- every format ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", files.WRITERS)
def test_every_format_is_read_from_a_url(tmp_path, memory, name):
    memory.put_file(str(files.write(tmp_path, name)), f"/data/{name}")
    without = ("id", "label") if name in files.NAMED else ()
    found, messages = None, []
    found = open_rows(f"memory://data/{name}", without=without, tell=messages.append)
    np.testing.assert_allclose(numbers(found.rows), files.NUMBERS, rtol=1e-6)
    assert found.path == f"memory://data/{name}"
    if name in files.NAMED:
        assert found.column("label").tolist() == files.LABELS
    is_copied = f"Copying memory://data/{name}." in messages
    assert is_copied == (name != "rows.parquet")  # which is read where it is


def test_a_url_of_a_local_file_is_a_path(tmp_path):
    path = files.write(tmp_path, "rows.npy")
    found = open_rows(f"file://{path}")
    assert isinstance(found.rows, np.memmap)
    np.testing.assert_array_equal(found.rows, files.NUMBERS)


def test_select_and_assign_take_urls(tmp_path, memory):
    memory.put_file(str(files.write(tmp_path, "rows.npy")), "/rows.npy")
    selection = pb.select("memory://rows.npy", k=3)
    assert selection.indices.tolist() == pb.select(files.NUMBERS, k=3).indices.tolist()
    assert len(selection.assign("memory://rows.npy").labels) == files.N


def test_a_large_table_is_cached_and_its_changes_are_noticed(tmp_path, memory, monkeypatch):
    path = files.write(tmp_path, "rows.parquet")
    memory.put_file(str(path), "/rows.parquet")
    options = {"columns": ["x", "y"], "sample": 9, "cache": tmp_path / "cache"}
    messages = []
    first = open_rows("memory://rows.parquet", **options)
    again = open_rows("memory://rows.parquet", **options, tell=messages.append)
    np.testing.assert_array_equal(first.rows, again.rows)
    assert any("Reusing the rows cached" in message for message in messages)
    memory.pipe("/rows.parquet", path.read_bytes())  # with another time
    messages.clear()
    open_rows("memory://rows.parquet", **options, tell=messages.append)
    assert not any("Reusing" in message for message in messages)


def test_a_sample_of_a_copy_is_not_cached(tmp_path, memory):
    memory.pipe("/rows.csv", CSV)
    found = open_rows("memory://rows.csv", sample=2, cache=tmp_path / "cache")
    assert len(found) == 2
    assert not (tmp_path / "cache").exists()


def test_a_folder_of_images(tmp_path, memory):
    from PIL import Image

    for label in ("cat", "dog"):
        content = io.BytesIO()
        Image.new("L", (4, 4), 7).save(content, "png")
        memory.pipe(f"/pets/{label}/0.png", content.getvalue())
    found = open_rows("memory://pets")
    assert found.column("folder").tolist() == ["cat", "dog"]
    assert found.column("file").tolist() == ["memory://pets/cat/0.png", "memory://pets/dog/0.png"]


def test_patterns_and_folders(memory):
    for at in range(3):
        memory.pipe(f"/parts/p{at}.csv", b"x,y\n%d,1\n" % at)
    memory.pipe("/parts/.hidden.csv", b"junk")
    for given in ("memory://parts", "memory://parts/p*.csv"):
        assert open_rows(given).rows[:, 0].tolist() == [0, 1, 2]
    assert open_rows("memory://parts/p[12].csv").rows[:, 0].tolist() == [1, 2]
    with pytest.raises(pb.InvalidInput, match=r"no file matches memory://parts/q\*\.csv"):
        open_rows("memory://parts/q*.csv")
    memory.pipe("/notes/README", b"text")
    memory.pipe("/notes/LICENSE", b"text")
    with pytest.raises(pb.InvalidInput, match="is a folder without images or files"):
        open_rows("memory://notes")


# -- archives -------------------------------------------------------------------------------------


def archive(members, path=None):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, value in members.items():
            file.writestr(name, value)
    if path is not None:
        path.write_bytes(content.getvalue())
    return content.getvalue()


def test_members_of_archives(tmp_path, memory):
    members = {"in/rows.csv": CSV, "__MACOSX/._rows.csv": b"junk", "README": b"text"}
    path = tmp_path / "rows.csv.zip"
    memory.pipe("/rows.zip", archive(members, path))
    for given in (
        path,
        str(path),
        f"zip://in/rows.csv::{path}",
        "memory://rows.zip",
        "zip://in/rows.csv::memory://rows.zip",
        f"zip://in/*.csv::{path}",
    ):
        assert open_rows(given).rows.tolist() == [[1, 2], [3, 4], [5, 6]]


def test_an_archive_of_several_files_is_one_table(tmp_path):
    archive({"b.csv": b"x,y\n3,4\n", "a.csv": b"x,y\n1,2\n"}, tmp_path / "rows.zip")
    assert open_rows(tmp_path / "rows.zip").rows.tolist() == [[1, 2], [3, 4]]


def test_a_member_cannot_leave_the_folder_of_copies(tmp_path):
    archive({"../../rows.csv": CSV}, tmp_path / "rows.zip")
    assert len(open_rows(f"zip://../../rows.csv::{tmp_path / 'rows.zip'}")) == 3
    assert not list(tmp_path.rglob("rows.csv"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no archive", "File is not a zip file"),
        (archive({"README": b"text"}), "is a zip archive without images or files"),
        (archive({}), "is a zip archive without images or files"),
        (archive({"rows.csv": CSV})[:-30], "File is not a zip file"),
    ],
)
def test_damaged_archives(tmp_path, content, message):
    path = tmp_path / "rows.zip"
    path.write_bytes(content)
    with pytest.raises(pb.InvalidInput, match=message):
        open_rows(path)


def test_a_protected_archive(tmp_path):
    content = bytearray(archive({"rows.csv": CSV}))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the flag "encrypted"
        content[content.index(mark) + at] |= 1
    path = tmp_path / "rows.zip"
    path.write_bytes(bytes(content))
    with pytest.raises(pb.InvalidInput, match=r"rows\.csv.* is encrypted, password required"):
        open_rows(path)


# -- a web server ---------------------------------------------------------------------------------


class Handler(SimpleHTTPRequestHandler):
    """Serves a folder; some names fail in the ways that servers fail."""

    def log_message(self, *words):
        pass

    def do_HEAD(self):
        self.answer(super().do_HEAD)

    def do_GET(self):
        self.answer(super().do_GET)

    def answer(self, serve):
        if "forbidden" in self.path:
            self.send_error(403)
        elif "short" in self.path:
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else CSV)
        elif "ranges" in self.path:
            self.send_range()
        else:
            serve()

    def send_range(self):
        """Send a part of a file, as object stores do."""
        content = Path(self.translate_path(self.path)).read_bytes()
        wanted = self.headers.get("Range")
        first, last = wanted.removeprefix("bytes=").split("-") if wanted else (0, "")
        part = content[int(first) : int(last or len(content)) + 1]
        self.send_response(206 if wanted else 200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(part)))
        if wanted:
            end = int(first) + len(part) - 1
            self.send_header("Content-Range", f"bytes {first}-{end}/{len(content)}")
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else part)


@pytest.fixture
def server(tmp_path):
    """Return the address of a web server, and the folder that it serves."""
    folder = tmp_path / "served"
    folder.mkdir()
    running = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder)))
    thread = Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{running.server_port}", folder
    running.shutdown()
    running.server_close()
    thread.join()


@pytest.mark.parametrize("name", ["rows.csv.gz", "rows.parquet", "rows.npy"])
def test_files_of_a_web_server(server, name):
    address, folder = server
    files.write(folder, name)
    without = ("id", "label") if name in files.NAMED else ()
    found = open_rows(f"{address}/{name}?token=secret", without=without)
    np.testing.assert_allclose(found.rows, files.NUMBERS, rtol=1e-6)
    if name in files.NAMED:
        assert found.column("id").tolist() == files.IDS.tolist()


def test_parts_of_a_parquet_file_are_read_where_the_server_allows_it(server):
    address, folder = server
    path = files.write(folder, "rows.parquet").rename(folder / "ranges.parquet")
    messages = []
    found = open_rows(f"{address}/{path.name}", columns=["x", "y"], tell=messages.append)
    assert not any("Copying" in message for message in messages)
    np.testing.assert_allclose(found.rows, files.NUMBERS[:, :2], rtol=1e-6)
    assert found.column("label").tolist() == files.LABELS


def test_an_archive_of_a_web_server(server):
    address, folder = server
    for n in (3, 2):  # the second one replaces the first one
        archive({"in/rows.csv": CSV[: 4 * n + 4]}, folder / "rows.zip")
        for given in (f"zip://in/rows.csv::{address}/rows.zip", f"{address}/rows.zip"):
            assert len(open_rows(given)) == n


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.csv", r"none\.csv does not exist\. Check the address"),
        ("forbidden.csv", r"forbidden\.csv cannot be read: the server answered 403"),
        ("short.csv", r"short\.csv cannot be read: Response payload is not completed"),
        ("page", "has the unknown suffix ''"),
    ],
)
def test_failures_of_a_web_server_are_one_sentence(server, name, message):
    address, folder = server
    (folder / "page").write_text("<html>")
    with pytest.raises(pb.InvalidInput, match=message) as caught:
        open_rows(f"{address}/{name}?token=secret")
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_server_that_does_not_answer(server):
    address, _ = server
    closed = f"{address.rpartition(':')[0]}:9"
    with pytest.raises(pb.InvalidInput, match=r"rows\.csv cannot be read: Cannot connect"):
        open_rows(f"{closed}/rows.csv")


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ("memory://none.csv", pb.InvalidInput, r"memory://none\.csv does not exist"),
        ("nowhere://a.csv", pb.InvalidInput, "Protocol not known: nowhere"),
        (Path("s3://bucket/a.csv"), pb.InvalidInput, "a URL that was made a Path.*as text"),
        ("zip://a.csv::none.zip", pb.InvalidInput, r"none\.zip does not exist"),
    ],
)
def test_addresses_that_cannot_be_opened(memory, given, error, message):
    with pytest.raises(error, match=message):
        open_rows(given)


def test_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(pb.NotAvailable, match=r"Install s3fs.*protobandit\[remote\]"):
        open_rows("s3://bucket/a.csv")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(pb.NotAvailable, match=r"protobandit\[remote\]"):
        open_rows("memory://a.csv")


def test_errors_name_the_url_and_not_the_copy(memory):
    memory.pipe("/rows.csv", b"x,y\n1\n")
    with pytest.raises(pb.InvalidInput, match=r"^source: memory://rows\.csv cannot be read as csv"):
        open_rows("memory://rows.csv")
    memory.pipe("/rows.parquet", b"PAR1")
    with pytest.raises(pb.InvalidInput, match=r"^source: memory://rows\.parquet cannot be read"):
        open_rows("memory://rows.parquet")


def test_a_file_larger_than_the_disk_is_refused(memory, monkeypatch):
    memory.pipe("/rows.csv", CSV)
    room = shutil.disk_usage(".")._replace(free=3)
    monkeypatch.setattr(remote.shutil, "disk_usage", lambda folder: room)
    with pytest.raises(pb.NotAvailable, match=r"has 16 bytes, but .* has room for 3"):
        open_rows("memory://rows.csv")


def test_a_local_file_may_look_like_a_url(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a::b.csv").write_bytes(CSV)
    assert len(open_rows("a::b.csv")) == 3


def test_local_files_do_not_import_fsspec(tmp_path):
    path = files.write(tmp_path, "rows.parquet")
    code = (
        "import sys; from protobandit.data import open_rows\n"
        "open_rows(sys.argv[1], without=['id', 'label'])\n"
        "sys.exit(bool({'fsspec', 'aiohttp', 'narwhals', 'pandas'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False, timeout=60)
    assert done.returncode == 0
