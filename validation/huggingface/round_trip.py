#!/usr/bin/env python3
"""Converts Hugging Face's models to checkpoints and back, and reports any difference.

    round_trip.py PROGRAM     PROGRAM is the path of trireme

The models are tiny, random and of all families, in float32 and bfloat16, in one file and in shards. For each, the
tensors of the export and of the checkpoint's model.h5 equal the original's bit for bit. A single file is equal byte
for byte. An index has the same metadata and names, but may assign tensors to other shards. transformers computes the
same logits from the export. Prints a line per case; exit code 1 if anything differs.

Needs torch, transformers, safetensors and h5py.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import h5py
import safetensors.torch
import torch
import transformers

SHARD_BYTES = 20000
SEED = 7
TOKENS = torch.arange(34).reshape(2, 17) * 7 % 61


def gpt2(tied):
    config = transformers.GPT2Config(
        n_layer=2, n_embd=32, n_head=4, n_positions=24, vocab_size=61, bos_token_id=60, eos_token_id=60,
        tie_word_embeddings=tied)  # fmt: skip
    return transformers.GPT2LMHeadModel(config)


def llama(tied, **more):
    config = transformers.LlamaConfig(
        num_hidden_layers=2, hidden_size=32, num_attention_heads=4, num_key_value_heads=2, intermediate_size=48,
        max_position_embeddings=24, vocab_size=61, tie_word_embeddings=tied, **more)  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def bert(kind):
    config = transformers.BertConfig(
        num_hidden_layers=2, hidden_size=32, num_attention_heads=4, intermediate_size=48,
        max_position_embeddings=24, vocab_size=61, num_labels=5 if "Classification" in kind else 2)  # fmt: skip
    return getattr(transformers, kind)(config)


def vit():
    config = transformers.ViTConfig(
        num_hidden_layers=2, hidden_size=32, num_attention_heads=4, intermediate_size=48, image_size=12,
        patch_size=4, num_labels=5)  # fmt: skip
    return transformers.ViTForImageClassification(config)


LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
          "high_freq_factor": 4.0, "original_max_position_embeddings": 16}  # fmt: skip

MODELS = {
    "gpt2 tied": lambda: gpt2(True),
    "gpt2 untied": lambda: gpt2(False),
    "llama tied": lambda: llama(True),
    "llama untied": lambda: llama(False),
    "llama stretched": lambda: llama(True, rope_parameters=LLAMA3),
    "bert masked": lambda: bert("BertForMaskedLM"),
    "bert span": lambda: bert("BertForQuestionAnswering"),
    "bert classify": lambda: bert("BertForSequenceClassification"),
    "vit": vit,
}


def random_model(make, dtype):
    torch.manual_seed(SEED)
    model = make()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.3)
    return model.to(dtype).eval()


def outputs(model):
    """Returns every tensor that the model gives for one batch."""
    with torch.no_grad():
        if model.config.model_type == "vit":
            images = torch.linspace(-1, 1, 2 * 3 * 12 * 12).reshape(2, 3, 12, 12).to(model.dtype)
            result = model(pixel_values=images)
        else:
            result = model(input_ids=TOKENS)
    return {name: value for name, value in result.items() if isinstance(value, torch.Tensor)}


def tensors(folder):
    found = {}
    for path in sorted(folder.glob("*.safetensors")):
        found.update(safetensors.torch.load_file(path))
    return found


def has_equal_bits(a, b):
    same_kind = a.dtype == b.dtype and a.shape == b.shape
    return same_kind and a.contiguous().view(torch.uint8).equal(b.contiguous().view(torch.uint8))


def differences_of_tensors(original, export):
    if sorted(original) != sorted(export):
        yield f"names differ: {sorted(set(original) ^ set(export))}"
    for name in sorted(set(original) & set(export)):
        if not has_equal_bits(original[name], export[name]):
            yield f"{name} differs"


def differences_of_files(original, export):
    name = "model.safetensors"
    if (original / name).exists():
        if (original / name).read_bytes() != (export / name).read_bytes():
            yield f"{name} differs"
        return
    index, other = (json.loads((folder / f"{name}.index.json").read_text()) for folder in (original, export))
    if index["metadata"] != other["metadata"] or sorted(index["weight_map"]) != sorted(other["weight_map"]):
        yield f"{name}.index.json differs"


def differences_of_outputs(model, original, export):
    # Both models come from files: a model that was cast in memory has also cast the tables that it computes.
    kind = type(model)
    models = [kind.from_pretrained(folder, dtype="auto").eval() for folder in (original, export)]
    first, second = map(outputs, models)
    for name, value in first.items():
        if value.dtype != second[name].dtype or not torch.equal(value, second[name]):
            yield f"{name} differ by {(value - second[name]).abs().max().item()}"


def differences_of_checkpoint(original, folder):
    with h5py.File(folder / "step-0" / "model.h5", "r") as file:
        for name, value in original.items():
            if name not in file["parameters"]:
                yield f"{name} is not in model.h5"
            elif not has_equal_bits(torch.from_numpy(file["parameters"][name][()]), value.float()):
                yield f"{name} differs in model.h5"


def convert(program, *arguments):
    subprocess.run([program, "convert", *map(str, arguments), "--quiet"], check=True)


def differences(program, make, dtype, shard_bytes, scratch):
    original, checkpoints, export = scratch / "original", scratch / "checkpoints", scratch / "export"
    model = random_model(make, dtype)
    model.save_pretrained(original, max_shard_size=shard_bytes)
    convert(program, original, checkpoints)
    convert(program, checkpoints, export, "--shard-size", shard_bytes)
    stored = tensors(original)
    yield from differences_of_tensors(stored, tensors(export))
    yield from differences_of_files(original, export)
    yield from differences_of_checkpoint(stored, checkpoints)
    yield from differences_of_outputs(model, original, export)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    program = pathlib.Path(sys.argv[1]).resolve()
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    failures = 0
    for name, make in MODELS.items():
        for dtype in (torch.float32, torch.bfloat16):
            for layout, shard_bytes in (("one file", 5 * 10**9), ("shards", SHARD_BYTES)):
                with tempfile.TemporaryDirectory() as scratch:
                    found = list(differences(program, make, dtype, shard_bytes, pathlib.Path(scratch)))
                failures += bool(found)
                said = "; ".join(found[:5]) or "equal"
                print(f"{name}, {str(dtype).removeprefix('torch.')}, {layout}: {said}", flush=True)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
