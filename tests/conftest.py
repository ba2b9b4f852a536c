"""What every test stands on: one event loop, an empty environment, a data directory of its own.

It must know nothing of the server's parts: fixtures that do live beside the tests that use them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(autouse=True, scope="session")
def no_settings_from_outside() -> Iterator[None]:
    """A developer's own REMEMBERD_* must neither help nor hurt a test."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("REMEMBERD_")]:
            patch.delenv(name)
        yield


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Reference data that lies beside the checkout and is not ours to ship."""
    folder = Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("needs the reference data in ../shared")
    return folder


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fail-on-skip", action="store_true", help="a skipped test fails the run")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Where nothing may be missing, a skip means that something was not tested."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--fail-on-skip") and reporter and reporter.stats.get("skipped"):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        reporter.write_line("\nFailed: with --fail-on-skip no test may be skipped.", red=True)
