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


# The fastest first; the last is what is left where nothing can be compiled.
WAYS = {", bf16 between blocks": ["--between-blocks", "bf16"], "": [], ", not compiled": ["--eager"]}


def run(parts, _bundle, output):
    parts.run("rates", lambda: python(parts, output, ["rates", []], 120))
    for way, options in WAYS.items():
        for model, batch in parts.record["settings"]["batches"].items():
            words = ["train", model, ["--batch", batch, *options]]
            parts.run(f"train {model}{way}", lambda words=words: python(parts, output, words, 200))
