"""The state of a generator of random numbers, as what JSON can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from protobandit.foundation.errors import InvalidInput


def state_of(random: np.random.Generator) -> Any:
    """Return where a generator stands."""
    return _plain(random.bit_generator.state)


def set_state(random: np.random.Generator, state: Any) -> None:
    """Put a generator where another of its kind has stood."""
    try:
        random.bit_generator.state = _numeric(state)
    except (TypeError, ValueError, KeyError):
        kind = type(random.bit_generator).__name__
        raise InvalidInput(
            f"checkpoint: its random numbers were not those of {kind}. Pass the random_state it "
            f"was made with, or another path."
        ) from None


def _plain(state: Any) -> Any:
    if isinstance(state, dict):
        return {name: _plain(value) for name, value in state.items()}
    if isinstance(state, np.ndarray):
        return {"dtype": str(state.dtype), "numbers": state.tolist()}
    return state.item() if isinstance(state, np.generic) else state


def _numeric(state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    if set(state) == {"dtype", "numbers"}:
        return np.array(state["numbers"], dtype=state["dtype"])
    return {name: _numeric(value) for name, value in state.items()}
