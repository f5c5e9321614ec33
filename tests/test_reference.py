"""The reference has every public name, and docstrings have every parameter."""

from __future__ import annotations

import inspect
import re
from enum import Enum
from pathlib import Path

import pytest
from numpydoc.docscrape import NumpyDocString

import protobandit as pb

MODULES = {"": pb, "methods.": pb.methods, "data.": pb.data}
NAMES = [f"{prefix}{name}" for prefix, module in MODULES.items() for name in module.__all__]
API = Path(__file__).parents[1] / "docs" / "api"


def value_of(name):
    """Return a public name such as "methods.PAM"."""
    prefix, _, last = name.rpartition(".")
    return getattr(MODULES[f"{prefix}." if prefix else ""], last)


def listed(text):
    """Return the public names that a page of the reference describes."""
    names, module = set(), ""
    for line in text.splitlines():
        if found := re.match(r"\.\. (?:current)?module:: protobandit(?:\.(\w+))?$", line):
            module = f"{found[1]}." if found[1] else ""
            names.update([found[1]] if found[1] else [])
        elif found := re.match(r"(?:   |\.\. py:data:: )([\w.]+)$", line):
            names.add(module + found[1])
    return names


def is_public(function):
    """Return whether the reference shows a method; its docstring says so."""
    return ":meta private:" not in (inspect.getdoc(function) or "")


def public_functions(name):
    """Yield the functions of a name: itself, or the constructor and the methods of a class."""
    value = value_of(name)
    if not callable(value) or (inspect.isclass(value) and issubclass(value, Exception)):
        return
    yield name, value
    is_record = inspect.isclass(value) and pb.methods.Method in value.__mro__[1:]
    if not inspect.isclass(value) or is_record:  # what methods do is described in `Method`
        return
    for member in dir(value):
        function = getattr(value, member)
        is_own = (getattr(function, "__module__", None) or "").startswith("protobandit.")
        if not member.startswith("_") and inspect.isroutine(function) and is_own:
            yield f"{name}.{member}", function


FUNCTIONS = {
    label: function
    for name in NAMES
    for label, function in public_functions(name)
    if is_public(function)
}


def documented(function):
    """Return the parameters that a docstring describes, or the attributes of a record."""
    sections = NumpyDocString(inspect.getdoc(function) or "")
    is_record = inspect.isclass(function) and parameters(function) and not sections["Parameters"]
    entries = sections["Attributes" if is_record else "Parameters"]
    described = {
        name.strip(" *"): entry.desc for entry in entries for name in entry.name.split(",")
    }
    return {name for name, text in described.items() if any(text)}


def parameters(function):
    """Return the names of the parameters of a function, or of the members of an enumeration."""
    if inspect.isclass(function) and issubclass(function, Enum):
        return set(function.__members__)
    return set(inspect.signature(function).parameters) - {"self"}


def test_the_reference_has_every_public_name():
    shown = set().union(*(listed(page.read_text(encoding="utf-8")) for page in API.glob("*.rst")))
    missing = set(NAMES) - shown
    assert not missing, "add these names to a page in docs/api"


@pytest.mark.parametrize("label", FUNCTIONS)
def test_every_parameter_is_documented(label):
    function = FUNCTIONS[label]
    assert documented(function) == parameters(function)


def test_every_function_is_described():
    assert not [label for label, function in FUNCTIONS.items() if not inspect.getdoc(function)]


def test_gaps_are_noticed():
    def documented_in_part(a, b, c):
        """Do nothing.

        Parameters
        ----------
        a, d
            Described.
        b
        """

    assert documented(documented_in_part) == {"a", "d"}
    assert listed(
        ".. currentmodule:: protobandit\n\n   a\n.. module:: protobandit.data\n\n   b"
    ) == {*("a", "data", "data.b")}
    assert {"select", "Selection.assign", "methods.PAM", "methods.Method.picks"} <= set(FUNCTIONS)
    assert "Coverage.kept" not in FUNCTIONS
