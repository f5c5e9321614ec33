"""Objectives: how much a source row improves the current prototypes."""
