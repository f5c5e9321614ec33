from __future__ import annotations

import pytest

from protobandit.search.methods.swap_passes import SwapPassCounts


@pytest.mark.parametrize(
    ("sweeps", "words"),
    [
        (SwapPassCounts(0, 1), "0 swaps in 1 pass."),
        (SwapPassCounts(1, 2), "1 swap in 2 passes."),
        (SwapPassCounts(12345, 1000), "12,345 swaps in 1,000 passes."),
        (
            SwapPassCounts(3, 1, "max_iter=1"),
            "3 swaps in 1 pass, ended by max_iter=1 before no other helped.",
        ),
        (
            SwapPassCounts(3, 5, "the limit of 1.5 seconds"),
            "3 swaps in 5 passes, ended by the limit of 1.5 seconds before no other helped.",
        ),
    ],
)
def test_words_are_read_again(sweeps, words):
    assert str(sweeps) == words
    assert SwapPassCounts.read(f"Selected 3 prototypes; all is exact. {words}") == sweeps


def test_a_status_without_passes():
    assert SwapPassCounts.read("Selected 3 prototypes; cost and mass are exact.") is None
