"""The building blocks of benchmarks/claims, each against a definition or a known answer."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from benchmarks.claims import __main__ as script
from benchmarks.claims import optimum
from benchmarks.claims._instances import FAMILIES, Instance, best_cost, greedy_trap, hub_trap
from benchmarks.claims._measures import (
    by_seed,
    comparisons_bound,
    exponent,
    mixture,
    rows_of_mixture,
    run,
)
from benchmarks.claims._report import (
    Report,
    csv_text,
    markdown,
    plain,
    section,
    with_section,
    words,
)
from benchmarks.claims.build import instances, is_build, textbook_build
from benchmarks.claims.target import mapped_target

import brute
import protobandit as pb
from protobandit.methods import ProtoBandit

# -- the optimum ----------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_the_enumerator_finds_what_brute_force_finds(family, seed):
    instance = FAMILIES[family](np.random.default_rng(seed))
    few = instance.distances[:: max(1, len(instance.distances) // 40)]
    every = combinations(range(few.shape[1]), instance.k)
    least = min(few[:, chosen].min(axis=1).mean() for chosen in map(list, every))
    assert best_cost(few, instance.k) == pytest.approx(least, rel=1e-12)


def test_the_enumerator_looks_at_every_subset():
    """More subsets than fit one chunk, the best of them the last."""
    distances = np.ones((3, 14))
    distances[[0, 1, 2], [11, 12, 13]] = 0
    assert best_cost(distances, 3) == 0
    assert best_cost(distances, 2) == pytest.approx(1 / 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_instances_are_seeded_and_small_enough(family):
    first, again, other = (FAMILIES[family](np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(first.distances, again.distances)
    assert first.distances.shape != other.distances.shape or (
        not np.array_equal(first.distances, other.distances)
    )
    assert 12 <= first.distances.shape[1] <= 16
    assert 2 <= first.k <= 4
    assert first.distances.min() >= 0


@pytest.mark.parametrize("seed", range(6))
def test_greedy_falls_into_its_trap(seed):
    """It takes rows where columns are best, and so reaches about 1 - (1 - 1/k)^k."""
    instance = greedy_trap(np.random.default_rng(seed))
    k = instance.k
    columns = instance.cost(tuple(range(k)))
    assert best_cost(instance.distances, k) <= columns < 0.06
    rows = instance.f(instance.cost(tuple(range(k, 2 * k))))
    assert rows == pytest.approx(1 - (1 - 1 / k) ** k, abs=0.04)
    gains = np.maximum(instance.scale - instance.distances, 0).mean(axis=0)
    assert gains[k : 2 * k].max() > gains[:k].max()


@pytest.mark.parametrize("seed", range(6))
def test_greedy_takes_the_hub_first_and_swaps_put_that_right(seed):
    instance = hub_trap(np.random.default_rng(seed))
    table, hub = instance.distances, instance.distances.shape[1] - 1
    greedy = pb.select(table, k=instance.k, metric="precomputed", method="spotgreedy")
    swapped = pb.select(table, k=instance.k, metric="precomputed", method="lazybandit")
    assert greedy.indices[0] == hub
    assert hub not in swapped.indices
    best = best_cost(table, instance.k)
    assert swapped.cost == pytest.approx(best)
    assert greedy.cost > 3 * best


def test_ratios_are_to_the_best_and_to_what_is_promised():
    instance = Instance(np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [1.0, 0.8, 1.0]]), 1)
    greedy, bandit = optimum._WAYS[:2]
    row = optimum._ratios(instance, greedy, "spotgreedy", best_cost(instance.distances, 1), 0)
    assert row["f_ratio"] == row["cost_ratio"] == 1
    assert row["is_best"]
    assert row["promised"] == pytest.approx(1 - 1 / np.e)
    worse = optimum._ratios(instance, greedy, pb.methods.KCenter(), 0.1, 0)
    assert worse["cost_ratio"] > 5
    assert worse["is_below"]
    method = bandit.make(instance.scale)
    row = optimum._ratios(instance, bandit, method, best_cost(instance.distances, 1), 0)
    share = 1 - 1 / np.e - 0.2
    assert row["promised"] * 0.4 == pytest.approx(share * 0.4 - 0.05 * share)


# -- BUILD ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["T = S", "S, T and weights", "r rows at a time"])
def test_the_textbook_build_is_greedy(kind):
    for case in instances(kind, 4):
        weights = np.ones(len(case.distances)) if case.weights is None else case.weights
        picks, gap = textbook_build(case.distances, case.k, case.weights, case.r)
        assert gap > 1e-12
        assert picks == brute.greedy(case.distances, weights, case.k, case.r)
        method = pb.methods.SpotGreedy(r=case.r)
        found = pb.select(
            case.source,
            case.target,
            k=case.k,
            weights=case.weights,
            metric=case.metric,
            method=method,
        )
        assert found.indices.tolist() == picks


def test_rows_that_serve_only_each_other_tie():
    """The gap is 0, either order is a BUILD, and any other is not."""
    rows = np.array([[0.0], [0.2], [-0.2], [5.0], [6.0]])
    distances = abs(rows - rows.T)
    picks, gap = textbook_build(distances, 2)
    assert gap == pytest.approx(0, abs=1e-12)
    assert picks[0] == 1
    assert is_build(distances, [1, 3])
    assert is_build(distances, [1, 4])
    assert not is_build(distances, [1, 0])
    assert not is_build(distances, [3, 1])


# -- growth ---------------------------------------------------------------------------------------


def test_a_known_exponent_is_recovered():
    x = [10, 20, 40, 80]
    exact = exponent(x, [[3 * value**1.7 for value in x]])
    assert exact.mean == pytest.approx(1.7)
    assert exact.spread == 0
    two = exponent(x, [[value**2 for value in x], [5 * value for value in x]])
    assert two.mean == pytest.approx(1.5)
    assert two.spread == pytest.approx(np.std([2, 1], ddof=1))
    assert str(two) == "1.50 ± 0.71"
    assert str(exponent(x, [[value**-0.001 for value in x]])) == "0.00 ± 0.00"


def test_series_are_sorted_out_by_seed():
    rows = [
        {"seed": seed, "k": k, "n": 10 * k + seed, "method": method}
        for method in ("a", "b")
        for k in (4, 2)
        for seed in (1, 0)
    ]
    assert by_seed(rows, "k", "n", method="a") == ([2, 4], [[20, 40], [21, 41]])


def test_the_bound_is_the_theorem_s():
    """9 k^3 |S| (nu / (1 - e - 1/e))^-2 log(1/e) log(k/d), whichever nu the method was given."""
    share = 1 - 1 / np.e - 0.2
    logs = np.log(5) * np.log(10 / 0.05)
    expected = 9 * 10**3 * 700 * (0.3 / share) ** -2 * logs
    assert comparisons_bound(700, ProtoBandit(nu=0.3), 10) == pytest.approx(expected)
    by_step = comparisons_bound(700, ProtoBandit(nu_step=0.05), 10)
    assert by_step == pytest.approx(9 * 10 * 700 * 0.05**-2 * logs)


def test_a_run_is_counted_by_both_rules():
    """Every arm is pulled on the whole target: the two counts are known."""
    rows = np.random.default_rng(0).normal(size=(30, 3))
    found = run(rows[:12], rows, k=3, method=ProtoBandit(search="uniform", scale=10.0), seed=0)
    n_drawn = int(np.ceil(12 / 3 * np.log(5)))
    assert found.comparisons == sum(n_drawn * 30 * (n + 1) for n in range(3))
    assert found.evaluations == 3 * n_drawn * 30 + 2 * 30
    assert found.evaluations + 3 * 30 == found.selection.evaluations
    assert found.seconds > 0


def test_the_mixture_is_the_same_whatever_its_length():
    assert np.array_equal(rows_of_mixture(70, 1), next(mixture(70, 1)))
    assert not np.array_equal(rows_of_mixture(70, 1), rows_of_mixture(70, 2))
    with mapped_target(70) as rows:
        assert np.array_equal(rows, rows_of_mixture(70, 3))
        path = rows.filename
    assert not path.exists()


# -- what is written ------------------------------------------------------------------------------


def report(name="some", finding="It is so."):
    return Report(
        name=name,
        title="A title",
        claim="They say so.",
        verdict="It holds.",
        findings=[finding],
        summary=[{"k": 5, "count": 1234567.0}, {"k": 10, "other": "x"}],
        rows=[{"k": 5, "count": 1 / 3}, {"k": 10, "other": None}],
        setting="A setting.",
        draw=lambda path: path.write_text("<svg/>"),
    )


def test_tables_hold_every_column():
    table = report().summary
    assert markdown(table).splitlines() == [
        "| k | count | other |",
        "| --- | ---: | ---: |",
        "| 5 | 1.23e+06 |  |",
        "| 10 |  | x |",
    ]
    assert markdown([{"|T|": "f*"}]) == "| \\|T\\| |\n| --- |\n| f\\* |"
    widths = {len(line) for line in plain(table).splitlines()}
    assert len(widths) == 1
    assert csv_text(report().rows) == "k,count,other\n5,0.333333,\n10,,\n"


@pytest.mark.parametrize(
    ("value", "shown"), [(None, ""), ("a", "a"), (12000, "12,000"), (0.0012345, "0.00123")]
)
def test_numbers_are_short(value, shown):
    assert words(value) == shown


def test_a_section_is_written_anew_in_its_place():
    page = with_section(with_section("# Title\n", "a", "one"), "b", "two")
    assert page.index("one") < page.index("two")
    changed = with_section(page, "a", "three \\1")
    assert "one" not in changed
    assert changed.index("three \\1") < changed.index("two")


def test_a_claim_is_published_whole(tmp_path):
    script.publish(report("a"), tmp_path, 2)
    script.publish(report("b"), tmp_path, 2)
    script.publish(report("a", "It is otherwise."), tmp_path, 3)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["README.md", "a.csv", "a.svg", "b.csv", "b.svg"]
    page = (tmp_path / "README.md").read_text()
    assert page.count("## A title") == 2
    assert page.count("It is so.") == 1
    assert page.count("| A title | It holds. |") == 2
    assert "--seeds 3" in page
    assert section(report("b")) in page
    order = [page.index(part) for part in ("# The rest", "--seeds", "otherwise", "It is so")]
    assert all(a < b for a, b in pairwise(order))


def test_an_unknown_claim_is_refused(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["claims", "--out", "x", "--only", "target,nothing"])
    with pytest.raises(SystemExit):
        script.parse()
    assert "'nothing' is no claim. Use some of target, growth" in capsys.readouterr().err
