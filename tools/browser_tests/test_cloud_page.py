"""Opens the page of point clouds in a browser: with WebGL, and without it.

    python -m pytest tools/browser_tests

LABELFLOW_PAGE names the page, which the Rust test `page_for_the_browser` writes; `make browser-test` does both. The browser is the
machine's Chromium or Chrome, or one that Selenium fetches.
"""

import base64
import os
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from browser import PHONE, start

RENDERERS = {"webgl": ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"], "2d": ["--disable-3d-apis", "--disable-gpu"]}


class Page:
    def __init__(self, driver, renderer):
        self.driver, self.renderer = driver, renderer

    def open(self):
        self.driver.get(Path(os.environ["LABELFLOW_PAGE"]).resolve().as_uri())
        # The ring around what has the focus would be a change of the picture by itself.
        self.driver.execute_script("document.head.append(Object.assign(document.createElement('style'), "
                                   "{ textContent: 'canvas { outline: none !important }' }))")
        self.drawn()

    @property
    def canvas(self):
        return self.driver.find_element(By.TAG_NAME, "canvas")

    def drawn(self):
        """The points of the last frame, once it was drawn."""
        frames = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done))"
        self.driver.execute_async_script(frames)
        WebDriverWait(self.driver, 10).until(lambda _: self.canvas.get_attribute("data-drawn"))
        return int(self.canvas.get_attribute("data-drawn"))

    def picture(self):
        self.drawn()
        return self.canvas.screenshot_as_base64

    def button(self, name):
        return self.driver.find_element(By.XPATH, f"//button[@aria-label='{name}' or normalize-space(.)='{name}']")

    def click(self, name):
        self.button(name).click()
        return self.picture()

    def press(self, keys):
        self.canvas.send_keys(keys)
        return self.picture()

    def colors(self):
        """How many pixels of the canvas are more red than blue, and more blue than red, by much."""
        script = """
            const [text, done] = arguments, image = new Image();
            image.onload = () => {
              const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
              const context = canvas.getContext("2d");
              context.drawImage(image, 0, 0);
              const { data } = context.getImageData(0, 0, image.width, image.height);
              let red = 0, blue = 0;
              for (let i = 0; i < data.length; i += 4) {
                red += data[i] > data[i + 2] + 60;
                blue += data[i + 2] > data[i] + 60;
              }
              done([red, blue]);
            };
            image.src = "data:image/png;base64," + text;
        """
        return self.driver.execute_async_script(script, self.picture())


@pytest.fixture(scope="module", params=list(RENDERERS))
def driver(request):
    driver = start(*RENDERERS[request.param])
    driver.renderer = request.param
    yield driver
    driver.quit()


@pytest.fixture
def page(driver):
    page = Page(driver, driver.renderer)
    page.open()
    yield page
    # Whatever a test did, the console stays empty.
    assert driver.get_log("browser") == []


def test_points_are_drawn_in_their_colours(page):
    assert page.canvas.get_attribute("data-renderer") == page.renderer
    assert page.drawn() == 1024
    red, blue = page.colors()
    assert red > 500 and blue == 0
    page.click("Completion 2")
    keep(page, "completion")
    assert page.drawn() == 2048 + 1024
    red, blue = page.colors()
    assert red > 500 and blue > 500
    page.click("Input over completion")
    assert page.drawn() == 2048
    red, blue = page.colors()
    assert red == 0 and blue > 500
    page.click("Truth")
    assert page.drawn() == 10_000


def test_keys_turn_and_zoom(page):
    start = page.picture()
    seen = {start}
    for key in [Keys.ARROW_LEFT, Keys.ARROW_UP, "+", "-", "-"]:
        seen.add(page.press(key))
    assert len(seen) >= 5, "each key changes the picture; + and - undo each other"
    assert page.press("0") == start


def test_the_mouse_turns_and_the_wheel_zooms(page):
    start = page.picture()
    actions = webdriver.ActionChains(page.driver)
    actions.click_and_hold(page.canvas).move_by_offset(80, 30).release().perform()
    turned = page.picture()
    assert turned != start
    origin = webdriver.common.actions.wheel_input.ScrollOrigin.from_element(page.canvas)
    webdriver.ActionChains(page.driver).scroll_from_origin(origin, 0, 200).perform()
    assert page.picture() != turned
    assert page.click("Reset the view") == start


def test_two_fingers_zoom_and_one_turns(page):
    box = page.canvas.rect
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def touch(kind, *places):
        points = [{"x": place, "y": y, "id": index} for index, place in enumerate(places)]
        page.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    def swipe(start, end):
        before = page.picture()
        touch("touchStart", *start)
        touch("touchMove", *end)
        touch("touchEnd")
        assert page.picture() != before
        return page.click("Reset the view")

    start = page.picture()
    assert swipe([x], [x + 60]) == start
    assert swipe([x - 20, x + 20], [x - 80, x + 80]) == start


def test_everything_has_a_name_and_a_state(page):
    buttons = page.driver.find_elements(By.TAG_NAME, "button")
    names = [button.accessible_name for button in buttons]
    assert all(names) and len(set(names)) == len(names), names
    assert {"Input", "Completion 1", "Completion 2", "Completion 3", "Truth", "Larger", "Smaller"} <= set(names)
    assert page.driver.find_element(By.TAG_NAME, "select").accessible_name == "Scan"
    assert "Input of chair.ply" in page.canvas.accessible_name
    page.click("Completion 3")
    pressed = [name for name, button in zip(names, buttons) if button.get_attribute("aria-pressed") == "true"]
    assert pressed == ["Completion 3", "Input over completion"]
    assert "Completion 3: 2,048 points" in page.driver.find_element(By.ID, "status").text


def test_names_are_shown_as_they_are(page):
    scans = Select(page.driver.find_element(By.TAG_NAME, "select"))
    scans.select_by_index(1)
    page.drawn()
    assert page.driver.find_element(By.TAG_NAME, "h1").text == '</script><b>table</b> & "more".ply'
    assert page.driver.find_elements(By.TAG_NAME, "b") == []


def test_dark_colours(page):
    light = page.picture()
    page.click("Dark colours")
    assert page.picture() != light
    paper = page.driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == "rgb(20, 23, 28)"


def test_it_fits_a_phone(page):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", PHONE)
    try:
        page.open()
        width, too_small = page.driver.execute_script("""
            const small = (box) => box.width < 44 || box.height < 44;
            const buttons = [...document.querySelectorAll("button, select")];
            return [document.scrollingElement.scrollWidth, buttons.filter((b) => small(b.getBoundingClientRect())).length];
        """)
        assert width == PHONE["width"] and too_small == 0
        assert page.canvas.size["height"] >= 200
        assert page.colors()[0] > 300
        keep(page, "phone")
    finally:
        page.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def keep(page, name):
    """A screenshot beside the page, for people."""
    folder = Path(os.environ["LABELFLOW_PAGE"]).parent
    (folder / f"cloud_page-{name}-{page.renderer}.png").write_bytes(base64.b64decode(page.driver.get_screenshot_as_base64()))
