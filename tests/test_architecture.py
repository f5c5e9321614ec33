"""The directions in which files may import, read from the syntax tree.

Imports hidden inside functions or behind TYPE_CHECKING count like any other.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import protobandit

ROOT = Path(protobandit.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# Which parts of the package a part may import. A part is a folder or a top-level file.
GROUND = {"_typing", "_errors"}
MAY_IMPORT = {
    "__init__": None,  # everything: it only names things
    "__main__": {"_cli"},
    "_typing": set(),
    "_errors": set(),
    "_guarantee": set(),
    "_certificate": GROUND,
    "_machine": set(),
    "_limits": GROUND | {"_machine"},
    "_threads": GROUND,
    "kernels": GROUND,
    "arms": GROUND,
    "data": GROUND,
    "_prepared": GROUND,
    "_text_metrics": GROUND | {"_prepared"},
    "_metric_parameters": set(),
    "_metrics": GROUND | {"kernels", "_metric_parameters", "_prepared", "_text_metrics"},
    "_sampling": GROUND | {"kernels"},
    "_labels": GROUND,
    "_rules": GROUND,
    "_constraints": GROUND | {"_labels", "_rules"},
    "_knee": GROUND,
    "_goals": GROUND,
    "_preparation": GROUND | {"data", "_cuts", "_sampling", "_threads"},
    "_problem": GROUND | {"data", "_constraints", "_goals", "_metrics", "_preparation"},
    "_cuts": GROUND,
    "_onlooker": GROUND,
    "_notes": GROUND | {"_onlooker"},
    "_shelf": GROUND,
    "_lock": GROUND,
    "_checkpoint": GROUND | {"_lock", "_notes", "_onlooker", "_shelf"},
    "_chance": GROUND,
    "_scan": GROUND | {"_cuts", "_metrics", "_prepared"},
    "_since": GROUND | {"_cuts", "_prepared"},
    "_oracle": GROUND
    | {"data", "_cuts", "_metrics", "_onlooker", "_prepared", "_problem", "_scan", "_since"}
    | {"_threads"},
    "_watch": GROUND | {"_chance", "_checkpoint", "_limits", "_notes", "_onlooker", "_oracle"},
    "_chorus": GROUND | {"_watch"},
    "_identity": GROUND | {"__init__", "_limits", "_problem"},
    "_means": GROUND | {"_chance", "_checkpoint", "_identity", "_limits", "_sampling", "_watch"},
    "_similarity": GROUND | {"kernels", "_metrics", "_prepared"},
    "_table": GROUND | {"kernels", "_oracle", "_prepared"},
    "objectives": GROUND
    | {
        "arms",
        "kernels",
        "_constraints",
        "_metrics",
        "_oracle",
        "_prepared",
        "_sampling",
        "_similarity",
        "_table",
    },
    "drivers": GROUND
    | {"arms", "objectives", "_constraints", "_onlooker", "_oracle", "_sampling", "_table"},
    "_dual": GROUND | {"kernels", "_oracle"},
    "_certify": GROUND | {"_certificate", "_dual", "_oracle", "_problem", "_sampling"},
    "_document": GROUND | {"_certificate", "_guarantee", "_labels", "_metrics", "_preparation"},
    "_answers": GROUND | {"data", "_metrics", "_oracle", "_preparation", "_problem"},
    "_attach": GROUND | {"_metrics", "_preparation", "_problem", "_run"},
    "_plots": GROUND | {"_knee", "report"},
    "_selection": GROUND
    | {
        "_answers",
        "_attach",
        "_certificate",
        "_certify",
        "_document",
        "_extend",
        "_guarantee",
        "_limits",
        "_metrics",
        "_oracle",
        "_plots",
        "_preparation",
        "_problem",
        "_run",
        "_sampling",
    },
    "methods": GROUND
    | {
        "arms",
        "drivers",
        "objectives",
        "_constraints",
        "_guarantee",
        "_limits",
        "_onlooker",
        "_oracle",
        "_problem",
        "_sampling",
        "_similarity",
        "_table",
        "_watch",
    },
    "_ends": GROUND | {"objectives", "_goals", "_knee", "_oracle", "_problem", "_sampling"},
    "_run": GROUND
    | {
        "drivers",
        "methods",
        "objectives",
        "_ends",
        "_goals",
        "_guarantee",
        "_identity",
        "_limits",
        "_means",
        "_onlooker",
        "_oracle",
        "_problem",
        "_watch",
    },
    "_extend": GROUND | {"methods", "_guarantee", "_problem", "_run"},
    "_classes": GROUND
    | {
        "methods",
        "_chorus",
        "_guarantee",
        "_identity",
        "_labels",
        "_limits",
        "_oracle",
        "_problem",
        "_run",
    },
    "_arrivals": GROUND | {"data", "methods", "_limits", "_metrics", "_problem", "_run"},
    "_select": GROUND
    | {
        "data",
        "_arrivals",
        "_checkpoint",
        "_classes",
        "_constraints",
        "_goals",
        "_limits",
        "_preparation",
        "_problem",
        "_run",
        "_selection",
        "_watch",
    },
    "_plan": GROUND
    | {
        "methods",
        "_classes",
        "_constraints",
        "_goals",
        "_limits",
        "_preparation",
        "_problem",
        "_run",
        "_threads",
    },
    "_estimators": GROUND | {"data", "methods", "_metrics", "_problem", "_select", "_selection"},
    "report": GROUND,
    "_demo": GROUND | {"_select", "_selection", "methods", "report"},
    "_jobs": GROUND
    | {
        "__init__",
        "data",
        "methods",
        "report",
        "_certificate",
        "_checkpoint",
        "_constraints",
        "_limits",
        "_metrics",
        "_plan",
        "_preparation",
        "_sampling",
        "_select",
        "_selection",
        "_watch",
    },
    "_cli": GROUND
    | {
        "__init__",
        "methods",
        "_certificate",
        "_demo",
        "_jobs",
        "_limits",
        "_metrics",
        "_plan",
        "_preparation",
        "_watch",
    },
}

# Which outside libraries a part may import, beyond NumPy and the standard library.
MAY_USE = {
    "_estimators": {"sklearn", "scipy"},
    "_metrics": {"scipy", "sklearn"},
    "_text_metrics": {"rapidfuzz"},
    "data": {"pyarrow", "PIL", "scipy"},
    "_demo": {"sklearn"},
    "_plots": {"matplotlib"},
    "report": {"matplotlib", "umap"},
    "_document": {"scipy"},
    "_preparation": {"scipy", "sklearn"},
    "_threads": {"joblib", "threadpoolctl"},
    "_cli": {"typer", "rich"},
    "_jobs": {"pyarrow"},
    "kernels": {"numba", "scipy", "sklearn"},
}
OUTSIDE = {
    "sklearn",
    "scipy",
    "joblib",
    "threadpoolctl",
    "typer",
    "rich",
    "numba",
    "pandas",
    "polars",
    "pyarrow",
    "PIL",
    "rapidfuzz",
    "matplotlib",
    "umap",
}


def part_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def module_of(path: Path) -> str:
    names = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(["protobandit", *(n for n in names if n != "__init__")])


def imports(path: Path) -> set[str]:
    """Return every module a file imports, as full dotted names."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            base = node.module or ""
            for alias in node.names:
                inner = ROOT.parent / Path(*base.split("."), alias.name)
                is_module = inner.is_dir() or inner.with_suffix(".py").exists()
                found.add(f"{base}.{alias.name}" if is_module else base)
    return found


def test_every_part_has_its_rule():
    parts = {part_of(module_of(path)) for path in FILES}
    assert parts <= set(MAY_IMPORT), "a new part needs a line in MAY_IMPORT"


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_imports_go_one_way(path):
    part = part_of(module_of(path))
    allowed = MAY_IMPORT[part]
    if allowed is None:
        return
    inside = {part_of(m) for m in imports(path) if m.split(".")[0] == "protobandit"}
    assert inside - {part} <= allowed, f"{part} may import {sorted(allowed)}"


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_outside_libraries_stay_where_they_belong(path):
    part = part_of(module_of(path))
    used = {m.split(".")[0] for m in imports(path)} & OUTSIDE
    assert used <= MAY_USE.get(part, set())


def test_no_cycles_between_modules():
    graph = {module_of(p): {m for m in imports(p) if m.startswith("protobandit.")} for p in FILES}
    graph.pop("protobandit")
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join([*trail, module])
        if module not in done:
            # A folder's __init__ only gathers its files' names.
            for other in graph.get(module, ()):
                if other != module and not module.startswith(f"{other}."):
                    visit(other, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_only_the_oracle_calls_a_metric(path):
    if part_of(module_of(path)) in {"_oracle", "_metrics", "_similarity", "kernels"}:
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute) and node.attr in {"fill", "prepare"}:
            pytest.fail(f"{path.name}:{node.lineno} reaches for .{node.attr}")


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_nothing_prints_outside_the_command_line(path):
    if part_of(module_of(path)) == "_cli":
        return
    calls = [
        n for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Call)
    ]
    assert not [c for c in calls if isinstance(c.func, ast.Name) and c.func.id == "print"]


def test_the_rules_see_an_offender(tmp_path):
    """A hidden import is found, and so is a metric called behind the oracle's back."""
    offender = tmp_path / "offender.py"
    offender.write_text("def f(m):\n    from protobandit._oracle import Oracle\n    m.fill()\n")
    assert "protobandit._oracle" in imports(offender)
    assert "_oracle" not in MAY_IMPORT["arms"]
    assert "_oracle" not in MAY_IMPORT["report"]
    tree = ast.walk(ast.parse(offender.read_text()))
    assert any(isinstance(n, ast.Attribute) and n.attr == "fill" for n in tree)
