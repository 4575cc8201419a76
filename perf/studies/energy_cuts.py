#!/usr/bin/env python3
"""Finds the cut of the shortest step for each pipeline of energy.json, energy-2x8.json and energy-4x4.json.

usage: perf/studies/energy_cuts.py

Begins with an equal number of items per stage, and moves single items to other stages while `trireme plan` predicts a
shorter step. Prints the seconds of both cuts. The cuts stand in these studies as options --partition.
"""
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = ROOT / "build/release/bin/trireme"
NOT_OF_PLAN = {"ranks", "partition"}


def predict_seconds(options, cut):
    words = [f"--{name}={value}" for name, value in options.items() if name not in NOT_OF_PLAN]
    partition = ",".join(map(str, cut)) if cut else "uniform"
    result = subprocess.run([PROGRAM, "plan", "--format=json", f"--partition={partition}", *words], cwd=ROOT,
                            check=True, capture_output=True, text=True)
    return json.loads(result.stdout)["prediction"]["seconds"]


def list_neighbours(cut):
    stages = range(len(cut))
    for giver, taker in ((a, b) for a in stages for b in stages if a != b and cut[a] > 1):
        neighbour = list(cut)
        neighbour[giver] -= 1
        neighbour[taker] += 1
        yield neighbour


def search(options, items):
    stages = options["pipe"]
    cut = [items // stages + (stage < items % stages) for stage in range(stages)]
    seconds = predict_seconds(options, cut)
    while True:
        best_seconds, best = min((predict_seconds(options, each), each) for each in list_neighbours(cut))
        if best_seconds >= 0.9999 * seconds:
            return seconds, cut
        seconds, cut = best_seconds, best


def main():
    for name in ("energy", "energy-2x8", "energy-4x4"):
        study = json.loads((ROOT / f"perf/studies/{name}.json").read_text())
        for options in study["axes"][0]:
            if options["partition"] == "uniform":
                continue
            items = sum(int(count) for count in options["partition"].split(","))
            seconds, cut = search(options, items)
            print(f"{options['model']}, batch {options['batch']}, pipe {options['pipe']}: "
                  f"{predict_seconds(options, None):.4g} s uniform, {seconds:.4g} s with {','.join(map(str, cut))}, "
                  f"in the study {options['partition']}", flush=True)


main()
