"""Pages of reports, and a driver of a headless browser to test them."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from importlib.util import find_spec
from unittest import mock

import numpy as np
import pytest

import protobandit as pb
from protobandit.result.report import report_data as report_module
from protobandit.result.report.report_data import report_data
from protobandit.result.report.row_display import RowDisplay


def skip_without(name: str) -> None:
    """Skip tests that need a browser; in continuous integration, fail instead."""
    reason = f"{name} is not installed; Debian: apt-get install chromium chromium-driver"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason, allow_module_level=True)


if find_spec("selenium") is None:
    skip_without("selenium")

from selenium.webdriver import ActionChains  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select  # noqa: E402

__all__ = [
    "PAGES",
    "ROWS",
    "Keys",
    "Page",
    "Select",
    "critical",
    "mixture",
    "note",
    "skip_without",
    "wide",
]

ROWS = np.random.default_rng(0).normal(size=(120, 3)) + 6 * (np.arange(120) % 3)[:, None]
HOSTILE = (
    "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'>"
    "<svg onload='alert(1)'></svg>\"'`${window.hacked = 3}{{data}}\u2028\u202ereversed\x00\ud800"
)


def display(kind, take, **fields):
    return RowDisplay(kind=kind, take=take, **fields)


def pixels(n):
    return np.random.default_rng(1).integers(0, 256, (n, 6, 6), dtype=np.uint8)


def images_page(k=70):
    images, labels = pixels(120), [f"class {i % 3}" for i in range(120)]
    own = display("images", lambda ids: images[ids], labels=labels)
    groups = ["early" if i < 60 else "late" for i in range(120)]
    selection = pb.select(ROWS, k=k, method="lazygreedy")
    return report_data(
        selection,
        ROWS,
        source=own,
        target=own,
        groups=groups,
        command="protobandit select rows",
        layout="pca",
    )


def hostile_page(kind):
    texts = [f"{HOSTILE} {i}" for i in range(118)] + ["x" * 50_000, "y " * 20_000]
    take = {
        "texts": lambda ids: [texts[i] for i in ids],
        "records": lambda ids: {HOSTILE: [texts[i] for i in ids], "n": [int(i) for i in ids]},
    }[kind]
    own = display(kind, take, names=texts, labels=[f"{HOSTILE}{i % 2}" for i in range(120)])
    selection = replace(
        pb.select(ROWS, k=4), status=HOSTILE, parameters={HOSTILE: HOSTILE}, method=HOSTILE
    )
    return report_data(
        selection, ROWS, source=own, target=own, groups=texts, command=HOSTILE, layout="pca"
    )


def single_page():
    own = display("records", lambda ids: {"x": ROWS[ids, 0], "y": ROWS[ids, 1]})
    return report_data(pb.select(ROWS, k=1), ROWS, source=own, target=own, layout="pca")


def thousand_page():
    rows = np.random.default_rng(2).normal(size=(3000, 5)).astype(np.float32)
    images = np.random.default_rng(3).integers(0, 256, (3000, 28, 28), dtype=np.uint8)
    own = display("images", lambda ids: images[ids], labels=np.arange(3000) % 25)
    selection = pb.select(rows, k=1000, method="random", random_state=0)
    return report_data(selection, rows, source=own, target=own, layout="pca")


def first_page():
    """Return a page that has the first 5 of 20 prototypes."""
    with mock.patch.object(report_module, "MOST_SHOWN", 5):
        return images_page(k=20)


def records_page(selection, source, target=None, **options):
    """Return a report of numeric rows, whose columns have numbers as names."""
    sides = (source,) if target is None else (source, target)
    displays = [
        display(
            "records",
            lambda ids, own=rows: {str(c): own[ids, c] for c in range(own.shape[1])},
            n=len(rows),
        )
        for rows in sides
    ]
    return report_data(
        selection, sides[-1], source=displays[0], target=displays[-1], layout="pca", **options
    )


def weightless_page():
    weights = np.arange(120) % 2
    return records_page(pb.select(ROWS, k=3, weights=weights), ROWS, weights=weights)


def colour_page():
    images = np.zeros((120, 4, 10, 3), dtype=np.uint8)
    images[:, :, :5, 0], images[:, :, 5:, 2] = 200, 100  # half red, half blue
    own = display("images", lambda ids: images[ids])
    return report_data(pb.select(ROWS, k=5), ROWS, source=own, target=own, layout="pca")


def mixed_page():
    labels = [1, "1", 1.0, None, float("nan"), "b"] * 20
    own = display("texts", lambda ids: [f"text {i}" for i in ids], labels=labels)
    return report_data(pb.select(ROWS, k=6), ROWS, source=own, target=own, layout="pca")


def wide(ids):
    """Return twenty columns, first those with numbers that must be neither rounded nor grouped."""
    ids = np.asarray(ids)
    shown = {
        "year": 1990 + ids % 35,
        "stamp": 1_700_000_000 + ids,
        "price": 12345.67 + ids,
        "total": 1234567.0 + ids,
        "single": (ids + 0.1).astype(np.float32),
        "quarter": 1234567.25 + ids,
        "clock": 1_700_000_000.125 + ids,
        "large": [2**60 + int(i) for i in ids],
        "tiny": np.full(len(ids), 1.5e-7),
        "gap": [None for _ in ids],
    }
    return shown | {f"x{c}": ROWS[ids, c % 3] for c in range(10)}


def wide_page():
    own = display("records", wide, n=120)
    return report_data(pb.select(ROWS, k=12), ROWS, source=own, target=own, layout="pca")


def note(i):
    """Return a text that does not fit into half of a card."""
    return f"Note {i}: a customer waits for an answer, and nobody has called back since Monday."


def notes_page(labels):
    """Return a page of notes, prices and labels; rows of a cluster have one label."""
    own = display(
        "records",
        lambda ids: {"note": [note(i) for i in ids], "x": ROWS[ids, 0], "price": 123456.789 + ids},
        labels=labels,
    )
    return report_data(pb.select(ROWS, k=3), ROWS, source=own, target=own, layout="pca")


def critical():
    """Return a selection with criticisms."""
    method = pb.methods.MMDCritic(gamma=0.1, n_criticisms=7)
    return pb.select(ROWS, k=3, method=method)


def mixture():
    """Return a selection with coefficients."""
    return pb.select(ROWS, k=4, method=pb.methods.ProtoDash(gamma=0.1))


PAGES = {
    "images": images_page,
    "texts": lambda: hostile_page("texts"),
    "records": lambda: hostile_page("records"),
    "single": single_page,
    "thousand": thousand_page,
    "first": first_page,
    "every": lambda: records_page(pb.select(ROWS[:70], k=70), ROWS[:70]),
    "constant": lambda: records_page(pb.select(np.ones((30, 2)), k=3), np.ones((30, 2))),
    "lone": lambda: records_page(pb.select(ROWS, ROWS[:1], k=2), ROWS, ROWS[:1]),
    "weightless": weightless_page,
    "auto": lambda: records_page(pb.select(ROWS, k="auto"), ROWS),
    "colour": colour_page,
    "mixed": mixed_page,
    "wide": wide_page,
    "critical": lambda: records_page(critical(), ROWS, n_sample=60),
    "mixture": lambda: records_page(mixture(), ROWS),
    "notes": lambda: notes_page([f"class {i % 3}" for i in range(120)]),
    "odd": lambda: notes_page([f"class {i % 3 if i % 7 else 3}" for i in range(120)]),
}


class Page:
    """A page in the browser, and the actions of these tests."""

    def __init__(self, driver, address):
        self.driver = driver
        self.size(1280, 900)
        self.scheme("light")
        driver.get(address)
        self.run("document.documentElement.style.scrollBehavior = 'auto'")

    def run(self, script, *values):
        return self.driver.execute_script(script, *values)

    def size(self, width, height):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )

    def scheme(self, value):
        """Prefer a light or dark page, and wait until the page has been told and drawn."""
        features = [{"name": "prefers-color-scheme", "value": value}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        self.driver.execute_async_script(
            "requestAnimationFrame(() => requestAnimationFrame(() => arguments[0]()))"
        )

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def texts(self, selector):
        return self.run(
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)",
            selector,
        )

    def show(self, element):
        """Scroll to an element, focus it, and wait until the page has been drawn."""
        self.driver.execute_async_script(
            "arguments[0].scrollIntoView({block: 'center'}); arguments[0].focus();"
            "requestAnimationFrame(() => requestAnimationFrame(() => arguments[1]()))",
            element,
        )

    def data(self):
        """Return the data that the script reads."""
        return json.loads(self.run("return document.getElementById('data').textContent"))

    def search(self, text):
        """Enter a text into the search field at once."""
        self.run(
            "const s = document.getElementById('search'); s.value = arguments[0];"
            "s.dispatchEvent(new Event('input'))",
            text,
        )

    def ranks(self):
        return [int(text) for text in self.texts("#gallery .card .line b:first-child")]

    def press(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    def point(self, element, x=0, y=0):
        ActionChains(self.driver, duration=0).move_to_element_with_offset(element, x, y).perform()

    def tip(self):
        return self.run(
            "const t = document.getElementById('tip'); return t.hidden ? '' : t.textContent"
        )

    def is_open(self):
        return self.run("return document.getElementById('panel').open")

    def focused(self):
        return self.settled("document.activeElement.getAttribute('aria-label') || ''")

    def active(self):
        return self.settled("document.activeElement.id")

    def settled(self, value):
        """Return a value after pending events: a dialog reports late that it was closed."""
        script = f"const done = arguments[0]; setTimeout(() => done({value}), 60)"
        return self.driver.execute_async_script(script)

    def background(self):
        return self.run("return getComputedStyle(document.body).backgroundColor")

    def console(self):
        """Return the messages of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        """Return the addresses this page has requested, without its own and data: addresses."""
        return self.run("return performance.getEntriesByType('resource').map((e) => e.name)")
