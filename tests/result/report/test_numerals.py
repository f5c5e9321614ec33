import pytest

from protobandit.result.report.numerals import count, n_rows, percent, ratio, time


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [
        (0, 5, "none of"),
        (5, 5, "as many as"),
        (1599, 1600, "about as many as"),
        (1601, 1600, "about as many as"),
        (1, 2840, "1/2,840 of"),
        (2, 3, "67\u00a0% of"),
        (1, 2, "1/2 of"),
        (6, 4, "1.5 times"),
        (1_234_000, 1_000, "1,234 times"),
    ],
)
def test_ratios_read_well(part, whole, said):
    assert ratio(part, whole) == said


@pytest.mark.parametrize(
    ("n", "said"),
    [
        (7, "7"),
        (1234, "1,234"),
        (999_999, "999,999"),
        (9.5e6, "9.5 million"),
        (999_600_000, "1 billion"),
        (999_400_000, "999 million"),
        (2.7e10, "27 billion"),
        (4.2e15, "4,200 trillion"),
    ],
)
def test_counts_read_well(n, said):
    assert count(n) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.02, "20 ms"),
        (3.14159, "3.14 s"),
        (119, "119 s"),
        (600, "10 min"),
        (100_000, "27.8 h"),
        (400_000, "4.63 days"),
        (1e9, "11,574 days"),
    ],
)
def test_times_read_well(seconds, said):
    assert time(seconds) == said


def test_shares_and_rows_read_well():
    assert percent(0.1234) == "12.3\u00a0%"
    assert n_rows(1) == "1 row"
    assert n_rows(1200) == "1,200 rows"
