#!/usr/bin/env python3
"""Races as Markdown tables.

    benchmarks/race/table.py FILE.csv… [--brief] [--sizes 64K,1M] [--topologies hypercube:3 …]

One row per topology, size and contestant of ours; with --brief, one row per topology, with the times of the best native over
ours by size (where no native raced: of the bound). ~: what links let through at once flatters the figure. (…): not a result.
"""

import argparse
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import race_csv  # noqa: E402
from figures import milliseconds, names_type, show, size_text, sizes_type, spread  # noqa: E402

OURS = "libcoll "


def seconds_of(row):
    return {name: row[f"{name}_seconds"] for name in ("median", "min", "max")}


def flattered(row):
    return "" if row["bandwidth_bound"] else "~"


def verdict(row):
    return "" if row["is_result"] else f" (NOT A RESULT: {row['why_not']})"


# ---- collectives ------------------------------------------------------------------------------------------------


def collective_table(rows):
    yield ["topology", "size", "bound ms", "plan", "ms", "of bound", "of ceiling", "best native ms", "× native", "who"]
    for row in rows:
        if row["contestant"].startswith(OURS):
            yield [
                race_csv.fabric_name(row),
                size_text(row["size_bytes"]),
                show(row["bound_seconds"], scale=1e3),
                row["contestant"].removeprefix(OURS),
                milliseconds(seconds_of(row)),
                flattered(row) + show(row["of_bound"]),
                show(row["of_ceiling"]),
                show(row["best_native_seconds"], scale=1e3),
                show(row["over_best_native"]),
                (row["best_native"].removeprefix("native ") or "-") + verdict(row),
            ]


def brief_table(rows):
    rows = [row for row in rows if row["contestant"].startswith(OURS)]
    names = sorted({row["contestant"] for row in rows})
    sizes = sorted({row["size_bytes"] for row in rows})
    cells = {}
    for row in rows:
        cells.setdefault((race_csv.fabric_name(row), row["default_routes"]), {})[row["size_bytes"], row["contestant"]] = brief_cell(row)
    plans = " / ".join(name.removeprefix(OURS) for name in names)
    yield [f"topology ({plans})", "native routes", *map(size_text, sizes)]
    for (fabric, default_routes), by_size in cells.items():
        columns = [" / ".join(by_size.get((size, name), "-") for name in names) for size in sizes]
        yield [fabric, default_routes, *("" if set(column) <= set("- /") else column for column in columns)]


def brief_cell(row):
    figure = show(row["over_best_native"]) if row["best_native"] else flattered(row) + show(row["of_bound"])
    return figure if row["is_result"] else f"({figure})"


# ---- programs ---------------------------------------------------------------------------------------------------


def over_native(row):
    return "" if row["contestant"] == row["best_native"] else show(row["over_best_native"])


def fft_table(rows):
    yield ["topology", "grid", "bytes per pair", "who", "FFT", "pack", "all-to-all", "unpack", "ms", "× native", "first pair"]
    for row in rows:
        yield [
            race_csv.fabric_name(row),
            f"{row['grid']}³",
            str(row["size_bytes"]),
            row["contestant"],
            *(show(row[f"{phase}_seconds"], "{:.1f}", 1e3) for phase in ("fft", "pack", "alltoall", "unpack")),
            spread(*seconds_of(row).values(), 1e3, 1),
            over_native(row),
            show(row["first_pair_seconds"], "{:.0f}", 1e3),
        ]


def hpcc_table(rows):
    yield ["topology", "matrices", "who", "MPIFFT Gflop/s", "PTRANS MB/s", "all of hpcc, s"]
    for row in rows:
        yield [
            race_csv.fabric_name(row),
            str(row["matrix_order"]),
            row["contestant"],
            show(row["mpifft_gflops"], "{:.3f}"),
            show(row["ptrans_bytes_per_second"], "{:.1f}", 1e-6),
            show(row["median_seconds"], "{:.1f}"),
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--brief", action="store_true", help="of collectives: one row per topology")
    parser.add_argument("--sizes", type=sizes_type, help="such as 64K,1M")
    parser.add_argument("--ours", type=names_type, help="planners, comma-separated")
    parser.add_argument("--topologies", nargs="+", metavar="NAME")
    options = parser.parse_args()
    collectives = brief_table if options.brief else collective_table
    for path in options.files:
        try:
            rows = race_csv.read(path)
        except (OSError, race_csv.WrongFile) as error:
            sys.exit(f"table.py: {error}")
        make = {"fft": fft_table, "hpcc": hpcc_table}.get(rows[0]["race"], collectives)
        rows = [row for row in rows if not options.sizes or row.get("size_bytes") in options.sizes]
        rows = [row for row in rows if not options.topologies or row["topology"] in options.topologies]
        ours = options.ours and [OURS + name for name in options.ours]
        rows = [row for row in rows if not ours or not row["contestant"].startswith(OURS) or row["contestant"] in ours]
        for i, cells in enumerate(make(rows)):
            print("| " + " | ".join(cells) + " |")
            if i == 0:
                print("|" + "---|" * len(cells))


if __name__ == "__main__":
    main()
