"""Stage `measure`: rates of the GPU, attention, training of three models, a memory limit, and a profile."""
import machine
import memory_part
import runs
from parts import read_json


def program(parts, bundle, output, name, seconds):
    """Runs a benchmark and returns the JSON that it wrote."""
    path = output / f"{name}.part"
    try:
        parts.command([bundle / f"bin/perf_gpu_{name}", path], seconds, runs.environment(bundle))
        return read_json(path)
    finally:
        path.unlink(missing_ok=True)


def corpus(bundle, model):
    """Returns the corpus whose tokens span the model's vocabulary."""
    return bundle / ("tokens-128256.h5" if model.startswith("llama") else "tokens-50257.h5")


def train(parts, bundle, model, settings):
    batch = settings["batches"][model]
    options = ["--model", model, "--corpus", corpus(bundle, model), "--device", "cuda", "--dtype", "bf16",
               "--dropout", 0, "--max-length", settings["length"], "--long", "truncate", "--document-end", "none",
               "--validation-share", 0, "--batch", batch, "--steps", settings["steps"], "--lr", "1e-4",
               *settings["train_options"].split()]
    with machine.Watch() as watch:
        run = runs.Run(parts, bundle, options, seconds=150)
    result = {"model": model, "batch": batch, "length": settings["length"]}
    result |= runs.figures(run, settings["warm_up_steps"]) | watch.seen()
    parts.say(f"  {model}, {batch} x {settings['length']} tokens: {result['tokens_per_s']:.0f} tokens/s")
    return result


def profile(parts, bundle, output, model):
    path = output / f"profile-{model}.json"
    path.unlink(missing_ok=True)
    parts.command([bundle / "bin/trireme", "profile", "--model", model, "--device", "cuda", "--dtype", "bf16",
                   "--batch", 8, "--output", path], 90, runs.environment(bundle))
    return {"file": path.name}


def run(parts, bundle, output):
    settings = parts.record["settings"]
    parts.run("rates", lambda: program(parts, bundle, output, "rates", 150))
    parts.run("attention", lambda: program(parts, bundle, output, "attention", 60))
    for model in settings["batches"]:
        parts.run(f"train {model}", lambda model=model: train(parts, bundle, model, settings))
    parts.run("memory", lambda: memory_part.measure(parts, bundle, settings["train_options"]))
    parts.run("profile gpt2", lambda: profile(parts, bundle, output, "gpt2"))
