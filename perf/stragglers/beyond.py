"""Compares the results of perf/studies/beyond-teams.json with the theoretical limit.

    python3 perf/stragglers/beyond.py STUDIES      (the folder with beyond-teams.csv, and the runs in beyond-teams/)

All figures are relative to a step of healthy ranks in the same layout. If work is proportional to speed and ranks take
x times as long, a step takes p / sum(1/x) of the healthy time on p ranks: the formula. A layout whose healthy partition
leaves some ranks waiting may do better.
"""
import csv
import json
import sys
from pathlib import Path


def layout_of(row):
    return ", ".join([row["model"]] + [f"{way} {row[way]}" for way in ("pipe", "data", "tensor") if row[way]])


def factors_of(slow, ranks=8):
    factors = [1.0] * ranks
    for each in slow.split(";"):
        rank, factor = (part.split("=")[1] for part in each.split(","))
        factors[int(rank)] = float(factor)
    return factors


def last_decision(folder, row):
    """Returns the last decision of the row's run, from the folder that the study made for the run."""

    for path in folder.glob("*/decisions.jsonl"):
        words = (path.parent / "config.ini").read_text().splitlines()
        has = {line.split("=", 1)[0].strip(): line.split("=", 1)[1].strip() for line in words if "=" in line}
        wanted = {"model": row["model"], "pipe": row["pipe"] or "1", "tensor": row["tensor"] or "1"}
        if all(has.get(key) == value for key, value in wanted.items()) and has["slow"].strip('"') == row["slow"]:
            return json.loads(path.read_text().splitlines()[-1])
    return None


def main(folder):
    with open(folder / "beyond-teams.csv", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    seconds = {(layout_of(r), r["slow"], r["straggler"]): float(r["step_s/last"]) for r in rows}
    print("| | `off` | `uneven` | formula | `uneven`, compared with its prediction |\n|---|---|---|---|---|")
    for row in rows:
        layout, slow = layout_of(row), row["slow"]
        factors = factors_of(slow)
        if row["straggler"] != "uneven" or max(factors) == 1:
            continue
        healthy = seconds[layout, "rank=0,factor=1", "off"]
        ways = [seconds[layout, slow, way] / healthy for way in ("off", "uneven")]
        formula = len(factors) / sum(1 / factor for factor in factors)
        decision = last_decision(folder / "beyond-teams", row)
        predicted = decision["terms"]["predicted_step_s"] if decision else None
        off = f"{100 * (seconds[layout, slow, 'uneven'] / predicted - 1):+.1f} %" if predicted else "no plan change"
        slow_ranks = ", ".join(f"{factor:.0f} x" for factor in sorted(factors, reverse=True) if factor > 1)
        print(f"| {layout}: {slow_ranks} | {ways[0]:.2f} x | {ways[1]:.2f} x | {formula:.2f} x | {off} |")


main(Path(sys.argv[1]))
