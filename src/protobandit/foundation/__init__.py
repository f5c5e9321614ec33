"""Errors, array types, checks, generators, threads and memory, used by every other subpackage."""
