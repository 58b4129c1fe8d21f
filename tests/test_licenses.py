"""The site says whose work it ships."""

from pathlib import Path

import licenses

ROOT = Path(__file__).parents[1]


def test_licenses_are_those_of_what_is_installed():
    assert (ROOT / "book" / "licenses.txt").read_text(encoding="utf-8") == licenses.text()


def test_the_site_ships_and_links_them():
    (shipped,) = (ROOT / "_build" / "html" / "_downloads").glob("*/licenses.txt")
    assert shipped.read_bytes() == (ROOT / "book" / "licenses.txt").read_bytes()
    first = (ROOT / "_build" / "html" / "index.html").read_text(encoding="utf-8")
    assert f"_downloads/{shipped.parent.name}/licenses.txt" in first
