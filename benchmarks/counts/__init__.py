"""Evaluations of every method on fixed problems, which must not increase.

`python -m benchmarks.counts` prints them beside ``baselines.json``.
``tests/benchmarks/test_counts.py`` fails if one increases.
"""
