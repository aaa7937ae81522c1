"""What the repository may contain: nothing of the machine it was written on, and packages that stand alone."""

from __future__ import annotations

import ast
import importlib.metadata
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


def test_the_server_declares_what_it_imports() -> None:
    """Each third-party package that the server imports is declared, and each one declared is used."""
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    declared = {package_name(line) for line in project["dependencies"]}
    providers = importlib.metadata.packages_distributions()
    roots = {name.split(".")[0] for path in python_files("src/") for name in imports(tree(path))}
    foreign = roots - sys.stdlib_module_names - {"hiringhall"}
    imported = {package_name(provider) for root in foreign for provider in providers.get(root, [root])}
    assert not imported - declared
    assert not declared - imported


def package_name(requirement: str) -> str:
    """The normal form of the name in a requirement."""
    return re.split(r"[<>=;\[ ]", requirement)[0].lower().replace("_", "-")


def imports(module: ast.Module) -> set[str]:
    """The dotted names of the modules that a module imports, those below it aside."""
    names = set()
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    return names


def test_the_sdk_needs_nothing() -> None:
    """The Python SDK has no dependencies, runs on Python 3.9, and imports the standard library alone."""
    project = tomllib.loads(text(ROOT / "sdks/python/pyproject.toml"))["project"]
    assert project.get("dependencies", []) == []
    assert "dependencies" not in project.get("dynamic", [])
    assert project["requires-python"] == ">=3.9"
    allowed = {*sys.stdlib_module_names, "hiringhall_worker"}
    modules = {path: imports(tree(path)) for path in python_files("sdks/python/src/")}
    foreign = {
        f"{path}: {name}" for path, names in modules.items() for name in names if name.split(".")[0] not in allowed
    }
    assert not foreign


def test_the_lock_pins_every_dependency() -> None:
    """Each direct dependency of the server and of its tools stands in the lock with one exact version."""
    project = tomllib.loads(text(ROOT / "pyproject.toml"))["project"]
    wanted = {package_name(line) for line in [*project["dependencies"], *project["optional-dependencies"]["dev"]]}
    lines = [line for line in text(ROOT / "requirements/dev.lock").splitlines() if line and not line.startswith("#")]
    assert all(re.match(r"^[a-z0-9.-]+==[\w.+]+( ;.*)?$", line) for line in lines), lines
    assert wanted - {"hiringhall-worker"} <= {line.split("==")[0] for line in lines}
