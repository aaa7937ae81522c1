"""Records what an SDK passes: `python conformance/record.py NAME REPORT.xml…` writes `results/NAME.txt`.

The reports are those of `hall verify worker --junit`, of both protocols. `docs/sdks.md` is made from the records.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ET
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


def passed(reports: list[Path]) -> list[str]:
    """The titles of the cases that passed, sorted."""
    found = []
    for report in reports:
        for case in ET.parse(report).getroot().iter("testcase"):
            if case.find("failure") is None and case.find("skipped") is None:
                protocol = case.attrib["classname"].partition(".")[0]
                found.append(f"{protocol}/{case.attrib['name']}")
    return sorted(found)


if __name__ == "__main__":
    titles = passed([Path(report) for report in sys.argv[2:]])
    (RESULTS / f"{sys.argv[1]}.txt").write_text("".join(f"{title}\n" for title in titles), encoding="utf-8")
