"""Hostile calls of everything that indexes memory with outside data; run with bounds checks.

`python bounds.py` is run by `test_memory_safety` in a process of its own, with checks of indices:
an index beyond an array is then an IndexError instead of a damaged heap. Every call must end with
an error of this package, or with the result that plain Python computes. A seed and a number of
rounds may be passed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from scipy import sparse

import protobandit as pb
from protobandit.foundation.errors import ProtobanditError
from protobandit.kernels.ragged_swaps import removal_losses
from protobandit.methods import METHODS
from protobandit.run.checkpoint import checked_file

COMPILED = "index is out of bounds"  # the message of a compiled loop
RESUMED = "refined", "lazybandit", "fasterpam", "protobandit", "kcenter", "pam", "alternate"
FORMATS = ("csr", "csc", "bsr", "coo", "dia", "lil")
PARTS = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "bsr": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
    "dia": ("offsets", "data"),
    "lil": ("rows", "data"),
}


def require_bounds_checks():
    """Fail unless loops are compiled with checks of indices."""
    near, ones, losses = np.array([0, 7]), np.ones(2), np.zeros(2)
    try:
        removal_losses(near, ones, ones, ones, losses)
    except IndexError:
        return
    raise AssertionError("loops are compiled without checks of indices")


# -- sparse matrices ------------------------------------------------------------------------------


def small_matrix(random, form):
    shape = 2 * random.integers(2, 8), 2 * random.integers(1, 6)
    dense = random.integers(1, 9, size=shape) * (random.random(shape) < 0.4)
    return getattr(sparse, f"{form}_array")(dense.astype(float)), dense


def damaged(random, array):
    """Return an index array or values with one mistake, which may be harmless."""
    n = len(array)
    at = random.integers(n) if n else 0
    large = [-1, -(10**6), 1, 10**6, 2**31 - 1, -(2**31), 2**31, 2**32, 2**40, -(2**40)]
    if array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        large = [number for number in large if limits.min <= number <= limits.max]
    kind = random.integers(9)
    if kind == 0:
        return array + 1
    if kind == 1 and n:
        array[at] = random.choice(large)
        return array
    if kind == 2 and n:
        array[at] += random.choice([-1, 1])
        return array
    if kind == 3:
        return array[: random.integers(n + 1)]
    if kind == 4:
        return np.concatenate([array, array])
    if kind == 5:
        return array[::-1]
    if kind == 6:
        with np.errstate(all="ignore"):
            return array.astype(random.choice([np.float32, np.uint8, np.int16]))
    if kind == 7:
        return random.permutation(array)
    return array[None] if random.random() < 0.5 else array.astype(array.dtype.newbyteorder())


def damage(random, matrix):
    part = random.choice(PARTS[matrix.format])
    if matrix.format == "lil":
        lists = getattr(matrix, part)
        at = random.integers(len(lists))
        lists[at] = random.choice([0, 1, -1, 10**6, 2**40], size=random.integers(4)).tolist()
        return
    setattr(matrix, part, damaged(random, getattr(matrix, part).copy()))


def require(is_valid):
    if not is_valid:
        raise ValueError


def entries(matrix):
    """Return row, column and value of the entries; raise if the arrays are not a matrix."""
    n_rows, n_columns = matrix.shape
    if matrix.format == "lil":
        rows = list(zip(matrix.rows, matrix.data, strict=True))
        found = [(i, c, v) for i, own in enumerate(rows) for c, v in zip(*own, strict=True)]
    elif matrix.format == "coo":
        require(are_indices(matrix.row) and are_indices(matrix.col) and matrix.data.ndim == 1)
        found = list(zip(matrix.row, matrix.col, matrix.data, strict=True))
    elif matrix.format == "dia":
        found = list(diagonal_entries(matrix))
    else:
        found = list(compressed_entries(matrix))
    require(all(0 <= i < n_rows and 0 <= c < n_columns for i, c, _ in found))
    return found


def are_indices(array):
    return array.ndim == 1 and array.dtype.kind in "iu"


def diagonal_entries(matrix):
    n_rows, n_columns = matrix.shape
    require(are_indices(matrix.offsets) and matrix.data.ndim == 2)
    offsets = matrix.offsets.tolist()
    require(len(set(offsets)) == len(offsets))
    require(all(-n_rows < offset < n_columns for offset in offsets))
    for offset, values in zip(offsets, matrix.data, strict=True):
        for c, value in enumerate(values[:n_columns]):
            if 0 <= c - offset < n_rows:
                yield c - offset, c, value


def compressed_entries(matrix):
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    require(are_indices(indptr) and are_indices(indices))
    n_lines = matrix.shape[1] if matrix.format == "csc" else matrix.shape[0]
    height = width = 1
    if matrix.format == "bsr":
        require(data.ndim == 3)
        height, width = data.shape[1:]
        n_lines //= height
    else:
        require(data.ndim == 1)
    require(len(indptr) == n_lines + 1 and indptr[0] == 0)
    for line in range(n_lines):
        require(indptr[line] <= indptr[line + 1] <= min(len(indices), len(data)))
        for at in range(indptr[line], indptr[line + 1]):
            for i, j in np.ndindex(height, width):
                value = data[at, i, j] if matrix.format == "bsr" else data[at]
                place = line * height + i, int(indices[at]) * width + j
                yield (*(place[::-1] if matrix.format == "csc" else place), value)


def dense_or_none(matrix):
    """Return the matrix as an array, by plain Python; None if it is not a matrix."""
    try:
        dense = np.zeros(matrix.shape)
        for i, c, value in entries(matrix):
            dense[int(i), int(c)] += value
    except (ValueError, TypeError):
        return None
    return dense


def is_native(matrix):
    """Return whether all arrays have the byte order of this machine; SciPy converts no others."""
    return all(getattr(matrix, part).dtype.isnative for part in PARTS[matrix.format])


def refused(call, *arguments, **options):
    """Return the result of a call, or None if it is refused by an error of this package."""
    try:
        return call(*arguments, **options)
    except ProtobanditError:
        return None


def hostile_matrices(random, rounds):
    n_refused = 0
    for _ in range(rounds):
        matrix, good = small_matrix(random, str(random.choice(FORMATS)))
        damage(random, matrix)
        dense = dense_or_none(matrix)
        metric = str(random.choice(["euclidean", "cosine", "manhattan", "sqeuclidean"]))
        options = {"metric": metric, "random_state": 0}
        entry = random.integers(5)
        if entry == 0:
            found = refused(pb.KMedoids(2, **options).fit, matrix)
        elif entry == 1:
            chosen = pb.select(sparse.csr_array(good), k=2, **options)
            found = refused(chosen.assign, matrix)
        elif entry == 2:
            found = refused(pb.Preparation(standardize=True).fit, matrix)
        elif entry == 3:
            found = refused(pb.select, matrix, pb.Stream([matrix]), k=1, method="random")
        else:
            found = refused(pb.select, matrix, k=2, **options)
            if found is not None and dense is not None:
                expected = pb.select(dense, k=2, **options)
                assert np.isclose(found.cost, expected.cost, atol=1e-9), (matrix, dense)
        assert found is None or dense is not None, (entry, matrix.format, vars(matrix))
        if is_native(matrix):
            assert found is not None or dense is None, (entry, matrix.format, vars(matrix))
        n_refused += found is None
    return n_refused


# -- files ----------------------------------------------------------------------------------------


def hostile_files(random, rounds, folder):
    n_refused = 0
    for _ in range(rounds):
        matrix, _ = small_matrix(random, str(random.choice(["csr", "csc", "bsr", "coo", "dia"])))
        path = Path(folder, "rows.npz")
        sparse.save_npz(path, matrix)
        with np.load(path) as archive:
            parts = dict(archive)
        name = str(random.choice([name for name in parts if name not in ("format", "_is_array")]))
        parts[name] = damaged(random, parts[name])
        np.savez(path, **parts)
        found = refused(pb.select, path, k=1, method="random", random_state=0)
        n_refused += found is None
    return n_refused


def hostile_texts(random, rounds):
    n_refused = 0
    for _ in range(rounds):
        matrix, good = small_matrix(random, "csr")
        document = json.loads(pb.select(matrix, k=2, random_state=0).to_json())
        stored = document["prototypes"]
        name = str(random.choice(["values", "columns", "starts", "shape"]))
        stored[name] = damaged(random, np.array(stored[name])).tolist()
        document["indices"][0] = int(random.choice([0, 1, 5, -1, 10**9]))
        chosen = refused(pb.Selection.from_json, json.dumps(document))
        if chosen is not None:
            rows = sparse.csr_array(good.astype(float))
            refused(chosen.assign, rows)
            attached = refused(chosen.attached, rows)
            refused((attached or chosen).certify)
        n_refused += chosen is None
    return n_refused


def hostile_checkpoints(random, rounds, folder):
    rows, n_refused, whole = random.normal(size=(90, 3)), 0, {}
    options = {"k": 5, "random_state": 0}
    for method in ("refined", "lazybandit", "fasterpam", "protobandit", "kcenter"):
        place = pb.Checkpoint(Path(folder, method), 0)
        pb.select(rows, method=method, checkpoint=place, **options)
        whole[method] = checked_file.read(place.path)
    for _ in range(rounds):
        method = str(random.choice(list(whole)))
        header, parts = whole[method][0], dict(whole[method][1])
        names = [name for name in parts if parts[name].ndim == 1]
        for name in random.choice(names, size=2):
            parts[name] = damaged(random, parts[name].copy())
        place = pb.Checkpoint(Path(folder, f"{method}.damaged"), 0)
        checked_file.write(place.path, header, parts)
        try:
            found = refused(pb.select, rows, method=method, checkpoint=place, **options)
            n_refused += found is None
        except (IndexError, ValueError, TypeError) as error:
            if COMPILED in str(error):  # NumPy's own checks are safe, and name an axis
                raise
    return n_refused


def damaged_numbers(folder):
    """Put a wrong number into every array of integers of checkpoints, one at a time."""
    rows, n_refused = np.random.default_rng(0).normal(size=(90, 3)), 0
    for method in RESUMED:
        options = {"k": 5, "random_state": 0, "method": method}
        for n_picks in (2, 10):  # a search that was interrupted, and one that ended
            place = pb.Checkpoint(Path(folder, f"{method}.{n_picks}"), 0)
            begin(rows, n_picks, checkpoint=place, **options)
            header, parts = checked_file.read(place.path)
            names = [name for name in parts if parts[name].dtype.kind in "iu" and parts[name].size]
            for name in names:
                for number in (-1, len(rows)):
                    for at in {0, parts[name].size - 1}:
                        wrong = parts[name].copy()
                        wrong.flat[at] = number
                        checked_file.write(place.path, header, {**parts, name: wrong})
                        found = refused(pb.select, rows, checkpoint=place, **options)
                        n_refused += found is None
                wrong = parts[name].astype(float)
                checked_file.write(place.path, header, {**parts, name: wrong})
                refused(pb.select, rows, checkpoint=place, **options)
    return n_refused


def begin(rows, n_picks, **options):
    """Begin a search; stop after so many steps."""
    n_seen = 0

    def stop(*arguments, **named):
        nonlocal n_seen
        n_seen += 1
        return n_seen >= n_picks

    pb.select(rows, callback=stop, **options)


# -- searches -------------------------------------------------------------------------------------


def searches(random, rounds):
    """Call every method on small problems with ties, weights, quotas and every number of rows."""
    names = [name for name in METHODS if name != "precomputed"]
    for turn in range(rounds):
        n, m = random.integers(2, 40), random.integers(1, 40)
        source = random.integers(0, 4, size=(n, random.choice([2, 14]))).astype(float)
        target = None if random.random() < 0.5 else source[random.integers(0, n, size=m)]
        n_target = n if target is None else m
        options = {"k": int(random.integers(1, n + 1)), "method": names[turn % len(names)]}
        if random.random() < 0.4:
            options["weights"] = random.integers(0, 3, size=n_target) + 1e-9
        if random.random() < 0.3:
            groups = random.integers(0, 3, size=n)
            options["constraints"] = pb.Constraints(groups=groups, at_most=int(random.integers(9)))
        refused(pb.select, source, target, random_state=0, **options)


def main(seed=0, rounds=100):
    random = np.random.default_rng(seed)
    require_bounds_checks()
    with tempfile.TemporaryDirectory() as folder:
        counts = {
            "matrices": hostile_matrices(random, 4 * rounds),
            "files": hostile_files(random, rounds, folder),
            "texts": hostile_texts(random, rounds),
            "checkpoints": hostile_checkpoints(random, rounds, folder),
            "numbers of checkpoints": damaged_numbers(folder),
        }
        searches(random, rounds)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
