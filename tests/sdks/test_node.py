"""The Node.js SDK: its own tests, its package in a clean folder with the examples of its README, and all the cases."""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from conformance.record import passed
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.hall_client import HallClient, fine
from tests.hall_process import BOOTSTRAP_TOKEN, Database, HallProcess
from tests.missing import missing
from tests.service_worker import SECRET, make_service
from tests.waiting import until

ROOT = Path(__file__).parents[2]
SDK = ROOT / "sdks/node"
OLDEST = 20
# A block of the README is a program, and its first line the program's name.
PROGRAM = re.compile(r"^```js\n(// (\S+\.mjs)\n.*?)^```$", re.MULTILINE | re.DOTALL)
CLIENT_SECRET = "secret-of-the-client"
AT_ONCE = "16"


def run(*command: str | Path, where: Path = SDK, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself, in surroundings without settings of a hall but these."""
    return subprocess.run(
        list(map(str, command)),
        cwd=where,
        env=surroundings(variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def surroundings(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment without settings of a hall, and these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HALL_", "NODE_"))}
    return {**kept, **variables}


@pytest.fixture(scope="module")
def node() -> str:
    """The program `node`, new enough, with `npm` beside it."""
    found = shutil.which("node")
    if found is None or shutil.which("npm") is None:
        missing(f"Node.js {OLDEST} with npm", "install it from your distribution or from its makers")
    version = run(found, "--version").stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < OLDEST:
        missing(f"Node.js {OLDEST} with npm", f"there is {version}; install a newer one")
    return found


@pytest.fixture(scope="module")
def folder(node: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean folder in which the packed SDK is installed, without a network, and the programs of its README lie."""
    clean = tmp_path_factory.mktemp("node")
    packed = run("npm", "pack", "--offline", "--pack-destination", clean)
    assert packed.returncode == 0, packed.stderr
    tarball = clean / packed.stdout.split()[-1]
    (clean / "package.json").write_text('{"private": true}\n')
    installed = run("npm", "install", "--offline", "--no-audit", "--no-fund", f"./{tarball.name}", where=clean)
    assert installed.returncode == 0, installed.stderr
    for text, name in PROGRAM.findall((SDK / "README.md").read_text(encoding="utf-8")):
        (clean / name).write_text(text, encoding="utf-8")
    return clean


@pytest.fixture(scope="module")
def hall(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HallProcess]:
    """A real hall with the service `math` and a client of it."""
    process = HallProcess(Database("sqlite", tmp_path_factory.mktemp("hall"))).start()
    with HallClient(process.url) as operator:
        make_service(operator, "math")
        fine(operator.call("PUT", "/admin/clients/shop", {"secret": CLIENT_SECRET, "allow": ["math/*"]}))
    yield process
    process.close()


class Program:
    """A program of the README that runs until a signal."""

    def __init__(self, node: str, folder: Path, name: str, **variables: str) -> None:
        self.output = folder / f"{name}.output"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [node, name],
                cwd=folder,
                env=surroundings(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()

    def interrupt(self) -> None:
        """Ctrl-C: it ends by itself, well, and within two seconds."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(5.0) == 0, self.output.read_text()
        assert time.monotonic() - began < 2.0


def offered(operator: HallClient, method: str) -> bool:
    """Whether a live worker offers a method."""
    listed = fine(operator.call("GET", "/client/methods"))["methods"]
    return any(one["method"] == method and one["live_workers"] for one in listed)


def called(operator: HallClient, method: str, params: Any) -> Any:
    """The outcome of a call."""
    return fine(operator.call("POST", "/client/requests", {"method": method, "params": params, "wait": 30}))


def test_its_own_tests_pass(node: str) -> None:
    """The tests of the SDK itself pass, none of them skipped."""
    tests = sorted((SDK / "test").glob("*.test.js"))
    assert tests
    ended = run(node, "--test", *tests)
    assert ended.returncode == 0, ended.stdout[-8000:]
    assert re.search(r"^# skipped 0$", ended.stdout, re.MULTILINE), ended.stdout[-2000:]


def test_the_package_holds_what_it_needs_and_nothing_else(folder: Path) -> None:
    """The package has no dependencies, and holds its modules, its types, its README and its licence."""
    listed = run("npm", "ls", "--all", "--parseable", where=folder).stdout.split()
    assert len(listed) == 2, listed
    package = folder / "node_modules/hiringhall-worker"
    assert {path.name for path in package.iterdir()} == {"src", "package.json", "README.md", "LICENSE"}
    assert (package / "src/index.d.ts").exists()


def test_the_service_worker_and_the_client_of_the_readme(node: str, folder: Path, hall: HallProcess) -> None:
    """Copied from the README, a service worker and a client work with a real hall; Ctrl-C ends the worker in time."""
    worker = {"HALL_SERVER": hall.url, "HALL_SERVICE_SECRET": SECRET}
    client = {"HALL_SERVER": hall.url, "HALL_CLIENT_ID": "shop", "HALL_CLIENT_SECRET": CLIENT_SECRET}
    with HallClient(hall.url) as operator, Program(node, folder, "service.mjs", **worker) as service:
        until(lambda: offered(operator, "math/add"), waiting_for="the worker")
        ended = run(node, "client.mjs", where=folder, **client)
        assert ended.returncode == 0, ended.stderr
        first, second, third = ended.stdout.splitlines()
        assert first == "3"
        assert second.endswith(" 7")
        assert third == "error math/add: parameter 'b' is missing; it takes a: number, b: number"
        service.interrupt()


def test_the_worker_of_the_readme_that_tells_its_progress(node: str, folder: Path, hall: HallProcess) -> None:
    """Copied from the README, a client hears what a method says, in order and to its end."""
    worker = {"HALL_SERVER": hall.url, "HALL_SERVICE_SECRET": SECRET}
    client = {"HALL_SERVER": hall.url, "HALL_CLIENT_ID": "shop", "HALL_CLIENT_SECRET": CLIENT_SECRET}
    with HallClient(hall.url) as operator, Program(node, folder, "progress.mjs", **worker) as service:
        until(lambda: offered(operator, "math/add"), waiting_for="the worker")
        ended = run(node, "client.mjs", where=folder, **client)
        assert ended.returncode == 0, ended.stderr
        assert ended.stdout.splitlines()[1:6] == [f"{percent} adding" for percent in range(0, 100, 20)]
        assert called(operator, "math/add", {"a": 2_000_000, "b": 1})["error_text"] == "that is too much for me"
        service.interrupt()


def test_the_other_programs_of_the_readme(node: str, folder: Path, hall: HallProcess) -> None:
    """Copied from the README, work in a thread and exact numbers do what they say."""
    worker = {"HALL_SERVER": hall.url, "HALL_SERVICE_SECRET": SECRET}
    client = {"HALL_SERVER": hall.url, "HALL_CLIENT_ID": "shop", "HALL_CLIENT_SECRET": CLIENT_SECRET}
    with HallClient(hall.url) as operator, Program(node, folder, "busy.mjs", **worker) as service:
        until(lambda: offered(operator, "math/fibonacci"), waiting_for="the worker")
        assert called(operator, "math/fibonacci", {"n": 20})["result"] == 6765
        service.interrupt()
    ended = run(node, "exact.mjs", where=folder, **client)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "cancelled\n"


@pytest.mark.parametrize("name", ["plan.mjs", "build.mjs"])
def test_the_plan_workers_of_the_readme(name: str, node: str, folder: Path, hall: HallProcess) -> None:
    """Copied from the README, plan workers finish a plan of a real hall; Ctrl-C ends them in time."""
    with HallClient(hall.url) as operator:
        fine(operator.call("DELETE", "/admin/plans/demo")) if name == "build.mjs" else None
        operator.apply("demo", {"id": "T-001", "description": "first"}, {"id": "T-002", "dependencies": ["T-001"]})
        with Program(node, folder, name, HALL_SERVER=hall.url, HALL_BOOTSTRAP_TOKEN=BOOTSTRAP_TOKEN) as worker:
            until(lambda: operator.is_finished("demo"), waiting_for="the plan")
            worker.interrupt()
    if name == "plan.mjs":
        assert worker.output.read_text().startswith("T-001 first\n")


def test_a_certificate_is_verified_against_the_authorities_that_are_given(node: str, folder: Path) -> None:
    """Over https an answer counts if its certificate is known; an unknown one is an error, not an answer."""
    certificate, key = certified("localhost")
    (folder / "certificate.pem").write_bytes(certificate)
    (folder / "key.pem").write_bytes(key)
    (folder / "https.mjs").write_text(HTTPS, encoding="utf-8")
    ended = run(node, "https.mjs", where=folder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "3\nUnreachable\n"


HTTPS = """
import { readFileSync } from "node:fs";
import { createServer } from "node:https";
import { Client } from "hiringhall-worker";

const ca = readFileSync("certificate.pem");
const server = createServer({ key: readFileSync("key.pem"), cert: ca }, (request, response) => {
  request.resume();
  response.end('{"request_id":"r-1","status":"success","result":3}');
});
server.listen(0, async () => {
  const at = { server: `https://localhost:${server.address().port}`, token: "t", patienceSeconds: 0 };
  console.log(await new Client({ ...at, tls: { ca } }).call("math/add"));
  await new Client(at).call("math/add").catch((error) => console.log(error.name));
  server.closeAllConnections();
  server.close();
});
"""


def certified(name: str) -> tuple[bytes, bytes]:
    """A certificate for a name, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(dt.datetime(2020, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(2120, 1, 1, tzinfo=dt.UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, unencrypted = serialization.Encoding.PEM, serialization.NoEncryption()
    return certificate.public_bytes(pem), key.private_bytes(pem, serialization.PrivateFormat.PKCS8, unencrypted)


@pytest.mark.parametrize("protocol", ["services", "plans"])
def test_the_verification_workers_pass_every_case(protocol: str, node: str, tmp_path: Path) -> None:
    """The verification workers of the SDK pass all cases of both protocols."""
    junit = tmp_path / "junit.xml"
    verify = (sys.executable, "-m", "hiringhall.cli.main", "verify", "worker", "--protocol", protocol)
    worker = ROOT / f"conformance/workers/node_{protocol}.js"
    ended = run(*verify, "--jobs", AT_ONCE, "--junit", junit, "--", node, worker, where=ROOT)
    assert ended.returncode == 0, ended.stdout
    recorded = (ROOT / "conformance/results/node.txt").read_text().split()
    assert passed([junit]) == [title for title in recorded if title.startswith(protocol)], (
        "record it: python conformance/record.py node REPORT..."
    )
