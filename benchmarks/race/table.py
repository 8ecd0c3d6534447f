#!/usr/bin/env python3
"""Races as a Markdown table: one row per topology, size and contestant of ours.

    benchmarks/race/table.py FILE.json… [--sizes 65536,1048576]
"""

import argparse
import json


def size_text(size):
    if size < 1 << 10:
        return f"{size} B"
    return f"{size >> 20} MB" if size >= 1 << 20 else f"{size >> 10} KB"


def spread(seconds):
    return (seconds["max"] - seconds["min"]) / 2


def rows_of(race, sizes):
    for row in race["rows"]:
        if sizes and row["size"] not in sizes:
            continue
        native = {n: r for n, r in row["results"].items() if n.startswith("native")}
        best = min(native, key=lambda name: native[name]["seconds"]["median"], default=None)
        for name in race["ours"]:
            if name not in row["results"]:
                continue
            result = row["results"][name]
            seconds = result["seconds"]
            cells = [race["topology"], size_text(row["size"]), f"{row['bound_seconds'] * 1e3:.2f}"]
            cells.append(name.removeprefix("libcoll "))
            cells.append(f"{seconds['median'] * 1e3:.2f} ± {spread(seconds) * 1e3:.2f}")
            flattered = "" if result["bandwidth_bound"] else "~"
            cells.append(f"{flattered}{result['of_bound']:.2f}")
            cells.append(f"{result['of_ceiling']:.2f}" if result.get("of_ceiling") else "-")
            if best is None:
                cells += ["-", "-", "-"]
            else:
                cells.append(f"{native[best]['seconds']['median'] * 1e3:.2f}")
                cells.append(f"{result['over_native']:.2f}")
                cells.append(best.removeprefix("native "))
            if not result["is_result"]:
                cells[-1] += " (NOT A RESULT: " + "; ".join(result["why_not"]) + ")"
            yield cells


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")], default=[])
    options = parser.parse_args()
    print("| topology | size | bound ms | plan | ms | of bound | of ceiling | best native ms | × native | who |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for path in options.files:
        with open(path, encoding="utf-8") as file:
            races = json.load(file)["results"]
        for race in races:
            for cells in rows_of(race, options.sizes):
                print("| " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
