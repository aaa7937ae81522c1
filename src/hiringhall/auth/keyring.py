"""The keys with which service settings and signing keys are encrypted, and where they come from."""

from __future__ import annotations

import base64
import binascii
import os
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from hiringhall.auth.tokens import VALUES_MAX

KEY_BYTES: Final = 32
KEY_FILE: Final = "key"
FORM: Final = "v1"
NONCE_BYTES: Final = 12


class BadKey(ValueError):
    """A key is none; the text says why, and never what it was."""


class Keyring:
    """Seals with the first of its keys and opens with any of them. Without a key it does neither.

    What is sealed names its key and is bound to what it is about: in another place it does not open.
    """

    def __init__(self, keys: Iterable[bytes] = ()) -> None:
        self._keys = {_id_of(key): AESGCM(key) for key in keys}

    def __bool__(self) -> bool:
        return bool(self._keys)

    def seal(self, secret: bytes, about: str) -> str:
        """`secret`, readable only with the first key. `about`: what it is, told again when it is opened."""
        key_id, key = next(iter(self._keys.items()))
        nonce = secrets.token_bytes(NONCE_BYTES)
        closed = nonce + key.encrypt(nonce, secret, about.encode())
        return f"{FORM}.{key_id}.{base64.urlsafe_b64encode(closed).decode()}"

    def open(self, sealed: str, about: str) -> bytes | None:
        """What was sealed; None if none of the keys opens it."""
        form, _, rest = sealed.partition(".")
        key_id, _, closed = rest.partition(".")
        key = self._keys.get(key_id)
        if form != FORM or key is None:
            return None
        try:
            raw = base64.urlsafe_b64decode(closed)
            return key.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], about.encode())
        except (InvalidTag, ValueError):
            return None

    def is_sealed_with_first(self, sealed: str) -> bool:
        """Whether it was sealed with the key that seals now."""
        return sealed.split(".")[1:2] == list(self._keys)[:1]


def _id_of(key: bytes) -> str:
    return sha256(b"key id " + key).hexdigest()[:8]


def read_keys(text: str) -> list[bytes]:
    """The keys of a setting: up to two, comma-separated, 32 bytes in base64 each; the first one seals.

    Raises:
        BadKey: it holds none, too many, or something else.
    """
    parts = [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]
    if not 1 <= len(parts) <= VALUES_MAX:
        raise BadKey(f"must hold one key, or {VALUES_MAX} comma-separated, each 32 bytes in base64")
    return [_decoded(part) for part in parts]


def _decoded(part: str) -> bytes:
    try:
        key = base64.b64decode(part.replace("-", "+").replace("_", "/") + "=" * (-len(part) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise BadKey("must be 32 bytes in base64: `head -c 32 /dev/urandom | base64` makes one")
    return key


def key_of_folder(folder: Path) -> list[bytes]:
    """The key of a data folder, which is made (0600) if there is none.

    Raises:
        BadKey: the file holds something else.
        OSError: it cannot be read or written.
    """
    path = folder / KEY_FILE
    if not path.exists():
        fresh = path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    try:
        return read_keys(path.read_text(encoding="ascii"))
    except ValueError as problem:
        why = str(problem) if isinstance(problem, BadKey) else "must hold a key in base64"
        raise BadKey(f"{path}: {why}") from None


def keys_from_tokens(tokens: Sequence[str]) -> list[bytes]:
    """Keys that all servers with the same operator tokens have, for what may be lost with those."""
    return [
        HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=None, info=b"hiringhall signing keys").derive(token.encode())
        for token in tokens
    ]


@dataclass(frozen=True, slots=True)
class Keyrings:
    """What service settings are sealed with, and what signing keys are."""

    settings: Keyring
    signing: Keyring

    @classmethod
    def passing(cls) -> Keyrings:
        """Keys that end with the process, and with them everything that was sealed."""
        keyring = Keyring([secrets.token_bytes(KEY_BYTES)])
        return cls(keyring, keyring)
