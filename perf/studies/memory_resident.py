#!/usr/bin/env python3
"""Puts the growth of processes beside the memory predicted for the steps that they executed.

usage: perf/studies/memory_resident.py STUDIES OUTPUT.csv

STUDIES is the folder in which perf/studies/memory-resident.json ran. The prediction in summary.json is that of the
largest micro-batches that the corpus permits. This table has the largest prediction of the executed steps instead.
"""
import csv
import json
import pathlib
import sys


def make_row(row_file):
    row = json.loads(row_file.read_text())
    options = row["asked"]["options"]
    run = row_file.with_name(row_file.name.removesuffix(".row.json"))
    with open(run / "steps.jsonl", encoding="utf-8") as file:
        predicted = max(json.loads(line)["predicted_bytes"] for line in file)
    grown = json.loads((run / "summary.json").read_text())["memory_bytes"]["growth"]
    layout = {name: options.get(name, 1) for name in ("pipe", "data", "tensor")}
    return {
        **{name: options[name] for name in ("length", "schedule")},
        **layout,
        "predicted_bytes": predicted,
        "grown_bytes": grown,
        "ratio": grown / predicted,
        "program": row["figures"]["program"],
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    rows = [make_row(file) for file in sorted((pathlib.Path(sys.argv[1]) / "memory-resident").glob("*.row.json"))]
    with open(sys.argv[2], "w", encoding="utf-8", newline="") as file:
        file.write("# command: perf/studies/memory_resident.py\n")
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
