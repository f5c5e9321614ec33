"""The trial of versions: which requirements it installs, and its page."""

from __future__ import annotations

import zipfile

from benchmarks.common.records import write_measurement

from benchmarks import versions


def test_lower_bounds():
    given = ["numpy>=1.26", "dask[array]<2027,>=2025.1", "protobandit[test]", "numpy>=1.26"]
    given.append("psutil>=5.9; sys_platform == 'never'")
    assert versions.lower_bounds(given) == ["numpy==1.26", "dask[array]==2025.1"]


def test_requirements_are_those_of_users_and_tests(tmp_path):
    wheel = tmp_path / "a.whl"
    lines = ["Name: a", "Requires-Dist: b>=1", "Requires-Dist: c>=2; extra == 'test'"]
    lines += ["Requires-Dist: d>=3; extra == 'docs'", "", "Requires-Dist: in the description"]
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("a-1.dist-info/METADATA", "\n".join(lines))
    assert versions.required(wheel) == ["b>=1", "c>=2"]


def test_the_page_says_what_failed(tmp_path):
    works = versions.Result(
        "3.12",
        "3.12.1",
        "pyenv",
        tests="9 passed in 1s",
        versions={"numpy": "2.0"},
        commit="abc1234",
    )
    fails = versions.Result("3.14", origin="uv", failed="calls", reason="ImportError: x")
    figures = {"results": [vars(works), vars(fails)]}
    write_measurement(tmp_path / "v.json", "benchmarks.versions", figures, seconds=1.0)
    page = "\n".join(versions.page(tmp_path / "v.json"))
    assert "| 3.12 | 3.12.1 | pyenv | works | 9 passed in 1s | abc1234 |" in page
    assert "| 3.14 | – | uv | **calls failed:** ImportError: x | – | unknown |" in page
    assert "| 3.12 | 2.0 | – |" in page
