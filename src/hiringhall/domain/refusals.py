"""The closed list of refusals: every code that an error envelope may carry, with its usual HTTP status.

A refusal is a value, not an exception: an operation returns it and the wire renders it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

CODES: Final[dict[str, int]] = {
    "already_finished": 409,
    "already_locked": 409,
    "ambiguous_task_id": 409,
    "forbidden": 403,
    "gone": 410,
    "idempotency_key_reused": 422,
    "in_use": 409,
    "internal_error": 500,
    "invalid_client": 401,
    "invalid_grant": 401,
    "invalid_request": 400,
    "invalid_wait": 400,
    "key_missing": 422,
    "malformed_json": 400,
    "malformed_request": 400,
    "method_not_allowed": 405,
    "missing_or_invalid_bearer": 401,
    "missing_or_invalid_bootstrap": 401,
    "no_worker": 503,
    "not_eligible": 409,
    "not_found": 404,
    "not_held": 409,
    "not_registered": 409,
    "payload_too_large": 413,
    "plan_conflict": 409,
    "queue_full": 429,
    "too_many_failures": 429,
    "unavailable": 503,
    "unknown_method": 404,
    "unknown_service": 404,
    "unsupported_grant_type": 400,
    "unsupported_media_type": 415,
    "validation_error": 422,
    "version_conflict": 409,
    "worker_forbidden": 403,
    "worker_id_collision": 500,
    "worker_id_mismatch": 400,
    "worker_superseded": 409,
    "wrong_state": 409,
}


@dataclass(frozen=True, slots=True)
class Refused:
    """Why something did not happen. `extra` holds members that the envelope adds to its three fixed ones."""

    code: str
    detail: str
    task_id: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
