"""Executors: where the tasks of a pass run, one per part."""
