"""Every setting of the server: its unit, its default, its limits and what it means, in one list.

Read in this order: flags, then the environment (`HALL_…`), then `hall.toml` in the working directory or data folder.
The documentation and `--help` are generated from the list.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

FILE: Final = "hall.toml"
PREFIX: Final = "HALL_"
DECLARED: Final = ("services", "clients")
"""The tables of the file that are no settings."""
FLAG_VALUES: Final = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}


class BadSetting(Exception):
    """A setting has a value that it cannot have; the text names the setting and how to mend it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting. `name` is that of the member of `Settings` and, in upper case after `HALL_`, of the variable."""

    name: str
    kind: type
    default: Any
    description: str
    unit: str = ""
    least: float | None = None
    most: float | None = None
    aliases: tuple[str, ...] = ()
    secret: bool = False
    choices: tuple[str, ...] = ()

    @property
    def variable(self) -> str:
        """The name of the environment variable."""
        return PREFIX + self.name.upper()

    @property
    def flag(self) -> str:
        """The name of the flag of `hall serve`."""
        return "--" + self.name.replace("_", "-")


def _setting(
    default: Any, description: str, *, unit: str = "", least: float | None = None, most: float | None = None,
    aliases: tuple[str, ...] = (), secret: bool = False, choices: tuple[str, ...] = (),
) -> Any:  # fmt: skip
    about = {
        "description": description,
        "unit": unit,
        "least": least,
        "most": most,
        "aliases": aliases,
        "secret": secret,
        "choices": choices,
    }
    return field(default=default, metadata=about)


def default_data() -> str:
    """The data folder of a server that names none."""
    home = os.environ.get("XDG_DATA_HOME") or str(Path("~/.local/share").expanduser())
    return str(Path(home) / "hiringhall")


_YEAR = 366 * 86_400.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one server, checked. Durations are seconds; fractions are allowed."""

    host: str = _setting("127.0.0.1", "Address to listen on")
    port: int = _setting(8400, "Port to listen on; 0 takes a free one", least=0, most=65_535)
    whilly_port: int | None = _setting(
        None,
        "Port at whose root the wire of the published whilly 4.x clients is served; unset: only under /whilly",
        least=0,
        most=65_535,
    )
    data: str = _setting("", "Folder of this server; unset: $XDG_DATA_HOME/hiringhall")
    database: str = _setting("", "PostgreSQL URL (postgresql://…); unset: SQLite in the data folder", secret=True)
    database_listen: str = _setting(
        "", "PostgreSQL URL for the listening connection, if the other one leads through a pooler", secret=True
    )
    database_connections: int = _setting(10, "PostgreSQL connections; the listening one is extra", least=5, most=100)
    admin_token: str = _setting(
        "", "Operator tokens, up to two, comma-separated; unset: one is made (SQLite only)", secret=True
    )
    bootstrap_token: str = _setting(
        "", "Tokens with which workers register, up to two, comma-separated; unset: one is made",
        aliases=("WHILLY_WORKER_BOOTSTRAP_TOKEN",), secret=True,
    )  # fmt: skip
    worker_token: str = _setting(
        "", "Tokens that act for any plan worker, up to two, comma-separated; unset: there is none",
        aliases=("WHILLY_WORKER_TOKEN",), secret=True,
    )  # fmt: skip
    metrics_token: str = _setting(
        "", "Tokens that open /metrics, up to two, comma-separated; the operator's does too", secret=True
    )
    visibility_timeout: float = _setting(
        60.0, "How long after its holder's last sign of life work returns", unit="seconds", least=0.2, most=86_400.0,
        aliases=("WHILLY_VISIBILITY_TIMEOUT",),
    )  # fmt: skip
    heartbeat_delay: float = _setting(
        30.0,
        "How far apart heartbeats are expected; a worker silent for twice as long is offline",
        unit="seconds",
        least=0.1,
        most=3_600.0,
    )
    key: str = _setting(
        "",
        "Keys that encrypt service settings, 32 bytes in base64, up to two, comma-separated; the first one encrypts; "
        "unset: DIR/key is made (SQLite only)",
        secret=True,
    )
    key_file: str = _setting("", "File that holds what HALL_KEY would")
    token_lifetime: float = _setting(
        3_600.0, "How long access tokens of service workers and clients are valid", unit="seconds", least=0.2,
        most=7 * 86_400.0,
    )  # fmt: skip
    trusted_proxies: str = _setting(
        "", "Networks of proxies whose X-Forwarded-For is believed, comma-separated (10.0.0.0/8)"
    )
    claim_hold: float = _setting(
        30.0, "How long a claim waits for work unless it says otherwise", unit="seconds", least=0.0, most=55.0
    )
    run_limit: float = _setting(
        4 * 3600.0,
        "How long signs of life extend one hand-over of a task, for workers that never say what they hold; 0: no limit",
        unit="seconds", least=0.0, most=_YEAR,
    )  # fmt: skip
    call_run_limit: float = _setting(
        3600.0, "The same for service calls; methods and calls may say otherwise", unit="seconds", least=0.0, most=_YEAR
    )
    keep_calls: float = _setting(
        86_400.0, "How long finished service calls are kept", unit="seconds", least=1.0, most=100 * _YEAR
    )
    keep_plans: float | None = _setting(
        None,
        "How long finished plans are kept; unset: until they are deleted",
        unit="seconds",
        least=0.0,
        most=100 * _YEAR,
    )
    drain_delay: float = _setting(
        0.0,
        "How long the server goes on listening after SIGTERM, with /ready saying no",
        unit="seconds",
        least=0.0,
        most=600.0,
    )
    waiting_limit: int = _setting(
        20_000,
        "How many asks may wait for the database before requests are refused",
        unit="asks",
        least=256,
        most=1_000_000,
    )
    bodies_limit: int = _setting(
        128 * 1024 * 1024,
        "How much memory request bodies above 64 KiB may take together while they come in, before more are refused",
        unit="bytes",
        least=2_000_000,
        most=1 << 40,
    )
    queue_limit: int = _setting(
        10_000, "How many calls of one service may wait for workers before more are refused; not exact", unit="calls",
        least=1, most=1_000_000_000,
    )  # fmt: skip
    probe_networks: str = _setting(
        "", "Networks and addresses where Lazy workers are probed besides their own address, comma-separated CIDRs"
    )
    log_format: str = _setting("text", "How log lines on stderr look: text or json", choices=("text", "json"))
    behind_tls: bool = _setting(False, "A proxy in front speaks TLS: no warning about listening beyond this machine")

    def origin(self, name: str) -> str:
        """How complaints call a setting: the flag, the variable or the member of the file that gave it."""
        return PREFIX + name.upper()


@dataclass(frozen=True, slots=True)
class FoundSettings(Settings):
    """Settings of which it is known where they were found."""

    origins: Mapping[str, str] = field(default_factory=dict)

    def origin(self, name: str) -> str:
        """How complaints call a setting: the flag, the variable or the member of the file that gave it."""
        return self.origins.get(name) or PREFIX + name.upper()


SETTINGS: Final[tuple[Setting, ...]] = tuple(
    Setting(known.name, kind, known.default, **known.metadata)
    for known in fields(Settings)
    for kind in [next(kind for kind in (bool, int, float, str) if str(known.type).startswith(kind.__name__))]
)
"""All settings, in the order in which they are documented."""


def read_settings(
    flags: Mapping[str, Any] | None = None,
    environment: Mapping[str, str] | None = None,
    working_folder: Path | None = None,
) -> Settings:
    """The settings from flags (by name, None: not given), the environment and `hall.toml`, checked.

    Raises:
        BadSetting: a value that the setting cannot have, or a member of the file that is no setting.
    """
    flags = flags or {}
    environment = os.environ if environment is None else environment
    folder = flags.get("data") or environment.get("HALL_DATA") or default_data()
    in_file = _read_file([(working_folder or Path()) / FILE, Path(folder) / FILE])
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for setting in SETTINGS:
        for origin, raw in _candidates(setting, flags, environment, in_file):
            if raw is not None and raw != "":
                values[setting.name], origins[setting.name] = _checked(setting, raw, origin), origin
                break
    values.setdefault("data", folder)
    return FoundSettings(**values, origins=origins)


@dataclass(frozen=True, slots=True)
class Declared:
    """Services and clients that the file wants there to be: by name, the members. `path`: of the file."""

    path: str = FILE
    services: Mapping[str, Any] = field(default_factory=dict)
    clients: Mapping[str, Any] = field(default_factory=dict)


def read_declared(
    data: str, environment: Mapping[str, str] | None = None, working_folder: Path | None = None
) -> Declared:
    """What `hall.toml` says of services and clients. `data`: the data folder.

    A secret or the value of a setting is a text, or `{file = "PATH"}` or `{env = "VARIABLE"}` where it is found.

    Raises:
        BadSetting: a table is none, or what it refers to is not there; never with the value of a secret.
    """
    environment = os.environ if environment is None else environment
    path, members = _read_file([(working_folder or Path()) / FILE, Path(data) / FILE])
    found: dict[str, dict[str, Any]] = {}
    for kind in DECLARED:
        owners = _table(members.get(kind, {}), f"{kind} in {path}")
        found[kind] = {}
        for name, said in owners.items():
            place = f"{kind}.{name} in {path}"
            owner = dict(_table(said, place))
            if "secret" in owner:
                owner["secret"] = _referred(owner["secret"], f"secret of {place}", environment)
            if "settings" in owner:
                settings = _table(owner["settings"], f"settings of {place}")
                owner["settings"] = {
                    key: _referred(value, f"settings.{key} of {place}", environment) for key, value in settings.items()
                }
            found[kind][name] = owner
    return Declared(path, found["services"], found["clients"])


def _table(found: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise BadSetting(f"{place}: must be a table")
    return found


def _referred(value: Any, place: str, environment: Mapping[str, str]) -> Any:
    """A value, or what the file or variable holds that it names; the line break at the end of a file is not meant."""
    if not isinstance(value, dict):
        return value
    if list(value) == ["file"]:
        try:
            return Path(str(value["file"])).read_text(encoding="utf-8").removesuffix("\n").removesuffix("\r")
        except OSError as problem:
            raise BadSetting(f"{place}: {value['file']}: {problem.strerror or problem}") from None
        except UnicodeDecodeError:
            raise BadSetting(f"{place}: {value['file']} is not UTF-8") from None
    if list(value) == ["env"]:
        found = environment.get(str(value["env"]))
        if not found:
            raise BadSetting(f"{place}: the variable {value['env']} is not set")
        if any("\ud800" <= character <= "\udfff" for character in found):  # bytes that are no UTF-8
            raise BadSetting(f"{place}: the variable {value['env']} is not UTF-8")
        return found
    raise BadSetting(f'{place}: must be a text, {{file = "PATH"}} or {{env = "VARIABLE"}}')


def _candidates(
    setting: Setting, flags: Mapping[str, Any], environment: Mapping[str, str], in_file: tuple[str, Mapping[str, Any]]
) -> list[tuple[str, Any]]:
    path, members = in_file
    names = (setting.variable, *setting.aliases)
    return [
        (setting.flag, flags.get(setting.name)),
        *((name, environment.get(name)) for name in names),
        (f"{setting.name} in {path}", members.get(setting.name)),
    ]


def _read_file(paths: list[Path]) -> tuple[str, Mapping[str, Any]]:
    for path in paths:
        try:
            members = tomllib.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, ValueError) as problem:
            raise BadSetting(f"{path}: {problem}") from None
        known = {setting.name for setting in SETTINGS}
        for member in members:
            if member not in known and member not in DECLARED:
                raise BadSetting(
                    f"{member} in {path}: there is no such setting; the settings are {', '.join(sorted(known))}"
                )
        return str(path), members
    return FILE, {}


def _checked(setting: Setting, raw: Any, origin: str) -> Any:
    complaint = f"{origin}: must be " + _expectation(setting)
    if setting.kind is str:
        if not isinstance(raw, str) or (setting.choices and raw not in setting.choices):
            raise BadSetting(complaint)
        return raw
    if setting.kind is bool:
        value = raw if isinstance(raw, bool) else FLAG_VALUES.get(str(raw).strip().lower())
        if value is None:
            raise BadSetting(complaint)
        return value
    if isinstance(raw, bool):
        raise BadSetting(complaint)
    try:
        number = setting.kind(raw)
    except (TypeError, ValueError):
        raise BadSetting(complaint) from None
    too_small = setting.least is not None and number < setting.least
    too_big = setting.most is not None and number > setting.most
    if too_small or too_big or not math.isfinite(number) or (isinstance(raw, float) and number != raw):
        raise BadSetting(complaint)
    return number


def _expectation(setting: Setting) -> str:
    kinds = {str: "a text", bool: "true or false", int: "a whole number", float: "a number"}
    if setting.choices:
        return " or ".join(setting.choices)
    unit = f" of {setting.unit}" if setting.unit else ""
    if setting.least is None or setting.most is None:
        return kinds[setting.kind] + unit
    return f"{kinds[setting.kind]}{unit} from {setting.least:.12g} to {setting.most:.12g}"
