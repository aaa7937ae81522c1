"""The Java SDK: its own tests, its jar in a clean folder with the examples of its README, and all the cases."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from conformance.record import passed

from hiringhall.verify.loading import load_cases
from tests.hall_client import HallClient, fine
from tests.hall_process import BOOTSTRAP_TOKEN, Database, HallProcess
from tests.missing import missing
from tests.service_worker import SECRET, make_service
from tests.waiting import until

ROOT = Path(__file__).parents[2]
SDK = ROOT / "sdks/java"
OLDEST = 17
JUNIT = Path(os.environ.get("JUNIT", "/usr/share/java"))
DEBIAN_MAVEN = Path("/usr/share/maven-repo")
# A program of the README stands below the name of its file.
PROGRAM = re.compile(r"^`(\w+\.java)`:\n\n```java\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# For processes that live for a second.
HASTY = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
CLIENT_SECRET = "secret-of-the-client"
AT_ONCE = "8"


def run(*command: str | Path, where: Path = SDK, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command that ends by itself, in surroundings without settings of a hall but these."""
    return subprocess.run(
        list(map(str, command)),
        cwd=where,
        env=surroundings(variables),
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def surroundings(variables: Mapping[str, str]) -> dict[str, str]:
    """The environment without settings of a hall, and these variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HALL_", "JAVA_", "JDK_"))}
    return {**kept, **variables}


@pytest.fixture(scope="module")
def java() -> str:
    """The program `java`, new enough, with the tools of a JDK beside it."""
    found = shutil.which("java")
    if found is None or shutil.which("javac") is None:
        missing(f"a JDK {OLDEST}", "install it: apt-get install openjdk-17-jdk-headless (Debian, Ubuntu)")
    version = run("javac", "-version").stdout
    if int(re.sub(r"\D*(\d+).*", r"\1", version, flags=re.DOTALL)) < OLDEST:
        missing(f"a JDK {OLDEST}", f"there is {version.strip()}; install a newer one")
    return found


@pytest.fixture(scope="module")
def jar(java: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The jar, as the script makes it without a warning of the compiler."""
    made = tmp_path_factory.mktemp("jar") / "hiringhall-worker.jar"
    built = run("sh", "build.sh", made, STRICT="1")
    assert built.returncode == 0, built.stderr
    return made


@pytest.fixture(scope="module")
def folder(jar: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean folder with the jar and the programs of the README."""
    clean = tmp_path_factory.mktemp("java")
    shutil.copy(jar, clean)
    for name, text in PROGRAM.findall((SDK / "README.md").read_text(encoding="utf-8")):
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


def program(java: str, name: str) -> list[str]:
    """How a program beside the jar is run, as the README says."""
    return [java, *HASTY, "-cp", "hiringhall-worker.jar", name]


class Worker:
    """A program of the README that runs until a signal."""

    def __init__(self, java: str, folder: Path, name: str, **variables: str) -> None:
        self.output = folder / f"{name}.output"
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                program(java, name),
                cwd=folder,
                env=surroundings(variables),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def __enter__(self) -> Worker:
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


def test_its_own_tests_pass(java: str) -> None:
    """The tests of the SDK itself pass, none of them skipped."""
    if not (JUNIT / "junit-platform-console.jar").exists():
        missing(
            "JUnit 5", "install it: apt-get install junit5 (Debian, Ubuntu), or name the folder of its jars in JUNIT"
        )
    ended = run("sh", "test.sh", STRICT="1")
    assert ended.returncode == 0, ended.stdout[-8000:] + ended.stderr[-2000:]
    counted = re.findall(r"(\d+) tests (found|skipped|successful)", ended.stdout)
    numbers = {word: int(number) for number, word in counted}
    assert numbers["skipped"] == 0
    assert numbers["successful"] == numbers["found"] > 100


def test_maven_makes_the_same_jar(jar: Path, tmp_path: Path) -> None:
    """Maven builds and tests it without a network, with Debian's packages; its jar holds the same classes."""
    if shutil.which("mvn") is None or not (DEBIAN_MAVEN / "org/apache/maven/surefire/surefire-junit-platform").exists():
        missing("Maven with Debian's plugins", "apt-get install maven-debian-helper libsurefire-java junit5")
    settings = ("--batch-mode", "--settings", "debian-settings.xml", f"-Dmaven.repo.local={tmp_path / 'repository'}")
    shutil.copytree(SDK, tmp_path / "java", ignore=shutil.ignore_patterns("build"))
    hasty = {"MAVEN_OPTS": " ".join(HASTY)}
    ended = run("mvn", *settings, "-Dtest=JsonTest", "package", where=tmp_path / "java", **hasty)
    assert ended.returncode == 0, ended.stdout[-4000:]
    assert re.search(r"Tests run: [1-9]\d*, Failures: 0, Errors: 0, Skipped: 0", ended.stdout)
    assert classes(tmp_path / "java/build/maven/hiringhall-worker.jar") == classes(jar)


def classes(jar: Path) -> set[str]:
    """The names of the classes in a jar. One that holds nothing but a comment is made or not, as a build likes."""
    listed = run("jar", "--list", "--file", jar).stdout.split()
    return {name for name in listed if name.endswith(".class") and not name.endswith("package-info.class")}


def test_it_needs_nothing_but_the_base_of_java(jar: Path) -> None:
    """The jar depends on the module java.base alone."""
    assert run("jdeps", "-summary", jar).stdout == "hiringhall.worker -> java.base\n"


def test_javadoc_has_no_warnings(java: str, tmp_path: Path) -> None:
    """Everything public is described, in Javadoc without a warning."""
    checked = ("-Xdoclint:all", "-Xdoclint/package:hiringhall.worker", "-Werror", "-quiet")
    source = ("--module-source-path", "hiringhall.worker=src/main/java", "--module", "hiringhall.worker")
    ended = run("javadoc", *checked, "-d", tmp_path, *source)
    assert (ended.returncode, ended.stdout + ended.stderr) == (0, "")
    assert not (tmp_path / "hiringhall.worker/hiringhall/worker/internal").exists()


def test_the_service_worker_and_the_client_of_the_readme(java: str, folder: Path, hall: HallProcess) -> None:
    """Copied from the README, a service worker and a client work with a real hall; Ctrl-C ends the worker in time."""
    worker = {"HALL_SERVER": hall.url, "HALL_SERVICE_SECRET": SECRET}
    client = {"HALL_SERVER": hall.url, "HALL_CLIENT_ID": "shop", "HALL_CLIENT_SECRET": CLIENT_SECRET}
    with HallClient(hall.url) as operator, Worker(java, folder, "MathWorker.java", **worker) as service:
        until(lambda: offered(operator, "math/add"), waiting_for="the worker")
        ended = run(*program(java, "Shop.java"), where=folder, **client)
        assert ended.returncode == 0, ended.stderr
        refused = "error math/add: parameter 'b' is missing; it takes a: integer, b: integer"
        assert ended.stdout.splitlines() == ["3", "7", "11", refused]
        service.interrupt()


def test_the_base_of_java_is_enough_to_run(java: str, jar: Path, hall: HallProcess, tmp_path: Path) -> None:
    """In a JVM of java.base alone a worker works, and says goodbye on SIGTERM, which then is its exit status."""
    text = dict(PROGRAM.findall((SDK / "README.md").read_text(encoding="utf-8")))["MathWorker.java"]
    (tmp_path / "MathWorker.java").write_text(text, encoding="utf-8")
    compiled = run("javac", "-cp", jar, "MathWorker.java", where=tmp_path)
    assert compiled.returncode == 0, compiled.stderr
    command = [java, *HASTY, "--limit-modules", "java.base", "-cp", f"{jar}:{tmp_path}", "MathWorker"]
    worker = surroundings({"HALL_SERVER": hall.url, "HALL_SERVICE_SECRET": SECRET})
    with HallClient(hall.url) as operator, subprocess.Popen(command, env=worker, stderr=subprocess.DEVNULL) as process:
        until(lambda: offered(operator, "math/add"), waiting_for="the worker")
        process.terminate()
        assert process.wait(5.0) == 128 + signal.SIGTERM
        assert not offered(operator, "math/add")


def test_certificates_are_verified(java: str, folder: Path) -> None:
    """Over https an answer counts if its certificate is known and names the host; another one is an error."""
    (folder / "Https.java").write_text(HTTPS, encoding="utf-8")
    keys = ("-genkeypair", "-alias", "hall", "-keyalg", "EC", "-dname", "CN=hall", "-ext", "SAN=dns:localhost")
    made = run("keytool", *keys, "-storepass", "secret", "-keystore", "keys.p12", where=folder)
    assert made.returncode == 0, made.stdout
    ended = run(*program(java, "Https.java"), where=folder)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["3", "3", "UnreachableException", "UnreachableException"]


HTTPS = """
import com.sun.net.httpserver.*;
import hiringhall.worker.*;
import java.io.FileInputStream;
import java.net.InetSocketAddress;
import java.security.KeyStore;
import java.time.Duration;
import javax.net.ssl.*;

public class Https {
    public static void main(String[] arguments) throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        keys.load(new FileInputStream("keys.p12"), "secret".toCharArray());
        var own = KeyManagerFactory.getInstance("PKIX");
        own.init(keys, "secret".toCharArray());
        var trusted = TrustManagerFactory.getInstance("PKIX");
        trusted.init(keys);
        SSLContext tls = SSLContext.getInstance("TLS");
        tls.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
        HttpsServer server = HttpsServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.setHttpsConfigurator(new HttpsConfigurator(tls));
        server.createContext("/", exchange -> {
            exchange.getRequestBody().readAllBytes();
            byte[] answer = "{\\"request_id\\":\\"r\\",\\"status\\":\\"success\\",\\"result\\":3}".getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.start();
        int port = server.getAddress().getPort();
        call("https://localhost:" + port, tls, 2);
        call("https://localhost:" + port, null, 1);
        call("https://127.0.0.1:" + port, tls, 1);
        server.stop(0);
    }

    private static void call(String server, SSLContext tls, int times) {
        var made = Client.builder().server(server).token("t").patience(Duration.ZERO).tls(tls);
        try (Client client = made.build()) {
            for (; times > 0; times--) {
                System.out.println(client.call("math/add", null));
            }
        } catch (HallException problem) {
            System.out.println(problem.getClass().getSimpleName());
        }
    }
}
"""


def test_the_plan_worker_of_the_readme(java: str, folder: Path, hall: HallProcess) -> None:
    """Copied from the README, a plan worker finishes a plan of a real hall; Ctrl-C ends it in time."""
    with HallClient(hall.url) as operator:
        operator.apply("demo", {"id": "T-001", "description": "first"}, {"id": "T-002", "dependencies": ["T-001"]})
        with Worker(java, folder, "Demo.java", HALL_SERVER=hall.url, HALL_BOOTSTRAP_TOKEN=BOOTSTRAP_TOKEN) as worker:
            until(lambda: operator.is_finished("demo"), waiting_for="the plan")
            worker.interrupt()
        assert "T-001 first\n" in worker.output.read_text()


def test_a_client_follows_waits_and_cancels(java: str, folder: Path, hall: HallProcess) -> None:
    """Feedback comes in order, numbers digit for digit; calls are waited for and cancelled; no thread is left."""
    (folder / "Whole.java").write_text(WHOLE, encoding="utf-8")
    client = {"HALL_CLIENT_ID": "shop", "HALL_CLIENT_SECRET": CLIENT_SECRET, "HALL_SERVICE_SECRET": SECRET}
    ended = run(*program(java, "Whole.java"), where=folder, HALL_SERVER=hall.url, **client)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [
        "1 progress 0.0 step 0",
        "2 progress 50.0 step 50",
        "3 message done",
        "[3544790567247868102, 1E+400, 0.1000000000000000055]",
        "held",
        "cancelling",
        "failed",
        "both stopped",
        "refused 403 false",
        "no thread",
    ]


WHOLE = """
import hiringhall.worker.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;

public class Whole {
    public static void main(String[] arguments) throws Exception {
        CountDownLatch begun = new CountDownLatch(2);
        CountDownLatch stopped = new CountDownLatch(2);
        ServiceWorker worker = ServiceWorker.builder("math").concurrency(4).build();
        worker.method("echo", (params, call) -> params);
        worker.method("steps", (params, call) -> {
            call.progress(0, "step 0");
            call.progress(50, "step 50");
            call.feedback("done");
            return null;
        });
        worker.method("wait", (params, call) -> {
            begun.countDown();
            if (call.awaitCancellation(Duration.ofSeconds(30))) {
                stopped.countDown();
                throw new Fail("stopped");
            }
            return "nobody stopped it";
        });
        try (worker; Client hall = Client.connect()) {
            worker.start();
            while (!offered(hall).contains("math/steps")) {
                Thread.sleep(20);
            }
            for (Feedback said : hall.start("math/steps", null).feedback()) {
                String percent = said.percent().isPresent() ? said.percent().getAsDouble() + " " : "";
                System.out.println(said.number() + " " + said.type() + " " + percent + said.text());
            }
            Object exact = Json.parse("[3544790567247868102, 1e400, 0.1000000000000000055]");
            System.out.println(hall.call("math/echo", Map.of("numbers", exact)).toString()
                    .replaceAll("^.numbers=|.$", ""));
            cancel(hall, begun, stopped);
            try {
                hall.call("other/echo", null);
            } catch (UnauthorizedException problem) {
                System.out.println("refused 403 " + problem.getMessage().contains("secret"));
            }
        }
        while (Thread.getAllStackTraces().keySet().stream().anyMatch(one -> one.getName().startsWith("hiringhall"))) {
            Thread.sleep(20);
        }
        System.out.println("no thread");
    }

    private static List<Object> offered(Client hall) {
        return hall.methods().stream().map(each -> (Object) each.get("method")).toList();
    }

    private static void cancel(Client hall, CountDownLatch begun, CountDownLatch stopped) throws Exception {
        PendingCall pending;
        try {
            throw new IllegalStateException("" + hall.call("math/wait", null, Duration.ofMillis(700)));
        } catch (CallPendingException problem) {
            pending = problem.pending();
        }
        System.out.println(pending.status());
        CompletableFuture<Object> future = hall.callAsync("math/wait", null);
        begun.await();
        future.cancel(true);
        System.out.println(pending.cancel());
        System.out.println(pending.outcome(Duration.ofSeconds(10)).get().status());
        System.out.println(stopped.await(10, TimeUnit.SECONDS) ? "both stopped" : "one goes on");
    }
}
"""


@pytest.mark.parametrize("protocol", ["services", "plans"])
def test_the_verification_worker_passes_every_case(protocol: str, java: str, jar: Path, tmp_path: Path) -> None:
    """The verification worker of the SDK passes all cases of both protocols."""
    compiled = run(
        "javac", "-Xlint:all", "-Werror", "-cp", jar, "-d", tmp_path, ROOT / "conformance/workers/Worker.java"
    )
    assert compiled.returncode == 0, compiled.stderr
    junit = tmp_path / "junit.xml"
    verify = (sys.executable, "-m", "hiringhall.cli.main", "verify", "worker", "--protocol", protocol)
    worker = (java, *HASTY, "-cp", f"{jar}:{tmp_path}", "Worker")
    ended = run(*verify, "--jobs", AT_ONCE, "--junit", junit, "--", *worker, where=ROOT)
    assert ended.returncode == 0, ended.stdout
    assert ET.parse(junit).getroot().attrib["tests"] == str(len(load_cases((protocol,))))
    recorded = (ROOT / "conformance/results/java.txt").read_text().split()
    assert passed([junit]) == [title for title in recorded if title.startswith(protocol)], (
        "record it: python conformance/record.py java REPORT..."
    )
