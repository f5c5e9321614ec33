"""The command line on real files: every format, unreadable files, full disks, Ctrl-C, kill -9."""

import csv
import json
import os
import re
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from interfaces.cli.run_cli import call, file_names, only_line, run_process, start_process
from locking import unprivileged

N = 24  # rows of each file: three clusters, interleaved


def rows_of(n=N):
    random = np.random.default_rng(0)
    return (random.normal(size=(n, 4)) * 0.1 + np.arange(n)[:, None] % 3).astype(np.float32)


def write_table(folder, form):
    rows, ids = rows_of(), [f"r{i}" for i in range(N)]
    path = folder / f"rows.{form}"
    if form in ("csv", "tsv"):
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter="," if form == "csv" else "\t")
            writer.writerow(["id", *"abcd"])
            writer.writerows([i, *row.tolist()] for i, row in zip(ids, rows, strict=True))
    elif form == "jsonl":
        lines = [json.dumps({"id": i, "v": row.tolist()}) for i, row in zip(ids, rows, strict=True)]
        path.write_text("\n".join(lines), encoding="utf-8")
    else:
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 4)
        table = pa.table({"id": ids, "v": vectors})
        if form == "parquet":
            from pyarrow import parquet

            parquet.write_table(table, path)
        else:
            from pyarrow import feather

            feather.write_feather(table, path)
    return [path.name, "--id", "id"]


def write_npy(folder):
    np.save(folder / "rows.npy", rows_of())
    return ["rows.npy"]


def write_npz(folder):
    np.savez(folder / "rows.npz", X=rows_of(), id=np.arange(N))
    return ["rows.npz", "--id", "id"]


def write_sparse(folder):
    from scipy.sparse import csr_array, save_npz

    save_npz(folder / "rows.npz", csr_array(rows_of()))
    return ["rows.npz"]


def write_texts(folder):
    pytest.importorskip("rapidfuzz")
    words = ["aaaa", "bbbbbbbb", "cccccccccccc"]
    texts = [words[i % 3] + "x" * (i % 2) for i in range(N)]
    (folder / "rows.txt").write_text("\n".join(texts), encoding="utf-8")
    return ["rows.txt"]


def write_images(folder):
    image = pytest.importorskip("PIL.Image")
    for i in range(N):
        pixels = np.full((6, 5), 20 + 90 * (i % 3) + i, dtype=np.uint8)
        image.fromarray(pixels).save(folder / f"{i:02}.png")
    return [".", "--id", "file"]


def write_parts(folder):
    for i, part in enumerate(np.split(rows_of(), 3)):
        np.save(folder / f"part-{i}.npy", part)
    return ["part-*.npy"]


FORMATS = {
    **{form: lambda folder, f=form: write_table(folder, f) for form in ("csv", "tsv", "jsonl")},
    **{form: lambda folder, f=form: write_table(folder, f) for form in ("parquet", "feather")},
    "npy": write_npy,
    "npz": write_npz,
    "sparse": write_sparse,
    "txt": write_texts,
    "images": write_images,
    "parts": write_parts,
}


AS_PROCESS = ("csv", "parquet")  # the other formats differ only in the file


@pytest.fixture(scope="module")
def selected(tmp_path_factory):
    """Run one process per format of AS_PROCESS, two at a time."""
    folders = {form: tmp_path_factory.mktemp(form) for form in AS_PROCESS}

    def run(form):
        arguments = FORMATS[form](folders[form])
        return run_process("select", *arguments, "-k", "3", "--out", "out", cwd=folders[form])

    with ThreadPoolExecutor(2) as pool:
        done = dict(zip(AS_PROCESS, pool.map(run, AS_PROCESS), strict=True))
    return {form: (folders[form], done[form]) for form in AS_PROCESS}


@pytest.mark.parametrize("form", AS_PROCESS)
def test_a_format_in_a_process(selected, form):
    folder, done = selected[form]
    assert done.returncode == 0, done.stderr
    assert "protobandit:" not in done.stderr
    assert "Selected 3 prototypes" in done.stdout
    require_one_per_cluster(folder)


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in AS_PROCESS])
def test_other_formats(form, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert call("select", *FORMATS[form](tmp_path), "-k", 3, "--out", "out", "-q") == 0
    require_one_per_cluster(tmp_path)


def require_one_per_cluster(folder):
    """Check that each cluster has a prototype, and that rows match ids."""
    with (folder / "out/prototypes.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {int(row["row"]) % 3 for row in rows} == {0, 1, 2}
    assert file_names(folder / "out") == ["prototypes.csv", "selection.json"]
    for row in rows:
        if "id" in row:
            assert int(re.sub(r"\D", "", row["id"])) == int(row["row"])


def test_assign_and_report_after_select(selected, monkeypatch, capsys):
    folder, _ = selected["csv"]
    done = run_process("assign", "out", "rows.csv", cwd=folder)
    assert done.returncode == 0
    assert done.stderr.startswith("24 rows assigned to 3 of 3 prototypes; mean distance")
    near = list(csv.DictReader(done.stdout.splitlines()))
    assert all(int(row["row"]) % 3 == int(row["prototype"]) % 3 for row in near)
    monkeypatch.chdir(folder)
    assert call("report", "out") == 0
    assert capsys.readouterr().out == "out/report.html\n"
    page = (folder / "out/report.html").read_text(encoding="utf-8")
    assert page.lower().startswith("<!doctype html>")


def test_assign_to_a_closed_pipe(selected):
    folder, _ = selected["csv"]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run_process("assign", "out", "rows.csv", cwd=folder, stdout=writing)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


# -- files that cannot be read --------------------------------------------------------------------

BAD = {
    "missing": ("missing.parquet", None, "does not exist"),
    "empty": ("empty.csv", b"", "empty"),
    "folder": ("rows.npy", "folder", "rows.npy"),
    "truncated npy": ("cut.npy", "npy", "is incomplete"),
    "wrong type": ("song.mp3", b"ID3", "'.mp3'"),
    "truncated parquet": ("cut.parquet", b"PAR1 and then nothing", "cut.parquet"),
    "wrong content": ("text.npy", b"a,b\n1,2\n", "text.npy"),
    "words": ("words.csv", b"a,b\n1,x\n2,y\n", "'b' (string)"),
    "gaps": ("gaps.csv", b"a,b\n1,2\n3,\n4,5\n6,7\n", "1 in 'b'"),
    "huge header": ("big.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "big.npy"),
}


def write_bad(path, content):
    if content == "folder":
        path.mkdir()
    elif content == "npy":
        np.save(path, rows_of())
        path.write_bytes(path.read_bytes()[:-100])
    elif content is not None:
        path.write_bytes(content)


@pytest.mark.parametrize("name", BAD)
def test_an_unreadable_file_is_one_line(name, tmp_path, monkeypatch, capsys):
    file, content, words = BAD[name]
    write_bad(tmp_path / file, content)
    before = file_names(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert call("select", file, "-k", 2, "--out", "out") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in only_line(printed.err)
    assert file_names(tmp_path) == before


def test_an_unreadable_file_in_a_process(tmp_path):
    write_bad(tmp_path / "cut.npy", "npy")
    done = run_process("select", "cut.npy", "-k", "2", "--out", "out", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "is incomplete" in only_line(done.stderr)
    assert file_names(tmp_path) == ["cut.npy"]


@pytest.mark.skipif(os.name != "posix", reason="requires POSIX permissions")
def test_a_file_without_permission(capsys):
    with TemporaryDirectory() as folder:  # pytest's folder is readable by its user only
        _require_permission_error(Path(folder), capsys)


def _require_permission_error(folder, capsys):
    folder.chmod(0o777)
    write_npy(folder)
    path = folder / "rows.npy"
    arguments = ["select", path, "-k", "2", "--out", folder / "out"]
    assert call(*arguments, "--dry-run") == 0  # imports modules that the next call cannot read
    capsys.readouterr()
    path.chmod(0)
    with unprivileged():
        code = call(*arguments)
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert "Permission denied" in only_line(printed.err)
    assert file_names(folder) == ["rows.npy"]


# -- full disks -----------------------------------------------------------------------------------


def limit_file_size():
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


@pytest.mark.skipif(os.name != "posix", reason="requires resource limits")
def test_on_a_full_disk_the_selection_is_kept_if_it_fits(tmp_path):
    arguments = ["select", *write_npy(tmp_path), "-k", "2", "--report", "--out", "out", "-q"]
    # Without compilation, whose cache could not be written either.
    done = run_process(*arguments, cwd=tmp_path, before=limit_file_size, PROTOBANDIT_NUMPY_ONLY="1")
    assert (done.returncode, done.stdout) == (1, "")
    line = only_line(done.stderr)
    assert line.startswith("cannot write 'out': File too large. Nothing was written. The selection")
    assert file_names(tmp_path) == ["out.recovered.json", "rows.npy"]
    arguments = ["assign", "out.recovered.json", "rows.npy"]
    assert run_process(*arguments, cwd=tmp_path, PROTOBANDIT_NUMPY_ONLY="1").returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="requires /dev/full")
def test_assign_to_a_full_disk(selected, monkeypatch, capsys):
    monkeypatch.chdir(selected["csv"][0])
    assert call("assign", "out", "rows.csv", "--out", "/dev/full") == 1
    line = only_line(capsys.readouterr().err)
    assert line == "cannot write '/dev/full': No space left on device. Nothing was written."


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="requires /proc")
def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert call("select", *write_npy(tmp_path), "-k", 2, "--out", "/proc/out") == 1
    assert only_line(capsys.readouterr().err).startswith("cannot write '/proc/out': ")


# -- columns -------------------------------------------------------------------------------------


def test_an_id_beside_vectors_is_not_compared(tmp_path):
    rows = np.random.default_rng(0).normal(size=(30, 3))
    table = pa.table({"id": np.arange(30) * 1000, "v": rows.tolist(), "year": [2000, 2001] * 15})
    pyarrow.parquet.write_table(table, tmp_path / "rows.parquet")
    arguments = ["select", "rows.parquet", "-k", "3", "--where", "year = 2001", "--json"]
    done = run_process(*arguments, cwd=tmp_path, PROTOBANDIT_NUMPY_ONLY="1")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert found["columns"] == ["v"]
    assert list(found["columns_left_out"]) == ["id", "year"]
    assert found["cost"] < 3
    assert found["file_rows"] == [2 * i + 1 for i in found["indices"]]


# -- interrupted runs ----------------------------------------------------------------------------

LONG = ["select", "long.npy", "-k", "40", "--method", "spotgreedy", "--param", "memoize=false"]
KEPT = [*LONG, "--out", "out", "--checkpoint", "--checkpoint-every", "0", "--json", "-q"]


@pytest.fixture
def long(tmp_path):
    """Write rows on which the search takes some seconds."""
    np.save(tmp_path / "long.npy", np.random.default_rng(0).normal(size=(1500, 40)))
    return tmp_path


def wait_for_picks(running, folder, n=3):
    """Wait until the checkpoint has been written ``n`` times."""
    seen, waits = set(), 0
    path = folder / "out.checkpoint"
    while len(seen) < n:
        with suppress(OSError):  # it does not exist yet
            seen.add(path.stat().st_mtime_ns)
        try:
            printed = running.communicate(timeout=0.005)
        except subprocess.TimeoutExpired:
            waits += 1
            assert waits < 12_000, "no checkpoint within a minute"
        else:
            pytest.fail(f"it ended too early: {printed}")


def end(running, how):
    running.send_signal(how)
    out, err = running.communicate(timeout=60)
    return running.returncode, out, err


def outcome(folder):
    document = json.loads((folder / "selection.json").read_text(encoding="utf-8"))
    return document["indices"], document["costs"], [step["gain"] for step in document["steps"]]


def test_resuming_after_a_kill_gives_the_same_result(long, monkeypatch, capsys):
    running = start_process(*KEPT, cwd=long)
    wait_for_picks(running, long)
    assert end(running, signal.SIGKILL)[0] == -signal.SIGKILL
    assert "out" not in file_names(long)
    monkeypatch.chdir(long)
    assert call(*KEPT, "--resume") == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "anew" not in json.loads(printed.out)["status"]
    assert file_names(long) == ["long.npy", "out"]
    assert call(*LONG, "--out", "whole", "-q") == 0
    assert outcome(long / "out") == outcome(long / "whole")


@pytest.mark.skipif(os.name != "posix", reason="requires POSIX signals")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_writes_nothing_or_the_best_result_so_far(long, name):
    running = start_process(*KEPT, cwd=long)
    wait_for_picks(running, long)
    code, out, err = end(running, getattr(signal, name))
    assert (code, out) == (1, "")
    assert only_line(err) == (
        "Interrupted; nothing was written. Run the same command with --resume to continue. "
        "With --keep-partial, Ctrl-C writes the best result so far."
    )
    assert file_names(long) == ["long.npy", "out.checkpoint"]
    if name == "SIGTERM":
        return  # with partial results the other two are enough
    running = start_process(*KEPT, "--resume", "--keep-partial", cwd=long)
    wait_for_picks(running, long)
    code, out, err = end(running, getattr(signal, name))
    assert code == 3, err
    assert err.strip() == (
        "Stopping with the best result so far; press Ctrl-C again to end at once."
    )
    assert "Stopped by an interruption after" in json.loads(out)["status"]
    n_kept = len(outcome(long / "out")[0])
    assert 1 <= n_kept < 40
    assert "out.checkpoint" in file_names(long)


# -- standard input -------------------------------------------------------------------------------


def test_rows_from_standard_input(tmp_path):
    content = "a,b\n1,2\n3,4\n9,9\n8,8\n"

    def run(*arguments, given=content):
        return run_process(*arguments, cwd=tmp_path, stdin=given)

    done = run("select", "-", "-k", "2")
    assert done.returncode == 0, done.stderr
    (tmp_path / "rows.csv").write_text(content)
    truth = run("select", "rows.csv", "-k", "2", "--out", "truth")
    assert truth.returncode == 0
    both = [
        json.loads((tmp_path / folder / "selection.json").read_text())
        for folder in ("rows-prototypes", "truth")
    ]
    assert both[0]["indices"] == both[1]["indices"]
    assert both[0]["run"]["source"] == ["-"]
    assigned = run("assign", "rows-prototypes", "-")
    assert assigned.returncode == 0
    assert len(assigned.stdout.splitlines()) == 5
    again = run("report", "rows-prototypes")
    assert again.returncode == 2
    assert "made from standard input, which is not opened again" in only_line(again.stderr)
    assert run("report", "rows-prototypes", "--source", "-").returncode == 0
    for arguments, given, message in [
        (("select", "-", "--target", "-", "-k", "2"), content, "standard input twice"),
        (("select", "-", "-k", "2"), "", "standard input is empty"),
    ]:
        refused = run(*arguments, "--out", "other", given=given)
        assert refused.returncode == 2
        assert message in only_line(refused.stderr)
