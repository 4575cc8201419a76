#!/usr/bin/env python3
"""Reads Trireme's files with h5py and safetensors alone, as the README promises.

    read_by_h5py.py PROGRAM     PROGRAM is the path of trireme

A corpus holds the tokens, the offsets and the SHA-256 of each dataset. A checkpoint's model.h5 shows each tensor and
moment whole, equal to the boxes in its parts. A GPT-2 of random weights goes from Hugging Face's format to a checkpoint
and back without a bit changed. (round_trip.py tests the last for all families, and needs torch and transformers.)

Prints a line for each of the three; exit code 1 if anything differs. Needs h5py, numpy and safetensors.
"""

import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import numpy
import safetensors.numpy

ROWS = ["hello world", "second row", "a third"]
WIDTH, VOCABULARY, POSITIONS = 16, 61, 24


def run(program, *words):
    subprocess.run([program, *map(str, words), "--quiet"], check=True, stdout=subprocess.DEVNULL)


def require(is_true, what):
    if not is_true:
        sys.exit(f"read_by_h5py: {what}")


def check_corpus(program, folder):
    (folder / "rows.txt").write_text("".join(row + "\n" for row in ROWS))
    run(program, "prepare", folder / "rows.txt", "--format", "text", "--rows", "line", "--tokenizer", "bytes",
        "--output", folder / "corpus.h5")  # fmt: skip
    with h5py.File(folder / "corpus.h5") as corpus:
        tokens, offsets = corpus["tokens"][()], corpus["offsets"][()]
        rows = [bytes(tokens[begin:end].astype(numpy.uint8)).decode() for begin, end in zip(offsets, offsets[1:])]
        require(rows == ROWS, f"the corpus has {rows}")
        require(corpus.attrs["vocabulary_size"] == 257, "the vocabulary of a byte corpus is not 257")
        for name, dataset in corpus.items():
            digest = hashlib.sha256(dataset[()].tobytes()).hexdigest()
            require(dataset.attrs["sha256"].decode() == digest, f"the SHA-256 of {name} differs")
    print("corpus: tokens, offsets and checksums are as documented")


def boxes_of(parts, name, shape):
    """Returns the whole tensor from its boxes in the parts."""
    rows, columns = shape if len(shape) == 2 else (1, *shape)
    whole = numpy.full((rows, columns), numpy.nan, numpy.float32)
    for part in parts:
        with h5py.File(part) as file:
            group, tensor = name.split("/")
            for key, dataset in file[group].items():
                if key.split("[")[0] == tensor:
                    row, height, column, width = map(int, dataset.attrs["box"])
                    whole[row : row + height, column : column + width] = dataset[()]
    return whole.reshape(shape)


def check_checkpoint(program, folder):
    run(program, "train", "--corpus", folder / "corpus.h5", "--width", WIDTH, "--heads", 2, "--layers", 1, "--device",
        "reference", "--threads", 1, "--batch", 2, "--steps", 2, "--validation-share", 0, "--checkpoint-every", 2,
        "--run-dir", folder / "run")  # fmt: skip
    newest = folder / "run" / "checkpoints" / "step-2"
    parts = sorted(newest.glob("part-*.h5"))
    with h5py.File(newest / "model.h5") as model:
        require(model["parameters/transformer.wte.weight"].shape == (257, WIDTH), "the embedding has another shape")
        require(sorted(model) == ["moment1", "moment2", "parameters"], f"model.h5 has {sorted(model)}")
        for group in model:
            for name, dataset in model[group].items():
                require(numpy.array_equal(dataset[()], boxes_of(parts, f"{group}/{name}", dataset.shape)),
                        f"{group}/{name} of model.h5 differs from the parts")  # fmt: skip
    print("checkpoint: model.h5 shows each tensor and moment as the parts have it")


def random_gpt2(layers):
    sizes = {"transformer.wte.weight": (VOCABULARY, WIDTH), "transformer.wpe.weight": (POSITIONS, WIDTH),
             "transformer.ln_f.weight": (WIDTH,), "transformer.ln_f.bias": (WIDTH,)}  # fmt: skip
    for layer in range(layers):
        for name, rows, columns in (("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH),
                                    ("mlp.c_fc", WIDTH, 4 * WIDTH), ("mlp.c_proj", 4 * WIDTH, WIDTH)):  # fmt: skip
            sizes[f"transformer.h.{layer}.{name}.weight"] = (rows, columns)
            sizes[f"transformer.h.{layer}.{name}.bias"] = (columns,)
        for norm in ("ln_1", "ln_2"):
            sizes[f"transformer.h.{layer}.{norm}.weight"] = sizes[f"transformer.h.{layer}.{norm}.bias"] = (WIDTH,)
    random = numpy.random.default_rng(7)
    return {name: random.normal(size=shape).astype(numpy.float32) for name, shape in sizes.items()}


def check_hugging_face(program, folder):
    original, export = folder / "original", folder / "export"
    original.mkdir()
    tensors = random_gpt2(layers=2)
    config = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "n_layer": 2, "n_embd": WIDTH, "n_head": 2,
              "n_positions": POSITIONS, "vocab_size": VOCABULARY, "tie_word_embeddings": True}  # fmt: skip
    (original / "config.json").write_text(json.dumps(config))
    safetensors.numpy.save_file(tensors, original / "model.safetensors", metadata={"format": "pt"})
    run(program, "convert", original, folder / "converted")
    run(program, "convert", folder / "converted", export)
    with h5py.File(folder / "converted" / "step-0" / "model.h5") as model:
        for name, value in tensors.items():
            require(numpy.array_equal(model["parameters"][name][()], value), f"{name} differs in model.h5")
    back = safetensors.numpy.load_file(export / "model.safetensors")
    require(sorted(back) == sorted(tensors), f"names differ: {sorted(set(back) ^ set(tensors))}")
    for name, value in tensors.items():
        require(back[name].tobytes() == value.tobytes(), f"{name} differs after the round trip")
    kept = json.loads((export / "config.json").read_text())
    for key, value in config.items():
        require(kept.get(key) == value, f"config.json has {key} {kept.get(key)}, not {value}")
    print("Hugging Face: a GPT-2 comes back from a checkpoint bit for bit")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        for check in (check_corpus, check_checkpoint, check_hugging_face):
            check(program, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
