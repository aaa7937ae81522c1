"""Services, clients and logins against a real server, with the commands of `hall` and over HTTP."""

from __future__ import annotations

import base64
import json
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from hiringhall.cli.trouble import USAGE
from tests.conftest import StartHall
from tests.end_to_end.shell import Shell, shell_of
from tests.hall_process import ADMIN_TOKEN, Database, HallProcess
from tests.waiting import until

KEY = base64.b64encode(b"1" * 32).decode()
OTHER_KEY = base64.b64encode(b"2" * 32).decode()


def log_in(hall: HallProcess, secret: str, service: str = "math", worker: str = "w") -> httpx.Response:
    """A worker logs in."""
    form = {"grant_type": "client_credentials", "service_id": service, "auth_secret": secret, "worker_id": worker}
    return httpx.post(f"{hall.url}/worker/auth_token", data=form, trust_env=False)


def log_in_as_client(hall: HallProcess, secret: str, client: str = "ci") -> httpx.Response:
    """A client logs in."""
    form = {"client_id": client, "client_secret": secret}
    return httpx.post(f"{hall.url}/client/auth_token", data=form, trust_env=False)


def refresh(hall: HallProcess, token: str) -> httpx.Response:
    """A worker exchanges its refresh token."""
    form = {"grant_type": "refresh_token", "refresh_token": token}
    return httpx.post(f"{hall.url}/worker/auth_token", data=form, trust_env=False)


def admin(hall: HallProcess, method: str, path: str, **how: Any) -> Any:
    """The answer to an operator."""
    headers = {"authorization": f"Bearer {ADMIN_TOKEN}"}
    answer = httpx.request(method, hall.url + path, headers=headers, trust_env=False, **how)
    assert answer.is_success, answer.text
    return answer.json()


def opens_admin(hall: HallProcess, token: str) -> int:
    """The status of an operator's route with a token: 403 if it is known, 401 if not."""
    headers = {"authorization": f"Bearer {token}"}
    return httpx.get(f"{hall.url}/admin/services", headers=headers, trust_env=False).status_code


def test_a_made_secret_is_printed_once(database: Database, start_hall: StartHall) -> None:
    """`hall service add NAME` and `hall client add NAME --allow 'math/*'` print a made secret once."""
    hall = start_hall(database)
    shell = shell_of(hall)
    secret = shell.fine("service", "add", "math").split()[-1]
    assert len(secret) == 43
    assert log_in(hall, secret).status_code == 200
    assert secret not in shell.fine("service", "add", "math", "--dispatch", "race")
    assert secret not in shell.fine("service", "show", "math")
    client = shell.fine("client", "add", "ci", "--allow", "math/*", "--allow", "text/*").split()[-1]
    assert log_in_as_client(hall, client).status_code == 200
    assert shell.json("client", "list")[0]["allow"] == ["math/*", "text/*"]
    assert hall.stop() == 0
    assert secret not in hall.shown()
    assert client not in hall.shown()


def test_services_by_command(sqlite_database: Database, start_hall: StartHall, tmp_path: Path) -> None:
    """A service is made, shown, given settings, paused, resumed and removed."""
    hall = start_hall(sqlite_database)
    shell = shell_of(hall)
    assert shell.fine("service", "add", "math", "--secret", "chosen", "--dispatch", "race") == "math: stored\n"
    assert log_in(hall, "chosen").status_code == 200
    (tmp_path / "value").write_text("from a file")
    assert (
        shell.fine("service", "set", "math", "a=1", "b=x=y", "--file", f"c={tmp_path / 'value'}") == "math: a, b, c\n"
    )
    assert shell.fine("service", "set", "math", "a=") == "math: b, c\n"
    shown = shell.fine("service", "show", "math")
    assert "math: open; race" in shown
    assert "settings: b, c" in shown
    assert "x=y" not in shown
    shell.fine("service", "pause", "math")
    assert shell.json("service", "list")[0]["paused"]
    shell.fine("service", "resume", "math")
    assert "open" in shell.fine("service", "list")
    assert shell.fine("service", "add", "math", "--secret", "-", "--retire", stdin="typed\n") == "math: stored\n"
    assert [log_in(hall, secret).status_code for secret in ("chosen", "typed")] == [401, 200]
    assert shell.fine("service", "remove", "math") == "math: removed\n"
    assert log_in(hall, "typed").status_code == 401


def test_secrets_and_keys_are_replaced_by_command(sqlite_database: Database, start_hall: StartHall) -> None:
    """`hall service secret`, `hall client secret` give another secret, `hall key rotate` another key: nobody is out."""
    hall = start_hall(sqlite_database)
    shell = shell_of(hall)
    first = shell.fine("service", "add", "math").split()[-1]
    client = shell.fine("client", "add", "ci", "--allow", "math/*").split()[-1]
    second = shell.fine("service", "secret", "math").split()[-1]
    assert [log_in(hall, secret).status_code for secret in (first, second)] == [200, 200]
    assert shell.fine("service", "secret", "math", "--secret", "-", "--retire", stdin="typed\n") == "math: stored\n"
    assert [log_in(hall, secret).status_code for secret in (first, second, "typed")] == [401, 401, 200]
    other = json.loads(shell.fine("client", "secret", "ci", "--json"))["secret"]
    assert [log_in_as_client(hall, secret).status_code for secret in (client, other)] == [200, 200]
    for kind in ("service", "client"):
        ran = shell.run(kind, "secret", "nobody")
        assert (ran.status, f"there is no {kind} 'nobody'" in ran.err) == (1, True)
    token = log_in(hall, "typed").json()["access_token"]
    before = json.loads(shell.fine("key", "rotate", "--json"))["key_id"]
    told = shell.fine("key", "rotate")
    assert told.startswith("signing with ")
    assert before not in told
    assert opens_admin(hall, token) == 403
    assert opens_admin(hall, log_in(hall, "typed").json()["access_token"]) == 403


def test_what_commands_say_that_cannot_be_done(sqlite_database: Database, start_hall: StartHall) -> None:
    """One line says what is wrong and how to mend it."""
    shell = shell_of(start_hall(sqlite_database))
    for words, status, told in (
        (("service", "show", "nope"), 1, "there is no service 'nope'"),
        (("service", "set", "nope", "a=1"), 1, "there is no service 'nope'"),
        (("service", "set", "nope", "a"), USAGE, "KEY=VALUE"),
        (("service", "set", "nope"), USAGE, "no setting is given"),
        (("service", "set", "nope", "--file", "a=/nowhere"), 1, "/nowhere"),
        (("service", "add", "a/b"), 1, "must not contain '/'"),
        (("service", "add", "x", "--dispatch", "all"), 1, "exclusive, race, broadcast"),
        (("client", "add", "ci"), 1, "allow: is missing"),
        (("client", "add", "operator", "--allow", "*"), 1, "operator's token"),
        (("client", "remove", "ci"), 1, "there is no client 'ci'"),
    ):
        ran = shell.run(*words)
        assert (ran.status, told in ran.err) == (status, True), (words, ran)


def test_a_server_that_starts_again_knows_everybody(database: Database, start_hall: StartHall) -> None:
    """Secrets, logins and signing keys survive kill -9 of the server: tokens stay good."""
    hall = start_hall(database)
    secret = admin(hall, "PUT", "/admin/services/math")["secret"]
    tokens = log_in(hall, secret).json()
    hall.restart(kill=True)
    assert opens_admin(hall, tokens["access_token"]) == 403
    assert refresh(hall, tokens["refresh_token"]).status_code == 200
    assert log_in(hall, secret).status_code == 200


def test_two_servers_share_their_keys(postgres_database: Database, start_hall: StartHall, tmp_path: Path) -> None:
    """Keys are shared by all replicas: what one has signed the other accepts, without further configuration."""
    one = start_hall(postgres_database, name="one")
    two = start_hall(replace(postgres_database, directory=tmp_path / "two"), name="two")
    secret = admin(one, "PUT", "/admin/services/math")["secret"]
    tokens = log_in(one, secret).json()
    assert opens_admin(two, tokens["access_token"]) == 403
    second = refresh(two, tokens["refresh_token"]).json()
    assert opens_admin(one, second["access_token"]) == 403
    admin(one, "DELETE", "/admin/services/math")
    until(lambda: log_in(two, secret).status_code == 401, within_seconds=5, waiting_for="the other server to forget it")


def test_settings_need_a_key_on_a_shared_database(postgres_database: Database, start_hall: StartHall) -> None:
    """On PostgreSQL it must be configured before a setting is stored, else 422 `key_missing`."""
    hall = start_hall(postgres_database)
    ran = shell_of(hall).run("service", "set", "math", "a=1")
    admin(hall, "PUT", "/admin/services/math")
    ran = shell_of(hall).run("service", "set", "math", "a=1")
    assert (ran.status, "HALL_KEY" in ran.err) == (1, True)
    hall.restart(settings={"HALL_KEY": KEY})
    assert shell_of(hall).fine("service", "set", "math", "a=1") == "math: a\n"


def test_keys_are_replaced_without_an_outage(sqlite_database: Database, start_hall: StartHall) -> None:
    """Two keys are valid for rotation: what the old one sealed stays readable, and tokens stay good."""
    hall = start_hall(sqlite_database, HALL_KEY=KEY)
    secret = admin(hall, "PUT", "/admin/services/math")["secret"]
    tokens = log_in(hall, secret).json()
    hall.restart(settings={"HALL_KEY": f"{OTHER_KEY},{KEY}"})
    assert opens_admin(hall, tokens["access_token"]) == 403
    hall.restart(settings={"HALL_KEY": OTHER_KEY})
    assert opens_admin(hall, tokens["access_token"]) == 403
    hall.restart(settings={"HALL_KEY": KEY, "HALL_ADMIN_TOKEN": "another-operator-token"})
    assert "a new one is made" in hall.stderr
    assert opens_admin(hall, tokens["access_token"]) == 401
    assert refresh(hall, tokens["refresh_token"]).status_code == 200


def test_the_key_of_the_folder(sqlite_database: Database, start_hall: StartHall) -> None:
    """On SQLite it is made at first start in DIR/key (0600)."""
    start_hall(sqlite_database)
    path = sqlite_database.directory / "key"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(base64.b64decode(path.read_text())) == 32


def test_a_lost_key_is_told_at_the_start(sqlite_database: Database, start_hall: StartHall) -> None:
    """A server that cannot open settings of services says once, when it starts, which, and how to mend it."""
    hall = start_hall(sqlite_database)
    admin(hall, "PUT", "/admin/services/math", json={"settings": {"password": "s3cret", "url": "x"}})
    (sqlite_database.directory / "key").unlink()
    hall.restart()
    (line,) = [line for line in hall.stderr.splitlines() if "settings of services cannot be opened" in line]
    assert all(word in line for word in ("'math/password', 'math/url'", "HALL_KEY", "HALL_KEY_FILE", "`key`"))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"HALL_KEY": "s3cret"}, "HALL_KEY: must be 32 bytes in base64"),
        ({"HALL_KEY": f"{KEY},{KEY},{KEY}"}, "HALL_KEY: must hold one key"),
        ({"HALL_KEY_FILE": "/nowhere"}, "HALL_KEY_FILE: /nowhere: No such file"),
        ({"HALL_KEY_FILE": "/dev/null"}, "HALL_KEY_FILE: /dev/null must hold one key"),
        ({"HALL_TRUSTED_PROXIES": "s3cret"}, "HALL_TRUSTED_PROXIES: must be networks"),
    ],
)
def test_bad_keys_and_networks(
    sqlite_database: Database, start_hall: StartHall, settings: dict[str, str], told: str
) -> None:
    """A key that is none keeps the server from starting, and is not printed."""
    hall = start_hall(sqlite_database, start=False, **settings)
    hall.launch()
    assert hall.wait() == 1
    assert told in hall.stderr
    assert "s3cret" not in hall.stderr


DECLARED = """
[services.math]
dispatch = "race"
secret = {{ file = "{file}" }}
[services.math.settings]
url = "https://example.org"
password = {{ env = "DB_PASSWORD" }}
[services.math.methods.add]
dispatch = "exclusive"
run_limit_seconds = 5
[services.plain]
[clients.ci]
secret = "chosen-client"
allow = ["math/*"]
"""


def test_services_and_clients_are_declared(database: Database, start_hall: StartHall, tmp_path: Path) -> None:
    """`hall.toml`: services and clients made or updated at the start; secrets by value, file or variable."""
    secret = tmp_path / "secret"
    secret.write_text("from-the-file\n")
    database.directory.mkdir(exist_ok=True)
    file = database.directory / "hall.toml"
    file.write_text(DECLARED.format(file=secret))
    hall = start_hall(database, HALL_KEY=KEY, DB_PASSWORD="hunter2")
    assert log_in(hall, "from-the-file").status_code == 200
    assert log_in_as_client(hall, "chosen-client").status_code == 200
    service = admin(hall, "GET", "/admin/services/math")["service"]
    assert (service["dispatch"], service["settings"], service["secrets"]) == ("race", ["password", "url"], 1)
    assert service["methods"] == {"add": {"dispatch": "exclusive", "run_limit_seconds": 5}}
    assert admin(hall, "GET", "/admin/services/plain")["service"]["secrets"] == 0
    hall.restart()
    assert admin(hall, "GET", "/admin/services/math")["service"] == service
    secret.write_text("another\n")
    file.write_text(DECLARED.format(file=secret).replace('"race"', '"broadcast"'))
    hall.restart()
    assert [log_in(hall, word).status_code for word in ("from-the-file", "another")] == [200, 200]
    assert admin(hall, "GET", "/admin/services/math")["service"]["dispatch"] == "broadcast"
    hall.stop()
    for word in ("from-the-file", "another", "hunter2", "chosen-client", KEY):
        assert word not in hall.shown()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[services.math]\nsecrets = 's3cret'\n", "services.math in"),
        ("[services.math]\nsecret = { env = 'NOT_SET' }\n", "NOT_SET is not set"),
        ("[services.math]\nsecret = { file = '/nowhere' }\n", "/nowhere"),
        ("[services.math]\nsecret = { other = 's3cret' }\n", "must be a text"),
        ("[services.math.settings]\na = 1\n", "settings.a must be a text"),
        ("[services]\nmath = 's3cret'\n", "services.math in"),
        ("services = 's3cret'\n", "services in"),
        ("[clients.ci]\nsecret = 's3cret'\n", "allow: is missing"),
        ("[clients.operator]\nallow = []\n", "the name is the client of the operator's token"),
    ],
)
def test_declarations_that_cannot_be(sqlite_database: Database, start_hall: StartHall, text: str, told: str) -> None:
    """The server does not start, and says what is wrong where, without the value."""
    sqlite_database.directory.mkdir(exist_ok=True)
    (sqlite_database.directory / "hall.toml").write_text(text)
    hall = start_hall(sqlite_database, start=False)
    hall.launch()
    assert hall.wait() == 1
    assert told in hall.stderr
    assert "s3cret" not in hall.stderr


def test_failed_secrets_are_limited(sqlite_database: Database, start_hall: StartHall) -> None:
    """10 a minute, then 429 with `Retry-After`; others unaffected."""
    hall = start_hall(sqlite_database, HALL_TRUSTED_PROXIES="127.0.0.0/8")
    secret = admin(hall, "PUT", "/admin/services/math")["secret"]
    assert log_in(hall, secret).status_code == 200
    assert [log_in(hall, "wrong").status_code for _ in range(12)] == [401] * 10 + [429] * 2
    limited = log_in(hall, "wrong")
    assert 1 <= int(limited.headers["retry-after"]) <= 60
    assert limited.json()["error_code"] == "too_many_failures"
    assert log_in(hall, secret).status_code == 200
    assert log_in(hall, "wrong", "other").status_code == 401
    form = {"grant_type": "client_credentials", "service_id": "math", "auth_secret": "wrong", "worker_id": "w"}
    elsewhere = {"x-forwarded-for": "203.0.113.9"}
    answer = httpx.post(f"{hall.url}/worker/auth_token", data=form, headers=elsewhere, trust_env=False)
    assert answer.status_code == 401


def test_shells_do_not_need_a_data_folder() -> None:
    """Commands about services say where they looked for the server."""
    ran = Shell(HALL_DATA="/nonexistent-folder").run("service", "list")
    assert (ran.status, "no server is known" in ran.err) == (1, True)


def test_a_removed_worker_is_out(database: Database, start_hall: StartHall) -> None:
    """A removed worker's own tokens are 401, and its refresh token is dead; having logged in again, it is not known."""
    hall = start_hall(database)
    admin(hall, "PUT", "/admin/services/math", json={"secret": "chosen"})
    tokens = log_in(hall, "chosen").json()

    def beat(token: str) -> httpx.Response:
        headers = {"authorization": f"Bearer {token}"}
        return httpx.get(f"{hall.url}/worker/heartbeat/w", headers=headers, trust_env=False)

    registration = {"worker_id": "w", "service_id": "math", "run_mode": "Eager", "methods": ["add"]}
    headers = {"authorization": f"Bearer {tokens['access_token']}"}
    assert httpx.post(f"{hall.url}/worker/registration", json=registration, headers=headers, trust_env=False).is_success
    assert beat(tokens["access_token"]).json() is True
    admin(hall, "DELETE", "/admin/workers/w?service=math")
    until(lambda: beat(tokens["access_token"]).status_code == 401, within_seconds=5, waiting_for="the token to end")
    assert refresh(hall, tokens["refresh_token"]).status_code == 401
    assert beat(log_in(hall, "chosen").json()["access_token"]).json() is False


def test_refreshing_twice_at_once_logs_nobody_out(database: Database, start_hall: StartHall) -> None:
    """Of the answers to two requests with one refresh token either goes on, and its access token works."""
    hall = start_hall(database)
    admin(hall, "PUT", "/admin/services/math", json={"secret": "chosen"})
    first = log_in(hall, "chosen").json()["refresh_token"]
    one, other = refresh(hall, first).json(), refresh(hall, first).json()
    again = refresh(hall, one["refresh_token"])
    assert again.status_code == 200
    for token in (one["access_token"], other["access_token"], again.json()["access_token"]):
        assert opens_admin(hall, token) == 403


def test_servers_with_different_keys_say_so(postgres_database: Database, start_hall: StartHall) -> None:
    """A server whose hall signs with a key that it cannot open tells which settings have to be the same."""
    one = start_hall(replace(postgres_database, directory=postgres_database.directory / "a"))
    admin(one, "PUT", "/admin/services/math", json={"secret": "chosen"})
    assert log_in(one, "chosen").status_code == 200
    folder = replace(postgres_database, directory=postgres_database.directory / "b")
    other = start_hall(folder, HALL_ADMIN_TOKEN="another-operator-token")
    assert log_in(other, "chosen").status_code == 200
    refused = until(
        lambda: answer if (answer := log_in(one, "chosen")).status_code != 200 else None,
        within_seconds=10,
        waiting_for="the first server to see that the key is another",
    )
    assert (refused.status_code, refused.json()["error_code"]) == (422, "key_missing")
    assert "HALL_KEY" in refused.json()["detail"]
