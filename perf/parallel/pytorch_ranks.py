#!/usr/bin/env python3
"""Measures PyTorch on two ranks: a Hugging Face GPT-2, f32, one thread per rank, communication by gloo.

    pytorch_ranks.py weak|pipeline --rank 0|1 --meeting FILE --records FOLDER ...

weak: one step by a single process while the other one sleeps, and one step by both with DistributedDataParallel; each
replica has the same number of samples. pipeline: two stages with torch.distributed.pipelining's Schedule1F1B. All clip
the gradient and use the fused AdamW. Rank 0 writes pytorch-one.jsonl, pytorch-two.jsonl or pytorch-pipeline.jsonl, one
line per step with the seconds of the slower rank and the compute seconds per rank, and pytorch.json with the versions.
"""

import argparse
import json
import pathlib
import time

import torch
import torch.distributed as dist
import transformers
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

CLIP = 1.0


class ComputeClock:
    """Sums the seconds that are spent inside the functions that it watches."""

    def __init__(self):
        self.seconds = 0.0

    def watch(self, function):
        def timed(*arguments, **named):
            begin = time.perf_counter()
            result = function(*arguments, **named)
            self.seconds += time.perf_counter() - begin
            return result

        return timed


class FirstStage(torch.nn.Module):
    def __init__(self, model, blocks):
        super().__init__()
        self.tokens, self.positions = model.transformer.wte, model.transformer.wpe
        self.blocks = model.transformer.h[:blocks]

    def forward(self, tokens):
        hidden = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            hidden = block(hidden)
        return hidden


class LastStage(torch.nn.Module):
    def __init__(self, model, first_block):
        super().__init__()
        self.blocks = model.transformer.h[first_block:]
        self.norm, self.head = model.transformer.ln_f, model.lm_head

    def forward(self, hidden):
        for block in self.blocks:
            hidden = block(hidden)
        return self.head(self.norm(hidden))


def make_model(layers, is_tied):
    config = transformers.GPT2Config(n_layer=layers, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False,
                                     activation_function="gelu_pytorch_tanh", attn_implementation="sdpa",
                                     tie_word_embeddings=is_tied)
    return transformers.GPT2LMHeadModel(config).train()


def make_optimizer(module):
    return torch.optim.AdamW(module.parameters(), lr=1e-4, weight_decay=0.1, fused=True)


def random_tokens(samples, length):
    return torch.randint(transformers.GPT2Config().vocab_size, (samples, length))


def loss_of(logits, targets):
    return torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def whole_step(model, samples, length):
    optimizer = make_optimizer(model)
    tokens, targets = random_tokens(samples, length), random_tokens(samples, length)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss_of(model(tokens).logits, targets).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()

    return step


def clip_over_stages(module, clock):
    gradients = [p.grad for p in module.parameters()]
    square = clock.watch(torch.nn.utils.get_total_norm)(gradients) ** 2
    dist.all_reduce(square)
    clock.watch(torch.nn.utils.clip_grads_with_norm_)(module.parameters(), CLIP, square.sqrt())


def pipeline_step(options, clock):
    model = make_model(options.layers, is_tied=False)
    is_first = options.rank == 0
    module = (FirstStage if is_first else LastStage)(model, options.first_blocks)
    optimizer = make_optimizer(module)
    stage = PipelineStage(module, options.rank, 2, torch.device("cpu"))
    stage.forward_one_chunk = clock.watch(stage.forward_one_chunk)
    stage.backward_one_chunk = clock.watch(stage.backward_one_chunk)
    schedule = Schedule1F1B(stage, options.micro_batches, loss_fn=clock.watch(loss_of))
    samples = options.micro_batches * options.micro_samples
    tokens, targets = random_tokens(samples, options.length), random_tokens(samples, options.length)

    def step():
        clock.watch(optimizer.zero_grad)(set_to_none=True)
        if is_first:
            schedule.step(tokens)
        else:
            schedule.step(target=targets, losses=[], return_outputs=False)
        clip_over_stages(module, clock)
        clock.watch(optimizer.step)()

    return step


def take_steps(step, count, clock=None):
    """Returns a list of (seconds, compute seconds), one per step."""
    figures = []
    for _ in range(count):
        if clock:
            clock.seconds = 0.0
        begin = time.perf_counter()
        step()
        seconds = time.perf_counter() - begin
        figures.append((seconds, clock.seconds if clock else None))
    return figures


def gather(figures):
    ranks = [None] * dist.get_world_size()
    dist.all_gather_object(ranks, figures)
    return ranks


def write(path, ranks):
    """Writes one line per step; `ranks` holds the figures of every rank."""
    lines = []
    for number, parts in enumerate(zip(*ranks), 1):
        line = {"step": number, "seconds": max(seconds for seconds, _ in parts)}
        if parts[0][1] is not None:
            line["compute_s"] = [compute for _, compute in parts]
        lines.append(json.dumps(line) + "\n")
    path.write_text("".join(lines), encoding="utf-8")


def weak(options):
    is_first = options.rank == 0
    model = make_model(options.layers, is_tied=True)
    dist.barrier()
    if is_first:
        alone = take_steps(whole_step(model, options.samples, options.length), options.steps)
        write(options.records / "pytorch-one.jsonl", [alone])
    dist.barrier()
    replica = torch.nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    both = gather(take_steps(whole_step(replica, options.samples, options.length), options.steps))
    if is_first:
        write(options.records / "pytorch-two.jsonl", both)


def pipeline(options):
    clock = ComputeClock()
    step = pipeline_step(options, clock)
    dist.barrier()
    ranks = gather(take_steps(step, options.steps, clock))
    if options.rank == 0:
        write(options.records / "pytorch-pipeline.jsonl", ranks)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", choices=("weak", "pipeline"))
    for name in ("rank", "layers", "samples", "length", "steps", "first-blocks", "micro-batches", "micro-samples"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--meeting", required=True)
    parser.add_argument("--records", type=pathlib.Path, required=True)
    return parser.parse_args()


def main():
    options = parse()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", init_method=f"file://{options.meeting}", rank=options.rank, world_size=2)
    {"weak": weak, "pipeline": pipeline}[options.task](options)
    if options.rank == 0:
        versions = {"torch": torch.__version__, "transformers": transformers.__version__}
        (options.records.parent / "pytorch.json").write_text(json.dumps(versions), encoding="utf-8")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
