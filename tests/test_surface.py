"""The public names, and what importing them loads."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import protobandit as pb

NAMES = [
    "Assignment",
    "Certificate",
    "Certified",
    "Checkpoint",
    "Constraints",
    "Coverage",
    "Drift",
    "Explanation",
    "FittedPreparation",
    "GoalOutcome",
    "Guarantee",
    "Interrupt",
    "Interrupted",
    "InvalidInput",
    "KMedoids",
    "Limits",
    "METRICS",
    "Metric",
    "MinGain",
    "NotAvailable",
    "PartFailed",
    "Plan",
    "Preparation",
    "Progress",
    "ProtobanditError",
    "PrototypeSelector",
    "Reference",
    "RunWarning",
    "Selection",
    "Silhouette",
    "Step",
    "Stream",
    "Target",
    "Traffic",
    "WarningKind",
    "block_metric",
    "data",
    "methods",
    "metric",
    "plan",
    "select",
]
HEAVY = {
    "llvmlite",
    "scipy",
    "sklearn",
    "joblib",
    "typer",
    "rich",
    "pandas",
    "polars",
    "threadpoolctl",
    "matplotlib",
}


def loaded_after(code):
    """Return the heavy libraries that a new interpreter has loaded after running ``code``."""
    home = Path(pb.__file__).parents[1]
    script = f"import sys, json\n{code}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(home)},
        capture_output=True,
        text=True,
        check=True,
    )
    return {name.split(".")[0] for name in json.loads(done.stdout)} & HEAVY


def test_exported_names():
    assert sorted(pb.__all__) == sorted(NAMES)
    assert sorted(dir(pb)) == sorted([*NAMES, "__version__"])


@pytest.mark.parametrize("name", NAMES)
def test_every_exported_name_exists_and_is_documented(name):
    value = getattr(pb, name)
    assert value is getattr(pb, name)
    assert name == "METRICS" or inspect.getdoc(value)


def test_an_unknown_name_raises_attribute_error():
    with pytest.raises(AttributeError, match="'protobandit' has no attribute 'Selektion'"):
        pb.Selektion  # noqa: B018


def test_what_a_selection_has_is_named():
    with pytest.raises(AttributeError, match=r"no attribute 'report'. Call selection.report\(\)"):
        pb.report  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'load'. Call Selection.load\(path\)"):
        pb.load  # noqa: B018


def test_readers_are_found_in_a_fresh_process():
    code = "import protobandit as pb; print(pb.data.open_rows.__name__)"
    environment = {**os.environ, "PYTHONPATH": str(Path(pb.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("open_rows\n", "")


def test_importing_the_package_loads_no_heavy_library():
    assert loaded_after("import protobandit") == set()


def test_light_names_load_no_heavy_library():
    light = (
        "from protobandit import METRICS, Selection, Target, block_metric, methods, metric, select"
    )
    assert loaded_after(light) == set()


def test_the_check_detects_a_heavy_library():
    assert "scipy" in loaded_after("import protobandit, scipy")


def test_selecting_loads_neither_scikit_learn_nor_frames():
    loaded = loaded_after("import protobandit as pb\npb.select([[0.0], [1.0]], k=1, n_jobs=1)")
    assert not loaded & {"sklearn", "pandas", "polars", "typer", "rich"}


def test_the_signature_of_select():
    parameters = inspect.signature(pb.select).parameters
    assert list(parameters) == [
        "source",
        "target",
        "k",
        "weights",
        "metric",
        "preparation",
        "method",
        "constraints",
        "until",
        "by",
        "obsm",
        "random_state",
        "n_jobs",
        "limits",
        "callback",
        "progress",
        "interrupt",
        "checkpoint",
    ]
    keyword_only = [p.name for p in parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    assert keyword_only == list(parameters)[2:]


def test_errors_share_a_base_class_and_derive_from_builtins():
    assert issubclass(pb.InvalidInput, ValueError)
    assert issubclass(pb.NotAvailable, RuntimeError)
    assert issubclass(pb.InvalidInput, pb.ProtobanditError)
    assert issubclass(pb.NotAvailable, pb.ProtobanditError)


@pytest.mark.parametrize("method", pb.methods.METHODS.values(), ids=list(pb.methods.METHODS))
def test_methods_are_frozen_values_with_documented_parameters(method):
    value = method()
    assert value == method()
    assert hash(value) == hash(method())
    for parameter in inspect.signature(method).parameters.values():
        assert parameter.kind is inspect.Parameter.KEYWORD_ONLY
        assert parameter.name in inspect.getdoc(method), parameter.name
        with pytest.raises(AttributeError):
            setattr(value, parameter.name, None)
