"""Compile the loops of kernels: Python that uses few of its features becomes machine code."""
