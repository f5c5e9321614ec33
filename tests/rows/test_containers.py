"""Tensors, AnnData objects and xarray objects as rows, and what is refused."""

from __future__ import annotations

import anndata
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import xarray as xr

import protobandit as pb
from protobandit.data import open_rows
from protobandit.rows.files.opening import as_opened

# anndata sets an option that pandas no longer has.
pytestmark = pytest.mark.filterwarnings("ignore:The 'mode.chained_assignment' option")
ROWS = np.random.default_rng(0).normal(size=(40, 3))
GENES = ["g1", "g2", "g3"]


def truth(rows=ROWS, k=3):
    return pb.select(rows, k=k)


# -- tensors --------------------------------------------------------------------------------------


class Tensor:
    """A tensor of another library: it has the methods of the DLPack standard and no others."""

    def __init__(self, array, error=None):
        self.array, self.error = array, error

    def __dlpack__(self, **options):
        if self.error is not None:
            raise self.error
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return 1, 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.uint8])
def test_a_tensor_is_read_without_a_copy(dtype):
    array = np.arange(12, dtype=dtype).reshape(4, 3)
    found = as_opened(Tensor(array), name="source")
    assert np.shares_memory(found, array)
    np.testing.assert_array_equal(found, array)


def test_a_tensor_gives_the_rows_of_its_array():
    selection = pb.select(Tensor(ROWS), k=3)
    assert selection.indices.tolist() == truth().indices.tolist()
    assert selection.fingerprints == truth().fingerprints
    np.testing.assert_array_equal(
        selection.assign(Tensor(ROWS)).labels, truth().assign(ROWS).labels
    )
    prepared = pb.select(Tensor(ROWS), k=3, preparation=pb.Preparation(standardize=True))
    assert prepared.assign(Tensor(ROWS)).labels.shape == (40,)


def test_a_tensor_that_numpy_cannot_read_is_refused():
    error = BufferError("Unsupported device in DLTensor.")
    with pytest.raises(pb.InvalidInput, match=r"Unsupported device in DLTensor\. Pass it as"):
        pb.select(Tensor(ROWS, error), k=3)
    torch = type("Tensor", (Tensor,), {"__module__": "torch"})
    with pytest.raises(pb.InvalidInput, match=r"a torch Tensor that .*source\.detach\(\)\.cpu\(\)"):
        pb.select(torch(ROWS, error), k=3)


# -- AnnData --------------------------------------------------------------------------------------


def cells(X, **options):
    obs = pd.DataFrame({"kind": pd.Categorical(["a", "b"] * (len(ROWS) // 2)), "n": range(40)})
    obs.index = [f"cell {i}" for i in range(40)]
    return anndata.AnnData(X, obs=obs, var=pd.DataFrame(index=GENES), **options)


MATRICES = {
    "dense": lambda: ROWS.astype(np.float32),
    "csr matrix": lambda: sp.csr_matrix(ROWS),
    "csr array": lambda: sp.csr_array(ROWS),
    "csc": lambda: sp.csc_matrix(ROWS),
}


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_the_rows_of_anndata_are_those_of_its_matrix(make):
    selection = pb.select(cells(make()), k=3)
    assert selection.indices.tolist() == truth(make()).indices.tolist()
    assert selection.columns == tuple(GENES)


@pytest.mark.parametrize("make", MATRICES.values(), ids=MATRICES)
def test_genes_are_matched_by_name(make):
    data = cells(make())
    selection = pb.select(data, k=3)
    swapped = data[:, ["g3", "g1", "g2"]]
    np.testing.assert_array_equal(selection.assign(swapped).labels, selection.assign(data).labels)
    with pytest.raises(pb.InvalidInput, match="missing 'g2'"):
        selection.assign(data[:, ["g1", "g3"]])


@pytest.mark.parametrize("as_given", [np.asarray, pd.DataFrame, sp.csr_array])
def test_obsm_names_another_array(as_given):
    low = ROWS[:, :2].copy()
    array = as_given(low)
    if isinstance(array, pd.DataFrame):
        array.index = [f"cell {i}" for i in range(40)]
    data = cells(ROWS, obsm={"X_pca": array})
    opened = open_rows(data, obsm="X_pca")
    assert opened.features == ("X_pca[0]", "X_pca[1]")
    assert opened.names == ("obs_names", "kind", "n")
    assert opened.column("kind").tolist()[:3] == ["a", "b", "a"]
    assert opened.records([2])["obs_names"] == ["cell 2"]
    assert pb.select(opened, k=3).indices.tolist() == truth(low).indices.tolist()
    with pytest.raises(pb.InvalidInput, match=r"no obsm\['X_umap'\]. It has 'X_pca'"):
        open_rows(data, obsm="X_umap")
    with pytest.raises(pb.InvalidInput, match=r"no obsm\[\['X_pca'\]\]. It has 'X_pca'"):
        open_rows(data, obsm=["X_pca"])


def test_anndata_without_a_matrix_is_refused():
    data = anndata.AnnData(obs=pd.DataFrame(index=["a", "b"]))
    with pytest.raises(pb.InvalidInput, match=r"without X. Name one of its arrays \(none\)"):
        pb.select(data, k=1)


def test_anndata_in_a_file_is_refused(tmp_path):
    path = tmp_path / "cells.h5ad"
    index = pd.Index([str(i) for i in range(40)], dtype=object)  # anndata writes no Arrow texts
    obs, var = pd.DataFrame(index=index), pd.DataFrame(index=index[:3])
    anndata.AnnData(ROWS, obs=obs, var=var, obsm={"X_pca": ROWS[:, :2]}).write_h5ad(path)
    backed = anndata.read_h5ad(path, backed="r")
    try:
        with pytest.raises(pb.InvalidInput, match=r"source\.to_memory\(\)"):
            pb.select(backed, k=1)
        assert len(open_rows(backed, obsm="X_pca")) == 40
        assert pb.select(backed.to_memory(), k=3).indices.tolist() == truth().indices.tolist()
    finally:
        backed.file.close()


def test_obsm_is_for_anndata_only():
    with pytest.raises(pb.InvalidInput, match=r"obsm='X_pca' is given with pandas DataFrame"):
        open_rows(pd.DataFrame({"a": [1.0]}), obsm="X_pca")


def test_rows_and_columns_are_selected_by_the_container():
    data = xr.DataArray(ROWS, dims=("row", "feature"), coords={"feature": GENES})
    for given in (cells(ROWS), data):
        for options in ({"columns": "g1"}, {"exclude": "g1"}, {"where": "g1 > 0"}, {"sample": 3}):
            with pytest.raises(
                pb.InvalidInput, match=r"do not apply to .*source\[:, \['a', 'b'\]\]"
            ):
                open_rows(given, **options)
        with pytest.raises(pb.InvalidInput, match="has no column 'nope'"):
            open_rows(given, without="nope")


def test_columns_of_obs_are_left_out_and_may_be_classes():
    selection = pb.select(cells(ROWS), k=4, by="kind", random_state=0)
    assert selection.columns_left_out == {"kind": "classes, by=", "n": "a column of obs"}
    assert sorted(selection.prototype_labels.tolist()) == ["a", "a", "b", "b"]
    chosen = pb.select(open_rows(cells(ROWS, obsm={"X_pca": ROWS[:, :2]}), obsm="X_pca"), k=3)
    assert chosen.columns == ("X_pca",)


def test_other_genes_of_later_cells_are_ignored():
    selection = pb.select(cells(ROWS)[:, ["g3", "g1"]], k=3)
    truth = pb.select(ROWS[:, [2, 0]], k=3)
    np.testing.assert_array_equal(
        selection.assign(cells(ROWS)).labels, truth.assign(ROWS[:, [2, 0]]).labels
    )


# -- xarray ---------------------------------------------------------------------------------------


def test_a_data_array_is_an_array_with_names():
    data = xr.DataArray(ROWS, dims=("row", "feature"), coords={"feature": GENES})
    selection = pb.select(data, k=3)
    assert selection.indices.tolist() == truth().indices.tolist()
    assert selection.columns == tuple(GENES)
    swapped = data.sel(feature=["g3", "g1", "g2"])
    np.testing.assert_array_equal(selection.assign(swapped).labels, selection.assign(data).labels)
    assert pb.select(xr.DataArray(ROWS), k=3).columns is None


def test_masked_cells_of_a_data_array_are_missing():
    data = xr.DataArray(ROWS, dims=("row", "feature"), coords={"feature": GENES})
    masked = data.where(data.feature != "g2")
    with pytest.raises(pb.InvalidInput, match=r"missing values .*: 40 in 'g2'"):
        pb.select(masked, k=3)
    with pytest.raises(pb.InvalidInput, match="1 dimension"):
        pb.select(data[:, 0], k=3)


def test_a_dataset_is_a_table():
    variables = {
        "x": ("row", ROWS[:, 0]),
        "v": (("row", "part"), ROWS[:, 1:].astype(np.float32)),
    }
    opened = open_rows(xr.Dataset(variables), columns="x,v")
    assert opened.features == ("x", "v[0]", "v[1]")
    assert open_rows(xr.Dataset(variables)).left_out == {"x": "beside the vectors of 'v'"}
    np.testing.assert_allclose(opened.rows, ROWS, rtol=1e-6)
    for extra, message in [
        ({"n": 3.0}, "one first dimension in common: 'x'"),
        ({"c": (("row", "a", "b"), np.ones((40, 2, 2)))}, r"source\['c'\] has dimensions"),
    ]:
        with pytest.raises(pb.InvalidInput, match=message):
            pb.select(xr.Dataset(variables).assign(extra), k=3)


def test_variables_of_every_type():
    def opened(values, dims="row", **options):
        return open_rows(xr.Dataset({"b": (dims, values), "x": ("row", [1.0, 2.0])}), **options)

    for dtype in (">f8", "f2", "?", "i1"):
        assert opened(np.array([1, 0], dtype)).rows.tolist() == [[1, 1], [0, 2]]
    assert opened(np.array([[1, 2], [3, 4]], ">i4"), ("row", "p")).rows[:, :2].sum() == 10
    assert opened(["u", "v"], categories=True).rows.categories["b"].tolist() == ["u", "v"]
    for values, dims, message in [
        ([1j, 2], "row", r"'b' \(struct<complex"),
        (np.ones((2, 0)), ("row", "p"), "no vector, or an empty one, in column 'b'"),
        (np.zeros(2, "M8[s]"), "row", r"'b' \(timestamp"),
    ]:
        with pytest.raises(pb.InvalidInput, match=message):
            opened(values, dims)
    assert pb.select(xr.Variable(("row", "feature"), ROWS), k=3).cost == truth().cost


# -- what is not read -----------------------------------------------------------------------------


def of_library(module, name, **members):
    """Return an object of a class that the library would define."""
    return type(name, (), {"__module__": module, **members})()


LAZY = {
    "dask array": (
        of_library("dask.array.core", "Array", __array__=None, chunks=((1,),)),
        r"source is a dask Array, .* Pass source\.compute\(\), or a sample .*source\[::100\]",
    ),
    "dask frame": (
        of_library("dask.dataframe.dask_expr", "DataFrame", columns=["a"], __array__=None),
        r"dask DataFrame, .* source\.compute\(\), or a sample of it: source\.sample\(frac=0\.01\)",
    ),
    "zarr array": (
        of_library("zarr.core.array", "Array", __array__=None),
        r"a zarr Array, .* Pass source\[:\], or a part of it.*dask\.array\.from_zarr\(source\)",
    ),
}


@pytest.mark.parametrize(("data", "message"), LAZY.values(), ids=LAZY)
def test_what_lies_elsewhere_is_refused_with_the_call_that_reads_it(data, message):
    with pytest.raises(pb.InvalidInput, match=message):
        pb.select(data, k=1)
    with pytest.raises(pb.InvalidInput, match=message.replace("source", "X")):
        pb.KMedoids(2).fit(data)


def test_a_data_array_of_dask_is_refused():
    data = xr.DataArray(ROWS)
    chunked = type("Chunked", (), {"__module__": "xarray", "chunks": ((1,),), "values": data})()
    with pytest.raises(pb.InvalidInput, match=r"holds a dask array.*source\.compute\(\)"):
        pb.select(chunked, k=1)
