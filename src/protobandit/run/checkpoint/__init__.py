"""Checkpoints: what a run saves so that the same call can resume after a crash."""
