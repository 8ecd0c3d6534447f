"""Races of whole programs: the 3D FFT by phases, and what hpcc says of its FFT and its transposition."""

import json
import statistics
from pathlib import Path

from contestants import native_contestants, our_contestants
from figures import log, middle, milliseconds, print_columns, show, spread, summary

PHASES = ("FFT", "pack", "all-to-all", "unpack")
HPCC_INPUT = Path(__file__).resolve().parents[2] / "config" / "hpcc" / "hpccinf.txt"


# ---- who runs, in turn ------------------------------------------------------------------------------------------


def contestants(track):
    """Ours and native ones, for a program that spends its communication in all-to-alls."""
    options = track.options
    track.bring_up("alltoall", options.ours)
    ours = our_contestants("alltoall", [name for name in options.ours if name in track.plans], track.default_routes)
    natives = native_contestants(["alltoall"], track.ranks, track.default_routes, options.transports)
    return [] if options.no_ours else ours, [] if options.no_native else natives


def in_turn(track, ours, natives, name, once, repetitions):
    """{contestant: [run, …]}. once(contestant, is screening, what) has "seconds", or is None."""
    options = track.options
    field = natives
    if options.screen:
        screening = {}
        for contestant in natives:
            log(f"{track.named.name}: screening {name}: {contestant.name}")
            run = once(contestant, True, "screening")
            if run:
                screening[contestant.name] = run["seconds"]
        best = sorted(screening, key=screening.get)[: options.keep]
        field = [contestant for contestant in natives if contestant.name in best]
    runs = {}
    for repetition in range(repetitions):
        log(f"{track.named.name}: {name}, repetition {repetition + 1} of {repetitions}")
        for contestant in sorted([*ours, *field], key=lambda c: (c.default_routes, c.route_set, c.name)):
            run = once(contestant, False, f"repetition {repetition}")
            if run:
                runs.setdefault(contestant.name, []).append(run)
    return runs


# ---- the FFT ----------------------------------------------------------------------------------------------------


def fft_grid(ranks, wanted):
    """The multiple of the ranks nearest to what was asked for, within what the program takes."""
    grid = max(1, round(wanted / ranks)) * ranks
    return max(grid, -(-16 // ranks) * ranks)


def fft_once(track, contestant, grid, repetitions, limit, what):
    program = [str(track.options.build / "bin" / "fft3d_slab_alltoall"), str(grid), str(repetitions)]
    lines, job = track.run(contestant, program, limit, what)
    bands, served, first = {}, None, None
    for line in lines:
        if line.startswith("# Time of a first pair, not counted: "):
            first = float(line.split(": ")[1].split()[0])
        for phase in PHASES:
            if line.startswith(f"# Time in {phase}: "):
                bands[phase] = float(line.split(": ")[1].split()[0]) * 1e-6
        if line.startswith("# Served by libcoll: ") and line.endswith("(alltoall)"):
            served = line.removeprefix("# Served by libcoll: ").removesuffix(" calls (alltoall)")
    if job["exit_code"] != 0 or len(bands) < len(PHASES):
        return None
    lost = job["drops"] + job["softnet_drops"]
    return {"bands": bands, "seconds": sum(bands.values()), "first_pair": first, "served": served, "idle": job["idle"], "drops": lost}


def race_fft(track):
    options = track.options
    ours, natives = contestants(track)
    result = {"race": "fft", **track.about(), "grids": []}
    for wanted in options.grids:
        grid = fft_grid(track.ranks, wanted)
        block = (grid // track.ranks) ** 2 * grid * 16
        limit = 120 + 60 * options.fft_pairs * track.bound_seconds("alltoall", block)

        def once(contestant, is_screening, what, grid=grid, limit=limit):
            return fft_once(track, contestant, grid, 1 if is_screening else options.fft_pairs, limit, what)

        runs = in_turn(track, ours, natives, f"FFT {grid}", once, options.repetitions)
        entry = {"grid": grid, "bytes_per_pair": block, "results": {}}
        for name, all_runs in runs.items():
            entry["results"][name] = {
                "seconds": summary([run["seconds"] for run in all_runs]),
                "bands": {phase: statistics.median(run["bands"][phase] for run in all_runs) for phase in PHASES},
                "first_pair": summary([run["first_pair"] for run in all_runs]),
                "served": all_runs[-1]["served"],
                "idle": middle(summary([run["idle"] for run in all_runs])),
                "drops": sum(run["drops"] for run in all_runs),
            }
        result["grids"].append(entry)
    result["jobs"] = track.jobs
    return result


def print_fft(result):
    print(f"\n3D FFT on {result['topology']}: N = {result['nodes']}, links of {result['rate']}")
    rows = [["grid", "bytes per pair", "FFT", "pack", "all-to-all", "unpack", "ms", "first pair", "idle", "drops", "served", "who"]]
    for entry in result["grids"]:
        for name, one in sorted(entry["results"].items(), key=lambda item: item[1]["seconds"]["median"]):
            bands = [f"{one['bands'][phase] * 1e3:.1f}" for phase in PHASES]
            rows.append(
                [
                    f"{entry['grid']}^3",
                    str(entry["bytes_per_pair"]),
                    *bands,
                    milliseconds(one["seconds"]),
                    show(middle(one["first_pair"]), "{:.0f}", 1e3),
                    show(one["idle"]),
                    str(one["drops"]),
                    one["served"] or "-",
                    name,
                ]
            )
    print_columns(rows)


# ---- hpcc -------------------------------------------------------------------------------------------------------


def hpcc_input(ranks, order):
    """hpcc's own example for our tests, with another order of the matrices and a process grid of all ranks."""
    rows = max(p for p in range(1, int(ranks**0.5) + 1) if ranks % p == 0)
    values = {"Ns": order, "Ps": rows, "Qs": ranks // rows, "values of N": order}
    lines = []
    for line in HPCC_INPUT.read_text(encoding="ascii").splitlines():
        number, _, meaning = line.partition(" ")
        lines.append(f"{values[meaning.strip()]} {meaning.strip()}" if number.isdigit() and meaning.strip() in values else line)
    return "\n".join(lines) + "\n"


def hpcc_served(path):
    """"22 of 22" all-to-alls, from libcoll's statistics; None of a native run."""
    if not path.exists():
        return None
    calls = json.loads(path.read_text(encoding="utf-8"))["collectives"].get("alltoall", {})
    return f"{calls.get('served', 0)} of {calls.get('served', 0) + calls.get('fallen_through', 0)}"


def hpcc_once(track, contestant, order, limit, what):
    folder = track.folder / "hpcc"
    folder.mkdir(exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    (folder / "hpccinf.txt").write_text(hpcc_input(track.ranks, order), encoding="ascii")
    environment = {} if contestant.native else {"LIBCOLL_STATS": f"json:{folder / 'statistics.json'}"}
    _, job = track.run(contestant, ["hpcc"], limit, what, environment, folder)
    said = {}
    if (folder / "hpccoutf.txt").exists():
        for line in (folder / "hpccoutf.txt").read_text(encoding="ascii", errors="replace").splitlines():
            name, is_value, value = line.partition("=")
            if is_value and name in ("MPIFFT_N", "MPIFFT_Gflops", "PTRANS_GBs", "PTRANS_residual", "Success"):
                said[name] = float(value)
    if job["exit_code"] != 0 or said.get("Success") != 1 or said["MPIFFT_Gflops"] <= 0:
        return None
    length = said["MPIFFT_N"]
    return {
        "seconds": job["wall_seconds"],
        "fft_length": int(length),
        "fft_gflops": said["MPIFFT_Gflops"],
        "transposition_bytes_per_second": said["PTRANS_GBs"] * 1e9,
        "served": hpcc_served(folder / "statistics.json"),
        "drops": job["drops"] + job["softnet_drops"],
    }


def race_hpcc(track):
    options = track.options
    ours, natives = contestants(track)
    names = {f"native {routes} {transport} default" for routes in options.default_routes for transport in options.transports}
    natives = [contestant for contestant in natives if contestant.name in names]  # hpcc takes minutes

    def once(contestant, _, what):
        return hpcc_once(track, contestant, options.hpcc_order, 900, what)

    runs = in_turn(track, ours, natives, "hpcc", once, options.repetitions)
    results = {}
    for name, all_runs in runs.items():
        results[name] = {
            **{key: summary([run[key] for run in all_runs]) for key in ("seconds", "fft_gflops", "transposition_bytes_per_second")},
            "fft_length": all_runs[-1]["fft_length"],
            "served": all_runs[-1]["served"],
            "drops": sum(run["drops"] for run in all_runs),
        }
    return {"race": "hpcc", **track.about(), "order": options.hpcc_order, "results": results, "jobs": track.jobs}


def print_hpcc(result):
    print(f"\nhpcc on {result['topology']}: N = {result['nodes']}, links of {result['rate']}, matrices of order {result['order']}")
    rows = [["MPIFFT length", "MPIFFT Gflop/s", "PTRANS Mbyte/s", "s", "drops", "served", "who"]]
    for name, one in sorted(result["results"].items(), key=lambda item: -item[1]["fft_gflops"]["median"]):
        gflops, moved = one["fft_gflops"], one["transposition_bytes_per_second"]
        rows.append(
            [
                str(one["fft_length"]),
                spread(gflops["median"], gflops["min"], gflops["max"], 1, 4),
                spread(moved["median"], moved["min"], moved["max"], 1e-6, 1),
                f"{one['seconds']['median']:.1f}",
                str(one["drops"]),
                one["served"] or "-",
                name,
            ]
        )
    print_columns(rows)
