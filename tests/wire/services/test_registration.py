"""`POST /worker/registration`: who may, what it takes, and what it answers."""

from __future__ import annotations

from typing import Any

import pytest

from hiringhall import __version__
from hiringhall.auth.keyring import Keyrings
from hiringhall.operations.service_settings import about_setting
from tests.wire.services.bureau import SERVICE, Bureau, header, on_databases, refused


@on_databases
async def test_the_answer_is_a_map_of_texts(made: Bureau) -> None:
    """The answer is a flat string→string map: always `heartbeat_delay` (seconds) and `hall_version`, then the service's
    settings and secrets."""
    sealed = made.hall.keyrings.settings.seal(b"s3cret", about_setting(SERVICE, "API_KEY"))
    await made.service(settings={"API_KEY": sealed})
    worker = await made.log_in("w")
    assert await worker.register("hello") == {
        "heartbeat_delay": "20",
        "hall_version": __version__,
        "API_KEY": "s3cret",
    }


@on_databases
async def test_without_its_settings_no_worker_registers(made: Bureau) -> None:
    """While a setting of its service cannot be opened, a registration is 422 `key_missing`, names it and the way out,
    and leaves the process before in its place."""
    sealed = made.hall.keyrings.settings.seal(b"s3cret", about_setting(SERVICE, "API_KEY"))
    await made.service(settings={"API_KEY": sealed})
    worker = await made.log_in("w")
    await worker.register("hello")
    made.hall.keyrings = Keyrings.passing()
    second = await made.log_in("w")
    answer = await refused(second.send("POST", "registration", {"methods": ["hello"]}), 422, "key_missing")
    assert all(word in answer["detail"] for word in ("'API_KEY'", "HALL_KEY", "HALL_KEY_FILE"))
    assert await worker.beat().json() is True


@on_databases
async def test_the_registration_of_the_document(made: Bureau) -> None:
    """Registration as the document shows it is accepted, and what it says is known of the worker."""
    worker = await made.log_in("kiwi-worker-1")
    body = {
        "worker_id": "kiwi-worker-1",
        "service_id": SERVICE,
        "run_mode": "Lazy",
        "methods": ["hello", "longtask"],
        "ip": "192.168.1.20",
        "port": 55222,
        "version": "1.0.0",
        "tags": {"os": "linux"},
        "supported_executors": ["python", "node"],
        "platform": "linux",
        "interactive_desktop": False,
        "browser_runtime": False,
    }
    await worker.send("POST", "registration", body).json()
    known = made.hall.presence.fresh(worker.key, made.hall.time())
    assert known is not None
    service = known.service
    assert service is not None
    capabilities = service.capabilities
    assert (service.service, service.worker_id, service.run_mode) == (SERVICE, "kiwi-worker-1", "lazy")
    assert (service.ip, service.port, service.version) == ("192.168.1.20", 55222, "1.0.0")
    assert capabilities.methods == ("hello", "longtask")
    assert capabilities.tags == (("os", "linux"),)
    assert capabilities.executors == ("node", "python")
    assert (capabilities.platform, capabilities.interactive_desktop, capabilities.browser_runtime) == (
        "linux", False, False,
    )  # fmt: skip


async def test_a_foreign_service_is_refused(made: Bureau) -> None:
    """`service_id` must be the token's (403)."""
    await made.service("another")
    worker = await made.log_in("w")
    await refused(worker.send("POST", "registration", {"service_id": "another"}), 403, "forbidden")


async def test_a_foreign_worker_id_is_refused(made: Bureau) -> None:
    """A worker registers itself alone (403)."""
    worker = await made.log_in("w")
    await refused(worker.send("POST", "registration", {"worker_id": "x"}), 403, "worker_forbidden")


@pytest.mark.parametrize("mode", ["lazy", "LAZY", "Connected", "eager", None])
async def test_run_modes(made: Bureau, mode: str | None) -> None:
    """`run_mode` is case-insensitive; Connected is accepted and served like Eager."""
    worker = await made.hire("w", "hello", run_mode=mode)
    request_id = await made.submit()
    assert await worker.ids() == [request_id]


async def test_what_is_missing_or_unknown_is_no_matter(made: Bureau) -> None:
    """Unknown fields are ignored, missing optional ones defaulted."""
    worker = await made.log_in("w")
    await worker.send("POST", "registration", {"methods": ["hello"], "colour": {"a": [1]}, "tags": None}).json()
    request_id = await made.submit()
    assert await worker.ids() == [request_id]


async def test_tags_may_be_numbers(made: Bureau) -> None:
    """Tags are texts; numbers and truths are taken as their JSON text."""
    worker = await made.log_in("w")
    await worker.register("hello", tags={"concurrency": 2, "gpu": True, "nothing": None})
    known = made.hall.presence.fresh(worker.key, made.hall.time())
    assert known is not None
    assert known.service is not None
    assert known.service.capabilities.tags == (("concurrency", "2"), ("gpu", "true"))
    assert known.service.capabilities.concurrency == 2


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"run_mode": "sometimes"}, "run_mode"),
        ({"methods": "hello"}, "methods"),
        ({"methods": [""]}, "methods"),
        ({"methods": ["a\u0000b"]}, "methods"),
        ({"methods": [f"m{number}" for number in range(1001)]}, "methods"),
        ({"port": 65536}, "port"),
        ({"port": "many"}, "port"),
        ({"tags": {"a": []}}, "tags"),
        ({"tags": {"a": "\u0000"}}, "tags"),
        ({"supported_executors": [1]}, "supported_executors"),
        ({"platform": "x" * 257}, "platform"),
        ({"trace": "yes"}, "trace"),
        ({"version": "1.0\u0000"}, "version"),
        ({"ip": "10.0.0.1\n"}, "ip"),
        ({"run_mode": ""}, "run_mode"),
    ],
)
async def test_what_cannot_be_is_named(made: Bureau, members: dict[str, Any], field: str) -> None:
    """422 `validation_error` says which field and why, and never echoes the input."""
    worker = await made.log_in("w")
    body = await refused(worker.send("POST", "registration", members), 422, "validation_error")
    assert body["detail"].startswith(field)
    assert "sometimes" not in body["detail"]


@pytest.mark.parametrize("body", [b"", b"{", b"[1,2", b'{"a":"\xff"}', b'{"a":NaN}', b'{"a":"\\ud800"}', b"[" * 101])
async def test_what_is_no_json(made: Bureau, body: bytes) -> None:
    """A body that is no strict JSON is 400 `malformed_json`."""
    worker = await made.log_in("w")
    await refused(worker.send("POST", "registration", body), 400, "malformed_json")


async def test_a_token_is_needed(made: Bureau) -> None:
    """Without a worker's token every route is 401, with the challenge."""
    for method, path in (
        ("POST", "/worker/registration"),
        ("GET", "/worker/messages"),
        ("PUT", "/worker/lock_request/r-1"),
        ("POST", "/worker/response"),
        ("POST", "/worker/feedback"),
        ("GET", "/worker/heartbeat/w"),
        ("PUT", "/worker/notify_worker_shutdown/w"),
    ):
        for token in (None, "nonsense"):
            asked = made.send(method, path, {}, token)
            await refused(asked, 401, "missing_or_invalid_bearer")
            assert header(await asked.reply(), "www-authenticate") == 'Bearer realm="hall"'


async def test_the_token_of_another_role_opens_nothing(made: Bureau) -> None:
    """The operator's and the plan workers' tokens are known here, but open something else (403)."""
    for token in ("operator-token", "shared-token"):
        await refused(made.send("GET", "/worker/messages", None, token), 403, "forbidden")


async def test_a_wrong_method(made: Bureau) -> None:
    """A known path with another method is 405 and says which it knows; HEAD would take messages and lose them."""
    asked = made.send("HEAD", "/worker/messages")
    await refused(asked, 405, "method_not_allowed")
    assert header(await asked.reply(), "allow") == "GET"
    assert header(await made.send("GET", "/worker/response").reply(), "allow") == "POST"


@on_databases
async def test_a_second_registration_is_a_new_incarnation(made: Bureau) -> None:
    """Registration makes a new incarnation and binds this session to it; the old one's leases return at once (cause
    `worker_restarted`)."""
    worker = await made.hire("w")
    request_id = await made.submit()
    assert await worker.ids() == [request_id]
    again = await made.hire("w")
    assert await again.ids() == [request_id]
    assert await made.causes(request_id) == ["first", "worker_restarted"]


@on_databases
async def test_a_superseded_login_may_do_nothing(made: Bureau) -> None:
    """Sessions bound to an earlier incarnation get 409 `worker_superseded`, whatever they ask."""
    old = await made.hire("w")
    request_id = await made.submit()
    await made.hire("w")
    for asked in (
        old.drain(),
        old.drain("?wait=5"),
        old.beat(),
        old.lock(request_id),
        old.respond(request_id),
        old.tell({"rid": request_id, "ft": 1}),
        old.leave(),
        old.send("POST", "registration", {}),
    ):
        await refused(asked, 409, "worker_superseded")


async def test_a_refresh_makes_no_other_login(made: Bureau) -> None:
    """A session is shared by its refresh family: superseded stays superseded, and what is registered stays so."""
    old = await made.hire("w")
    await old.refresh()
    assert await old.beat().json() is True
    new = await made.hire("w")
    await old.refresh()
    await refused(old.drain(), 409, "worker_superseded")
    await new.refresh()
    assert await new.messages() == []


@on_databases
async def test_a_superseded_drain_ends(made: Bureau) -> None:
    """A parked drain of an earlier incarnation ends with 409 when the worker starts anew."""
    old = await made.hire("w")
    waiting = await old.waiting()
    await made.hire("w")
    await refused(waiting, 409, "worker_superseded")


@on_databases
async def test_a_login_that_never_registered_acts_for_the_present_incarnation(made: Bureau) -> None:
    """A session that never registered acts for the present incarnation."""
    await made.hire("w")
    other = await made.log_in("w")
    request_id = await made.submit()
    assert await other.ids() == [request_id]
    assert await other.beat().json() is True


@on_databases
async def test_registering_is_needed_first(made: Bureau) -> None:
    """A worker that never registered is told to: 409 `not_registered`; its feedback is dropped, its heartbeat false."""
    worker = await made.log_in("w")
    for asked in (worker.drain(), worker.lock("r"), worker.respond("r"), worker.leave()):
        await refused(asked, 409, "not_registered")
    assert await worker.tell({"rid": "r", "ft": 1}).json() == {"accepted": 0}
    assert await worker.beat().json() is False


@on_databases
async def test_workers_of_two_services_may_have_one_id(made: Bureau) -> None:
    """A worker is (service, worker id) everywhere."""
    one, other = await made.hire("w", service="one"), await made.hire("w", service="other")
    request_id = await made.submit(service="other")
    assert await one.ids() == []
    assert await other.ids() == [request_id]
