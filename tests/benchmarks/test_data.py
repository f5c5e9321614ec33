"""The data of the benchmarks, read from small files in the published formats."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
import tarfile

import numpy as np
import pytest
from benchmarks.common import cifar as cifar_files
from benchmarks.common import data
from benchmarks.common.data import (
    MissingData,
    cifar,
    cifar_problem,
    labelled_cifar_problem,
    mnist,
)

BATCHES = ("data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5")


def python_2_batch(images, labels):
    """Return a batch pickled like those of CIFAR-10: by Python 2, where text is bytes."""
    n, columns = images.shape
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR"
        b"(K\x01" + b"M" + struct.pack("<H", n) + b"M" + struct.pack("<H", columns) + b"\x86"
        b"cnumpy\ndtype\n(U\x02u1K\x00K\x01tR(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89T" + struct.pack("<i", images.size) + images.tobytes() + b"tb"
    )
    numbers = b"".join(b"K" + bytes([label]) for label in labels)
    return b"\x80\x02}(U\x04data" + array + b"U\x06labels](" + numbers + b"eu."


def python_3_batch(images, labels):
    return pickle.dumps({b"data": images, b"labels": labels.tolist()}, protocol=4)


@pytest.fixture
def batches():
    """Return the bytes of six batches of three images, and all images and labels in order."""
    random = np.random.default_rng(0)
    images = random.integers(256, size=(6, 3, 3072), dtype=np.uint8)
    labels = random.integers(10, size=(6, 3))
    makers = [python_2_batch, python_3_batch] * 3
    packed = [make(*each) for make, *each in zip(makers, images, labels, strict=True)]
    return dict(zip((*BATCHES, "test_batch"), packed, strict=True)), images, labels


def put_folder(batches, place):
    folder = place / "cifar-10-batches-py"
    folder.mkdir(parents=True)
    for name, packed in batches.items():
        (folder / name).write_bytes(packed)


def put_archive(batches, place):
    place.mkdir(parents=True, exist_ok=True)
    with tarfile.open(place / "cifar-10-python.tar.gz", "w:gz") as archive:
        for name, packed in {"readme.html": b"<p>", **batches}.items():
            member = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            member.size = len(packed)
            archive.addfile(member, io.BytesIO(packed))


def grey(images):
    """Return ITU-R 601's luma of rows of reds, greens and blues, as float32 in [0, 1]."""
    red, green, blue = (images[:, i * 1024 : (i + 1) * 1024].astype(float) for i in range(3))
    rounded = np.floor(0.299 * red + 0.587 * green + 0.114 * blue + 0.5 + 1e-9)
    return rounded.astype(np.float32) / 255


# -- CIFAR-10 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", ["", "cifar10"])
@pytest.mark.parametrize("put", [put_folder, put_archive])
def test_cifar_is_read_from_the_published_files(batches, tmp_path, put, inside):
    packed, images, labels = batches
    put(packed, tmp_path / inside)
    train, train_labels, test, test_labels = cifar(tmp_path)
    assert train.dtype == test.dtype == np.float32
    np.testing.assert_array_equal(train, grey(images[:5].reshape(15, -1)))
    np.testing.assert_array_equal(test, grey(images[5]))
    np.testing.assert_array_equal(train_labels, labels[:5].ravel())
    np.testing.assert_array_equal(test_labels, labels[5])


def test_luma_of_known_colours():
    white, red, green, blue = [255] * 3, [255, 0, 0], [0, 255, 0], [0, 0, 255]
    rows = np.array([white, red, green, blue, [10, 0, 0]], dtype=np.uint8)
    # 76.245, 149.685 and 29.07 and, for a dark red, 2.99.
    assert cifar_files.luma(rows).ravel().tolist() == [255, 76, 150, 29, 3]
    two = np.array([[255, 0, 0, 255, 0, 0]], dtype=np.uint8)  # a red pixel and a green one
    assert cifar_files.luma(two).tolist() == [[76, 150]]


def test_grey_images_have_priority(batches, tmp_path):
    put_folder(batches[0], tmp_path)
    images = {"train_images": np.full((2, 32, 32), 51, np.uint8), "train_labels": [3, 4]}
    np.savez(
        tmp_path / "cifar10-gray.npz",
        **images,
        test_images=np.full((1, 32, 32), 255, np.uint8),
        test_labels=[7],
    )
    train, train_labels, test, test_labels = cifar(tmp_path)
    assert train.shape == (2, 1024)
    assert np.unique(train).tolist() == pytest.approx([0.2])
    assert np.unique(test) == 1
    assert [*train_labels, *test_labels] == [3, 4, 7]


def test_cifar_problem_consists_of_principal_components(batches, tmp_path):
    packed, _, labels = batches
    put_folder(packed, tmp_path)
    source, source_labels, target, target_labels = labelled_cifar_problem(tmp_path, variance=0.5)
    assert source.shape[1] == target.shape[1] < 14
    assert (len(source), len(target)) == (3, 15)
    np.testing.assert_allclose(target.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_array_equal(source_labels, labels[5])
    np.testing.assert_array_equal(target_labels, labels[:5].ravel())
    rows = cifar_problem(tmp_path)
    whole = labelled_cifar_problem(tmp_path)
    np.testing.assert_array_equal(rows[0], whole[0])
    np.testing.assert_array_equal(rows[1], whole[2])


@pytest.mark.parametrize("put", [put_folder, put_archive])
def test_missing_batch_is_named(batches, tmp_path, put):
    packed, _, _ = batches
    del packed["data_batch_4"]
    put(packed, tmp_path)
    with pytest.raises(FileNotFoundError, match=r"does not contain data_batch_4\. Download"):
        cifar(tmp_path)


def test_batch_with_other_objects_is_an_error(batches, tmp_path):
    packed, _, _ = batches
    packed["data_batch_2"] = pickle.dumps({b"data": print, b"labels": []})
    put_folder(packed, tmp_path)
    with pytest.raises(pickle.UnpicklingError, match=r"only arrays, got builtins\.print"):
        cifar(tmp_path)


def test_missing_cifar_says_where_to_get_it(tmp_path):
    with pytest.raises(MissingData) as refused:
        cifar(tmp_path)
    for part in (f"neither in {tmp_path} nor in ", *cifar_files.READERS, "Krizhevsky"):
        assert part in str(refused.value)
    with pytest.raises(MissingData, match="--data DIR"):
        cifar(None)


# -- MNIST ----------------------------------------------------------------------------------------


def idx(array):
    shape = struct.pack(f">{array.ndim}i", *array.shape)
    return bytes([0, 0, 8, array.ndim]) + shape + array.astype(np.uint8).tobytes()


def put_mnist(folder, parts, *, is_zipped):
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in parts.items():
        if is_zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(idx(array)))
        else:
            (folder / name).write_bytes(idx(array))


@pytest.mark.parametrize("is_zipped", [False, True])
@pytest.mark.parametrize("inside", ["", "mnist"])
def test_mnist_is_read_from_the_published_files(tmp_path, inside, is_zipped):
    random = np.random.default_rng(0)
    images = [random.integers(256, size=(n, 28, 28)) for n in (5, 2)]
    labels = [random.integers(10, size=n) for n in (5, 2)]
    parts = {
        "train-images-idx3-ubyte": images[0],
        "train-labels-idx1-ubyte": labels[0],
        "t10k-images-idx3-ubyte": images[1],
        "t10k-labels-idx1-ubyte": labels[1],
    }
    put_mnist(tmp_path / inside, parts, is_zipped=is_zipped)
    found = mnist(tmp_path)
    assert found[0].dtype == np.float32
    np.testing.assert_allclose(found[0] * 255, images[0].reshape(5, 784), rtol=1e-6)
    np.testing.assert_allclose(found[2] * 255, images[1].reshape(2, 784), rtol=1e-6)
    np.testing.assert_array_equal(found[1], labels[0])
    np.testing.assert_array_equal(found[3], labels[1])


def test_missing_mnist_says_where_to_get_it(tmp_path):
    with pytest.raises(
        MissingData, match=r"train-images-idx3-ubyte\[\.gz\] is neither in .* omit --data"
    ):
        mnist(tmp_path)


@pytest.mark.parametrize("skew", [10, 20, 100])
def test_mnist_problem_of_the_paper_is_skewed(monkeypatch, skew):
    labels = np.repeat(np.arange(10), 32)
    train = np.arange(len(labels), dtype=np.float32)[:, None]
    test = np.arange(6000, dtype=np.float32)[:, None]
    example = train, labels, test, np.arange(6000) % 10
    monkeypatch.setattr(data, "mnist", lambda folder: example)
    source, source_labels, target, target_labels = data.paper_problem(None, skew=skew)
    assert len(source) == len(np.unique(source)) == 5000
    np.testing.assert_array_equal(source_labels, source[:, 0].astype(int) % 10)
    assert len(target) == len(np.unique(target)) == round(100 * 32 / skew)
    np.testing.assert_array_equal(target_labels, labels[target[:, 0].astype(int)])
    sizes = np.bincount(target_labels, minlength=10)
    assert sizes[5] == 32
    others = np.delete(sizes, 5)
    assert others.max() - others.min() <= 1
