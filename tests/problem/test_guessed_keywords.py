"""Keywords that `select` and `plan` do not have."""

from __future__ import annotations

import numpy as np
import pytest

import protobandit as pb

ROWS = np.arange(20.0).reshape(10, 2)


@pytest.mark.parametrize(
    ("keywords", "advice"),
    [
        ({"seed": 1}, " Pass random_state=1."),
        ({"n_clusters": 3}, " Pass k=3."),
        ({"fixed": [4]}, " Pass constraints=Constraints(fixed=[4])."),
        ({"standardize": True}, " Pass preparation=Preparation(standardize=True)."),
        ({"columns": ["a"]}, " Pass data.open_rows(source, columns=['a']) as the source."),
        ({"labels": ["a"] * 50}, " Pass by=…."),
        ({"metrc": "l1"}, " Did you mean 'metric'?"),
        ({"zzz": 1}, ""),
    ],
)
def test_an_unknown_keyword_names_what_was_meant(keywords, advice):
    (name,) = keywords
    with pytest.raises(TypeError) as raised:
        pb.select(ROWS, **keywords)
    assert str(raised.value) == f"select() got an unexpected keyword argument {name!r}.{advice}"


def test_a_function_gets_no_advice_it_does_not_support():
    with pytest.raises(TypeError, match=r"^plan\(\) got an unexpected keyword argument 'seed'\.$"):
        pb.plan(ROWS, k=2, seed=1)


def test_known_keywords_pass():
    assert pb.select(ROWS, k=2, random_state=0).k == 2
