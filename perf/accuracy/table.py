"""Tabulates the runs of perf/accuracy/run.sh. RESULTS/runs.csv has one line per run. RESULTS/table.md has the mean,
minimum and maximum over seeds, and the difference of each way from the dense run of the same seed. Lines of runs that
are not in RUNS are kept. Each line names the version of the program that ran it.

    python3 perf/accuracy/table.py RUNS RESULTS
"""
import csv
import json
import sys
from pathlib import Path

LAST = 50  # number of last steps whose mean loss represents the end of training
FIELDS = ["model", "way", "seed", "steps", "training_loss", "validation_loss", "accuracy", "program"]
COMMAND = "perf/accuracy/run.sh BUILD RUNS RESULTS"
MODELS = ["gpt2", "gpt2-longer", "mnist", "cifar", "gpt2-124m", "vit-tiny"]
WAYS = ["dense", "priority", "random", "priority-average", "random-average", "priority-long", "random-long"]
COLUMNS = {"validation_loss": "validation loss", "accuracy": "accuracy, %",
           "training_loss": f"loss of the last {LAST} steps"}


def mean(numbers):
    return sum(numbers) / len(numbers)


def run(folder):
    way, seed = folder.name.rsplit("-", 1)
    summary = json.loads((folder / "summary.json").read_text())
    lines = map(json.loads, (folder / "steps.jsonl").read_text().splitlines())
    losses = [line["loss"] for line in lines if "grad_norm" in line]
    manifest = json.loads((folder / "manifest.json").read_text())
    accuracy = (summary.get("validation") or {}).get("accuracy")
    return {"model": folder.parent.name, "way": way, "seed": int(seed), "steps": summary["steps"],
            "training_loss": round(mean(losses[-LAST:]), 4), "validation_loss": round(summary["loss"]["validation"], 4),
            "accuracy": "" if accuracy is None else round(100 * accuracy, 2), "program": manifest["version"]}


def number(text):
    return float(text) if text else ""


def runs_before(path):
    if not path.exists():
        return []
    with open(path, newline="") as file:
        lines = csv.DictReader(line for line in file if not line.startswith("#"))
        return [{"program": "", **line, "seed": int(line["seed"]), "steps": int(line["steps"]),
                 **{field: number(line[field]) for field in COLUMNS}} for line in lines]


def all_runs(folder, results):
    def key(r):
        return MODELS.index(r["model"]), WAYS.index(r["way"]), r["seed"]

    found = {key(r): r for r in runs_before(results / "runs.csv")}
    found |= {key(r): r for r in (run(path.parent) for path in folder.glob("*/*/summary.json"))}
    return [found[place] for place in sorted(found)]


def span(numbers, form):
    return f"{mean(numbers):{form}} ({min(numbers):{form}} to {max(numbers):{form}})"


def cell(own, dense, field):
    """Returns the result of a way, and its difference from the dense runs of the same seeds."""
    digits = 1 if field == "accuracy" else 3
    seeds = [seed for seed in own if own[seed][field] != ""]
    paired = [own[seed][field] - dense[seed][field] for seed in seeds if seed in dense]
    if not seeds:
        return ["-", "-"]
    cost = "" if own is dense or not paired else span(paired, f"+.{digits}f")
    return [span([own[seed][field] for seed in seeds], f".{digits}f"), cost]


def table(runs):
    head = ["model", "way", "seeds"]
    for name in COLUMNS.values():
        head += [name, "difference from dense"]
    rows = [head, ["---"] * len(head)]
    groups = {}
    for r in runs:
        groups.setdefault((r["model"], r["way"]), {})[r["seed"]] = r
    for (model, way), own in groups.items():
        dense = groups.get((model, "dense"), {})
        cells = [text for field in COLUMNS for text in cell(own, dense, field)]
        rows.append([model, f"`{way}`", str(len(own)), *cells])
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def main(folder, results):
    runs = all_runs(folder, results)
    with open(results / "runs.csv", "w", newline="") as file:
        file.write(f"# command: {COMMAND}\n")
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(runs)
    text = table(runs)
    (results / "table.md").write_text(text)
    print(text, end="")


main(Path(sys.argv[1]), Path(sys.argv[2]))
