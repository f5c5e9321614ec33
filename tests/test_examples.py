"""Run the examples in all docstrings."""

from __future__ import annotations

import doctest
import importlib
import inspect
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


class Finder(doctest.DocTestFinder):
    """Also finds the examples of decorated functions."""

    def _from_module(self, module, object):
        return super()._from_module(module, inspect.unwrap(object))


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    runner = doctest.DocTestRunner()
    for test in Finder().find(importlib.import_module(name)):
        runner.run(test)
    assert runner.summarize().failed == 0


def test_there_are_examples():
    finder = Finder()
    found = [t for n in MODULES for t in finder.find(importlib.import_module(n)) if t.examples]
    assert any(test.name == "protobandit._select.select" for test in found)
    assert len(found) >= 6
