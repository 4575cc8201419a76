"""Part `memory` of stage `measure`: gpt2 with a few long steps, without a memory limit, and with a limit that the long
steps keep only by offloading optimizer state. Compares predicted with measured memory, and finds which fraction of the
copies is hidden by computation."""
import json
import random
import string
import tempfile
from pathlib import Path
from statistics import median

import runs
from parts import Failure

MODEL, VOCABULARY = "gpt2", 50257
SAMPLES = 8
SHORT, LONG, PERIOD = 256, 4096, 4  # tokens per sample; every PERIOD-th step has long samples
STEPS, WARM_UP = 48, 8
LEAST_RATIO, MOST_RATIO = 0.95, 1.0  # of measured to predicted memory
OFFLOADED_BYTES = 4  # per parameter; the state has 12: two moments and the master weight in f32


def write_rows(path):
    """Writes a row per sample, in the order of the steps. A token is a byte; the last one is only a target."""
    letters = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        for step in range(1, STEPS + 1):
            length = SHORT if step % PERIOD else LONG
            for _ in range(SAMPLES):
                text = "".join(letters.choices(string.ascii_lowercase, k=length + 1))
                file.write(json.dumps({"text": text}) + "\n")


def make_corpus(parts, bundle, folder):
    write_rows(folder / "rows.jsonl")
    corpus = folder / "lengths.h5"
    parts.command([bundle / "bin/trireme", "prepare", folder / "rows.jsonl", "--tokenizer", "bytes", "--quiet",
                   "--output", corpus], 60, runs.environment(bundle))
    return corpus


def train(parts, bundle, corpus, train_options, more):
    options = ["--model", MODEL, "--corpus", corpus, "--vocabulary", VOCABULARY, "--positions", LONG,
               "--device", "cuda", "--dtype", "bf16", "--dropout", 0, "--max-length", LONG, "--long", "truncate",
               "--document-end", "none", "--validation-share", 0, "--order", "corpus", "--length", "pack",
               "--batch", SAMPLES, "--steps", STEPS, "--lr", "1e-4", *train_options.split(), *more]
    run = runs.Run(parts, bundle, options, seconds=90)
    if run.complaint:
        raise Failure(run.complaint)
    return run


def memory_of(run):
    """Returns the predicted bytes of the largest step, the growth of the device's memory, and their ratio."""
    predicted = max(step["predicted_bytes"] for step in run.steps)
    growth = run.summary["memory_bytes"]["growth"]
    return {"predicted_bytes": predicted, "growth_bytes": growth, "growth_to_predicted": growth / predicted}


def hidden_copies(kept, fitted, rates):
    """Returns which fraction of the copies is hidden by computation, from medians over the steps that offload.

    Offloaded bytes b leave the device at the rate r_out and return at the rate r_in of copies alone, so that
    copy_s = b / r_out + b / r_in. If a step takes t seconds with offload and u without, t - u of these are exposed:

        hidden = 1 - (t - u) / copy_s

    This is 1 if offload costs nothing. Noise of the step times can make it slightly larger.
    """
    pairs = [(one, other) for one, other in list(zip(kept, fitted))[WARM_UP:] if other["offloaded_bytes"] > 0]
    if not pairs:
        raise Failure("no step offloaded optimizer state after the warm-up")
    offloaded = median(other["offloaded_bytes"] for _, other in pairs)
    copy_s = offloaded / rates["from_the_gpu"]["bytes_per_s"] + offloaded / rates["to_the_gpu"]["bytes_per_s"]
    kept_s = median(one["seconds"] for one, _ in pairs)
    fitted_s = median(other["seconds"] for _, other in pairs)
    return {"offloading_steps": len(pairs), "offloaded_bytes": offloaded, "copy_s": copy_s, "kept_step_s": kept_s,
            "offloading_step_s": fitted_s, "hidden": 1 - (fitted_s - kept_s) / copy_s}


def find_faults(kept, fitted, result):
    faults = []
    for name in ("kept", "fitted"):
        ratio = result[name]["growth_to_predicted"]
        if not LEAST_RATIO <= ratio <= MOST_RATIO:
            faults.append(f"the memory of run {name} grew by {ratio:.3f} of its prediction, outside of "
                          f"[{LEAST_RATIO:g}, {MOST_RATIO:g}]")
    if result["fitted"]["growth_bytes"] > result["limit_bytes"]:
        faults.append("the memory limit was exceeded")
    if [step["loss"] for step in kept.steps] != [step["loss"] for step in fitted.steps]:
        faults.append("offload changed the losses")
    return faults


def measure(parts, bundle, train_options):
    rates = parts.record["parts"].get("rates", {}).get("copies", {})
    if not {"to_the_gpu", "from_the_gpu"} <= rates.keys():
        raise Failure("the rates of copies to and from the GPU are missing, because the part rates failed")
    with tempfile.TemporaryDirectory() as name:
        corpus = make_corpus(parts, bundle, Path(name))
        kept = train(parts, bundle, corpus, train_options, [])
        # With this limit, a third of the optimizer state must leave the device in the long steps.
        limit = memory_of(kept)["predicted_bytes"] - OFFLOADED_BYTES * kept.manifest["parameters"]
        fitted = train(parts, bundle, corpus, train_options,
                       ["--elastic", "length", "--elastic-means", "offload", "--memory-limit", limit])
    result = {"model": MODEL, "batch": SAMPLES, "lengths": [SHORT, LONG], "limit_bytes": limit,
              "kept": memory_of(kept), "fitted": memory_of(fitted)}
    result |= hidden_copies(kept.steps, fitted.steps, rates)
    parts.say(f"  memory grew by {result['fitted']['growth_to_predicted']:.3f} of the prediction; "
              f"{100 * result['hidden']:.0f} % of the copies are hidden")
    faults = find_faults(kept, fitted, result)
    if faults:
        result |= {"status": "failed", "why": "; ".join(faults)}
    return result
