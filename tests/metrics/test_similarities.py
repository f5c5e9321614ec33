"""Checks of kernels and their parameters; their values are tested with `Embedding`."""

from __future__ import annotations

import pytest

from protobandit import InvalidInput
from protobandit.metrics.similarities import require_kernel


@pytest.mark.parametrize("kernel", ["gauss", 3, None, ["rbf"]])
def test_unknown_kernels(kernel):
    with pytest.raises(InvalidInput, match=r"kernel=.* is not known.*'rbf'.*f\(A, B\)"):
        require_kernel(kernel, degree=3, coef0=1.0)


@pytest.mark.parametrize("degree", [0, -1, 2.5, True, "3", None])
def test_degree_must_be_a_positive_integer(degree):
    with pytest.raises(InvalidInput, match=r"degree=.*integer >= 1"):
        require_kernel("polynomial", degree=degree, coef0=1.0)


@pytest.mark.parametrize("coef0", [-1, float("nan"), float("inf"), "1", None, True, 1j])
def test_coef0_must_be_finite_and_not_negative(coef0):
    with pytest.raises(InvalidInput, match=r"coef0=.*finite number >= 0"):
        require_kernel("polynomial", degree=3, coef0=coef0)
