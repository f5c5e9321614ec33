"""What ``protobandit select`` refuses, inside this process."""

import numpy as np
import pytest

import protobandit as pb
from interfaces.cli.calling import call, names, only_line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing.csv", "-k", 3], "missing.csv does not exist"),
        (["flowers.csv", "-k", 3], "'name' (string), 'kind' (string)"),
        (["flowers.csv", "-k", 3, "--id", "nmae"], "no column 'nmae'"),
        (["flowers.csv", "-k", 3, "--columns", "size"], "no column 'size'"),
        (["flowers.csv", "-k", 31, "--columns", "length"], "k=31 exceeds the 30 source rows"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--weights", "kind"], "not hold numbers"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--colour"], "--colour is for images"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--image-size", 8], "--image-size is for"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--sample-rows", 9], "there is none"),
        (
            ["flowers.csv", "-k", 3, "--columns", "length", "--assume-shuffled"],
            "Pass --sample-rows",
        ),
        (["flowers.csv", "-k", 3, "--effort", 2, "--param", "effort=3"], "Pass one of them"),
        (["flowers.csv", "-k", 3, "--checkpoint-every", 1], "Pass --checkpoint too"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--target", ""], "a path is empty"),
        (["", "-k", 3], "source: a path is empty"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--metric", "cosinus"], "'cosinus'"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--method", "pamm"], "'pamm'"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--param", "x=1"], "no parameter 'x'"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--effort", "much"], "effort='much'"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--fixed", "a"], "--fixed names 'a'"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--fixed", "99"], "fixed holds 99"),
        (
            ["flowers.csv", "-k", 3, "--id", "kind", "--columns", "length", "--fixed", "a"],
            "several",
        ),
        (["flowers.csv", "-k", 3, "--id", "kind", "--columns", "length", "--fixed", "z"], "no row"),
        (["flowers.csv", "-k", 3, "--columns", "length", "--at-most", "1"], "Pass --groups COL"),
        (["flowers.csv", "-k", "some"], "-k 'some' is not a number of rows"),
        (["flowers.csv", "-k", 3, "--max-memory", "lots"], "'lots' is not a size"),
        (["flowers.csv", "-k", 3, "--resume"], "--resume needs 'flowers-prototypes.checkpoint'"),
        (["flowers.csv", "-k", 3, "--out", "no/such"], "lies in no existing folder"),
        (["flowers.csv", "-k", 3, "--out", "flowers.csv"], "is not a folder"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_a_bad_call_is_one_line_and_leaves_nothing(arguments, words, flowers, capsys):
    assert call("select", *arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in only_line(shown.err)
    assert names(flowers.parent) == ["flowers.csv"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--columns", "length"], "points.npy has no named columns, but 'length' was requested"),
        (["--target", "points.npy", "--sample-rows", 9], "points.npy is none"),
    ],
    ids=["columns", "sample"],
)
def test_what_rows_without_names_do_not_have(arguments, words, points, capsys):
    assert call("select", "points.npy", "-k", 3, *arguments) == 2
    assert words in only_line(capsys.readouterr().err)


def test_a_result_in_the_current_folder(points, capsys):
    checkpoint = points.parent.with_name(f"{points.parent.name}.checkpoint")
    checkpoint.write_text("left over", encoding="utf-8")
    assert call("select", "points.npy", "-k", 2, "--out", ".", "--checkpoint") == 2
    assert str(checkpoint) in only_line(capsys.readouterr().err)
    assert call("select", "points.npy", "-k", 2, "--out", ".", "--checkpoint", "--force") == 0
    assert names(points.parent) == ["points.npy", "prototypes.csv", "selection.json"]
    assert not checkpoint.exists()


def test_an_earlier_result_is_refused_before_the_work(points, capsys):
    assert call("select", "points.npy", "-k", 2, "-q") == 0
    before = (points.parent / "points-prototypes/selection.json").read_bytes()
    points.unlink()  # not so much as looked at
    assert call("select", "points.npy", "-k", 3) == 2
    assert "holds selection.json and prototypes.csv already" in only_line(capsys.readouterr().err)
    assert (points.parent / "points-prototypes/selection.json").read_bytes() == before


def test_a_checkpoint_left_over_is_refused(points, capsys):
    left = points.with_name("points-prototypes.checkpoint")
    left.write_text("not one", encoding="utf-8")
    assert call("select", "points.npy", "-k", 2, "--checkpoint") == 2
    assert "Pass --resume to go on with it, or --force" in only_line(capsys.readouterr().err)
    assert call("select", "points.npy", "-k", 2, "--resume") == 2
    assert "not a checkpoint" in only_line(capsys.readouterr().err)
    assert names(points.parent) == ["points-prototypes.checkpoint", "points.npy"]
    assert call("select", "points.npy", "-k", 2, "--checkpoint", "--force", "-q") == 0
    assert names(points.parent) == ["points-prototypes", "points.npy"]


def test_a_checkpoint_of_another_call_is_refused_in_words_of_options(points, capsys):
    left = points.with_name("points-prototypes.checkpoint")
    pb.select(np.load(points), k=3, random_state=0, checkpoint=left)
    assert call("select", "points.npy", "-k", 2, "--resume", "-q") == 2
    line = only_line(capsys.readouterr().err)
    assert "another k: 3, not 2. Pass --checkpoint and --force without --resume to begin" in line
    assert line.endswith("or pass another --out.")
    assert call("select", "points.npy", "-k", 2, "--checkpoint", "--force", "-q") == 0


def test_a_checkpoint_of_another_run_is_left_alone(points):
    left = points.with_name("points-prototypes.checkpoint")
    left.write_text("not one", encoding="utf-8")
    assert call("select", "points.npy", "-k", 2, "-q") == 0
    assert left.read_text(encoding="utf-8") == "not one"
