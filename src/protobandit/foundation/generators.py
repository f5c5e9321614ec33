"""Random generators: made from a ``random_state``, saved as JSON and restored."""

from __future__ import annotations

import operator
from contextlib import suppress
from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput


def as_generator(random_state: Any) -> np.random.Generator:
    """Return a generator from None, a seed, a Generator or a legacy RandomState."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**32, size=4, dtype=np.uint32))
    if random_state is None:
        return np.random.default_rng()
    with suppress(TypeError, ValueError):  # not an integer, or a negative one
        if not isinstance(random_state, bool):
            return np.random.default_rng(operator.index(random_state))
    raise InvalidInput(
        f"random_state={random_state!r:.60} is not a valid random_state. Pass None, an int >= 0, a "
        f"NumPy Generator or a RandomState."
    )


def independent_generator(random_state: Any, *key: int) -> np.random.Generator:
    """Return a generator that is independent of the one of a search with the same seed.

    Rows on which a search chose prototypes must not judge them, and users pass the same seed to
    every call. Each ``key`` gives other random numbers.
    """
    seeds = as_generator(random_state).integers(2**63, size=4)
    return np.random.default_rng([*key, *seeds.tolist()])


def state_of(random: np.random.Generator) -> Any:
    """Return the state of a generator as values that JSON can hold."""
    return _as_json(random.bit_generator.state)


def set_state(random: np.random.Generator, state: Any) -> None:
    """Set the state of a generator to what `state_of` returned for another of the same type."""
    try:
        random.bit_generator.state = _from_json(state)
    except (TypeError, ValueError, KeyError):
        kind = type(random.bit_generator).__name__
        raise InvalidInput(
            f"checkpoint: its random numbers do not come from a {kind}. Pass the random_state it "
            f"was written with, or another path."
        ) from None


def _as_json(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _as_json(value) for name, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"dtype": str(state.dtype), "numbers": state.tolist()}
    return state.item() if isinstance(state, np.generic) else state


def _from_json(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    if set(state) == {"dtype", "numbers"}:
        return np.array(state["numbers"], dtype=state["dtype"])
    return {name: _from_json(value) for name, value in state.items()}
