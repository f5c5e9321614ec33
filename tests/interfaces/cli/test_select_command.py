"""``protobandit select``, inside this process."""

import csv
import json
import signal

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.calling import call, names, only_line
from protobandit.interfaces.jobs import select_job


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def document(folder):
    return json.loads((folder / "selection.json").read_text(encoding="utf-8"))


def chosen(folder):
    return document(folder)["indices"]


# -- what is written ------------------------------------------------------------------------------


def test_what_a_table_becomes(flowers, capsys):
    asked = ["--id", "name", "--label", "kind", "--weights", "times"]
    assert call("select", "flowers.csv", "-k", 3, *asked) == 0
    out = flowers.with_name("flowers-prototypes")
    assert names(out) == ["prototypes.csv", "selection.json"]
    rows = table(out / "prototypes.csv")
    own = ["rank", "row", "id", "gain", "mass", "cost", "label"]
    assert list(rows[0]) == [*own, "name", "length", "width", "kind", "times"]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert sorted(row["label"] for row in rows) == ["a", "b", "c"]
    given = table(flowers)
    for row in rows:
        assert {key: row[key] for key in ("name", "kind")} == {
            key: given[int(row["row"])][key] for key in ("name", "kind")
        }
        assert row["id"] == row["name"]
    assert rows[0]["gain"] == ""
    assert float(rows[1]["gain"]) == pytest.approx(float(rows[0]["cost"]) - float(rows[1]["cost"]))
    assert sum(float(row["mass"]) for row in rows) == pytest.approx(1)
    shown = capsys.readouterr()
    assert shown.err == ""
    assert "flowers-prototypes/selection.json, flowers-prototypes/prototypes.csv" in shown.out
    assert "protobandit report flowers-prototypes" in shown.out


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_ids_are_kept_as_written(folder, suffix):
    ids = ["007", "7", "1e5", "2024-01-01", "true", "12345678901234567890123"]
    mark = {"csv": ",", "tsv": "\t"}[suffix]
    lines = [f"code{mark}x", *(f"{each}{mark}{at**2}" for at, each in enumerate(ids))]
    (folder / f"rows.{suffix}").write_text("\n".join(lines))
    asked = ["--id", "code", "--fixed", "007", "--out", "out", "-q"]
    assert call("select", f"rows.{suffix}", "-k", 6, *asked) == 0
    rows = table(folder / "out/prototypes.csv")
    assert rows[0]["id"] == "007"
    assert {row["id"]: row["row"] for row in rows} == {each: str(at) for at, each in enumerate(ids)}
    assert [row["code"] for row in rows] == [row["id"] for row in rows]
    assert document(folder / "out")["run"]["ids"] == [row["id"] for row in rows]
    assert call("assign", "out", f"rows.{suffix}", "--out", "near.csv") == 0
    assert [row["id"] for row in table(folder / "near.csv")] == ids


def test_the_result_is_that_of_the_library(points):
    options = ["--seed", 3, "--metric", "minkowski", "--metric-param", "p=3", "--jobs", 1]
    assert call("select", "points.npy", "-k", 4, *options, "--out", "out", "-q") == 0
    selection = pb.Selection.from_json((points.parent / "out/selection.json").read_text())
    metric = pb.metric("minkowski", {"p": 3})
    same = pb.select(np.load(points), k=4, metric=metric, random_state=3)
    assert selection.indices.tolist() == same.indices.tolist()
    assert selection.fingerprints == same.fingerprints
    assert selection.cost == same.cost


def test_a_target_of_its_own(points, folder):
    np.save("target.npy", np.load(points)[5:9] + 0.01)
    call("select", "points.npy", "--target", "target.npy", "-k", 4, "--out", "out")
    assert sorted(chosen(folder / "out")) == [5, 6, 7, 8]
    assert document(folder / "out")["run"]["target"] == ["target.npy"]


def test_the_target_is_read_by_the_columns_of_the_source(flowers, folder):
    lines = ["more,width,length,times"] + [f"9,{i % 2},{10 * (i % 3)},1" for i in range(9)]
    (folder / "target.csv").write_text("\n".join(lines), encoding="utf-8")
    asked = ["--weights", "times", "--id", "name", "--label", "kind"]
    assert call("select", "flowers.csv", "--target", "target.csv", "-k", 3, *asked) == 0
    rows = table(folder / "flowers-prototypes/prototypes.csv")
    assert sorted(row["kind"] for row in rows) == ["a", "b", "c"]


def test_the_run_is_kept_and_says_nothing_of_when(flowers, folder):
    arguments = ["select", "flowers.csv", "-k", 2, "--columns", "length", "--id", "name"]
    found = []
    for _ in range(2):
        assert call(*arguments, "--force", "-q") == 0
        found.append(document(folder / "flowers-prototypes"))
        for step in found[-1]["steps"]:
            step.pop("seconds")
    assert found[0] == found[1]
    run = found[0]["run"]
    assert run["protobandit"] == pb.__version__
    assert run["command"] == (
        "protobandit select flowers.csv -k 2 --columns length --id name --force -q"
    )
    assert run["source"] == ["flowers.csv"]
    assert run["reading"] == {"columns": ["length"], "id": "name"}
    assert run["seed"] == 0
    assert len(run["ids"]) == 2


def test_names_of_ours_in_the_source(folder):
    lines = ["row,cost,label,id"] + [f"{i},{i * i},x{i},{i}" for i in range(6)]
    (folder / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    assert call("select", "a.csv", "-k", 2, "--label", "label", "--out", "out", "-q") == 0
    (first, _) = table(folder / "out/prototypes.csv")
    own = ["rank", "row", "gain", "mass", "cost", "label"]
    assert list(first) == [*own, "source_row", "source_cost", "source_id"]
    assert first["source_row"] == first["row"]
    assert first["label"] == f"x{first['row']}"


def test_parquet_out(flowers, folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    asked = ["--id", "name", "--label", "kind", "--format", "parquet"]
    assert call("select", "flowers.csv", "-k", 3, *asked, "-q") == 0
    assert names(folder / "flowers-prototypes") == ["prototypes.parquet", "selection.json"]
    found = parquet.read_table(folder / "flowers-prototypes/prototypes.parquet").to_pydict()
    assert found["rank"] == [1, 2, 3]
    assert found["gain"][0] is None
    assert found["row"] == chosen(folder / "flowers-prototypes")


def test_coefficients_are_in_the_table(flowers, folder):
    asked = ["--columns", "length", "--columns", "width", "--method", "protodash", "--out", "out"]
    assert call("select", "flowers.csv", "-k", 3, *asked, "-q") == 0
    rows = table(folder / "out/prototypes.csv")
    assert [float(row["coefficient"]) for row in rows] == document(folder / "out")["coefficients"]
    assert list(rows[0])[:6] == ["rank", "row", "gain", "mass", "cost", "coefficient"]


CRITIC = ["--method", "mmd-critic", "--param", "n_criticisms=2", "--id", "name", "--label", "kind"]


@pytest.mark.parametrize("has_target", [False, True])
def test_criticisms_have_a_table(flowers, folder, has_target):
    if has_target:
        (folder / "target.csv").write_bytes(flowers.read_bytes().replace(b"times", b"cost"))
    asked = ["--columns", "length", *(["--target", "target.csv"] if has_target else [])]
    assert call("select", "flowers.csv", "-k", 3, *CRITIC, *asked, "--out", "out", "-q") == 0
    assert names(folder / "out") == ["criticisms.csv", "prototypes.csv", "selection.json"]
    rows, given = table(folder / "out/criticisms.csv"), table(flowers)
    assert [int(row["row"]) for row in rows] == document(folder / "out")["criticisms"]
    last = "target_cost" if has_target else "times"
    own = ["rank", "row", "id", "label", "name", "length", "width", "kind"]
    assert list(rows[0]) == [*own, last]
    for row in rows:
        assert (row["id"], row["label"]) == tuple(given[int(row["row"])][c] for c in own[4::3])


def test_criticisms_are_replaced_with_their_result(flowers, folder, capsys):
    asked = ["select", "flowers.csv", "-k", 3, "--columns", "length", "--out", "out", "-q"]
    (folder / "out").mkdir()
    (folder / "out/criticisms.csv").write_text("mine")
    assert call(*asked, *CRITIC) == 2
    assert "holds criticisms.csv already" in only_line(capsys.readouterr().err)
    assert call(*asked, *CRITIC, "--force") == 0
    assert len(table(folder / "out/criticisms.csv")) == 2
    assert call(*asked, "--force") == 0
    assert names(folder / "out") == ["prototypes.csv", "selection.json"]


def test_a_page_and_a_certificate(flowers, folder, capsys):
    asked = ["--columns", "length", "--id", "name", "--report", "--certify"]
    assert call("select", "flowers.csv", "-k", 3, *asked) == 0
    out = folder / "flowers-prototypes"
    assert names(out) == ["prototypes.csv", "report.html", "selection.json"]
    assert document(out)["certificate"]["kind"] == "exact"
    assert "protobandit select flowers.csv" in (out / "report.html").read_text(encoding="utf-8")
    shown = capsys.readouterr().out
    assert "for the certificate" in shown
    assert "protobandit report" not in shown


def test_json_is_all_there_is_on_stdout(points, capsys):
    assert call("select", "points.npy", "-k", 2, "--json", "--certify") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["k"] == 2
    assert shown["rows"] == 40
    assert shown["gains"][0] is None
    assert shown["out"] == "points-prototypes"
    assert shown["files"] == ["selection.json", "prototypes.csv"]
    assert shown["certificate"]["cost_ratio"] >= 1
    assert shown["indices"] == chosen(points.with_name("points-prototypes"))


def test_quiet_is_quiet(points, capsys):
    assert call("select", "points.npy", "-k", 2, "--quiet") == 0
    shown = capsys.readouterr()
    assert shown.out == shown.err == ""


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_dry_run_writes_nothing(points, form, capsys):
    assert call("select", "points.npy", "-k", 2, "--dry-run", *form) == 0
    shown = capsys.readouterr().out
    plan = pb.plan(np.load(points), k=2)
    assert shown == f"{plan}\n" or json.loads(shown)["evaluations"] == plan.evaluations
    assert names(points.parent) == ["points.npy"]


def test_the_default_folder_is_named_after_the_source(folder):
    (folder / "parts").mkdir()
    for i in range(2):
        np.save(folder / f"parts/{i}.npy", np.random.default_rng(i).normal(size=(9, 2)))
    assert call("select", "parts/*.npy", "-k", 2, "-q") == 0
    assert call("select", "parts/0.npy", "parts/1.npy", "-k", 2, "-q") == 0
    assert names(folder) == ["0-prototypes", "parts", "parts-prototypes"]
    assert chosen(folder / "0-prototypes") == chosen(folder / "parts-prototypes")


# -- what may be asked for ------------------------------------------------------------------------


def test_fixed_rows_by_number_and_by_id(flowers, folder):
    (folder / "ids.txt").write_text("=n, 4 “ü”\n=n, 5 “ü”\n", encoding="utf-8")
    asked = ["--columns", "length", "-k", 3, "-q"]
    assert call("select", "flowers.csv", *asked, "--fixed", "4,5", "--out", "a") == 0
    assert call("select", "flowers.csv", *asked, "--id", "name", "--fixed", "@ids.txt") == 0
    assert chosen(folder / "a")[:2] == [4, 5]
    assert chosen(folder / "flowers-prototypes") == chosen(folder / "a")


def test_groups_and_their_quotas(flowers, folder):
    asked = ["--columns", "length", "--groups", "kind", "-k", 3, "-q"]
    assert call("select", "flowers.csv", *asked, "--at-most", 2, "--out", "a") == 0
    quotas = ["--at-least", "b=3"]
    assert call("select", "flowers.csv", *asked, *quotas, "--out", "b") == 0
    assert {i % 3 for i in chosen(folder / "b")} == {1}
    assert len({i % 3 for i in chosen(folder / "a")}) > 1


def test_by_class(flowers, folder):
    assert call("select", "flowers.csv", "--columns", "w*", "--by", "kind", "-k", 6, "-q") == 0
    rows = table(folder / "flowers-prototypes/prototypes.csv")
    assert sorted(row["label"] for row in rows) == ["a", "a", "b", "b", "c", "c"]


def test_methods_and_their_parameters(points, folder):
    asked = ["--method", "stochasticgreedy", "--param", "epsilon=0.3"]
    assert call("select", "points.npy", "-k", 2, *asked, "--out", "a") == 0
    assert document(folder / "a")["parameters"]["epsilon"] == 0.3
    assert call("select", "points.npy", "-k", 2, "--effort", "thorough", "--out", "b") == 0
    assert document(folder / "b")["parameters"] == {"effort": "thorough"}
    assert call("select", "points.npy", "-k", 2, "--effort", "1.5", "--out", "c") == 0
    assert document(folder / "c")["parameters"] == {"effort": 1.5}


def test_k_as_a_share_and_by_itself(points, folder):
    assert call("select", "points.npy", "-k", "0.1", "--out", "a", "-q") == 0
    assert call("select", "points.npy", "-k", "auto", "--out", "b", "-q") == 0
    assert len(chosen(folder / "a")) == 4
    assert document(folder / "b")["curve"] is not None


def test_limits_are_said(points, folder, capsys):
    asked = ["--method", "lazygreedy", "--param", "memoize=false", "--max-evaluations", "1.7e3"]
    asked += ["--max-memory", "1MB", "--max-seconds", 60]
    assert call("select", "points.npy", "-k", 9, *asked) == 0
    assert "Stopped by the limit of 1,700 evaluations" in capsys.readouterr().out
    assert 1 <= len(chosen(folder / "points-prototypes")) < 9


def test_preparation_and_categories(flowers, folder):
    assert call("select", "flowers.csv", "-k", 3, "--id", "name", "--categories", "gower") == 0
    first = document(folder / "flowers-prototypes")
    assert first["metric"]["name"] == "manhattan"
    asked = ["--id", "name", "--label", "kind", "--standardize", "--pca", "2", "--force"]
    assert call("select", "flowers.csv", "-k", 3, *asked) == 0
    second = document(folder / "flowers-prototypes")
    assert second["prototypes"]["shape"] == [3, 2]
    assert second["preparation"] is not None


def test_missing_values_are_refused_or_filled(folder, capsys):
    (folder / "a.csv").write_text("x,y\n1,2\n,3\n4,5\n9,9\n", encoding="utf-8")
    assert call("select", "a.csv", "-k", 2) == 2
    assert "(4 rows checked): 1 in 'x'" in only_line(capsys.readouterr().err)
    assert names(folder) == ["a.csv"]
    assert call("select", "a.csv", "-k", 2, "--impute", "median") == 0


# -- Ctrl-C after the search ----------------------------------------------------------------------


@pytest.fixture(params=["certificate", "report.html"])
def interrupted(request, monkeypatch):
    """Press Ctrl-C at one of the steps that follow the search."""

    def press(*arguments, **options):
        raise KeyboardInterrupt

    if request.param == "certificate":
        monkeypatch.setattr(pb.Selection, "certified", press)
    else:
        monkeypatch.setattr(select_job, "report_page", press)
    return request.param


ALL = ["-k", 2, "--certify", "--report", "--out", "out"]


def test_ctrl_c_after_the_search_writes_nothing(points, interrupted, capsys):
    assert call("select", "points.npy", *ALL) == 1
    assert only_line(capsys.readouterr().err) == "Interrupted; nothing was written."
    assert names(points.parent) == ["points.npy"]


def test_ctrl_c_after_the_search_leaves_a_step_out(points, interrupted, capsys):
    assert call("select", "points.npy", *ALL, "--keep-partial", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["left_out"] == [interrupted]
    assert (said["certificate"] is None) == (interrupted == "certificate")
    assert ("report.html" in said["files"]) == (interrupted == "certificate")
    assert names(points.parent / "out") == sorted(said["files"])
    assert call("select", "points.npy", *ALL, "--keep-partial", "--force") == 0
    assert f"  interrupted  without {interrupted}\n" in capsys.readouterr().out


def test_ctrl_c_amid_writing_is_too_late(points, monkeypatch):
    write = select_job.write_results

    def disturbed(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        write(*arguments, **options)

    monkeypatch.setattr(select_job, "write_results", disturbed)
    before = signal.getsignal(signal.SIGINT)
    assert call("select", "points.npy", "-k", 2, "--out", "out", "-q") == 0
    assert names(points.parent / "out") == ["prototypes.csv", "selection.json"]
    assert signal.getsignal(signal.SIGINT) is before
