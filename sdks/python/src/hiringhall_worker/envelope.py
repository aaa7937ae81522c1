"""Refusals of the hall, told in one line for people."""

from __future__ import annotations

from . import wire

SUPERSEDED = "worker_superseded"
NOT_REGISTERED = "not_registered"


def answer_code(answer: wire.Answer) -> str:
    """The hall's `error_code`, or OAuth's `error`; empty if the answer has none."""
    members = answer.members()
    code = members.get("error_code") or members.get("error")
    return code if isinstance(code, str) else ""


def explain(answer: wire.Answer) -> str:
    """An answer in one line for people: status, code and detail of the envelope."""
    code, detail = answer_code(answer), answer.members().get("detail")
    words = [f"the server answered {answer.status}"]
    if code:
        words.append(one_line(code))
    if isinstance(detail, str) and detail:
        words.append(f"({one_line(detail)})")
    if 300 <= answer.status < 400:
        words.append(f"(it points to {answer.header('location')}; redirects are not followed)")
    return " ".join(words)


def one_line(text: str) -> str:
    """A text of the server, made harmless for a log."""
    return wire.reportable(" ".join(text[:500].split()))
