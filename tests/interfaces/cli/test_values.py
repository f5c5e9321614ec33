"""What is typed, as values."""

import pytest

from protobandit import InvalidInput
from protobandit.interfaces.cli import values


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("0.05", 0.05), ("auto", "auto"), ("1e-2", 0.01), ("1e3", 1000)]
)
def test_k(text, value):
    found = values.as_k(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4GB", 4 * 10**9),
        ("500mb", 5 * 10**8),
        ("1.5GiB", 3 * 2**29),
        ("2000", 2000),
        ("1 k", 1000),
    ],
)
def test_size(text, value):
    assert values.as_size(text) == value


@pytest.mark.parametrize("text", ["", "GB", "4XB", "-1GB", "0", "1.2.3MB", "4ib"])
def test_what_is_no_size(text):
    with pytest.raises(InvalidInput, match=r"is not a size\. Pass one such as"):
        values.as_size(text)


@pytest.mark.parametrize(("text", "value"), [("1e9", 10**9), ("12", 12), ("1", 1)])
def test_whole(text, value):
    found = values.as_whole(text, "--n")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "inf", "nan", "many"])
def test_what_is_no_whole_number(text):
    with pytest.raises(InvalidInput, match=rf"--n '{text}' is not a whole number >= 1"):
        values.as_whole(text, "--n")


def test_whole_numbers_from_0_and_threads():
    assert values.as_whole("0", "--n", least=0) == 0
    assert values.as_optional(None, "--n") is None
    assert (values.as_jobs("-1"), values.as_jobs("3")) == (-1, 3)
    for text in ("0", "-2", "all"):
        with pytest.raises(InvalidInput, match=rf"--jobs '{text}' is not a whole number >= 1"):
            values.as_jobs(text)


def test_seconds():
    assert values.as_seconds("1e-3", "--s") == 0.001
    assert values.as_seconds("0", "--s", is_zero_allowed=True) == 0.0
    for text in ("0", "-1", "nan", "inf", "soon"):
        with pytest.raises(InvalidInput, match=rf"--s '{text}' is not a number > 0"):
            values.as_seconds(text, "--s")


@pytest.mark.parametrize("text", ["0", "1", "95", "nan", "high"])
def test_what_is_no_confidence(text):
    with pytest.raises(InvalidInput, match=rf"--confidence '{text}' is not between 0 and 1"):
        values.as_confidence(text)


@pytest.mark.parametrize(
    ("read", "texts"),
    [(values.as_parameters, ["p=3", "q=1", "p=3"]), (values.as_quotas, ["a=1", "a=2"])],
)
def test_nothing_is_said_twice(read, texts):
    with pytest.raises(InvalidInput, match=rf"--option says '{texts[0][0]}' 2 times"):
        read(texts, "--option")


def test_parameters_are_json_or_text():
    texts = ["p=3", "V=[1, 2]", "memoize=false", "search=kl-lucb", "scale=null", "name=a=b"]
    assert values.as_parameters(texts, "--param") == {
        "p": 3,
        "V": [1, 2],
        "memoize": False,
        "search": "kl-lucb",
        "scale": None,
        "name": "a=b",
    }
    assert values.as_parameters(None, "--param") == {}


@pytest.mark.parametrize("text", ["p", "=3"])
def test_what_is_no_parameter(text):
    with pytest.raises(InvalidInput, match=rf"--param '{text}' is not of the form key=value"):
        values.as_parameters([text], "--param")


@pytest.mark.parametrize(
    ("texts", "value"),
    [(None, None), (["3"], 3), (["a=1", "b=c=0"], {"a": 1, "b=c": 0}), (["a=1"], {"a": 1})],
)
def test_quotas(texts, value):
    assert values.as_quotas(texts, "--at-most") == value


@pytest.mark.parametrize("texts", [["3", "a=1"], ["-1"], ["a=x"], ["x"], ["=2"]])
def test_what_is_no_quota(texts):
    with pytest.raises(InvalidInput, match=r"^--at-most "):
        values.as_quotas(texts, "--at-most")


def test_names(tmp_path):
    listed = tmp_path / "names.txt"
    listed.write_text("\ufeffone, two\n\n three \n", encoding="utf-8")
    assert values.as_names("a, b,c,", "--fixed") == ("a", "b", "c")
    assert values.as_names(f"@{listed}", "--fixed") == ("one, two", "three")
    assert values.as_names(None, "--fixed") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [(",", "names nothing"), ("@missing", "No such file"), ("@bytes", "not text in UTF-8")],
)
def test_what_names_nothing(text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=rf"^--fixed .*{words}"):
        values.as_names(text, "--fixed")


@pytest.mark.parametrize("read", [values.as_k, values.as_pca])
def test_words_where_a_number_is_wanted(read):
    with pytest.raises(InvalidInput, match=r"'many' is not a number"):
        read("many")
