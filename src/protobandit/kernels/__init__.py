"""Numeric kernels: arrays in, arrays out; serial, no interpreter lock, a NumPy reference each."""
