"""Tokens of a real server: two of each kind are valid at once, so that one can be replaced while workers go on."""

from __future__ import annotations

from typing import Any

from tests.conftest import StartHall
from tests.hall_client import HallClient
from tests.hall_process import ADMIN_TOKEN, BOOTSTRAP_TOKEN, WORKER_TOKEN, Database

SETTINGS = {"HALL_ADMIN_TOKEN": ADMIN_TOKEN, "HALL_BOOTSTRAP_TOKEN": BOOTSTRAP_TOKEN, "HALL_WORKER_TOKEN": WORKER_TOKEN}
CLAIM = {"worker_id": "w", "plan_id": "p", "wait": 0}
CALLS = {
    "HALL_ADMIN_TOKEN": ("GET", "/admin/plans", None, 200, "missing_or_invalid_bearer"),
    "HALL_BOOTSTRAP_TOKEN": ("POST", "/workers/register", {"hostname": "h"}, 201, "missing_or_invalid_bootstrap"),
    "HALL_WORKER_TOKEN": ("POST", "/tasks/claim", CLAIM, 204, "missing_or_invalid_bearer"),
}
"""What each token is for: the call, its status with a good token, the code without one."""


def _opens(client: HallClient, setting: str, token: str) -> bool:
    method, path, body, status, code = CALLS[setting]
    answer = client.call(method, path, body, token=token)
    if answer.status_code == status:
        return True
    assert (answer.status_code, answer.json()["error_code"]) == (401, code), answer.text
    assert answer.headers["WWW-Authenticate"].startswith("Bearer realm=")
    return False


def test_tokens_are_replaced_without_an_outage(database: Database, start_hall: StartHall) -> None:
    """New and old are valid together after a first restart, the new one alone after a second."""
    hall = start_hall(database)
    with HallClient(hall.url) as client:
        own = client.register()
        assert all(_opens(client, setting, old) for setting, old in SETTINGS.items())
        assert not any(_opens(client, setting, "new-" + old) for setting, old in SETTINGS.items())
        hall.restart(settings={setting: f"new-{old}, {old}" for setting, old in SETTINGS.items()})
        assert all(_opens(client, setting, old) for setting, old in SETTINGS.items())
        assert all(_opens(client, setting, "new-" + old) for setting, old in SETTINGS.items())
        assert not any(_opens(client, setting, f"new-{old}, {old}") for setting, old in SETTINGS.items())
        hall.restart(settings={setting: f"new-{old}" for setting, old in SETTINGS.items()})
        assert not any(_opens(client, setting, old) for setting, old in SETTINGS.items())
        assert all(_opens(client, setting, "new-" + old) for setting, old in SETTINGS.items())
        assert own.heartbeat(), "a worker's own token does not depend on those that are configured"


def test_a_third_token_is_refused_at_the_start(sqlite_database: Database, start_hall: StartHall) -> None:
    """More than two values are no rotation: the server names the setting and does not start."""
    hall = start_hall(sqlite_database, start=False, HALL_WORKER_TOKEN="a,b,c")
    hall.launch()
    assert hall.wait() != 0
    assert "HALL_WORKER_TOKEN" in hall.stderr
    assert "a,b,c" not in hall.stderr


def test_a_token_opens_only_what_it_is_for(sqlite_database: Database, start_hall: StartHall) -> None:
    """No token does another one's work."""
    with HallClient(start_hall(sqlite_database).url) as client:
        for setting, token in SETTINGS.items():
            for other in set(SETTINGS) - {setting}:
                method, path, body, _, _ = CALLS[other]
                assert client.call(method, path, body, token=token).status_code in (401, 403)


def test_a_token_beyond_ascii_is_a_wrong_token(sqlite_database: Database, start_hall: StartHall) -> None:
    """Whatever bytes stand in place of a token, the answer is that it is not known, and the server goes on."""
    with HallClient(start_hall(sqlite_database).url) as client:
        for token in (b"\xff\xfe", "schlüssel".encode(), "schlüssel".encode("latin-1"), "🔑".encode(), b"\x80" * 4000):
            for method, path, body, _, code in CALLS.values():
                authorization: Any = {b"Authorization": b"Bearer " + token}
                answer = client.call(method, path, body, token=None, headers=authorization)
                assert (answer.status_code, answer.json()["error_code"]) == (401, code)
        assert all(_opens(client, setting, token) for setting, token in SETTINGS.items())


def test_a_configured_token_may_be_beyond_ascii(sqlite_database: Database, start_hall: StartHall) -> None:
    """A token that was chosen with an umlaut is known when it comes in UTF-8."""
    chosen = "schlüssel-der-halle-🔑"
    hall = start_hall(sqlite_database, HALL_ADMIN_TOKEN=chosen, HALL_BOOTSTRAP_TOKEN=chosen, HALL_WORKER_TOKEN=chosen)
    with HallClient(hall.url) as client:
        for method, path, body, status, _ in CALLS.values():
            authorization: Any = {b"Authorization": b"Bearer " + chosen.encode()}
            assert client.call(method, path, body, token=None, headers=authorization).status_code == status
