"""Certificates: a bound on how far a selection can be from the best one."""
