"""Run the examples in all docstrings."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import protobandit

MODULES = [
    "protobandit",
    *(
        module.name
        for module in pkgutil.walk_packages(protobandit.__path__, "protobandit.")
        if not module.name.endswith("__main__")
    ),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder()
    found = [t for n in MODULES for t in finder.find(importlib.import_module(n)) if t.examples]
    assert len(found) >= 6
