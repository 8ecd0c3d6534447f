"""The emulated fabric as the races use it: up and down, routes, jobs and blasters on it, and the machine's counters."""

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml
from collections import defaultdict
from pathlib import Path


class RaceError(Exception):
    """Something that a race cannot go on after; the text is for the user."""


def call(command, environment=None, limit=600):
    """Standard output of a command that has to succeed."""
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit, env=environment, check=False
        )
    except subprocess.TimeoutExpired:
        raise RaceError(f"{' '.join(command)}: not done after {limit} s") from None
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
        raise RaceError(f"{' '.join(command)}: {said}")
    return done.stdout


def bits_per_second(rate):
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([kmg]?)(?:bit|bps)", rate.lower())
    if not match:
        raise RaceError(f"found rate '{rate}', expected one such as 100mbit")
    return float(match[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[match[2]]


# ---- the machine ------------------------------------------------------------------------------------------------


def processor_ticks():
    """(idle, all) of the whole machine since it was started."""
    with open("/proc/stat", encoding="ascii") as file:
        fields = [int(field) for field in file.readline().split()[1:9]]
    return fields[3] + fields[4], sum(fields)


def idle_part(before, after):
    return (after[0] - before[0]) / (after[1] - before[1]) if after[1] > before[1] else None


def softnet_drops():
    """Packets that the kernel's receive backlog had no room for, all processors."""
    with open("/proc/net/softnet_stat", encoding="ascii") as file:
        return sum(int(line.split()[1], 16) for line in file)


# ---- plans ------------------------------------------------------------------------------------------------------


class Plan:
    """A schedule file and its figures: `figures` as `libcoll plan --json` prints them."""

    def __init__(self, path, figures):
        self.path = path
        self.figures = figures
        root = xml.parse(path).getroot()
        routes = [int(route.get("class", "0")) for route in root.iter("route")]
        chunks = int(root.get("chunks_per_shard"))
        self.classes = max(routes, default=0)
        sums = defaultdict(int)
        for transfer in root.iter("t"):
            route = transfer.get("r")
            key = int(transfer.get("u")), int(transfer.get("v")), routes[int(route)] if route is not None else 0
            sums[key] += int(transfer.get("cnt"))
        self.flows = [(*key, count, chunks) for key, count in sorted(sums.items())]

    @property
    def is_steered(self):
        return self.classes > 0


def uniform_flows(nodes):
    """Every node to every other over the default routes."""
    return [(u, v, 0, 1, 1) for u in range(nodes) for v in range(nodes) if u != v]


# ---- the fabric -------------------------------------------------------------------------------------------------


class Fabric:
    """One emulated fabric; a context manager that takes it down."""

    def __init__(self, libcoll, name, log):
        self.libcoll = str(libcoll)
        self.command = [self.libcoll, "fabric", "--name", name]
        self.log = log
        self.routing = None
        self.hosts = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            call([*self.command, "down"])
        except RaceError as error:
            self.log(f"warning: {error}")

    def up(self, specification, rate, classes=0, ranks_per_node=1):
        """Brings it up, in place of what there was, with SSSP as default routing and no planned routes."""
        options = ["--rate", rate, "--ranks-per-node", str(ranks_per_node), "--default-routes", "sssp"]
        options += ["--share", tempfile.gettempdir()]  # where races keep their plans and figures
        if classes > 0:
            options += ["--layers", str(classes)]
        call([*self.command, "up", specification, *options])
        self.routing = ("sssp", None)
        status = self.status()
        self.hosts = [node["host"] for node in status["nodes"]]  # by number: where nodes are removed, names skip some
        return status

    def status(self):
        return json.loads(call([*self.command, "status", "--json"]))

    def follow(self, default_routes, plan):
        """Default routes by name for class 0 and the routes of a plan (None: none) for the others."""
        wanted = (default_routes, str(plan.path) if plan else None)
        if self.routing == wanted:
            return
        routes = [str(plan.path)] if plan else ["--none"]
        self.routing = None
        call([*self.command, "routes", *routes, "--default-routes", default_routes])
        self.routing = wanted

    def counters(self):
        status = self.status()
        return {
            "drops": sum(link["drops"] for link in status["links"]),
            "retransmits": sum(node["retransmits"] for node in status["nodes"]),
            "softnet_drops": softnet_drops(),
        }

    def job(self, command, environment, limit, directory=None):
        """Runs a command in the control namespace, in a directory if given: output lines, and what it took and lost."""
        before = self.counters()
        ticks = processor_ticks()
        started = time.monotonic()
        whole = [*self.command, "run", "--", *command]
        with subprocess.Popen(
            whole,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
            start_new_session=True,
            cwd=directory,
        ) as process:
            try:
                output, errors = process.communicate(timeout=limit)
            except subprocess.TimeoutExpired:
                output, errors = end(process)
                errors += f"\nstopped after {limit:.0f} s"
        after = self.counters()
        result = {key: after[key] - before[key] for key in after}
        result["wall_seconds"] = time.monotonic() - started
        result["idle"] = idle_part(ticks, processor_ticks())
        result["exit_code"] = process.returncode
        if process.returncode != 0 or "stopped after" in errors:
            result["error"] = "\n".join(errors.strip().splitlines()[-8:])
        return output.splitlines(), result

    def blaster(self, program, flows, nodes, folder):
        return Blaster(self, program, flows, nodes, folder)


def end(process):
    """Ends a job that was started in its own session, gently first."""
    output, errors = "", ""
    for wish, patience in ((signal.SIGTERM, 15), (signal.SIGKILL, 15)):
        try:
            os.killpg(process.pid, wish)
            output, errors = process.communicate(timeout=patience)
            break
        except ProcessLookupError:
            break
        except subprocess.TimeoutExpired:
            continue
    return output, errors


class Blaster:
    """A tcp_blaster on every node; a context manager that ends them. All connections stay open between runs."""

    margin = 0.1  # seconds from giving the order to the common start

    def __init__(self, fabric, program, flows, nodes, folder):
        self.fabric = fabric
        self.program = str(program)
        self.hosts = fabric.hosts[:nodes]
        self.path = Path(folder) / "flows"
        self.path.write_text("".join(" ".join(map(str, flow)) + "\n" for flow in flows))
        self.processes = []

    def __enter__(self):
        try:
            for node, host in enumerate(self.hosts):
                self.processes.append(
                    subprocess.Popen(
                        [*self.fabric.command, "exec", host, "--", self.program, str(node), str(self.path)],
                        stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE,
                        text=True,
                        bufsize=1,
                    )
                )
            self.expect("listening")
            self.tell("connect")
            self.expect("ready")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for process in self.processes:
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass
        for process in self.processes:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()

    def tell(self, order):
        for process in self.processes:
            try:
                process.stdin.write(order + "\n")
                process.stdin.flush()
            except BrokenPipeError:
                raise RaceError("a blaster ended early; what it said is above") from None

    def answers(self):
        for process in self.processes:
            line = process.stdout.readline().strip()
            if not line:
                raise RaceError("a blaster ended early; what it said is above")
            yield line

    def expect(self, word):
        for line in self.answers():
            if line != word:
                raise RaceError(f"a blaster said '{line}', expected '{word}'")

    def run(self, payload):
        """One all-to-all of `payload` bytes per flow: seconds from the common start to the last byte on any node."""
        start = time.monotonic() + self.margin
        self.tell(f"run {start:.9f} {payload}")
        time.sleep(max(0.0, start - time.monotonic()))
        before = processor_ticks()
        answers = [json.loads(line) for line in self.answers()]
        idle = idle_part(before, processor_ticks())
        seconds = max(answer["seconds"] for answer in answers)
        return {
            "seconds": seconds,
            "late": max(answer["late"] for answer in answers),
            "idle": idle if seconds >= 0.1 else None,
        }
