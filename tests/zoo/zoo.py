#!/usr/bin/env python3
"""Runs the cases of this folder: every KIND/*.toml is one, run by the libcoll command. ../README.md says how to add one.

zoo.py [--libcoll COMMAND] [CASE...]: CASE is a kind (plan), a case (plan/torus-4x4) or its file; without any, all run.
Exit code 0: every case holds; 1: some do not; 2: wrong usage.
"""
import argparse
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from fractions import Fraction
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECONDS = 120  # for one case, also with sanitizers on a busy machine

INPUTS = {"files": dict, "inputs": list}
# Keys of a case by kind: those it must have, and those it may have.
KINDS = {
    "topology": ({"topology": str}, INPUTS | {"import": str, "options": list}),
    "plan": ({"topology": str, "collective": str}, INPUTS | {"options": list}),
    "schedule": ({"schedule": str}, {"replace": list}),
    "bad_input": ({"command": str}, INPUTS | {"environment": dict}),
}


class Wrong(Exception):
    """The case does not hold, or its file is no case."""


def check(condition, message):
    if not condition:
        raise Wrong(message)


def load(path, kind):
    """The case in a file: nothing unknown in it, nothing missing, something expected."""
    try:
        case = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Wrong(f"not TOML: {error}") from error
    required, optional = KINDS[kind]
    required = required | {"expect": dict}
    for key, value in case.items():
        known = (required | optional).get(key)
        check(known, f"unknown key '{key}', expected one of {', '.join(required | optional)}")
        check(isinstance(value, known), f"{key}: expected a {known.__name__}, found {value!r}")
    for key in required:
        check(key in case, f"no '{key}'")
    check(case["expect"], "nothing is expected")
    return case


# ---- expectations -----------------------------------------------------------------------------------------------


def number(value, what):
    """As an exact fraction; a string such as "26/27" is one."""
    check(not isinstance(value, bool), f"{what}: {value!r} is no number")
    try:
        return Fraction(value)
    except (TypeError, ValueError, ZeroDivisionError, OverflowError) as error:
        raise Wrong(f"{what}: {value!r} is no number") from error


def compare(name, expected, found):
    """A plain value has to be equal, a float states its tolerance or its limits."""
    if not isinstance(expected, dict):
        check(not isinstance(expected, float), f"{name}: a float needs a tolerance: {{value = ..., tolerance = ...}}")
        same = type(expected) is type(found) and expected == found
        check(same, f"{name}: expected {expected!r}, found {found!r}")
        return
    keys = set(expected)
    if keys == {"value", "tolerance"}:
        value, tolerance = number(expected["value"], name), number(expected["tolerance"], name)
        check(abs(number(found, name) - value) <= tolerance,
              f"{name}: expected {expected['value']!r} within {expected['tolerance']!r}, found {found!r}")
        return
    check(keys and keys <= {"at_least", "at_most"},
          f"{name}: expected value and tolerance, at_least and at_most, or absent, found {', '.join(keys) or 'nothing'}")
    if "at_least" in expected:
        check(number(found, name) >= number(expected["at_least"], name),
              f"{name}: expected at least {expected['at_least']!r}, found {found!r}")
    if "at_most" in expected:
        check(number(found, name) <= number(expected["at_most"], name),
              f"{name}: expected at most {expected['at_most']!r}, found {found!r}")


def compare_all(expect, found):
    """All fields that differ, not just the first."""
    wrong = []
    for name, expected in expect.items():
        try:
            if expected == {"absent": True}:
                check(name not in found, f"{name}: expected no such field, found {found.get(name)!r}")
                continue
            check(name in found, f"{name}: no such field, expected one of {', '.join(found)}")
            compare(name, expected, found[name])
        except Wrong as error:
            wrong.append(str(error))
    check(not wrong, "\n".join(wrong))


# ---- running ----------------------------------------------------------------------------------------------------


class Scratch:
    """A directory of its own as working directory and HOME, and an environment with nothing of the user's."""

    def __init__(self, folder, libcoll):
        self.folder, self.libcoll = folder, libcoll

    def write(self, name, text):
        check(Path(name).name == name, f"files: '{name}' is no plain file name")
        (self.folder / name).write_text(text, encoding="utf-8")

    def copy(self, case_folder, path):
        source = case_folder / path
        check(source.is_file(), f"there is no file {path}")
        shutil.copyfile(source, self.folder / source.name)
        return source.name

    def inputs(self, case_folder, case):
        for name, text in case.get("files", {}).items():
            check(isinstance(text, str), f"files: '{name}' is no text")
            self.write(name, text)
        for path in case.get("inputs", []):
            self.copy(case_folder, path)

    def run(self, arguments, environment=None):
        """(exit code, stdout, stderr); what outlives the time limit is killed with its children."""
        kept = {name: value for name, value in os.environ.items() if name == "PATH" or name.endswith("SAN_OPTIONS")}
        kept |= {"HOME": str(self.folder)} | (environment or {})
        with subprocess.Popen([self.libcoll, *arguments], cwd=self.folder, env=kept, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True) as process:
            try:
                out, err = process.communicate(timeout=SECONDS)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise Wrong(f"not done within {SECONDS} s") from error
        return process.returncode, out.decode(errors="replace"), err.decode(errors="replace")

    def figures(self, arguments):
        code, out, err = self.run([*arguments, "--json"])
        check(code == 0, f"exit code {code}: {err or out}")
        try:
            return json.loads(out)
        except json.JSONDecodeError as error:
            raise Wrong(f"no JSON: {out}") from error


def topology_argument(scratch, case_folder, topology, imported=False):
    """A file beside the case is copied, anything else is a specification."""
    is_file = imported or topology.endswith(".toml")
    return scratch.copy(case_folder, topology) if is_file else topology


def run_topology(scratch, folder, case):
    argument = topology_argument(scratch, folder, case["topology"], "import" in case)
    options = ["--import", case["import"]] if "import" in case else []
    found = scratch.figures(["topo", argument, *options, *case.get("options", [])])
    if argument == case["topology"]:
        check(found["name"] == argument, f"name: expected the specification, found {found['name']!r}")
    compare_all(case["expect"], found)


def run_plan(scratch, folder, case):
    argument = topology_argument(scratch, folder, case["topology"])
    options = case.get("options", [])
    found = scratch.figures(["plan", argument, case["collective"], *options])
    check(found["verified"] is ("--no-schedule" not in options), f"verified: {found['verified']}")
    compare_all(case["expect"], found)


def expected_message(expect):
    """(exit code, parts of what is said)."""
    for key in expect:
        check(key in ("exit", "message"), f"expect: unknown key '{key}', expected one of exit, message")
    code, message = expect.get("exit"), expect.get("message")
    check(type(code) is int, f"expect: exit is {code!r}, expected an exit code")
    parts = message if isinstance(message, list) else [message]
    check(parts and all(isinstance(part, str) and part for part in parts),
          f"expect: message is {message!r}, expected text or a list of texts")
    return code, parts


def compare_message(expect, code, out, err, said):
    expected_code, parts = expected_message(expect)
    wrong = [] if code == expected_code else [f"exit code: expected {expected_code}, found {code}"]
    wrong += [f"message: '{part}' is missing" for part in parts if part not in said]
    if code == 2 and out:  # wrong usage and unreadable input are said on stderr alone
        wrong.append("standard output is not empty")
    check(not wrong, "\n".join([*wrong, f"stdout: {out[:2000]}", f"stderr: {err[:2000]}"]))


def run_schedule(scratch, folder, case):
    name = scratch.copy(folder, case["schedule"])
    text = (scratch.folder / name).read_text(encoding="utf-8")
    for change in case.get("replace", []):
        check(isinstance(change, list) and len(change) == 2, f"replace: {change!r}, expected [old, new]")
        old, new = change
        check(old in text, f"replace: '{old}' is not in {name}")
        text = text.replace(old, new, 1)
    scratch.write(name, text)
    code, out, err = scratch.run(["verify", name])
    compare_message(case["expect"], code, out, err, err if code == 2 else out)


def run_bad_input(scratch, folder, case):
    scratch.inputs(folder, case)
    code, out, err = scratch.run(shlex.split(case["command"]), case.get("environment"))
    compare_message(case["expect"], code, out, err, err)
    if code == 0:  # nothing else is complained of
        parts = expected_message(case["expect"])[1]
        other = [line for line in err.splitlines() if not any(part in line for part in parts)]
        check(not other, "\n".join(["unexpected messages:", *other]))


RUN = {"topology": run_topology, "plan": run_plan, "schedule": run_schedule, "bad_input": run_bad_input}


def run_case(path, libcoll):
    kind = path.parent.name
    case = load(path, kind)
    with tempfile.TemporaryDirectory(prefix="libcoll-zoo-") as folder:
        scratch = Scratch(Path(folder), libcoll)
        if kind in ("topology", "plan"):
            scratch.inputs(path.parent, case)
        RUN[kind](scratch, path.parent, case)


# ---- all of them ------------------------------------------------------------------------------------------------


def strays(zoo, kind):
    """Files that no case looks at: somebody meant them to be one."""
    cases = sorted((zoo / kind).glob("*.toml"))
    text = "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in cases)
    for path in sorted((zoo / kind).rglob("*")):
        name = path.relative_to(zoo / kind)
        if path.is_file() and path not in cases and str(name) not in text:
            yield path


def selected(zoo, names):
    """(cases, what is wrong with the folder or the names)."""
    wrong = []
    if not names:
        names = list(KINDS)
        wrong += [f"{path.name}: no such kind, expected one of {', '.join(KINDS)}"
                  for path in zoo.iterdir() if path.is_dir() and path.name not in KINDS and path.name != "__pycache__"]
    cases = []
    for name in names:
        if name in KINDS:
            found = sorted((zoo / name).glob("*.toml"))
            wrong += [f"{path.relative_to(zoo)}: no case uses it" for path in strays(zoo, name)]
        else:
            path = Path(name) if name.endswith(".toml") else zoo / f"{name}.toml"
            path = path.resolve()
            found = [path] if path.is_file() and path.parent.name in KINDS else []
        if not found:
            wrong.append(f"{name}: there is no such case")
        cases += found
    return cases, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libcoll", default=HERE.parent.parent / "build/bin/libcoll", metavar="COMMAND",
                        help="the command under test; default: %(default)s")
    parser.add_argument("--zoo", type=Path, default=HERE, metavar="FOLDER", help="default: %(default)s")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    libcoll = Path(options.libcoll).resolve()
    if not os.access(libcoll, os.X_OK):
        parser.error(f"there is no command {libcoll}, expected --libcoll COMMAND")
    cases, failed = selected(options.zoo, options.cases)
    for line in failed:
        print(f"FAILED {line}")
    for path in cases:
        name = f"{path.parent.name}/{path.stem}"
        began = time.monotonic()
        try:
            run_case(path, libcoll)
            print(f"ok     {name} ({time.monotonic() - began:.2f} s)")
        except Wrong as error:
            failed.append(name)
            print(f"FAILED {name}\n       " + str(error).rstrip().replace("\n", "\n       "))
        sys.stdout.flush()
    print(f"{len(cases)} cases, {len(failed)} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
