"""A run for people, as lines of text, and for machines, as JUnit XML."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Final

from hiringhall.verify.known_failing import Verdicts
from hiringhall.verify.result import Result

SHOWN_EVENTS: Final = 40
SHOWN_OUTPUT_LINES: Final = 12


def failure_lines(result: Result) -> Iterator[str]:
    """A failed case: what it proves, what was expected and seen, and the story."""
    case = result.case
    yield f'  "{case.sentence}"'
    yield f"  ({case.source}; {case.level}, {case.feature})"
    yield f"  expected: {result.expected}"
    yield f"  seen:     {result.seen}"
    events = result.timeline.events
    if len(events) > SHOWN_EVENTS:
        yield f"  … {len(events) - SHOWN_EVENTS} lines before"
    for event in events[-SHOWN_EVENTS:]:
        yield f"  {event.at:8.3f} s  {event.text}"
    printed = "".join(result.timeline.output).splitlines()
    if printed:
        yield f"  the worker printed{' at last' if len(printed) > SHOWN_OUTPUT_LINES else ''}:"
        yield from (f"    {line}" for line in printed[-SHOWN_OUTPUT_LINES:])


def summary(verdicts: Verdicts) -> str:
    """One line about a whole run."""
    words = [f"{len(verdicts.passed)} passed"]
    if verdicts.failed:
        words.append(f"{len(verdicts.failed)} failed")
    if verdicts.known:
        words.append(f"{len(verdicts.known)} failed as known")
    if verdicts.skipped:
        words.append(f"{len(verdicts.skipped)} skipped")
    if verdicts.surprising:
        words.append(f"{len(verdicts.surprising)} listed as known-failing passed")
    return ", ".join(words)


def junit(verdicts: Verdicts, seconds: float) -> bytes:
    """A run as JUnit XML; what is known to fail is skipped."""
    failed = [*verdicts.failed, *verdicts.surprising]
    total = len(verdicts.passed) + len(verdicts.known) + len(verdicts.skipped) + len(failed)
    suite = ET.Element(
        "testsuite",
        name="hall verify",
        tests=str(total),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(verdicts.known) + len(verdicts.skipped)),
        time=f"{seconds:.3f}",
    )
    for result in verdicts.passed:
        _element(suite, result)
    for result in verdicts.failed:
        text = "\n".join(failure_lines(result))
        ET.SubElement(_element(suite, result), "failure", message=_legal(result.seen)).text = _legal(text)
    for result in verdicts.surprising:
        message = "listed as known-failing, and passes: take it off the list"
        ET.SubElement(_element(suite, result), "failure", message=message)
    for result in verdicts.known:
        ET.SubElement(_element(suite, result), "skipped", message="known to fail")
    for result in verdicts.skipped:
        ET.SubElement(_element(suite, result), "skipped", message=result.skipped)
    return bytes(ET.tostring(suite, encoding="utf-8", xml_declaration=True))


def _element(suite: ET.Element, result: Result) -> ET.Element:
    case = result.case
    found = ET.SubElement(
        suite, "testcase", classname=f"{case.protocol}.{case.feature}", name=case.name, time=f"{result.seconds:.3f}"
    )
    properties = ET.SubElement(found, "properties")
    for name in ("level", "feature", "sentence", "source"):
        ET.SubElement(properties, "property", name=name, value=_legal(getattr(case, name)))
    return found


def _legal(text: str) -> str:
    """A text without the characters that XML forbids."""
    return (
        "".join(c if c in "\t\n" or (c >= " " and c not in "\ufffe\uffff") else "\ufffd" for c in text)
        .encode("utf-8", "replace")
        .decode()
    )
