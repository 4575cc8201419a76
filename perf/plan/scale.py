#!/usr/bin/env python3
"""Measures the time and memory that `trireme plan` needs for large grids.

    perf/plan/scale.py BUILD OUTPUT.json [ROUNDS=5]

The model has GPT-3's shape (gpt-175b), with 16 pipeline stages of 8 tensor ranks and 8, 32 or 128 replicas: 1,024,
4,096 and 16,384 ranks. Per grid and output format the script records minimum and median of the processor seconds (user
and system) and of the wall seconds, and the peak resident memory in bytes. BUILD is a Release build.
"""
import json
import os
import statistics
import subprocess
import sys
import time

FORMATS = ("text", "json", "svg")
REPLICAS = (8, 32, 128)
GRID = ("--model", "gpt-175b", "--pipe", "16", "--tensor", "8", "--microbatches", "32")


def measure(command):
    """Runs a command once and returns its processor seconds, wall seconds and peak bytes."""
    begin = time.monotonic()
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(command, stdout=nowhere)
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"scale: {' '.join(command)} failed")
    return usage.ru_utime + usage.ru_stime, time.monotonic() - begin, usage.ru_maxrss * 1024


def summary(values, digits=3):
    return {"min": round(min(values), digits), "median": round(statistics.median(values), digits)}


def write_record(output, program, script, fields):
    """Writes the fields after the commit, the command and the version."""

    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    revision = version.splitlines()[0].partition("(")[2].rstrip(")")
    origin = {"commit": revision.removesuffix(" with changes"),
              "tree": "with changes" if revision.endswith("changes") else "clean",
              "command": " ".join((script, *sys.argv[1:]))}
    with open(output, "w", encoding="utf-8") as file:
        json.dump({"provenance": origin, "version": version.splitlines()[:2], **fields}, file, indent=2)
        file.write("\n")


def main():
    build, output = sys.argv[1:3]
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 5
    program = os.path.join(build, "bin", "trireme")
    rows = []
    for replicas in REPLICAS:
        for form in FORMATS:
            command = [program, "plan", *GRID, "--data", str(replicas), "--format", form]
            runs = [measure(command) for _ in range(rounds)]
            row = {"ranks": 16 * 8 * replicas, "format": form, "cpu_seconds": summary([run[0] for run in runs]),
                   "wall_seconds": summary([run[1] for run in runs]), "peak_bytes": max(run[2] for run in runs)}
            rows.append(row)
            print(f"{row['ranks']:6} ranks  {form:4}  {row['cpu_seconds']['min']:7.2f} s of processor time, "
                  f"{row['wall_seconds']['min']:7.2f} s of wall time, {row['peak_bytes'] / 1e6:7.0f} MB at peak",
                  flush=True)
    write_record(output, program, "perf/plan/scale.py",
                 {"plan": " ".join(("trireme plan", *GRID)), "rounds": rounds, "grids": rows})


if __name__ == "__main__":
    main()
