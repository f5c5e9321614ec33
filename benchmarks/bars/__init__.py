"""What the flagship must reach, part by part; ``python -m benchmarks.flagship`` runs them."""
