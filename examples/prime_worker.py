"""A service worker for work that keeps a processor busy: its method runs in processes, one for each processor.

    HALL_SERVICE_SECRET=... python examples/prime_worker.py

and then, from another shell, `hall call primes/count '{"below": 1000000}'`. The method can be cancelled, and if its
process dies, only that one call fails. The address comes from HALL_SERVER (default http://127.0.0.1:8400).
"""

from __future__ import annotations

import logging
import math
import os
import sys

from hiringhall_worker import Call, Fail, HallError, ServiceWorker

HIGHEST = 1_000_000_000
BLOCK = 50_000

worker = ServiceWorker(service="primes", concurrency=os.cpu_count() or 1)


@worker.method("count", in_process=True)
def count(call: Call, below: int, start: int = 2) -> int:
    """How many primes there are from `start` up to, but not including, `below`."""
    if not 2 <= start <= below <= HIGHEST:
        raise Fail(f"start and below must be in order, from 2 to {HIGHEST}")
    small = primes_below(math.isqrt(below) + 1)
    found = 0
    for low in range(start, below, BLOCK):
        if call.cancelled.is_set():
            raise Fail(f"cancelled at {low}")
        found += in_block(low, min(low + BLOCK, below), small)
        call.progress(100 * (min(low + BLOCK, below) - start) / (below - start), f"{found} primes")
    return found


def primes_below(limit: int) -> list[int]:
    """The primes below a small limit, by the sieve of Eratosthenes."""
    sieve = bytearray([1]) * max(limit, 2)
    sieve[:2] = b"\0\0"
    for number in range(2, math.isqrt(limit) + 1):
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, len(sieve), number)))
    return [number for number in range(2, limit) if sieve[number]]


def in_block(low: int, high: int, small: list[int]) -> int:
    """How many primes there are from `low` up to `high`, which is not included."""
    sieve = bytearray([1]) * (high - low)
    for prime in small:
        first = max(prime * prime, (low + prime - 1) // prime * prime)
        if first < high:
            sieve[first - low :: prime] = bytes(len(range(first - low, high - low, prime)))
    return sum(sieve)


def main() -> int:
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        worker.run()
    except (HallError, ValueError) as error:
        sys.stderr.write(f"prime_worker: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
