"""``protobandit select``."""

import csv
import datetime
import decimal
import json
import shutil
import signal

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import faults
import protobandit as pb
from interfaces.cli.run_cli import call, file_names, only_line
from protobandit.interfaces.jobs import select_job


def table_rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def document(folder):
    return json.loads((folder / "selection.json").read_text(encoding="utf-8"))


def selected_rows(folder):
    return document(folder)["indices"]


# -- files that are written -----------------------------------------------------------------------


def test_the_files_of_a_table(flowers, capsys):
    options = ["--id", "name", "--label", "kind", "--weights", "times"]
    assert call("select", "flowers.csv", "-k", 3, *options) == 0
    out = flowers.with_name("flowers-prototypes")
    assert file_names(out) == ["prototypes.csv", "selection.json"]
    rows = table_rows(out / "prototypes.csv")
    own = ["rank", "row", "id", "gain", "mass", "cost", "label"]
    assert list(rows[0]) == [*own, "length", "width", "kind", "times"]
    assert [row["rank"] for row in rows] == ["1", "2", "3"]
    assert sorted(row["label"] for row in rows) == ["a", "b", "c"]
    given = table_rows(flowers)
    for row in rows:
        assert row["id"] == given[int(row["row"])]["name"]
        assert row["kind"] == given[int(row["row"])]["kind"]
    assert rows[0]["gain"] == ""
    assert float(rows[1]["gain"]) == pytest.approx(float(rows[0]["cost"]) - float(rows[1]["cost"]))
    assert sum(float(row["mass"]) for row in rows) == pytest.approx(1)
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "flowers-prototypes/selection.json, flowers-prototypes/prototypes.csv" in printed.out
    assert "protobandit report flowers-prototypes" in printed.out


def test_formulas_are_reported_and_quoted_on_request(folder, capsys):
    (folder / "rows.csv").write_text("name,x\n=1+1,1\n-2,2\n@a,9\n", encoding="utf-8")
    options = ["select", "rows.csv", "-k", 3, "--id", "name"]
    assert call(*options, "--out", "plain") == 0
    assert (
        "2 cells look like formulas (prototypes.csv[id]); --excel-safe" in capsys.readouterr().out
    )
    assert {row["id"] for row in table_rows(folder / "plain/prototypes.csv")} == {
        "=1+1",
        "-2",
        "@a",
    }
    assert call(*options, "--out", "safe", "--excel-safe") == 0
    assert "formulas" not in capsys.readouterr().out
    safe = table_rows(folder / "safe/prototypes.csv")
    assert {row["id"] for row in safe} == {"'=1+1", "-2", "'@a"}
    assert call(*options, "--out", "p", "--excel-safe", "--format", "parquet") == 2
    assert "--excel-safe applies to --format csv" in capsys.readouterr().err


def test_names_are_printed_without_control_characters(folder, capsys):
    """The name of a file or column could otherwise write to the terminal of the user."""
    name = "a\x1b]0;title\x07 b.csv"
    (folder / name).write_text("x\x1b[2J,y\n1,2\n3,4\n", encoding="utf-8")
    assert call("select", name, "-k", 1) == 0
    printed = capsys.readouterr()
    assert "protobandit report 'a\\x1b]0;title\\x07 b-prototypes'" in printed.out
    assert call("select", name, "-k", 1, "--force", "--columns", "z\x1b") == 2
    assert call("select", f"missing{name}", "-k", 1) == 2
    printed += capsys.readouterr()
    assert "\x1b" not in "".join(printed)
    assert "\x07" not in "".join(printed)


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_ids_are_kept_as_text(folder, suffix):
    ids = ["007", "7", "1e5", "2024-01-01", "true", "12345678901234567890123"]
    mark = {"csv": ",", "tsv": "\t"}[suffix]
    lines = [f"code{mark}x", *(f"{each}{mark}{at**2}" for at, each in enumerate(ids))]
    (folder / f"rows.{suffix}").write_text("\n".join(lines))
    options = ["--id", "code", "--fixed", "007", "--out", "out", "-q"]
    assert call("select", f"rows.{suffix}", "-k", 6, *options) == 0
    rows = table_rows(folder / "out/prototypes.csv")
    assert rows[0]["id"] == "007"
    assert {row["id"]: row["row"] for row in rows} == {each: str(at) for at, each in enumerate(ids)}
    assert "code" not in rows[0]
    assert [row["fixed"] for row in rows] == ["yes"] + ["no"] * 5
    assert document(folder / "out")["run"]["ids"] == [row["id"] for row in rows]
    assert call("assign", "out", f"rows.{suffix}", "--out", "near.csv") == 0
    assert [row["id"] for row in table_rows(folder / "near.csv")] == ids


def test_the_result_equals_that_of_select(points):
    options = ["--seed", 3, "--metric", "minkowski", "--metric-param", "p=3", "--jobs", 1]
    assert call("select", "points.npy", "-k", 4, *options, "--out", "out", "-q") == 0
    selection = pb.Selection.from_json((points.parent / "out/selection.json").read_text())
    metric = pb.metric("minkowski", {"p": 3})
    same = pb.select(np.load(points), k=4, metric=metric, random_state=3)
    assert selection.indices.tolist() == same.indices.tolist()
    assert selection.fingerprints == same.fingerprints
    assert selection.cost == same.cost


def test_a_separate_target(points, folder):
    np.save("target.npy", np.load(points)[5:9] + 0.01)
    call("select", "points.npy", "--target", "target.npy", "-k", 4, "--out", "out")
    assert sorted(selected_rows(folder / "out")) == [5, 6, 7, 8]
    assert document(folder / "out")["run"]["target"] == ["target.npy"]


def test_the_target_is_read_with_the_feature_columns_of_the_source(flowers, folder):
    lines = ["more,width,length,times"] + [f"9,{i % 2},{10 * (i % 3)},1" for i in range(9)]
    (folder / "target.csv").write_text("\n".join(lines), encoding="utf-8")
    options = ["--weights", "times", "--id", "name", "--label", "kind"]
    assert call("select", "flowers.csv", "--target", "target.csv", "-k", 3, *options) == 0
    rows = table_rows(folder / "flowers-prototypes/prototypes.csv")
    assert sorted(row["kind"] for row in rows) == ["a", "b", "c"]


def test_the_run_is_recorded_without_times(flowers, folder):
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


def test_source_columns_with_reserved_names(folder):
    lines = ["row,cost,label,id"] + [f"{i},{i * i},x{i},{i}" for i in range(6)]
    (folder / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    assert call("select", "a.csv", "-k", 2, "--label", "label", "--out", "out", "-q") == 0
    (first, _) = table_rows(folder / "out/prototypes.csv")
    own = ["rank", "row", "gain", "mass", "cost", "label"]
    assert list(first) == [*own, "source_row", "source_cost", "source_id"]
    assert first["source_row"] == first["row"]
    assert first["label"] == f"x{first['row']}"


def test_parquet(flowers, folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    options = ["--id", "name", "--label", "kind", "--format", "parquet"]
    assert call("select", "flowers.csv", "-k", 3, *options, "-q") == 0
    assert file_names(folder / "flowers-prototypes") == ["prototypes.parquet", "selection.json"]
    found = parquet.read_table(folder / "flowers-prototypes/prototypes.parquet").to_pydict()
    assert found["rank"] == [1, 2, 3]
    assert found["gain"][0] is None
    assert found["row"] == selected_rows(folder / "flowers-prototypes")


def test_coefficients_are_in_the_table(flowers, folder):
    options = ["--columns", "length", "--columns", "width", "--method", "protodash", "--out", "out"]
    assert call("select", "flowers.csv", "-k", 3, *options, "-q") == 0
    rows = table_rows(folder / "out/prototypes.csv")
    assert [float(row["coefficient"]) for row in rows] == document(folder / "out")["coefficients"]
    assert list(rows[0])[:6] == ["rank", "row", "gain", "mass", "cost", "coefficient"]


CRITIC = ["--method", "mmd-critic", "--param", "n_criticisms=2", "--id", "name", "--label", "kind"]


@pytest.mark.parametrize("has_target", [False, True])
def test_criticisms_are_written_as_a_table(flowers, folder, has_target):
    if has_target:
        (folder / "target.csv").write_bytes(flowers.read_bytes().replace(b"times", b"cost"))
    options = ["--columns", "length", *(["--target", "target.csv"] if has_target else [])]
    assert call("select", "flowers.csv", "-k", 3, *CRITIC, *options, "--out", "out", "-q") == 0
    assert file_names(folder / "out") == ["criticisms.csv", "prototypes.csv", "selection.json"]
    rows, given = table_rows(folder / "out/criticisms.csv"), table_rows(flowers)
    assert [int(row["row"]) for row in rows] == document(folder / "out")["criticisms"]
    last = "target_cost" if has_target else "times"
    own = ["rank", "row", "id", "label", "length", "width", "kind"]
    assert list(rows[0]) == [*own, last]
    for row in rows:
        assert (row["id"], row["label"]) == tuple(
            given[int(row["row"])][column] for column in ("name", "kind")
        )


def test_criticisms_are_replaced_with_the_result(flowers, folder, capsys):
    options = ["select", "flowers.csv", "-k", 3, "--columns", "length", "--out", "out", "-q"]
    (folder / "out").mkdir()
    (folder / "out/criticisms.csv").write_text("mine")
    assert call(*options, *CRITIC) == 2
    assert "already holds criticisms.csv" in only_line(capsys.readouterr().err)
    assert call(*options, *CRITIC, "--force") == 0
    assert len(table_rows(folder / "out/criticisms.csv")) == 2
    assert call(*options, "--force") == 0
    assert file_names(folder / "out") == ["prototypes.csv", "selection.json"]


def test_report_and_certificate(flowers, folder, capsys):
    options = ["--columns", "length", "--id", "name", "--report", "--certify"]
    assert call("select", "flowers.csv", "-k", 3, *options) == 0
    out = folder / "flowers-prototypes"
    assert file_names(out) == ["prototypes.csv", "report.html", "selection.json"]
    assert document(out)["certificate"]["kind"] == "exact"
    assert "protobandit select flowers.csv" in (out / "report.html").read_text(encoding="utf-8")
    printed = capsys.readouterr().out
    assert "for the certificate" in printed
    assert "protobandit report" not in printed


def test_json_is_the_only_output_on_stdout(points, capsys):
    assert call("select", "points.npy", "-k", 2, "--json", "--certify") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["k"] == 2
    assert printed["rows"] == 40
    assert printed["gains"][0] is None
    assert printed["out"] == "points-prototypes"
    assert printed["files"] == ["selection.json", "prototypes.csv"]
    assert printed["certificate"]["cost_ratio"] >= 1
    assert printed["indices"] == selected_rows(points.with_name("points-prototypes"))


def test_quiet_prints_nothing(points, capsys):
    assert call("select", "points.npy", "-k", 2, "--quiet") == 0
    printed = capsys.readouterr()
    assert printed.out == printed.err == ""


def test_a_certified_selection(points, capsys):
    assert call("select", "points.npy", "-k", 2, "--certified", "1.5", "--certify") == 0
    found = document(points.with_name("points-prototypes"))
    assert found["certificate"]["cost_ratio"] <= 1.5
    assert found["parameters"] == {"effort": "fast"}
    assert found["evaluations_by_phase"]["certify"] == found["certificate"]["evaluations"]
    assert "Certified within" in capsys.readouterr().out
    assert call("select", "points.npy", "-k", "auto", "--certified", "1.5", "--out", "b") == 2
    assert "k='auto' is given with until=Certified" in capsys.readouterr().err


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_dry_run_writes_nothing(points, form, capsys):
    assert call("select", "points.npy", "-k", 2, "--dry-run", *form) == 0
    printed = capsys.readouterr().out
    plan = pb.plan(np.load(points), k=2)
    assert printed == f"{plan}\n" or json.loads(printed)["evaluations"] == plan.evaluations
    assert file_names(points.parent) == ["points.npy"]


def test_the_default_folder_has_the_name_of_the_source(folder):
    (folder / "parts").mkdir()
    for i in range(2):
        np.save(folder / f"parts/{i}.npy", np.random.default_rng(i).normal(size=(9, 2)))
    assert call("select", "parts/*.npy", "-k", 2, "-q") == 0
    assert call("select", "parts/0.npy", "parts/1.npy", "-k", 2, "-q") == 0
    assert file_names(folder) == ["0-prototypes", "parts", "parts-prototypes"]
    assert selected_rows(folder / "0-prototypes") == selected_rows(folder / "parts-prototypes")


# -- options ------------------------------------------------------------------------


def test_fixed_rows_by_number_or_id(flowers, folder):
    (folder / "ids.txt").write_text("=n, 4 “ü”\n=n, 5 “ü”\n", encoding="utf-8")
    options = ["--columns", "length", "-k", 3, "-q"]
    assert call("select", "flowers.csv", *options, "--fixed", "4,5", "--out", "a") == 0
    assert call("select", "flowers.csv", *options, "--id", "name", "--fixed", "@ids.txt") == 0
    assert selected_rows(folder / "a")[:2] == [4, 5]
    assert selected_rows(folder / "flowers-prototypes") == selected_rows(folder / "a")


def test_groups_and_quotas(flowers, folder):
    options = ["--columns", "length", "--groups", "kind", "-k", 3, "-q"]
    assert call("select", "flowers.csv", *options, "--at-most", 2, "--out", "a") == 0
    quotas = ["--at-least", "b=3"]
    assert call("select", "flowers.csv", *options, *quotas, "--out", "b") == 0
    assert {i % 3 for i in selected_rows(folder / "b")} == {1}
    assert len({i % 3 for i in selected_rows(folder / "a")}) > 1


def test_by(flowers, folder):
    assert call("select", "flowers.csv", "--columns", "w*", "--by", "kind", "-k", 6, "-q") == 0
    rows = table_rows(folder / "flowers-prototypes/prototypes.csv")
    assert sorted(row["label"] for row in rows) == ["a", "a", "b", "b", "c", "c"]


def test_methods_and_their_parameters(points, folder):
    options = ["--method", "stochasticgreedy", "--param", "epsilon=0.3"]
    assert call("select", "points.npy", "-k", 2, *options, "--out", "a") == 0
    assert document(folder / "a")["parameters"]["epsilon"] == 0.3
    assert call("select", "points.npy", "-k", 2, "--effort", "thorough", "--out", "b") == 0
    assert document(folder / "b")["parameters"] == {"effort": "thorough"}
    assert call("select", "points.npy", "-k", 2, "--effort", "1.5", "--out", "c") == 0
    assert document(folder / "c")["parameters"] == {"effort": 1.5}


def test_k_as_a_fraction_or_auto(points, folder):
    assert call("select", "points.npy", "-k", "0.1", "--out", "a", "-q") == 0
    assert call("select", "points.npy", "-k", "auto", "--out", "b", "-q") == 0
    assert len(selected_rows(folder / "a")) == 4
    assert document(folder / "b")["curve"] is not None


def test_a_limit_is_reported_in_the_status(points, folder, capsys):
    options = ["--method", "lazygreedy", "--param", "memoize=false", "--max-evaluations", "1.7e3"]
    options += ["--max-memory", "1MB", "--max-seconds", 60]
    assert call("select", "points.npy", "-k", 9, *options) == 3
    assert "Stopped by the limit of 1,700 evaluations" in capsys.readouterr().out
    assert 1 <= len(selected_rows(folder / "points-prototypes")) < 9


def test_preparation_and_categories(flowers, folder):
    assert call("select", "flowers.csv", "-k", 3, "--id", "name", "--categories", "gower") == 0
    first = document(folder / "flowers-prototypes")
    assert first["metric"]["name"] == "manhattan"
    options = ["--id", "name", "--label", "kind", "--standardize", "--pca", "2", "--force"]
    assert call("select", "flowers.csv", "-k", 3, *options) == 0
    second = document(folder / "flowers-prototypes")
    assert second["prototypes"]["shape"] == [3, 2]
    assert second["preparation"] is not None


def test_missing_values_are_an_error_or_imputed(folder, capsys):
    (folder / "a.csv").write_text("x,y\n1,2\n,3\n4,5\n9,9\n", encoding="utf-8")
    assert call("select", "a.csv", "-k", 2) == 2
    assert "(4 rows checked): 1 in 'x'" in only_line(capsys.readouterr().err)
    assert file_names(folder) == ["a.csv"]
    assert call("select", "a.csv", "-k", 2, "--impute", "median") == 0


# -- invalid input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv", "-k", 3], "missing.csv does not exist"),
        (["flowers.csv", "-k", 3], "'name' (string), 'kind' (string)"),
        (["flowers.csv", "-k", 3, "--id", "nmae"], "no column 'nmae'"),
        (["flowers.csv", "-k", 3, "--columns", "size"], "no column 'size'"),
        (["flowers.csv", "-k", 31, "--columns", "length"], "k=31 exceeds the 30 source rows"),
        (
            ["flowers.csv", "-k", 3, "--columns", "length", "--weights", "kind"],
            "is not a numeric column",
        ),
        (["flowers.csv", "-k", 3, "--columns", "length", "--colour"], "--colour applies to images"),
        (
            ["flowers.csv", "-k", 3, "--columns", "length", "--image-size", 8],
            "--image-size applies to",
        ),
        (
            ["flowers.csv", "-k", 3, "--columns", "length", "--sample-rows", 9],
            "there is no --target",
        ),
        (
            ["flowers.csv", "-k", 3, "--columns", "length", "--assume-shuffled"],
            "Pass --sample-rows",
        ),
        (["flowers.csv", "-k", 3, "--effort", 2, "--param", "effort=3"], "Pass one of them"),
        (
            ["flowers.csv", "-k", 3, "--checkpoint-every", 1],
            "--checkpoint-every requires --checkpoint.",
        ),
        (["flowers.csv", "-k", 3, "--columns", "length", "--target", ""], "a path is empty"),
        (["", "-k", 3], "source: a path is empty"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--metric", "cosinus"], "'cosinus'"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--method", "pamm"], "'pamm'"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--param", "x=1"], "no parameter 'x'"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--effort", "much"], "effort='much'"),
        (
            ["flowers.csv", "-k", 3, "--columns", "length", "--fixed", "a"],
            "--fixed 'a' is not a row number",
        ),
        (["flowers.csv", "-k", 3, "--columns", "length", "--fixed", "99"], "fixed holds 99"),
        (
            ["flowers.csv", "-k", 3, "--id", "kind", "--columns", "length", "--fixed", "a"],
            "matches 10 rows",
        ),
        (
            ["flowers.csv", "-k", 3, "--id", "kind", "--columns", "length", "--fixed", "z"],
            "matches 0 rows",
        ),
        (["flowers.csv", "-k", 3, "--columns", "length", "--at-most", "1"], "Pass --groups COL"),
        (["flowers.csv", "-k", "some"], "-k 'some' is not a number of rows"),
        (["flowers.csv", "-k", 3, "--max-memory", "lots"], "'lots' is not a size"),
        (["flowers.csv", "-k", 3, "--resume"], "--resume requires 'flowers-prototypes.checkpoint'"),
        (["flowers.csv", "-k", 3, "--out", "no/such"], "The folder of 'no/such' does not exist"),
        (["flowers.csv", "-k", 3, "--out", "flowers.csv"], "is not a folder"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_invalid_input_is_one_line_and_writes_nothing(arguments, words, flowers, capsys):
    assert call("select", *arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert words in only_line(printed.err)
    assert file_names(flowers.parent) == ["flowers.csv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--columns", "length"], "points.npy has no named columns, but 'length' was requested"),
        (["--target", "points.npy", "--sample-rows", 9], "points.npy is not a table"),
    ],
    ids=["columns", "sample"],
)
def test_options_that_need_column_names(arguments, words, points, capsys):
    assert call("select", "points.npy", "-k", 3, *arguments) == 2
    assert words in only_line(capsys.readouterr().err)


def test_the_result_in_the_current_folder(points, capsys):
    checkpoint = points.parent.with_name(f"{points.parent.name}.checkpoint")
    checkpoint.write_text("old", encoding="utf-8")
    assert call("select", "points.npy", "-k", 2, "--out", ".", "--checkpoint") == 2
    assert str(checkpoint) in only_line(capsys.readouterr().err)
    assert call("select", "points.npy", "-k", 2, "--out", ".", "--checkpoint", "--force") == 0
    assert file_names(points.parent) == ["points.npy", "prototypes.csv", "selection.json"]
    assert not checkpoint.exists()


def test_an_existing_result_is_an_error_before_files_are_read(points, capsys):
    assert call("select", "points.npy", "-k", 2, "-q") == 0
    before = (points.parent / "points-prototypes/selection.json").read_bytes()
    points.unlink()
    assert call("select", "points.npy", "-k", 3) == 2
    assert "already holds selection.json and prototypes.csv" in only_line(capsys.readouterr().err)
    assert (points.parent / "points-prototypes/selection.json").read_bytes() == before


def test_an_existing_checkpoint_is_an_error(points, capsys):
    left = points.with_name("points-prototypes.checkpoint")
    left.write_text("not one", encoding="utf-8")
    assert call("select", "points.npy", "-k", 2, "--checkpoint") == 2
    assert "Pass --resume to continue it, or --force" in only_line(capsys.readouterr().err)
    assert call("select", "points.npy", "-k", 2, "--resume") == 2
    assert "not a complete checkpoint" in only_line(capsys.readouterr().err)
    assert file_names(points.parent) == ["points-prototypes.checkpoint", "points.npy"]
    assert call("select", "points.npy", "-k", 2, "--checkpoint", "--force", "-q") == 0
    assert file_names(points.parent) == ["points-prototypes", "points.npy"]


def test_a_checkpoint_of_another_call_is_an_error_that_names_options(points, capsys):
    left = points.with_name("points-prototypes.checkpoint")
    pb.select(np.load(points), k=3, random_state=0, checkpoint=left)
    assert call("select", "points.npy", "-k", 2, "--resume", "-q") == 2
    line = only_line(capsys.readouterr().err)
    assert "another k: 3, not 2. Pass --checkpoint and --force without --resume to start" in line
    assert line.endswith("or pass another --out.")
    assert call("select", "points.npy", "-k", 2, "--checkpoint", "--force", "-q") == 0


def test_a_checkpoint_of_another_run_is_not_changed(points):
    left = points.with_name("points-prototypes.checkpoint")
    left.write_text("not one", encoding="utf-8")
    assert call("select", "points.npy", "-k", 2, "-q") == 0
    assert left.read_text(encoding="utf-8") == "not one"


# -- Ctrl-C after the search ----------------------------------------------------------------------


@pytest.fixture(params=["certificate", "report.html"])
def interrupted_step(request, monkeypatch):
    """Raise KeyboardInterrupt in one of the steps after the search."""

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    if request.param == "certificate":
        monkeypatch.setattr(pb.Selection, "certified", interrupt)
    else:
        monkeypatch.setattr(select_job, "report_page", interrupt)
    return request.param


ALL = ["-k", 2, "--certify", "--report", "--out", "out"]


def test_ctrl_c_after_the_search_writes_nothing(points, interrupted_step, capsys):
    assert call("select", "points.npy", *ALL) == 1
    assert only_line(capsys.readouterr().err) == (
        "Interrupted; nothing was written. With --keep-partial, Ctrl-C writes the best result so "
        "far."
    )
    assert file_names(points.parent) == ["points.npy"]


def test_ctrl_c_after_the_search_skips_a_step(points, interrupted_step, capsys):
    assert call("select", "points.npy", *ALL, "--keep-partial", "--json") == 3
    summary = json.loads(capsys.readouterr().out)
    assert summary["left_out"] == [interrupted_step]
    assert (summary["certificate"] is None) == (interrupted_step == "certificate")
    assert ("report.html" in summary["files"]) == (interrupted_step == "certificate")
    assert file_names(points.parent / "out") == sorted(summary["files"])
    assert call("select", "points.npy", *ALL, "--keep-partial", "--force") == 3
    assert f"  interrupted  without {interrupted_step}\n" in capsys.readouterr().out


def test_ctrl_c_does_not_stop_writing(points, monkeypatch):
    write = select_job.write_results

    def interrupted(*arguments, **options):
        signal.raise_signal(signal.SIGINT)
        write(*arguments, **options)

    monkeypatch.setattr(select_job, "write_results", interrupted)
    before = signal.getsignal(signal.SIGINT)
    assert call("select", "points.npy", "-k", 2, "--out", "out", "-q") == 0
    assert file_names(points.parent / "out") == ["prototypes.csv", "selection.json"]
    assert signal.getsignal(signal.SIGINT) is before


# -- partial results, checkpoints and full disks --------------------------------------------------

SHORT = ["select", "points.npy", "-k", 3, "--method", "lazygreedy", "--out", "out", "-q"]


def test_a_partial_result_has_its_own_exit_code_and_can_be_continued(points):
    assert call(*SHORT, "--max-seconds", "1e-9", "--checkpoint") == 3
    assert file_names(points.parent) == ["out", "out.checkpoint", "points.npy"]
    assert call(*SHORT, "--max-seconds", "1e-9", "--resume", "--force") == 3
    assert call(*SHORT, "--resume", "--force") == 0
    assert file_names(points.parent) == ["out", "points.npy"]
    continued = (points.parent / "out/prototypes.csv").read_bytes()
    assert call(*SHORT, "--force") == 0
    assert (points.parent / "out/prototypes.csv").read_bytes() == continued


def test_the_result_is_on_the_disk_before_the_checkpoint_is_removed(points):
    with faults.injected(points.parent) as layer:
        assert call(*SHORT, "--checkpoint") == 0
    names = [f"{name} {paths}" for name, paths in layer.calls]
    removal = names.index("unlink out.checkpoint")
    renaming = next(i for i, (name, paths) in enumerate(layer.calls) if paths.endswith(" out"))
    assert names[renaming + 1] == "fsync ."
    assert renaming + 1 < removal


def test_if_the_result_may_not_be_on_the_disk_the_checkpoint_stays(points, capsys):
    """Whichever of the last four synchronisations fails: two files, their folder, its name."""
    search = [*SHORT, "--checkpoint", "--checkpoint-every", 1e6]
    with faults.injected(points.parent, faults.FAILED_SYNC) as layer:
        assert call(*search) == 0
    n, results = len(layer.calls), points.parent / "out"
    for at in range(n - 3, n + 1):
        shutil.rmtree(results)
        with faults.injected(points.parent, faults.FAILED_SYNC, at):
            assert call(*search) == 1
        is_written = "was written, but" in only_line(capsys.readouterr().err)
        assert is_written == results.exists() == (at == n)
        results.mkdir(exist_ok=True)
        assert points.with_name("out.checkpoint").exists()
        points.with_name("out.checkpoint").unlink()


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """Return the arguments of a search with a log of evaluations."""
    pytest.importorskip("rapidfuzz")
    monkeypatch.chdir(tmp_path)
    lines = "\n".join("ab" * (i % 17) + "c" * (i % 5) for i in range(85))
    (tmp_path / "rows.txt").write_text(lines, encoding="utf-8")
    return ["select", "rows.txt", "-k", "3", "--out", "out", "--checkpoint", "-q"]


def full_until_removed(monkeypatch, folder):
    """Let the disk be full as long as there is a checkpoint."""
    write = select_job.write_results

    def limited(*arguments, **options):
        if (folder / "out.checkpoint").exists():
            raise select_job.DiskFull("cannot write 'out': No space left on device.")
        write(*arguments, **options)

    monkeypatch.setattr(select_job, "write_results", limited)


def test_the_log_of_evaluations_is_removed_with_the_checkpoint(texts, tmp_path):
    assert call(*texts) == 0
    assert file_names(tmp_path) == ["out", "rows.txt"]


def test_on_a_full_disk_the_checkpoint_makes_room_for_the_result(texts, tmp_path, monkeypatch):
    full_until_removed(monkeypatch, tmp_path)
    assert call(*texts) == 0
    assert file_names(tmp_path) == ["out", "rows.txt"]


@pytest.mark.parametrize("why", ["it is too small", "the search is not complete"])
def test_on_a_full_disk_the_checkpoint_stays_if(why, texts, tmp_path, monkeypatch, capsys):
    full_until_removed(monkeypatch, tmp_path)
    if why == "it is too small":
        monkeypatch.setattr(select_job, "_BLOCK", 1 << 20)
    else:
        texts += ["--method", "lazygreedy", "--max-seconds", "1e-9"]
    assert call(*texts) == 1
    line = only_line(capsys.readouterr().err)
    assert "No space left on device" in line
    assert "The selection is kept in 'out.recovered.json'" in line
    assert file_names(tmp_path) == [
        "out.checkpoint",
        "out.checkpoint.evaluations",
        "out.recovered.json",
        "rows.txt",
    ]


def test_the_default_folder_must_not_be_a_link(points, capsys):
    (points.parent / "elsewhere").mkdir()
    (points.parent / "points-prototypes").symlink_to("elsewhere")
    assert call("select", "points.npy", "-k", 2) == 2
    assert "is a symbolic link. Pass --out." in only_line(capsys.readouterr().err)
    assert call("select", "points.npy", "-k", 2, "-q", "--out", "points-prototypes") == 0
    assert file_names(points.parent / "elsewhere") == ["prototypes.csv", "selection.json"]


def test_every_row_with_its_prototype(flowers, capsys):
    options = ["--id", "name", "--columns", "length", "--columns", "width", "--out", "out"]
    options.append("--labelled")
    assert call("select", "flowers.csv", "-k", 3, *options, "rows.csv") == 0
    assert "labelled     rows.csv" in capsys.readouterr().out
    rows = table_rows(flowers.with_name("rows.csv"))
    selection = pb.Selection.load(flowers.with_name("out"))
    given = table_rows(flowers)
    numbers = np.array([[float(row["length"]), float(row["width"])] for row in given])
    labels, distances = selection.assign(numbers)
    assert [int(row["rank"]) for row in rows] == (labels + 1).tolist()
    assert [row["name"] for row in rows] == [row["name"] for row in given]
    assert [row["prototype_id"] for row in rows] == [
        given[i]["name"] for i in selection.indices[labels]
    ]
    np.testing.assert_allclose([float(row["distance"]) for row in rows], distances)
    chosen = [i for i, row in enumerate(rows) if row["is_prototype"] == "True"]
    assert chosen == sorted(selection.indices)
    assert call("select", "flowers.csv", "-k", 3, *options, "rows.csv", "--force") == 0
    assert call("select", "flowers.csv", "-k", 3, *options, "all.parquet", "--force", "-q") == 0
    table = pytest.importorskip("pyarrow.parquet").read_table(flowers.with_name("all.parquet"))
    assert table.column("rank").to_pylist() == (labels + 1).tolist()


def test_the_file_of_labelled_rows_is_checked_before_the_search(flowers, capsys):
    options = ["-k", 3, "--out", "out", "--labelled"]
    assert call("select", "flowers.csv", *options, "rows.txt") == 2
    assert "does not end in .parquet or .csv" in only_line(capsys.readouterr().err)
    assert call("select", "flowers.csv", *options, "flowers.csv") == 2
    assert "--force" in only_line(capsys.readouterr().err)
    assert not flowers.with_name("out").exists()


# -- columns and rows that take part --------------------------------------------------------------


@pytest.fixture
def embeddings(folder):
    """Write 40 vectors with an id, a text, a date, a number and a list of texts beside them."""
    rows = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)
    table = pa.table(
        {
            "id": np.arange(40) * 100,
            "text": [f"text {i}" for i in range(40)],
            "day": [datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(40)],
            "year": [2000 + i // 10 for i in range(40)],
            "tags": [["a", str(i)] for i in range(40)],
            "price": [decimal.Decimal(i) / 4 for i in range(40)],
            "raw": [bytes([i, 255]) for i in range(40)],
            "v": pa.array(rows.tolist(), pa.list_(pa.float32(), 3)),
        }
    )
    pyarrow.parquet.write_table(table, folder / "rows.parquet")
    return rows


OTHERS = ["id", "text", "day", "year", "tags", "price", "raw"]
SELECT = ["select", "rows.parquet", "-k", 3, "--out", "out", "--force"]


def test_vectors_are_compared_alone_and_the_rest_is_reported(embeddings, folder, capsys):
    assert call(*SELECT, "--report") == 0
    truth = pb.select(embeddings, k=3, random_state=0)
    stored = document(folder / "out")
    assert stored["indices"] == truth.indices.tolist()
    assert stored["cost"] == pytest.approx(truth.cost)
    assert stored["columns"] == ["v"]
    assert stored["columns_left_out"]["id"] == "beside the vectors of 'v'"
    assert stored["columns_left_out"]["day"] == "beside the vectors of 'v'"
    assert list(stored["columns_left_out"]) == OTHERS
    assert (
        "Compared columns: 'v'. Left out: 'id', 'text', 'day', 'year', 'tags'" in stored["status"]
    )
    assert (
        "Compared columns: 'v'. Left out: 'id', 'text', 'day', 'year', 'tags'"
        in capsys.readouterr().out
    )
    page = (folder / "out/report.html").read_text(encoding="utf-8")
    assert "<dt>Columns</dt><dd>v</dd>" in page
    assert "<dt>Left out</dt><dd>id, text, day, year, tags, price, raw (beside the vectors" in page
    assert call(*SELECT, "--json", "-q") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["columns"] == ["v"]
    assert printed["columns_left_out"] == stored["columns_left_out"]


@pytest.mark.parametrize(
    ("options", "columns"),
    [
        (["--columns", "year,v"], ["year", "v"]),
        (["--columns", "v", "--columns", "ye*"], ["v", "year"]),
        (["--exclude", "v,text,day,tags,raw,price"], ["id", "year"]),
        (["--id", "id", "--exclude", "v,text", "--exclude", "[dtr]*,price"], ["year"]),
        (["--id", "id", "--columns", "id,year"], ["id", "year"]),
        (["--label", "year", "--columns", "v,year"], ["v", "year"]),
        (["--groups", "year", "--at-most", "1", "--columns", "year,id"], ["year", "id"]),
    ],
)
def test_columns_and_exclude(embeddings, folder, options, columns):
    assert call(*SELECT, *options, "-q") == 0
    stored = document(folder / "out")
    assert stored["columns"] == columns == stored["run"]["columns"]
    assert set(stored["columns_left_out"]) == {"v", *OTHERS} - {*columns}
    assert call("assign", "out", "rows.parquet", "--out", "near.csv", "--force") == 0
    rows = table_rows(folder / "near.csv")
    own = [rows[i] for i in stored["indices"]]
    assert [row["distance"] for row in own] == ["0.0"] * 3
    assert call("report", "out") == 0


def test_a_column_that_looks_like_ids_and_unequal_scales_are_warned_of(embeddings, folder, capsys):
    options = ["--columns", "id,year"]
    assert call(*SELECT, *options) == 0
    printed = capsys.readouterr().out
    assert "Warning: 'id' holds a different whole number in each of the 40 rows" in printed
    assert "pass --exclude id." in printed
    assert "so that 'year' hardly counts. Pass --standardize" in printed
    assert [each["kind"] for each in document(folder / "out")["warnings"]] == [
        "id column",
        "unequal scales",
    ]
    assert call(*SELECT, *options, "--standardize", "--exclude", "id") == 0
    assert "Warning" not in capsys.readouterr().out


@pytest.mark.parametrize("name", ["day", "price", "raw", "tags", "text", "year"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_ids_and_labels_of_any_type(embeddings, folder, name, form):
    options = ["--id", name, "--label", name, "--columns", "v", "--format", form, "--report", "-q"]
    assert call(*SELECT, *options) == 0
    stored = document(folder / "out")
    row = stored["indices"][0]
    texts = {
        "day": str(datetime.date(2024, 1, 1) + datetime.timedelta(row)),
        "price": f"{row / 4:.2f}",
        "raw": bytes([row, 255]).hex(),
        "tags": f'["a", "{row}"]',
        "text": f"text {row}",
    }
    assert stored["run"]["ids"][0] == texts.get(name, 2000 + row // 10)
    assert call("report", "out", "--force") == 0
    assert call("assign", "out", "rows.parquet", "--out", "near.csv", "--force") == 0


def test_labels_that_are_missing_or_infinite(folder):
    lines = ["x,y"] + [f"{i},{'inf' if i == 4 else i % 3 if i % 2 else ''}" for i in range(8)]
    (folder / "a.csv").write_text("\n".join(lines))
    assert call("select", "a.csv", "-k", 8, "--label", "y", "--columns", "x", "-q") == 0
    stored = document(folder / "a-prototypes")
    labels = dict(zip(stored["indices"], stored["run"]["labels"], strict=True))
    assert (labels[0], labels[1], labels[4]) == (None, 1.0, "inf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--id", "v", "--columns", "year"], "holds vectors in column 'v'"),
        (["--label", "v", "--columns", "v"], "holds vectors in column 'v'"),
        (["--columns", "text,v"], "not numbers: 'text' (string). Pass --exclude text to leave"),
        (["--columns", "nope"], "has no column 'nope', and none that matches it as a pattern"),
        (["--exclude", "*"], "has no columns to compare: 'id', 'text', 'day'"),
        (["--where", "year = 1999"], "has no row for which --where 'year = 1999' is true"),
        (["--where", "year >"], "--where 'year >' cannot be read: a column or a value is expected"),
        (["--where", "year>2001", "--fixed", "3"], "--fixed 3 is not among the 20 rows"),
    ],
)
def test_what_cannot_be_selected_or_written_raises_before_the_search(
    embeddings, folder, capsys, monkeypatch, options, message
):
    monkeypatch.setattr("protobandit.interfaces.jobs.opened_problem.select", None)
    assert call(*SELECT, *options) == 2
    assert message in only_line(capsys.readouterr().err)
    assert file_names(folder) == ["rows.parquet"]


def test_a_type_that_parquet_does_not_have_raises_before_the_search(folder, capsys, monkeypatch):
    spans = pa.array([(1, 2, 3)] * 4, pa.month_day_nano_interval())
    pyarrow.feather.write_feather(pa.table({"x": [1, 2, 3, 9], "span": spans}), "rows.arrow")
    options = ["select", "rows.arrow", "-k", 2, "--columns", "x", "--out", "out", "-q"]
    assert call(*options, "--format", "csv") == 0
    monkeypatch.setattr("protobandit.interfaces.jobs.opened_problem.select", None)
    assert call(*options, "--format", "parquet", "--force") == 2
    assert "cannot be written as parquet: Unhandled type" in only_line(capsys.readouterr().err)


def test_rows_with_a_condition_keep_their_numbers_in_the_file(embeddings, folder, capsys):
    options = ["--where", "year in (2001, 2003) and text is not null", "--fixed", "33"]
    assert call(*SELECT, *options, "--labelled", "labelled.csv") == 0
    labelled = table_rows(folder / "labelled.csv")
    assert all(row["row"] == row["prototype"] for row in labelled if row["is_prototype"] == "True")
    assert (
        "The source has 20 of the 40 rows of rows.parquet with year in" in capsys.readouterr().out
    )
    rows = table_rows(folder / "out/prototypes.csv")
    assert rows[0]["row"] == "33"
    assert all(row["source_id"] == str(100 * int(row["row"])) for row in rows)
    stored = document(folder / "out")
    assert stored["run"]["rows"] == [int(row["row"]) for row in rows]
    assert stored["run"]["reading"] == {"where": options[1]}
    assert call("assign", "out", "rows.parquet", "--out", "near.csv") == 0
    near = table_rows(folder / "near.csv")
    assert len(near) == 40
    assert near[33]["prototype"] == "33"
    assert call("report", "out") == 0
    assert call("certify", "out") == 0


def test_the_target_is_filtered_too(embeddings, folder):
    options = ["--target", "rows.parquet", "--where", "year = 2002", "--sample-rows", "5"]
    assert call(*SELECT, *options, "--cache", "cache", "-q") == 0
    stored = document(folder / "out")
    assert "The target is a sample of 5 of 10 of the 40 rows of rows.parquet" in stored["status"]


def test_a_result_that_cannot_be_written_is_kept(embeddings, folder, monkeypatch, capsys):
    def fail(*arguments):
        raise TypeError("no such type")

    with monkeypatch.context() as patch:
        patch.setattr(select_job, "prototypes_table", fail)
        assert call(*SELECT, "-q") == 1
    line = only_line(capsys.readouterr().err)
    assert line.startswith("TypeError: no such type. The selection is kept in 'out.recovered.json'")
    assert file_names(folder) == ["out.recovered.json", "rows.parquet"]
    assert call("assign", "out.recovered.json", "rows.parquet", "--out", "near.csv") == 0
    assert call("report", "out.recovered.json", "--out", "page.html") == 0
    assert len(table_rows(folder / "near.csv")) == 40


def test_many_categories_are_warned_of(folder, capsys):
    lines = ["x,name,city"] + [f"{i % 7},name {i},{'ab'[i % 2]}" for i in range(60)]
    (folder / "a.csv").write_text("\n".join(lines))
    assert call("select", "a.csv", "-k", 2) == 2
    message = "not numbers: 'name' (string), 'city' (string). Pass --exclude name,city to leave"
    assert message in only_line(capsys.readouterr().err)
    assert call("select", "a.csv", "-k", 2, "--exclude", "name") == 2
    assert "Pass --categories one-hot to compare" in only_line(capsys.readouterr().err)
    assert call("select", "a.csv", "-k", 2, "--categories", "one-hot") == 0
    printed = capsys.readouterr().out
    assert "many categories: 'name' (60) in 60 rows" in printed
    assert "pass --exclude name." in printed


def test_a_quota_for_all_groups_with_exceptions(folder, capsys):
    kinds = ["info"] * 20 + ["error"] * 10 + ["debug"] * 10 + ["rare"] * 2
    lines = ["x,kind"] + [f"{i * i % 17},{kind}" for i, kind in enumerate(kinds)]
    (folder / "log.csv").write_text("\n".join(lines))
    options = ["--groups", "kind", "--at-least", 5, "--at-least", "debug=1", "--at-most", "debug=1"]
    assert call("select", "log.csv", "-k", 15, *options) == 0
    assert "selected completely: 'rare' (2 of 5)." in capsys.readouterr().out
    found = [row["kind"] for row in table_rows(folder / "log-prototypes/prototypes.csv")]
    assert found.count("debug") == 1
    assert found.count("rare") == 2
    assert min(found.count("info"), found.count("error")) >= 5


def test_rows_that_are_far_apart(folder, points, capsys):
    assert call("select", "points.npy", "-k", 9, "--min-distance", 1e-3, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    rows = np.load(folder / "points.npy")[found["indices"]]
    assert min(np.linalg.norm(a - b) for i, a in enumerate(rows) for b in rows[:i]) >= 1e-3
    assert call("select", "points.npy", "-k", 9, "--min-distance", "-1", "--force") == 2
    assert only_line(capsys.readouterr().err) == (
        "--min-distance '-1' is not a number > 0. Pass a distance such as 0.1."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["select", "points.npy", "-k", 3, "--metric", "euclidian"],
            "--metric 'euclidian' is not known. Did you mean 'euclidean' or 'seuclidean' or "
            "'sqeuclidean'? See `protobandit metrics`.",
        ),
        (
            ["select", "points.npy", "-k", 3, "--method", "lazybandt"],
            "--method 'lazybandt' is not known. Did you mean 'lazybandit'? See `protobandit "
            "methods`.",
        ),
        (
            ["selct", "points.npy", "-k", 3],
            "No such command 'selct'. Did you mean 'select'? See `protobandit --help`.",
        ),
    ],
)
def test_misspelt_names_are_explained_in_the_words_of_the_command_line(
    folder, points, capsys, arguments, message
):
    assert call(*arguments) == 2
    assert only_line(capsys.readouterr().err) == message
