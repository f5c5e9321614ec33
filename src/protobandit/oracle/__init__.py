"""The oracle computes and counts dissimilarities; target orders and tables build on it."""
