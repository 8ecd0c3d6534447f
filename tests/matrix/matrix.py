#!/usr/bin/env python3
"""Runs the launches of launches.toml: each starts one MPI job under libcoll and runs many cases in it.

    matrix.py --list
    matrix.py --build FOLDER [--results FOLDER] [--scale FACTOR] NAME…

--list prints "NAME LABEL PROCESSORS" by line: the processors that its ranks keep busy while they wait.
Every case is reported by name with its time. A case that fails, dies or exceeds its limit is named, and the cases behind
it run in another job. launches.toml says what a launch may contain."""

import argparse
import collections
import ctypes
import json
import os
import re
import selectors
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
KEYS = {
    "name", "label", "program", "topology", "ranks", "hosts", "binding", "threads", "plans", "settings",
    "environment", "rank_environment", "log", "statistics", "exit_code", "limit", "cases", "arguments", "thorough", "mpi", "mpich", "standard_abi",
    "needs",
}  # fmt: skip
WORDS = {
    "all": "allreduce=yes allgather=yes alltoall=yes bcast=yes reduce=yes",
    "none": "allreduce=no allgather=no alltoall=no bcast=no reduce=no",
}
# Ranks spin or yield while they wait in MPI, which slows down the others of their job, and other jobs: two run as they are,
# more with libraries that make them sleep. What is behind the standard interface binds to its own libraries first, so that
# nothing can be put before them.
MOST_SPINNING_RANKS = 2
LAUNCHERS = {"openmpi": ["mpirun", "--oversubscribe"], "mpich": ["mpiexec.mpich"], "standard_abi": ["mpiexec.mpich"]}
START_SECONDS = 60  # until the first case begins, and from the end of the last one to the end of the job

# Sets what is meant for one rank, and becomes the program. Each rank has a file for what it says, as the launcher may cut
# lines of several ranks into each other.
WRAPPER = """#!/usr/bin/env bash
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
while [[ $1 != -- ]]; do
  if [[ ${1%%:*} == all || ${1%%:*} == "$rank" ]]; then export "${1#*:}"; fi
  shift
done
shift
if [[ -n ${WAITING_LIBRARIES-} ]]; then export LD_PRELOAD=$LD_PRELOAD:$WAITING_LIBRARIES; fi
unset HWLOC_COMPONENTS # what launchers read of the machine is not the ranks'
exec ${PROCESSORS:+taskset -c "$PROCESSORS"} ${EMULATOR-} "$@" 2>>"${0%/*}/stderr.$rank"
"""


class Failure(Exception):
    pass


def words_of(text):
    words = shlex.split(text)
    if words[0].endswith("expectation"):
        words = [words[0]] + [part for word in words[1:] for part in WORDS.get(word, word).split()]
    return words


def may_read_memory():
    """Whether a process may read another one's memory that is not its child."""
    libc = ctypes.CDLL(None, use_errno=True)
    word = ctypes.create_string_buffer(b"word")
    end, other_end = os.pipe()
    owner = os.fork()
    if owner == 0:
        os.close(other_end)
        os.read(end, 1)  # until the other end is closed
        os._exit(0)
    reader = os.fork()
    if reader == 0:
        found = ctypes.create_string_buffer(5)
        here, there = ((ctypes.c_size_t * 2)(ctypes.addressof(buffer), 5) for buffer in (found, word))
        copied = libc.process_vm_readv(owner, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
        os._exit(0 if copied == 5 and found.value == b"word" else 1)
    may = os.waitpid(reader, 0)[1] == 0
    os.close(other_end)
    os.waitpid(owner, 0)
    os.close(end)
    return may


# What launches may need of the machine, and how it is said that it is missing.
NEEDS = {"process memory": (may_read_memory, "processes may not read each other's memory here")}
SKIPPED = 77


def missing_needs(launches):
    needs = {launch["needs"] for launch in launches if "needs" in launch}
    return [said for name, (is_there, said) in NEEDS.items() if name in needs and not is_there()]


def load():
    with open(HERE / "launches.toml", "rb") as file:
        launches = tomllib.load(file)["launch"]
    names = collections.Counter(launch.get("name") for launch in launches)
    for launch in launches:
        name = launch.get("name", "?")
        unknown = launch.keys() - KEYS
        missing = {"name", "topology", "ranks"} - launch.keys()
        if unknown or missing or names[name] > 1:
            raise SystemExit(f"launches.toml: launch {name}: unknown {unknown}, missing {missing}, named {names[name]} times")
        if ("cases" in launch) == ("program" in launch):
            raise SystemExit(f"launches.toml: launch {name}: expected either cases or a program")
    launches += [thorough(launch) for launch in launches if "thorough" in launch]
    return launches + [under(mpi, launch) for mpi in ("mpich", "standard_abi") for launch in launches if launch.get(mpi)]


def thorough(launch):
    key = "cases" if "cases" in launch else "arguments"
    return launch | {"name": f"{launch['name']}_thorough", "label": "release", key: launch["thorough"]}


def under(mpi, launch):
    return launch | {"name": f"{launch['name']}_{mpi}", "mpi": mpi}


def in_tests(text):
    """"@/" stands for this folder."""
    return text.replace("@/", f"{HERE}/")


def waits_as_it_is(launch):
    return launch["ranks"] <= MOST_SPINNING_RANKS or launch.get("mpi") == "standard_abi"


def waiting_libraries(launch, options):
    if waits_as_it_is(launch):
        return []
    return [options.build / "lib" / "mpich_on_few_processors.so"] * (launch.get("mpi") == "mpich") + [options.yield_sleep] * (options.yield_sleep is not None)


def busy_processors(launch):
    """MPICH's ranks do not yield: two such jobs on two processors can wait for each other's time slices for minutes."""
    return launch["ranks"] if waits_as_it_is(launch) and launch.get("mpi", "openmpi") != "openmpi" else 1


def rank_settings(launch, options):
    build = options.build
    folders = {"$build/": f"{build}/", "$lib/": f"{build / 'lib' / launch.get('mpi', '')}/"}
    settings = [in_tests(text) for text in launch.get("rank_environment", [])]
    for word, folder in folders.items():
        settings = [text.replace(word, folder) for text in settings]
    settings += [f"{text.split(':')[0]}:PROCESSORS={text.split(':')[1]}" for text in launch.get("binding", [])]
    settings += [f"{rank}:LIBCOLL_HOST=node{node}" for rank, node in enumerate(launch.get("hosts", "").split())]
    if libraries := waiting_libraries(launch, options):
        settings.append(f"all:WAITING_LIBRARIES={':'.join(map(str, libraries))}")
    return settings


# What Open MPI chooses on one host: ranks need not open the other components to find that out, which takes a fifth of the
# time in which a job of eight starts.
CHOSEN_COMPONENTS = {
    "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_mtl": "^ofi,portals4,psm,psm2",
    "OMPI_MCA_osc": "^monitoring,pt2pt,rdma,sm,ucx", "OMPI_MCA_io": "^ompio,romio321",
}  # fmt: skip


def environment_of(launch, directory):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LIBCOLL_")}
    environment |= {
        "TMPDIR": f"{directory}/session", "XDG_CONFIG_HOME": directory, "LIBCOLL_CACHE_DIR": f"{directory}/cache",
        "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "MPIR_CVAR_POLLS_BEFORE_YIELD": "1",
        "YIELD_SLEEP_EVERY": "32",
    }  # fmt: skip
    if launch.get("settings") == "default":
        for name in ("PMIX_MCA_gds", "HWLOC_COMPONENTS"):  # what a gate sets to start jobs sooner
            environment.pop(name, None)
        environment |= {"LIBCOLL_LOG_LEVEL": "trace", "MATRIX_SERVED": "any"}
    else:  # which calls are served must be known
        environment |= {"LIBCOLL_BACKGROUND_PLANNING": "no", "LIBCOLL_COST_MODEL": "no"}
        if "cases" in launch:
            environment |= CHOSEN_COMPONENTS
    return environment | dict(in_tests(text).split("=", 1) for text in launch.get("environment", []))


def processes_of(directory):
    """Processes of a job are those that carry its folder in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"LIBCOLL_CACHE_DIR={directory}/".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def end_processes(directory):
    for process in processes_of(directory):
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


class Job:
    """One start of a launch with some of its cases."""

    def __init__(self, options, launch, numbers, directory):
        self.options, self.launch, self.numbers, self.directory = options, launch, numbers, directory
        self.seconds = {}  # of the cases that ended, by number
        self.running = None
        self.code = None
        self.late = False
        for name in ("cache", "session"):
            os.mkdir(f"{directory}/{name}")
        self.environment = environment_of(launch, directory)
        self.libcoll = str(options.libcoll)

    def command(self):
        launch = self.launch
        binaries = self.options.build / "bin" / launch.get("mpi", "")
        if "program" in launch:
            program = [str(binaries / f"multiprocess_{launch['program']}")]
            if not os.path.exists(program[0]):
                program = [str(binaries / launch["program"])]
            program += shlex.split(in_tests(launch.get("arguments", "")).replace("$build/", f"{self.options.build}/"))
        else:
            program = [str(binaries / "multiprocess_matrix")] + ["-m"] * launch.get("threads", False)
            for place, number in enumerate(self.numbers):
                program += ["+"] * (place > 0) + words_of(launch["cases"][number])
        wrapper = f"{self.directory}/with_settings"
        Path(wrapper).write_text(WRAPPER, encoding="utf-8")
        os.chmod(wrapper, 0o755)
        emulator = [f"all:EMULATOR={self.options.emulator}"] * (self.options.emulator != "")
        program = [wrapper, *emulator, *rank_settings(launch, self.options), "--", *program]
        options = ["--library", str(self.options.build / "lib" / "libcoll_pmpi.so")]
        options += ["--no-plan"] if launch.get("plans", "before") != "before" else []
        return [
            self.libcoll, "run", *options, f"--stats=json:{self.directory}/stats.json", "--topology", in_tests(launch["topology"]),
            "--", *LAUNCHERS[launch.get("mpi", "openmpi")], "-n", str(launch["ranks"]), *program,
        ]  # fmt: skip

    def corrupt_plans(self):
        subprocess.run([self.libcoll, "run", "--topology", in_tests(self.launch["topology"]), "--", "true"],
                       env=self.environment, cwd=self.directory, check=True, timeout=60)  # fmt: skip
        plans = list(Path(self.directory, "cache").glob("*.xml"))
        if not plans:
            raise Failure("there is no plan to corrupt")
        for plan in plans:
            os.truncate(plan, 100)

    def limit(self):
        if self.running is None and "program" not in self.launch:
            return START_SECONDS * self.options.scale
        usual = 120 if "program" in self.launch else 60
        if self.launch.get("label") == "large":  # gibibytes, while other jobs run
            usual = 500
        return self.launch.get("limit", usual) * self.options.scale

    def note(self, line):
        found = re.fullmatch(r"matrix: (begin|end) (\d+)(?: ([0-9.]+))?", line)
        if not found:
            print(line)
            return
        number = self.numbers[int(found[2])]
        self.running = number if found[1] == "begin" else None
        if found[1] == "end":
            self.seconds[number] = float(found[3])

    def run(self):
        if self.launch.get("plans") == "corrupt":
            self.corrupt_plans()
        with open(f"{self.directory}/stderr", "wb") as errors:
            process = subprocess.Popen(self.command(), env=self.environment, cwd=self.directory, start_new_session=True,
                                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors)  # fmt: skip
        deadline = time.monotonic() + self.limit()
        text = b""
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0, deadline - time.monotonic())):
                    self.late = True
                    break
                piece = os.read(process.stdout.fileno(), 65536)
                if not piece:
                    break
                *lines, text = (text + piece).split(b"\n")
                for line in lines:
                    self.note(line.decode(errors="replace"))
                    deadline = time.monotonic() + self.limit()
        if self.late:
            os.killpg(process.pid, signal.SIGTERM)
        try:
            self.code = process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            self.code = process.wait()

    def check(self):
        """What the job as a whole must be."""
        files = sorted(Path(self.directory).glob("stderr*"))
        stderr = "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)
        # Of default settings every call is in the log.
        is_traced = self.launch.get("settings") == "default"
        sys.stdout.writelines(line + "\n" for line in stderr.splitlines() if not (is_traced and ": trace: " in line))
        if self.late:
            raise Failure(f"nothing for {self.limit():.0f} s")
        if self.code != self.launch.get("exit_code", 0):
            raise Failure(f"exit code {self.code}, expected {self.launch.get('exit_code', 0)}")
        if len(self.seconds) < len(self.numbers) and "program" not in self.launch:
            raise Failure("it ended before its cases")
        # After an abort mpirun does not wait for those it has killed.
        for _ in range(50):
            left = processes_of(self.directory)
            if not left:
                break
            time.sleep(0.1)
        else:
            raise Failure(f"processes are left: {left}")
        for text in self.launch.get("log", []):
            count, part = in_tests(text).split(":", 1)
            found = sum(part in line for line in stderr.splitlines())
            if found != int(count):
                raise Failure(f'"{part}" was said {found} times, expected {count}')
        self.check_statistics()

    def check_statistics(self):
        path = Path(self.directory, "stats.json")
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        for part in self.launch.get("statistics", []):
            if part not in text:
                raise Failure(f'"{part}" is not in the statistics: {text}')
        if self.launch.get("settings") != "default":
            return
        # What the log of rank 0 says was served was served, as its statistics count, and something was.
        log = Path(self.directory, "stderr.0").read_text(encoding="utf-8", errors="replace")
        said = collections.Counter(re.findall(r"\b([a-z_]+): served, ", log))
        collectives = json.loads(text)["collectives"]
        counted = {name: entry["served"] for name, entry in collectives.items() if entry["served"]}
        if not counted:
            raise Failure("nothing was served by default settings")
        if counted != said:
            raise Failure(f"the log says that {dict(said)} were served, the statistics {counted}")


def report(results, name, seconds, failure=None):
    print(f"{'FAILED' if failure else 'passed'} {name} {seconds:.2f} s{': ' + failure if failure else ''}", flush=True)
    if results:
        with open(results, "a", encoding="utf-8") as file:
            file.write(f"{'failed' if failure else 'passed'}\t{seconds:.3f}\t{name}\n")


def run_launch(options, launch):
    """The number of failures."""
    full = f"{launch.get('label', 'matrix')}.{launch['name']}"
    results = options.results / f"{full}.tsv" if options.results else None
    if results:
        results.unlink(missing_ok=True)
    cases = launch.get("cases", [""])
    numbers = list(range(len(cases)))
    failures = 0
    while numbers:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
            job = Job(options, launch, numbers, directory)
            began = time.monotonic()
            failure = None
            try:
                job.run()
                job.check()
            except Failure as error:
                failure = str(error)
            finally:
                end_processes(directory)
            seconds = time.monotonic() - began
        if "program" in launch:
            report(results, full, seconds, failure)
            return int(failure is not None)
        for number, time_of_case in job.seconds.items():
            report(results, f"{full}: {cases[number]}", time_of_case)
        rest = [number for number in numbers if number not in job.seconds]
        if failure:
            failures += 1
            guilty = cases[job.running] if job.running is not None else "the launch"
            report(results, f"{full}: {guilty}", seconds, failure)
            if job.running is None:
                return failures
        numbers = [number for number in rest if number != job.running]
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build", type=Path)
    parser.add_argument("--libcoll", type=Path, help="the command, if it is not the build's own")
    parser.add_argument("--results", type=Path, help="folder for one NAME.tsv a launch: verdict, seconds, case")
    parser.add_argument("--scale", type=float, default=1, help="of all limits of time")
    parser.add_argument("--yield-sleep", type=Path, help="library by which a rank that yields its processor sleeps")
    parser.add_argument("--emulator", default="", help="command before each rank's, for the programs of another processor")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    launches = load()
    if options.list:
        for launch in launches:
            print(launch["name"], launch.get("label", "matrix"), busy_processors(launch))
        return 0
    if not options.build:
        parser.error("--build is missing")
    options.build = options.build.resolve()
    options.libcoll = (options.libcoll or options.build / "bin" / "libcoll").resolve()
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
    chosen = [launch for launch in launches if launch["name"] in options.names]
    if len(chosen) != len(set(options.names)) or not chosen:
        parser.error(f"expected names of launches; unknown: {set(options.names) - {launch['name'] for launch in chosen}}")
    if missing := missing_needs(chosen):
        print(f"skipped: {', '.join(missing)}")
        return SKIPPED
    return 1 if sum(run_launch(options, launch) for launch in chosen) else 0


if __name__ == "__main__":
    sys.exit(main())
