from __future__ import annotations

from itertools import pairwise

import pytest

from protobandit.search.drivers.localsearch.schedule import Size


def size_of(n, k, *, n_target=None, **other):
    defaults = {"is_same": n_target is None, "is_indexed": True, "row_bytes": 256.0, "itemsize": 4}
    return Size(n_source=n, n_target=n_target or n, k=k, **(defaults | other))


def test_stages_grow_and_the_last_judges_all_rows():
    stages = size_of(1_000_000, 1000).stages(2.5)
    sizes = [stage.n_rows for stage in stages]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 1_000_000
    assert all(b <= 8 * a for a, b in pairwise(sizes))
    assert all(stage.are_judged for stage in stages)


def test_all_source_rows_take_part_at_any_size():
    for n, k, n_target in ((10**7, 1000, None), (10**8, 10, None), (10**6, 50, 2000)):
        for effort in (1.0, 2.5, 6.0):
            last = size_of(n, k, n_target=n_target).stages(effort)[-1]
            assert last.n_sources == n


def test_large_sources_are_read_and_not_kept():
    last = size_of(10**8, 1000).stages(2.5)[-1]
    assert not last.is_held
    assert not last.are_judged
    assert size_of(10**8, 1000).memory([last]) < 10**8 * 40


def test_lists_are_no_longer_than_the_number_of_prototypes():
    for k in (1, 2, 3, 50):
        assert all(stage.width.n_near <= k for stage in size_of(10_000, k).stages(6.0))


@pytest.mark.parametrize("n_target", [None, 30_000])
@pytest.mark.parametrize("k", [1, 100, 5000])
def test_no_stage_is_expected_to_exceed_its_largest_number(k, n_target):
    size = size_of(200_000, k, n_target=n_target)
    stages = size.stages(2.5)
    assert 0 < size.evaluations(stages) <= size.most_evaluations(stages)


def test_fewer_rows_are_cheaper():
    size = size_of(500_000, 200)
    few, all_rows = size.stages(2.5, 50_000), size.stages(2.5)
    assert max(stage.n_rows for stage in few) == 50_000
    assert size.evaluations(few) < size.evaluations(all_rows)


def test_long_rows_have_shorter_lists_and_fewer_candidates():
    short, long = (size_of(60_000, 1000, row_bytes=n).stages(2.5)[-1].width for n in (256, 3136))
    assert long.n_near < short.n_near
    assert long.n_candidates < short.n_candidates


def test_few_rows_have_few_candidates():
    # 20 judged rows are at most 20 candidates, each of which is compared with at most 20 rows.
    size = size_of(2000, 20)
    (first, *_) = size.stages(2.5, 20)
    lists = first.n_rows * (2 * first.width.n_near + first.width.n_common)
    probed = first.n_rows * first.width.n_probes
    assert size.most_pass_evaluations(first) <= 20 * 20 + lists + probed


def test_little_effort_makes_some_passes():
    for n, k in ((60_000, 1000), (1_000_000, 1000), (100_000, 100)):
        assert size_of(n, k).stages(0.02)[0].n_passes >= 3
