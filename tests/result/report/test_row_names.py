import numpy as np
import pandas as pd
import pytest

from protobandit.result.report.row_display import RowDisplay
from protobandit.result.report.row_names import target_row_names
from protobandit.result.report.sample import Nearest

NEAREST = Nearest(np.array([1500, 3]), np.array([0, 1]), np.array([0.5, 0.25]))


def names(*of_3_and_1500):
    given = ["other"] * 2000
    given[3], given[1500] = of_3_and_1500
    return target_row_names(RowDisplay(kind="texts", take=list, names=given), NEAREST).names


def test_names_are_in_the_order_given():
    assert names("third", "late") == ["late", "third"]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, "", "  "])
def test_a_row_without_a_name_has_its_number(missing):
    assert names("third", missing) == ["row 1,500", "third"]


def test_integer_names_read_as_floats_are_integers():
    assert names(7.0, float("nan")) == ["row 1,500", "7"]


def test_rows_have_their_nearest_prototypes():
    named = target_row_names(RowDisplay(kind="texts", take=list), NEAREST)
    assert named.names is None
    assert named.nearest.tolist() == [0, 1]
    assert named.distances.tolist() == [0.5, 0.25]
