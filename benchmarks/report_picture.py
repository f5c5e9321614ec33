"""Make the screenshot of a report for the documentation, and measure a report of MNIST.

    python -m benchmarks.report_picture [--out docs/report.png] [--data DIR]

The screenshot shows the report of scikit-learn's digits in headless Chromium (Debian: chromium and
chromium-driver). With ``--data`` a report of k = 200 prototypes of MNIST's training images is made
too. Its size, the time to create it, and the time until the browser has drawn it and responds to a
click are printed.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import protobandit as pb
from benchmarks.common.data import mnist
from protobandit.result.report.page import page as render_page
from protobandit.result.report.report_data import ReportData
from protobandit.result.report.report_data import report_data as make_report_data
from protobandit.result.report.row_display import RowDisplay

FLAGS = (  # Chromium without a window and without network access of its own
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_WIDTH, _HEIGHT = 1280, 1930


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/report.png"))
    parser.add_argument("--data", type=Path, help="folder with the files of MNIST")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, browser(Path(folder)) as driver:
        page = Path(folder) / "digits.html"
        page.write_text(render_page(digits()), encoding="utf-8")
        take_screenshot(driver, page, given.out)
        print(f"{given.out}: {given.out.stat().st_size / 1e3:.0f} kB")
        if given.data is not None:
            measure(driver, Path(folder) / "mnist.html", given.data)


def digits() -> ReportData:
    from sklearn.datasets import load_digits

    rows, labels = load_digits(return_X_y=True)
    images = np.rint(255 / 16 * rows.reshape(-1, 8, 8)).astype(np.uint8)
    look = RowDisplay(kind="images", take=lambda ids: images[ids], labels=labels)
    selection = pb.select(rows, k=16, method="fasterpam", random_state=0)
    return make_report_data(
        selection.certified(random_state=0),
        rows,
        source=look,
        target=look,
        layout="pca",
        command="protobandit select digits.npy -k 16 --method fasterpam --seed 0 --out digits",
    )


def measure(driver: Any, page: Path, folder: Path) -> None:
    rows, labels, *_ = mnist(folder)
    look = RowDisplay(
        kind="images",
        take=lambda ids: np.rint(255 * rows[ids]).astype(np.uint8).reshape(-1, 28, 28),
        labels=labels,
    )
    selection = pb.select(rows, k=200, random_state=0)
    start = perf_counter()
    found = make_report_data(selection, rows, source=look, target=look, layout="pca")
    page.write_text(render_page(found), encoding="utf-8")
    print(f"MNIST, k = 200: created in {perf_counter() - start:.2f} s")
    print(f"MNIST, k = 200: {page.stat().st_size / 1e6:.2f} MB")
    times = sorted(usable(driver, page) for _ in range(5))
    print(f"MNIST, k = 200: usable after {times[2]:.2f} s (median of 5, {times[-1]:.2f} at most)")


def usable(driver: Any, page: Path) -> float:
    """Return the seconds from loading the page to its response to a click."""
    driver.get("about:blank")
    start = perf_counter()
    driver.get(page.as_uri())
    driver.find_element("css selector", ".card").click()
    if not driver.execute_script("return document.getElementById('panel').open"):
        raise SystemExit(
            "A click did not open the panel: the report does not work in this browser."
        )
    return perf_counter() - start


def take_screenshot(driver: Any, page: Path, out: Path) -> None:
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": _WIDTH, "height": _HEIGHT, "deviceScaleFactor": 1, "mobile": False},
    )
    driver.get(page.as_uri())
    driver.execute_script("return Promise.all([...document.images].map((i) => i.decode()))")
    out.write_bytes(driver.get_screenshot_as_png())


@contextmanager
def browser(folder: Path) -> Iterator[Any]:
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        raise SystemExit(
            "Chromium was not found. On Debian: apt-get install chromium chromium-driver."
        )
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, "--hide-scrollbars", f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(flag)
    running = webdriver.Chrome(options=options, service=Service(driver))
    try:
        yield running
    finally:
        running.quit()


if __name__ == "__main__":
    main()
