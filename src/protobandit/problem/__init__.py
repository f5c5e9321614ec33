"""The problem: rows, a metric, weights, k, constraints, goals and limits, validated and frozen."""
