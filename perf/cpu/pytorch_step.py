#!/usr/bin/env python3
"""Measures the step of perf_cpu_step in PyTorch: a Hugging Face model, f32, one thread, gradient clipping and AdamW.

    pytorch_step.py [MODEL [SAMPLES [LENGTH [REPEATS [RESULT.json]]]]]      gpt2 or llama-160m

Prints the median seconds per step, the version, and the libraries that PyTorch was built with. The loss counts every
token, as in perf_cpu_step. PyTorch's fused and foreach AdamW are both tried; the faster one counts.
"""

import json
import statistics
import sys
import time

import torch
import transformers


def make_step(model, optimizer, tokens, targets):
    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = model(tokens).logits
        loss = torch.nn.functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def median_seconds(step, repeats):
    step()
    seconds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds)


def make_model(name):
    if name == "gpt2":
        config = transformers.GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False,
                                         activation_function="gelu_pytorch_tanh", attn_implementation="sdpa")
        return transformers.GPT2LMHeadModel(config).train()
    config = transformers.LlamaConfig(hidden_size=768, num_hidden_layers=12, num_attention_heads=12,
                                      intermediate_size=3072, vocab_size=32000, max_position_embeddings=2048,
                                      use_cache=False, attn_implementation="sdpa")
    return transformers.LlamaForCausalLM(config).train()


def main():
    words = sys.argv[1:] + [None] * 5
    samples, length, repeats = (int(w or d) for w, d in zip(words[1:4], (4, 64, 7)))
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = make_model(words[0] or "gpt2")
    config = model.config
    tokens = torch.randint(config.vocab_size, (samples, length))
    targets = torch.randint(config.vocab_size, (samples, length))
    seconds = {}
    for form in ("fused", "foreach"):
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.1, **{form: True})
        seconds[form] = median_seconds(make_step(model, optimizer, tokens, targets), repeats)
    best = min(seconds, key=seconds.get)
    result = {"samples": samples, "length": length, "step_seconds": seconds[best], "optimizer_form": best,
              "tokens_per_s": samples * length / seconds[best], "torch": torch.__version__,
              "transformers": transformers.__version__, "blas": torch.__config__.show().replace("\n", " ")}
    print(f"PyTorch {torch.__version__}, {samples} x {length} tokens: {1e3 * seconds[best]:.1f} ms per step "
          f"({best} AdamW), {result['tokens_per_s']:.1f} tokens/s")
    print(result["blas"])
    if words[4]:
        with open(words[4], "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)
            file.write("\n")


if __name__ == "__main__":
    main()
