"""A browser for the tests of the page: Chromium of the system, without a network."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import turnlens
from tests.page.reports import write_synthetic

if TYPE_CHECKING:
    from turnlens.report import Report
    from turnlens.store import ConversationStore

PAGE = Path(turnlens.__file__).parent / "page" / "static"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
# Maps are drawn without a graphics card; every name but this machine's cannot be resolved.
ARGUMENTS = [
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
]
BROWSING = {"viewport", "offline", "color_scheme", "bypass_csp", "locale"}  # options of the browser, not of a report


@pytest.fixture(scope="package")  # its event loop must not run in the tests of others
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the browser's tests need playwright")
    path = next((found for found in map(shutil.which, BROWSERS) if found), None)
    if path is None:
        pytest.skip("no Chromium on this machine: install chromium to test the page")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@dataclass
class Watched:
    """A page with what it should not have said or asked for."""

    page: Any
    address: str
    problems: list[str] = field(default_factory=list)

    def open(self, view: str) -> Any:
        """The page at a view, when it is there."""
        self.page.goto(f"{self.address}#/{view}")
        self.page.wait_for_selector("main:not([aria-busy]) h1")
        return self.page


Watch = Callable[..., Watched]
Show = Callable[..., Any]


def wait_until(page: Any, condition: str, argument: Any = None) -> None:
    """Wait until an expression or a function is true in the page.

    Playwright's own `wait_for_function` polls with code that the page's Content-Security-Policy forbids.
    """
    for _ in range(600):
        if page.evaluate(condition, argument):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"not true within a minute: {condition}")


def save(page: Any, kind: str) -> str:
    """The text of a file that the open menu saves."""
    with page.expect_download() as download:
        page.locator(f"#save-{kind}").click()
    return Path(download.value.path()).read_bytes().decode("utf-8")


@pytest.fixture
def open_page(browser: Any) -> Iterator[Watch]:
    """Opens a report, and fails the test if the page had an error or asked for anything but its own files."""
    opened: list[Watched] = []

    def open_at(address: str, **options: Any) -> Watched:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options})
        context.set_default_timeout(60_000)
        watched = Watched(context.new_page(), address)
        own = address.rsplit("/", 1)[0]
        page = watched.page
        page.on(
            "console", lambda said: watched.problems.append(said.text) if said.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: watched.problems.append(str(error)))
        page.on(
            "request",
            lambda asked: (
                watched.problems.append(f"asked for {asked.url}")
                if not asked.url.startswith((own, "data:", "blob:"))
                else None
            ),
        )
        opened.append(watched)
        return watched

    yield open_at
    problems = [problem for watched in opened for problem in watched.problems]
    for watched in opened:
        watched.page.context.close()
    assert not problems


@pytest.fixture(scope="session")
def synthetic_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a synthetic report with the page."""
    folder = tmp_path_factory.mktemp("synthetic") / "report"
    shutil.copytree(PAGE, folder)
    return write_synthetic(folder)


@pytest.fixture
def watch(synthetic_report: Path, open_page: Watch, tmp_path: Path) -> Watch:
    """Opens a synthetic report, with options of the browser and of the report; one with options is written anew."""

    def watch(**options: Any) -> Watched:
        browsing = {name: options.pop(name) for name in BROWSING & set(options)}
        folder = synthetic_report
        if options:
            folder = tmp_path / "report"
            shutil.copytree(PAGE, folder)
            write_synthetic(folder, **options)
        return open_page((folder / "index.html").as_uri(), **browsing)

    return watch


@pytest.fixture
def show(watch: Watch) -> Show:
    """Opens a view of a synthetic report with the options of `watch`."""
    return lambda view, **options: watch(**options).open(view)


@pytest.fixture(scope="session")
def store(tiny_encoder_path: Path, tmp_path_factory: pytest.TempPathFactory) -> ConversationStore:
    """A store that tests must not change: they copy its folder."""
    from turnlens.store import ConversationStore

    store = ConversationStore.open(tmp_path_factory.mktemp("explored") / "talks", encoder=str(tiny_encoder_path))
    store.add(turnlens.sample_conversations(60, seed=0))
    return store


@pytest.fixture(scope="session")
def report(store: ConversationStore) -> Report:
    from turnlens.report import build_report

    return build_report(store)
