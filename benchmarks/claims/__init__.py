"""What the paper claims besides its figures, tested on real runs: `python -m benchmarks.claims`."""
