"""Runs a case in float64 and in float32, and compares the float64 run with the formula."""

import json
import pathlib
import re
import tempfile

import numpy as np
import safetensors.torch
import torch

import formula
from cases import SEED, without_float32

OPTIMIZER = {"beta1": 0.9, "beta2": 0.95, "epsilon": 1e-8, "weight_decay": 0.1, "clip": 1.0}
STEPS = 10
DEPTHS = (0, 0, 1, 2, 1, 0, 2, 1, 0, 0)  # frozen blocks in each of ten updates
FORMULA_BAR = 1e-12  # largest distance of the recorded float64 run from the formula
LEAST_MARGIN = 1e-4  # least distance of a choice from the next best: many times the errors of float32


def make_model(case, dtype):
    """Builds a model with weights large enough for every term to matter, and representable in float32."""
    model = case.build()
    draw = np.random.Generator(np.random.PCG64(SEED + 1))
    with torch.no_grad():
        for name, tensor in sorted(model.named_parameters()):
            middle = 1.0 if name.endswith("weight") and tensor.dim() == 1 else 0.0  # the gain of a norm
            values = middle + 0.3 * draw.standard_normal(tuple(tensor.shape))
            tensor.copy_(torch.from_numpy(values.astype(np.float32)))
    return model.train().to(dtype)


def gradients(case, model, smoothing=0.0):
    model.zero_grad()
    loss, logits = case.run(model, smoothing)
    loss.backward()
    # An untied BERT has a second bias that nothing reads.
    grads = {n: p.grad.numpy().copy() for n, p in model.named_parameters() if p.grad is not None}
    return loss.item(), logits.detach().numpy(), grads


def make_optimizer(case, model):
    decays = [p for p in model.parameters() if p.dim() in (2, 4)]
    others = [p for p in model.parameters() if p.dim() not in (2, 4)]
    return torch.optim.AdamW(
        [{"params": decays, "weight_decay": OPTIMIZER["weight_decay"]}, {"params": others, "weight_decay": 0.0}],
        lr=case.rate, betas=(OPTIMIZER["beta1"], OPTIMIZER["beta2"]), eps=OPTIMIZER["epsilon"],
    )  # fmt: skip


def is_frozen(name, depth):
    """Returns whether a parameter is frozen: the embedding with the first block, then one block after another."""
    block = re.search(r"\.(?:h|layers?)\.(\d+)\.", name)
    if block:
        return int(block[1]) < depth
    return depth > 0 and any(part in ("wte", "wpe") or "embed" in part for part in name.split("."))


def train(case, model, depths=(0,) * STEPS):
    """Returns the loss before the first update and after each one, and the gradient norm at each update.

    Each update has its own number of frozen blocks. A parameter that is frozen loses its moments, and begins anew when it
    is trained again.
    """
    optimizer = make_optimizer(case, model)
    losses, norms = [], []
    for depth in depths:
        optimizer.zero_grad()
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(not is_frozen(name, depth))
            if not parameter.requires_grad:
                optimizer.state.pop(parameter, None)
        loss, _ = case.run(model)
        loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), OPTIMIZER["clip"]).item())
        losses.append(loss.item())
        optimizer.step()
    losses.append(case.run(model)[0].item())
    return np.array(losses), np.array(norms)


def run_all(case, dtype):
    run = {}
    run["loss"], run["logits"], run["gradients"] = gradients(case, make_model(case, dtype))
    run["losses"], run["norms"] = train(case, make_model(case, dtype))
    losses, norms = train(case, make_model(case, dtype), DEPTHS)
    run["frozen"] = {"depths": np.array(DEPTHS), "losses": losses, "norms": norms}
    if case.smoothing:
        run["smoothed"] = {}
        run["smoothed"]["loss"], _, run["smoothed"]["gradients"] = gradients(
            case, make_model(case, dtype), case.smoothing
        )
    return run


def error(values, record, floor=0.0):
    """Returns the largest difference over the norm of the record, or over `floor` if that is larger."""
    difference = np.abs(np.asarray(values, dtype=np.float64) - record).max()
    return difference / max(np.linalg.norm(record), floor)


def largest_error(values, record):
    """Returns the largest difference over the largest magnitude of the record."""
    return np.abs(np.asarray(values, dtype=np.float64) - record).max() / np.abs(record).max()


def gradient_floor(run, name):
    """Returns the least divisor for differences of a gradient.

    A tensor whose gradients are small beside all others is not compared with its own size. A tensor that adds the same
    to all inputs of a softmax has gradients that are 0 up to the rounding of all others: the key biases of a BERT or a
    ViT (all scores of a query), and what adds the same to all rows of span logits.
    """
    whole = np.sqrt(sum((g**2).sum() for g in run["gradients"].values()))
    return whole if np.linalg.norm(run["gradients"][name]) < 1e-12 * whole else 1e-3 * whole


def pass_errors(run, record):
    found = {}
    for name, gradient in record["gradients"].items():
        found[name] = error(run["gradients"][name], gradient, gradient_floor(record, name))
    return {"loss": error(run["loss"], record["loss"]), "gradients": found}


def run_errors(run, record):
    errors = pass_errors(run, record)
    errors["logits"] = largest_error(run["logits"], record["logits"])
    for key in ("losses", "norms"):
        errors[key] = (np.abs(run[key] - record[key]) / record[key]).max()
    errors["frozen"] = {
        key: (np.abs(run["frozen"][key] - record["frozen"][key]) / record["frozen"][key]).max()
        for key in ("losses", "norms")
    }
    if "smoothed" in record:
        errors["smoothed"] = pass_errors(run["smoothed"], record["smoothed"])
    return errors


def pass_distance(case, weights, run, smoothing, seed):
    """Returns how far the loss and one direction of every gradient are from the formula."""

    def loss_of(moved):
        return case.logits_loss(case.formula_logits(moved), smoothing)

    worst = error(run["loss"], loss_of(weights))
    draw = np.random.Generator(np.random.PCG64(seed))
    for name, gradient in run["gradients"].items():
        direction = draw.choice([-1.0, 1.0], gradient.shape)
        slope = formula.directional_derivative(loss_of, weights, name, direction)
        size = max(np.abs(gradient).sum(), gradient_floor(run, name))
        worst = max(worst, abs((gradient * direction).sum() - slope) / size)
    return worst


def distance_from_formula(case, weights, record):
    weights = {name: weight.astype(np.float64) for name, weight in weights.items()}
    worst = largest_error(record["logits"], case.formula_logits(weights))
    worst = max(worst, pass_distance(case, weights, record, 0.0, SEED + 2))
    if case.smoothing:
        worst = max(worst, pass_distance(case, weights, record["smoothed"], case.smoothing, SEED + 3))
    return worst


def saved_form(model):
    """Returns config.json, and the names of parameters in files: transformers renames some when it saves."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        tensors = safetensors.torch.load_file(pathlib.Path(folder) / "model.safetensors")
    names = {}
    for name, parameter in model.named_parameters():
        names[name] = next(n for n, t in tensors.items() if torch.equal(t, parameter))
    config.pop("transformers_version")  # an attribute of the record's file has it
    return json.dumps(config, indent=2), names


def renamed(run, names):
    run["gradients"] = {names[name]: gradient for name, gradient in run["gradients"].items()}
    if "smoothed" in run:
        renamed(run["smoothed"], names)


def make_record(case):
    model = make_model(case, torch.float32)
    config, names = saved_form(model)
    with without_float32(case.casting_modules):
        record = run_all(case, torch.float64)
    errors = run_errors(run_all(case, torch.float32), record)
    weights = {n: p.detach().numpy().copy() for n, p in model.named_parameters() if n in record["gradients"]}

    distance = distance_from_formula(case, weights, record)
    if distance > FORMULA_BAR:
        raise SystemExit(
            f"{case.name}: the float64 run differs from the formula by {distance:.1e}; the limit is {FORMULA_BAR:.0e}"
        )
    record["choices"], margin = case.choices(record["logits"])
    if margin < LEAST_MARGIN:
        raise SystemExit(
            f"{case.name}: the best choice leads by only {margin:.1e}; the minimum is {LEAST_MARGIN:.0e}: change SEED"
        )

    for run in (record, errors):
        renamed(run, names)
    record |= {
        "config.json": config,
        "optimizer": {"rate": case.rate, **OPTIMIZER},
        "batch": case.batch,
        "weights": {names[name]: weight for name, weight in weights.items()},
        "float32_errors": errors,
    }
    if case.smoothing:
        record["smoothed"]["smoothing"] = case.smoothing
    return record, distance
