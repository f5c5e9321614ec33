"""``protobandit methods`` and ``protobandit metrics``."""

import json

from interfaces.cli.test_main import printed_by
from protobandit import methods
from protobandit.metrics.metrics import METRICS


def test_methods_prints_every_method(capsys):
    printed = printed_by(capsys, "methods")
    for name, method in methods.METHODS.items():
        assert f"\n{name} " in printed
        assert str(method.__doc__).split()[0] in printed
        for key, value in methods.parameters_of(method()).items():
            assert f"{key}={value!r}" in printed


def test_metrics_prints_every_metric(capsys):
    printed = printed_by(capsys, "metrics")
    rows = {line.split()[0]: line for line in printed.splitlines() if line}
    for name, metric in METRICS.items():
        assert ", ".join(sorted(metric.kinds)) in rows[name]
    assert rows["cosine"].endswith(" 2")
    assert "VI: the inverse" in rows["mahalanobis"]
    assert "V: one positive variance" in rows["seuclidean"]
    assert rows["jaccard,"].startswith("jaccard, dice, ")
    assert "compare which numbers are nonzero" in " ".join(printed.split())


def test_json(capsys):
    listed = json.loads(printed_by(capsys, "methods", "--json"))
    assert list(listed) == list(methods.METHODS)
    assert listed["lazybandit"]["parameters"] == {"effort": "balanced"}
    assert listed["lazybandit"]["does"].startswith("Race of all source rows")
    listed = json.loads(printed_by(capsys, "metrics", "--json"))
    cosine = {"rows": ["dense", "sparse"], "largest": 2.0, "parameters": {}, "sets": False}
    assert listed["cosine"] == cosine
    assert listed["yule"]["sets"]
    assert list(listed["seuclidean"]["parameters"]) == ["V"]
