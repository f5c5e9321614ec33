"""Outside data never make a compiled loop leave its arrays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bounds
import protobandit as pb


@pytest.mark.parametrize("form", bounds.FORMATS)
def test_plain_python_reads_valid_matrices_of_every_format(form):
    matrix, dense = bounds.small_matrix(np.random.default_rng(1), form)
    assert np.array_equal(bounds.dense_or_none(matrix), dense)


def test_hostile_calls_stay_within_their_arrays():
    """Loops are compiled with checks of indices."""
    environment = {**os.environ, "PROTOBANDIT_CHECK_INDICES": "1"}
    script = [sys.executable, "-W", "error", str(Path(bounds.__file__)), "0", "40"]
    done = subprocess.run(script, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-2000:]
    n_refused = json.loads(done.stdout)
    assert all(n >= 5 for n in n_refused.values()), n_refused


def test_quotas_that_restrict_nothing_do_not_change_the_result():
    """A loop once read the slots of a second group, although there was only one."""
    rows = np.random.default_rng(0).normal(size=(60, 3))
    groups = np.arange(60) % 3
    free = pb.select(rows, k=6, random_state=0)
    quotas = pb.Constraints(groups=groups, at_most=20)
    assert pb.select(rows, k=6, random_state=0, constraints=quotas).indices.tolist() == (
        free.indices.tolist()
    )
