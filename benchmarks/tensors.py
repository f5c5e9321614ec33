"""Check that tensors of PyTorch and JAX are read without a copy, and how others are refused.

The packages are large, so the tests use a class with the methods of the DLPack standard instead.
Run ``python -m benchmarks.tensors`` where PyTorch or JAX is installed; it prints one line per check
and fails if one does not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

import protobandit as pb
from protobandit.rows.files.opening import as_opened

ROWS = np.random.default_rng(0).normal(size=(200, 8)).astype(np.float32)


def torch_checks(torch: Any) -> Iterator[tuple[str, bool]]:
    for dtype in (torch.float64, torch.float32, torch.float16, torch.int16, torch.uint8):
        tensor = torch.from_numpy(ROWS).to(dtype)
        yield f"{dtype} shares its memory", is_shared(tensor, tensor.numpy())
    tensor = torch.from_numpy(ROWS)
    yield "selects the same rows", selects_alike(tensor)
    yield "a strided view shares its memory", is_shared(tensor[::2], tensor.numpy()[::2])
    yield "a gradient is refused", "detach()" in refusal(tensor.clone().requires_grad_())
    yield "bfloat16 is refused", "float()" in refusal(tensor.to(torch.bfloat16))
    yield "a sparse tensor is refused", "to_dense()" in refusal(tensor.to_sparse())
    yield "another device is refused", "cpu()" in refusal(tensor.to("meta"))


def jax_checks(jax: Any) -> Iterator[tuple[str, bool]]:
    for dtype in ("float32", "float16", "int16", "uint8"):
        tensor = jax.numpy.asarray(ROWS.astype(dtype))
        yield f"{dtype} shares its memory", is_shared(tensor, np.asarray(tensor))
    yield "selects the same rows", selects_alike(jax.numpy.asarray(ROWS))
    yield "bfloat16 is refused", "float32" in refusal(jax.numpy.asarray(ROWS, dtype="bfloat16"))


def is_shared(tensor: Any, array: np.ndarray[Any, Any]) -> bool:
    return np.shares_memory(as_opened(tensor, name="source"), array)


def selects_alike(tensor: Any) -> bool:
    found, truth = pb.select(tensor, k=5), pb.select(ROWS, k=5)
    is_alike = found.indices.tolist() == truth.indices.tolist()
    return is_alike and bool((found.assign(tensor).labels == truth.assign(ROWS).labels).all())


def refusal(tensor: Any) -> str:
    try:
        pb.select(tensor, k=5)
    except pb.InvalidInput as error:
        return str(error)
    return ""


def main() -> int:
    n_failed = 0
    for name, checks in (("torch", torch_checks), ("jax", jax_checks)):
        try:
            library = import_module(name)
        except ImportError as error:
            print(f"{name}: not checked ({error})")
            continue
        for check, holds in checks(library):
            print(f"{name} {version(name)}: {check}: {'yes' if holds else 'NO'}")
            n_failed += not holds
    return n_failed


if __name__ == "__main__":
    sys.exit(main())
