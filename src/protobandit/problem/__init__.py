"""The problem: rows, a metric, weights, k, constraints, goals and limits, checked and frozen."""
