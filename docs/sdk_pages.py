"""The page about SDKs, made from what each of them passes."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hiringhall.verify.loading import FEATURES, load_cases

RESULTS: Final = Path(__file__).resolve().parents[1] / "conformance/results"
NAMES: Final = {"python": "Python", "node": "Node.js", "java": "Java", "shell": "60 lines of shell"}
WORKERS: Final = {"services": "Service workers", "plans": "Plan workers"}


def sdks_page() -> str:
    """Which SDK passes how many of the cases about each feature."""
    lines = [
        "# What each SDK does",
        "",
        "Made by `python docs/generate.py` from what the SDKs pass of the [conformance",
        "cases](../conformance/README.md); their tests play the cases anew. `12` of a feature means: all twelve;",
        "`11 of 12`: one case fails, or is left out. `hall verify cases` shows each case with its sentence.",
    ]
    records = {path.stem: set(path.read_text(encoding="utf-8").split()) for path in sorted(RESULTS.glob("*.txt"))}
    for protocol, features in FEATURES.items():
        cases = load_cases((protocol,))
        sdks = sorted((sdk for sdk in records if any(one.startswith(protocol) for one in records[sdk])), key=_place)
        lines += ["", f"## {WORKERS[protocol]}", ""]
        lines.append("| " + " | ".join(["feature", *(NAMES.get(sdk, sdk) for sdk in sdks)]) + " |")
        lines.append("|" + " --- |" * (len(sdks) + 1))
        for feature in features:
            about = {case.title for case in cases if case.feature == feature}
            lines.append("| " + " | ".join([feature, *(_share(about & records[sdk], about) for sdk in sdks)]) + " |")
    return "\n".join(lines) + "\n"


def _place(sdk: str) -> tuple[int, str]:
    return (list(NAMES).index(sdk) if sdk in NAMES else len(NAMES), sdk)


def _share(passed: set[str], about: set[str]) -> str:
    return str(len(about)) if passed == about else f"{len(passed)} of {len(about)}" if passed else "none"
