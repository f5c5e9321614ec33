"""The import rule, read from the syntax tree.

A module imports from its own subpackage and from those before it in `ORDER`, and it imports a name
from the file that defines it. Imports inside functions or behind TYPE_CHECKING count like any
other; the lazy table in the package's ``__init__`` does not.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

import protobandit

ROOT = Path(protobandit.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# A module may import what stands before it. Where two parts of a subpackage must not mix, both
# are listed.
ORDER = (
    "foundation",
    "kernels",
    "rows",
    "metrics",
    "problem",
    "oracle",
    "search.arms",
    "search.objectives",
    "search.control",
    "search.drivers",
    "search.methods",
    "certificate",
    "run",
    "result.record",
    "result.queries",
    "result.drift",
    "result.report",
    "result",
    "_select",
    "_plan",
    "interfaces",
    "__main__",
)
# The only modules that re-export names; users import from them, the package itself does not.
PUBLIC = {"", "methods", "data"}
FREE = {"_version"}  # anybody may import it

# What a subpackage may import of its own package, where that is less than the order allows.
ONLY = {
    "kernels": {"foundation"},
    "rows": {"foundation", "kernels"},
    "search.arms": {"foundation"},
    # A report reads a selection, and must not depend on a search.
    "result.record": {"foundation", "rows", "metrics", "problem", "certificate"},
    "result.queries": {"foundation", "rows", "metrics", "problem", "oracle", "result.record"},
    "result.drift": {"foundation", "problem", "oracle", "result.record", "result.queries"},
    "result.report": {
        "foundation",
        "metrics",
        "certificate",
        "result.record",
        "result.queries",
        "result.drift",
    },
}
# Outside libraries beyond NumPy and the standard library, and who may import them.
MAY_USE = {
    "foundation": {"joblib", "psutil", "scipy", "threadpoolctl"},
    "kernels": {"llvmlite", "scipy", "sklearn"},
    "rows": {"dask", "fsspec", "narwhals", "pyarrow", "PIL", "scipy", "sklearn"},
    "metrics": {"scipy", "sklearn", "rapidfuzz"},
    "search.drivers": {"scipy"},
    "run": {"dask", "distributed"},
    "result.report": {"matplotlib", "umap"},
    "result": {"matplotlib", "scipy", "pandas", "polars", "pyarrow"},
    "interfaces": {"pyarrow", "rich", "scipy", "sklearn", "typer"},
}
OUTSIDE = set().union(*MAY_USE.values()) | {
    *("pandas", "polars", "dask", "distributed", "anndata", "xarray", "torch", "jax"),
}
LONGEST_CHAIN = 29  # from the command line to the types of the compiler of kernels


def module_of(path: Path) -> str:
    """Return the dotted name of a file below the package: "" is the package itself."""
    names = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(name for name in names if name != "__init__")


def part_of(module: str) -> str:
    """Return the entry of `ORDER` a module belongs to, or the module itself."""
    for part in sorted(ORDER, key=len, reverse=True):
        if module == part or module.startswith(f"{part}."):
            return part
    return module


@cache
def imported(path: Path) -> frozenset[tuple[str, str]]:
    """Return what a file imports: (full dotted module, name); the name is "" for a module."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            for alias in node.names:
                inner = ROOT.parent / Path(*base.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                found.add((f"{base}.{alias.name}", "") if is_module else (base, alias.name))
    return frozenset(found)


def own_imports(path: Path) -> set[tuple[str, str]]:
    """Return what a file imports of the package itself, without its prefix."""
    return {
        (module.removeprefix("protobandit").lstrip("."), name)
        for module, name in imported(path)
        if module.split(".")[0] == "protobandit"
    }


def may_import(part: str) -> set[str]:
    """Return the parts that a part may import."""
    if part in ONLY:
        return {part, *ONLY[part]}
    return {*ORDER[: ORDER.index(part) + 1]}


@cache
def defined(path: Path) -> frozenset[str]:
    """Return the names a file defines at its top level; imports are not definitions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return frozenset(names)


def file_of(module: str) -> Path:
    path = ROOT / Path(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


SUBJECTS = [path for path in FILES if module_of(path) not in PUBLIC | FREE]


def test_every_part_is_in_the_order():
    parts = {part_of(module_of(path)) for path in SUBJECTS}
    assert parts - {"search"} <= set(ORDER), "a new subpackage needs a place in ORDER"


@pytest.mark.parametrize("path", SUBJECTS, ids=module_of)
def test_imports_go_one_way(path):
    part = part_of(module_of(path))
    if part == "search":  # its __init__ only
        assert not own_imports(path)
        return
    wrong = {
        module
        for module, _ in own_imports(path)
        if module not in FREE and part_of(module) not in may_import(part)
    }
    assert not wrong, f"{part} may import {sorted(may_import(part))}"


@pytest.mark.parametrize("path", SUBJECTS, ids=module_of)
def test_a_name_is_imported_from_the_file_that_defines_it(path):
    wrong = {
        f"{module}.{name}"
        for module, name in own_imports(path)
        if name and name not in defined(file_of(module))
    }
    assert not wrong


def test_only_the_public_modules_re_export():
    for path in FILES:
        if path.name == "__init__.py" and module_of(path) not in PUBLIC:
            assert not own_imports(path), path


@pytest.mark.parametrize("path", SUBJECTS, ids=module_of)
def test_outside_libraries_stay_where_they_belong(path):
    used = {module.split(".")[0] for module, _ in imported(path)} & OUTSIDE
    assert used <= MAY_USE.get(part_of(module_of(path)), set())


def test_dask_is_imported_in_one_file_of_rows_and_in_the_executors():
    users = {
        module_of(path)
        for path in SUBJECTS
        if {module.split(".")[0] for module, _ in imported(path)} & {"dask", "distributed"}
    }
    assert {user for user in users if not user.startswith("run.executors.")} == {"rows.dask_rows"}


def graph() -> dict[str, set[str]]:
    """Return which module imports which; ``__init__`` files are not counted."""
    modules = {module_of(path): path for path in SUBJECTS if path.name != "__init__.py"}
    return {
        name: {module for module, _ in own_imports(path)} & set(modules) - {name}
        for name, path in modules.items()
    }


def longest_chain(edges: dict[str, set[str]]) -> list[str]:
    """Return the longest chain of imports; fails where there is a cycle."""
    chains: dict[str, list[str]] = {}

    def chain(module: str, trail: tuple[str, ...]) -> list[str]:
        assert module not in trail, " -> ".join([*trail, module])
        if module not in chains:
            tails = [chain(other, (*trail, module)) for other in sorted(edges[module])]
            chains[module] = [module, *max(tails, key=len, default=[])]
        return chains[module]

    return max((chain(module, ()) for module in edges), key=len)


def test_no_cycles_and_no_long_chains():
    longest = longest_chain(graph())
    assert len(longest) <= LONGEST_CHAIN, " -> ".join(longest)


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_only_the_oracle_calls_a_metric(path):
    if part_of(module_of(path)) in {"oracle", "metrics", "kernels"}:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in {"fill", "fill_pairs", "prepare"}:
            pytest.fail(f"{path.name}:{node.lineno} uses .{node.attr}")


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_nothing_prints_outside_the_command_line(path):
    if module_of(path).startswith("interfaces.cli"):
        return
    calls = [
        n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)
    ]
    assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


def test_the_root_holds_only_public_names():
    assert {path.name for path in ROOT.glob("*.py")} == {
        "__init__.py",
        "__main__.py",
        "_plan.py",
        "_select.py",
        "_version.py",
        "data.py",
        "methods.py",
    }


def test_the_rules_see_an_offender(tmp_path):
    """A hidden import is found, and so are a cycle and a chain that is too long."""
    offender = tmp_path / "offender.py"
    offender.write_text("def f(m):\n    from protobandit.oracle.oracle import Oracle\n")
    assert ("oracle.oracle", "Oracle") in own_imports(offender)
    assert "oracle" not in may_import("search.arms")
    assert "oracle" not in may_import("result.report")
    assert "run" not in may_import("search.methods")
    assert longest_chain({"a": {"b"}, "b": set(), "c": {"a"}}) == ["c", "a", "b"]
    with pytest.raises(AssertionError, match="a -> b -> a"):
        longest_chain({"a": {"b"}, "b": {"a"}})
