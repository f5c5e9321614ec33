"""Misspelled words and their edit distances (rapidfuzz)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def misspelled_words(
    n: int, *, n_words: int = 200, most_edits: int = 6, seed: int = 0
) -> list[str]:
    """Return ``n`` strings, each a word with 1 to ``most_edits`` letters changed.

    The words are random and have 6 to 18 letters. Their frequencies follow Zipf's law.
    """
    random = np.random.default_rng(seed)
    lengths = random.integers(6, 19, size=n_words)
    words = [random.choice(_LETTERS, size=length).tolist() for length in lengths]
    frequency = 1 / np.arange(1, n_words + 1)
    chosen = random.choice(n_words, size=n, p=frequency / frequency.sum())
    edits = random.integers(1, most_edits + 1, size=n)
    return [_misspelled(words[i], m, random) for i, m in zip(chosen, edits, strict=True)]


def _misspelled(word: list[str], n_edits: int, random: np.random.Generator) -> str:
    letters = list(word)
    for kind in random.integers(3, size=n_edits):  # 0 inserts, 1 replaces, 2 deletes
        at = int(random.integers(len(letters) + (kind == 0)))
        new = [] if kind == 2 and len(letters) > 1 else [str(random.choice(_LETTERS))]
        letters[at : at + (kind != 0)] = new
    return "".join(letters)


def edit_distances(first: Sequence[str], second: Sequence[str]) -> np.ndarray:
    """Return the Levenshtein distances of all pairs."""
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cdist

    return cdist(first, second, scorer=Levenshtein.distance, dtype=np.uint8, workers=-1)
