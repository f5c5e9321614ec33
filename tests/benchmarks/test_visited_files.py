"""The count of visited files: what counts as a visit, and the calls it is made for."""

from __future__ import annotations

import sys
import threading

import pytest

from benchmarks import visited_files as script

FIRST = "def call():\n    return 1\n"
ON_IMPORT = "def call():\n    return 1\n\n\nclass C:\n    value = call()\n"
LATE_IMPORT = "def call():\n    import visited_on_import\n\n    return visited_on_import.call\n"


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Return a folder with three modules that can be imported."""
    for name, text in (("first", FIRST), ("on_import", ON_IMPORT), ("late", LATE_IMPORT)):
        (tmp_path / f"visited_{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, f"visited_{name}", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("first", "on_import", "late"):
        sys.modules.pop(f"visited_{name}", None)


def test_a_file_counts_once_in_the_order_of_the_first_call(package):
    import visited_first
    import visited_late

    with script.visited_files(package) as files:
        visited_late.call()
        visited_first.call()
        visited_late.call()
    assert files == ["visited_late.py", "visited_first.py"]


def test_code_that_runs_during_an_import_does_not_count(package):
    import visited_late

    with script.visited_files(package) as files:
        call = visited_late.call()
        assert files == ["visited_late.py"]
        call()
    assert files == ["visited_late.py", "visited_on_import.py"]


def test_calls_on_other_threads_count(package):
    import visited_first

    with script.visited_files(package) as files:
        thread = threading.Thread(target=visited_first.call)
        thread.start()
        thread.join()
    assert files == ["visited_first.py"]


def test_files_elsewhere_do_not_count_and_the_profiler_is_restored(package):
    before = sys.getprofile(), threading.getprofile()
    with script.visited_files(package) as files:
        script.report("none", [])
    assert files == []
    assert (sys.getprofile(), threading.getprofile()) == before


def test_a_certificate_visits_the_files_of_certificates(capsys):
    script.main(["certificate"])
    title, *files = capsys.readouterr().out.split("\n  ")
    assert title == f"certificate: {len(files)} files"
    assert {"certificate/certify.py", "oracle/oracle.py", "metrics/metrics.py"} <= set(files)
    assert not [file for file in files if file.startswith(("interfaces", "search"))]


def test_an_unknown_call_is_refused(capsys):
    with pytest.raises(SystemExit):
        script.main(["nothing"])
    assert "CALL='nothing' is unknown. Pass some of select," in capsys.readouterr().err
