"""One headless browser for all tests of pages."""

from __future__ import annotations

import shutil

import pytest
from benchmarks.report_picture import FLAGS


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """Return a driver of Chromium that records the console."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    from browsing import skip_without

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        skip_without("chromium" if chromium is None else "chromedriver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    more = ("--disable-dev-shm-usage", "--window-size=1280,900")
    for flag in (*FLAGS, *more, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    running = webdriver.Chrome(options=options, service=Service(driver))
    running.get("about:blank")
    yield running
    running.quit()


@pytest.fixture(scope="session")
def addresses(tmp_path_factory):
    """Return a function from the name of a page to its address; pages are written on first use."""
    from browsing import PAGES
    from protobandit.result.report.page import page as render_page

    folder = tmp_path_factory.mktemp("pages")

    def address(name):
        file = folder / f"{name}.html"
        if not file.exists():
            file.write_text(render_page(PAGES[name]()), encoding="utf-8")
        return file.as_uri()

    return address


@pytest.fixture
def visit(browser, addresses):
    """Open a page; at the end its console must be empty and it must have requested nothing."""
    from browsing import Page

    opened = []

    def go(name):
        address = addresses(name)
        browser.get_log("browser")
        opened.append(Page(browser, address))
        return opened[-1]

    yield go
    for page in opened:
        assert page.console() == []
        assert page.requests() == []
