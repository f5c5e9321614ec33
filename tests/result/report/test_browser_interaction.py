"""The page in a headless browser: typing, pointing and clicking."""

from __future__ import annotations

import numpy as np
import pytest

from browsing import Keys, Select


def test_search_filters_and_can_be_cleared(visit):
    page = visit("images")
    box = page.find("#search")
    box.send_keys("class 1")
    assert 0 < len(page.ranks()) < 60
    assert set(page.texts("#gallery .chip")) == {"class 1"}
    assert "that match" in page.find("#count").text
    box.send_keys(" nowhere")
    assert page.ranks() == []
    page.find("#clear").click()
    assert len(page.ranks()) == 60


def test_filters_by_label_and_group(visit):
    page = visit("images")
    Select(page.find("#label")).select_by_visible_text("class 2")
    assert set(page.texts("#gallery .chip")) == {"class 2"}
    before = len(page.ranks())
    Select(page.find("#group")).select_by_visible_text("late")
    assert 0 < len(page.ranks()) < before


def test_sort_orders(visit):
    page = visit("images")
    mass = page.data()["prototypes"]["mass"]
    assert page.ranks() == [*range(1, 61)]
    Select(page.find("#sort")).select_by_value("mass")
    assert page.ranks() == [i + 1 for i in np.argsort(-np.array(mass), kind="stable")[:60]]
    Select(page.find("#sort")).select_by_value("mean")
    means = page.data()["prototypes"]["means"]
    assert page.ranks() == [i + 1 for i in np.argsort(-np.array(means), kind="stable")[:60]]


def test_all_prototypes_are_shown_on_request(visit):
    page = visit("images")
    page.find("#more").click()
    assert len(page.ranks()) == 70
    assert not page.find("#more").is_displayed()
    assert page.focused().startswith("Prototype 61,")


def test_a_click_opens_the_panel_and_escape_closes_it(visit):
    page = visit("images")
    page.find("#gallery li:nth-child(3) .card").click()
    assert page.is_open()
    assert page.find("#panel-title").text.startswith("Prototype 3")
    data = page.data()
    shown = [float(text) for text in page.texts("#panel .distance")]
    rows = data["prototypes"]["near"][2] + data["prototypes"]["far"][2]
    assert shown == pytest.approx([data["rows"]["distances"][r] for r in rows], rel=1e-3)
    page.press(Keys.ARROW_RIGHT)
    assert page.find("#panel-title").text.startswith("Prototype 4")
    page.press(Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    assert page.find("#panel-title").text.startswith("Prototype 1")
    assert page.find("#previous").get_attribute("aria-disabled") == "true"
    page.press(Keys.ESCAPE)
    assert not page.is_open()
    assert page.focused().startswith("Prototype 1,")


def test_everything_works_by_keyboard(visit):
    page = visit("images")
    page.press(Keys.TAB)
    assert page.run("return document.activeElement.textContent") == "Skip to the prototypes"
    page.press(Keys.ENTER)
    for _ in range(5):  # search, label, group, sort; then the gallery, which is one tab stop
        page.press(Keys.TAB)
    assert page.focused().startswith("Prototype 1,")
    line = page.run(
        "const l = [...document.querySelectorAll('#gallery li')];"
        "return l.filter((i) => i.offsetTop === l[0].offsetTop).length"
    )
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert page.focused().startswith(f"Prototype {2 + line},")
    outline = page.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.press(Keys.ENTER)
    assert page.is_open()
    page.press(Keys.ESCAPE)
    assert page.focused().startswith(f"Prototype {2 + line},")
    page.press(Keys.HOME)
    assert page.focused().startswith("Prototype 1,")
    page.press(Keys.END)
    assert page.focused().startswith("Prototype 60,")


def test_the_curve_shows_values_by_pointer_and_by_keys(visit):
    page = visit("images")
    curve = page.find("#curve")
    page.show(curve)
    page.point(curve)
    assert "prototypes" in page.tip()
    assert "gain" in page.tip()
    page.press(Keys.HOME)
    assert page.tip().startswith("1 prototype")
    page.press(Keys.ARROW_RIGHT)
    assert page.tip().startswith("2 prototypes")
    assert page.run("return document.activeElement.getAttribute('aria-valuetext')").startswith("2 ")
    page.press(Keys.ESCAPE)
    assert page.tip() == ""


def test_the_knee_is_marked(visit):
    page = visit("images")
    assert page.texts("#curve .knee-name") == ["knee at 3"]
    assert "bends most at 3" in page.find("#gains-note").text


@pytest.mark.parametrize("name", ["constant", "colour"])
def test_a_short_curve_has_no_note_on_a_knee(visit, name):
    assert visit(name).find("#gains-note").text == "The cost after each prototype."


def test_the_note_of_a_curve_without_a_knee_says_how_far_it_was_searched(visit):
    assert (
        "The first 500 prototypes show no clear knee." in visit("thousand").find("#gains-note").text
    )


def test_the_legend_shows_each_limit_with_points_once(visit):
    assert visit("constant").texts("#map-legend button") == ["≤ 0"]


def test_the_histogram_shows_values(visit):
    page = visit("images")
    bars = page.find("#spread")
    page.show(bars)
    page.point(bars)
    assert "of the target" in page.tip()
    assert len(page.all("#spread .marked")) == 1


def test_the_map_shows_prototypes_and_rows(visit):
    page = visit("images")
    canvas = page.find("#map-marks")
    page.show(canvas)
    page.press(Keys.ARROW_RIGHT)
    assert "Prototype 2" in page.tip()
    page.press(Keys.ESCAPE)
    assert page.tip() == ""
    box = canvas.size
    seen = []
    for x in range(-box["width"] // 2 + 30, box["width"] // 2 - 30, 9):
        page.point(canvas, x)
        seen.append(page.tip())
        if "of prototype" in seen[-1]:
            break
    assert "distance" in seen[-1]
    assert page.run("return document.querySelectorAll('#tip img').length") <= 2


def test_a_point_of_the_map_opens_its_prototype(visit):
    page = visit("images")
    canvas = page.find("#map-marks")
    page.show(canvas)
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ENTER)
    assert page.find("#panel-title").text.startswith("Prototype 3")


def n_drawn_pixels(page):
    """Return the number of pixels that are drawn on the map."""
    return page.run(
        "const c = document.getElementById('map-rows'), copy = document.createElement('canvas');"
        "copy.width = c.width; copy.height = c.height;"
        "const p = copy.getContext('2d', {willReadFrequently: true}); p.drawImage(c, 0, 0);"
        "const d = p.getImageData(0, 0, c.width, c.height).data;"
        "let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 60; return n"
    )


def test_the_map_is_drawn_and_its_legend_highlights_a_class(visit):
    page = visit("images")
    everything = n_drawn_pixels(page)
    assert everything > 1000
    page.find("#map-legend button").click()
    assert page.find("#map-legend button").get_attribute("aria-pressed") == "true"
    assert n_drawn_pixels(page) < everything
    Select(page.find("#colour")).select_by_value("distance")
    assert len(page.all("#map-legend button")) == 5  # more than half are prototypes: one limit is 0
    assert abs(n_drawn_pixels(page) - everything) < 0.1 * everything


def test_shares_have_bars_and_a_table(visit):
    page = visit("images")
    assert len(page.all(".composition")) == 2
    widths = page.run(
        "return [...document.querySelectorAll('.composition .share.target i')]"
        ".slice(0, 3).map((i) => i.getBoundingClientRect().width)"
    )
    assert min(widths) > 20
    assert not page.find(".composition table").is_displayed()
    page.find(".composition summary").click()
    assert page.find(".composition table").is_displayed()
    assert "33.3" in page.find(".composition table").text
