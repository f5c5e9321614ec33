import numpy as np
import pandas as pd
import pytest

from protobandit.result.report.exhibit import RowDisplay
from protobandit.result.report.row_names import rows_called
from protobandit.result.report.sample import Nearest

NEAREST = Nearest(np.array([1500, 3]), np.array([0, 1]), np.array([0.5, 0.25]))


def names(*of_3_and_1500):
    given = ["other"] * 2000
    given[3], given[1500] = of_3_and_1500
    return rows_called(RowDisplay(kind="texts", take=list, names=given), NEAREST).names


def test_rows_are_called_by_their_names_in_the_order_given():
    assert names("third", "late") == ["late", "third"]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA, "", "  "])
def test_a_row_without_a_name_is_called_by_its_number(missing):
    assert names("third", missing) == ["row 1,500", "third"]


def test_a_number_with_a_gap_in_its_column_is_still_whole():
    assert names(7.0, float("nan")) == ["row 1,500", "7"]


def test_rows_know_their_prototypes():
    called = rows_called(RowDisplay(kind="texts", take=list), NEAREST)
    assert called.names is None
    assert called.nearest.tolist() == [0, 1]
    assert called.distances.tolist() == [0.5, 0.25]
