"""Services and clients as operators and `hall.toml` have them: made or changed, with a secret made if there is none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from hiringhall.auth.credentials import hash_chosen, made_secret
from hiringhall.auth.verifier import Busy
from hiringhall.domain.owners import ClientWish, ServiceWish
from hiringhall.domain.refusals import Refused
from hiringhall.operations.hall import Hall
from hiringhall.operations.service_settings import about_setting
from hiringhall.ports.identity import FindClients, HashedSecret, Put, PutClient, PutService, ReadSettings, Reseal, Role

NO_KEY = Refused(
    "key_missing",
    "settings are stored only encrypted, and there is no key: set HALL_KEY or HALL_KEY_FILE on every server",
)
BUSY = Refused("unavailable", "too many secrets wait to be hashed; try again", extra={"retry_after": 1})


@dataclass(frozen=True, slots=True)
class Stored:
    """It is stored. `made_secret`: the one that was made, which cannot be told again."""

    created: bool
    made_secret: str | None = None


async def put_service(
    hall: Hall, service: str, wish: ServiceWish, *, retire: bool = False, spare: bool = True, source: str = ""
) -> Stored | Refused:
    """Make a service, or change what is said of it; the same again changes nothing. `spare`: one that is made without a
    secret gets a made one.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    keyring = hall.keyrings.settings
    if not keyring and any(value is not None for value in wish.settings.values()):
        return NO_KEY
    sealed = {
        name: None if value is None else keyring.seal(value.encode(), about_setting(service, name))
        for name, value in wish.settings.items()
    }
    secret = await _hashed(hall, "worker", service, wish.secret, source)
    if isinstance(secret, Refused):
        return secret
    told, hashed = made_secret()
    fallback = hashed if spare and wish.secret is None else None
    put: Put = await hall.coalescer.one(
        PutService(service, secret, fallback, retire, sealed, wish.dispatch, wish.methods)
    )
    return Stored(put.created, told if put.spare_used else None)


async def put_client(
    hall: Hall, client: str, wish: ClientWish, *, retire: bool = False, spare: bool = True, source: str = ""
) -> Stored | Refused:
    """Make a client, or change what is said of it; the same again changes nothing. `spare`: one that is made without a
    secret gets a made one.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    if wish.allow is None and not await hall.store.read(FindClients((client,))):
        return Refused("validation_error", "allow: is missing: a new client needs patterns of what it may call")
    secret = await _hashed(hall, "client", client, wish.secret, source)
    if isinstance(secret, Refused):
        return secret
    told, hashed = made_secret()
    fallback = hashed if spare and wish.secret is None else None
    put: Put = await hall.coalescer.one(PutClient(client, secret, fallback, retire, wish.allow))
    return Stored(put.created, told if put.spare_used else None)


async def _hashed(hall: Hall, role: Role, owner: str, secret: str | None, source: str) -> HashedSecret | Refused | None:
    """How a secret is stored; None if there is none, or it is the owner's present one."""
    if secret is None:
        return None
    try:
        known = await hall.logins.secret_id(role, owner, secret, source)
        if known is not None and not known.previous:
            return None
        return await hall.logins.verifier.result(partial(hash_chosen, secret), source)
    except Busy:
        return BUSY


async def reseal(hall: Hall) -> None:
    """Seal what an earlier key has sealed with the present one, so that the earlier one can be taken away.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    keyring = hall.keyrings.settings
    if not keyring:
        return
    stored: dict[tuple[str, str], str] = await hall.store.read(ReadSettings(None))
    fresh: dict[tuple[str, str], tuple[str, str]] = {}
    for name, before in stored.items():
        about = about_setting(*name)
        if not keyring.is_sealed_with_first(before) and (value := keyring.open(before, about)) is not None:
            fresh[name] = (before, keyring.seal(value, about))
    if fresh:
        await hall.coalescer.one(Reseal(settings=fresh))
