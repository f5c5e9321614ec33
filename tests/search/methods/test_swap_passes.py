from __future__ import annotations

import pytest

from protobandit.search.drivers.greedy import SwapPasses
from protobandit.search.methods.swap_passes import sentence


@pytest.mark.parametrize(
    ("passes", "text"),
    [
        (SwapPasses(0, 1), "0 swaps in 1 pass."),
        (SwapPasses(1, 2), "1 swap in 2 passes."),
        (SwapPasses(12345, 1000), "12,345 swaps in 1,000 passes."),
        (
            SwapPasses(3, 1, "max_iter=1"),
            "3 swaps in 1 pass, ended by max_iter=1 before no other helped.",
        ),
        (
            SwapPasses(3, 5, "the limit of 1.5 seconds"),
            "3 swaps in 5 passes, ended by the limit of 1.5 seconds before no other helped.",
        ),
    ],
)
def test_sentence(passes, text):
    assert sentence(passes) == text
