"""Text of options as values."""

import pytest

from protobandit import InvalidInput
from protobandit.interfaces.cli import parsing


@pytest.mark.parametrize(
    ("text", "value"), [("7", 7), ("0.05", 0.05), ("auto", "auto"), ("1e-2", 0.01), ("1e3", 1000)]
)
def test_k(text, value):
    found = parsing.parse_k(text)
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
def test_bytes(text, value):
    assert parsing.parse_bytes(text) == value


@pytest.mark.parametrize("text", ["", "GB", "4XB", "-1GB", "0", "1.2.3MB", "4ib"])
def test_invalid_bytes(text):
    with pytest.raises(InvalidInput, match=r"is not a size\. Pass a size such as"):
        parsing.parse_bytes(text)


@pytest.mark.parametrize(("text", "value"), [("1e9", 10**9), ("12", 12), ("1", 1)])
def test_integer(text, value):
    found = parsing.parse_integer(text, "--n")
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("text", ["0", "-3", "1.5", "inf", "nan", "many"])
def test_invalid_integer(text):
    with pytest.raises(InvalidInput, match=rf"--n '{text}' is not an integer >= 1"):
        parsing.parse_integer(text, "--n")


def test_integers_from_0_and_threads():
    assert parsing.parse_integer("0", "--n", at_least=0) == 0
    assert parsing.parse_optional_integer(None, "--n") is None
    assert (parsing.parse_jobs("-1"), parsing.parse_jobs("3")) == (-1, 3)
    for text in ("0", "-2", "all"):
        with pytest.raises(InvalidInput, match=rf"--jobs '{text}' is not an integer >= 1"):
            parsing.parse_jobs(text)


def test_seconds():
    assert parsing.parse_seconds("1e-3", "--s") == 0.001
    assert parsing.parse_seconds("0", "--s", is_zero_allowed=True) == 0.0
    for text in ("0", "-1", "nan", "inf", "soon"):
        with pytest.raises(InvalidInput, match=rf"--s '{text}' is not a number > 0"):
            parsing.parse_seconds(text, "--s")


@pytest.mark.parametrize("text", ["0", "1", "95", "nan", "high"])
def test_invalid_confidence(text):
    with pytest.raises(InvalidInput, match=rf"--confidence '{text}' is not between 0 and 1"):
        parsing.parse_confidence(text)


@pytest.mark.parametrize("text", ["0.9", "nan", "inf", "near"])
def test_invalid_ratio(text):
    with pytest.raises(InvalidInput, match=rf"--certified '{text}' is not a number >= 1"):
        parsing.parse_ratio(text, "--certified")


@pytest.mark.parametrize(
    ("read", "texts"),
    [(parsing.parse_parameters, ["p=3", "q=1", "p=3"]), (parsing.parse_quotas, ["a=1", "a=2"])],
)
def test_repeated_keys(read, texts):
    with pytest.raises(InvalidInput, match=rf"--option has '{texts[0][0]}' 2 times"):
        read(texts, "--option")


def test_parameters_are_json_or_text():
    texts = ["p=3", "V=[1, 2]", "memoize=false", "search=kl-lucb", "scale=null", "name=a=b"]
    assert parsing.parse_parameters(texts, "--param") == {
        "p": 3,
        "V": [1, 2],
        "memoize": False,
        "search": "kl-lucb",
        "scale": None,
        "name": "a=b",
    }
    assert parsing.parse_parameters(None, "--param") == {}


@pytest.mark.parametrize("text", ["p", "=3"])
def test_invalid_parameter(text):
    with pytest.raises(
        InvalidInput, match=rf"--param '{text}' has no key or no '='\. Pass key=value"
    ):
        parsing.parse_parameters([text], "--param")


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (None, None),
        (["3"], 3),
        (["a=1", "b=c=0"], {"a": 1, "b=c": 0}),
        (["a=1"], {"a": 1}),
        (["5", "debug=2"], {None: 5, "debug": 2}),
        (["debug=2", "5"], {None: 5, "debug": 2}),
    ],
)
def test_quotas(texts, value):
    assert parsing.parse_quotas(texts, "--at-most") == value


@pytest.mark.parametrize("texts", [["3", "4"], ["3", "4", "a=1"], ["-1"], ["a=x"], ["x"], ["=2"]])
def test_invalid_quotas(texts):
    with pytest.raises(InvalidInput, match=r"^--at-most "):
        parsing.parse_quotas(texts, "--at-most")


def test_names(tmp_path):
    listed = tmp_path / "names.txt"
    listed.write_text("\ufeffone, two\n\n three \n", encoding="utf-8")
    assert parsing.parse_names("a, b,c,", "--fixed") == ("a", "b", "c")
    assert parsing.parse_names(f"@{listed}", "--fixed") == ("one, two", "three")
    assert parsing.parse_names(None, "--fixed") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [(",", "holds no names"), ("@missing", "No such file"), ("@bytes", "not UTF-8 text")],
)
def test_invalid_names(text, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidInput, match=rf"^--fixed .*{words}"):
        parsing.parse_names(text, "--fixed")


@pytest.mark.parametrize("read", [parsing.parse_k, parsing.parse_pca])
def test_text_instead_of_a_number(read):
    with pytest.raises(InvalidInput, match=r"'many' is not a number"):
        read("many")
