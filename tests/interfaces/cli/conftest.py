import csv
import shutil

import numpy as np
import pytest

from interfaces.cli.run_cli import call


@pytest.fixture(autouse=True)
def no_forced_colour(monkeypatch):
    """Remove environment variables that force colour."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make an empty folder the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def flowers(folder):
    """Write a table of 30 rows in three clusters: name, two numbers, kind, weight."""
    return write_flowers(folder / "flowers.csv")


def write_flowers(path):
    random = np.random.default_rng(0)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "length", "width", "kind", "times"])
        for i in range(30):
            x, y = random.normal(size=2) * 0.1 + [10 * (i % 3), 0]
            writer.writerow([f"=n, {i} “ü”", x, y, "abc"[i % 3], 1 + i % 2])
    return path


@pytest.fixture
def points(folder):
    """Write 40 rows of 3 numbers as .npy."""
    path = folder / "points.npy"
    np.save(path, np.random.default_rng(1).normal(size=(40, 3)))
    return path


@pytest.fixture(scope="session")
def selected_flowers(tmp_path_factory):
    """Select from the flowers by two standardized columns, with ids and labels."""
    home = tmp_path_factory.mktemp("flowers")
    write_flowers(home / "flowers.csv")
    options = ["--id", "name", "--label", "kind", "--weights", "times", "--standardize"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        assert call("select", "flowers.csv", "-k", 3, *options, "--out", "out", "-q") == 0
    return home


@pytest.fixture
def saved(folder, selected_flowers):
    """Copy flowers.csv and its saved selection, ``out``, to the current folder."""
    shutil.copytree(selected_flowers, folder, dirs_exist_ok=True)
    return folder / "out"
