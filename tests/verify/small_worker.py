"""Worker programs of a few lines, good and bad ones, for tests of the player."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import yaml

from hiringhall.verify.cases import Case
from hiringhall.verify.player import Player
from hiringhall.verify.result import Result

HEAD = """
import http.client, json, os, socket, subprocess, sys, time
host, port = os.environ["HALL_SERVER"].removeprefix("http://").split(":")
def ask(path, token, **members):
    connection = http.client.HTTPConnection(host, int(port))
    connection.request("POST", path, json.dumps(members), {"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    body = answer.read()
    return answer.status, json.loads(body) if body else None
def register():
    return ask("/workers/register", os.environ["HALL_BOOTSTRAP_TOKEN"], hostname="x")[1]
def claim(me):
    return ask("/tasks/claim", me["token"], worker_id=me["worker_id"], plan_id=os.environ["HALL_PLAN"])
"""
USUAL = """
name: small
sentence: "A sentence of the protocol."
source: "The protocol"
level: core
feature: claim
protocol: plans
"""


def small_case(text: str) -> Case:
    """A case of these members."""
    members: dict[str, Any] = yaml.safe_load(USUAL + textwrap.dedent(text))
    return msgspec.convert(members, Case)


def play(text: str, program: str, patience: float = 1.0) -> Result:
    """How a program of these lines fares in a case of these members."""
    command = [sys.executable, "-S", "-E", "-c", HEAD + textwrap.dedent(program)]
    return asyncio.run(Player(small_case(text), command, patience).play())


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
