#!/usr/bin/env python3
"""Our transports beside the libraries' own measuring programs, two processes on this host, runs interleaved.

UCX beside ucx_perftest (Debian: ucx-utils), with what UCX_TLS and the like choose; libfabric's tcp;ofi_rxm beside
fi_pingpong (libfabric-bin). The table has medians over the runs, and the median and range of the ratios run by run."""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

SIZES = [4096, 16384, 65536, 262144, 1048576, 4194304]
PROVIDER = "tcp;ofi_rxm"


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.3, help="of each of our benchmarks (0.3)")
    return parser.parse_args()


def ours(options, transport):
    """By row of the table: microseconds one way, messages per second, or bytes per second."""
    program = [str(options.build / "bin" / "transport_benchmark"), f"--transport={transport}"]
    program += [f"--benchmark_min_time={options.seconds}", "--benchmark_format=json"]
    ran = subprocess.run(program, capture_output=True, text=True, check=True)
    rows = {}
    for each in json.loads(ran.stdout)["benchmarks"]:
        _, kind, size, *_ = each["name"].rsplit("/", 3)
        if kind == "latency":
            rows["latency", 8] = each["one_way"] * 1e6
        elif kind == "rate":
            rows["rate", 8] = each["items_per_second"]
        else:
            rows["bandwidth", int(size)] = each["bytes_per_second"]
    return rows


def between_two(server, client):
    """What the client says while a server runs."""
    with subprocess.Popen(server, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as other:
        time.sleep(0.3)  # it has no way to say that it listens
        ran = subprocess.run(client, capture_output=True, text=True, check=False, timeout=120)
        other.kill()
    if ran.returncode != 0:
        sys.exit(f"{' '.join(client)}: {ran.stdout}{ran.stderr}")
    return ran.stdout.splitlines()


def ucx_perftest():
    rows = {}
    tests = [("latency", "tag_lat", 8, 100000), ("rate", "tag_bw", 8, 1000000)]
    tests += [("bandwidth", "tag_bw", size, max(200, min(20000, (1 << 31) // size))) for size in SIZES]
    for port, (kind, test, size, count) in enumerate(tests, 13337):
        client = ["ucx_perftest", "-c", "0", "-p", str(port), "localhost", "-t", test, "-s", str(size)]
        client += ["-n", str(count), "-w", str(count // 10), "-f", "-v", "-O", "64" if kind == "rate" else "16"]
        header, values = (line.split(",") for line in between_two(["ucx_perftest", "-c", "1", "-p", str(port)], client)[-2:])
        found = {name.strip(): float(value) for name, value in zip(header, values)}
        if kind == "latency":
            rows[kind, size] = found["overall_lat"]
        elif kind == "rate":
            rows[kind, size] = found["overall_mr"]
        else:
            rows[kind, size] = found["overall_bw"] * (1 << 20)
    return rows


def fi_pingpong():
    command = ["taskset", "-c", "1", "fi_pingpong", "-p", PROVIDER, "-e", "rdm", "-S", "8", "-I", "10000"]
    lines = between_two(command, ["taskset", "-c", "0", *command[3:], "127.0.0.1"])
    header, values = lines[-2].split(), lines[-1].split()
    return {("latency", 8): float(dict(zip(header[-len(values) :], values))["usec/xfer"])}


def table(name, mine, theirs):
    print(f"| {name} | ours | theirs | ours / theirs |\n|---|---|---|---|")
    units = {"latency": (1, "µs one way"), "rate": (1e6, "million messages/s"), "bandwidth": (1e9, "GB/s")}
    for kind, size in theirs[0]:
        own, other = ([run[kind, size] for run in runs] for runs in (mine, theirs))
        scale, unit = units[kind]
        ratios = sorted(a / b for a, b in zip(own, other))
        row = [f"{size} B, {unit}", *(f"{statistics.median(values) / scale:.3g}" for values in (own, other))]
        print("| " + " | ".join(row) + f" | {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}) |")
    print()


def main():
    options = parse_arguments()
    for transport, program, measure in (("ucx", "ucx_perftest", ucx_perftest), (PROVIDER, "fi_pingpong", fi_pingpong)):
        if shutil.which(program) is None:
            print(f"{program} is not installed: nothing to compare {transport} with", file=sys.stderr)
            continue
        pairs = [(ours(options, transport), measure()) for _ in range(options.runs)]
        table(f"{transport}, {program}", [mine for mine, _ in pairs], [theirs for _, theirs in pairs])


if __name__ == "__main__":
    main()
