"""A chapter in other browsers: its figure, a running cell and its search.

Weekly, with `BROWSERS="firefox webkit"`, which `playwright install firefox webkit` downloads.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect, sync_playwright
from test_page import press, served  # noqa: F401


def read(name, address):
    with sync_playwright() as engine, getattr(engine, name).launch() as running:
        tab = running.new_page()
        tab.goto(address)
        slider = tab.locator("posenc-figure input[type=range]").first
        before = slider.input_value()
        slider.press("ArrowRight")
        expect(slider).not_to_have_value(before)
        press(tab.locator("div.cell.first"), says="Done")
        tab.locator("button.seek:visible").click()
        tab.locator(".search input").fill("wavelenght")
        expect(tab.locator("#hits a b").first).to_have_text("wavelength")


@pytest.mark.parametrize("name", os.environ.get("BROWSERS", "").split())
def test_a_chapter_works(name, served):  # noqa: F811
    address = f"{served}/notebooks/05_rotary_and_alibi.html"
    with (
        ThreadPoolExecutor() as pool
    ):  # a thread of its own: Chromium's engine has this one
        pool.submit(read, name, address).result()
