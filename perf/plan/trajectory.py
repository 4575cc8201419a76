#!/usr/bin/env python3
"""Measures the time that decisions about pipelines for a number of frozen blocks take.

    perf/plan/trajectory.py BUILD OUTPUT.json [ROUNDS=3]

The model has 40 blocks (gpt2 with --layers 40) in pipelines of up to 8 stages, on 32, 128 and 1,024 ranks. `trireme plan
--freeze schedule --epochs 10` shows 10 periods, with and without --auto-pipe on; the difference is the time of all
decisions. It is divided by the number of periods, because each period has one decision. Per number of ranks the script
records minimum and median of the processor seconds. BUILD is a Release build.
"""
import json
import os
import subprocess
import sys

from scale import measure, summary, write_record

OPTIONS = ("--model", "gpt2", "--layers", "40", "--pipe", "8", "--freeze", "schedule", "--epochs", "10",
           "--cluster", "perf/clusters/h100-128x8.json", "--format", "json")
RANKS = (32, 128, 1024)


def main():
    build, output = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 3
    program = os.path.join(build, "bin", "trireme")
    rows = []
    for ranks in RANKS:
        command = [program, "plan", *OPTIONS, "--ranks", str(ranks), "--batch", str(max(256, 2 * ranks))]
        chosen = [*command, "--auto-pipe", "on"]
        plan = json.loads(subprocess.run(chosen, capture_output=True, text=True, check=True).stdout)
        periods = len(plan["trajectory"])
        off = [measure(command)[0] for _ in range(rounds)]
        on = [measure(chosen)[0] for _ in range(rounds)]
        added = [b - a for a, b in zip(off, on)]
        rows.append({"ranks": ranks, "periods": periods, "seconds": summary(on), "added_seconds": summary(added),
                     "seconds_per_decision": summary([each / periods for each in added], 4)})
        print(f"{ranks:6} ranks  {min(on):6.2f} s, of which --auto-pipe takes {min(added):6.2f} s: "
              f"{1000 * min(added) / periods:7.1f} ms per period", flush=True)
    write_record(output, program, "perf/plan/trajectory.py",
                 {"plan": " ".join(("trireme plan", *OPTIONS)), "rounds": rounds, "ranks": rows})


if __name__ == "__main__":
    main()
