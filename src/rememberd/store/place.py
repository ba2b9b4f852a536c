"""The data directory: made private, owned by one process, never on a network file system.

Whoever holds the lock owns every database below it; everybody else talks to the owner through the
local socket.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shlex
import subprocess
from pathlib import Path
from types import TracebackType

from rememberd.errors import DataDirectoryBusy, StorageError, UnsupportedFileSystem
from rememberd.settings import default_data_dir

# SQLite's locks and shared memory do not hold on these: https://sqlite.org/faq.html#q5
NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb2", "smb3", "smbfs", "afpfs", "webdav", "9p", "ncpfs", "ceph"}
    | {"glusterfs", "fuse.glusterfs", "lustre", "beegfs", "afs", "ocfs2", "gfs2", "fuse.sshfs"}
    | {"fuse.rclone", "fuse.s3fs", "davfs", "fuse.davfs2"}
)

MOUNTS = Path("/proc/self/mounts")


class DataDirectory:
    """Paths below one data directory."""

    def __init__(self, root: Path) -> None:
        self.root = root.expanduser().absolute()
        self.vaults = self.root / "vaults"
        self.control = self.root / "control.db"
        self.keys = self.root / "keys.db"
        self.master_key = self.root / "master.key"
        self.lock = self.root / "rememberd.lock"
        self.socket = self.root / "rememberd.sock"

    def prepare(self) -> None:
        """Make the directories with mode 0700. Raises StorageError or UnsupportedFileSystem."""
        try:
            for folder in (self.root, self.vaults):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"Cannot make {error.filename}: {error.strerror}.") from error
        kind = file_system(self.root)
        if kind in NETWORK:
            raise UnsupportedFileSystem(
                f"{self.root} is on {kind}. Choose a local disk with --data or REMEMBERD_DATA."
            )

    def vault(self, vault_id: str, generation: int) -> Path:
        return self.vaults / f"{vault_id}.{generation}.db"

    def command(self, words: str, *, program: str = "rememberd") -> str:
        """The line that does `words`, such as `keys export FILE`, here and nowhere else."""
        where = "" if self.root == default_data_dir() else f" --data {shlex.quote(str(self.root))}"
        return f"{program} {words}{where}"


class Lock:
    """The one owner's lock on a data directory, released when the process ends in any way."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None

    def acquire(self) -> None:
        """Raises DataDirectoryBusy when another process owns the directory, StorageError."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"Cannot open {self._path}: {error.strerror}.") from error
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            raise DataDirectoryBusy(
                f"Another rememberd owns {self._path.parent}. Stop it, or use --data for another."
            ) from None
        self._file = file

    def release(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def file_system(path: Path) -> str:
    """The kind of file system under `path`, as the system names it; empty when unknown."""
    if platform.system() == "Darwin":
        lines = subprocess.run(
            ["/sbin/mount"], capture_output=True, text=True, check=False
        ).stdout.splitlines()
        mounts = [(line.split(" on ")[1].split(" (")[0], _kind(line)) for line in lines]
    else:
        try:
            text = MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        mounts = [(parts[1], parts[2]) for parts in map(str.split, text.splitlines())]
    return _deepest(path, mounts)


def _kind(line: str) -> str:
    return line.rpartition("(")[2].split(",")[0]


def _deepest(path: Path, mounts: list[tuple[str, str]]) -> str:
    """The kind of the mount point nearest above `path`; a later mount covers an earlier one."""
    real = path.resolve()
    best, kind = -1, ""
    for point, name in mounts:
        folder = Path(point.replace("\\040", " "))
        if real.is_relative_to(folder) and len(folder.parts) >= best:
            best, kind = len(folder.parts), name
    return kind


def sync_folder(folder: Path) -> None:
    """Make a rename or unlink in `folder` survive a power cut."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
