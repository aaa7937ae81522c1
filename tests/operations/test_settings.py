"""Settings: where they are read from, in what order, and what is said about bad ones."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from hiringhall.config import SETTINGS, BadSetting, Settings, read_settings


def test_the_order_is_flags_environment_file(tmp_path: Path) -> None:
    """A flag beats the environment, which beats the file, which beats the default."""
    (tmp_path / "hall.toml").write_text("port = 1\nclaim_hold = 7.5\nheartbeat_delay = 9\n")
    environment = {"HALL_PORT": "2", "HALL_CLAIM_HOLD": "8.5", "HALL_DATA": "/d"}
    settings = read_settings({"port": 3, "host": None}, environment, tmp_path)
    assert (settings.port, settings.claim_hold, settings.heartbeat_delay) == (3, 8.5, 9.0)
    assert (settings.host, settings.data) == ("127.0.0.1", "/d")


def test_the_file_in_the_data_folder_counts_too(tmp_path: Path) -> None:
    """Without a `hall.toml` in the working directory, the one in the data folder is read."""
    data, working = tmp_path / "data", tmp_path / "working"
    data.mkdir()
    working.mkdir()
    (data / "hall.toml").write_text("port = 7\n")
    assert read_settings({"data": str(data)}, {}, working).port == 7


def test_the_first_protocols_names_are_aliases(tmp_path: Path) -> None:
    """The published server's variables are understood; the hall's own win."""
    environment = {
        "WHILLY_WORKER_BOOTSTRAP_TOKEN": "b",
        "WHILLY_WORKER_TOKEN": "w",
        "WHILLY_VISIBILITY_TIMEOUT": "12",
        "HALL_WORKER_TOKEN": "own",
    }
    settings = read_settings({}, environment, tmp_path)
    assert (settings.bootstrap_token, settings.worker_token, settings.visibility_timeout) == ("b", "own", 12.0)


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({"HALL_PORT": "x"}, "HALL_PORT: must be a whole number from 0 to 65535"),
        ({"HALL_PORT": "70000"}, "HALL_PORT: must be a whole number from 0 to 65535"),
        ({"HALL_CLAIM_HOLD": "nan"}, "HALL_CLAIM_HOLD: must be a number of seconds from 0 to 55"),
        ({"HALL_CLAIM_HOLD": "-1"}, "HALL_CLAIM_HOLD: must be a number of seconds from 0 to 55"),
        ({"WHILLY_VISIBILITY_TIMEOUT": "soon"}, "WHILLY_VISIBILITY_TIMEOUT: must be a number of seconds"),
        ({"HALL_BEHIND_TLS": "perhaps"}, "HALL_BEHIND_TLS: must be true or false"),
    ],
)
def test_complaints_name_the_setting(environment: dict[str, str], complaint: str, tmp_path: Path) -> None:
    """A bad value is refused, naming the setting as it was given and what it may be."""
    with pytest.raises(BadSetting) as caught:
        read_settings({}, environment, tmp_path)
    assert str(caught.value).startswith(complaint)


def test_a_complaint_does_not_show_the_value(tmp_path: Path) -> None:
    """A secret that was put into the wrong setting is not printed."""
    with pytest.raises(BadSetting) as caught:
        read_settings({}, {"HALL_PORT": "s3cret"}, tmp_path)
    assert "s3cret" not in str(caught.value)


def test_unknown_members_of_the_file_are_named(tmp_path: Path) -> None:
    """A misspelt member is an error, not ignored; so is a file that is no TOML."""
    (tmp_path / "hall.toml").write_text("prot = 1\n")
    with pytest.raises(BadSetting, match=r"prot in .*hall\.toml: there is no such setting"):
        read_settings({}, {}, tmp_path)
    (tmp_path / "hall.toml").write_text("port = \n")
    with pytest.raises(BadSetting, match=r"hall\.toml"):
        read_settings({}, {}, tmp_path)


def test_there_is_one_list() -> None:
    """Every member of the settings is in the list, described, with the variable and the flag that set it."""
    assert [setting.name for setting in SETTINGS] == [member.name for member in fields(Settings)]
    assert all(setting.description and not setting.description.endswith(".") for setting in SETTINGS)
    port = next(setting for setting in SETTINGS if setting.name == "whilly_port")
    assert (port.variable, port.flag, port.kind, port.default) == ("HALL_WHILLY_PORT", "--whilly-port", int, None)
