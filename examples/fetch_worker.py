"""A service worker that fetches pages: many at once in one event loop, each with a time limit.

    HALL_SERVICE_SECRET=... python examples/fetch_worker.py --allow https://example.org/docs/

and then, from another shell, `hall call fetch/page '{"url": "https://example.org/docs/index.html"}'`. It fetches what
lies below an allowed address and nothing else, and follows no redirects, so that nobody can reach other machines
through it. The address of the hall comes from HALL_SERVER (default http://127.0.0.1:8400).
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import posixpath
import sys
from typing import Any
from urllib.parse import unquote, urlsplit

import httpx

from hiringhall_worker import Call, Fail, HallError, ServiceWorker

LONGEST_SECONDS = 60.0
MOST_BYTES = 512 * 1024
PORTS = {"http": 80, "https": 443}

worker = ServiceWorker(service="fetch", concurrency=50)
allowed: list[tuple[str, str, int, str]] = []


@worker.method("page")
async def page(url: str, call: Call, timeout_seconds: float = 10.0) -> dict[str, Any]:
    """Fetch one page: its status, type and text."""
    if not is_allowed(url):
        raise Fail("this address is not among those that may be fetched")
    seconds = min(max(timeout_seconds, 0.1), LONGEST_SECONDS)
    try:
        async with asyncio.timeout(seconds):
            return await fetched(url, call)
    except TimeoutError:
        raise Fail(f"no answer within {seconds:g} s") from None
    except httpx.HTTPError as error:
        raise Fail(f"cannot be fetched: {error or type(error).__name__}") from None


async def fetched(url: str, call: Call) -> dict[str, Any]:
    """The page, and feedback on how much of it is here."""
    async with (
        httpx.AsyncClient(follow_redirects=False, trust_env=False, timeout=None) as client,
        client.stream("GET", url) as response,
    ):
        size = int(response.headers.get("content-length", 0))
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > MOST_BYTES:
                raise Fail(f"the page has more than {MOST_BYTES} bytes")
            if size:
                call.progress(min(100.0, 100 * len(body) / size), f"{len(body)} bytes")
        text = body.decode(response.encoding or "utf-8", "replace")
    return {
        "url": url,
        "status": response.status_code,
        "type": response.headers.get("content-type", ""),
        "location": response.headers.get("location"),
        "text": text,
    }


def is_allowed(url: str) -> bool:
    """Whether an address lies below one that was allowed: same scheme, host and port, and a path below its path."""
    try:
        scheme, host, port, path = place(url)
    except ValueError:
        return False
    return any((scheme, host, port) == (s, h, p) and path.startswith(below) for s, h, p, below in allowed)


def place(url: str) -> tuple[str, str, int, str]:
    """Scheme, host, port and path of an address, each in its one form; ValueError if it is none for fetching."""
    if any(character <= " " or character == "\\" for character in url):
        raise ValueError("no spaces, control characters or backslashes in an address")
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname or parts.username is not None:
        raise ValueError("an address begins with http:// or https:// and a host, and has no user name")
    path = unquote(parts.path or "/")
    clean = posixpath.normpath(path)
    if clean.rstrip("/") != path.rstrip("/") or "%" in path:
        raise ValueError("no detours in the path")
    return parts.scheme, parts.hostname.lower(), parts.port or PORTS[parts.scheme], path


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    arguments = argparse.ArgumentParser(description="Fetch pages for those who call fetch/page.")
    arguments.add_argument("--allow", metavar="URL", action="append", required=True, help="fetch what lies below it")
    try:
        for url in arguments.parse_args().allow:
            scheme, host, port, path = place(url)
            allowed.append((scheme, host, port, path if path.endswith("/") else path + "/"))
        worker.run()
    except (HallError, ValueError) as error:
        sys.stderr.write(f"fetch_worker: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
