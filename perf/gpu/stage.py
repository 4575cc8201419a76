"""Runs a stage of perf/gpu/check.sh: all of its parts in order, and then the table. check.sh passes device and folders.

    python3 perf/gpu/stage.py STAGE --device NAME --bundle FOLDER|none --output FOLDER --kept FOLDER
"""
import argparse
import hashlib
import os
import re
import sys
from pathlib import Path

import machine
import measure_parts
import peer_parts
import table
import test_parts
from parts import Parts

HERE = Path(__file__).resolve().parent
BATCHES = {"gpt2": 32, "gpt2-medium": 16, "llama-1b": 8}
STAGES = {"test": test_parts.run, "measure": measure_parts.run, "peer": peer_parts.run}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--device", required=True)
    parser.add_argument("--bundle", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--kept", type=Path, required=True)
    return parser.parse_args()


def batch_of(model):
    return int(os.environ.get("BATCH_" + model.upper().replace("-", "_"), BATCHES.get(model, 8)))


def settings():
    models = os.environ.get("MODELS", " ".join(BATCHES)).split()
    return {"length": 1024, "steps": 60, "warm_up_steps": 10, "batches": {model: batch_of(model) for model in models},
            "train_options": os.environ.get("TRAIN_OPTIONS", "")}


def programs(bundle):
    """Identifies the measured programs: results of other programs are not reused."""
    if (bundle / "version.txt").exists():
        return {"version": (bundle / "version.txt").read_text().splitlines(), "bundle": bundle.parent.name}
    sources = b"".join(path.read_bytes() for path in sorted(HERE.glob("peer*.py")))
    return {"version": peer_parts.versions(), "sources": hashlib.sha256(sources).hexdigest()}


def provenance(bundle, stage):
    """Returns the commit of the bundle's program, whether its tree was clean, and the command to repeat the stage."""
    version = bundle / "version.txt"
    words = version.read_text().splitlines()[0] if version.exists() else ""
    found = re.search(r"\((\w+)( with changes)?\)", words)
    return {"commit": found.group(1) if found else "unknown",
            "tree": "with changes" if found and found.group(2) else "clean" if found else "unknown",
            "command": f"perf/gpu/check.sh {stage}"}


def main():
    chosen = arguments()
    chosen.output.mkdir(parents=True, exist_ok=True)
    facts = {"device": chosen.device, "programs": programs(chosen.bundle), "settings": settings(),
             "machine": machine.facts(), "provenance": provenance(chosen.bundle, chosen.stage)}
    parts = Parts(chosen.stage, facts, chosen.output, chosen.kept, float(os.environ.get("LIMIT", 460)))
    STAGES[chosen.stage](parts, chosen.bundle, chosen.output)
    table.write(chosen.output, chosen.kept)
    parts.say(f"the results are in {chosen.output}")
    sys.exit(0 if parts.is_good else 1)


if __name__ == "__main__":
    main()
