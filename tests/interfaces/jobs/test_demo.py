from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from sklearn.datasets import load_digits

from protobandit import InvalidInput, select
from protobandit.interfaces.jobs.demo import (
    METHODS,
    N_RANDOM,
    Demo,
    DemoScore,
    average,
    draw,
    is_unchanged,
    run_demo,
    select_digits,
    signed,
)

SVG = "{http://www.w3.org/2000/svg}"
SCORE = DemoScore(
    cost=2.0, cost_error=0.0, evaluations=10, seconds=0.5, by_nearest=0.5, by_barycentre=0.25
)


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return []


@pytest.fixture(scope="module")
def demo(sentences) -> Demo:
    return run_demo(20, seed=0, notify=sentences.append)


def test_every_method_and_random_have_a_score(demo):
    assert list(demo.scores) == [*METHODS, "random"]
    assert demo.n_images == 1797


def test_every_method_costs_less_than_random_rows(demo):
    costs = {name: score.cost for name, score in demo.scores.items()}
    assert max(costs, key=costs.__getitem__) == "random"
    assert costs["lazygreedy"] < 0.9 * costs["random"]
    assert demo.scores["random"].cost_error > 0
    assert all(demo.scores[name].cost_error == 0 for name in METHODS)


def test_prototypes_label_better_than_random_rows(demo):
    random = demo.scores["random"]
    assert 0.5 < random.by_nearest < 0.8
    for name in METHODS:
        assert demo.scores[name].by_nearest > max(0.8, random.by_nearest)
        assert demo.scores[name].by_barycentre > max(0.8, random.by_barycentre)


def test_the_bandit_evaluates_less_than_the_exact_scan(demo):
    assert demo.scores["lazygreedy"].evaluations == 1797**2
    assert demo.scores["protobandit"].evaluations < 1797**2 / 2


def test_the_exact_score_agrees_with_numpy(demo):
    digits = load_digits()
    selection = select(digits.data, k=20, method="lazygreedy")
    chosen = digits.data[selection.indices]
    distances = np.linalg.norm(digits.data[:, None, :] - chosen[None], axis=2)
    nearest = distances.argmin(axis=1)
    labels = digits.target[selection.indices]
    score, few = (
        demo.scores["lazygreedy"],
        3 / 1797,
    )  # some images are equally near to two prototypes
    assert score.cost == pytest.approx(distances.min(axis=1).mean())
    assert score.by_nearest == pytest.approx(np.mean(labels[nearest] == digits.target), abs=few)
    means = np.array([digits.data[nearest == i].mean(axis=0) for i in range(20)])
    to_means = np.linalg.norm(digits.data[:, None, :] - means[None], axis=2).argmin(axis=1)
    assert score.by_barycentre == pytest.approx(np.mean(labels[to_means] == digits.target), abs=few)


def test_the_picture_holds_k_images_and_their_cost(demo):
    root = ElementTree.fromstring(demo.picture)
    assert len(list(root.iter(f"{SVG}image"))) == 20
    lines = " ".join(element.text or "" for element in root.iter(f"{SVG}text"))
    assert f"lazybandit · cost {demo.scores['lazybandit'].cost:.4g}" in lines
    assert f"{1797**2:,} evaluations" in lines


def test_compilation_is_announced_before_the_timed_runs(demo, sentences):
    steps = [line for line in sentences if "compiles" in line or "Selecting" in line]
    assert "compiles" in steps[0]
    assert len(steps) == 1 + len(METHODS) + 1
    assert f"{N_RANDOM} times" in steps[-1]


def test_the_seed_determines_the_selection():
    digits = load_digits()
    a, b, c = (select_digits(digits, 5, method="random", seed=seed).selection for seed in (3, 3, 4))
    np.testing.assert_array_equal(a.indices, b.indices)
    assert set(a.indices) != set(c.indices)


@pytest.mark.parametrize("k", [0, 1798])
def test_an_invalid_k_raises_before_the_computation(k):
    sentences = []
    with pytest.raises(InvalidInput, match=f"k={k} .* 1797"):
        run_demo(k, seed=0, notify=sentences.append)
    assert not any("compiles" in line for line in sentences)


def test_the_average_and_its_standard_error():
    mean = average([SCORE, replace(SCORE, cost=4.0, seconds=1.5)])
    assert (mean.cost, mean.seconds, mean.evaluations) == (3.0, 1.0, 10)
    assert mean.cost_error == pytest.approx(1.0)


def test_names_in_the_picture_match_the_selection():
    digits = load_digits()
    selection = select_digits(digits, 2, method="lazygreedy", seed=0).selection
    titles = [e.text for e in ElementTree.fromstring(draw(digits, selection)).iter(f"{SVG}title")]
    for i, (row, title) in enumerate(zip(selection.indices, titles[1:], strict=True)):
        assert title is not None
        assert title.startswith(f"{i + 1}. digit {digits.target[row]}, row {row}: ")


def test_a_picture_is_recognised_until_it_is_edited():
    picture = signed("<svg/>\n")
    ElementTree.fromstring(picture)
    assert is_unchanged(picture)
    for other in (
        "",
        "<svg/>\n",
        picture.replace("svg", "svg "),
        picture + " ",
        picture[:-1],
        picture + picture,
    ):
        assert not is_unchanged(other)
