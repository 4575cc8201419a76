#!/usr/bin/env python3
"""Measures the time that a decision about the layout of the next step takes.

    perf/plan/decisions.py BUILD CORPUS.h5 OUTPUT.json [ROUNDS=3]

The model has 40 blocks (gpt-13b) on 32 ranks, with any number of stages. `trireme plan --elastic length` forecasts
1,000 and 2,000 steps of the corpus; the difference is the time for 1,000 steps with the outlook of earlier steps kept.
It includes the forecast of the steps themselves. `first_seconds` is the time of a forecast of a single step, which predicts
every layout. Per rule the script records minimum and median of the processor seconds. BUILD is a Release build.
"""
import os
import sys

from scale import measure, summary, write_record

STEPS = 1000
RULES = ("ahead", "published")
OPTIONS = ("--model", "gpt-13b", "--cluster", "perf/clusters/a100-8x4.json", "--pipe", "32", "--data", "1",
           "--microbatches", "32", "--batch", "32", "--dtype", "bf16", "--memory-limit", "40GB", "--elastic", "length",
           "--format", "json")


def measure_decision(command):
    """Returns the processor seconds per step of STEPS steps that follow as many others."""

    first, both = (measure([*command, "--steps", str(steps)])[0] for steps in (STEPS, 2 * STEPS))
    return (both - first) / STEPS


def main():
    build, corpus, output = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    program = os.path.join(build, "bin", "trireme")
    rows = []
    for rule in RULES:
        command = [program, "plan", *OPTIONS, "--corpus", corpus, "--elastic-rule", rule]
        decisions = [measure_decision(command) for _ in range(rounds)]
        first = [measure([*command, "--steps", "1"])[0] for _ in range(rounds)]
        rows.append({"rule": rule, "seconds_per_decision": summary(decisions, 6), "first_seconds": summary(first, 3)})
        print(f"{rule:9}  {1000 * min(decisions):6.2f} ms per decision, {min(first):6.2f} s for a single step", flush=True)
    write_record(output, program, "perf/plan/decisions.py",
                 {"plan": " ".join(("trireme plan", *OPTIONS)), "rounds": rounds, "rules": rows})


if __name__ == "__main__":
    main()
