"""Invalid calls raise the documented type of error with a message that names the parameter."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import brute
import protobandit as pb
from protobandit import InvalidInput, NotAvailable, Selection, Target
from protobandit.methods import LazyGreedy, ProtoBandit, Random, SpotGreedy, StochasticGreedy

ROWS = brute.normal(12)
NOTHING = pb.Constraints(groups=[0, 1] * 6, at_most=0)
CHOSEN = pb.select(ROWS, k=3)
TEXT = CHOSEN.to_json()
OWN = pb.select(["a", "bb", "ccc"], k=1, metric=brute.edits)
MATRIX = pb.select(brute.whole(6, columns=9), k=2, metric="precomputed")


def select(*args, **options):
    return lambda: pb.select(*args, **({"k": 3} | options))


def with_cell(value):
    rows = ROWS.copy()
    rows[4, 1] = value
    return rows


def changed(**fields):
    return json.dumps(json.loads(TEXT) | fields)


def loaded(**fields):
    return Selection.from_json(changed(**fields))


def stored_rows(**fields):
    return json.loads(TEXT)["prototypes"] | fields


def stored_csr(**fields):
    text = pb.select(sparse.csr_array(ROWS), k=3).to_json()
    return json.loads(text)["prototypes"] | fields


def stop(target, source):
    raise StopIteration


def invalid_csr():
    matrix = sparse.csr_array(ROWS)
    matrix.indices += 1
    return matrix


def metric_returning(value):
    return lambda target, source: value


def blocks_returning(value):
    return pb.block_metric(lambda targets, sources: value)


# (name of the case, call, pattern of the message)
INVALID = [
    # combinations
    (
        "auto with clara",
        select(ROWS, k="auto", method="clara"),
        r"support k='auto'.*'lazygreedy'",
    ),
    ("auto by class", select(ROWS, k="auto", by=[0, 1] * 6), r"k='auto' is given with by="),
    ("several by class", select(ROWS, k=[2, 4], by=[0, 1] * 6), r"k=\[2, 4\] is given with by="),
    ("no k by class", select(ROWS, k=None, by=[0, 1] * 6), r"k=None is given with by="),
    (
        "extended to auto",
        lambda: CHOSEN.extended("auto"),
        r"k='auto' is not a number of prototypes",
    ),
    ("extended to fewer", lambda: CHOSEN.extended(2), r"k=2 is not more than the 3 prototypes"),
    ("init twice", lambda: pb.methods.PAM(init=[1, 1]), r"init names row 1 more than once"),
    ("init below 0", lambda: pb.methods.PAM(init=[1, -6]), r"init names row -6"),
    ("silhouette of 1", lambda: CHOSEN.at(1).silhouette(), r"silhouette needs 2 .* k >= 2"),
    # constraints that allow nothing
    ("auto of no rows", select(ROWS, k="auto", constraints=NOTHING), r"at_most allows no row"),
    (
        "MinGain of no rows",
        select(ROWS, k=None, until=pb.MinGain(0.1), constraints=NOTHING),
        r"at_most allows no row",
    ),
    ("k of no rows", select(ROWS, constraints=NOTHING), r"at_most allows no row of any group"),
    (
        "fixed is a mask",
        select(ROWS, constraints=pb.Constraints(fixed=[True, False])),
        r"fixed is a mask of shape \(2,\) for 12 source rows",
    ),
    (
        "costs are complex",
        select(ROWS, k=None, constraints=pb.Constraints(costs=ROWS[:, 0] * 1j, budget=1)),
        r"costs=.* are not numbers",
    ),
    # k
    ("k is zero", select(ROWS, k=0), r"k=0 is less than 1.*1 to 12"),
    ("k is negative", select(ROWS, k=-2), r"k=-2 is less than 1"),
    ("k exceeds the rows", select(ROWS, k=13), r"k=13 exceeds the 12 source rows"),
    ("k is a string", select(ROWS, k="3"), r"k='3' is not a number of prototypes"),
    ("k is None", select(ROWS, k=None), r"k=None is not a number"),
    ("no k", lambda: pb.select(ROWS), r"k=None needs until= or a budget"),
    ("k is True", select(ROWS, k=True), r"k=True is not a number"),
    ("k is 2.5", select(ROWS, k=2.5), r"k=2\.5 is neither an integer nor a fraction"),
    ("k is 1.0", select(ROWS, k=1.0), r"k=1\.0 is neither"),
    ("k is nan", select(ROWS, k=float("nan")), r"k=nan is neither"),
    # source and target
    ("source is None", select(None), r"source=None is not a set of rows"),
    ("source is a string", select("rows"), r"source: rows does not exist"),
    ("source is a number", select(3), r"source=3 is not a set of rows"),
    ("source is a dictionary", select({"a": [1]}), r"source=\{'a': \[1\]\} is not a set"),
    ("source is a generator", select(r for r in ROWS), r"source is a generator"),
    ("source has no rows", select(ROWS[:0]), r"source has 0 rows"),
    ("source has no columns", select(ROWS[:, :0]), r"source has shape \(12, 0\): no columns"),
    ("source has one dimension", select(ROWS[0]), r"source has 1 dimension.*reshape"),
    ("source has three dimensions", select(np.zeros((3, 3, 3))), r"source has 3 dimension"),
    ("source holds NaN", select(with_cell(np.nan)), r"source contains nan at row 4, column 1"),
    ("source holds inf", select(with_cell(np.inf)), r"source contains inf at row 4, column 1"),
    ("source is complex", select(ROWS * 1j), r"source holds complex numbers"),
    ("source holds strings", select([["a", "b"]] * 4), r"source does not hold numbers.*callable"),
    ("source is ragged", select([[1], [1, 2], [3]]), r"source holds rows of different lengths"),
    (
        "source is a frame with strings",
        select(pd.DataFrame({"x": [1, 2, 3], "name": list("abc")})),
        r"source: pandas DataFrame has column\(s\) that are not numbers: 'name'",
    ),
    (
        "source is a polars frame with strings",
        select(pl.DataFrame({"x": [1, 2, 3], "name": list("abc")})),
        r"source: polars DataFrame has column\(s\) that are not numbers: 'name'",
    ),
    (
        "sparse source holds NaN",
        select(sparse.csr_array(with_cell(np.nan))),
        r"source contains nan at row 4, column 1",
    ),
    ("target has no rows", select(ROWS, ROWS[:0]), r"target has 0 rows"),
    ("target has other columns", select(ROWS, ROWS[:, :2]), r"target has 2 columns.*source has 3"),
    ("target holds NaN", select(ROWS, with_cell(np.nan)), r"target contains nan at row 4"),
    ("target is sparse", select(ROWS, sparse.csr_array(ROWS)), r"source.*target.*same format"),
    ("a Target holds a string", select(ROWS, Target("rows")), r"target: rows does not exist"),
    ("rows too large", select(1e150 * ROWS), r"source holds numbers as large as .*1e151\."),
    (
        "rows too small",
        select(1e-170 * ROWS),
        r"source: no number exceeds .*'euclidean' underflows",
    ),
    (
        "rows of a sum too large",
        select(1e260 * ROWS, metric="canberra"),
        r"'canberra' overflows. It supports numbers up to 1e\+250",
    ),
    (
        "both sides too small",
        select(1e-170 * ROWS, 1e-180 * ROWS),
        r"source and target: no number exceeds",
    ),
    ("source is invalid CSR", select(invalid_csr()), r"source is not a valid sparse matrix"),
    (
        "rows of an estimator are invalid CSR",
        lambda: pb.KMedoids(2).fit(invalid_csr()),
        r"X is not a valid sparse matrix",
    ),
    ("taken from invalid CSR", lambda: CHOSEN.take(invalid_csr()), r"frame is not a valid sparse"),
    # weights
    ("too few weights", select(ROWS, weights=[1, 2]), r"weights have shape \(2,\).*12 rows"),
    ("weights in a column", select(ROWS, weights=np.ones((12, 1))), r"weights have shape"),
    ("a negative weight", select(ROWS, weights=[-1] + [1] * 11), r"weights\[0\]=-1\.0"),
    ("a weight is NaN", select(ROWS, weights=[1] * 11 + [np.nan]), r"weights\[11\]=nan"),
    ("weights are zero", select(ROWS, weights=np.zeros(12)), r"weights .* At least one"),
    ("weights are strings", select(ROWS, weights=list("abcdefghijkl")), r"weights=.* not numbers"),
    (
        "weights twice",
        select(ROWS, Target(ROWS, weights=np.ones(12)), weights=np.ones(12)),
        r"weights are given twice",
    ),
    ("weights of a Target", select(ROWS, Target(ROWS, weights=[1])), r"weights have shape \(1,\)"),
    # metric
    ("a metric raises StopIteration", select(ROWS, metric=stop), r"metric='stop' raised StopIter"),
    (
        "a metric raises StopIteration in lazygreedy",
        select(ROWS, metric=stop, method="lazygreedy"),
        r"metric='stop' raised StopIteration",
    ),
    (
        "a block metric raises StopIteration",
        select(ROWS, metric=pb.block_metric(stop), method="protobandit"),
        r"metric='stop' raised StopIteration",
    ),
    (
        "a kernel raises StopIteration",
        select(ROWS, method=pb.methods.MMDCritic(kernel=stop)),
        r"kernel='stop' raised StopIteration",
    ),
    (
        "a metric returns 10**400",
        select(ROWS, metric=metric_returning(10**400)),
        r"gave 10{39} for target row 0",
    ),
    ("an unknown metric", select(ROWS, metric="euclid"), r"metric='euclid' is not known.*cosine"),
    ("metric is a number", select(ROWS, metric=2), r"metric=2 is not known"),
    ("an unknown metric by name", lambda: pb.metric("euclid"), r"metric='euclid' is not known"),
    ("p is zero", lambda: pb.metric("minkowski", {"p": 0}), r"parameters=\{'p': 0\}.*minkowski"),
    ("p is a string", lambda: pb.metric("minkowski", {"p": "two"}), r"parameters=\{'p': 'two'\}"),
    ("another key", lambda: pb.metric("minkowski", {"q": 2}), r"parameters=\{'q': 2\}.*'p'"),
    ("none taken", lambda: pb.metric("cosine", {"p": 2}), r"parameters=.*'cosine'.*takes none"),
    ("V is missing", lambda: pb.metric("seuclidean"), r"parameters=None.*'seuclidean'.*'V'"),
    (
        "V is negative",
        lambda: pb.metric("seuclidean", {"V": [1, -1]}),
        r"parameters=\{'V': .*positive variance",
    ),
    (
        "VI is not symmetric",
        lambda: pb.metric("mahalanobis", {"VI": [[1, 2], [0, 1]]}),
        r"parameters=\{'VI': .*symmetric",
    ),
    (
        "V of other columns",
        select(ROWS, metric=pb.metric("seuclidean", {"V": [1, 2]})),
        r"parameters of the metric are for 2 column\(s\) but the rows have 3",
    ),
    ("block_metric of a number", lambda: pb.block_metric(3), r"block_metric got 3"),
    (
        "a negative distance",
        select(ROWS, metric=metric_returning(-1)),
        r"metric='<lambda>' gave -1",
    ),
    ("a distance of NaN", select(ROWS, metric=metric_returning(np.nan)), r"metric=.* gave nan"),
    ("a distance of None", select(ROWS, metric=metric_returning(None)), r"metric=.* gave None"),
    ("a block too small", select(ROWS, metric=blocks_returning(1.0)), r"metric=.* shape \(\)"),
    (
        "a block of strings",
        select(ROWS[:3], k=1, metric=blocks_returning(np.full((3, 3), "a"))),
        r"metric=.* dtype <U1",
    ),
    (
        "a block with NaN",
        select(ROWS[:3], k=1, metric=blocks_returning(np.full((3, 3), np.nan))),
        r"metric='<lambda>' gave nan",
    ),
    ("haversine of 3 columns", select(ROWS, metric="haversine"), r"metric='haversine' got .* 3"),
    (
        "correlation of a constant row",
        select(np.ones((4, 3)), metric="correlation"),
        r"metric='correlation' is undefined for a constant row",
    ),
    (
        "precomputed with a target",
        select(ROWS, ROWS.copy(), metric="precomputed"),
        r"target is given together with metric='precomputed'",
    ),
    (
        "precomputed and negative",
        select(ROWS, metric="precomputed"),
        r"metric='precomputed' gave -",
    ),
    (
        "precomputed and sparse",
        select(sparse.csr_array(abs(ROWS)), metric="precomputed"),
        r"metric='precomputed' got sparse rows as source",
    ),
    (
        "a dense metric on sparse rows",
        select(sparse.csr_array(ROWS), metric="haversine"),
        r"source holds sparse rows, which metric='haversine' does not support",
    ),
    # the rest of select
    ("an unknown method", select(ROWS, method="greedy"), r"method='greedy' is not known.*auto"),
    ("method is a class", select(ROWS, method=SpotGreedy), r"method=<class .* is not known"),
    ("method is None", select(ROWS, method=None), r"method=None is not known"),
    ("random_state is a string", select(ROWS, random_state="x"), r"random_state='x'"),
    ("random_state is negative", select(ROWS, random_state=-1), r"random_state=-1"),
    ("random_state is 1.5", select(ROWS, random_state=1.5), r"random_state=1\.5"),
    ("n_jobs is zero", select(ROWS, n_jobs=0), r"n_jobs=0 is not allowed"),
    ("n_jobs is a string", select(ROWS, n_jobs="all"), r"n_jobs='all' is not allowed"),
    ("n_jobs is 2.0", select(ROWS, n_jobs=2.0), r"n_jobs=2\.0 is not allowed"),
    ("callback is not a function", select(ROWS, callback=5), r"callback=5 is not callable"),
    ("callback is long", select(ROWS, callback=[5] * 999), r"callback=\[5, .* is not callable"),
    # methods
    ("r is zero", lambda: SpotGreedy(r=0), r"r=0 is not allowed.*>= 1"),
    ("r is a fraction", lambda: LazyGreedy(r=1.5), r"r=1\.5 is not allowed"),
    ("r is True", lambda: SpotGreedy(r=True), r"r=True is not allowed"),
    ("memoize is a string", lambda: SpotGreedy(memoize="yes"), r"memoize='yes' is not allowed"),
    ("memoize is an array", lambda: SpotGreedy(memoize=np.ones(2)), r"memoize=array"),
    ("memoize is a number", lambda: LazyGreedy(memoize=1), r"memoize=1 is not allowed"),
    ("epsilon is zero", lambda: StochasticGreedy(epsilon=0), r"epsilon=0 is not allowed"),
    ("epsilon is too large", lambda: ProtoBandit(epsilon=0.64), r"epsilon=0\.64.*1 - 1/e = 0\.632"),
    ("epsilon is a string", lambda: ProtoBandit(epsilon="0.1"), r"epsilon='0\.1'"),
    ("epsilon is NaN", lambda: ProtoBandit(epsilon=float("nan")), r"epsilon=nan"),
    (
        "nu and nu_step",
        lambda: ProtoBandit(nu=0.1, nu_step=0.1),
        r"nu=0\.1 and nu_step=0\.1 are both",
    ),
    ("nu_step is tiny", lambda: ProtoBandit(nu_step=1e-200), r"nu_step=1e-200 is too small"),
    ("limits for a plan", lambda: pb.plan(ROWS, k=3, limits={}), r"limits=\{\} is not known"),
    ("limits of another type", select(ROWS, limits=10), r"limits=10 is not known"),
    ("numbers beyond float64", select([[10**400], [1]], k=1), r"source does not hold numbers"),
    ("weights beyond float64", select(ROWS[:2], k=1, weights=[10**400, 1]), r"weights="),
    ("a metric without its parameters", select(ROWS, metric="seuclidean"), r"metric='seuclidean'"),
    ("swaps unknown", lambda: pb.methods.Refined(swaps="all"), r"swaps='all' is not known"),
    ("build unknown", lambda: pb.methods.Refined(build="kmeans"), r"build='kmeans' is not"),
    ("effort endless", lambda: pb.methods.LazyBandit(effort=1e20), r"effort=1e\+20 .*most 1e\+06"),
    ("effort too long", lambda: pb.methods.LazyBandit(effort=10**400), r"effort=10+ is not"),
    (
        "an array as regularizer",
        lambda: pb.methods.MMDCritic(regularizer=np.arange(3)),
        r"regularizer=array\(\[0, 1, 2\]\) is not known",
    ),
    (
        "an endless count",
        lambda: pb.methods.Clara(n_samples=10**400),
        r"n_samples=10+ is not allowed. Pass an integer >= 1 and below 2\*\*63",
    ),
    (
        "an array as a flag",
        lambda: pb.PrototypeSelector(2, compute_labels=np.arange(3)).fit(ROWS),
        r"compute_labels=array\(\[0, 1, 2\]\) is not allowed",
    ),
    ("by is a scalar", select(ROWS, by=np.array(3)), r"by=array\(3\) is not a sequence"),
    ("frame is a scalar", lambda: CHOSEN.take(np.array(3)), r"frame is a ndarray"),
    ("batches are a scalar", lambda: pb.Stream(np.array(3)), r"batches"),
    ("effort unknown", lambda: pb.methods.LazyBandit(effort="max"), r"effort='max' is not"),
    ("nu is zero", lambda: ProtoBandit(nu=0), r"nu=0 is not allowed"),
    ("nu is infinite", lambda: ProtoBandit(nu=float("inf")), r"nu=inf is not allowed"),
    ("nu_step is negative", lambda: ProtoBandit(nu_step=-1), r"nu_step=-1 is not allowed"),
    ("delta is one", lambda: ProtoBandit(delta=1), r"delta=1 is not allowed"),
    ("delta is None", lambda: ProtoBandit(delta=None), r"delta=None is not allowed"),
    ("scale is zero", lambda: ProtoBandit(scale=0), r"scale=0 is not allowed"),
    ("scale is a string", lambda: ProtoBandit(scale="C"), r"scale='C' is not allowed"),
    ("an unknown search", lambda: ProtoBandit(search="ucb"), r"search='ucb' is not known.*kl-lucb"),
    ("search is a list", lambda: ProtoBandit(search=["kl-lucb"]), r"search=\['kl-lucb'\]"),
    ("early_stop is a string", lambda: ProtoBandit(early_stop="no"), r"early_stop='no'"),
    (
        "elimination of several",
        lambda: ProtoBandit(r=2, search="median-elimination"),
        r"r=2 .*search='median-elimination'.*one row at a time",
    ),
    # a selection
    ("assign None", lambda: CHOSEN.assign(None), r"rows=None is not a set of rows"),
    ("assign other columns", lambda: CHOSEN.assign(ROWS[:, :2]), r"rows do not fit.* 2 columns"),
    ("assign NaN", lambda: CHOSEN.assign(with_cell(np.nan)), r"rows do not fit.*nan at row 4"),
    ("assign no rows", lambda: CHOSEN.assign(ROWS[:0]), r"rows do not fit.* 0 rows"),
    ("assign one row", lambda: CHOSEN.assign(ROWS[0, :-1]), r"rows do not fit.*1 dimension"),
    ("assign sparse rows", lambda: CHOSEN.assign(sparse.csr_array(ROWS)), r"rows do not fit"),
    ("assign a string", lambda: OWN.assign("word"), r"rows do not fit.*word does not exist"),
    ("assign with n_jobs of zero", lambda: CHOSEN.assign(ROWS, n_jobs=0), r"n_jobs=0"),
    (
        "assign too narrow a matrix",
        lambda: MATRIX.assign(np.ones((2, 1))),
        r"rows do not fit.*1 columns; metric='precomputed' needs one for each source row",
    ),
    ("distances of NaN", lambda: CHOSEN.distances(with_cell(np.nan)), r"rows do not fit"),
    ("explain by zero", lambda: CHOSEN.explain(ROWS, n=0), r"n=0 is not between 1 and the 3"),
    ("explain by too many", lambda: CHOSEN.explain(ROWS, n=4), r"n=4 is not between"),
    ("explain by True", lambda: CHOSEN.explain(ROWS, n=True), r"n=True is not between"),
    ("explain by 1.0", lambda: CHOSEN.explain(ROWS, n=1.0), r"n=1\.0 is not between"),
    ("members of a fourth", lambda: CHOSEN.members(3), r"i=3 is not one of the prototypes 0 to 2"),
    ("members of a string", lambda: CHOSEN.members("a"), r"i='a' is not one of the prototypes"),
    ("members of True", lambda: CHOSEN.members(True), r"i=True is not one of the prototypes"),
    ("take of None", lambda: CHOSEN.take(None), r"frame is a NoneType"),
    ("take of a string", lambda: CHOSEN.take("a" * 12), r"frame is a str"),
    ("take of a dictionary", lambda: CHOSEN.take({}), r"frame is a dict"),
    ("take of fewer rows", lambda: CHOSEN.take(ROWS[:5]), r"5 rows but the source has 12"),
    ("take of more rows", lambda: CHOSEN.take([0] * 13), r"13 rows but the source has 12"),
    (
        "take after loading",
        lambda: Selection.from_json(TEXT).take([0]),
        r"frame has 1 rows but the source has at least \d+",
    ),
    # JSON
    ("JSON is None", lambda: Selection.from_json(None), r"text is a NoneType"),
    ("JSON is a dictionary", lambda: Selection.from_json({}), r"text is a dict.*to_json"),
    ("JSON is empty", lambda: Selection.from_json(""), r"text is not JSON.*cut short"),
    ("JSON is cut short", lambda: Selection.from_json(TEXT[:-9]), r"text is not JSON.*cut short"),
    ("JSON is broken bytes", lambda: Selection.from_json(b"\xff{}"), r"text is not JSON"),
    ("JSON is too deep", lambda: Selection.from_json("[" * 100_000), r"text is not JSON"),
    ("JSON is a list", lambda: Selection.from_json("[]"), r"text is JSON but not a protobandit"),
    ("JSON of another program", lambda: Selection.from_json('{"a": 1}'), r"text is JSON but not"),
    (
        "JSON of another version",
        lambda: Selection.from_json(changed(version=99)),
        r"text has version 99; this release reads 1",
    ),
    (
        "JSON of an unknown metric",
        lambda: Selection.from_json(
            changed(metric={"name": "euclid", "parameters": {}, "is_callable": False})
        ),
        r"metric='euclid' is not known",
    ),
    (
        "JSON with another metric",
        lambda: Selection.from_json(TEXT, metric="cosine"),
        r"metric='cosine' is not the 'euclidean' the selection was made with",
    ),
    (
        "JSON with other parameters",
        lambda: Selection.from_json(
            pb.select(ROWS, k=2, metric=pb.metric("minkowski", {"p": 3})).to_json(),
            metric=pb.metric("minkowski", {"p": 4}),
        ),
        r"metric=.* is not the 'minkowski'.*parameters",
    ),
    *(
        (f"JSON with {name}={value}", lambda n=name, v=value: loaded(**{n: v}), message)
        for name, value, message in (
            ("indices", [0, 1.5, 2], r"not a list of integers >= 0"),
            ("indices", [0, -1, 2], r"not a list of integers >= 0"),
            ("indices", ["0", "1", "2"], r"not a list of integers >= 0"),
            ("indices", None, r"not a list of integers >= 0"),
            ("spent", "much", r"spent is 'much'"),
            ("lookups", None, r"int\(\) argument"),
            ("fingerprints", {"a": 1}, r"fingerprints are"),
            ("guarantee", {"method": "pam", "statement": None, "conditions": []}, r"statement is"),
            ("prototypes", {"kind": "list", "values": None}, r"prototypes must be a list"),
            ("prototypes", stored_rows(dtype="O"), r"prototypes of kind 'array'.* and type object"),
            ("prototypes", stored_rows(shape=[3]), r"cannot reshape"),
            ("prototypes", stored_rows(shape=[-1, 3]), r"not a list of integers >= 0"),
            ("prototypes", stored_rows(values=[float("inf")] * 9), r"not finite numbers"),
            ("prototypes", stored_csr(columns=[1, 2, 3] * 3), r"prototypes is not a valid sparse"),
            ("prototypes", stored_csr(starts=[0, 9, 3, 9]), r"prototypes is not a valid sparse"),
            ("prototypes", stored_csr(columns=[0.5] * 9), r"not a list of integers >= 0"),
        )
    ),
    (
        "JSON with rows beyond the source",
        lambda: loaded(indices=[0, 1, 99]).attached(ROWS),
        r"names source row 99, but source has 12 rows",
    ),
    (
        "JSON with an unknown metric",
        lambda: Selection.from_json(OWN.to_json(), metric="own"),
        r"metric='own' is not known",
    ),
]

UNAVAILABLE = [
    (
        "assign without the callable",
        lambda: Selection.from_json(OWN.to_json()).assign(["a"]),
        r"your own metric 'edits'.*metric=your_function",
    ),
    (
        "explain without the callable",
        lambda: Selection.from_json(OWN.to_json()).explain(["a"], n=1),
        r"your own metric 'edits'",
    ),
    (
        "members after loading",
        lambda: Selection.from_json(TEXT).members(0),
        r"does not hold the target rows",
    ),
]

CASES = [(InvalidInput, *case) for case in INVALID] + [
    (NotAvailable, *case) for case in UNAVAILABLE
]


@pytest.mark.parametrize(
    ("kind", "call", "message"),
    [(kind, call, message) for kind, _, call, message in CASES],
    ids=[case for _, case, _, _ in CASES],
)
def test_invalid_calls_raise(kind, call, message):
    with pytest.raises(kind) as caught:
        call()
    assert type(caught.value) is kind
    found = str(caught.value)
    assert re.search(message, found, flags=re.DOTALL), found
    assert found.endswith("."), "a message ends with a full stop"
    assert len(found) < 600


def test_the_names_of_the_cases_are_unique():
    names = [case for _, case, _, _ in CASES]
    assert len(set(names)) == len(names) >= 45


@pytest.mark.parametrize(
    "call",
    [
        lambda: pb.select(ROWS, ROWS, 3),
        lambda: pb.select(ROWS, k=3, metrik="euclidean"),
        lambda: SpotGreedy(2),
        lambda: Random(k=3),
        lambda: Target(),
        lambda: Target(ROWS, [1] * 12),
    ],
    ids=["k by position", "misspelt", "r by position", "unknown", "no rows", "by position"],
)
def test_wrong_signatures_raise_type_error(call):
    with pytest.raises(TypeError, match="argument"):
        call()


def test_memory_mapped_rows_are_checked_when_read(tmp_path):
    """A memory-mapped target is not checked in advance; the error names the row when it is read."""
    np.save(tmp_path / "target.npy", with_cell(np.nan))
    mapped = np.load(tmp_path / "target.npy", mmap_mode="r")
    with pytest.raises(InvalidInput, match=r"target contains nan at row 4, column 1"):
        pb.select(ROWS, mapped, k=2)
