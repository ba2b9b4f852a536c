"""Verbs that keep the vaults' own keys safe: an export under a passphrase, and its way back.

A passphrase is typed or piped, never an argument: arguments show in process lists.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from rememberd.cli import options, output
from rememberd.cli.options import AsJson, Data
from rememberd.cli.owner import ask_owner
from rememberd.errors import DataDirectoryBusy, InvalidInput, NotFound
from rememberd.settings import Settings
from rememberd.store.place import DataDirectory, Lock

keyring = typer.Typer(
    no_args_is_help=True, help="The vaults' own keys: without them no file can be read."
)
File = Annotated[Path, typer.Argument(help="The export.", show_default=False)]
FromStdin = Annotated[
    bool, typer.Option("--passphrase-stdin", help="Read the passphrase from standard input.")
]


@keyring.command("export")
def export_keys(
    context: typer.Context,
    file: File,
    passphrase_stdin: FromStdin = False,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Write every vault's key to a new file, sealed under a passphrase.

    Example: rememberd keys export rememberd-keys.json
    """
    settings = options.load(context, data)
    try:
        target = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise InvalidInput(f"{file} exists; it is never overwritten.", field="file") from None
    except OSError as error:
        raise InvalidInput(f"Cannot write {file}: {error.strerror}.", field="file") from None
    try:
        _export(settings, target, _passphrase(from_stdin=passphrase_stdin, confirm=True))
    except BaseException:
        file.unlink()
        raise
    if as_json:
        return output.document({"file": str(file)})
    output.result("Wrote", output.bold(str(file)))
    output.note(
        "Keep it apart from backups of the data directory: together with its passphrase it opens "
        "them. Export again when you have made, emptied or erased a vault."
    )


def _export(settings: Settings, target: int, passphrase: str) -> None:
    with os.fdopen(target, "w", encoding="utf-8") as out:
        body = {"passphrase": passphrase}
        sealed = ask_owner(
            settings, lambda owner: owner.post("/keyring/export", body, repeatable=True)
        )
        out.write(sealed["text"])
        out.flush()
        os.fsync(out.fileno())


@keyring.command("import")
def import_keys(
    context: typer.Context,
    file: File,
    passphrase_stdin: FromStdin = False,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Take in the keys of an export, as after restoring a backup.

    Keys of vaults that were erased stay destroyed.

    Example: rememberd keys import rememberd-keys.json
    """
    settings = options.load(context, data)
    _require_data(settings)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InvalidInput(f"Cannot read {file}: {reason}.", field="file") from None
    body = {"passphrase": _passphrase(from_stdin=passphrase_stdin), "text": text}
    _begin_key_store(settings)
    done = ask_owner(settings, lambda owner: owner.post("/keyring/import", body, repeatable=True))
    if as_json:
        return output.document(done)
    output.result("Took in", output.count(done["added"], "key") if done["added"] else "no key")
    if done["already_here"]:
        output.note(f"Here already: {output.count(done['already_here'], 'key')}.")
    if done["destroyed"]:
        names = ", ".join(done["destroyed"])
        output.warning(
            f"Erased or emptied after this backup was made, and so closed for good: {names}. "
            "`rememberd vault erase NAME` removes what is left."
        )


def _require_data(settings: Settings) -> None:
    """Raises NotFound rather than make a new data directory, into which no export fits."""
    directory = DataDirectory(settings.data)
    if not directory.control.exists():
        raise NotFound(
            f"There is no control.db in {directory.root}. Restore the backup that belongs to this "
            "export there, or say --data DIR."
        )


def _begin_key_store(settings: Settings) -> None:
    """A restored data directory has none, since backups never hold it."""
    # The databases and ciphers: no other verb of this file needs them in this process.
    from rememberd.store.keyring import begin_key_store  # noqa: PLC0415

    directory, master = DataDirectory(settings.data), settings.master_key
    directory.prepare()
    with suppress(DataDirectoryBusy), Lock(directory.lock):
        begin_key_store(directory, master.get_secret_value() if master else None)


def _passphrase(*, from_stdin: bool, confirm: bool = False) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\r\n")
    if not sys.stdin.isatty():
        raise InvalidInput("Nobody is here to type a passphrase; see --passphrase-stdin.")
    return typer.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
