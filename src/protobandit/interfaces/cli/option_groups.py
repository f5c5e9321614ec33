"""Groups of options that `select` and `compare` share, as records.

typer reads one option per parameter of a function. A command declares a parameter for a whole
group; `with_option_groups` gives typer the fields of the group in its place, and the command
receives the record.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

from protobandit.interfaces.cli import options, parsing
from protobandit.interfaces.cli.options import listed

if TYPE_CHECKING:
    from protobandit.interfaces.jobs.opened_problem import SelectArguments
    from protobandit.interfaces.jobs.read_options import ReadOptions
    from protobandit.problem.limits import Limits
    from protobandit.rows.preparation.preparation import Preparation


@dataclass(frozen=True, kw_only=True)
class ProblemOptions:
    """Files, feature columns, metric and preparation, as text."""

    sources: options.Sources
    k: Annotated[str, listed("-k")]
    target: Annotated[list[str] | None, listed("--target")] = None
    columns: Annotated[list[str] | None, listed("--columns")] = None
    exclude: Annotated[list[str] | None, listed("--exclude")] = None
    where: Annotated[str | None, listed("--where")] = None
    id: Annotated[str | None, listed("--id")] = None
    label: Annotated[str | None, listed("--label")] = None
    weights: Annotated[str | None, listed("--weights")] = None
    image_size: Annotated[str | None, listed("--image-size")] = None
    colour: Annotated[bool, listed("--colour")] = False
    sample_rows: Annotated[str | None, listed("--sample-rows")] = None
    assume_shuffled: Annotated[bool, listed("--assume-shuffled")] = False
    cache: Annotated[str | None, listed("--cache")] = None
    metric: Annotated[str | None, listed("--metric", autocompletion=options.complete_metric)] = None
    metric_param: Annotated[list[str] | None, listed("--metric-param")] = None
    standardize: Annotated[bool, listed("--standardize")] = False
    normalize: Annotated[bool, listed("--normalize")] = False
    pca: Annotated[str | None, listed("--pca")] = None
    categories: Annotated[options.Categories | None, listed("--categories")] = None
    impute: Annotated[options.Impute | None, listed("--impute")] = None

    def read_options(self) -> ReadOptions:
        """Return how files become rows."""
        from protobandit.interfaces.jobs.read_options import ReadOptions

        return ReadOptions(
            columns=tuple(self.columns or ()),
            exclude=tuple(self.exclude or ()),
            where=self.where,
            id=self.id,
            label=self.label,
            weights=self.weights,
            has_categories=self.categories is not None,
            image_size=parsing.parse_optional_integer(self.image_size, "--image-size"),
            is_colour=self.colour,
            sample=parsing.parse_optional_integer(self.sample_rows, "--sample-rows"),
            assume_shuffled=self.assume_shuffled,
            cache=self.cache,
        )

    def preparation(self) -> Preparation | None:
        """Return how rows are prepared, or None if they are not."""
        from protobandit.rows.preparation.preparation import Preparation

        requested = Preparation(
            standardize=self.standardize,
            normalize=self.normalize,
            pca=None if self.pca is None else parsing.parse_pca(self.pca),
            categories=None if self.categories is None else self.categories.value,
            impute=None if self.impute is None else self.impute.value,
        )
        return None if requested == Preparation() else requested


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """Seed, threads and limits, as text."""

    seed: options.Seed = "0"
    jobs: options.Jobs = None
    max_evaluations: Annotated[str | None, listed("--max-evaluations")] = None
    max_seconds: Annotated[str | None, listed("--max-seconds")] = None
    max_memory: Annotated[str | None, listed("--max-memory")] = None

    def limits(self) -> Limits:
        """Return the limits of a search."""
        from protobandit.problem.limits import Limits

        seconds, memory = self.max_seconds, self.max_memory
        return Limits(
            evaluations=parsing.parse_optional_integer(self.max_evaluations, "--max-evaluations"),
            seconds=None if seconds is None else parsing.parse_seconds(seconds, "--max-seconds"),
            memory=None if memory is None else parsing.parse_bytes(memory),
        )


def select_arguments(problem: ProblemOptions, search: SearchOptions) -> SelectArguments:
    """Return the parsed options of both groups; the rest has its default."""
    from protobandit.interfaces.jobs.opened_problem import SelectArguments

    return SelectArguments(
        sources=tuple(problem.sources),
        targets=tuple(problem.target or ()),
        k=parsing.parse_k(problem.k),
        read_options=problem.read_options(),
        preparation=problem.preparation(),
        metric=problem.metric,
        metric_parameters=parsing.parse_parameters(problem.metric_param, "--metric-param"),
        limits=search.limits(),
        seed=parsing.parse_seed(search.seed),
        n_jobs=parsing.parse_jobs(search.jobs),
    )


def with_option_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with each parameter that is a group replaced by the fields of the group.

    >>> import inspect
    >>> @with_option_groups
    ... def run(search: SearchOptions, quiet: bool = False) -> None:
    ...     print(search.seed, quiet)
    >>> list(inspect.signature(run).parameters)[-2:]
    ['max_memory', 'quiet']
    >>> run(seed="3", quiet=True)
    3 True
    """
    # Not get_type_hints: before Python 3.11 it hides options whose default is None in an Optional.
    given = signature(command, eval_str=True).parameters
    types = {name: parameter.annotation for name, parameter in given.items()}
    groups: dict[str, Any] = {name: each for name, each in types.items() if is_dataclass(each)}
    parameters: list[Parameter] = []
    for name, parameter in given.items():
        if name in groups:
            parameters += _parameters_of(groups[name])
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            own = {each.name for each in fields(group)} & values.keys()
            values[name] = group(**{each: values.pop(each) for each in own})
        command(**values)

    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _parameters_of(group: Any) -> list[Parameter]:
    types = get_type_hints(group, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=types[field.name],
        )
        for field in fields(group)
    ]
