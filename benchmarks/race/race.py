#!/usr/bin/env python3
"""Races of libcoll against native Open MPI on emulated fabrics. README.md beside this file says what is printed."""

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

sys.dont_write_bytecode = True

import race_csv  # noqa: E402
import topologies  # noqa: E402
from contestants import TRANSPORTS, chosen_name, native_contestants, our_contestants  # noqa: E402
from fabric import Fabric, Plan, RaceError, bits_per_second, call, uniform_flows  # noqa: E402
from figures import log, middle, milliseconds, names_type, print_columns, ratio, show, size_text, sizes_type, summary  # noqa: E402
from solution import print_fft, print_hpcc, race_fft, race_hpcc  # noqa: E402

LEAST_CEILING = 0.93  # of the prediction; below it the processor was measured, not the links
BURST = 128 * 1024  # bytes that a link of the fabric lets through at once
BANDWIDTH_BOUND = 8 * BURST  # from so many bytes on the busiest link on, bandwidth decides, and the ceiling counts
FLATTERED = 0.06  # where the burst is a larger part of them, ratios to bound and prediction are marked with ~
ROOTED = {"bcast": "broadcast", "reduce": "reduce"}  # what `libcoll plan` calls them
MOST_BLASTS = 20  # runs of the blaster per size and repetition: each waits a tenth of a second for its start


# ---- one topology -----------------------------------------------------------------------------------------------


class Track:
    """A topology with its fabric, plans and contestants."""

    def __init__(self, options, folder, fabric, named):
        self.options = options
        self.folder = folder
        self.fabric = fabric
        self.named = named
        facts = json.loads(call([options.libcoll, "topo", named.specification, "--json"]))
        self.nodes = facts["hosts"]
        self.degree = facts["degree_max"]
        self.rate = options.rate or topologies.default_rate(self.nodes)
        self.bytes_per_second = bits_per_second(self.rate) / 8
        self.ranks = self.nodes * options.ranks_per_node
        self.facts = facts
        self.specification = None
        self.default_routes = []
        self.plans = {}
        self.jobs = []

    def make_plan(self, collective, algorithm):
        """The plan that the runtime will find in the cache, too; None, with a word, where there is none. Of rooted
        collectives what blink has for root 0."""
        path = self.folder / f"{collective}-{algorithm}.xml"
        if collective in ROOTED:
            planned, planner = ROOTED[collective], "forestcoll" if algorithm == "blink" else algorithm
        else:
            planned, planner = collective, algorithm
        command = [self.options.libcoll, "plan", self.specification, planned, "--algorithm", planner, "--json"]
        command += ["--output", str(path)]
        if collective not in ROOTED:
            command += ["--cache", "--cache-dir", str(self.folder / "cache")]
        try:
            plan = Plan(path, json.loads(call(command)))
            if collective in ROOTED:  # its one shard is the vector
                plan.flows = [(u, v, c, count * self.nodes, chunks) for u, v, c, count, chunks in plan.flows]
            return plan
        except RaceError as error:
            log(f"{self.named.name}: no {algorithm}: {str(error).split(': ', 1)[-1]}")
            return None

    def bring_up(self, collective, algorithms):
        """Up once to have the fabric's own topology file, plan for exactly that, and up again with the classes the
        plans need."""
        status = self.fabric.up(self.named.specification, self.rate)
        copy = self.folder / "topology.toml"
        copy.write_bytes((Path(status["directory"]) / "topology.toml").read_bytes())
        self.specification = str(copy)
        wanted = list(dict.fromkeys([*algorithms, *self.options.default_routes]))
        if collective != "alltoall":
            wanted = list(algorithms)
        self.plans = {name: plan for name in wanted if (plan := self.make_plan(collective, name))}
        if collective == "alltoall":
            self.default_routes = [name for name in self.options.default_routes if name in self.plans]
        else:
            possible = [name for name in self.options.default_routes if self.can_follow(name)]
            self.default_routes = possible
        if not self.default_routes:
            raise RaceError(f"{self.named.name}: none of the default routes can be computed")
        classes = max((plan.classes for plan in self.plans.values()), default=0)
        self.fabric.up(self.specification, self.rate, classes, self.options.ranks_per_node)
        time.sleep(0.2)

    def can_follow(self, default_routes):
        try:
            self.fabric.follow(default_routes, None)
            return True
        except RaceError:
            return False

    def shares(self):
        """Payloads that a node sends to another where the plan has one: pairs of their ranks, or shards of a node."""
        return self.options.ranks_per_node ** (2 if self.options.race in ("alltoall", "fft", "hpcc") else 1)

    def load_of(self, route_set):
        """Payloads on the busiest link."""
        plan = self.plans[route_set.removeprefix("default ")]
        return plan.figures["max_link_load"] * self.shares()

    def bound_seconds(self, collective, size):
        """The least time any schedule needs for this size on these links."""
        figures = next(iter(self.plans.values())).figures
        if collective == "alltoall":
            best = max(plan.figures["F"] for plan in self.plans.values())
            return size * self.shares() / (best * self.bytes_per_second)
        if collective in ROOTED:
            vector = size * self.shares() * self.nodes
            return float(Fraction(figures["bandwidth_bound"])) * vector / (self.degree * self.bytes_per_second)
        one_way = size * self.shares() * (self.nodes - 1) / (self.degree * self.bytes_per_second)
        return one_way * (2 if figures["collective"] == "allreduce" else 1)

    def flows_of(self, route_set):
        if route_set.startswith("default "):
            return uniform_flows(self.nodes)
        return self.plans[route_set].flows

    def follow(self, route_set, default_routes):
        plan = None if route_set.startswith("default ") else self.plans[route_set]
        steered = plan if plan and plan.is_steered else None
        self.fabric.follow(default_routes, steered)

    def about(self):
        """What every result says of its topology."""
        return {
            "topology": self.named.name,
            "nodes": self.nodes,
            "links": self.facts["links"],
            "degree": self.degree,
            "ranks_per_node": self.options.ranks_per_node,
            "rate": self.rate,
            "bytes_per_second": self.bytes_per_second,
            "default_routes": self.default_routes,
            "in_a_row": self.options.in_a_row,
        }

    # -- measuring

    def blast(self, route_set, sizes):
        """Seconds of plain TCP by size, over the same routes: {size: [run, …]}."""
        default = route_set.removeprefix("default ") if route_set.startswith("default ") else self.default_routes[0]
        self.follow(route_set, default)
        program = self.options.build / "bin" / "tcp_blaster"
        runs = {size: [] for size in sizes}
        before = self.fabric.counters()
        with self.fabric.blaster(program, self.flows_of(route_set), self.nodes, self.folder) as blaster:
            blaster.run(4096)
            for size in sizes:
                spent = 0
                while len(runs[size]) < min(self.options.calls, MOST_BLASTS) and (spent < self.options.seconds_per_size or not runs[size]):
                    together = blaster.run(size * self.shares() * self.options.in_a_row)
                    spent += together["seconds"]
                    runs[size].append(together | {"seconds": together["seconds"] / self.options.in_a_row})
        after = self.fabric.counters()
        lost = {key: after[key] - before[key] for key in after}
        self.jobs.append({"contestant": f"blaster {route_set}", **lost})
        return runs

    def command(self, contestant, program):
        launch = ["mpirun", "-n", str(self.ranks), *contestant.options]
        if contestant.native:
            return [*launch, "-x", f"LD_PRELOAD={self.options.build / 'lib' / 'yield_sleep.so'}", *program]
        libcoll = [self.options.libcoll, "run", "--cache-dir", str(self.folder / "cache")]
        library = self.options.library
        if library:
            libcoll += ["--library", str(library)]
        return [*libcoll, "--", *launch, *program]

    def run(self, contestant, program, limit, what, environment=None, directory=None):
        self.follow(contestant.route_set, contestant.default_routes)
        environment = {**contestant.environment, **(environment or {})}
        lines, job = self.fabric.job(self.command(contestant, program), environment, limit, directory)
        job = {"contestant": contestant.name, "what": what, **job}
        self.jobs.append(job)
        if "error" in job:
            log(f"{self.named.name}: {contestant.name} failed: {job['error'].splitlines()[-1]}")
        return lines, job

    def sweep(self, contestant, sizes, calls, warmup, limits, what):
        """Runs the program once over sizes. {size: {"seconds": median of its calls, "idle", "served", "calls"}}."""
        per_size, in_all, job_limit = limits
        program = [str(self.options.build / "bin" / "collective_race"), contestant.collective]
        program += ["-s", ",".join(map(str, sizes)), "-i", str(calls), "-w", str(warmup)]
        program += ["-b", str(self.options.in_a_row), "-t", f"{per_size:.3f}", "-l", f"{in_all:.3f}"]
        lines, job = self.run(contestant, program, job_limit, what)
        calls_of, ends = {}, {}
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if "seconds" in entry:
                calls_of.setdefault(entry["size"], []).append(entry)
            elif "calls" in entry:
                ends[entry["size"]] = entry
        if any(not entry["correct"] for entry in ends.values()):
            job["wrong"] = True
            log(f"{self.named.name}: {contestant.name}: WRONG RESULTS")
        result = {}
        for size, entry in ends.items():
            timed = calls_of.get(size, [])
            if not timed or not entry["correct"]:
                continue
            result[size] = {
                "seconds": statistics.median(call_["seconds"] for call_ in timed),
                "idle": middle(summary([call_["idle"] for call_ in timed])),
                "served": entry["served"],
                "calls": entry["calls"],
                "drops": job["drops"] + job["softnet_drops"],
                "retransmits": job["retransmits"],
            }
        return result


# ---- the race of one collective ---------------------------------------------------------------------------------


def predicted_seconds(track, collective, route_set, size):
    """By the load of the routes in use; None where nothing is predicted."""
    if collective == "alltoall":
        return track.load_of(route_set) * size / track.bytes_per_second
    if route_set.startswith("default "):
        return None
    figures = track.plans[route_set].figures
    vector = size * track.shares() * track.nodes
    return figures["bandwidth_time_float"] * vector / (track.degree * track.bytes_per_second)


def screen(track, collective, natives, sizes):
    """Every native variant once. By size: the names of the best few, and how many ran."""
    options = track.options
    bounds = sum(track.bound_seconds(collective, size) for size in sizes) * options.in_a_row
    limits = 1e-3, 3 * bounds + 3, 60 + 20 * bounds
    seen = {}
    for i, contestant in enumerate(natives):
        log(f"{track.named.name}: screening {i + 1} of {len(natives)}: {contestant.name}")
        seen[contestant.name] = track.sweep(contestant, sizes, 1, 1, limits, "screening")
    kept, ran = {}, {}
    for size in sizes:
        times = sorted((result[size]["seconds"], name) for name, result in seen.items() if size in result)
        kept[size] = [name for _, name in times[: options.keep]]
        ran[size] = len(times)
    return kept, ran


def measure(track, collective, ours, natives, kept, sizes):
    """Interleaved repetitions. {contestant: {size: [entry, …]}}, {route set: {size: [run, …]}}."""
    options = track.options
    bounds = {size: track.bound_seconds(collective, size) * options.in_a_row for size in sizes}
    field = sorted([*ours, *natives], key=lambda c: (c.default_routes, c.route_set, c.name))
    needed = {c.name: [size for size in sizes if not c.native or c.name in kept[size]] for c in field}
    route_sets = [name for name in options.ours if name in track.plans]  # without contestants, too: a ceiling by itself
    route_sets = list(dict.fromkeys([*route_sets, *(c.route_set for c in field if needed[c.name])]))
    if collective != "alltoall":
        route_sets = [name for name in route_sets if not name.startswith("default ")]
    results = {c.name: {} for c in field}
    ceilings = {name: {size: [] for size in sizes} for name in route_sets}
    for repetition in range(options.repetitions):
        log(f"{track.named.name}: repetition {repetition + 1} of {options.repetitions}")
        for name in route_sets:
            for size, runs in track.blast(name, sizes).items():
                ceilings[name][size] += runs
        for contestant in field:
            if not needed[contestant.name]:
                continue
            job_limit = 60 + 20 * (options.calls + 1) * sum(max(bounds[s], 0.02) for s in needed[contestant.name])
            limits = options.seconds_per_size, 1e6, job_limit
            swept = track.sweep(
                contestant, needed[contestant.name], options.calls, options.warmup, limits, f"repetition {repetition}"
            )
            for size, entry in swept.items():
                results[contestant.name].setdefault(size, []).append(entry)
    return results, ceilings


def row_of(track, collective, size, ours, natives, results, ceilings):
    bound = track.bound_seconds(collective, size)
    row = {"size": size, "bound_seconds": bound, "route_sets": {}, "results": {}}
    route_sets = {contestant.name: contestant.route_set for contestant in [*ours, *natives]}
    for name, by_size in ceilings.items():
        predicted = predicted_seconds(track, collective, name, size)
        blasted = summary([run["seconds"] for run in by_size[size]])
        row["route_sets"][name] = {
            "predicted_seconds": predicted,
            "blaster_seconds": blasted,
            "ceiling": ratio(predicted, middle(blasted)),
            "bytes_on_busiest_link": predicted and predicted * track.bytes_per_second * track.options.in_a_row,
            "idle": middle(summary([run["idle"] for run in by_size[size]])),
        }
    for name, by_size in results.items():
        entries = by_size.get(size, [])
        if entries:
            row["results"][name] = {
                "route_set": route_sets[name],
                "seconds": summary([entry["seconds"] for entry in entries]),
                "idle": middle(summary([entry["idle"] for entry in entries])),
                "drops": sum(entry["drops"] for entry in entries),
                "retransmits": sum(entry["retransmits"] for entry in entries),
                "served": min((entry["served"] for entry in entries if entry["served"] is not None), default=None),
                "calls": max(entry["calls"] for entry in entries),
                "left_to_mpi": max(entry["calls"] - (entry["served"] or 0) for entry in entries),
            }
    row["best_native"], row["best_native_seconds"] = race_csv.best_native_of(row["results"])
    for contestant in ours:
        if contestant.name in row["results"]:
            judge(row, contestant, row["results"][contestant.name])
    return row


def judge(row, contestant, result):
    """Whether a time of ours is a result at all."""
    routes = row["route_sets"].get(contestant.route_set, {})
    why = []
    ceiling = routes.get("ceiling")
    result["bandwidth_bound"] = (routes.get("bytes_on_busiest_link") or 0) >= BANDWIDTH_BOUND
    if ceiling is not None and ceiling < LEAST_CEILING and result["bandwidth_bound"]:
        why.append(f"ceiling {ceiling:.2f}")
    if result["drops"]:
        why.append(f"{result['drops']} drops")
    may_be_left = contestant.name == chosen_name
    if not may_be_left and result["left_to_mpi"] > 0:
        why.append("not served by libcoll")
    result["is_result"] = not why
    result["why_not"] = why


def race_collective(track, collective, algorithms):
    options = track.options
    track.bring_up(collective, algorithms)
    planned = [name for name in algorithms if name in track.plans]
    ours = our_contestants(collective, planned, track.default_routes, options.unpaced, options.chosen)
    if options.no_ours:
        ours = []
    programs = {"reduce_scatter": ["reduce_scatter_block", "reduce_scatter"]}.get(collective, [collective])
    natives = native_contestants(programs, track.ranks, track.default_routes, options.transports)
    if options.no_native:
        natives = []
    sizes = options.sizes
    kept = {size: [c.name for c in natives] for size in sizes}
    ran = {size: len(natives) for size in sizes}
    if options.screen and natives:
        kept, ran = screen(track, collective, natives, sizes)
    results, ceilings = measure(track, collective, ours, natives, kept, sizes)
    table = [row_of(track, collective, size, ours, natives, results, ceilings) for size in sizes]
    return {
        "race": collective,
        **track.about(),
        "plans": {name: {**plan.figures, "classes": plan.classes} for name, plan in track.plans.items()},
        "ours": [c.name for c in ours],
        "rows": [{**row, "native_variants": ran[row["size"]]} for row in table],
        "jobs": track.jobs,
    }


# ---- tables -----------------------------------------------------------------------------------------------------


def print_race(result):
    print(f"\n{result['race']} on {result['topology']}: N = {result['nodes']}, links of {result['rate']}, ", end="")
    print(f"{result['ranks_per_node']} rank{'s' if result['ranks_per_node'] > 1 else ''} per node", end="")
    print(f", {result['in_a_row']} calls in a row" if result["in_a_row"] > 1 else "")
    for name, plan in result["plans"].items():
        if result["race"] == "alltoall":
            print(f"  {name}: F = {plan['F']:.6g}, load {plan['max_link_load']:.6g}, {plan['classes']} classes")
        else:
            print(f"  {name}: T_B = {plan['bandwidth_time']} M/B, bound {plan['bandwidth_bound']}, {plan['steps']} steps")
    rows = [["size", "bound", "routes", "predicted", "blaster", "ceiling", "ms", "of bound", "of ceiling", "x native", "idle", "drops", "retr", "who"]]
    for row in result["rows"]:
        rows += rows_of_size(result, row)
    print_columns(rows)


def rows_of_size(result, row):
    rows = []
    first = [size_text(row["size"]), show(row["bound_seconds"], scale=1e3)]
    names = [name for name in result["ours"] if name in row["results"]]
    if row["best_native"]:
        names.append(row["best_native"])
    for name in names:
        entry = row["results"][name]
        routes = row["route_sets"].get(entry["route_set"], {})
        rows.append(
            [
                *first,
                entry["route_set"],
                show(routes.get("predicted_seconds"), scale=1e3),
                show(middle(routes.get("blaster_seconds")), scale=1e3),
                show(routes.get("ceiling"), flattered(row, result) + "{:.2f}"),
                milliseconds(entry["seconds"]),
                show(ratio(row["bound_seconds"], entry["seconds"]["median"]), flattered(row, result) + "{:.2f}"),
                show(ratio(middle(routes.get("blaster_seconds")), entry["seconds"]["median"])),
                show(ratio(row["best_native_seconds"], entry["seconds"]["median"]) if name in result["ours"] else None),
                show(entry["idle"]),
                str(entry["drops"]),
                str(entry["retransmits"]),
                name + verdict(entry),
            ]
        )
        first = ["", ""]
    shown = {row_[2] for row_ in rows}
    for name, routes in row["route_sets"].items():  # without contestants: still the ceiling of the machine
        if name not in shown:
            cells = [show(routes["predicted_seconds"], scale=1e3), show(middle(routes["blaster_seconds"]), scale=1e3)]
            rows.append([*first, name, *cells, show(routes["ceiling"]), *["-"] * 4, show(routes["idle"]), "-", "-", "blaster only"])
            first = ["", ""]
    return rows


def flattered(row, result):
    """A mark where the bytes that a link lets through at once make a visible part of the bound."""
    bytes_timed = row["bound_seconds"] * result["bytes_per_second"] * result["in_a_row"]
    return "~" if BURST > FLATTERED * bytes_timed else ""


def verdict(entry):
    if entry.get("is_result") is False:
        return "  NOT A RESULT: " + ", ".join(entry["why_not"])
    return ""


# ---- command line -----------------------------------------------------------------------------------------------


def grids_type(text):
    return [int(part) for part in text.split(",")]


def parse(arguments):
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(prog="race.py", description=__doc__)
    parser.add_argument("race", choices=["alltoall", "allgather", "reduce_scatter", "allreduce", "bcast", "reduce", "fft", "hpcc"])
    parser.add_argument("--topologies", nargs="+", metavar="NAME", help="specifications, files, edge_punctured:1-10, …")
    parser.add_argument("--sizes", type=sizes_type, help="such as 4K,64K,1M; default: 4K to 4M (to 1M from 17 nodes on)")
    parser.add_argument("--repetitions", type=int, default=5, help="of every contestant, in turn (%(default)s)")
    parser.add_argument("--calls", type=int, default=5, help="timed calls of a size in one job (%(default)s)")
    parser.add_argument("--warmup", type=int, default=1, help="calls before them (%(default)s)")
    parser.add_argument("--in-a-row", type=int, default=1, metavar="CALLS", help="so many, one right after the other, are timed together (%(default)s)")
    parser.add_argument("--seconds-per-size", type=float, default=2.0, help="fewer calls once they took so long (%(default)s)")
    parser.add_argument("--rate", help="of the links; default: 100mbit, from 17 nodes on 50mbit")
    parser.add_argument("--ranks-per-node", type=int, default=1)
    parser.add_argument("--ours", type=names_type, help="planners, comma-separated; default: mcf-link,mcf-path, bfb or blink")
    parser.add_argument("--transports", type=names_type, default=list(TRANSPORTS), help="of native MPI: " + ",".join(TRANSPORTS))
    parser.add_argument("--default-routes", type=names_type, default=["dor", "sssp"], help="for native MPI (dor,sssp)")
    parser.add_argument("--screen", action="store_true", help="run every native variant once, repeat only the best")
    parser.add_argument("--keep", type=int, default=2, help="how many variants of a size screening keeps (%(default)s)")
    parser.add_argument("--unpaced", action="store_true", help="each of ours also without injection rate control")
    parser.add_argument("--chosen", action="store_true", help="ours also as the cost model chooses, over the first one's routes")
    parser.add_argument("--no-ours", action="store_true", help="native and the blaster only")
    parser.add_argument("--no-native", action="store_true", help="ours and the blaster only")
    parser.add_argument("--grids", type=grids_type, default=[108, 216], help="edge of the FFT's box, rounded to the ranks")
    parser.add_argument("--fft-pairs", type=int, default=10, help="timed pairs of transforms in one job, after one that is not (%(default)s)")
    parser.add_argument("--hpcc-order", type=int, default=1000, help="of hpcc's matrices (%(default)s)")
    parser.add_argument("--build", type=Path, default=root / "build", help="build folder (build)")
    parser.add_argument("--libcoll", help="another libcoll command than the build's")
    parser.add_argument("--library", type=Path, help="another library to preload than the one beside the command")
    parser.add_argument("--name", default="race", help="of the fabric (%(default)s)")
    parser.add_argument("--output", type=Path, help="CSV file, written after every topology; older rows of the same keys go, others stay")
    options = parser.parse_args(arguments)
    finish_options(parser, options)
    return options


def finish_options(parser, options):
    options.build = options.build.resolve()
    options.libcoll = options.libcoll or str(options.build / "bin" / "libcoll")
    if options.ours is None:
        planners = {"bcast": ["blink"], "reduce": ["blink"]}
        planners |= dict.fromkeys(("alltoall", "fft", "hpcc"), ["mcf-link", "mcf-path"])
        options.ours = planners.get(options.race, ["bfb"])
    if options.topologies is None:
        defaults = {"alltoall": topologies.ALLTOALL, "fft": topologies.FFT, "hpcc": topologies.HPCC}
        options.topologies = defaults.get(options.race, topologies.ALLGATHER)
    for name in options.transports:
        if name not in TRANSPORTS:
            parser.error(f"found transport '{name}', expected some of {', '.join(TRANSPORTS)}")
    for file in (Path(options.libcoll), *(options.build / "bin" / name for name in ("tcp_blaster", "collective_race"))):
        if not file.is_file():
            parser.error(f"{file} is missing; build first, or give --build")
    options.sizes_given = options.sizes
    options.written = []
    if options.output and options.output.exists():
        try:
            options.written = race_csv.read(options.output)
        except race_csv.WrongFile as error:
            parser.error(str(error))
        if race_csv.columns_of(options.written[0]["race"]) != race_csv.columns_of(options.race):
            parser.error(f"{options.output} is of another race, {options.written[0]['race']}")


def sizes_for(options, nodes):
    """Factors of four; the largest only where all buffers of the ranks fit and a call does not take ten seconds."""
    largest = 4 << 20 if nodes <= 16 else 1 << 20
    return options.sizes_given or [4096 * 4**i for i in range(12) if 4096 * 4**i <= largest]


def race_one(options, folder, fabric, named):
    track = Track(options, folder, fabric, named)
    options.sizes = sizes_for(options, track.nodes)
    log(f"{named.name}: {track.nodes} nodes, links of {track.rate}")
    if options.race in ("fft", "hpcc"):
        race, table = {"fft": (race_fft, print_fft), "hpcc": (race_hpcc, print_hpcc)}[options.race]
        result = race(track)
        table(result)
        return result
    result = race_collective(track, options.race, options.ours)
    print_race(result)
    return result


def main(arguments):
    options = parse(arguments)
    written, failures = options.written, 0
    for interruption in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(interruption, lambda number, _: sys.exit(128 + number))
    for name in list(os.environ):
        if name.startswith(("LIBCOLL_", "OMPI_MCA_", "UCX_")) or name == "LD_PRELOAD":
            del os.environ[name]  # a user's settings must not decide what is measured
    with tempfile.TemporaryDirectory(prefix="libcoll-race-") as scratch, Fabric(options.libcoll, options.name, log) as fabric:
        for i, named in enumerate(topologies.expand(options.topologies, scratch)):
            folder = Path(scratch) / str(i)
            folder.mkdir()
            started = time.strftime("%F %T")
            try:
                result = race_one(options, folder, fabric, named)
                failures += any(job.get("wrong") for job in result["jobs"])
                written = race_csv.merged(written, race_csv.rows_of(result, started))
            except RaceError as error:
                log(f"{named.name}: {error}")
                failures += 1
            sys.stdout.flush()
            if options.output and written:
                race_csv.write(options.output, written)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
