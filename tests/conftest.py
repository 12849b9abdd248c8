"""Fixtures of all tests, in each process that runs some: what they import takes seconds."""

import pytest


def pytest_configure(config: pytest.Config) -> None:
    only_hands_out = config.getoption("numprocesses", default=None) and not hasattr(config, "workerinput")
    if not only_hands_out:
        config.pluginmanager.import_plugin("tests.shared_fixtures")
