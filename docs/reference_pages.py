"""The pages of reference that are made from the code's own lists: settings, errors, commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import typer

from hiringhall.cli.main import app
from hiringhall.config import SETTINGS, Setting
from hiringhall.domain.refusals import CODES

KINDS: Final[dict[type, str]] = {str: "text", int: "whole number", float: "number", bool: "true or false"}

A_LOT: Final = 1e6
"""Upper limits from here on are not worth a word."""
SHARED: Final = ("--server", "--token", "--data")
"""Options of every command that speaks to a server."""

ERRORS: Final[dict[str, tuple[str, str]]] = {
    "already_finished": (
        "The call has an outcome, so that it cannot be taken back.",
        "`outcome` is that outcome.",
    ),
    "already_locked": (
        "Another worker has locked this call.",
        "Skip the message and go on with the next: the call is in good hands.",
    ),
    "ambiguous_task_id": (
        "Several plans have a task of this id, and this worker was handed none of them under this version.",
        "Name `plan_id` in the request; on the command line say `PLAN/TASK`. The detail names the plans.",
    ),
    "forbidden": (
        "The token is known, but opens something else.",
        "Use the operator's token for `/admin`, the operator's or the metrics token for `/metrics`.",
    ),
    "gone": (
        "The call was finished, cancelled, or its deadline has passed.",
        "Skip the message, or drop the answer: nobody waits for it any more.",
    ),
    "idempotency_key_reused": (
        "The same `Idempotency-Key` came with another body before.",
        "Make a new key for each request; repeat a key only with the very same body.",
    ),
    "in_use": (
        "The plan has tasks that workers hold, or the service has open calls.",
        "Wait for them, or say `?force=true`: their workers are told to stop, and calls are cancelled.",
    ),
    "internal_error": (
        "A bug in the hall. Nothing is known about the outcome.",
        "Repeat the request as after a lost answer, and report `correlation_id`, which the server's log explains.",
    ),
    "invalid_client": (
        "The service or client is not known, or the secret is not its.",
        "Give it the secret that `hall service add` or `hall client add` printed; `--secret` sets another.",
    ),
    "invalid_grant": (
        "The refresh token is not known, was used before, or its login has ended.",
        "Log in again with the secret. Use each refresh token once, and keep the newest.",
    ),
    "invalid_request": (
        "A field of the login is missing, or the body is neither a form nor a JSON object.",
        "The detail names the field.",
    ),
    "invalid_wait": ("`wait` is negative or not a number.", "Send a number of seconds; more than 55 counts as 55."),
    "key_missing": (
        "Settings of a service are stored only encrypted, and this server has no key, or not the one they need.",
        "Set the same `HALL_KEY` or `HALL_KEY_FILE` on every server: `head -c 32 /dev/urandom | base64` makes one.",
    ),
    "malformed_json": (
        "The body is not UTF-8, not JSON, or nested more than 100 levels deep.",
        "The detail names the place. An empty body is malformed too: every `POST` of a worker has one.",
    ),
    "malformed_request": (
        "The request cannot be read as HTTP, or its path is not percent-encoded UTF-8.",
        "Percent-encode each identifier in a path by itself, a slash in it as `%2F`.",
    ),
    "method_not_allowed": ("The path is known, but not with this method.", "The header `Allow` lists the methods."),
    "missing_or_invalid_bearer": (
        "There is no bearer token, or it opens nothing here.",
        "Send `Authorization: Bearer …`. A worker ends, so that its supervisor starts it with a mended configuration.",
    ),
    "missing_or_invalid_bootstrap": (
        "Registering needs the bootstrap token, and this is not it.",
        "Give the worker `HALL_BOOTSTRAP_TOKEN` as the server has it, or what stands in its `server.json`.",
    ),
    "no_worker": (
        "Nobody who could do the call is there: a broadcast, or a call that said `\"if_no_worker\": \"fail\"`.",
        "Start a worker, look at `requires`, or let the call wait in the queue.",
    ),
    "not_eligible": (
        "This worker may not lock the call: it has said goodbye, or does not fit what the call requires.",
        "Skip the message. A worker that starts anew registers again.",
    ),
    "not_found": ("There is no such path, plan, task, call or worker.", "The detail says where a list of them is."),
    "not_held": (
        "The worker does not hold this call any more, or never did: its lease ended, and another worker has it.",
        "Log it and drop the answer; that of the other worker counts. `hall explain` tells why it was taken back.",
    ),
    "not_registered": (
        "No worker of this id is registered with the service.",
        "Send `POST /worker/registration` first; a worker does so whenever its process starts.",
    ),
    "payload_too_large": (
        "The body is larger than its route allows.",
        "1 MiB for workers and clients, 64 MiB for a plan file. Keep large inputs elsewhere and name them in the task.",
    ),
    "plan_conflict": (
        "The plan file would change tasks that are held or finished, or remove tasks that others depend on.",
        "`tasks` names them. Give changed tasks new ids, or reset the finished ones first.",
    ),
    "too_many_failures": (
        "Ten wrong secrets for this service or client came from this address within a minute.",
        "Wait for `Retry-After` seconds, and mend the secret. Behind a proxy set `HALL_TRUSTED_PROXIES`.",
    ),
    "queue_full": (
        "As many calls of this service wait for workers as may.",
        "Try again after `Retry-After` seconds; start more workers, or raise `HALL_QUEUE_LIMIT`.",
    ),
    "unavailable": (
        "The database does not answer, too many requests wait for it, or the server is ending.",
        "Repeat it after `Retry-After` seconds, a settle with the same `Idempotency-Key`: it may be stored.",
    ),
    "unsupported_grant_type": (
        "`grant_type` is none that the hall knows.",
        "Send `client_credentials` or `refresh_token`.",
    ),
    "unknown_method": (
        "The service has workers, and none of them ever registered this method.",
        "`nearest` names methods that are spelled alike; `GET /client/methods` lists all.",
    ),
    "unknown_service": (
        "There is no service of this name.",
        "Look at the part of `method` before the slash; an operator makes services with `hall service add`.",
    ),
    "unsupported_media_type": ("The body is a form with parts.", "Send JSON; its `Content-Type` does not matter."),
    "validation_error": (
        "The body or the query was understood, but a value in it cannot be.",
        "The detail names the field and the reason. For a plan file `problems` lists everything that is wrong with it.",
    ),
    "version_conflict": (
        "The task is no longer in the worker's hands under this version.",
        "Look at `actual_version`, `actual_status` and the header `Hall-Finished-By`; log it and claim the next task.",
    ),
    "worker_forbidden": (
        "The token belongs to another worker than the one that the request names.",
        "Use the id that came with the token.",
    ),
    "worker_id_collision": ("The id made for the worker is taken, which is nearly impossible.", "Register again."),
    "worker_id_mismatch": ("`worker_id` in the body is not the one in the path.", "Send the same id in both."),
    "worker_superseded": (
        "Another process has registered under this worker's id since this one logged in.",
        "End this process. Give each process an id of its own, or let only one of them run.",
    ),
    "wrong_state": (
        "The state of the task does not allow what the operator wants.",
        "The detail names the state; see the [lifecycle](lifecycle.md). Some verbs take `?force` or `?cascade`.",
    ),
}  # fmt: skip
"""What each code of a refusal means, and how to mend it."""


def settings_page() -> str:
    """Every setting of the server."""
    lines = [
        "# Settings of the server",
        "",
        "Made from `hiringhall/config.py` by `python docs/generate.py`.",
        "",
        "A setting is looked for in this order: the flag of `hall serve`, the environment variable, `hall.toml` in the",
        "working directory, `hall.toml` in the data folder. In `hall.toml` its name is that of the flag with",
        "underscores: `visibility_timeout = 90`. Durations are seconds; fractions are allowed. A value that cannot be,",
        "or a name in `hall.toml` that is no setting, ends the start with one line that says which and why. The tables",
        "`services` and `clients` of the file declare [services and clients](services.md#in-halltoml).",
        "",
        "| variable | flag | value | default | meaning |",
        "| --- | --- | --- | --- | --- |",
        *(_setting_row(setting) for setting in SETTINGS),
        "",
        "Settings marked *secret* are better given as variables or in a file than as flags, which other users of the",
        "machine can see. The [guide to operating](operating.md) tells when to change which, the [notes on",
        "security](security.md) what the tokens open.",
        "",
        "The client commands read `HALL_SERVER`, `HALL_ADMIN_TOKEN`, `HALL_BOOTSTRAP_TOKEN`, `HALL_WORKER_TOKEN` and",
        "`HALL_DATA`; on the machine of the server they find what the server made in `server.json` of its data folder.",
    ]
    return "\n".join(lines) + "\n"


def _setting_row(setting: Setting) -> str:
    default = "" if setting.default in (None, "") else f"`{_plain(setting.default)}`"
    meaning = setting.description + "."
    if setting.aliases:
        meaning += " Also read from " + ", ".join(f"`{alias}`" for alias in setting.aliases) + "."
    if setting.secret:
        meaning += " *Secret.*"
    return f"| `{setting.variable}` | `{setting.flag}` | {_value(setting)} | {default} | {meaning} |"


def _value(setting: Setting) -> str:
    kind = KINDS[setting.kind]
    if setting.unit:
        kind = setting.unit
    if setting.least is None or setting.most is None:
        return kind
    if setting.most >= A_LOT:
        return f"{kind}, at least {setting.least:.12g}"
    return f"{kind}, {setting.least:.12g} to {setting.most:.12g}"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def errors_page() -> str:
    """Every code of a refusal."""
    lines = [
        "# Errors",
        "",
        "Made from the list in `hiringhall/domain/refusals.py` by `python docs/generate.py`. The list is closed: an",
        "answer that is not 2xx carries one of these codes.",
        "",
        "```json",
        '{"error_code": "version_conflict", "detail": "for people", "task_id": "T-001"}',
        "```",
        "",
        "`task_id` is null where no task is meant. Some codes bring more members: `version_conflict` the expected and",
        "the actual version and the actual status, `validation_error` of a plan file its `problems` and `warnings`,",
        "`plan_conflict` its `tasks`, `unknown_method` the `nearest` names, `already_finished` the `outcome`,",
        "`internal_error` a `correlation_id`. Branch on `error_code`, never on `detail`.",
        "Under `/whilly` the member is called `error`, as the published clients expect it.",
        "",
        "| code | HTTP | means | mend it |",
        "| --- | --- | --- | --- |",
        *(f"| `{code}` | {status} | {ERRORS[code][0]} | {ERRORS[code][1]} |" for code, status in sorted(CODES.items())),
        "",
        "## Which to repeat",
        "",
        "| answer | repeat? |",
        "| --- | --- |",
        "| none, 5xx, 429 | yes, with back-off up to 60 s and the same `Idempotency-Key`; obey `Retry-After` |",
        "| 401, 403 | no: end, so that a supervisor starts the worker with a mended configuration |",
        "| 409 on complete, fail, release | no: somebody else owns the task, or it is finished; go on with the next |",
        "| other 4xx | no: the request is wrong |",
    ]
    return "\n".join(lines) + "\n"


def commands() -> Iterator[tuple[str, Any]]:
    """Every command of the program, by the words with which it is called."""

    def walk(command: Any, words: str) -> Iterator[tuple[str, Any]]:
        children = getattr(command, "commands", None)
        if children is None:
            yield words, command
            return
        for name, child in children.items():
            yield from walk(child, f"{words} {name}")

    return walk(typer.main.get_command(app), "hall")


def commands_page() -> str:
    """Every command of the program with its options."""
    lines = [
        "# The program `hall`",
        "",
        "Made from the program itself by `python docs/generate.py`; `hall COMMAND --help` says the same.",
        "",
        "Exit status: 0 it is done, 1 it is not (one line on standard error says why), 2 the command was given",
        "wrongly, 130 it was interrupted.",
        "",
        "Commands that speak to a server find it, and the operator's token, in `server.json` of the data folder on the",
        "same machine. From elsewhere set `HALL_SERVER` and `HALL_ADMIN_TOKEN`, or use the options that they share:",
        "",
    ]
    everywhere = {option.opts[0]: option for _, command in commands() for option in command.params}
    lines += ["| option | meaning |", "| --- | --- |", *(_option_row(everywhere[name]) for name in SHARED), ""]
    for words, command in commands():
        lines += [f"## `{_usage(words, command)}`", "", _prose(command.help or ""), ""]
        if words == "hall serve":
            lines += ["Its options are the [settings](settings.md).", ""]
            continue
        options = [option for option in command.params if option.param_type_name == "option"]
        rows = [_option_row(option) for option in options if option.opts[0] not in SHARED]
        if rows:
            lines += ["| option | meaning |", "| --- | --- |", *rows, ""]
    return "\n".join(lines).rstrip() + "\n"


def _usage(words: str, command: Any) -> str:
    arguments = [option.metavar for option in command.params if option.param_type_name == "argument"]
    return " ".join([words, *arguments])


def _prose(text: str) -> str:
    return re.sub(r" *\n *", "\n", text.strip())


def _option_row(option: Any) -> str:
    metavar = f" {option.metavar}" if option.metavar else ""
    default = option.default
    shown = "" if default in (None, False, "") or callable(default) else f" Default: {_plain(default)}."
    return f"| `{option.opts[0]}{metavar}` | {option.help.strip()}{shown} |"
