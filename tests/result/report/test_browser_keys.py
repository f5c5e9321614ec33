"""The page in a headless browser: the focus, and keys that are left to the browser."""

from __future__ import annotations

import pytest

from browsing import Keys


def shows_prototype(page, rank):
    return page.find("#panel-title").text.startswith(f"Prototype {rank}")


def test_closing_returns_to_the_map(visit):
    page = visit("images")
    page.show(page.find("#map-marks"))
    page.press(Keys.ARROW_RIGHT, Keys.ENTER)
    assert shows_prototype(page, 2)
    at = page.run("return scrollY")
    page.press(Keys.ARROW_RIGHT, Keys.ESCAPE)
    assert page.active() == "map-marks"
    assert page.run("return scrollY") == at
    page.press(Keys.ARROW_RIGHT, Keys.ENTER)  # continues from the prototype that was opened
    assert shows_prototype(page, 3)


def test_closing_returns_to_a_row(visit):
    page = visit("images")
    link = page.all("#worst .link")[5]
    page.show(link)
    at = page.run("return scrollY")
    page.press(Keys.ENTER)
    assert page.is_open()
    page.find("#close").click()
    assert page.driver.switch_to.active_element == link
    assert page.run("return scrollY") == at


def test_closing_returns_to_the_card_of_the_prototype_shown(visit):
    page = visit("images")
    page.find("#gallery .card").click()
    page.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.ESCAPE)
    assert page.focused().startswith("Prototype 3,")


def test_next_keeps_the_focus_at_the_end(visit):
    page = visit("texts")
    page.run("document.querySelectorAll('.card')[2].click()")
    page.run("document.getElementById('next').focus()")
    page.press(Keys.ENTER)
    assert shows_prototype(page, 4)
    assert page.find("#next").get_attribute("aria-disabled") == "true"
    page.press(Keys.ENTER)
    assert shows_prototype(page, 4)
    assert page.active() == "next"
    page.press(Keys.ARROW_LEFT)
    assert shows_prototype(page, 3)
    assert page.find("#next").get_attribute("aria-disabled") == "false"


def test_a_prototype_outside_the_search_results_has_no_neighbours(visit):
    page = visit("images")
    page.search("nowhere to be found")
    page.show(page.find("#map-marks"))
    page.press(Keys.ENTER, Keys.ARROW_RIGHT)
    assert shows_prototype(page, 1)
    for name in ("previous", "next"):
        assert page.find(f"#{name}").get_attribute("aria-disabled") == "true"


def test_the_panel_is_announced_and_accessible_by_keys(visit):
    page = visit("records")
    page.run("document.querySelector('.card').click()")
    assert page.active() == "panel-body"
    assert page.find("#panel-title").get_attribute("aria-live") == "polite"
    assert page.run("return document.activeElement.tabIndex") == 0
    page.press(Keys.TAB)
    assert page.focused() == "The whole row"
    page.press(Keys.ARROW_RIGHT)
    assert shows_prototype(page, 2)
    assert page.active() == "panel-body"  # the element with the focus was removed
    page.press(Keys.ARROW_RIGHT)
    assert shows_prototype(page, 3)


def test_the_map_opens_the_prototype_it_announces(visit):
    page = visit("images")
    canvas = page.find("#map-marks")
    assert canvas.get_attribute("aria-valuenow") == "1"
    assert canvas.get_attribute("aria-valuetext").startswith("Prototype 1, ")
    page.show(canvas)
    page.press(Keys.ENTER)
    assert shows_prototype(page, 1)


def is_left_to_browser(page, key, modifier=None):
    """Return whether the page leaves a key, pressed on the focused element, to the browser."""
    options = {"key": key, "bubbles": True, "cancelable": True}
    if modifier is not None:
        options[modifier] = True
    return page.run(
        "return document.activeElement.dispatchEvent(new KeyboardEvent('keydown', arguments[0]))",
        options,
    )


@pytest.mark.parametrize("selector", ["#gallery .card", "#curve", "#spread", "#map-marks"])
def test_keys_with_a_modifier_are_left_to_the_browser(visit, selector):
    page = visit("images")
    page.show(page.find(selector))
    for modifier in ("altKey", "ctrlKey", "metaKey"):
        for key in ("ArrowLeft", "ArrowRight", "Home", "End"):
            assert is_left_to_browser(page, key, modifier)
    assert page.run("return document.activeElement.matches(arguments[0])", selector)
    assert not is_left_to_browser(page, "End")


def test_the_panel_ignores_keys_with_a_modifier(visit):
    page = visit("images")
    page.find("#gallery .card").click()
    is_left_to_browser(page, "ArrowRight", "altKey")
    assert shows_prototype(page, 1)
    is_left_to_browser(page, "ArrowRight")
    assert shows_prototype(page, 2)
