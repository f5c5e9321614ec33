"""The packages that are published, and the files that describe them to others."""

from __future__ import annotations

import re
import tarfile
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml

import protobandit as pb

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "protobandit"
MODULES = {"scikit-learn": "sklearn", "pillow": "PIL"}  # where the name of the module differs
OF_DEVELOPERS = {"test", "docs", "dev"}
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return wheel and sdist, built without network."""
    build = pytest.importorskip("hatchling.build")
    folder = tmp_path_factory.mktemp("dist")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return folder / build.build_wheel(str(folder)), folder / build.build_sdist(str(folder))


@pytest.fixture(scope="module")
def metadata(built):
    with zipfile.ZipFile(built[0]) as wheel:
        (name,) = (name for name in wheel.namelist() if name.endswith("/METADATA"))
        return Parser().parsestr(wheel.read(name).decode())


def required(metadata) -> dict[str, str]:
    """Return the extra of each package that users install; "" is none."""
    found = {}
    for line in metadata.get_all("Requires-Dist"):
        extra = re.search(r"extra == ['\"](\w+)['\"]", line)
        name = re.match(r"[\w-]+", line)[0]
        if (extra is None or extra[1] not in OF_DEVELOPERS) and name != "protobandit":
            found[name] = "" if extra is None else extra[1]
    return found


# -- contents -------------------------------------------------------------------------------------


def test_the_wheel_has_the_package_and_nothing_else(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = [*wheel.namelist()]
    own = {name for name in names if not re.match(r"protobandit-[\d.]+\.dist-info/", name)}
    files = [path for path in PACKAGE.rglob("*") if path.parent.name != "__pycache__"]
    expected = {path.relative_to(PACKAGE.parent).as_posix() for path in files if path.is_file()}
    assert own == expected
    assert "protobandit/py.typed" in own
    assert "protobandit/result/report/assets/page.html" in own
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_has_what_its_tests_read_and_nothing_large(built):
    with tarfile.open(built[1]) as sdist:
        sizes = {each.name.partition("/")[2]: each.size for each in sdist.getmembers()}
    for folder in ("src/protobandit", "tests", "benchmarks"):
        files = {
            path.relative_to(ROOT).as_posix()
            for path in (ROOT / folder).rglob("*")
            if path.suffix in (".py", ".json", ".txt", ".lock", ".html", ".css", ".js")
        }
        assert files <= {*sizes}
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *WORKFLOWS]
    data = [*(ROOT / "docs" / "results").rglob("*.json"), *(ROOT / "docs").rglob("*.csv")]
    assert {path.relative_to(ROOT).as_posix() for path in [*pages, *data]} <= {*sizes}
    assert {"LICENSE", "CITATION.cff", "pyproject.toml", ".ci/run", "PKG-INFO"} <= {*sizes}
    assert built[1].stat().st_size < 5e6
    assert max(sizes.values()) < 1e6


def test_the_metadata(metadata):
    assert metadata["Version"] == pb.__version__
    assert metadata["License-Expression"] == "BSD-3-Clause"
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert "Typing :: Typed" in metadata.get_all("Classifier")


# -- what is said elsewhere -----------------------------------------------------------------------


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["version"] == pb.__version__
    released = re.findall(r"^## \[(\d[^]]*)\] - (\S+)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert released[0] == (pb.__version__, citation["date-released"])


def test_the_page_of_dependencies_lists_those_of_the_package(metadata):
    rows = re.findall(r"^\| `([\w-]+)` \| (?:`(\w+)` \|)?", text_of("docs/dependencies.md"), re.M)
    assert dict(rows) == required(metadata)


def test_every_dependency_is_imported(metadata):
    code = "\n".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    for name in required(metadata):
        module = MODULES.get(name, name)
        assert re.search(rf"^\s*(import|from) {module}\b", code, re.MULTILINE), name


def test_pythons_are_named_alike(metadata):
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(metadata.get_all("Classifier")))
    matrix = yaml.safe_load(text_of(".github/workflows/tests.yml"))["jobs"]["tests"]["strategy"]
    assert matrix["matrix"]["python"] == named


# -- workflows and templates ----------------------------------------------------------------------


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_pinned_and_have_few_rights(path):
    text = path.read_text(encoding="utf-8")
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    for used in re.findall(r"uses: (.*)", text):
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", used), used
    for job in workflow["jobs"].values():
        assert job["permissions"] in ({"contents": "read"}, {"id-token": "write"})
        assert job["timeout-minutes"] <= 60
    assert "secrets." not in text


def test_commands_of_workflows_exist():
    jobs = [
        job
        for path in WORKFLOWS
        for job in yaml.safe_load(path.read_text("utf-8"))["jobs"].values()
    ]
    commands = [
        line for job in jobs for step in job["steps"] for line in step.get("run", "").splitlines()
    ]
    extras = {extra for line in commands for extra in re.findall(r"\"\.\[(\w+)\]\"", line)}
    assert {"test", "dev"} <= extras
    for script in (word for line in commands for word in line.split() if word.startswith(".ci/")):
        assert (ROOT / script).is_file()
    known = ("bash .ci/", "mypy", "protobandit demo", "python -m ", "ruff ", "test -f ")
    assert not [line for line in commands if not line.startswith(known)]


@pytest.mark.parametrize("name", ["bug", "question", "idea"])
def test_issue_templates_have_what_a_form_needs(name):
    form = yaml.safe_load(text_of(f".github/ISSUE_TEMPLATE/{name}.yml"))
    assert {"name", "description", "body"} <= form.keys()
    ids = [each["id"] for each in form["body"] if each["type"] != "markdown"]
    assert ids
    assert len(ids) == len({*ids})
