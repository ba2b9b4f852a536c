"""Every setting, with its default and what it does: flag > `REMEMBERD_*` > config file > default.

`docs/reference/settings.md` is generated from this file. Nothing else reads the environment.
"""

from __future__ import annotations

import ipaddress
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from rememberd.errors import InvalidInput

PREFIX = "REMEMBERD_"
_OF_COMMANDS = frozenset({"config", "key", "vault"})  # they belong to commands


def default_data_dir() -> Path:
    return platformdirs.user_data_path("rememberd")


class Settings(BaseModel):
    """One frozen value, made once at start."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    # where
    data: Path = Field(
        default_factory=default_data_dir,
        description="Data directory: databases, keys, lock and local socket. Made with mode 0700.",
    )
    host: str = Field(
        "127.0.0.1",
        description="Address to listen on. The default and `localhost` mean both loopbacks, "
        "`127.0.0.1` and `::1`.",
    )
    port: int = Field(8420, ge=0, le=65535, description="Port to listen on; 0 picks a free one.")
    public_url: str | None = Field(
        None,
        description="The URL that clients use, without a trailing slash. Default "
        "`http://localhost:PORT`. Every printed link and the OAuth resource derive from it.",
    )
    # Pydantic copies plain lists; to look into `default_factory=list` costs it 25 ms at start-up.
    allowed_hosts: list[str] = Field(
        [],
        description="Further host names to answer for, beside those of `public_url` and loopback.",
    )
    allowed_origins: list[str] = Field(
        ["https://claude.ai", "https://chatgpt.com", "https://grok.com"],
        description="Web origins whose pages may call `/mcp` from a browser, beside our own.",
    )
    max_body_bytes: int = Field(
        4_194_304,
        ge=1024,
        description="Largest request body, in bytes; over it 413. The default holds a full set of "
        "reflections in any script, however it is escaped.",
    )

    # what is logged
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severe level that is logged."
    )
    log_format: Literal["auto", "json", "plain"] = Field(
        "auto", description="`auto`: plain in a terminal, JSON lines otherwise."
    )

    # storage
    master_key: SecretStr | None = Field(
        None,
        description="64 hex digits that wrap every vault's key. Default: the file `master.key` in "
        "the data directory, made at first start. Best given by environment or a secret store.",
    )
    writer_threads: int = Field(
        4, ge=1, le=8, description="Threads that write; each vault is pinned to one of them."
    )
    reader_threads: int = Field(
        4, ge=1, le=16, description="Threads that read; more can starve the writers."
    )
    open_vaults: int | None = Field(
        None,
        ge=1,
        description="Vaults held open at once. Default: from the limit on open files, at most 256.",
    )
    cache_bytes: int = Field(
        268_435_456, ge=0, description="Memory for vectors of recently searched vaults, in bytes."
    )

    # who may come in
    trusted_proxies: list[str] = Field(
        [],
        description="Addresses or networks of reverse proxies in front, such as `127.0.0.1` or "
        "`10.0.0.0/8`. Only they are believed about a client's address (X-Forwarded-For).",
    )
    registrations_per_hour: int = Field(
        10, ge=1, description="OAuth clients that one address may register in an hour."
    )
    strangers_per_minute: int = Field(
        300,
        ge=10,
        description="Requests without a good credential that one address may send in a minute: "
        "so many to MCP and token endpoints, so many to pages for signing in, and ten times as "
        "many to everything else.",
    )
    access_token_minutes: int = Field(
        60, ge=1, le=1440, description="Minutes for which an access token is good."
    )
    refresh_token_days: int = Field(
        30, ge=1, le=180, description="Days for which an unused refresh token is good."
    )
    refresh_grace_seconds: int = Field(
        120,
        ge=0,
        le=3600,
        description="Seconds in which the last refresh may be repeated. Clients that run several "
        "processes need it; longer makes theft harder to notice.",
    )
    client_documents: bool = Field(
        True,
        description="Accept clients that are identified by a URL (Client ID Metadata Documents). "
        "The document is fetched, after sign-in, from the client's own host.",
    )

    # meaning
    embedder: Literal["bundled", "static", "openai", "off"] = Field(
        "bundled",
        description="Search by meaning: `bundled` (MiniLM, no network), `static` (smaller, weaker; "
        "needs the extra `static`), `openai` (any OpenAI-compatible endpoint), or `off`.",
    )
    embedder_url: str | None = Field(
        None,
        validate_default=True,
        description="Base URL for `openai`, which needs it, such as `http://localhost:11434/v1`. "
        "Memory text is sent there.",
    )
    embedder_model: str | None = Field(
        None, validate_default=True, description="Model name for `openai`, which needs it."
    )
    embedder_api_key: SecretStr | None = Field(None, description="API key for `openai`.")
    embedder_dimension: int | None = Field(
        None, ge=8, le=8192, description="Length of the vectors of `openai`; found out when unset."
    )
    embedder_timeout: float = Field(30.0, gt=0, le=600, description="Seconds to wait for `openai`.")
    author_boost: bool = Field(
        True,
        description="When a query names one author (memories that open with `Name:`), prefer that "
        "author's memories, and compare only the rest of the query by meaning.",
    )

    # reflection
    reflection_memories: int = Field(
        50,
        ge=1,
        description="Unconsolidated memories in a tier from which reflection is suggested.",
    )
    reflection_tokens: int = Field(
        20_000, ge=1, description="Unconsolidated tokens in a tier from which it is suggested."
    )
    batch_memories: int = Field(
        100, ge=1, le=1000, description="Most memories checked out in one batch."
    )
    batch_tokens: int = Field(24_000, ge=8_000, description="Most tokens checked out in one batch.")

    # usage
    monthly_token_allowance: int | None = Field(
        None,
        ge=0,
        description="Tokens that may be stored in a vault per calendar month (UTC). Over it, "
        "storing is refused and reading goes on. Texts count; their tags and source_context do "
        "not. Default: no limit.",
    )

    @field_validator("public_url")
    @classmethod
    def _plain_origin(cls, url: str | None) -> str | None:
        if url is None:
            return None
        scheme, _, rest = url.partition("://")
        if scheme not in ("http", "https") or not rest or any(c in rest for c in "/?#@ "):
            raise ValueError(
                "must be scheme://host[:port] without path or trailing slash, such as "
                "https://memory.example.com"
            )
        return url

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, proxies: list[str]) -> list[str]:
        for proxy in proxies:
            ipaddress.ip_network(proxy, strict=False)  # raises ValueError with a plain sentence
        return proxies

    @field_validator("embedder_url", "embedder_model")
    @classmethod
    def _needed_by_openai(cls, value: str | None, others: ValidationInfo) -> str | None:
        if not value and others.data.get("embedder") == "openai":
            raise ValueError("is needed, because embedder is openai")
        return value or None

    @field_validator("embedder_url")
    @classmethod
    def _web_address(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        # To ask for a port that is none raises ValueError, with a plain sentence.
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise ValueError("must be an http or https URL, such as http://localhost:11434/v1")
        return url

    @field_validator("embedder_api_key")
    @classmethod
    def _fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        text = key.get_secret_value() if key else ""
        if not (text.isascii() and text.isprintable()):
            raise ValueError("must be of printable ASCII characters")
        return key

    def url(self, port: int | None = None) -> str:
        """The public URL; `port` is the one listened on when `port` was 0."""
        return self.public_url or f"http://localhost:{port or self.port}"


def load(
    flags: Mapping[str, Any], environ: Mapping[str, str], config_file: Path | None = None
) -> Settings:
    """Merge the three sources. Raises InvalidInput naming the setting and where it came from."""
    merged: dict[str, Any] = {}
    origin: dict[str, str] = {}
    file = config_file or find_config_file(environ)
    for source, values in (
        (str(file) if file else "", _from_file(file) if file else {}),
        ("environment", _from_environ(environ)),
        ("command line", {k: v for k, v in flags.items() if v is not None}),
    ):
        merged.update(values)
        origin.update(dict.fromkeys(values, source))
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = str(first["loc"][0]) if first["loc"] else "settings"
        why = first["msg"].removeprefix("Value error, ")
        raise InvalidInput(
            f"Setting {name} (from {origin.get(name, 'default')}): {why}.", field=name
        ) from None


def find_config_file(environ: Mapping[str, str]) -> Path | None:
    """`REMEMBERD_CONFIG`, else config.toml in the user's configuration directory if it exists."""
    named = environ.get(f"{PREFIX}CONFIG")
    if named:
        return Path(named)
    usual = platformdirs.user_config_path("rememberd") / "config.toml"
    return usual if usual.is_file() else None


def unknown_names(environ: Mapping[str, str]) -> list[str]:
    """Names in the environment that look like settings and are none, such as a typing error."""
    known = {PREFIX + name.upper() for name in Settings.model_fields.keys() | _OF_COMMANDS}
    return sorted(name for name in environ if name.startswith(PREFIX) and name not in known)


def _from_file(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"Config file {file}: {error.strerror}.", field="config") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Config file {file} is not TOML: {error}.", field="config") from error


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        raw = environ.get(PREFIX + name.upper())
        if raw is not None:
            is_list = field.annotation == list[str]
            found[name] = [p.strip() for p in raw.split(",") if p.strip()] if is_list else raw
    return found
