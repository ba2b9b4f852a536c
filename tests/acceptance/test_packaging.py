"""What somebody gets who installs rememberd as a package, away from the checkout."""

import json
import os
import re
import subprocess
import sys
import urllib.request
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    run(UV, "build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    (built,) = folder.glob("*.whl")
    return built


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT.parent)
    assert done.returncode == 0, done.stderr


def test_the_wheel_holds_what_the_package_reads_and_nothing_else(wheel: Path) -> None:
    held = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    package = ROOT / "src" / "rememberd"
    files = {
        str(path.relative_to(ROOT / "src"))
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert held == files


def test_an_installed_rememberd_serves(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    python = environment / "bin" / "python"
    run(UV, "venv", "--quiet", "--python", sys.executable, environment)
    pins = ROOT / "requirements" / "runtime.txt"
    run(UV, "pip", "install", "--quiet", "--python", python, "--require-hashes", "-r", pins)
    run(UV, "pip", "install", "--quiet", "--python", python, "--no-deps", wheel)

    command = [environment / "bin" / "rememberd", "serve", "--port", "0", "--data", tmp_path / "d"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=plain_environment()) as server:
        try:
            assert health(announced_url(server)) == "healthy"
        finally:
            server.terminate()
    assert server.returncode == 0


def plain_environment() -> dict[str, str]:
    return {"PATH": os.defpath, "HOME": os.environ["HOME"], "PYTHONUNBUFFERED": "1"}


def announced_url(server: subprocess.Popen[bytes]) -> str:
    """Read what the server says at its start until it names its URL."""
    assert server.stdout is not None
    said: list[str] = []
    for line in server.stdout:
        said.append(line.decode())
        if match := re.search(r"(http://localhost:\d+)/mcp", said[-1]):
            return match[1]
    raise AssertionError(f"no URL in {said}")


def health(url: str) -> str:
    with urllib.request.urlopen(f"{url}/health", timeout=30) as answer:  # noqa: S310 - our own
        return json.load(answer)["status"]
