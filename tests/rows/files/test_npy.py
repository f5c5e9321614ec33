"""Files of NumPy: .npy and .npz."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import faults
import protobandit as pb
from protobandit import InvalidInput
from protobandit.data import open_rows
from protobandit.rows.convert import as_rows
from rows.files import files


def test_npy_is_mapped_and_not_copied(tmp_path):
    found = open_rows(files.write(tmp_path, "rows.npy"))
    assert isinstance(found.rows, np.memmap)
    assert not found.rows.flags.writeable


def test_fortran_order_is_converted(tmp_path):
    path = tmp_path / "rows.npy"
    np.save(path, np.asfortranarray(files.NUMBERS))
    rows = open_rows(path).rows
    assert rows.flags.c_contiguous
    np.testing.assert_array_equal(rows, files.NUMBERS)


def test_large_files_in_fortran_order_raise(tmp_path, monkeypatch):
    path = tmp_path / "rows.npy"
    np.save(path, np.asfortranarray(files.NUMBERS))
    monkeypatch.setattr("protobandit.rows.files.npy.MOST_HELD", 10)
    with pytest.raises(pb.InvalidInput, match=r"Fortran order.*ascontiguousarray"):
        open_rows(path)


@pytest.mark.parametrize("dtype", [">f4", "<f8", "i2", "u1", "?", "f2"])
def test_numbers_of_any_byte_order(tmp_path, dtype):
    rows = (10 * files.NUMBERS).astype(dtype)
    path = tmp_path / "rows.npy"
    np.save(path, rows)
    found = as_rows(open_rows(path), name="source").take(slice(0, files.N))
    assert found.dtype.isnative
    np.testing.assert_array_equal(found, rows)


@pytest.mark.parametrize(
    ("shape", "image"), [((5, 4), (5, 4)), ((5, 4, 3), (5, 4, 3)), ((5, 4, 1), (5, 4))]
)
@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_bytes_of_three_dimensions_are_images(tmp_path, suffix, shape, image):
    pixels = np.random.default_rng(0).integers(256, size=(6, *shape), dtype=np.uint8)
    path = tmp_path / f"rows{suffix}"
    np.save(path, pixels) if suffix == ".npy" else np.savez(path, pixels)
    found = open_rows(path)
    assert (found.kind, found.image_shape) == ("images", image)
    assert found.rows.shape == (6, int(np.prod(shape)))
    np.testing.assert_array_equal(found.images([4, 1]), pixels[[4, 1]].reshape(2, *image))


def test_rows_that_are_not_images_have_no_images(tmp_path):
    with pytest.raises(pb.InvalidInput, match="holds numbers, not images"):
        open_rows(files.write(tmp_path, "rows.npy")).images([0])


def test_npz_of_several_tables_needs_a_name(tmp_path):
    path = tmp_path / "rows.npz"
    np.savez(path, a=files.NUMBERS, b=2 * files.NUMBERS, y=files.IDS, short=np.arange(3))
    with pytest.raises(
        pb.InvalidInput, match=r"holds 'a', 'b'. Name .* with data.open_rows\(path, columns="
    ):
        open_rows(path)
    found = open_rows(path, columns="b")
    np.testing.assert_array_equal(found.rows, 2 * files.NUMBERS)
    assert found.names == ("y",)


def test_large_members_of_npz_are_cached_on_disk(tmp_path, monkeypatch):
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, rows=files.NUMBERS)
    monkeypatch.setattr("protobandit.rows.files.npy.MOST_HELD", 10)
    found = open_rows(path, cache=tmp_path / "cache")
    assert isinstance(found.rows, np.memmap)
    np.testing.assert_array_equal(found.rows, files.NUMBERS)


def test_a_cache_that_fails_reads_the_member_again(tmp_path, monkeypatch):
    path, cache = tmp_path / "rows.npz", tmp_path / "cache"
    np.savez_compressed(path, rows=files.NUMBERS)
    monkeypatch.setattr("protobandit.rows.files.npy.MOST_HELD", 10)
    with faults.injected(cache, faults.FAILED_SYNC, 1) as layer:
        found = open_rows(path, cache=cache)
    assert layer.is_reached
    assert not isinstance(found.rows, np.memmap)
    np.testing.assert_array_equal(found.rows, files.NUMBERS)


def test_members_of_npz_that_do_not_fit_into_memory_raise(tmp_path, monkeypatch):
    path = tmp_path / "rows.npz"
    np.savez_compressed(path, rows=np.asfortranarray(files.NUMBERS))
    monkeypatch.setattr("protobandit.rows.files.npy.MOST_HELD", 600)
    with pytest.raises(pb.InvalidInput, match=r"rows.npz\[rows\] is in Fortran order"):
        open_rows(path)
    names = np.full(files.N, "a" * 1000)
    np.savez_compressed(path, rows=files.NUMBERS, names=names)
    with pytest.raises(pb.InvalidInput, match="holds 200,128 bytes of other columns beside"):
        open_rows(path, cache=tmp_path / "cache")


def test_a_header_without_an_end_is_one_sentence(tmp_path):
    np.save(tmp_path / "rows.npy", files.NUMBERS)
    content = (tmp_path / "rows.npy").read_bytes().replace(b"}", b" ")
    (tmp_path / "rows.npy").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"rows\.npy cannot be read as \.npy: .*"):
        open_rows(tmp_path / "rows.npy")


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo"])
def test_sparse_files_are_checked_in_full(tmp_path, form):
    matrix = getattr(sparse, f"{form}_array")(np.eye(6))
    sparse.save_npz(tmp_path / "rows.npz", matrix)
    with np.load(tmp_path / "rows.npz") as archive:
        parts = dict(archive)
    name = "col" if "col" in parts else "coords" if "coords" in parts else "indices"
    parts[name] = parts[name] + 1
    np.savez(tmp_path / "rows.npz", **parts)
    with pytest.raises(InvalidInput, match=r"rows\.npz .*(valid sparse matrix|exceeds matrix)"):
        open_rows(tmp_path / "rows.npz")


def test_a_wide_sparse_file_needs_little_memory(tmp_path):
    sparse.save_npz(tmp_path / "rows.npz", sparse.csr_array(([1.0], ([0], [9])), shape=(2, 2**24)))
    opened = open_rows(tmp_path / "rows.npz")
    assert opened.rows.shape == (2, 2**24)
    assert len(opened.features) == 2**16
