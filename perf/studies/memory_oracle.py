#!/usr/bin/env python3
"""Compares memory plans per step with the best fixed --recompute and with an oracle.

usage: perf/studies/memory_oracle.py STUDIES OUTPUT.csv

STUDIES is the folder in which perf/studies/memory-per-step.json and memory-static.json ran. The oracle knows the time of
every step in each run with a fixed --recompute. For each step, it picks the fastest run of the same layout whose
memory in this step is within the limit. Its time is the sum over the steps. Exit code 1 if a run with --elastic length
does not reach 0.97 of the oracle's speed, or was refused although the oracle fits. Fields of refused runs are empty.
"""
import csv
import json
import math
import pathlib
import sys

MIN_SHARE = 0.97
LIMITS = ["48GB", "40GB", "30GB", "22GB", "20GB"]


class Run:
    """The options of a run, and the seconds and predicted bytes of its steps."""

    def __init__(self, row_file, row):
        self.options = row["asked"]["options"]
        self.program = row["figures"]["program"]
        with open(row_file.with_name(row_file.name.removesuffix(".row.json")) / "steps.jsonl", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.steps = [(line["seconds"], line["predicted_bytes"]) for line in lines]
        self.seconds = sum(seconds for seconds, _ in self.steps)

    def layout(self):
        return self.options["pipe"], self.options["data"]

    def fits(self, limit):
        return all(needed <= limit for _, needed in self.steps)


def read_runs(studies):
    names = ("memory-per-step", "memory-static")
    files = [file for name in names for file in sorted((studies / name).glob("*.row.json"))]
    rows = [(file, json.loads(file.read_text())) for file in files]
    for file, row in rows:
        if row["failure"] and "--memory-limit" not in row["failure"]:
            sys.exit(f"{file} failed: {row['failure']}")
    return [Run(file, row) for file, row in rows if not row["failure"]]


def find_oracle(runs, limit):
    """Returns the oracle's seconds, or None if some step fits in no run."""

    total = 0
    for of_step in zip(*(run.steps for run in runs), strict=True):
        fitting = [seconds for seconds, needed in of_step if needed <= limit]
        if not fitting:
            return None
        total += min(fitting)
    return total


def make_table(runs):
    fixed = [run for run in runs if "elastic" not in run.options]
    for length in ("step", "balanced"):
        for limit_text in LIMITS:
            limit = 1e9 * int(limit_text.removesuffix("GB"))
            of_length = [run for run in fixed if run.options["length"] == length]
            for layout in [("8", "1"), ("4", "2"), ("2", "4")]:
                of_layout = [run for run in of_length if run.layout() == layout]
                fastest = min((run for run in of_layout if run.fits(limit)), key=lambda run: run.seconds, default=None)
                elastic = {
                    run.options["elastic-means"]: run.seconds
                    for run in runs
                    if run.options.get("memory-limit") == limit_text
                    and run.options["length"] == length
                    and run.layout() == layout
                }
                oracle = find_oracle(of_layout, limit)
                yield {
                    "length": length,
                    "limit": limit_text,
                    "stages": layout[0],
                    "replicas": layout[1],
                    "fixed_s": fastest and fastest.seconds,
                    "fixed_recompute": fastest and fastest.options["recompute"],
                    "recompute_s": elastic.get("recompute"),
                    "both_s": elastic.get("recompute,offload"),
                    "oracle_s": oracle,
                    "recompute_share_of_oracle": oracle and oracle / elastic.get("recompute", math.inf),
                    "both_share_of_oracle": oracle and oracle / elastic.get("recompute,offload", math.inf),
                    "program": ", ".join(sorted({run.program for run in runs})),
                }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    rows = list(make_table(read_runs(pathlib.Path(sys.argv[1]))))
    with open(sys.argv[2], "w", encoding="utf-8", newline="") as file:
        file.write("# command: perf/studies/memory_oracle.py\n")
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    shares = [row[key] for row in rows for key in ("recompute_share_of_oracle", "both_share_of_oracle") if row["oracle_s"]]
    print(f"the lowest share of the oracle is {min(shares):.4f}, at least {MIN_SHARE} is needed")
    sys.exit(min(shares) < MIN_SHARE)


if __name__ == "__main__":
    main()
