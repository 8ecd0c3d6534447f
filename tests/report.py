#!/usr/bin/env python3
"""What all tests of a run came to: what those that failed said, the slowest, and one line "N passed, N failed, N skipped".

    report.py RESULTS

RESULTS has PART.xml (CTest's JUnit file) for each part of the run, and beside it PART.cases/ with what single tests
report of their own cases: NAME.tsv of tests/matrix/matrix.py, NAME.xml of GoogleTest. Exits with 1 where one failed."""

import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

SLOWEST = 20
LAST_LINES = 30  # of what a failed test said


def matrix_cases(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        verdict, seconds, name = line.split("\t")
        yield name, float(seconds), verdict


def google_cases(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        verdict = "failed" if case.find("failure") is not None else "passed"
        if case.get("result") == "skipped" or case.find("skipped") is not None:
            verdict = "skipped"
        if case.get("status") == "run":
            yield f"{case.get('classname')}.{case.get('name')}", float(case.get("time")), verdict


def ctest_verdict(case):
    if case.find("failure") is not None or case.get("status") == "fail":
        return "failed"
    if case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
        return "skipped"
    return "passed"


def cases_of(part):
    """(name, seconds, verdict) of every test of a part; of its cases where it reports them."""
    folder = part.with_suffix(".cases")
    for test in ElementTree.parse(part).getroot().iter("testcase"):
        name, verdict = test.get("name"), ctest_verdict(test)
        found = []
        if (folder / f"{name}.tsv").exists():
            found = list(matrix_cases(folder / f"{name}.tsv"))
        elif (folder / f"{name}.xml").exists():
            found = list(google_cases(folder / f"{name}.xml"))
        if not found or (verdict == "failed" and not any(case[2] == "failed" for case in found)):
            found.append((name, float(test.get("time") or 0), verdict))
        yield from found


def last_words(part):
    """(name, lines) of every test of CTest's that failed."""
    for test in ElementTree.parse(part).getroot().iter("testcase"):
        if ctest_verdict(test) == "failed":
            yield test.get("name"), test.findtext("system-out", "").splitlines()[-LAST_LINES:]


def main(arguments):
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    parts = sorted(Path(arguments[0]).glob("*.xml"))
    cases = [(f"{part.stem}: {name}", *rest) for part in parts for name, *rest in cases_of(part)]
    count = {verdict: sum(case[2] == verdict for case in cases) for verdict in ("passed", "failed", "skipped")}
    for part in parts:
        for name, lines in last_words(part):
            print(f"\n{part.stem}: {name} failed; the end of what it said:", *lines, sep="\n")
    print(f"\nThe {SLOWEST} slowest tests, in seconds:")
    for name, seconds, _ in sorted(cases, key=lambda case: -case[1])[:SLOWEST]:
        print(f"{seconds:8.1f}  {name}")
    for verdict in ("failed", "skipped"):
        for name, _, what in cases:
            if what == verdict:
                print(f"{verdict}: {name}")
    print(f"{count['passed']} passed, {count['failed']} failed, {count['skipped']} skipped")
    return 1 if count["failed"] or not count["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
