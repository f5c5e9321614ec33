"""Errors, array types, checks, generators, threads, memory: what every other subpackage uses."""
