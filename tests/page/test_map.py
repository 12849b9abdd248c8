"""The map in a real browser."""

import pytest

from tests.page.conftest import Show, Watch, wait_until

pytestmark = pytest.mark.slow  # in a browser


def test_going_back_restores_the_choice_of_colours(show: Show) -> None:
    page = show("map")
    page.locator("#colour").select_option("time")
    page.go_back()
    wait_until(page, "document.querySelector('#colour').value === 'group'")


def test_drawing_around_points_filters_by_them(show: Show) -> None:
    page = show("map")
    page.get_by_role("button", name="Draw around points").click()
    box = page.locator("canvas").bounding_box()
    x, y, width, height = box["x"], box["y"], box["width"], box["height"]
    page.mouse.move(x + 2, y + 2)
    page.mouse.down()
    for corner in ((width / 2, 2), (width / 2, height - 2), (2, height - 2), (2, 10)):
        page.mouse.move(x + corner[0], y + corner[1], steps=8)
    page.mouse.up()
    page.wait_for_selector(".chip")
    assert "lasso=message" in page.url
    inside = int(page.locator("#passing").inner_text().split()[0])
    assert 0 < inside < 480
    x_values = page.evaluate(
        "turnlens.filters.select(turnlens.route.current().filter).then((s) =>"
        " [...turnlens.report.messages.x].filter((x, m) => s.message[m]))"
    )
    assert len(x_values) == inside and max(x_values) < 0.1
    page.locator(f"h2:has-text('Drawn around: {inside} messages')").wait_for()
    page.locator(".beside .said").first.wait_for()  # what was drawn around is listed beside the map
    page.locator(".legend button.entry").first.click()  # and what passes a filter
    page.wait_for_selector(".chip:nth-of-type(2)")
    fewer = int(page.locator("#passing").inner_text().split()[0])
    page.locator(f"h2:has-text('Drawn around: {fewer} message')").wait_for()
    page.get_by_role("button", name="Remove the filter group").click()
    page.locator(f"h2:has-text('Drawn around: {inside} messages')").wait_for()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.wait_for_selector("text=everything is shown")


def test_far_islands_do_not_set_the_scale_of_the_map(show: Show) -> None:
    page = show("map")
    main, whole = page.evaluate(
        """() => {
          const middle = Array.from({length: 300}, (_, i) => Math.sin(i)), x = new Float32Array([...middle, 50, -40]);
          return [turnlens.geometry.mainExtentOf(x, x).width, turnlens.geometry.extentOf(x, x).width];
        }"""
    )
    assert 1.9 < main < 2.5 and whole == 90


def test_map_names_are_of_groups_and_do_not_overlap(show: Show) -> None:
    page = show("map")
    names = page.locator(".map-labels span")
    names.first.wait_for()
    shown = names.all_text_contents()
    assert len(shown) > 6 and all(name.startswith(("asks for ", "confirms ", "cancels ")) for name in shown)
    boxes = names.evaluate_all("(all) => all.map((e) => [e.offsetLeft, e.offsetTop, e.offsetWidth, e.offsetHeight])")
    for i, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, high in boxes[:i]:
            assert x >= left + wide or left >= x + width or y >= top + high or top >= y + height


def test_a_colour_of_the_map_stands_for_few_groups(show: Show) -> None:
    page = show("map", topics=40, conversations=400)
    counts = page.evaluate(
        """() => {
          const counts = {};
          for (const {role, colour} of turnlens.report.groups.message.fine) {
            if (role !== "user" || colour < 0) continue;
            const key = turnlens.colours.category(colour).colour;
            counts[key] = (counts[key] || 0) + 1;
          }
          return Object.values(counts);
        }"""
    )
    assert len(counts) == 7 and max(counts) <= 3
    assert page.evaluate("document.querySelector('.map').offsetWidth / window.innerWidth") > 0.95


def test_pointing_shows_and_pressing_opens(show: Show) -> None:
    page = show("map")
    box = page.locator("canvas").bounding_box()
    for step in range(60):  # from the middle outwards, until the ring of points
        place = box["x"] + box["width"] * (0.5 + step / 120), box["y"] + box["height"] / 2
        page.mouse.move(*place)
        if page.locator(".map-tip").is_visible():
            break
    page.locator(".map-tip").filter(has_text="message").wait_for()  # the text comes a moment after the rest
    page.mouse.click(*place)
    page.wait_for_selector(".turn:focus")
    assert "#/conversation/" in page.url


def test_without_webgl_only_the_map_is_missing(watch: Watch) -> None:
    watched = watch()
    watched.page.add_init_script("HTMLCanvasElement.prototype.getContext = () => null;")
    assert "WebGL 2" in watched.open("map").get_by_role("alert").inner_text()
    watched.open("groups")


def test_the_map_shows_the_asker_unless_told_otherwise(show: Show) -> None:
    page = show("map")
    total = ".legend .number"

    def counted() -> int:
        page.locator(total).first.wait_for()
        return sum(map(int, page.locator(total).all_inner_texts()))

    assert counted() == 240  # of the 480 messages, those of the role that asks
    page.get_by_label("Said by").select_option("all")
    wait_until(page, "turnlens.route.current().options.by === 'all' && !document.querySelector('[aria-busy]')")
    assert counted() == 480
    page = show("map?role=assistant")  # a filter says whose messages are shown
    assert counted() == 240 and page.get_by_label("Said by").count() == 0
