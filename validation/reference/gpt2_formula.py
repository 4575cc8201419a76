"""The loss of a GPT-2 written out in numpy, one sample at a time and without padding.

It exists to check the recorded run: an analytic function of the weights in double (or complex double, for
derivatives by the complex step), with no cast, mask or fused operation in it.
"""

import numpy as np


def layer_norm(x, gain, bias, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * gain + bias


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def log_sum_exp(x):
    # The shift may be any number; a real one keeps the function analytic.
    shift = x.real.max(axis=-1, keepdims=True)
    return shift + np.log(np.exp(x - shift).sum(axis=-1, keepdims=True))


def attention(qkv, heads):
    length, width = qkv.shape[0], qkv.shape[1] // 3
    size = width // heads
    future = np.triu(np.ones((length, length), dtype=bool), k=1)
    context = np.empty((length, width), dtype=qkv.dtype)
    for head in range(heads):
        columns = slice(head * size, (head + 1) * size)
        query, key, value = (qkv[:, part * width : (part + 1) * width][:, columns] for part in range(3))
        scores = np.where(future, -1e300, query @ key.T / np.sqrt(size))
        context[:, columns] = np.exp(scores - log_sum_exp(scores)) @ value
    return context


def logits(weights, config, tokens):
    """(length, vocabulary) for one sample's input tokens; `weights` by Hugging Face's names."""
    x = weights["transformer.wte.weight"][tokens] + weights["transformer.wpe.weight"][: len(tokens)]

    def linear(name, y):
        return y @ weights[name + ".weight"] + weights[name + ".bias"]

    def norm(name, y):
        return layer_norm(y, weights[name + ".weight"], weights[name + ".bias"], config["norm_epsilon"])

    for block in range(config["layers"]):
        prefix = f"transformer.h.{block}."
        qkv = linear(prefix + "attn.c_attn", norm(prefix + "ln_1", x))
        x = x + linear(prefix + "attn.c_proj", attention(qkv, config["heads"]))
        hidden = gelu_new(linear(prefix + "mlp.c_fc", norm(prefix + "ln_2", x)))
        x = x + linear(prefix + "mlp.c_proj", hidden)
    head = weights["transformer.wte.weight" if config["tied"] else "lm_head.weight"]
    return norm("transformer.ln_f", x) @ head.T


def mean_loss(weights, config, samples):
    """The mean cross-entropy over all predictions of all samples; a sample of L + 1 tokens has L."""
    total, count = 0, 0
    for sample in samples:
        rows = logits(weights, config, sample[:-1])
        total = total + (log_sum_exp(rows)[:, 0] - rows[np.arange(len(rows)), sample[1:]]).sum()
        count += len(rows)
    return total / count


def directional_derivative(weights, config, samples, name, direction):
    """d mean_loss / d (weights[name] along direction), without cancellation (Squire and Trapp, 1998)."""
    step = 1e-40
    moved = dict(weights)
    moved[name] = weights[name] + 1j * step * direction
    return mean_loss(moved, config, samples).imag / step
