#!/usr/bin/env python3
"""Compares runs whose layout follows the number of frozen blocks with runs of one rank.

usage: validation/equivalence/pipe_layouts.py BUILD OUTPUT.csv

Each case trains for 20 steps in f64 with the reference kernels, and writes one line to OUTPUT.csv: the changes of plan,
their stages, and the largest relative difference of a loss from one rank with the same rule of freezing. Cases with an
MPI library also resume from step 10 with half of the ranks. Cases that the file already has are skipped, so that the
command continues after an interruption. Exit code 1 if a difference exceeds 1e-10.
"""
import itertools
import json
import random
import subprocess

from elastic_layouts import CLUSTER, MOVES, compare, list_layouts, read_losses, run, run_cases

RULES = {
    "schedule": "--freeze schedule --freeze-alpha 0.3 --freeze-every 4",
    "epoch": "--freeze schedule --freeze-alpha 0.3 --freeze-every epoch",
    "gradient": "--freeze gradient --freeze-alpha 0.5 --freeze-every 3",
}
MODELS = {
    "gpt2-tied": "--model gpt2-tiny --tied on --width 24 --heads 8",
    "gpt2-untied": "--model gpt2-tiny --tied off --width 24 --heads 6",
    "llama": "--model llama-tiny --tied off --width 32 --heads 8 --groups 4 --mlp-width 40",
}
TRAINING = (
    "--corpus corpus.h5 --validation-share 0.2 --batch 24 --layers 8 --positions 24 --dropout 0.1 --lr 5e-3 "
    "--warmup-steps 3 --dtype f64 --device reference --quiet --steps 20"
).split()
FIELDS = ["library", "ranks", "auto-pipe", "auto-dp", "move", "rule", "model", "shard-optimizer", "changes", "stages",
          "difference"]


def list_cases():
    """All pairs of ranks, layouts and use of freed ranks meet each move, with changing rules, models and optimizers."""

    rules, models = itertools.cycle(RULES), itertools.cycle(MODELS)
    layouts = list(itertools.product(["published", "on"], ["on", "off"]))
    for number, (ranks, (pipe, replicas), move) in enumerate(itertools.product([2, 3, 4, 8], layouts, MOVES)):
        if number % 3 == 0:
            next(models)
        yield "simulation", ranks, pipe, replicas, move, next(rules), next(models), "off" if number % 5 == 0 else "on"
    real = itertools.product(["openmpi", "mpich"], [2, 4, 8], layouts)
    for number, (library, ranks, (pipe, replicas)) in enumerate(real):
        move = MOVES[(number + number // 4) % 4]
        yield library, ranks, pipe, replicas, move, next(rules), next(models), "off" if number % 3 == 0 else "on"


def train_one_rank(binaries, folder):
    """Returns the losses of one rank for each rule and model."""

    draw = random.Random(7)
    with open(folder / "rows.jsonl", "w", encoding="utf-8") as file:
        for _ in range(150):
            text = "".join(chr(97 + draw.randrange(8)) for _ in range(6 + draw.randrange(16)))
            file.write(json.dumps({"text": text}) + "\n")
    run([binaries / "trireme", "prepare", "rows.jsonl", "--tokenizer", "bytes", "--quiet", "--output", "corpus.h5"], folder)
    (folder / "cluster.json").write_text(json.dumps(CLUSTER))
    losses = {}
    for rule, model in itertools.product(RULES, MODELS):
        name = f"one-{rule}-{model}"
        run([binaries / "trireme", "train", *TRAINING, *RULES[rule].split(), *MODELS[model].split(), "--run-dir", name],
            folder)
        losses[rule, model] = read_losses(folder / name)
    return losses


def run_row(binaries, folder, case, one):
    library, ranks, pipe, replicas, move, rule, model, shards = case
    expected = one[rule, model]

    def train(ranks, name, *more):
        subprocess.run(["rm", "-rf", folder / name], check=True)
        options = [*TRAINING, *RULES[rule].split(), *MODELS[model].split(), "--pipe", ranks, "--microbatches", 2 * ranks,
                   "--auto-pipe", pipe if ranks > 1 else "off", "--auto-dp", replicas, "--move", move, "--shard-optimizer", shards, "--run-dir",
                   name, *more]
        if library == "simulation":
            run([binaries / "trireme", "simulate", "--cluster", "cluster.json", "--ranks", ranks, *options], folder)
        else:
            launcher = "mpirun" if library == "openmpi" else "mpirun.mpich"
            program = binaries / ("trireme" if library == "openmpi" else "trireme-mpich")
            run([launcher, "-n", ranks, program, "train", *options], folder)
        return read_losses(folder / name)

    losses = train(ranks, "run", "--checkpoint-every", 10)
    stages = list_layouts(folder / "run")
    difference = compare(losses, expected)
    if library != "simulation":
        resumed = train(ranks // 2, "resumed", "--resume", "run/checkpoints/step-10")
        difference = max(difference, compare(resumed, expected[10:]), key=float)
    return len(stages), " ".join(map(str, stages)), difference


if __name__ == "__main__":
    run_cases(FIELDS, list_cases(), train_one_rank, run_row)
