import pytest

from protobandit.result.report.number_format import (
    format_count,
    format_duration,
    format_percent,
    format_ratio,
    format_rows,
)


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
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
def test_ratios(part, whole, expected):
    assert format_ratio(part, whole) == expected


@pytest.mark.parametrize(
    ("n", "expected"),
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
def test_counts(n, expected):
    assert format_count(n) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
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
def test_durations(seconds, expected):
    assert format_duration(seconds) == expected


def test_shares_and_rows():
    assert format_percent(0.1234) == "12.3\u00a0%"
    assert format_rows(1) == "1 row"
    assert format_rows(1200) == "1,200 rows"
