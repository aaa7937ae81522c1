"""Services and clients as operators and `hall.toml` have them: made or changed, with a secret made if there is none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

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


OUTRUN = Refused(
    "unavailable", "its secret is being replaced by others again and again; try again", extra={"retry_after": 1}
)
ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True)
class Choice:
    """How secrets are dealt with. `retire`: the one before ends now. `make_secret`: a new one is made if none is
    chosen. `spare`: one is made for whoever is made without a secret."""

    retire: bool = False
    make_secret: bool = False
    spare: bool = True


@dataclass(frozen=True, slots=True)
class Stored:
    """It is stored. `made_secret`: the one that was made, which cannot be told again."""

    created: bool
    made_secret: str | None = None


async def put_service(
    hall: Hall, service: str, wish: ServiceWish, choice: Choice = Choice(), *, source: str = ""
) -> Stored | Refused:
    """Make a service, or change what is said of it; the same again changes nothing.

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
    ask = PutService(service, retire=choice.retire, settings=sealed, dispatch=wish.dispatch, methods=wish.methods)
    return await _put(hall, "worker", service, ask, wish.secret, choice, source)


async def put_client(
    hall: Hall, client: str, wish: ClientWish, choice: Choice = Choice(), *, source: str = ""
) -> Stored | Refused:
    """Make a client, or change what is said of it; the same again changes nothing.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    if wish.allow is None and not await hall.store.read(FindClients((client,))):
        return Refused("validation_error", "allow: is missing: a new client needs patterns of what it may call")
    ask = PutClient(client, retire=choice.retire, allow=wish.allow)
    return await _put(hall, "client", client, ask, wish.secret, choice, source)


async def _put(
    hall: Hall, role: Role, owner: str, ask: PutService | PutClient, chosen: str | None, choice: Choice, source: str
) -> Stored | Refused:
    """Store it with a chosen secret, a made one, or none. A chosen one is hashed with a salt of its own, so that only
    here can be seen whether it is the present one; if another comes meanwhile (many servers start with the same new one
    in `hall.toml`), it is compared again."""
    told, made = made_secret()
    if chosen is None and choice.make_secret:
        ask = replace(ask, secret=made)
    elif chosen is None and choice.spare:
        ask = replace(ask, spare=made)
    for _ in range(ATTEMPTS):
        if chosen is not None:
            try:
                secret, instead_of = await _hashed(hall, role, owner, chosen, source)
            except Busy:
                return BUSY
            ask = replace(ask, secret=secret, instead_of=instead_of)
        put: Put = await hall.coalescer.one(ask)
        if not put.outrun:
            return Stored(put.created, told if put.spare_used or ask.secret is made else None)
    return OUTRUN


async def _hashed(
    hall: Hall, role: Role, owner: str, chosen: str, source: str
) -> tuple[HashedSecret | None, str | None]:
    """How a secret is stored (None if it is the owner's present one), and the id of the one whose place it takes."""
    present, known = await hall.logins.find_secret(role, owner, chosen, source)
    if known is not None and known is present:
        return None, None
    hashed = await hall.logins.verifier.result(partial(hash_chosen, chosen), source)
    return hashed, None if present is None else present.id


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
