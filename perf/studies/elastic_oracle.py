#!/usr/bin/env python3
"""Compares layouts that follow lengths with fixed layouts and with an oracle.

usage: perf/studies/elastic_oracle.py STUDIES OUTPUT.csv

STUDIES is the folder in which perf/studies/elastic-static.json and elastic-length.json ran; points of the latter may be
missing. The oracle knows the simulated time of a short and of a long step in each fixed layout and under each memory
limit, with each fixed --recompute and with the recomputation and offload of single steps, and the shortest simulated
time of a change of plan. Dynamic programming finds the fastest sequence of layouts for the 1,000 steps. It reads no
prediction. Exit code 1 if a run with --elastic-rule ahead does not reach 0.97 of the oracle's speed, or 0.95 of the
formula of the bubble at 48 GB.
"""
import csv
import json
import pathlib
import sys

from elastic_corpus import TRACES

MIN_SHARE = 0.97
MIN_FORMULA_SHARE = 0.95
MICROBATCHES = 16
LIMITS = ["48GB", "40GB", "30GB", "22GB", "20GB"]


def read_rows(studies, name):
    """Yields the options, the folder and the program of each run that did not fail."""

    for file in sorted((studies / name).glob("*.row.json")):
        row = json.loads(file.read_text())
        if not row["failure"]:
            yield row["asked"]["options"], file.with_name(file.name.removesuffix(".row.json")), row["figures"]["program"]


def read_lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def name_layout(options):
    return options.get("layout") or f"{options['pipe']} x {options['data']}"


def read_fixed_runs(studies):
    """Returns, per run: layout, length, limit (None for a fixed recomputation), means, and two steps.

    A step is its seconds and the bytes on the fullest rank: first a short one, then a long one.
    """

    runs = []
    for options, folder, _ in read_rows(studies, "elastic-static"):
        steps = [(line["seconds"], line["predicted_bytes"]) for line in read_lines(folder / "steps.jsonl")]
        means = options.get("elastic-means", options.get("recompute"))
        runs.append((name_layout(options), options["length"], options.get("memory-limit"), means, steps[1], steps[3]))
    return runs


def find_step_seconds(runs, length, limit, means):
    """Returns, per layout, the least seconds of a short and of a long step; None if no run fits."""

    seconds = {}
    for layout, of_length, of_limit, of_means, *steps in runs:
        if of_length != length or (of_limit is not None and (of_limit != limit or len(of_means) > len(means))):
            continue
        best = seconds.setdefault(layout, [None, None])
        for i, (step_seconds, needed) in enumerate(steps):
            if needed <= to_bytes(limit) and (best[i] is None or step_seconds < best[i]):
                best[i] = step_seconds
    return seconds


def to_bytes(limit):
    return 1e9 * int(limit.removesuffix("GB"))


def find_oracle(seconds, trace, change_seconds):
    """Returns the least seconds of the steps and of the changes between them."""

    best = {layout: 0 for layout in seconds}
    for is_long in trace:
        cheapest = min(best.values()) + change_seconds
        best = {
            layout: min(before, cheapest) + (float("inf") if seconds[layout][is_long] is None else seconds[layout][is_long])
            for layout, before in best.items()
        }
    return min(best.values())


def find_static(runs, length, limit, trace, is_elastic, means):
    """Returns the least seconds of all steps in one layout, with one recomputation or with that of single steps."""

    totals = [float("inf")]
    for _, of_length, of_limit, of_means, short, long in runs:
        is_wanted = of_limit == limit and of_means == means if is_elastic else of_limit is None
        if of_length == length and is_wanted and max(short[1], long[1]) <= to_bytes(limit):
            totals.append(sum(long[0] if is_long else short[0] for is_long in trace))
    return min(totals)


def compute_formula(runs, length):
    """Returns the ratio of a static run of 8 stages to a run that leaves them only for long steps, by their bubbles."""

    short, long = next(run[4:] for run in runs if run[0] == "8 x 1" and run[1] == length and run[3] == "none")
    c = long[0] / short[0]
    n = MICROBATCHES
    return (0.97 + 0.03 * c) * (n + 7) / (0.97 * (n + 4) + 0.03 * c * (n + 7))


def make_table(studies):
    runs = read_fixed_runs(studies)
    elastic = list(read_rows(studies, "elastic-length"))
    changes = {folder: [d for d in read_lines(folder / "decisions.jsonl") if "layout" in d] for _, folder, _ in elastic}
    measured = [change["seconds"]["measured"] for each in changes.values() for change in each]
    for options, folder, program in elastic:
        corpus = pathlib.Path(options["corpus"]).stem
        length, limit, means = options["length"], options["memory-limit"], options["elastic-means"]
        memory_means = means.removeprefix("layout").removeprefix(",")
        trace = TRACES[corpus]
        steps = read_lines(folder / "steps.jsonl")
        if len(steps) != len(trace):
            sys.exit(f"{folder} has {len(steps)} steps instead of {len(trace)}")
        seconds = sum(step["seconds"] for step in steps) + sum(d["seconds"]["measured"] for d in changes[folder])
        oracle_seconds = find_step_seconds(runs, length, limit, memory_means)
        oracle = find_oracle(oracle_seconds, trace, min(measured))
        eight = next(run[4:] for run in runs if run[0] == "8 x 1" and run[1] == length and run[3] == "none")
        yield {
            "length": length,
            "corpus": corpus,
            "limit": limit,
            "means": means,
            "rule": options.get("elastic-rule", "ahead"),
            "seconds": seconds,
            "changes": len(changes[folder]),
            "memory_steps": sum(step["elastic"]["outcome"] == "memory" for step in steps),
            "change_seconds": sum(d["seconds"]["measured"] for d in changes[folder]),
            "oracle_seconds": oracle,
            "share_of_oracle": oracle / seconds,
            "fixed_layout_per_step_memory": find_static(runs, length, limit, trace, True, memory_means),
            "fixed_layout_fixed_recompute": find_static(runs, length, limit, trace, False, ""),
            "eight_stages_none": sum(eight[is_long][0] for is_long in trace),
            "formula": compute_formula(runs, length),
            "program": program,
        }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    rows = list(make_table(pathlib.Path(sys.argv[1])))
    with open(sys.argv[2], "w", encoding="utf-8", newline="") as file:
        file.write("# command: perf/studies/elastic_oracle.py\n")
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    ahead = [row for row in rows if row["rule"] == "ahead" and row["means"] != "layout"]
    too_slow = [row for row in ahead if row["share_of_oracle"] < MIN_SHARE]
    too_slow += [
        row
        for row in ahead
        if row["limit"] == "48GB" and row["eight_stages_none"] / row["seconds"] < MIN_FORMULA_SHARE * row["formula"]
    ]
    sys.exit(bool(too_slow))


if __name__ == "__main__":
    main()
