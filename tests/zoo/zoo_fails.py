#!/usr/bin/env python3
"""The zoo can fail: cases that must not hold, in a zoo of their own, with what is said of each.

zoo_fails.py COMMAND: exit code 0 if zoo.py finds every fault, 1 if not.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent

RING = 'topology = "ring:4"\n'
ALLGATHER = RING + 'collective = "allgather"\n'
REFUSED = 'command = "topo ring:1"\n'
SCHEDULE = 'schedule = "input/plan.xml"\n'
FAULTS = {  # file: (text, what has to be said)
    "topology/unknown_key.toml": (RING + 'note = "x"\n[expect]\nnodes = 4\n', "unknown key 'note'"),
    "topology/no_expectation.toml": (RING, "no 'expect'"),
    "topology/empty_expectation.toml": (RING + "[expect]\n", "nothing is expected"),
    "topology/unknown_field.toml": (RING + "[expect]\nnode = 4\n", "node: no such field"),
    "topology/wrong_value.toml": (RING + "[expect]\nnodes = 5\n", "nodes: expected 5, found 4"),
    "topology/wrong_type.toml": (RING + "[expect]\nconnected = 1\n", "connected: expected 1, found True"),
    "topology/not_toml.toml": ("topology = \n", "not TOML"),
    "topology/no_topology.toml": ('topology = "rin:4"\n[expect]\nnodes = 4\n', "exit code 2"),
    "topology/stray.txt": ("", "topology/stray.txt: no case uses it"),
    "plan/no_tolerance.toml": (ALLGATHER + "[expect]\nbandwidth_time_float = 0.75\n", "a float needs a tolerance"),
    "plan/beyond_tolerance.toml": (ALLGATHER + "[expect]\nbandwidth_time_float = {value = 0.7, tolerance = 0.01}\n",
                                   "expected 0.7 within 0.01, found 0.75"),
    "plan/above_limit.toml": (ALLGATHER + '[expect]\nbandwidth_time = {at_most = "2/3"}\n', "expected at most '2/3'"),
    "plan/below_limit.toml": (ALLGATHER + "[expect]\nsteps = {at_least = 3}\n", "expected at least 3, found 2"),
    "plan/no_limit.toml": (ALLGATHER + "[expect]\nsteps = {}\n", "steps: expected value and tolerance"),
    "plan/not_absent.toml": (ALLGATHER + "[expect]\nsteps = {absent = true}\n", "steps: expected no such field"),
    "plan/equal_as_numbers.toml": (ALLGATHER + '[expect]\nbandwidth_time = "6/8"\n', "expected '6/8', found '3/4'"),
    "schedule/other_exit.toml": (SCHEDULE + '[expect]\nexit = 1\nmessage = "is right"\n', "expected 1, found 0"),
    "schedule/other_message.toml": (SCHEDULE + '[expect]\nexit = 0\nmessage = "is WRONG"\n', "'is WRONG' is missing"),
    "schedule/no_message.toml": (SCHEDULE + "[expect]\nexit = 0\n", "message is None"),
    "schedule/no_exit.toml": (SCHEDULE + '[expect]\nmessage = "is right"\n', "exit is None"),
    "schedule/no_change.toml": (SCHEDULE + 'replace = [["klingon", ""]]\n[expect]\nexit = 0\nmessage = "is right"\n',
                                "'klingon' is not in plan.xml"),
    "schedule/no_file.toml": ('schedule = "input/x.xml"\n[expect]\nexit = 0\nmessage = "x"\n', "no file input/x.xml"),
    "bad_input/other_exit.toml": (REFUSED + '[expect]\nexit = 1\nmessage = "found"\n', "expected 1, found 2"),
    "bad_input/other_message.toml": (REFUSED + '[expect]\nexit = 2\nmessage = ["found", "x!"]\n', "'x!' is missing"),
    "bad_input/empty_message.toml": (REFUSED + '[expect]\nexit = 2\nmessage = ""\n', "message is ''"),
    "bad_input/unknown_key.toml": (REFUSED + '[expect]\nexit = 2\nmessage = "found"\nsay = 1\n', "unknown key 'say'"),
    "bad_input/more_is_said.toml": ('command = "info --config"\nenvironment = {LIBCOLL_A = "", LIBCOLL_B = ""}\n'
                                    '[expect]\nexit = 0\nmessage = "LIBCOLL_A"\n', "unknown variable LIBCOLL_B"),
    "other_kind/case.toml": (RING, "other_kind: no such kind"),
}


def main():
    command = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="libcoll-zoo-") as folder:
        zoo = Path(folder)
        for name, (text, _) in FAULTS.items():
            (zoo / name).parent.mkdir(exist_ok=True)
            (zoo / name).write_text(text, encoding="utf-8")
        (zoo / "schedule/input").mkdir()
        subprocess.run([command, "plan", "ring:4", "allgather", "--quiet", "--output", zoo / "schedule/input/plan.xml"],
                       check=True, stdout=subprocess.DEVNULL)
        run = subprocess.run([sys.executable, "-B", HERE / "zoo.py", "--libcoll", command, "--zoo", zoo],
                             capture_output=True, text=True, check=False)
    reports = run.stdout.split("FAILED ")[1:]
    missed = []
    for name, (_, said) in FAULTS.items():
        title = name.removesuffix(".toml")
        if not any(said in report and (report.split()[0] == title or said in report.splitlines()[0])
                   for report in reports):
            missed.append(f"{title}: not found: {said}")
    if run.returncode != 1 or "ok " in run.stdout or missed:
        print("\n".join([*missed, f"exit code {run.returncode}", run.stdout, run.stderr]))
        return 1
    print(f"{len(FAULTS)} faults found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
