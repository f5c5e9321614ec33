"""Benchmarks: scripts that print ratios from one run, so that a busy machine hits all alike."""
