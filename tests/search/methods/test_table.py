"""The choice of method="auto"."""

from __future__ import annotations

import brute
import protobandit as pb


def test_auto_computes_all_pairs_of_a_small_problem():
    rows = brute.normal(30)
    chosen = pb.select(rows, k=3)
    assert chosen.method == "lazybandit"
    assert chosen.evaluations == 30 * 30
    assert chosen.cost <= pb.select(rows, k=3, method="spotgreedy").cost
    assert "(1 - 1/e)" in str(chosen.guarantee)


def test_auto_samples_if_a_function_would_be_called_too_often():
    source, target = brute.normal(1500, 1), brute.normal(1500, 1, seed=1)
    metric = pb.block_metric(lambda a, b: abs(a - b.T))
    chosen = pb.select(source, target, k=3, metric=metric, random_state=0)
    assert chosen.evaluations < 1500 * 1500
    assert chosen.guarantee is None


def test_auto_uses_fewer_rows_if_memory_is_limited():
    rows = brute.normal(300)
    chosen = pb.select(rows, k=3, random_state=0, limits=pb.Limits(memory=1_000_000))
    assert "source rows: " in chosen.status
    assert chosen.guarantee is None
    assert len(set(chosen.indices.tolist())) == 3
