from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import protobandit as pb
from protobandit.certificate.certificate import statement_of

CERTIFICATE = pb.Certificate(
    kind="rigorous",
    confidence=0.95,
    cost=2.0,
    cost_margin=0.5,
    cost_bound=1.6,
    cost_ratio=1.25,
    evaluations=12_000,
    n_rows=1000,
    statement="A sentence",
)


def test_a_confidence_close_to_1_is_not_shown_as_1():
    for confidence, shown in ((0.9999999, "0.999999"), (0.95, "0.95"), (1 - 0.9, "0.1")):
        found = statement_of("rigorous", confidence, 1.5, k=3, n_rows=9)
        assert found.startswith(f"With probability at least {shown}, ")


def test_statements():
    assert statement_of("exact", 1.0, 1.00001, k=1, n_rows=9) == (
        "For certain, the cost is at most 1.0001 times that of the best source row"
    )
    assert statement_of("rigorous", 0.9, 1.5, k=3, n_rows=9) == (
        "With probability at least 0.9, the cost is at most 1.5000 times that of the best "
        "3 source rows"
    )
    assert statement_of("asymptotic", 0.9, 1.5, k=3, n_rows=9).startswith("With probability about")
    assert statement_of("rigorous", 0.9, math.inf, k=3, n_rows=9).startswith(
        "Nothing is proven: on 9 target rows"
    )


def test_str_and_repr():
    assert str(CERTIFICATE) == "A sentence"
    conditional = replace(CERTIFICATE, conditions=("a", "b"))
    assert str(conditional) == "A sentence, provided that a and b"
    assert repr(conditional).splitlines() == [
        "Certificate (rigorous, confidence 0.95)",
        "  cost ratio   at most 1.2500",
        "  cost         2 ± 0.5",
        "  best cost    at least 1.6",
        "  evaluations  12,000 on 1,000 target rows",
        "  statement    A sentence, provided that a and b",
    ]
    assert "±" not in repr(replace(CERTIFICATE, cost_margin=0.0))


def test_f_ratio_comes_with_its_scale():
    near, far = CERTIFICATE.f_ratio(10), CERTIFICATE.f_ratio(np.float32(20))
    assert near.ratio == (10 - 2.5) / (10 - 1.6)
    assert near.ratio < far.ratio < 1
    assert str(near) == f"f >= {near.ratio:.4f} f* with C = 10"
    assert replace(CERTIFICATE, cost_ratio=math.inf).f_ratio(10).ratio == 0


@pytest.mark.parametrize("scale", [0, 2.5, math.nan, math.inf, "10", True])
def test_an_invalid_scale_raises(scale):
    with pytest.raises(pb.InvalidInput, match=r"scale=.* is not an upper bound on the dissimil"):
        CERTIFICATE.f_ratio(scale)
