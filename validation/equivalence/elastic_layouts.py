#!/usr/bin/env python3
"""Compares runs whose layout follows the lengths of samples with a run of one rank.

usage: validation/equivalence/elastic_layouts.py BUILD OUTPUT.csv

Each case trains for 60 steps in f64 with the reference kernels, and writes one line to OUTPUT.csv: the changes of plan,
and the largest relative difference of a loss from one rank. Cases that the file already has are skipped, so that the
command continues after an interruption. Exit code 1 if a difference exceeds 1e-10, or if no run changes its plan. Most
cases are simulated; those with an MPI library are processes that grow because a step of long samples does not fit.
"""
import csv
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

STEPS = 60
BATCH = 8
MAX_DIFFERENCE = 1e-10
LENGTHS = ["fixed", "pad", "step", "pack", "dynapipe", "balanced"]
MOVES = ["stop", "overlap", "twins", "restart"]
RULES = ["ahead", "published"]
MODEL = (
    "--corpus corpus.h5 --order corpus --validation-share 0 --batch 8 --layers 6 --width 16 --heads 2 --positions 128 "
    "--dropout 0.1 --lr 5e-3 --warmup-steps 3 --dtype f64 --device reference --quiet --steps 60"
).split()
DEVICE = {"name": "device", "flops": {"f64": 1e9}, "bandwidth": 1e9, "memory": 1000000000, "launch": 1e-5}
CLUSTER = {
    "schema": 1, "name": "one-node", "source": "made up", "device": DEVICE, "devices_per_node": 8, "nodes": 1,
    "inside": {"latency": 1e-5, "bandwidth": 1e9},
}
FIELDS = ["library", "ranks", "length", "move", "rule", "changes", "stages", "difference"]


def list_cases():
    """Yields (library, ranks, length, move, rule). All pairs of ranks, length and rule meet each move once."""

    for number, (ranks, length, rule) in enumerate(itertools.product([2, 4, 8], LENGTHS, RULES)):
        for shift in range(2):
            yield "simulation", ranks, length, MOVES[(number + 2 * shift + ranks // 4) % 4], rule
    for library, move, rule in itertools.product(["openmpi", "mpich"], MOVES, RULES):
        yield library, 2, "step", move, rule


def make_corpus(trireme, folder):
    """In each run of 20 steps, the last 8 have long samples."""

    draw = random.Random(7)
    with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
        for row in range(BATCH * STEPS):
            length = 100 + draw.randrange(20) if row // BATCH % 20 >= 12 else 8 + draw.randrange(12)
            file.write(json.dumps({"text": "".join(chr(97 + draw.randrange(8)) for _ in range(length))}) + "\n")
    run([trireme, "prepare", "rows.jsonl", "--tokenizer", "bytes", "--quiet", "--output", "corpus.h5"], folder)
    (folder / "cluster.json").write_text(json.dumps(CLUSTER))


def run(command, folder):
    result = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, timeout=600)
    if result.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{result.stderr}")


def read_losses(folder):
    with open(folder / "steps.jsonl", encoding="utf-8") as file:
        return [line.get("loss", line.get("validation_loss")) for line in map(json.loads, file)]


def list_layouts(folder):
    file = folder / "decisions.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [len(decision["layout"]["stages"]) for decision in map(json.loads, lines) if "layout" in decision]


def run_case(binaries, folder, case):
    library, ranks, length, move, rule = case
    options = ["--elastic", "length", "--elastic-rule", rule, "--length", length, "--move", move, "--run-dir", "run"]
    subprocess.run(["rm", "-rf", folder / "run"], check=True)
    if library == "simulation":
        limit = "1700000" if move in ("stop", "restart") else "3MB"  # messages and staging copies need memory, too
        shape = ["--pipe", ranks, "--microbatches", 8, "--memory-limit", limit]
        run([binaries / "trireme", "simulate", "--cluster", "cluster.json", "--ranks", ranks, *MODEL, *shape, *options],
            folder)
    else:
        launcher = ["mpirun"] if library == "openmpi" else ["mpirun.mpich"]
        program = binaries / ("trireme" if library == "openmpi" else "trireme-mpich")
        shape = ["--data", 2, "--microbatches", 4, "--memory-limit", "2400000", "--elastic-means", "layout"]
        if move == "overlap":  # a larger number of stages does not fit while state moves: stages merge instead
            shape = ["--pipe", 2, "--microbatches", 8, "--memory-limit", "100MB"]
        run([*launcher, "-n", ranks, program, "train", *MODEL, *shape, *options], folder)
    return folder / "run"


def run_cases(fields, cases, prepare, run_case):
    """Runs the cases that the file of the command line does not have, and appends a row for each of them.

    prepare(binaries, folder) makes what all cases need, and run_case(binaries, folder, case, prepared) returns the values
    after those of the case; the last one is the difference.
    """
    if len(sys.argv) != 3:
        sys.exit(sys.modules["__main__"].__doc__.split("\n\n")[1])
    binaries = pathlib.Path(sys.argv[1]).resolve() / "bin"
    output = pathlib.Path(sys.argv[2]).resolve()
    os.environ.setdefault("OMPI_MCA_rmaps_base_oversubscribe", "1")
    rows = []
    if output.exists():
        with open(output, encoding="utf-8") as file:
            rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepared = prepare(binaries, folder)
        for case in cases:
            if any(all(row[field] == str(value) for field, value in zip(fields, case)) for row in rows):
                continue
            is_new = not output.exists()
            row = [*case, *run_case(binaries, folder, case, prepared)]
            with open(output, "a", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                if is_new:
                    version = subprocess.run([binaries / "trireme", "--version"], capture_output=True, text=True, check=True)
                    file.write(f"# {version.stdout.splitlines()[0]}; {' '.join(sys.argv[:1])} BUILD OUTPUT.csv\n")
                    writer.writerow(fields)
                writer.writerow(row)
            rows.append(dict(zip(fields, map(str, row))))
            print(*row, flush=True)
    has_failed = any(float(row["difference"]) > MAX_DIFFERENCE for row in rows)
    sys.exit(has_failed or all(row["changes"] == "0" for row in rows))


def compare(losses, expected):
    """Returns the largest relative difference as text."""

    return f"{max(abs(a - b) / abs(a) for a, b in zip(expected, losses, strict=True)):.3g}"


def train_one_rank(binaries, folder):
    make_corpus(binaries / "trireme", folder)
    run([binaries / "trireme", "train", *MODEL, "--run-dir", "one"], folder)
    return read_losses(folder / "one")


def run_row(binaries, folder, case, one):
    run_folder = run_case(binaries, folder, case)
    stages = list_layouts(run_folder)
    return len(stages), " ".join(map(str, stages)), compare(read_losses(run_folder), one)


if __name__ == "__main__":
    run_cases(FIELDS, list_cases(), train_one_rank, run_row)
