"""Opens the page that `labelflow report` writes: in light and dark colours, on a phone, with the keyboard alone.

    python -m pytest tools/browser_tests

LABELFLOW_REPORT names the page, which the Rust test `report_page_for_the_browser` writes; `make browser-test` does both.
"""

import base64
import json
import os
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import PHONE, start

SCHEMES = ["light", "dark"]


@pytest.fixture(scope="module")
def driver():
    driver = start("--force-color-profile=srgb")
    driver.execute_cdp_cmd("Network.enable", {})
    yield driver
    driver.quit()


def path():
    return Path(os.environ["LABELFLOW_REPORT"]).resolve()


def emulate(driver, scheme="light", size=None):
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    if size:
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    else:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def open_page(driver, **how):
    emulate(driver, **how)
    driver.get(path().as_uri())


@pytest.fixture
def page(driver):
    open_page(driver)
    yield driver
    # Whatever a test did, the console stays empty.
    assert driver.get_log("browser") == []


def keep(driver, name):
    """A screenshot of the whole page beside it, for people."""
    height = driver.execute_script("return document.documentElement.scrollHeight")
    width = driver.execute_script("return innerWidth")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    picture = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    (path().parent / f"report_page-{name}.png").write_bytes(base64.b64decode(picture["data"]))


def charts(driver):
    return driver.find_elements(By.CSS_SELECTOR, "svg.chart")


def test_every_chart_has_marks_a_name_and_its_data(page):
    assert len(charts(page)) == 14
    for chart in charts(page):
        name = chart.accessible_name
        assert len(name) > 20 and chart.aria_role in ("img", "image"), name
        marks = chart.find_elements(By.CSS_SELECTOR, ".mark")
        assert marks, name
        assert all(mark.find_element(By.TAG_NAME, "title").get_attribute("textContent") for mark in marks[:3])
        assert chart.size["width"] > 250 and chart.size["height"] > 80
    empty = page.execute_script("return [...document.querySelectorAll('figure details')].filter((d) => !d.querySelector('td')).length")
    assert empty == 0


def test_text_stays_within_its_chart(page):
    outside = page.execute_script("""
        const outside = [];
        for (const chart of document.querySelectorAll("svg.chart")) {
          const frame = chart.getBoundingClientRect();
          for (const text of chart.querySelectorAll("text")) {
            const box = text.getBoundingClientRect();
            if (box.left < frame.left - 2 || box.right > frame.right + 2 || box.bottom > frame.bottom + 2) outside.push(text.textContent);
          }
        }
        return outside;
    """)
    assert outside == []


def test_names_are_shown_as_they_are(page):
    assert page.find_elements(By.CSS_SELECTOR, "img, b") == []
    assert "<img>without" in page.find_element(By.ID, "training").text
    assert "<b>rule</b>" in page.find_element(By.ID, "signals").text


def test_keys_reach_charts_and_step_through_values(page):
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    reached = set()
    for _ in range(120):
        active = page.switch_to.active_element
        if active.tag_name == "svg":
            reached.add(active.accessible_name)
        active.send_keys(Keys.TAB)
    assert reached == {chart.accessible_name for chart in charts(page)}

    chart = charts(page)[0]
    page.execute_script("arguments[0].focus({ focusVisible: true })", chart)
    line = page.execute_script("return arguments[0].parentElement.querySelector('.value')", chart)
    seen = set()
    for key in [Keys.ARROW_RIGHT, Keys.ARROW_RIGHT, Keys.END, Keys.ARROW_LEFT, Keys.HOME]:
        chart.send_keys(key)
        seen.add(line.text)
        assert len(chart.find_elements(By.CSS_SELECTOR, ".chosen")) == 1
    # The first value is seen twice.
    assert len(seen) == 4 and all("epoch" in text for text in seen), seen
    outline = page.execute_script("return getComputedStyle(arguments[0]).outlineStyle", chart)
    assert outline != "none"


def colors(driver):
    script = """
        const css = (element, name) => getComputedStyle(element)[name];
        const chart = document.querySelector("svg.chart");
        return {
          paper: css(document.body, "backgroundColor"),
          text: css(document.body, "color"),
          letters: css(chart.querySelector("text"), "fill"),
          line: css(chart.querySelector("path[stroke*=series]"), "stroke"),
        };
    """
    return driver.execute_script(script)


def luminance(color):
    channels = [int(number) / 255 for number in color[4:-1].split(",")]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip([0.2126, 0.7152, 0.0722], linear))


def test_both_colour_schemes_are_legible(page):
    seen = {}
    for scheme in SCHEMES:
        open_page(page, scheme=scheme)
        seen[scheme] = found = colors(page)
        for name, least in [("text", 7), ("letters", 4.5), ("line", 3)]:
            pair = sorted([luminance(found[name]), luminance(found["paper"])])
            assert (pair[1] + 0.05) / (pair[0] + 0.05) >= least, (scheme, name, found)
        keep(page, scheme)
    assert all(seen["light"][name] != seen["dark"][name] for name in seen["light"]), seen


def test_it_fits_a_phone(page):
    for scheme in SCHEMES:
        open_page(page, scheme=scheme, size=PHONE)
        assert page.execute_script("return document.scrollingElement.scrollWidth") == PHONE["width"]
        # Also with every table open.
        page.execute_script("document.querySelectorAll('details').forEach((details) => { details.open = true })")
        assert page.execute_script("return document.scrollingElement.scrollWidth") == PHONE["width"]
        smallest = page.execute_script("""
            const scale = (text) => text.getBoundingClientRect().height;
            return Math.min(...[...document.querySelectorAll("svg.chart text:not([transform])")].map(scale));
        """)
        assert smallest >= 9
    open_page(page, size=PHONE)
    keep(page, "phone")


def test_no_request_leaves_the_page(driver):
    driver.get_log("browser")
    open_page(driver)
    loaded = driver.execute_script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert [name for name in loaded if not name.startswith("data:")] == []
    links = driver.execute_script("return [...document.querySelectorAll('[src], [href]')].map((e) => e.getAttribute('src') ?? e.getAttribute('href'))")
    assert all(link.startswith("#") or link == "data:," for link in links), links


def test_a_chart_as_a_file_is_valid_xml(page):
    text = (path().parent / "report_chart.svg").read_text()
    script = "return new DOMParser().parseFromString(arguments[0], 'image/svg+xml').querySelector('parsererror')?.textContent ?? ''"
    assert page.execute_script(script, text) == ""
    whole = path().read_text()
    inline = whole[whole.index("<svg"):whole.index("</svg>") + 6]
    assert page.execute_script(script, inline) == "", json.dumps(inline[:200])
