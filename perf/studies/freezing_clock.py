#!/usr/bin/env python3
"""Compares the runs of freezing.json with a clock without communication, and with the grids of freezing-static.json.

usage: perf/studies/freezing_clock.py OUT

OUT is the folder of both studies: `perf/study perf/studies/freezing.json OUT`, and the same for freezing-static.json.
The first table has the speed of each run with whole pipelines over that of the run without freezing, and the same by
the clock: the stages execute their passes in the order of 1F1B, a pass takes its floating-point operations, and
messages take no time. The second table has, for each number of frozen blocks, the median step of --auto-pipe on and
that of the best grid.
"""
import collections
import csv
import json
import pathlib
import statistics
import sys

WIDTH, PATCHES, PATCH_VALUES, LABELS, BLOCKS = 768, 196, 768, 1000, 12  # of vit-base
POSITIONS = PATCHES + 1


def list_forward_flops():
    """Returns the operations per image of each layer: patches, halves of blocks, norm, head."""
    attention = 8 * POSITIONS * WIDTH**2 + 4 * POSITIONS**2 * WIDTH
    mlp = 16 * POSITIONS * WIDTH**2
    return [2 * PATCHES * PATCH_VALUES * WIDTH] + BLOCKS * [attention, mlp] + [0, 2 * WIDTH * LABELS]


def run_clock(forward, backward, microbatches):
    """Returns the duration of a step of 1F1B. A stage without a backward pass only runs forward."""
    stages = len(forward)
    first_trained = next(stage for stage in range(stages) if backward[stage] > 0)
    programs = []
    for stage in range(stages):
        warm_up = min(microbatches, stages - stage)
        program = [("F", m) for m in range(warm_up)]
        for m in range(microbatches):
            program.append(("B", m))
            if warm_up + m < microbatches:
                program.append(("F", warm_up + m))
        programs.append([each for each in program if each[0] == "F" or stage >= first_trained])
    ends = {}
    times = [0] * stages
    positions = [0] * stages
    while any(positions[stage] < len(programs[stage]) for stage in range(stages)):
        for stage in range(stages):
            while positions[stage] < len(programs[stage]):
                kind, m = programs[stage][positions[stage]]
                neighbour = stage - 1 if kind == "F" else stage + 1
                needed = (kind, neighbour, m) if 0 <= neighbour < stages else None
                if needed and needed not in ends:
                    break
                begin = max(times[stage], ends.get(needed, 0))
                times[stage] = begin + (forward if kind == "F" else backward)[stage]
                ends[kind, stage, m] = times[stage]
                positions[stage] += 1
    return max(times)


def compute_step(layout, microbatches, batch, frozen):
    replicas = {len(stage["replicas"]) for stage in layout["stages"]}
    if len(replicas) > 1:
        return None
    images = batch / microbatches
    flops = list_forward_flops()
    first_trained = 0 if frozen == 0 else 1 + 2 * frozen
    forward, backward = [], []
    for stage in layout["stages"]:
        layers = range(*stage["layers"])
        forward.append(images * sum(flops[layer] for layer in layers))
        backward.append(images * sum(2 * flops[layer] for layer in layers if layer >= first_trained))
    return run_clock(forward, backward, microbatches // replicas.pop())


def list_segments(folder):
    """Yields the first step, the layout, micro-batches, batch and frozen blocks of each plan of a run."""
    manifest = json.loads((folder / "manifest.json").read_text())
    plan = {"layout": manifest["layout"], "microbatches": manifest["microbatches"], "batch": manifest["batch"],
            "frozen": 0}
    plans = {0: dict(plan)}
    if (folder / "decisions.jsonl").exists():
        for line in (folder / "decisions.jsonl").read_text().splitlines():
            decision = json.loads(line)
            plan.update({key: decision[key] for key in plan if key in decision})
            plans[decision["step"]] = dict(plan)
    return sorted(plans.items())


def sum_clock(folder, steps):
    segments = list_segments(folder)
    total = 0
    for i, (first, plan) in enumerate(segments):
        end = segments[i + 1][0] if i + 1 < len(segments) else steps
        step = compute_step(plan["layout"], plan["microbatches"], plan["batch"], plan["frozen"])
        if step is None:
            return None
        total += (end - first) * step
    return total


def list_rows(path):
    return list(csv.DictReader(line for line in path.read_text().splitlines() if not line.startswith("#")))


def find_folder(study, row, axes):
    name = ".".join(f"{axis}-{row[axis].replace('.', '_')}" for axis in sorted(axes) if row[axis])
    return study / "freezing" / name


def print_clock(out):
    rows = list_rows(out / "freezing/freezing.csv")
    axes = list(rows[0])[:list(rows[0]).index("seconds")]
    base = {}
    print(f"{'run':72} {'speed':>6} {'clock':>6} {'ratio':>6}")
    for row in rows:
        folder = find_folder(out / "freezing", row, axes)
        clock = sum_clock(folder, json.loads((folder / "summary.json").read_text())["steps"])
        seconds = float(row["seconds"])
        base.setdefault(row["ranks"], (seconds, clock))
        base_seconds, base_clock = base[row["ranks"]]
        speed = base_seconds / seconds
        text = f"{folder.name:72} {speed:6.2f}"
        print(text if clock is None else f"{text} {base_clock / clock:6.2f} {speed * clock / base_clock:6.2f}")


def print_grids(out):
    best = collections.defaultdict(lambda: float("inf"))
    for row in list_rows(out / "freezing-static/freezing-static.csv"):
        key = row["ranks"], int(row["frozen"])
        best[key] = min(best[key], float(row["step_s/median"]))
    print(f"\n{'ranks':>5} {'alpha':>6} {'frozen':>6} {'step':>8} {'grid':>8} {'ratio':>6}")
    rows = list_rows(out / "freezing/freezing.csv")
    axes = list(rows[0])[:list(rows[0]).index("seconds")]
    for row in rows:
        if (row["auto-pipe"], row["auto-dp"], row["freeze"]) != ("on", "on", "schedule"):
            continue
        folder = find_folder(out / "freezing", row, axes)
        seconds = [json.loads(line)["seconds"] for line in (folder / "steps.jsonl").read_text().splitlines()]
        segments = list_segments(folder)
        ends = [first for first, _ in segments[1:]] + [len(seconds)]
        for (first, plan), end in zip(segments, ends):
            if end == first:
                continue
            grid = best[row["ranks"], plan["frozen"]]
            step = statistics.median(seconds[first:end])
            print(f"{row['ranks']:>5} {float(row['freeze-alpha']):6.3f} {plan['frozen']:6} {step:8.4f} {grid:8.4f} "
                  f"{step / grid:6.3f}")


def main():
    out = pathlib.Path(sys.argv[1])
    print_clock(out)
    print_grids(out)


if __name__ == "__main__":
    main()
