"""What every method computes on fixed problems: counts that must not grow.

`python -m benchmarks.counts` prints them beside ``baselines.json``; ``tests/test_counts.py`` fails
where one has grown.
"""
