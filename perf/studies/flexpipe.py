#!/usr/bin/env python3
"""Chooses the runs of the flexpipe study, and compares them with the published gains.

usage: perf/studies/flexpipe.py choose PROGRAM > perf/studies/flexpipe.json
       perf/studies/flexpipe.py compare STUDIES OUTPUT.csv

`choose` runs in a folder with the corpora, see flexpipe_corpora.py. For each baseline it asks `trireme plan` for the mean
step of every layout and number of micro-batches, and takes the fastest one that fits; if none fits, the baseline has no
run. All baselines recompute per step.
`compare` reads the runs in the folder STUDIES. Exit code 1 if layouts that follow the lengths do not reach 0.99 of the
better one of dynapipe and balanced, or gain less with a longest sample of 8,192 tokens than with 512.
"""
import csv
import json
import pathlib
import statistics
import subprocess
import sys

from flexpipe_corpora import LONGEST, read_steps

MIN_SHARE = 0.99
# By the name of the model: its --model, vocabulary and number of ranks.
MODELS = {
    "bert-24": ("bert-large", 30522, 4),
    "bert-96": ("perf/studies/bert-96.json", 30522, 8),
    "gpt-3b": ("gpt-3b", 50257, 16),
    "gpt-13b": ("gpt-13b", 50257, 32),
}
BASELINES = {
    "zero-bubble": {"schedule": "zb-h1", "length": "pad"},
    "pack": {"schedule": "1f1b", "length": "pack"},
    "dynapipe": {"schedule": "1f1b", "length": "dynapipe"},
    "balanced": {"schedule": "1f1b", "length": "balanced"},
}
# The layouts of these runs follow the lengths. They start from the layout of the baseline.
ELASTIC = {
    f"elastic {name}": {**BASELINES[name], "elastic-means": "layout,recompute,offload"} for name in ("dynapipe", "balanced")
}
GAIN = "over_better"  # of dynapipe and balanced
# The mean ratio of FlexPipe's tokens/s to those of Zero-Bubble, of FlashAttention with packing, and of DynaPipe.
PUBLISHED = {"zero-bubble": 1.38, "pack": 1.23, "dynapipe": 1.14}
OPTIONS = {
    "cluster": "perf/clusters/a100-8x4.json",
    "dtype": "bf16",
    "positions": 8194,
    "dropout": 0,
    "validation-share": 0,
    "order": "corpus",
    "batch": 32,
    "steps": len(read_steps(LONGEST[0])),
    "memory-limit": "80GB",
    "elastic": "length",
}
SOURCE = (
    "FlexPipe's models on its testbed: layouts that follow the lengths, and the fastest fixed layout of each baseline. "
    "perf/studies/flexpipe_corpora.py writes the rows; `trireme prepare corpora/NAME.jsonl --tokenizer bytes "
    "--special-tokens bert --output corpora/NAME.h5` makes the corpora. BERT adds two tokens to each row. "
    "perf/studies/flexpipe.py chose the layouts and wrote this file"
)


def predict_step(program, options):
    """Returns the predicted seconds of a step on average; infinity if the plan is impossible."""

    command = [program, "plan", "--format", "json"]
    for name, value in options.items():
        if name != "ranks":
            command += [f"--{name}", str(value)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return float("inf")
    return statistics.fmean(step["seconds"] for step in json.loads(result.stdout)["steps"])


def list_grids(ranks):
    """Yields the numbers of stages, replicas and micro-batches of a replica: powers of 2."""

    stages = 1
    while stages <= ranks:
        microbatches = OPTIONS["batch"] * stages // ranks
        while microbatches > 0:
            yield {"pipe": stages, "data": ranks // stages, "microbatches": microbatches}
            microbatches //= 2
        stages *= 2


def choose(program):
    points = []
    for longest in LONGEST:
        for model, vocabulary, ranks in MODELS.values():
            of_all = {"corpus": f"corpora/flexpipe-{longest}.h5", "model": model, "vocabulary": vocabulary, "ranks": ranks}
            for name, options in (BASELINES | ELASTIC).items():
                fixed = {**options, "elastic-means": "recompute"}
                grids = list(list_grids(ranks))
                seconds = [predict_step(program, {**OPTIONS, **of_all, **grid, **fixed}) for grid in grids]
                if min(seconds) == float("inf"):
                    continue
                best = grids[seconds.index(min(seconds))]
                points.append({**of_all, **best, **fixed, **options})
                print(f"{model}, longest {longest}, {name}: {best}, {min(seconds):.4f} s", file=sys.stderr, flush=True)
    head = {"schema": 1, "name": "flexpipe", "source": SOURCE, "command": "simulate", "options": {**OPTIONS, "math": False}}
    lines = ",\n".join("      " + json.dumps(point) for point in points)
    figures = ["seconds", "tokens_per_s", "padding/share", "memory_bytes/predicted", "plan_changes/count"]
    print(json.dumps(head, indent=2).removesuffix("\n}") + f',\n  "axes": [\n    [\n{lines}\n    ]\n  ],')
    print(f'  "figures": {json.dumps(figures)},\n  "charts": []\n}}')


def read_runs(studies):
    """Returns, by model and longest sample and by baseline, the tokens/s, the layout and the changes of plan."""

    models = {options[0]: name for name, options in MODELS.items()}
    runs = {}
    for file in sorted((studies / "flexpipe").glob("*.row.json")):
        row = json.loads(file.read_text())
        options = row["asked"]["options"]
        if row["failure"]:
            sys.exit(f"{file.name} failed: {row['failure']}")
        kinds = BASELINES if options["elastic-means"] == "recompute" else ELASTIC
        name = next(
            name for name, kind in kinds.items() if all(kind[key] == options[key] for key in ("schedule", "length"))
        )
        longest = int(pathlib.Path(options["corpus"]).stem.removeprefix("flexpipe-"))
        runs.setdefault((models[options["model"]], longest), {})[name] = {
            "tokens_per_s": float(row["figures"]["tokens_per_s"]),
            "layout": f"{options['pipe']} x {options['data']}",
            "changes": row["figures"]["plan_changes/count"] or 0,
            "program": row["figures"]["program"],
        }
    return runs


def compare(runs):
    """Yields a row for each model and longest sample."""

    for model in MODELS:
        for longest in LONGEST:
            of_cell = runs[model, longest]
            speeds = {name: run["tokens_per_s"] for name, run in of_cell.items()}
            fastest = max(ELASTIC, key=speeds.get)
            ratios = {name: speeds[fastest] / speed for name, speed in speeds.items()}
            yield {
                "model": model,
                "ranks": MODELS[model][2],
                "longest": longest,
                "fastest": fastest,
                "tokens_per_s": speeds[fastest],
                "changes": of_cell[fastest]["changes"],
                **{f"layout_{name}": of_cell[name]["layout"] if name in of_cell else "none" for name in BASELINES},
                **{f"over_{name}": ratios.get(name, "") for name in BASELINES},
                GAIN: min(ratios["dynapipe"], ratios["balanced"]),
                "program": ", ".join(sorted({run["program"] for run in of_cell.values()})),
            }


def report(studies, output):
    rows = list(compare(read_runs(studies)))
    with open(output, "w", encoding="utf-8", newline="") as file:
        file.write("# command: perf/studies/flexpipe.py compare\n")
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    for name in BASELINES:
        mean = statistics.fmean(row[f"over_{name}"] for row in rows if row[f"over_{name}"])
        print(f"over {name}: {mean:.3f} on average (published: {PUBLISHED.get(name, 'none')})")
    gains = {longest: statistics.fmean(row[GAIN] for row in rows if row["longest"] == longest) for longest in LONGEST}
    least = min(row[GAIN] for row in rows)
    print(f"over the better of dynapipe and balanced: {statistics.fmean(gains.values()):.3f} on average, at least {least:.3f};",
          ", ".join(f"{mean:.3f} for {longest:,}" for longest, mean in gains.items()))
    return least >= MIN_SHARE and gains[LONGEST[-1]] >= gains[LONGEST[0]]


def main():
    if sys.argv[1:2] == ["choose"] and len(sys.argv) == 3:
        choose(sys.argv[2])
    elif sys.argv[1:2] == ["compare"] and len(sys.argv) == 4:
        sys.exit(not report(pathlib.Path(sys.argv[2]), sys.argv[3]))
    else:
        sys.exit(__doc__.split("\n\n")[1])


if __name__ == "__main__":
    main()
