"""The claims of the paper other than its figures, tested: `python -m benchmarks.claims`."""
