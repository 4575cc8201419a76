#!/usr/bin/env python3
"""Compares runs that freeze blocks with a clock without communication and with the best fixed grids.

usage: perf/studies/freezing_figures.py STUDIES OUTPUT

STUDIES is the folder in which perf/studies/freezing.json, freezing-static.json, freezing-changes.json and
freezing-slow-static.json ran. The script writes two tables into the folder OUTPUT. Exit code 1 if a check fails.

freezing-speeds.csv: each run of freezing.json
    speed          time of all steps with pipe 8 and without freezing, divided by that of the run
    clock_speed    the same by the clock: the stages execute their passes in the order of 1F1B, a pass takes its
                   floating-point operations, and messages take no time. Empty if stages differ in their replicas
    over_static    time of the fastest fixed grid without freezing, divided by that of the run
    work           floating-point operations without freezing, divided by those of the run, per sample
freezing-depths.csv: the median step of --auto-pipe on at each number of frozen blocks, and that of the fastest fixed grid

Checks: published runs and those that only freeze differ by at most 15 % from the clock. --auto-pipe on is at least 1.7
(alpha 1/3) and 1.45 times (alpha 1/5) as fast as the fastest fixed grid on 8 ranks, and no step is more than 1.05 times
as long as that of the fastest fixed grid at the same number of frozen blocks. All steps are within 10 % of their
prediction, except when a rank has become slow and the run has not yet noticed. A change stops the run for at most a step
per 50 MB. After the rank has recovered, no layout is that of the options. vit-3b stays within its memory limit.
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


def list_weighted_segments(folder):
    """Yields the number of steps and the plan of each segment of a run."""
    steps = json.loads((folder / "summary.json").read_text())["steps"]
    segments = list_segments(folder)
    for i, (first, plan) in enumerate(segments):
        end = segments[i + 1][0] if i + 1 < len(segments) else steps
        if end > first:
            yield first, end, plan


def sum_clock(folder):
    total = 0
    for first, end, plan in list_weighted_segments(folder):
        step = compute_step(plan["layout"], plan["microbatches"], plan["batch"], plan["frozen"])
        if step is None:
            return None
        total += (end - first) * step
    return total


def compute_work_ratio(folder):
    """Returns how many operations per sample training without freezing takes, relative to those of the run."""
    flops = list_forward_flops()
    samples = work = 0
    for first, end, plan in list_weighted_segments(folder):
        visits = (end - first) * plan["batch"]
        trained = flops[0 if plan["frozen"] == 0 else 1 + 2 * plan["frozen"]:]
        samples += visits
        work += visits * (sum(flops) + 2 * sum(trained))
    return 3 * sum(flops) * samples / work


def list_rows(studies, name):
    """Yields the options, the figures and the folder of each run of a study."""
    for file in sorted((studies / name).glob("*.row.json")):
        row = json.loads(file.read_text())
        if row["failure"]:
            sys.exit(f"{file}: {row['failure']}")
        yield row["asked"]["options"], row["figures"], file.with_name(file.name.removesuffix(".row.json"))


def find_best_steps(studies, name):
    best = collections.defaultdict(lambda: float("inf"))
    for options, figures, _ in list_rows(studies, name):
        key = options["ranks"], int(options["frozen"])
        best[key] = min(best[key], figures["step_s/median"])
    return best


def read_lines(file):
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


class Checks:
    """Prints what fails."""

    def __init__(self):
        self.has_failed = False

    def expect(self, is_right, text):
        if not is_right:
            print(f"failed: {text}")
            self.has_failed = True


def list_speeds(studies, best, checks):
    rows = []
    runs = list(list_rows(studies, "freezing"))
    bases = {options["ranks"]: (figures["seconds"], sum_clock(folder)) for options, figures, folder in runs
             if options["freeze"] == "off" and options["auto-pipe"] == "off"}
    for options, figures, folder in runs:
        base_seconds, base_clock = bases[options["ranks"]]
        seconds, clock = figures["seconds"], sum_clock(folder)
        speed = base_seconds / seconds
        steps = json.loads((folder / "summary.json").read_text())["steps"]
        row = {"ranks": options["ranks"], "freeze-alpha": options.get("freeze-alpha", ""),
               "auto-pipe": options["auto-pipe"], "auto-dp": options.get("auto-dp", ""), "seconds": seconds, "speed": speed,
               "clock_speed": "" if clock is None else base_clock / clock, "work": compute_work_ratio(folder), "steps": steps,
               "over_static": 1000 * best[options["ranks"], 0] / seconds, "program": figures["program"]}
        rows.append(row)
        name = folder.name
        if clock is not None and options["auto-pipe"] != "on":
            checks.expect(abs(speed * clock / base_clock - 1) <= 0.15, f"{name}: {speed} times, {base_clock / clock} by clock")
        if options["freeze"] != "off" and (row["ranks"], row["auto-pipe"], row["auto-dp"]) == ("8", "on", "on"):
            needed = 1.7 if float(options["freeze-alpha"]) > 0.3 else 1.45
            checks.expect(needed <= row["over_static"] <= row["work"], f"{name}: {row['over_static']} times the best grid")
    return rows


def list_depths(folder, options, figures, best, is_slow, begin, end):
    """Returns rows of freezing-depths.csv for the steps from begin to end - 1."""
    rows = []
    seconds = [step["seconds"] for step in read_lines(folder / "steps.jsonl")]
    steps_of_depth = collections.defaultdict(list)
    for plan_begin, plan_end, plan in list_weighted_segments(folder):
        steps_of_depth[plan["frozen"]] += seconds[max(begin, plan_begin):min(end, plan_end)]
    for frozen, durations in sorted(steps_of_depth.items()):
        if not durations:
            continue
        step, grid = statistics.median(durations), best[options["ranks"], frozen]
        rows.append({"ranks": options["ranks"], "freeze-alpha": options["freeze-alpha"],
                     "slow": "yes" if is_slow else "no", "frozen": frozen, "step_s": step,
                     "grid_step_s": grid, "ratio": step / grid, "program": figures["program"]})
    return rows


def check_run(folder, exceptions, checks):
    """Checks predictions and changes. `exceptions` are ranges of steps with unknown slowness."""
    steps = read_lines(folder / "steps.jsonl")
    for number, step in enumerate(steps):
        if any(first <= number < end for first, end in exceptions):
            continue
        checks.expect(abs(step["predicted_s"] / step["seconds"] - 1) <= 0.1,
                      f"{folder.name}, step {number + 1}: {step['predicted_s']} s predicted, {step['seconds']} s simulated")
    for decision in read_lines(folder / "decisions.jsonl"):
        step = steps[max(0, decision["step"] - 1)]["seconds"]
        allowed = step * max(1, decision["terms"]["moved_bytes"] / 50e6)
        measured = decision.get("seconds", {}).get("measured", 0)
        checks.expect(measured <= allowed, f"{folder.name}, step {decision['step']}: a change takes {measured} s")


def check_changes(studies, checks):
    """Checks the runs of freezing-changes.json. Returns the rows of depths for the run with a slow rank."""
    rows = []
    for options, figures, folder in list_rows(studies, "freezing-changes"):
        decisions = read_lines(folder / "decisions.jsonl")
        if options["model"] == "vit-3b":
            check_run(folder, [], checks)
            largest = max(step["predicted_bytes"] for step in read_lines(folder / "steps.jsonl"))
            checks.expect(max(largest, figures["memory_bytes/predicted"]) <= 16e9, f"{folder.name}: {largest} bytes")
            continue
        check_run(folder, [(149, 160), (380, 390)], checks)
        rows += list_depths(folder, options, figures, find_best_steps(studies, "freezing-slow-static"), True, 149, 380)
        for decision in decisions:
            if decision["step"] > 380:
                checks.expect(len(decision["layout"]["stages"]) < 8, f"{folder.name}: back to the layout of the options")
    return rows


def write_table(file, rows):
    with open(file, "w", encoding="utf-8", newline="") as out:
        out.write("# command: perf/studies/freezing_figures.py\n")
        writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    studies, output = map(pathlib.Path, sys.argv[1:])
    checks = Checks()
    best = find_best_steps(studies, "freezing-static")
    write_table(output / "freezing-speeds.csv", list_speeds(studies, best, checks))
    depths = []
    for options, figures, folder in list_rows(studies, "freezing"):
        check_run(folder, [], checks)
        if options["freeze"] != "off" and options["auto-pipe"] == options.get("auto-dp") == "on":
            depths += list_depths(folder, options, figures, best, False, 0, 1000)
    depths += check_changes(studies, checks)
    for row in depths:
        checks.expect(row["ratio"] <= 1.05, f"step of {row}")
    write_table(output / "freezing-depths.csv", depths)
    sys.exit(checks.has_failed)


if __name__ == "__main__":
    main()
