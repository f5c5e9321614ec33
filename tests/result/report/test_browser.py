"""The page in a headless browser: it loads completely, alone, in both themes and all widths."""

from __future__ import annotations

import pytest
from _pytest.outcomes import Failed, Skipped

from browsing import PAGES, Keys, Page, skip_without


@pytest.mark.parametrize("name", PAGES)
def test_every_page_loads_completely(visit, name):
    page = visit(name)
    assert int(page.run("return document.documentElement.dataset.ready")) < 10_000
    n_shown = len(page.data()["prototypes"]["ids"])
    assert len(page.all("#gallery .card")) == min(n_shown, 60)
    assert page.run("return [...document.images].every((i) => i.src.startsWith('data:'))")
    assert page.run("return document.querySelectorAll('#curve path, #spread .bin').length") > 40


@pytest.mark.parametrize(
    ("name", "width"), [*((name, 320) for name in PAGES), ("images", 390), ("texts", 600)]
)
def test_nothing_overflows_on_a_phone(visit, name, width):
    page = visit(name)
    page.size(width, 800)
    assert page.run("return document.documentElement.scrollWidth") <= width
    page.run("document.querySelector('.card').click()")
    assert page.is_open()
    page.run("document.querySelectorAll('details').forEach((d) => (d.open = true))")
    body = "document.getElementById('panel-body')"
    assert page.run(f"return {body}.scrollWidth <= {body}.clientWidth")
    assert page.run("return document.documentElement.scrollWidth") <= width


def test_images_are_loaded_and_not_blurred(visit):
    page = visit("images")
    size, rendering = page.run(
        "const i = document.querySelector('.card img');"
        "return i.decode().then(() => [i.naturalWidth, getComputedStyle(i).imageRendering])"
    )
    assert (size, rendering) == (6, "pixelated")


def test_dark_theme_by_preference_and_by_button(visit):
    page = visit("images")
    picture = "return document.getElementById('map-rows').toDataURL()"
    light, drawn = page.background(), page.run(picture)
    page.scheme("dark")
    dark, drawn_dark = page.background(), page.run(picture)
    assert dark != light
    assert drawn_dark != drawn
    page.find("#theme").click()
    assert page.background() == light
    assert page.run(picture) == drawn
    page.find("#theme").click()
    assert page.background() == dark
    assert page.run(picture) == drawn_dark
    page.scheme("light")
    assert page.background() == dark  # the choice by button has priority
    page.driver.refresh()
    assert page.background() == light  # and is not saved


def test_printed_pages_are_light(visit):
    page = visit("images")
    page.scheme("dark")
    dark = page.run("return getComputedStyle(document.body).color")
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    printed = page.run("return getComputedStyle(document.body).color")
    hidden = not page.find("form").is_displayed() and page.find("#gallery .card").is_displayed()
    page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert printed != dark
    assert hidden


LUMINANCE = """
const parse = (c) => c.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
const light = (c) => { const [r, g, b] = parse(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const behind = (e) => { for (; e; e = e.parentElement) {
  const c = getComputedStyle(e).backgroundColor;
  if (!/, 0\\)$|transparent/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
const hasText = (e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
const found = [];
for (const e of document.querySelectorAll('main *, .bar *, dialog *')) {
  if (e.closest('svg') || !hasText(e)) continue;
  if (!e.getClientRects().length) continue;
  const pair = [light(getComputedStyle(e).color), light(behind(e))].sort((a, b) => b - a);
  const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
  if (ratio < 4.5) found.push([e.className, e.textContent.slice(0, 30), ratio]);
}
return found;
"""


@pytest.mark.parametrize("name", ["images", "critical", "wide"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_enough_contrast(visit, scheme, name):
    page = visit(name)
    page.scheme(scheme)
    assert page.run(LUMINANCE) == []
    page.find("#gallery .card").click()
    assert page.run(LUMINANCE) == []


GRAPHICS = """
const style = getComputedStyle(document.documentElement);
const parts = (name) => style.getPropertyValue(name).trim().match(/[0-9a-f]{2}/g)
  .map((pair) => parseInt(pair, 16));
const light = (rgb) => { const [r, g, b] = rgb.map((v) => v / 255)
  .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const ratio = (name, behind, opacity) => {
  const [own, base] = [parts(name), parts(behind)];
  const seen = own.map((v, i) => opacity * v + (1 - opacity) * base[i]);
  const [high, low] = [light(seen), light(base)].sort((a, b) => b - a);
  return (high + 0.05) / (low + 0.05); };
const numbered = (letter, n) => [...Array(n).keys()].map((i) => `--${letter}${i}`);
const point = Number(style.getPropertyValue('--point'));
return [...numbered('c', 10), ...numbered('s', 6), '--rest']
  .map((name) => [name, ratio(name, '--surface', point)])
  .concat(['--source', '--target', '--mass'].map((name) => [name, ratio(name, '--page', 1)]))
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_points_and_bars_have_enough_contrast(visit, scheme):
    page = visit("images")
    page.scheme(scheme)
    ratios = page.run(GRAPHICS)
    assert len(ratios) == 20
    assert [name for name, ratio in ratios if ratio < 3] == []


@pytest.mark.parametrize("name", ["texts", "records"])
def test_hostile_text_is_inert_and_shown(visit, name):
    page = visit(name)
    for selector in (".card", "#worst .link"):
        page.run("document.querySelector(arguments[0]).click()", selector)
        page.press(Keys.ESCAPE)
    page.show(page.find("#map-marks"))
    page.press(Keys.ARROW_RIGHT)
    assert page.run("return window.hacked ?? null") is None
    assert page.run("return document.scripts.length") == 2
    assert page.run("return document.querySelectorAll('img, [onload], [onerror]').length") == 0
    seen = page.texts(".card .data")
    assert any("</script><script>window.hacked = 1</script>" in text for text in seen)
    assert "[U+202E]reversed␀" in page.find(".status").text


def test_requests_are_blocked(visit):
    page = visit("single")
    refused = page.driver.execute_async_script(
        "const done = arguments[0];"
        "fetch('http://127.0.0.1:9/').then(() => done(false)).catch(() => done(true))"
    )
    assert refused
    assert any("Content Security Policy" in message for message in page.console())


def test_requests_of_a_page_are_detected(browser, tmp_path):
    file = tmp_path / "requests.html"
    file.write_text("<img src='http://127.0.0.1:9/other.png'>", encoding="utf-8")
    page = Page(browser, file.as_uri())
    assert page.requests() == ["http://127.0.0.1:9/other.png"]
    assert page.console()


def test_a_page_of_a_thousand_prototypes_is_small_and_can_be_searched(visit, addresses):
    page = visit("thousand")
    size = page.run("return document.documentElement.outerHTML.length")
    assert size < 8_000_000
    page.find("#more").click()
    assert len(page.ranks()) == 1000
    page.find("#search").send_keys("999")
    assert 999 in page.ranks()
    assert len(page.ranks()) < 20


def test_a_page_of_the_first_prototypes_refers_to_others_by_number(visit):
    """Points of the map and worst rows may belong to prototypes that the page does not have."""
    page = visit("first")
    assert page.find("#count").text == "5 shown; the page has the first 5 of 20"
    assert len(page.ranks()) == 5
    others = page.run(
        "return [...document.querySelectorAll('#worst .caption')].filter("
        "(each) => /of ([6-9]|1\\d|20)/.test(each.textContent)).map("
        "(each) => each.querySelectorAll('button').length)"
    )
    assert others
    assert set(others) == {0}
    n_tips = page.run(
        """
        const canvas = document.getElementById("map-marks");
        const box = canvas.getBoundingClientRect();
        let n = 0;
        for (let x = 9; x < box.width; x += 18) for (let y = 9; y < box.height; y += 18) {
          const [clientX, clientY] = [Math.round(box.left + x), Math.round(box.top + y)];
          const at = { clientX, clientY, bubbles: true };
          canvas.dispatchEvent(new PointerEvent("pointermove", at));
          const tip = document.getElementById("tip");
          if (tip.hidden || !/of prototype ([6-9]|1\\d|20)/.test(tip.textContent)) continue;
          n += 1;
        }
        return n;
        """
    )
    assert n_tips > 0


@pytest.mark.parametrize(("ci", "outcome"), [("true", Failed), ("", Skipped)])
def test_a_missing_browser_fails_only_in_continuous_integration(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="chromium is not installed"):
        skip_without("chromium")
