"""Medians, ratios, sizes and columns of text."""

import argparse
import statistics
import sys
import time


def log(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def summary(values):
    """Median and spread; None where there is nothing."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values), "values": values}


def middle(entry):
    return entry["median"] if entry else None


def ratio(a, b):
    return a / b if a is not None and b else None


def show(value, form="{:.2f}", scale=1.0):
    return "-" if value is None else form.format(value * scale)


def size_text(size):
    for unit, name in ((1 << 20, "MB"), (1 << 10, "KB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def parse_size(text):
    factor = {"K": 1 << 10, "M": 1 << 20}.get(text[-1:].upper(), 1)
    number = text[:-1] if factor > 1 else text
    if not number.isdigit() or int(number) * factor < 4 or int(number) * factor % 4:
        raise argparse.ArgumentTypeError(f"found size '{text}', expected one such as 4K, 1M or 65536, a multiple of 4")
    return int(number) * factor


def sizes_type(text):
    return [parse_size(part) for part in text.split(",")]


def names_type(text):
    return [part for part in text.split(",") if part]


def print_columns(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.ljust(width) if i == len(row) - 1 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))]
        print("  " + "  ".join(cells).rstrip())


def spread(median, low, high, scale, digits):
    """Median ± half the spread."""
    return f"{median * scale:.{digits}f} ± {(high - low) / 2 * scale:.{digits}f}"


def milliseconds(entry):
    return spread(entry["median"], entry["min"], entry["max"], 1e3, 2) if entry else "-"
