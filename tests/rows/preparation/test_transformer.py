"""Transformers and Pipelines of scikit-learn as preparation."""

from __future__ import annotations

import json
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler
from sklearn.utils.fixes import parse_version

import protobandit as pb
from protobandit import InvalidInput, NotAvailable, Preparation
from protobandit.rows.preparation import transformer as module
from protobandit.rows.preparation.transformer import FittedTransformer

RANDOM = np.random.default_rng(3)
ROWS = RANDOM.normal(size=(60, 4)) * [1, 10, 100, 0.1]
FRAME = pd.DataFrame(
    {"size": RANDOM.normal(size=60), "colour": RANDOM.choice(["red", "blue"], 60), "n": range(60)}
)
WORDS = ["small cat", "big cat", "small dog", "big dog", "red car", "fast red car"]


def select(*rows, k=4, **options):
    return pb.select(*rows, k=k, method="lazygreedy", random_state=0, **options)


def mixed():
    return make_column_transformer(
        (StandardScaler(), ["size"]), (OneHotEncoder(), ["colour"]), remainder="drop"
    )


def test_a_transformer_gives_the_rows_that_it_returns():
    selection = select(ROWS, preparation=StandardScaler())
    scaled = StandardScaler().fit_transform(ROWS)
    truth = select(scaled)
    assert selection.indices.tolist() == truth.indices.tolist()
    assert selection.cost == truth.cost
    assert selection.metric_name == "euclidean"
    assert "Rows were transformed by StandardScaler(), as fitted on 60 target" in selection.status
    np.testing.assert_array_equal(selection.assign(ROWS).labels, truth.assign(scaled).labels)
    same = select(ROWS, preparation=Preparation(standardize=True))
    assert selection.indices.tolist() == same.indices.tolist()


def test_it_is_fitted_on_the_target_and_the_users_object_is_not_changed():
    given = StandardScaler()
    selection = select(ROWS, ROWS[:20], preparation=given)
    assert not hasattr(given, "mean_")
    fitted = selection.preparation.transformer
    np.testing.assert_allclose(fitted.mean_, ROWS[:20].mean(axis=0))
    assert selection.preparation.n_rows == 20


def test_a_fitted_transformer_is_used_as_it_is():
    fitted = StandardScaler().fit(ROWS[:10])
    selection = select(ROWS, preparation=fitted)
    assert selection.preparation.transformer is fitted
    assert selection.cost == select(fitted.transform(ROWS)).cost
    again = select(ROWS, preparation=selection.preparation)
    assert again.cost == selection.cost


@pytest.mark.parametrize("step", [Normalizer(), FunctionTransformer(np.tanh), PCA(2)])
def test_transformers_with_and_without_state(step):
    selection = select(ROWS, preparation=step)
    assert selection.cost == pytest.approx(select(step.fit_transform(ROWS)).cost)


FRAMES = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "lazy": lambda: pl.from_pandas(FRAME).lazy(),
    "arrow": lambda: pa.Table.from_pandas(FRAME),
    "dicts": lambda: FRAME.to_dict("records"),
}


@pytest.mark.parametrize("make", FRAMES.values(), ids=FRAMES)
def test_columns_of_frames_are_selected_by_name(make):
    is_polars = isinstance(make(), pl.DataFrame | pl.LazyFrame)
    is_old = parse_version(sklearn.__version__) < parse_version("1.8")
    if is_polars and is_old and not hasattr(pl.DataFrame, "__dataframe__"):
        pytest.skip("scikit-learn before 1.8 does not select columns of polars 2 by name")
    selection = select(make(), preparation=mixed())
    truth = select(mixed().fit_transform(FRAME))
    assert selection.indices.tolist() == truth.indices.tolist()
    np.testing.assert_array_equal(
        selection.assign(make()).labels, selection.assign(FRAME[["n", "colour", "size"]]).labels
    )


def test_columns_of_files_are_selected_by_name(tmp_path):
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pandas(FRAME), path)
    selection = select(path, preparation=mixed())
    assert selection.indices.tolist() == select(FRAME, preparation=mixed()).indices.tolist()
    np.save(tmp_path / "rows.npy", ROWS)
    scaled = select(tmp_path / "rows.npy", preparation=StandardScaler())
    assert scaled.cost == select(ROWS, preparation=StandardScaler()).cost


def test_texts_may_become_sparse_rows():
    selection = select(WORDS, k=2, preparation=TfidfVectorizer())
    truth = select(TfidfVectorizer().fit_transform(WORDS), k=2)
    assert sp.issparse(selection.prototypes)
    assert selection.indices.tolist() == truth.indices.tolist()
    for more in (["a fast dog"], pd.Series(["a fast dog"])):
        assert selection.assign(more).labels.shape == (1,)
    lsa = make_pipeline(TfidfVectorizer(), TruncatedSVD(2, random_state=0))
    assert select(WORDS, k=2, preparation=lsa).prototypes.shape == (2, 2)


def test_a_transformer_may_return_a_frame():
    scaler = StandardScaler().set_output(transform="pandas")
    assert select(FRAME[["size", "n"]], preparation=scaler).k == 4


def test_an_imputer_fills_missing_values():
    rows = ROWS.copy()
    rows[3, 1] = np.nan
    assert select(rows, preparation=SimpleImputer()).k == 4


def test_a_large_target_is_fitted_on_a_sample(monkeypatch):
    monkeypatch.setattr(module, "MOST_ROWS", 10)
    for rows in (ROWS, FRAME[["size", "n"]], sp.csr_array(ROWS)):
        scaler = StandardScaler(with_mean=False)
        assert select(rows, preparation=scaler).preparation.n_rows == 10


# -- saving ---------------------------------------------------------------------------------------


def test_json_holds_the_repr_and_loading_asks_for_the_object(tmp_path):
    pipeline = make_pipeline(StandardScaler(), PCA(2))
    selection = select(ROWS, preparation=pipeline)
    text = selection.to_json()
    stored = json.loads(text)["preparation"]
    assert stored["transformer"].startswith("Pipeline(steps=[('standardscaler', StandardScaler())")
    bare = pb.Selection.from_json(text)
    assert bare.indices.tolist() == selection.indices.tolist()
    for query in (lambda: bare.assign(ROWS), lambda: bare.attached(ROWS)):
        with pytest.raises(NotAvailable, match=r"your own transformer Pipeline.*preparation="):
            query()
    fitted = pickle.loads(pickle.dumps(selection.preparation.transformer))
    for passed in (fitted, selection.preparation):
        loaded = pb.Selection.from_json(text, preparation=passed)
        saved = pb.Selection.load(selection.save(tmp_path), preparation=passed)
        assert saved.assign(ROWS).labels.tolist() == selection.assign(ROWS).labels.tolist()
        np.testing.assert_array_equal(loaded.assign(ROWS).labels, selection.assign(ROWS).labels)
        assert loaded.attached(ROWS).members(0).tolist() == selection.members(0).tolist()


@pytest.mark.parametrize(
    ("passed", "message"),
    [
        (StandardScaler(), r"preparation=StandardScaler\(\) is not fitted"),
        (PCA(2).fit(ROWS), r"preparation=PCA\(n_components=2\) is not the StandardScaler\(\)"),
    ],
)
def test_another_object_is_refused(passed, message):
    text = select(ROWS, preparation=StandardScaler()).to_json()
    with pytest.raises(InvalidInput, match=message):
        pb.Selection.from_json(text, preparation=passed)


def test_an_object_for_a_selection_without_one_is_refused():
    with pytest.raises(InvalidInput, match="was not made with a transformer"):
        pb.Selection.from_json(select(ROWS).to_json(), preparation=StandardScaler().fit(ROWS))


def test_other_numbers_of_the_transformer_are_noticed_by_attached():
    text = select(ROWS, preparation=StandardScaler()).to_json()
    loaded = pb.Selection.from_json(text, preparation=StandardScaler().fit(ROWS[:9]))
    with pytest.raises(InvalidInput, match="source is not what this selection was made from"):
        loaded.attached(ROWS)


def test_addresses_are_not_part_of_the_repr():
    step = FunctionTransformer(lambda rows: rows)
    description = select(ROWS, preparation=step).preparation.description
    assert not re.search("0x", description)
    assert "\n" not in description


# -- what is refused ------------------------------------------------------------------------------


class Fewer(FunctionTransformer):
    """Returns fewer rows than it gets."""

    def transform(self, rows):
        return rows[1:]


REFUSED = {
    "texts": (FRAME, StandardScaler(), "StandardScaler cannot be fitted on source: could not"),
    "fewer rows": (ROWS, Fewer(), "Fewer returned 59 dense rows for the 60 rows of source"),
    "not numbers": (ROWS, FunctionTransformer(lambda x: x.astype(str)), "does not hold numbers"),
    "NaN": (ROWS, FunctionTransformer(lambda x: x * np.nan), "source contains nan at row 0"),
    "no rows": (ROWS[:0], StandardScaler(), "source has 0 rows"),
    "a class": (ROWS, StandardScaler, "is not a Preparation. Pass, for example"),
    "another object": (ROWS, "scale", "preparation='scale' is not a Preparation"),
}


@pytest.mark.parametrize(("rows", "step", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_raises(rows, step, message):
    with pytest.raises(InvalidInput, match=message):
        pb.select(rows, k=2, preparation=step)


def test_other_columns_raise():
    selection = select(FRAME, preparation=mixed())
    with pytest.raises(InvalidInput, match=r"rows cannot be transformed by ColumnTransformer: .*"):
        selection.assign(FRAME[["size", "n"]])
    with pytest.raises(InvalidInput, match="preparation is given with metric='precomputed'"):
        select(np.abs(ROWS), preparation=StandardScaler(), metric="precomputed")


def test_a_stream_needs_transformed_batches():
    with pytest.raises(InvalidInput, match=r"transformer\.transform\(source\), a Stream of"):
        pb.select(ROWS, pb.Stream(iter([ROWS])), k=2, preparation=StandardScaler())


def test_the_record_shows_its_transformer():
    fitted = FittedTransformer(transformer=None, description="X()")
    assert repr(fitted) == "FittedTransformer(X())"
    assert str(fitted) == "Rows were transformed by X()."


def test_plans_classes_and_the_estimator():
    labels = ["a", "b"] * 30
    assert pb.plan(ROWS, k=2, preparation=StandardScaler()).evaluations > 0
    assert select(ROWS, preparation=StandardScaler(), by=labels).k == 4
    chosen = pb.PrototypeSelector(n_prototypes=3, preparation=StandardScaler()).fit(ROWS)
    assert chosen.predict(ROWS).shape == (60,)
    rows = np.where(ROWS > 100, np.nan, ROWS)
    imputed = pb.PrototypeSelector(n_prototypes=3, preparation=SimpleImputer()).fit(rows)
    assert imputed.predict(rows).shape == (60,)
