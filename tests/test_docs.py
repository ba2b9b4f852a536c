"""Docs cannot lie: what exists has its entry, and what is generated is up to date."""

import re
from pathlib import Path

import pytest
import typer

from docs import generate
from rememberd.cli import app as cli
from rememberd.model import SCOPES
from rememberd.settings import Settings
from rememberd.tools import TOOLSETS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])


def headings(page: str) -> set[str]:
    text = (DOCS / page).read_text(encoding="utf-8")
    return set(re.findall(r"^#+ (.+)$", text, re.MULTILINE))


@pytest.mark.parametrize("name", generate.PAGES)
def test_the_reference_is_what_the_code_says(name: str) -> None:
    written = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert written == generate.rendered()[name], "`make docs` writes it again"


def test_every_setting_has_its_entry() -> None:
    assert set(Settings.model_fields) - headings("reference/settings.md") == set()


def test_every_setting_says_what_it_does() -> None:
    fields = Settings.model_fields.items()
    assert [name for name, field in fields if not field.description] == []


def test_every_tool_and_resource_has_its_entry() -> None:
    tools = {tool.name for toolset in TOOLSETS for tool in toolset.tools}
    resources = {resource.uri for toolset in TOOLSETS for resource in toolset.resources}
    assert (tools | resources) - headings("reference/tools.md") == set()


def test_every_command_has_its_entry_and_says_what_it_does() -> None:
    found = dict(generate.commands("rememberd", typer.main.get_command(cli)))
    assert set(found) - headings("reference/cli.md") == set()
    assert [name for name, command in found.items() if not command.help] == []


def test_every_error_code_has_its_entry() -> None:
    codes = {error.code for error in generate.error_tree(generate.errors.RememberdError)}
    assert codes - headings("reference/errors.md") == set()


def test_no_two_errors_share_a_code() -> None:
    codes = [error.code for error in generate.error_tree(generate.errors.RememberdError)]
    assert sorted(codes) == sorted(set(codes))


def test_every_scope_has_its_entry() -> None:
    assert set(SCOPES) - headings("reference/scopes.md") == set()


@pytest.mark.parametrize("database", ["vault", "control", "keys"])
def test_every_table_is_explained(database: str) -> None:
    text = (DOCS / "explanation" / "storage.md").read_text(encoding="utf-8")
    section = re.split(rf"^## .*`{database}`.*$", text, flags=re.MULTILINE)[1].split("\n## ")[0]
    explained = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert explained == generate.tables(database)


def test_every_package_has_its_place_in_the_architecture() -> None:
    package = ROOT / "src" / "rememberd"
    names = {
        path.stem
        for path in package.iterdir()
        if path.suffix == ".py" or (path / "__init__.py").is_file()
    }
    text = (DOCS / "explanation" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)(?:\.py|/)?`", text))
    assert {name for name in names if not name.startswith("__")} - named == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = [link.partition("#")[0] for link in re.findall(r"\]\(([^)\s]+)\)", text)]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_the_readme_reaches_its_first_command_in_forty_words() -> None:
    before, fence, _ = (ROOT / "README.md").read_text(encoding="utf-8").partition("```")
    assert fence
    assert len(before.split()) <= 40
