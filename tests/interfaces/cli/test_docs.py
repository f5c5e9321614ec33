"""docs/cli.md holds the help of the commands."""

import importlib.util
from pathlib import Path

import pytest

from interfaces.cli.test_main import COMMANDS

SCRIPT = Path(__file__).parents[3] / "docs" / "make_cli.py"


@pytest.fixture(scope="module")
def script():
    if not SCRIPT.exists():
        pytest.skip("docs are not part of this distribution")
    spec = importlib.util.spec_from_file_location("make_cli", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_up_to_date(script):
    written = script.PAGE.read_text(encoding="utf-8")
    assert written == script.page(), "run python docs/make_cli.py"


def test_the_page_has_every_command_and_option(script):
    page = script.page()
    for command in COMMANDS:
        assert f"\n## {command}\n" in page
    for option in ("--target PATH", "--seeds N", "--confidence P", "--no-save", "--dry-run"):
        assert f"`{option}`" in page
    assert "None" not in page
