"""The page in a headless browser: values of rows, criticisms and coefficients."""

from __future__ import annotations

import numpy as np
import pytest

from browsing import ROWS, Keys, critical, mixture, note, wide


def pairs(page, selector):
    """Return a table of two columns as a dictionary."""
    names, values = (page.texts(f"{selector} {tag}") for tag in ("th", "td"))
    return dict(zip(names, values, strict=True))


def as_shown(i):
    """Return the text of row ``i`` of the wide page in its first columns."""
    return {
        "year": str(1990 + i % 35),
        "stamp": str(1_700_000_000 + i),
        "price": f"{12345 + i}.67",
        "total": str(1_234_567 + i),
        "single": f"{i}.1",
        "quarter": f"{1_234_567 + i}.25",
        "clock": f"{1_700_000_000 + i}.125",
        "large": str(2**60 + i),
        "tiny": "1.5e-7",
        "gap": "–",
    }


def test_values_are_shown_unchanged_and_can_be_searched(visit):
    page = visit("wide")
    first, second = page.data()["prototypes"]["ids"][:2]
    page.find("#gallery .card").click()
    record = pairs(page, "#panel .portrait .record")
    assert {name: record[name] for name in as_shown(first)} == as_shown(first)
    for c in range(3):
        assert float(record[f"x{c}"]) == pytest.approx(wide([first])[f"x{c}"][0], rel=1e-8)
    assert list(record) == list(wide([first]))
    for text in {*record.values()} - {"–"}:
        page.search(text)
        assert 1 in page.ranks(), text
    page.search(as_shown(second)["stamp"])
    assert page.ranks() == [2]
    page.search(f"#{second}")
    assert 2 in page.ranks()


def test_a_card_shows_how_many_columns_it_leaves_out(visit):
    assert visit("wide").texts("#gallery li:first-child .beyond") == ["and 16 more"]
    assert visit("single").texts("#gallery .beyond") == []


@pytest.mark.parametrize("where", ["#worst", "#panel .members"])
def test_tables_of_rows_have_all_columns(visit, where):
    page = visit("wide")
    page.run("document.querySelector('.card').click()")
    head = page.texts(f"{where} thead th")
    assert head[:22] == ["distance", "row", *wide([0])]
    line = page.texts(f"{where} tbody tr:first-child td")[2:22]
    data = page.data()
    row = data["spread"]["worst"][0] if where == "#worst" else data["prototypes"]["near"][0][0]
    assert line[:10] == list(as_shown(data["rows"]["ids"][row]).values())
    has_more, is_stop, moved = page.run(
        "const s = document.querySelector(arguments[0]); s.scrollLeft = 300;"
        "const left = (e) => e.getBoundingClientRect().left;"
        "const moved = left(s.querySelector('td')) - left(s);"
        "return [s.scrollWidth > s.clientWidth, s.tabIndex === 0, moved]",
        f"{where} .scroll",
    )
    assert has_more
    assert is_stop
    assert moved == pytest.approx(0, abs=1)  # the column of distances is fixed


def test_a_label_beside_a_text_is_wrapped(visit):
    page = visit("texts")
    width, wanted = page.run(
        "const label = document.querySelector('#worst .texts .other-label');"
        "label.querySelector('.data').textContent = 'subscription was cancelled';"
        "return [label.clientWidth, label.scrollWidth]"
    )
    assert 0 < wanted <= width


def test_criticisms_are_shown_in_their_order(visit):
    page = visit("critical")
    found = [f"row {i}" for i in critical().criticisms]
    assert len(found) == 7
    assert page.texts("#criticisms tbody td:nth-child(2)") == found
    assert page.find("#criticisms").is_displayed()
    assert page.find("nav a[href='#criticisms']").is_displayed()
    data = page.data()
    distances = [float(text) for text in page.texts("#criticisms .distance")]
    held = [data["rows"]["distances"][r] for r in data["criticisms"]]
    assert distances == pytest.approx(held, rel=1e-3)
    link = page.find("#criticisms .link")
    rank = link.text.removeprefix("of ")
    page.run("arguments[0].click()", link)
    assert page.find("#panel-title").text.startswith(f"Prototype {rank}")


def test_the_section_of_criticisms_is_optional(visit):
    page = visit("mixture")
    assert not page.find("#criticisms").is_displayed()
    assert not page.find("nav a[href='#criticisms']").is_displayed()


def facts(page):
    names, values = (page.texts(f"#panel .about-one .pairs {tag}") for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


def test_the_panel_shows_the_coefficient(visit):
    page = visit("mixture")
    for i, coefficient in enumerate(mixture().coefficients):
        page.run("document.querySelectorAll('.card')[arguments[0]].click()", i)
        assert float(facts(page)["Coefficient"]) == pytest.approx(coefficient, rel=1e-3)
        page.find("#close").click()
    page = visit("single")
    page.find(".card").click()
    assert "Coefficient" not in facts(page)


def test_oblong_images_in_colour_are_kept(visit):
    page = visit("colour")
    size, left, right = page.run(
        "const i = document.querySelector('.card img');"
        "return i.decode().then(() => {"
        "const c = document.createElement('canvas').getContext('2d'); c.drawImage(i, 0, 0);"
        "const d = [...c.getImageData(0, 0, 10, 1).data];"
        "return [[i.naturalWidth, i.naturalHeight], d.slice(0, 4), d.slice(-4)]; })"
    )
    assert size == [10, 4]
    assert left == [200, 0, 0, 255]
    assert right == [0, 0, 100, 255]


def test_labels_of_different_types_are_equal_if_their_text_is(visit):
    page = visit("mixed")
    shares = dict(
        zip(
            page.texts(".composition tbody th"),
            page.texts(".composition tbody td:nth-child(2)"),
            strict=True,
        )
    )
    assert len(shares) == 3
    assert {shares["1"], shares["b"]} == {"50.0\u00a0%", "16.7\u00a0%"}


def test_rows_of_weight_0_are_not_among_the_worst(visit):
    page = visit("weightless")
    rows = [int(text.removeprefix("row ")) for text in page.texts("#worst td:nth-child(2)")]
    assert rows
    assert np.all(np.array(rows) % 2 == 1)


@pytest.mark.parametrize(("name", "k"), [("every", 70), ("constant", 3)])
def test_rows_that_equal_their_prototypes_have_distance_0(visit, name, k):
    page = visit(name)
    assert page.data()["k"] == k
    assert {float(text) for text in page.texts("#worst .distance")} == {0.0}
    page.show(page.find("#spread"))
    page.press(Keys.HOME)
    assert "100.0\u00a0% of the target" in page.tip()


def test_a_target_of_one_row(visit):
    page = visit("lone")
    assert page.texts("#worst td:nth-child(2)") == ["row 0"]
    page.find("#gallery li:nth-child(2) .card").click()
    assert page.texts("#panel .members > p:last-child") == ["none", "none"]
    assert facts(page)["Mean distance of its rows"] == "–"


def test_the_knee_of_k_auto_is_on_the_longer_curve(visit):
    page = visit("auto")
    data = page.data()
    assert data["k"] == data["curve"]["knee"] == 3
    assert len(data["curve"]["wider"]) > 3
    assert len(page.all("#curve .wider")) == 1
    assert page.texts("#curve .knee-name") == ["knee at 3"]


def test_a_card_shows_long_texts_and_short_numbers(visit):
    page = visit("notes")
    row = page.data()["prototypes"]["ids"][0]
    first = "#gallery li:first-child .card"
    assert page.texts(f"{first} .long-name") == ["note"]
    assert page.texts(f"{first} .long-text") == [note(row)]
    width, height = page.run(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [box.width, box.height]",
        f"{first} .long-text",
    )
    assert width > 200
    assert height > 30, "two lines or more"
    x, price = page.texts(f"{first} td:not(.long)")
    assert price == str(round(123456.789 + row))
    assert float(x) == pytest.approx(ROWS[row, 0], rel=1e-4)
    assert len(x.lstrip("-").replace(".", "").lstrip("0")) <= 5
    page.find(first).click()
    assert page.texts("#panel .portrait .long-text") == [note(row)]
    assert page.texts("#panel .portrait td:not(.long)")[1] == f"{123456.789 + row:.3f}"


def test_equal_bars_are_shown_once(visit):
    assert visit("notes").texts(".composition .legend li") == ["target, and mass of prototypes"]
    assert len(visit("notes").all(".composition .share")) == 3
    assert visit("odd").texts(".composition .legend li") == ["target", "mass of prototypes"]


@pytest.mark.parametrize("name", ["odd", "notes"])
def test_labels_that_differ_are_explained(visit, name):
    page = visit(name)
    page.find("#gallery .card").click()
    found = page.texts("#panel .members > .muted:nth-of-type(2)")
    sentence = "Red labels differ from the label of the prototype."
    assert (sentence in found) == (name == "odd")
    assert (sentence in page.texts("#worst p")) == (name == "odd")


@pytest.mark.parametrize(("name", "has_rest"), [("thousand", True), ("odd", False)])
def test_rings_have_the_colours_of_the_legend(visit, name, has_rest):
    page = visit(name)
    legend, drawn, ink = page.run(
        """
        const drawn = new Set();
        const stroke = CanvasRenderingContext2D.prototype.stroke;
        CanvasRenderingContext2D.prototype.stroke = function () { drawn.add(this.strokeStyle); };
        const choose = (value) => {
          drawn.clear();
          const tool = document.querySelector("#colour-tool select");
          tool.value = value;
          tool.dispatchEvent(new Event("change"));
          return [...drawn];
        };
        const byDistance = choose("distance"), byLabel = choose("label");
        CanvasRenderingContext2D.prototype.stroke = stroke;
        const asHex = (text) => {
          const c = document.createElement("canvas").getContext("2d");
          c.fillStyle = text;
          return c.fillStyle;
        };
        const legend = [...document.querySelectorAll("#map-legend .swatch")]
          .map((each) => asHex(getComputedStyle(each).backgroundColor));
        const ink = asHex(getComputedStyle(document.documentElement).getPropertyValue("--ink"));
        return [legend, byLabel, [ink, byDistance]];
        """
    )
    assert set(drawn) <= set(legend)
    assert (legend[-1] in drawn and len(legend) == 11) == has_rest
    assert ink[1] == [ink[0]]
