"""Option groups: one list of options for several commands."""

import inspect
from dataclasses import fields

import pytest

from protobandit import InvalidInput, Limits, Preparation
from protobandit.interfaces.cli import options
from protobandit.interfaces.cli.compare_command import compare
from protobandit.interfaces.cli.option_groups import (
    ProblemOptions,
    SearchOptions,
    select_arguments,
)
from protobandit.interfaces.cli.select_command import select

ROWS = {"sources": ["a.csv", "b.csv"], "k": "3"}


@pytest.mark.parametrize("group", [ProblemOptions, SearchOptions])
def test_both_commands_have_all_options_of_a_group(group):
    shared = [inspect.signature(command).parameters for command in (select, compare)]
    for field in fields(group):
        first, second = (parameters[field.name] for parameters in shared)
        assert first == second


def test_defaults():
    arguments = select_arguments(ProblemOptions(**ROWS), SearchOptions())
    assert arguments.sources == ("a.csv", "b.csv")
    assert (arguments.k, arguments.targets, arguments.seed) == (3, (), 0)
    assert (arguments.preparation, arguments.metric, arguments.n_jobs) == (None, None, None)
    assert arguments.limits == Limits()
    assert arguments.read_options.to_document() == {}


def test_every_option_is_parsed():
    problem = ProblemOptions(
        **ROWS,
        target=["t.csv"],
        columns=["x*"],
        id="name",
        label="kind",
        weights="w",
        image_size="8",
        colour=True,
        sample_rows="1e3",
        assume_shuffled=True,
        cache="kept",
        metric="minkowski",
        metric_param=["p=3"],
        standardize=True,
        normalize=True,
        pca="0.9",
        categories=options.Categories.one_hot,
        impute=options.Impute.most_frequent,
    )
    limits = {"max_evaluations": "1e6", "max_seconds": "60", "max_memory": "1GB"}
    arguments = select_arguments(problem, SearchOptions(seed="7", jobs="2", **limits))
    assert arguments.read_options.to_document() == {
        "columns": ("x*",),
        "id": "name",
        "label": "kind",
        "weights": "w",
        "has_categories": True,
        "image_size": 8,
        "is_colour": True,
        "sample": 1000,
        "assume_shuffled": True,
        "cache": "kept",
    }
    assert arguments.preparation == Preparation(
        standardize=True, normalize=True, pca=0.9, categories="one-hot", impute="most-frequent"
    )
    assert (arguments.targets, arguments.metric) == (("t.csv",), "minkowski")
    assert arguments.metric_parameters == {"p": 3}
    assert arguments.limits == Limits(evaluations=10**6, seconds=60, memory=10**9)
    assert (arguments.seed, arguments.n_jobs) == (7, 2)


@pytest.mark.parametrize("given", [{"seed": "x"}, {"jobs": "0"}, {"max_seconds": "0"}])
def test_invalid_options(given):
    (name,) = given
    with pytest.raises(InvalidInput, match=f"^--{name.replace('_', '-')} "):
        select_arguments(ProblemOptions(**ROWS), SearchOptions(**given))
