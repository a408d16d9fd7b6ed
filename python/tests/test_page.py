"""The report of a run in a browser: what people do with it."""

import base64
import csv
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

HOSTILE = [
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<!-- a comment",
    "tab\tand\x07bell",
    "\u202eright to left",
]


def write(path, rows):
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return path


@pytest.fixture(scope="module")
def run(cli, tmp_path_factory):
    """A run on a synthetic graph of named nodes with 30 classes."""
    folder = tmp_path_factory.mktemp("page")
    random, nodes, classes = np.random.default_rng(0), 900, 30
    of = np.arange(nodes) % classes
    names = [*HOSTILE, *(f"node {at}" for at in range(len(HOSTILE), nodes))]
    kinds = ["<b>bold</b>", *(f"kind {at}" for at in range(1, classes))]
    x = random.normal(size=(classes, 40))[of] + 0.8 * random.normal(size=(nodes, 40))
    ends = random.integers(0, nodes // classes, size=(3000, 2)) * classes + random.integers(
        0, classes, (3000, 1)
    )
    edges = [("source", "target"), *((names[a], names[b]) for a, b in ends)]
    (folder / "names.txt").write_text("\n".join(names) + "\n", encoding="utf-8")
    np.save(folder / "x.npy", x.astype(np.float32))
    files = [
        *("--edges", write(folder / "edges.csv", edges)),
        *("--features", folder / "x.npy", "--ids", folder / "names.txt"),
        *("--labels", write(folder / "labels.csv", [("id", "label"), *zip(names, (kinds[c] for c in of))])),
    ]
    subprocess.run([cli, "run", *files, "--runs", "3", "--quiet", "--out", folder / "out"], check=True)
    return folder / "out"


def start(width=1280, height=900, dark=False):
    selenium = pytest.importorskip("selenium.webdriver")
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        missing = "chromium and chromedriver are not installed"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    options = selenium.ChromeOptions()
    options.binary_location = browser
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    chrome = selenium.Chrome(options, selenium.ChromeService(driver))
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": width < 500})
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    return chrome


@pytest.fixture(scope="module")
def desk():
    chrome = start()
    yield chrome
    chrome.quit()


@pytest.fixture
def page(desk, run):
    desk.get((run / "report.html").as_uri())
    yield desk
    assert [entry for entry in desk.get_log("browser") if entry["level"] != "INFO"] == []


def find(page, selector):
    return page.find_element("css selector", selector)


def in_view(page, selector):
    """An element, scrolled to the middle of the window."""
    element = find(page, selector)
    page.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    return element


def text(page, selector):
    return page.execute_script("return document.querySelector(arguments[0]).textContent", selector)


def zoom(page):
    return float(text(page, "#zoom").rstrip("×"))


def search(page, name):
    box = find(page, "#search")
    box.clear()
    box.send_keys(name)
    box.send_keys("\ue007")


def mouse(page):
    from selenium.webdriver import ActionChains

    return ActionChains(page, duration=20)


def soon(page, true):
    """Waits until something is true that the browser does in its own time."""
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(page, 10, poll_frequency=0.02).until(lambda _: true())


def color_at_the_middle(page):
    """Of the canvas, after the next frame. It is read from a copy: the browser warns if the canvas is read often."""
    script = """
        const done = arguments[0], map = document.getElementById("map");
        const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
        requestAnimationFrame(() => requestAnimationFrame(() => {
            copy.drawImage(map, map.width / 2, map.height / 2, 1, 1, 0, 0, 1, 1);
            done([...copy.getImageData(0, 0, 1, 1).data]);
        }));
    """
    return page.execute_async_script(script)


def nearest(run, name):
    names = (run / "ids.txt").read_text(encoding="utf-8").split("\n")
    z = np.load(run / "embedding.npy").astype(np.float64)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    scores = z @ z[names.index(name)]
    return [names[row] for row in np.argsort(-scores) if names[row] != name][:10]


def test_a_name_is_found_and_shown_with_its_nearest(page, run):
    search(page, "NODE 123")
    assert (text(page, "#name"), text(page, "#class")) == ("node 123", "kind 3")
    assert zoom(page) > 1 and color_at_the_middle(page)[3] > 0
    listed = [item.text for item in page.find_elements("css selector", "#nearest .name")]
    assert len(set(listed) & set(nearest(run, "node 123"))) >= 9, "candidates are searched on 50 axes"
    scores = [float(item.text) for item in page.find_elements("css selector", "#nearest .score")]
    assert scores == sorted(scores, reverse=True) and scores[0] > 0.5
    # The node is in the middle of the map.
    mouse(page).move_to_element(in_view(page, "#map")).perform()
    assert text(page, "#tip b") == "node 123" and find(page, "#tip").is_displayed()
    second = listed[1]
    page.find_elements("css selector", "#nearest .entry")[1].click()
    assert text(page, "#name") == second
    find(page, "#nothing").click()
    assert not find(page, "#selected").is_displayed()


def test_suggestions_follow_the_keys(page):
    box = find(page, "#search")
    box.send_keys("node 88")
    options = [item.text for item in page.find_elements("css selector", "#results .name")]
    assert options[0] == "node 88" and "node 889" in options
    box.send_keys("\ue015\ue015\ue007")
    assert text(page, "#name") == options[2]
    box.clear()
    box.send_keys("nobody")
    assert text(page, "#results") == "no such name"
    box.send_keys("\ue00c")
    assert not find(page, "#results").is_displayed()


def test_the_map_zooms_and_moves(page):
    assert zoom(page) == 1
    # Without a click, the wheel scrolls the page.
    from selenium.webdriver.common.actions.wheel_input import ScrollOrigin

    canvas = in_view(page, "#map")
    scroll = lambda by: mouse(page).scroll_from_origin(ScrollOrigin.from_element(canvas), 0, by).perform()
    before = page.execute_script("return scrollY")
    scroll(60)
    soon(page, lambda: page.execute_script("return scrollY") == before + 60)
    assert zoom(page) == 1
    find(page, "#closer").click()
    assert zoom(page) == 1.6
    find(page, "#farther").click()
    assert zoom(page) == 1
    mouse(page).click(canvas).perform()
    scroll(-300)
    soon(page, lambda: zoom(page) > 1.1)
    search(page, "node 77")
    mouse(page).drag_and_drop_by_offset(canvas, 90, 40).perform()
    assert text(page, "#name") == "node 77", "dragging selects nothing"
    mouse(page).move_to_element_with_offset(canvas, 90, 40).perform()
    assert text(page, "#tip b") == "node 77", "it has moved with the mouse"
    canvas.send_keys("0")
    assert zoom(page) == 1
    # A double click zooms, also where there is no point.
    mouse(page).move_to_element_with_offset(canvas, -300, -250).double_click().perform()
    assert zoom(page) == 2


def test_every_class_can_be_chosen(page):
    buttons = page.find_elements("css selector", "#classes button")
    assert len(buttons) == 30
    assert len(page.find_elements("css selector", "#classes .other")) == 18, "twelve have a color"
    assert not find(page, "#all").is_displayed()
    picture = lambda: page.execute_script("return document.getElementById('map').toDataURL()")
    color_at_the_middle(page)
    before = picture()
    page.execute_script("arguments[0].click()", buttons[20])
    assert buttons[20].get_attribute("aria-pressed") == "true" and find(page, "#all").is_displayed()
    color_at_the_middle(page)
    assert picture() != before
    find(page, "#all").click()
    color_at_the_middle(page)
    assert buttons[20].get_attribute("aria-pressed") == "false" and picture() == before


def test_names_are_text_whatever_they_contain(page):
    for name in HOSTILE[:3]:
        search(page, name)
        assert text(page, "#name") == name
        assert text(page, "#class").startswith(("<b>bold", "kind"))
    assert page.title == "edges" and not page.find_elements("css selector", "img, .entry b")
    page.execute_script("""
        const made = document.createElement("script");
        made.text = "document.title = 1";
        document.body.append(made);
    """)
    refused = [entry for entry in page.get_log("browser") if "Content Security Policy" in entry["message"]]
    assert page.title == "edges" and refused, "no script but the page's own is executed"


def test_nothing_is_loaded_and_the_page_is_small(page, run):
    assert page.execute_script("return performance.getEntriesByType('resource').length") == 0
    assert (run / "report.html").stat().st_size < 400_000
    headings = [heading.text for heading in page.find_elements("css selector", "h2")]
    assert headings[:5] == ["Map", "Accuracy", "Classes", "How it was made", "Clusters"]
    assert "of test nodes are classified correctly" in text(page, ".headline")
    command = text(page, "#origin-section td")
    assert command.startswith("structcomp run --edges ") and "--runs 3" in command


@pytest.fixture(scope="module")
def phone(run):
    chrome = start(390, 844, dark=True)
    chrome.get((run / "report.html").as_uri())
    yield chrome
    chrome.quit()


def touch(page, kind, *places):
    points = [{"x": x, "y": y, "id": at} for at, (x, y) in enumerate(places)]
    page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_phone_shows_all_of_it(phone):
    assert phone.execute_script("return document.documentElement.scrollWidth") == 390
    small = """
        const small = [];
        for (const element of document.querySelectorAll("body *")) {
            const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
            const matrix = element.closest("svg")?.getAttribute("viewBox");
            const shrunk = matrix ? element.closest("svg").clientWidth / +matrix.split(" ")[2] : 1;
            const size = parseFloat(getComputedStyle(element).fontSize) * shrunk;
            if (own && element.checkVisibility() && size < 11.5) small.push([element.textContent, size]);
        }
        return small;
    """
    assert phone.execute_script(small) == []
    page, panel = [
        phone.execute_script(f"return getComputedStyle(document.querySelector('{name}')).backgroundColor")
        for name in ("body", ".plot")
    ]
    assert page == "rgb(23, 24, 26)" and panel == "rgb(31, 33, 35)"


def test_fingers_zoom_and_tap(phone):
    canvas = in_view(phone, "#map")
    box = canvas.rect
    x, y = box["x"] + box["width"] / 2, 422
    touch(phone, "touchStart", (x - 30, y), (x + 30, y))
    for by in (40, 60, 80, 100):
        touch(phone, "touchMove", (x - by, y), (x + by, y))
    touch(phone, "touchEnd")
    assert zoom(phone) > 2
    search(phone, "node 45")
    in_view(phone, "#map")
    find(phone, "#nothing").click()
    in_view(phone, "#map")
    top = phone.execute_script("return arguments[0].getBoundingClientRect().top", canvas)
    touch(phone, "touchStart", (x, top + box["height"] / 2))
    touch(phone, "touchEnd")
    assert text(phone, "#name") == "node 45"
    assert [entry for entry in phone.get_log("browser") if entry["level"] != "INFO"] == []


def test_it_can_be_printed(desk, run):
    desk.get((run / "report.html").as_uri())
    pdf = base64.b64decode(desk.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert pdf.startswith(b"%PDF") and 2 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") <= 12
    assert Path(run / "report.html").exists()
