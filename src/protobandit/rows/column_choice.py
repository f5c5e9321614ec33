"""Decide which columns of a table are compared, and say why the others are not.

The decisions need only the name and the kind of each column. So they are the same for files and for
the frames of every library.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from shlex import quote
from typing import NoReturn

from protobandit.foundation.errors import InvalidInput
from protobandit.rows.messages import shortened, suggestion

# Names under which pandas writes row numbers. They are compared only on request.
_ROW_NUMBERS = {"", "Unnamed: 0", "__index_level_0__"}
_ARE_ROW_NUMBERS = "row numbers written by pandas"
_MOST_NAMED = 8  # columns in the text of an option
_MOST_CATEGORIES = 50  # distinct texts of a column that is recommended to be read as categories


@dataclass(frozen=True)
class ColumnDescription:
    """A column: its name, its kind, and its type as its own library writes it.

    ``kind`` is "number", "vector" (of numbers), "text" or "other".
    """

    name: str
    kind: str
    type: str


@dataclass(frozen=True)
class OptionNames:
    """What an interface calls the options that messages recommend.

    ``choose(option, names)`` returns how to pass names of columns to "columns" or "exclude".
    """

    choose: Callable[[str, Sequence[str]], str]
    prefix: str = ""
    categories: str = "preparation=Preparation(categories='one-hot')"
    standardize: str = "preparation=Preparation(standardize=True)"


def _as_words(option: str, names: Sequence[str]) -> str:
    """Return an option of the command line; a name with a comma is a word of its own."""
    words = names if any("," in name for name in names) else [",".join(names)]
    return " ".join(f"--{option} {quote(word)}" for word in words)


def _of_file(option: str, names: Sequence[str]) -> str:
    return f"data.open_rows(path, {option}={list(names)})"


def _of_frame(option: str, names: Sequence[str]) -> str:
    with_or_without = {"columns": "with only", "exclude": "without"}[option]
    return f"the frame {with_or_without} {list(names)}"


COMMAND_LINE = OptionNames(_as_words, "--", "--categories one-hot", "--standardize")
FILE = OptionNames(_of_file)
FRAME = OptionNames(_of_frame)


@dataclass(frozen=True, kw_only=True)
class ColumnRequest:
    """Which columns the user named.

    Attributes
    ----------
    owner
        The table in messages.
    columns
        Names and patterns of the columns to compare; None means that they are to be chosen.
    exclude
        Names and patterns of columns that are not compared.
    roles
        By column, what it is used for instead: "row ids (--id)". A column that ``columns`` names
        is compared all the same.
    others
        Why columns are left out that ``columns`` does not name; "" means that the user named some.
    has_categories
        Whether texts are compared as categories.
    options
        What the interface calls its options.
    """

    owner: str
    columns: Sequence[str] | None = None
    exclude: Sequence[str] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    others: str = ""
    has_categories: bool = False
    options: OptionNames = FILE


@dataclass(frozen=True)
class ColumnChoice:
    """The compared columns, and the reason for each column that is left out."""

    compared: tuple[str, ...]
    left_out: Mapping[str, str]


TextsOf = Callable[[str], Sequence[object]]  # some values of a column


def choose_columns(
    columns: Sequence[ColumnDescription], asked: ColumnRequest, texts_of: TextsOf
) -> ColumnChoice:
    """Return which columns are compared; raise if one of them cannot be.

    Columns of vectors are compared alone unless others are named. ``texts_of`` is called only for
    messages.
    """
    names = [each.name for each in columns]
    left_out = _excluded(names, asked)
    if asked.columns is not None:
        wanted, more = _named(names, asked)
        compared = [name for name in wanted if name not in left_out]
        left_out = more | left_out
    else:
        left_out = {name: asked.roles[name] for name in names if name in asked.roles} | left_out
        left_out |= {name: _ARE_ROW_NUMBERS for name in names if name in _ROW_NUMBERS - {*left_out}}
        left_out |= _beside_vectors(columns, asked, left_out)
        compared = [name for name in names if name not in left_out]
    if not compared:
        _raise_none_left(names, left_out, asked)
    kinds = {each.name: each.kind for each in columns}
    is_one_text = asked.columns is not None and [kinds[name] for name in compared] == ["text"]
    allowed = {"number", "vector"} | ({"text"} if asked.has_categories or is_one_text else set())
    wrong = [each for each in columns if each.kind not in allowed and each.name not in left_out]
    if wrong:
        _raise_not_numbers(wrong, asked, texts_of, is_all=len(wrong) == len(compared))
    return ColumnChoice(
        tuple(compared), {name: left_out[name] for name in names if name in left_out}
    )


def described(choice: ColumnChoice) -> str:
    """Return the choice as sentences for the status of a run."""
    compared = f"Compared columns: {shortened(map(repr, choice.compared))}."
    if not choice.left_out:
        return compared
    return f"{compared} Left out: {shortened_reasons(choice.left_out)}."


def shortened_reasons(left_out: Mapping[str, str], most: int = 8) -> str:
    """Return the columns of each reason why they are left out, in one line."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        by_reason.setdefault(reason, []).append(repr(name))
    return "; ".join(f"{shortened(names, most)} ({why})" for why, names in by_reason.items())


# -- what is left out -----------------------------------------------------------------------------


def _excluded(names: Sequence[str], asked: ColumnRequest) -> dict[str, str]:
    found = matching(names, asked.exclude, asked)
    return dict.fromkeys(found, f"named by {asked.options.prefix}exclude")


def _named(names: Sequence[str], asked: ColumnRequest) -> tuple[list[str], dict[str, str]]:
    """Return the columns that ``columns`` names, and why the others are left out.

    A pattern does not name a column that has another role; its own name does.
    """
    assert asked.columns is not None
    known = set(names)
    own = {part for word in asked.columns for part in _parts(word, known)}
    found = dict.fromkeys(matching(names, asked.columns, asked))
    wanted = {name: None for name in found if name in own or name not in asked.roles}
    otherwise = asked.others or f"not named by {asked.options.prefix}columns"
    return list(wanted), {
        name: asked.roles.get(name, otherwise) for name in names if name not in wanted
    }


def _beside_vectors(
    columns: Sequence[ColumnDescription], asked: ColumnRequest, left_out: Mapping[str, str]
) -> dict[str, str]:
    """Return what stands beside columns of vectors, which are compared alone.

    Texts that are to be read as categories are compared too, and then everything is.
    """
    rest = [each for each in columns if each.name not in left_out]
    vectors = [repr(each.name) for each in rest if each.kind == "vector"]
    others = [each for each in rest if each.kind != "vector"]
    has_texts = asked.has_categories and any(each.kind == "text" for each in others)
    if not vectors or has_texts:
        return {}
    return {each.name: f"beside the vectors of {shortened(vectors, 2)}" for each in others}


def owners_of(features: Iterable[str], names: Sequence[str]) -> list[str] | None:
    """Return the columns that hold these features; None if one of them is missing.

    The numbers of vectors have names such as "v[0]".
    """
    known = set(names)
    found = [each if each in known else each.rpartition("[")[0] for each in features]
    return list(dict.fromkeys(found)) if set(found) <= known else None


def matching(names: Sequence[str], patterns: Sequence[str], asked: ColumnRequest) -> Iterator[str]:
    """Yield the columns that names and patterns stand for; raise if one stands for none.

    A word with commas that is not itself a name is several names or patterns.
    """
    known = set(names)
    for word in patterns:
        for pattern in _parts(word, known):
            found = [pattern] if pattern in known else [n for n in names if fnmatchcase(n, pattern)]
            if not found:
                raise InvalidInput(
                    f"{asked.owner} has no column {pattern!r}, and none that matches it as a "
                    f"pattern.{suggestion(pattern, names)} It has {shortened(map(repr, names))}."
                )
            yield from found


def _parts(word: str, names: Collection[str]) -> list[str]:
    if word in names or "," not in word:
        return [word]
    parts = [part if part in names else part.strip() for part in word.split(",")]
    return [part for part in parts if part or part in names] or [word]


# -- messages -------------------------------------------------------------------------------------


def _raise_none_left(
    names: Sequence[str], left_out: Mapping[str, str], asked: ColumnRequest
) -> NoReturn:
    if not names:
        raise InvalidInput(f"{asked.owner} has no columns. Pass a table with at least one.")
    advice = f"Pass {asked.options.choose('columns', ['NAME'])} to name some."
    if asked.exclude:
        advice = f"Remove columns from {asked.options.prefix}exclude."
    raise InvalidInput(
        f"{asked.owner} has no columns to compare: {shortened_reasons(left_out)}. {advice}"
    )


def _raise_not_numbers(
    wrong: Sequence[ColumnDescription], asked: ColumnRequest, texts_of: TextsOf, *, is_all: bool
) -> NoReturn:
    shown = shortened((f"{each.name!r} ({each.type})" for each in wrong), 5)
    names, options = [each.name for each in wrong], asked.options
    if all(each.kind == "text" and are_categories(texts_of(each.name)) for each in wrong):
        advice = f"{options.categories} to compare them as categories"
    elif is_all:
        texts = [each.name for each in wrong if each.kind == "text"][:1]
        advice = "a table with columns of numbers"
        if texts:
            is_frame = options is FRAME  # of which one column is a Series
            given = f"frame[{texts[0]!r}]" if is_frame else options.choose("columns", texts)
            advice = f"{given} to compare the texts of one column"
    elif len(names) > _MOST_NAMED:
        advice = f"{options.choose('columns', ['NAME'])} to name the columns to compare"
    else:
        advice = f"{options.choose('exclude', names)} to leave them out"
    raise InvalidInput(f"{asked.owner} has column(s) that are not numbers: {shown}. Pass {advice}.")


def are_categories(texts: Sequence[object]) -> bool:
    """Return whether texts repeat so often that they seem to be categories."""
    n_distinct = len(set(map(str, texts)))
    return n_distinct <= min(_MOST_CATEGORIES, len(texts) / 2)
