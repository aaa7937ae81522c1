"""A service worker that makes a sales report out of orders and tells how far it is.

    HALL_SERVICE_SECRET=... python examples/report_worker.py

and then, from another shell, `hall call reports/sales @orders.json`, where the file holds
`{"title": "May", "orders": [{"customer": "Ada", "article": "tea", "amount": 12.50}]}`.
The address comes from HALL_SERVER (default http://127.0.0.1:8400).
"""

from __future__ import annotations

import html
import logging
import sys
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from hiringhall_worker import Call, Fail, HallError, ServiceWorker

MOST_ORDERS = 100_000

# Amounts are money: they are read digit for digit, never as binary fractions.
worker = ServiceWorker(service="reports", concurrency=4, parse_float=Decimal)


@dataclass
class Order:
    """One order, as the client sends it."""

    customer: str
    amount: Decimal
    article: str = ""


@dataclass
class Report:
    """The finished report."""

    title: str
    orders: int
    total: Decimal
    customers: dict[str, Decimal]
    page: str


@worker.method("sales")
def sales(call: Call, title: str, orders: list[Order]) -> Report:
    """Add up the orders by customer, biggest first, and lay them out as an HTML page."""
    if not orders:
        raise Fail("there are no orders to report on")
    if len(orders) > MOST_ORDERS:
        raise Fail(f"{len(orders)} orders are too many for one report: {MOST_ORDERS} fit")
    sums: dict[str, Decimal] = defaultdict(Decimal)
    step = max(1, len(orders) // 20)
    for number, order in enumerate(orders):
        if number % step == 0:
            call.progress(90 * number / len(orders), f"{number} of {len(orders)} orders")
            if call.cancelled.is_set():
                raise Fail(f"cancelled after {number} orders")
        sums[order.customer] += order.amount
    customers = dict(sorted(sums.items(), key=lambda one: (-one[1], one[0])))
    call.progress(90, "laying out the page")
    total = sum(customers.values(), Decimal(0))
    page = laid_out(title, customers.items(), total)
    call.progress(100, "done")
    return Report(title, len(orders), total, customers, page)


def laid_out(title: str, rows: Iterable[tuple[str, Decimal]], total: Decimal) -> str:
    """The report as a page."""
    lines = "".join(f"<tr><td>{html.escape(name)}</td><td>{amount:,}</td></tr>" for name, amount in rows)
    heading = html.escape(title)
    return (
        f"<!doctype html><title>{heading}</title><h1>{heading}</h1>"
        f"<table>{lines}<tr><th>Total</th><th>{total:,}</th></tr></table>"
    )


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        worker.run()
    except (HallError, ValueError) as error:
        sys.stderr.write(f"report_worker: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
