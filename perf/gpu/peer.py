"""PyTorch beside Trireme: a training step, or the rates of attention and of products, in bf16 on one GPU.

    python3 perf/gpu/peer.py train MODEL RESULT.json [--batch B] [--between-blocks f32|bf16] [--eager]
    python3 perf/gpu/peer.py rates RESULT.json

Training is what PyTorch's users do: autocast to bf16 over parameters and moments of f32, AdamW fused, gradients
clipped to a norm of 1, no dropout, flash attention, the step compiled unless --eager says otherwise. Autocast alone
keeps f32 between blocks; bf16 there is faster. --device cpu --tiny tries the program where there is no GPU.
"""
import argparse
import contextlib
import json
import statistics
import time

import torch
from torch.nn import functional as F

from peer_models import SIZES, TINY, Model, flops_per_token

WARM_UP, STEPS = 10, 50
ROUNDS = 9
ROUND_SECONDS = 0.02
BETWEEN_BLOCKS = {"f32": torch.float32, "bf16": torch.bfloat16}
ATTENTION = [  # name, samples, tokens, heads, groups, head size; as perf/gpu/measure_attention.cpp has them
    ("gpt2", 32, 1024, 12, 12, 64), ("gpt2-medium", 16, 1024, 16, 16, 64), ("llama-1b", 8, 1024, 32, 8, 64),
    ("64 of 1,024", 16, 1024, 32, 32, 64), ("64 of 4,096", 4, 4096, 32, 32, 64),
    ("128 of 1,024", 16, 1024, 16, 16, 128), ("128 of 4,096", 4, 4096, 16, 16, 128)]


def use_flash_alone(is_cuda):
    if is_cuda:
        torch.backends.cuda.enable_flash_sdp(True)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        torch.backends.cuda.enable_math_sdp(False)
        torch.backends.cuda.enable_cudnn_sdp(False)


class Meter:
    """Joules by NVML, where Python has it."""

    def __init__(self, is_cuda):
        self.handle = None
        with contextlib.suppress(Exception):
            if is_cuda:
                import pynvml
                pynvml.nvmlInit()
                self.handle = pynvml.nvmlDeviceGetHandleByIndex(0)
                self.nvml = pynvml
                self.joules()

    def joules(self):
        return None if self.handle is None else self.nvml.nvmlDeviceGetTotalEnergyConsumption(self.handle) / 1e3


class Clock:
    """Seconds between marks, by the GPU's clock where there is one."""

    def __init__(self, is_cuda):
        self.is_cuda = is_cuda

    def mark(self):
        if not self.is_cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, begin, end):
        if not self.is_cuda:
            return end - begin
        end.synchronize()
        return begin.elapsed_time(end) / 1e3


def median_seconds(clock, work, rounds=ROUNDS, round_seconds=ROUND_SECONDS):
    def stretch(calls):
        begin = clock.mark()
        for _ in range(calls):
            work()
        return clock.between(begin, clock.mark())

    calls, passed, last = 1, 0, stretch(1)
    while passed < 5 * round_seconds or last < round_seconds:
        if last < round_seconds:
            calls *= 2
        last = stretch(calls)
        passed += last
    return statistics.median(stretch(calls) / calls for _ in range(rounds))


def make_step(model, batches, is_compiled, device):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    forward = torch.compile(model) if is_compiled else model

    def step(number):
        tokens, targets = batches[number % len(batches)]
        with torch.autocast(device, dtype=torch.bfloat16):
            loss = forward(tokens, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def random_batches(count, samples, length, vocabulary, device):
    rows = torch.randint(vocabulary - 1, (count, samples, length + 1), device=device)
    return [(row[:, :-1].contiguous(), row[:, 1:].contiguous()) for row in rows]


def train(chosen, clock):
    sizes = (TINY if chosen.tiny else SIZES)[chosen.model]
    length = sizes.positions
    warm_up, steps = (1, 2) if chosen.tiny else (WARM_UP, STEPS)
    torch.manual_seed(1)
    model = Model(sizes, length, BETWEEN_BLOCKS[chosen.between_blocks]).to(chosen.device)
    batches = random_batches(8, chosen.batch, length, sizes.vocabulary, chosen.device)
    step = make_step(model, batches, not chosen.eager, chosen.device)
    meter = Meter(clock.is_cuda)
    first = float(step(0))
    for number in range(1, warm_up):
        step(number)
    if clock.is_cuda:
        torch.cuda.synchronize()
    joules = meter.joules()
    marks = [clock.mark()]
    for number in range(steps):
        loss = step(warm_up + number)
        marks.append(clock.mark())
    seconds = [clock.between(begin, end) for begin, end in zip(marks, marks[1:])]
    tokens = chosen.batch * length
    result = {"model": chosen.model, "batch": chosen.batch, "length": length, "compiled": not chosen.eager,
              "parameters_and_moments": "f32", "products": "bf16", "between_blocks": chosen.between_blocks,
              "attention": "flash", "optimizer": "fused AdamW",
              "parameters": sum(p.numel() for p in model.parameters()),
              "flops_per_token": flops_per_token(sizes, length),
              "steps": steps, "step_s": statistics.median(seconds), "least_step_s": min(seconds),
              "most_step_s": max(seconds), "tokens_per_s": tokens / statistics.median(seconds),
              "first_loss": first, "last_loss": float(loss)}
    if clock.is_cuda:
        result["peak_bytes"] = torch.cuda.max_memory_allocated()
        result["reserved_bytes"] = torch.cuda.max_memory_reserved()
    if joules is not None:
        result["joules_per_token"] = (meter.joules() - joules) / (steps * tokens)
    return result


def attention_case(case, backend, device, clock, quick):
    _, samples, length, heads, groups, size = case
    kind = {"device": device, "dtype": torch.bfloat16}
    q = torch.randn(samples, length, heads, size, **kind).transpose(1, 2).requires_grad_()
    k, v = (torch.randn(samples, length, groups, size, **kind).transpose(1, 2).requires_grad_() for _ in range(2))

    def forward():
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=groups != heads)

    with backend:
        with torch.no_grad():
            there = median_seconds(clock, forward, **quick)
        output = forward()
        gradient = torch.randn_like(output)
        back = median_seconds(clock, lambda: torch.autograd.grad(output, (q, k, v), gradient, retain_graph=True),
                              **quick)
    pairs = samples * length * (length + 1) / 2
    return {"forward": {"median_s": there, "flops_per_s": 4 * pairs * heads * size / there},
            "backward": {"median_s": back, "flops_per_s": 10 * pairs * heads * size / back}}


def attention_backends(is_cuda):
    if not is_cuda:
        return {"flash": contextlib.nullcontext()}
    from torch.nn.attention import SDPBackend, sdpa_kernel
    return {"flash": sdpa_kernel([SDPBackend.FLASH_ATTENTION]), "cudnn": sdpa_kernel([SDPBackend.CUDNN_ATTENTION])}


def all_attention(chosen, clock, quick):
    cases = [("tiny", 2, 64, 4, 2, 16)] if chosen.tiny else ATTENTION
    results = []
    for case in cases:
        results.append(dict(zip(("name", "samples", "length", "heads", "groups", "head_size"), case)))
        for name in attention_backends(clock.is_cuda):
            try:
                backend = attention_backends(clock.is_cuda)[name]
                results[-1][name] = attention_case(case, backend, chosen.device, clock, quick)
            except RuntimeError as error:
                results[-1][name] = {"failed": str(error)[:300]}
    return results


def rates(chosen, clock):
    quick = {"rounds": 1, "round_seconds": 0} if chosen.tiny else {}
    side = 64 if chosen.tiny else 8192
    left, right = (torch.randn(side, side, device=chosen.device, dtype=torch.bfloat16) for _ in range(2))
    product = median_seconds(clock, lambda: left @ right, **quick)
    source = torch.randn((1 << 12) if chosen.tiny else (1 << 29), device=chosen.device)
    target = torch.empty_like(source)
    copy = median_seconds(clock, lambda: target.copy_(source), **quick)
    result = {"gemm": {"side": side, "median_s": product, "flops_per_s": 2 * side ** 3 / product},
              "copy_within": {"median_s": copy, "bytes_per_s": 2 * 4 * source.numel() / copy}}
    del source, target
    result["cases"] = all_attention(chosen, clock, quick)
    return result


def arguments():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    of_train = commands.add_parser("train")
    of_train.add_argument("model", choices=SIZES)
    of_train.add_argument("--batch", type=int, default=8)
    of_train.add_argument("--between-blocks", choices=BETWEEN_BLOCKS, default="f32")
    of_train.add_argument("--eager", action="store_true")
    for command in (of_train, commands.add_parser("rates")):
        command.add_argument("result")
        command.add_argument("--device", default="cuda")
        command.add_argument("--tiny", action="store_true")
    return parser.parse_args()


def main():
    chosen = arguments()
    clock = Clock(chosen.device == "cuda")
    use_flash_alone(clock.is_cuda)
    result = {"torch": torch.__version__, **(train if chosen.command == "train" else rates)(chosen, clock)}
    with open(chosen.result, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
