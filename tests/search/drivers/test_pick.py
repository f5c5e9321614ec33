from __future__ import annotations

import pytest

from protobandit.search.drivers.pick import SwapPasses


@pytest.mark.parametrize(
    ("passes", "sentence"),
    [
        (SwapPasses(0, 1), "0 swaps in 1 pass."),
        (SwapPasses(1, 2), "1 swap in 2 passes."),
        (SwapPasses(12345, 1000), "12,345 swaps in 1,000 passes."),
        (
            SwapPasses(3, 1, "max_iter=1"),
            "3 swaps in 1 pass, ended by max_iter=1 before convergence.",
        ),
        (
            SwapPasses(3, 5, "the limit of 1.5 seconds"),
            "3 swaps in 5 passes, ended by the limit of 1.5 seconds before convergence.",
        ),
    ],
)
def test_passes_as_a_sentence(passes, sentence):
    assert str(passes) == sentence
