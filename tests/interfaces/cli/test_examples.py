"""Every example in the help runs."""

import shlex
import shutil

import numpy as np
import pytest

from interfaces.cli.run_cli import call, file_names
from interfaces.cli.test_demo_command import quick  # noqa: F401  (a demo without computation)
from protobandit.interfaces.cli import (
    assign_command,
    cache_command,
    certify_command,
    check_command,
    compare_command,
    demo_command,
    list_commands,
    report_command,
    select_command,
    update_command,
)

N = 60


def write_files(folder):
    """Write the files that the examples name."""
    pa = pytest.importorskip("pyarrow")
    image = pytest.importorskip("PIL.Image")
    pytest.importorskip("rapidfuzz")
    from pyarrow import parquet

    random = np.random.default_rng(0)
    rows = random.normal(size=(300, 3))
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), 3)
    named = pa.table({"name": [f"row {i}" for i in range(300)], "vector": vectors})
    parquet.write_table(named, folder / "embeddings.parquet")
    parquet.write_table(named.select(["vector"]), folder / "new.parquet")
    (folder / "data").mkdir()
    for i in range(2):
        many = pa.table({name: random.normal(size=600) for name in ("x", "y")})
        parquet.write_table(many, folder / f"data/{i}.parquet")
    (folder / "moved").mkdir()
    for name in ("train.npy", "test.npy", "moved/train.npy"):
        np.save(folder / name, rows[:150])
    for name in ("customers.csv", "rows.csv"):
        lines = [f"{x},{y},{z}" for x, y, z in rows[:N]]
        text = "\n".join(["age,spent_here,spent_there", *lines])
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "photos").mkdir()
    for i in range(30):
        pixels = random.integers(0, 256, size=(6, 6), dtype=np.uint8)
        image.fromarray(pixels).save(folder / f"photos/{i}.png")
    texts = ["".join(random.choice(list("abc"), 5)) for _ in range(N)]
    (folder / "queries.txt").write_text("\n".join(texts), encoding="utf-8")


@pytest.fixture(scope="module")
def example_files(tmp_path_factory):
    """Write the files, and the selections that examples of other commands read."""
    home = tmp_path_factory.mktemp("examples")
    write_files(home)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        assert call("select", "embeddings.parquet", "-k", 3, "--id", "name", "-q") == 0
        assert call("select", "train.npy", "-k", 3, "--out", "chosen", "-q") == 0
    return home


def commands(*examples):
    """Return the part of each example before a pipe."""
    return [example.partition(" | ")[0] for example in examples]


@pytest.mark.parametrize("example", commands(*select_command.EXAMPLES))
def test_select(example, example_files, folder):
    shutil.copytree(example_files, folder, dirs_exist_ok=True)
    assert call(*shlex.split(example)[1:], "--force", "-q") == 0


@pytest.mark.parametrize(
    "example",
    commands(
        *assign_command.EXAMPLES,
        *check_command.EXAMPLES,
        *update_command.EXAMPLES,
        *report_command.EXAMPLES,
        *certify_command.EXAMPLES,
    ),
)
def test_commands_on_a_saved_selection(example, example_files, folder, capsys):
    shutil.copytree(example_files, folder, dirs_exist_ok=True)
    before = file_names(folder)
    assert call(*shlex.split(example)[1:]) == 0
    assert "--out" not in example or file_names(folder) != before
    printed = capsys.readouterr().err
    assert printed == "" or (" assign " in example and " rows assigned to " in printed)


@pytest.mark.parametrize("example", commands(*compare_command.EXAMPLES))
def test_compare(example, example_files, folder, capsys):
    shutil.copytree(example_files, folder, dirs_exist_ok=True)
    assert call(*shlex.split(example)[1:]) == 0
    assert "best" in capsys.readouterr().out


@pytest.mark.parametrize(
    "example",
    commands(
        *list_commands.METHODS_EXAMPLES,
        *list_commands.METRICS_EXAMPLES,
        *cache_command.EXAMPLES,
        *demo_command.EXAMPLES,
    ),
)
def test_commands_without_input(example, folder, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    assert call(*shlex.split(example)[1:]) == 0
