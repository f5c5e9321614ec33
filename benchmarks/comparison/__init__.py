"""Comparison with other packages: the same rows, threads, limits and computation of the cost."""
