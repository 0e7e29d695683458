"""Remembers how the tests of the specification's statements ended, for `conformance/coverage.py`.

A plugin of its own, loaded by the top conftest: with xdist the process that collects the results loads no
conftest of a subfolder.
"""

import json
from pathlib import Path
from typing import Any

import pytest

FILE = "spec-results.json"


class SpecResults:
    """Node id → outcome, of the tests that are marked with statements."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._outcomes: dict[str, str] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Any:
        report: pytest.TestReport = yield
        if any(item.iter_markers("spec")):
            report.user_properties.append(("spec", True))
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if ("spec", True) not in report.user_properties:
            return
        if report.when == "call" or report.outcome != "passed":
            before = self._outcomes.get(report.nodeid, "passed")
            self._outcomes[report.nodeid] = before if before == "failed" else report.outcome

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(session.config, "workerinput") or not self._outcomes:
            return
        # A run of a few tests leaves what is known of the others.
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(read_results(self._path) | self._outcomes, indent=1))


def read_results(path: Path) -> dict[str, str]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(SpecResults(config.rootpath / ".pytest_cache" / FILE))
