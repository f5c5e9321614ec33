"""Drivers repeat rounds until there are k prototypes, or improve prototypes by swaps."""
