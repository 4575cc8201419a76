#!/usr/bin/env python3
"""Records what Hugging Face's GPT-2 computes, for Trireme's tests to be held to.

    make_gpt2_records.py            writes gpt2_tied.h5 and gpt2_untied.h5 beside this file
    make_gpt2_records.py --check    builds them again and compares; exit code 1 if they differ

Needs numpy, torch, transformers and h5py. See README.md for what the files hold.
"""

import argparse
import pathlib
import sys

import h5py
import numpy as np
import torch
import transformers

import gpt2_formula

SEED = 20190214
SIZES = {"layers": 2, "width": 16, "heads": 2, "mlp_width": 64, "positions": 24, "vocabulary": 61}
NORM_EPSILON = 1e-5
LENGTHS = [24, 17, 5]  # predictions of each sample
OPTIMIZER = {"rate": 1e-2, "beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1, "clip": 1.0}
STEPS = 10
FORMULA_BAR = 1e-12  # between the recorded float64 run and the formula


def make_samples():
    draw = np.random.Generator(np.random.PCG64(SEED))
    return [draw.integers(0, SIZES["vocabulary"], length + 1) for length in LENGTHS]


def make_model(tied):
    """Weights wide enough for every term to matter, and representable in float32."""
    config = transformers.GPT2Config(
        n_layer=SIZES["layers"], n_embd=SIZES["width"], n_head=SIZES["heads"], n_inner=SIZES["mlp_width"],
        n_positions=SIZES["positions"], vocab_size=SIZES["vocabulary"], activation_function="gelu_new",
        layer_norm_epsilon=NORM_EPSILON, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        tie_word_embeddings=tied, use_cache=False, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    config._attn_implementation = "eager"
    model = transformers.GPT2LMHeadModel(config)
    draw = np.random.Generator(np.random.PCG64(SEED + 1))
    with torch.no_grad():
        for name, tensor in sorted(model.named_parameters()):
            middle = 1.0 if is_gain(name) else 0.0
            values = middle + 0.3 * draw.standard_normal(tuple(tensor.shape))
            tensor.copy_(torch.from_numpy(values.astype(np.float32)))
    return model.train()


def is_gain(name):
    return name.split(".")[-2].startswith("ln_") and name.endswith("weight")


def padded_batch(samples):
    """Tokens, targets and mask, each (samples, longest); targets are -100 where there is nothing to predict."""
    shape = (len(samples), max(LENGTHS))
    tokens, mask = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    targets = torch.full(shape, -100)
    for row, sample in enumerate(samples):
        length = len(sample) - 1
        tokens[row, :length] = torch.from_numpy(sample[:-1])
        targets[row, :length] = torch.from_numpy(sample[1:])
        mask[row, :length] = 1
    return tokens, targets, mask


def run(model, batch):
    """The loss and the logits of the real positions, in the order of the samples."""
    tokens, targets, mask = batch
    positions = torch.arange(tokens.shape[1]).expand_as(tokens)
    logits = model(input_ids=tokens, attention_mask=mask, position_ids=positions).logits
    counted = targets != -100
    total = torch.nn.functional.cross_entropy(logits[counted], targets[counted], reduction="sum")
    return total / counted.sum(), logits[counted]


def arrays(tensors):
    return {name: tensor.detach().numpy().copy() for name, tensor in tensors}


def gradients(model, batch):
    model.zero_grad()
    loss, logits = run(model, batch)
    loss.backward()
    grads = arrays((name, tensor.grad) for name, tensor in model.named_parameters())
    return loss.item(), logits.detach().numpy(), grads


def train(model, batch):
    """The loss before the first update and after each one, and the gradient norm at each one."""
    groups = [
        {"params": [p for p in model.parameters() if p.dim() == 2], "weight_decay": OPTIMIZER["weight_decay"]},
        {"params": [p for p in model.parameters() if p.dim() != 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(
        groups, lr=OPTIMIZER["rate"], betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]), eps=OPTIMIZER["epsilon"]
    )
    losses, norms = [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        loss, _ = run(model, batch)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), OPTIMIZER["clip"]).item())
        losses.append(loss.item())
        optimizer.step()
    losses.append(run(model, batch)[0].item())
    return np.array(losses), np.array(norms)


def error(values, record, floor=0.0):
    """The largest difference over the norm of the record, or over `floor` where that is larger."""
    difference = np.abs(np.asarray(values, dtype=np.float64) - record).max()
    return difference / max(np.linalg.norm(record), floor)


def largest_error(values, record):
    """The largest difference over the largest magnitude of the record."""
    return np.abs(np.asarray(values, dtype=np.float64) - record).max() / np.abs(record).max()


def check_against_formula(record, samples):
    """No cast to float32 may hide in the float64 run: logits, loss and every gradient, by another way."""
    config, weights = record["config"], {n: w.astype(np.float64) for n, w in record["weights"].items()}
    rows = np.concatenate([gpt2_formula.logits(weights, config, sample[:-1]) for sample in samples])
    worst = max(
        largest_error(record["logits"], rows),
        error(record["loss"], gpt2_formula.mean_loss(weights, config, samples)),
    )
    draw = np.random.Generator(np.random.PCG64(SEED + 2))
    for name, gradient in record["gradients"].items():
        direction = draw.choice([-1.0, 1.0], gradient.shape)
        slope = gpt2_formula.directional_derivative(weights, config, samples, name, direction)
        worst = max(worst, abs((gradient * direction).sum() - slope) / max(np.abs(gradient).sum(), 1e-3))
    if worst > FORMULA_BAR:
        raise SystemExit(f"the float64 run is {worst:.1e} from the formula, more than {FORMULA_BAR:.0e}")
    return worst


def make_record(tied):
    samples = make_samples()
    batch = padded_batch(samples)
    record = {
        "config": dict(SIZES, norm_epsilon=NORM_EPSILON, tied=int(tied)),
        "optimizer": OPTIMIZER,
        "samples": samples,
        "weights": arrays(make_model(tied).named_parameters()),
    }
    record["loss"], record["logits"], record["gradients"] = gradients(make_model(tied).double(), batch)
    record["losses"], record["norms"] = train(make_model(tied).double(), batch)

    loss, logits, grads = gradients(make_model(tied).float(), batch)
    losses, norms = train(make_model(tied).float(), batch)
    floor = 1e-3 * np.sqrt(sum((g**2).sum() for g in record["gradients"].values()))
    record["float32_errors"] = {
        "loss": error(loss, record["loss"]),
        "logits": largest_error(logits, record["logits"]),
        "losses": (np.abs(losses - record["losses"]) / record["losses"]).max(),
        "norms": (np.abs(norms - record["norms"]) / record["norms"]).max(),
        "gradients": {name: error(grads[name], grad, floor) for name, grad in record["gradients"].items()},
    }
    record["formula_error"] = check_against_formula(record, samples)
    return record


def write(path, record):
    with h5py.File(path, "w") as file:
        file.attrs["made by"] = "validation/reference/make_gpt2_records.py"
        file.attrs["seed"] = SEED
        for module in (torch, transformers, np):
            file.attrs[module.__name__] = str(module.__version__)
        file.attrs["distance from the formula"] = record["formula_error"]
        for group in ("config", "optimizer"):
            for key, value in record[group].items():
                file[f"{group}/{key}"] = value
        samples, errors = record["samples"], record["float32_errors"]
        file["batch/lengths"] = np.array([len(sample) - 1 for sample in samples], dtype=np.int32)
        file["batch/tokens"] = np.concatenate([sample[:-1] for sample in samples]).astype(np.int32)
        file["batch/targets"] = np.concatenate([sample[1:] for sample in samples]).astype(np.int32)
        for key in ("loss", "logits", "losses", "norms"):
            file[key] = record[key]
            file[f"float32_errors/{key}"] = errors[key]
        for name, weight in record["weights"].items():
            file[f"weights/{name}"] = weight
            file[f"gradients/{name}"] = record["gradients"][name]
            file[f"float32_errors/gradients/{name}"] = errors["gradients"][name]


def datasets(path):
    found = {}
    with h5py.File(path, "r") as file:

        def keep(name, item):
            if isinstance(item, h5py.Dataset):
                found[name] = item[()]

        file.visititems(keep)
    return found


def differences(committed, rebuilt):
    """What is not as committed. Rounding may differ from machine to machine; inputs may not."""
    if committed.keys() != rebuilt.keys():
        yield "the files hold different datasets"
        return
    for name, old in committed.items():
        new = rebuilt[name]
        if name.startswith("float32_errors/"):
            is_same = new <= max(4 * old, 1e-5)
        elif name.split("/")[0] in ("config", "optimizer", "batch", "weights"):
            is_same = np.array_equal(old, new)
        else:
            is_same = np.abs(new - old).max() <= 1e-10 * np.linalg.norm(old)
        if not is_same:
            yield f"{name} differs by up to {np.abs(new - old).max():.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files that are here")
    is_check = parser.parse_args().check
    torch.set_num_threads(1)
    failures = 0
    for tied in (True, False):
        path = pathlib.Path(__file__).parent / f"gpt2_{'tied' if tied else 'untied'}.h5"
        target = path.with_suffix(".rebuilt") if is_check else path
        record = make_record(tied)
        write(target, record)
        print(f"{path.name}: loss {record['loss']:.12f}, after {STEPS} steps {record['losses'][-1]:.12f}, "
              f"{record['formula_error']:.1e} from the formula, {target.stat().st_size} bytes")  # fmt: skip
        if is_check:
            for line in differences(datasets(path), datasets(target)):
                print(f"  {line}")
                failures += 1
            target.unlink()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
