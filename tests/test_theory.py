"""The statements of docs/theory.md that can be computed: errata of the paper, and the count."""

from __future__ import annotations

import math

import numpy as np
import pytest
from benchmarks.common.costs import search_evaluations
from benchmarks.common.counting import paper_comparisons, recorded

import protobandit as pb
from protobandit.methods import ProtoBandit

# -- errata ----------------------------------------------------------------------------------------


def small_instance() -> tuple[np.ndarray, list[int]]:
    """Return the distances of 15 points in the plane, T = S, and the 3 prototypes of BUILD."""
    rows = np.random.default_rng(7).normal(size=(15, 2))
    distances = np.linalg.norm(rows[:, None] - rows, axis=2)
    return distances, pb.select(rows, k=3, method="spotgreedy").indices.tolist()


def swap_changes(distances, prototypes, i, h):
    """Return T_ih as printed, with E over M, and with the missing term too; and the true change."""
    to_prototypes = distances[:, prototypes]
    nearest = np.array(prototypes)[to_prototypes.argmin(axis=1)]
    D, E_over_M = np.sort(to_prototypes, axis=1)[:, :2].T
    E_over_S = np.array(
        [np.delete(row, c).min() for row, c in zip(distances, nearest, strict=True)]
    )
    is_nearest, d = distances[:, i] == D, distances[:, h]

    def total(E, term):
        inside = np.minimum(d - E, 0) + term
        return np.where(is_nearest, inside, np.minimum(d - D, 0)).mean()

    after = distances[:, [h if m == i else m for m in prototypes]].min(axis=1)
    printed, over_M = total(E_over_S, 0), total(E_over_M, 0)
    return printed, over_M, total(E_over_M, E_over_M - D), after.mean() - D.mean()


def test_the_printed_swap_formula_prefers_swaps_that_raise_the_cost():
    distances, prototypes = small_instance()
    others = [h for h in range(15) if h not in prototypes]
    changes = np.array(
        [swap_changes(distances, prototypes, i, h) for i in prototypes for h in others]
    )
    printed, over_M, corrected, true = changes.T
    assert len(changes) == 36
    assert ((printed < 0) & (true > 0)).sum() == 24
    assert ((over_M < 0) & (true > 0)).sum() == 34
    np.testing.assert_allclose(corrected, true, atol=1e-12)


def test_the_library_ends_where_the_corrected_formula_finds_no_swap():
    distances, _ = small_instance()
    method = pb.methods.PAM()
    found = pb.select(distances, k=3, metric="precomputed", method=method).indices.tolist()
    others = [h for h in range(15) if h not in found]
    changes = [swap_changes(distances, found, i, h)[2] for i in found for h in others]
    assert min(changes) > -1e-12


def test_misprints_of_the_proofs():
    # Printed: 1 - log(1/epsilon) >= 1 - epsilon. Meant: 1 - exp(-log(1/epsilon)) = 1 - epsilon.
    for epsilon in (0.2, 0.4):
        assert 1 - math.log(1 / epsilon) < 1 - epsilon
        assert 1 - math.exp(-math.log(1 / epsilon)) == pytest.approx(1 - epsilon)
        # Printed: 1 - ((1 - epsilon)/k)^k, which is nearly 1; no such share is reached.
        k = 100
        share = 1 - (1 - (1 - epsilon) / k) ** k
        assert 1 - ((1 - epsilon) / k) ** k > 0.999 > share >= 1 - 1 / math.e - epsilon


def test_the_theorem_is_empty_with_the_settings_of_the_paper():
    for epsilon in (0.2, 0.4):
        for nu_step in (0.05, 0.09):
            _, nu = ProtoBandit(epsilon=epsilon, nu_step=nu_step).steps(100)
            assert nu > 1 - 1 / math.e - epsilon  # f* <= 1, so the right-hand side is negative


# -- the count with shared rows --------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_count_with_shared_rows_is_the_formula(k):
    random = np.random.default_rng(0)
    source, target = random.normal(size=(60, 3)), random.normal(size=(200_000, 3))
    method = ProtoBandit(nu_step=0.5, search="uniform", scale=20.0)
    with recorded() as record:
        selection = pb.select(source, target, k=k, method=method, random_state=0)
    n_arms = min(math.ceil(60 / k * math.log(1 / method.epsilon)), 60)
    n_rows = record.rounds[0].n_pulls // n_arms
    assert [each.n_pulls for each in record.rounds] == [n_arms * n_rows] * k
    alone = n_arms * n_rows * k * (k + 1) // 2
    shared = k * n_arms * n_rows + n_rows * k * (k - 1) // 2
    assert paper_comparisons(record.rounds) == alone
    assert shared / alone == pytest.approx(2 / (k + 1) + (k - 1) / (k + 1) / n_arms)
    # A row that is drawn again is compared with the newer prototypes only: here at most a few.
    assert shared - 20 * k <= search_evaluations(selection) <= shared
