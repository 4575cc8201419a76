"""Stage `peer`: PyTorch's rates, attention and training steps, each in a process of its own."""
import sys
from importlib import metadata
from pathlib import Path

import machine
from parts import Failure, read_json

HERE = Path(__file__).resolve().parent


def versions():
    found = []
    for package in ("torch", "triton"):
        try:
            found.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            found.append(f"no {package}")
    return found


def python(parts, output, words, seconds):
    path = output / "peer.part"
    path.unlink(missing_ok=True)
    with machine.Watch() as watch:
        parts.command([sys.executable, HERE / "peer.py", *words[:-1], path, *words[-1]], seconds)
    result = read_json(path)
    path.unlink(missing_ok=True)
    if not result:
        raise Failure("no result was left")
    if "tokens_per_s" in result:
        parts.say(f"  {result['model']}, {result['batch']} x {result['length']}: {result['tokens_per_s']:.0f} tokens/s")
    return result | watch.seen()


def run(parts, _bundle, output):
    batches = parts.record["settings"]["batches"]
    parts.run("rates", lambda: python(parts, output, ["rates", []], 120))
    for model, batch in batches.items():
        parts.run(f"train {model}",
                  lambda model=model, batch=batch: python(parts, output, ["train", model, ["--batch", batch]], 200))
    for model, batch in batches.items():  # what is left where nothing can be compiled
        parts.run(f"train {model}, not compiled", lambda model=model, batch=batch: python(
            parts, output, ["train", model, ["--batch", batch, "--eager"]], 60))
