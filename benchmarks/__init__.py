"""Benchmarks. Times are printed as ratios within one run, which a busy machine affects least."""
