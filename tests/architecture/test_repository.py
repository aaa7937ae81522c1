"""What the repository may contain: nothing of the machine it was written on, and packages that stand alone."""

from __future__ import annotations

import ast
import re
import sys
import tomllib

from tests.architecture.sources import ROOT, files, python_files, text, tree

# A bracket in each pattern keeps it from finding itself.
MACHINE_PATHS = ["/wor[k]/(main|shared|[.]library)", "/tm[p]/hall/", "/op[t]/pypi", "/roo[t]/[.]", "[.]pyen[v]/"]
REGISTRIES = ["pyp[i][.]org", "pythonhoste[d][.]org", "registr[y][.]npmjs", "rep[o]1?[.]maven[.]"]
AUTHORSHIP = [
    "clau[d]e",
    "anthropi[c]",
    "co-authore[d]-by",
    "subagen[t]",
    "language mode[l]",
    "chatgp[t]",
    "ai[- ]generate[d]",
]
BAD = re.compile("|".join((*MACHINE_PATHS, *REGISTRIES, *AUTHORSHIP)), re.IGNORECASE)


def test_the_project_speaks_of_itself_alone() -> None:
    """No file names a path of one machine, the host of a package registry, or by whom it is written."""
    bad = []
    for path in files():
        for number, line in enumerate(text(path).splitlines(), 1):
            if found := BAD.search(line):
                bad.append(f"{path}:{number} {found.group()!r}")
    assert not bad


def test_the_sdk_needs_nothing() -> None:
    """The Python SDK has no dependencies, runs on Python 3.9, and imports the standard library alone."""
    project = tomllib.loads(text(ROOT / "sdks/python/pyproject.toml"))["project"]
    assert project.get("dependencies", []) == []
    assert "dependencies" not in project.get("dynamic", [])
    assert project["requires-python"] == ">=3.9"
    foreign = set()
    for path in python_files("sdks/python/src/"):
        for node in ast.walk(tree(path)):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module or ""]
            foreign |= {
                f"{path}: {name}"
                for name in names
                if name.split(".")[0] not in {*sys.stdlib_module_names, "hiringhall_worker"}
            }
    assert not foreign


def test_the_lock_pins_every_dependency() -> None:
    """Each direct dependency of the server and of its tools stands in the lock with one exact version."""
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    wanted = {
        re.split(r"[<>=;\[ ]", line)[0].lower()
        for line in [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    }
    lines = [line for line in text(ROOT / "requirements/dev.lock").splitlines() if line and not line.startswith("#")]
    assert all(re.match(r"^[a-z0-9.-]+==[\w.+]+( ;.*)?$", line) for line in lines), lines
    assert wanted <= {line.split("==")[0] for line in lines}
