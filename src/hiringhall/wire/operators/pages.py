"""What everybody may see: whether the hall is ready, and a plain page that tells how to look further."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from hiringhall import __version__
from hiringhall.operations.hall import Hall
from hiringhall.operations.progress import COUNTED, progress_of
from hiringhall.ports.questions import Alive, ListPlans, PlanView
from hiringhall.ports.store import StoreUnavailable
from hiringhall.wire.operators.answers import NO_STORE, Stop, json_answer

PLANS_COUNTED_MAX: Final = 1_000
PAGE_HEADERS: Final = {
    **NO_STORE,
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Hiring Hall</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 42rem; margin: 3rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse }} td, th {{ padding: .1rem 1.5rem .1rem 0; text-align: left; font-weight: normal }}
td {{ text-align: right; font-variant-numeric: tabular-nums }} code {{ font-size: .95em }}
</style>
<h1>Hiring Hall</h1>
<p>Version {version}. {state}</p>
<table>
{rows}
</table>
<h2>Look further</h2>
<p>On the machine that the server runs on, the commands find it and its operator token by themselves:</p>
<pre><code>hall plan list
hall plan show PLAN --watch
hall explain PLAN/TASK
hall worker list</code></pre>
<p>From elsewhere, tell them where it is and what opens it:</p>
<pre><code>export HALL_SERVER={server}
export HALL_ADMIN_TOKEN=…</code></pre>
<p><a href="/openapi.json">openapi.json</a> describes every route.</p>
</html>
"""


async def ready(hall: Hall, _request: Request) -> Response:
    """Whether new connections are welcome here: not while the server ends, nor while the database is away."""
    if not hall.ready:
        raise Stop("unavailable", "the server is ending", headers={"retry-after": "1"})
    await hall.store.read(Alive())
    return json_answer({"status": "ready"})


async def status_page(hall: Hall, request: Request) -> Response:
    """Version, counts, and how to log in; no names, since it needs no token."""
    try:
        plans: list[PlanView] = await hall.store.read(ListPlans(limit=PLANS_COUNTED_MAX))
        state = "It is ready." if hall.ready else "It is ending."
        rows = _rows(plans)
    except StoreUnavailable:
        state, rows = "Its database does not answer at present.", ""
    server = f"{request.url.scheme}://{request.headers.get('host', 'HOST:PORT')}"
    page = PAGE.format(version=escape(__version__), state=escape(state), rows=rows, server=escape(server))
    return Response(page, 200, PAGE_HEADERS, "text/html; charset=utf-8")


def _rows(plans: list[PlanView]) -> str:
    sums: Counter[str] = Counter()
    for plan in plans:
        sums.update(progress_of(plan).counts)
    more = " or more" if len(plans) == PLANS_COUNTED_MAX else ""
    rows = [("plans", f"{len(plans)}{more}"), *((f"tasks {state}", str(sums[state])) for state in COUNTED)]
    return "\n".join(f"<tr><th>{escape(name)}<td>{escape(value)}" for name, value in rows)
