"""The official conformance suite, both eras: over a catalog of its fixtures, and over the product.

What does not pass stands in `baselines/`, each line with its reason; the suite refuses a line that
has become untrue.
"""

import re
from pathlib import Path

import pytest

from tests.clients.fixture_server import TOKEN, fixture_app
from tests.clients.node import Node
from tests.clients.production import Running
from tests.clients.proxy import injecting_proxy
from tests.http.serving import serving

pytestmark = pytest.mark.slow

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
BASELINES = Path(__file__).parent / "baselines"
REVISIONS = ("2026-07-28", "2025-11-25")


def run(node22: Node, port: int, token: str, revision: str, baseline: str) -> set[str]:
    """The scenarios in which nothing failed, after the suite agreed with the baseline."""
    with injecting_proxy(port, token) as proxied:
        done = node22.run(
            SUITE,
            *("server", "--url", f"http://127.0.0.1:{proxied}/mcp"),
            *("--requirements", revision),
            *("--expected-failures", str(BASELINES / f"{baseline}-{revision}.yml")),
        )
    assert done.returncode == 0, done.stdout[-6000:]
    return set(re.findall(r"^✓ (\S+): ", done.stdout, re.MULTILINE))


@pytest.mark.parametrize("revision", REVISIONS)
def test_with_its_fixtures_every_scenario_without_server_messages_passes(
    node22: Node, revision: str
) -> None:
    with serving(fixture_app) as served:
        passed = run(node22, served.port, TOKEN, revision, "fixture")
    assert len(passed) >= {"2026-07-28": 36, "2025-11-25": 19}[revision]
    if revision == "2026-07-28":
        assert "http-header-validation" in passed  # not scored, passed all the same


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_product_passes_what_needs_no_fixture(
    node22: Node, server: Running, revision: str
) -> None:
    passed = run(node22, server.port, server.key, revision, "product")
    wanted = {
        "2026-07-28": {"caching", "dns-rebinding-protection", "http-header-validation"},
        "2025-11-25": {"server-initialize", "ping", "dns-rebinding-protection"},
    }
    common = {"tools-list", "resources-list", "prompts-list"}
    assert common | wanted[revision] <= passed


@pytest.mark.parametrize("file", sorted(BASELINES.glob("*.yml")), ids=lambda file: file.stem)
def test_every_exception_has_its_reason(file: Path) -> None:
    reason = False
    for line in file.read_text(encoding="utf-8").splitlines()[2:]:
        if line.startswith("  # "):
            reason = True
        else:
            assert line.startswith("  - ")
            assert reason, f"{line} stands without a reason"
