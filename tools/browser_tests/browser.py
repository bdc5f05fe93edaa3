"""The browser of the tests: the machine's Chromium or Chrome, or one that Selenium fetches."""

import shutil

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException

# A container has no user namespaces for the sandbox; nothing but our own page is opened.
FLAGS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-quic", "--window-size=1000,800"]
PHONE = {"width": 360, "height": 640, "deviceScaleFactor": 2, "mobile": True}


def found(*names):
    return next(filter(None, map(shutil.which, names)), None)


def start(*more_flags):
    options = webdriver.ChromeOptions()
    for flag in [*FLAGS, *more_flags]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser, driver = found("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"), found("chromedriver")
    if browser:
        options.binary_location = browser
    try:
        return webdriver.Chrome(options, webdriver.ChromeService(driver) if driver else None)
    except WebDriverException as error:
        pytest.exit(f"no browser could be started: {error.msg}\nInstall Chromium and its driver (Debian: apt-get install chromium "
                    "chromium-driver), or set LABELFLOW_SKIP_BROWSER=1 to go without these tests.", returncode=1)
