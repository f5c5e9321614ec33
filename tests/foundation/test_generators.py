from __future__ import annotations

import json

import numpy as np
import pytest

from protobandit.foundation.errors import InvalidInput
from protobandit.foundation.generators import (
    as_generator,
    independent_generator,
    set_state,
    state_of,
)


@pytest.mark.parametrize("seed", [0, 7, np.int64(7), 2**70])
def test_a_seed_gives_the_generator_of_numpy(seed):
    expected = np.random.default_rng(int(seed)).random(4)
    np.testing.assert_array_equal(as_generator(seed).random(4), expected)


def test_a_generator_is_returned_unchanged():
    random = np.random.default_rng(0)
    assert as_generator(random) is random


def test_a_random_state_seeds_a_generator():
    one, other = (as_generator(np.random.RandomState(3)).random(4) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_independent_generators_differ_by_key_and_repeat():
    own = np.random.default_rng(0).random(4).tolist()
    found = [independent_generator(0, *key).random(4).tolist() for key in ((1,), (2,), (2, 1))]
    assert len({number for numbers in (own, *found) for number in numbers}) == 16
    assert independent_generator(0, 1).random(4).tolist() == found[0]


@pytest.mark.parametrize("value", [-1, 1.0, "seed", True, [1], np.array([1, 2])])
def test_invalid_random_states_raise(value):
    with pytest.raises(InvalidInput, match=r"is not a valid random_state. Pass None, an int >= 0"):
        as_generator(value)


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.MT19937, np.random.Philox])
def test_a_state_survives_json(kind):
    random, other = (np.random.Generator(kind(seed)) for seed in (1, 2))
    random.random(5)
    set_state(other, json.loads(json.dumps(state_of(random))))
    np.testing.assert_array_equal(other.random(6), random.random(6))


def test_the_state_of_another_type_raises():
    state = state_of(np.random.Generator(np.random.MT19937(0)))
    with pytest.raises(InvalidInput, match="do not come from a PCG64"):
        set_state(np.random.default_rng(0), state)
