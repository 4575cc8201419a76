"""The computations of the models, written out in numpy, one sample at a time and without padding.

They exist to check the recorded runs: analytic functions of the weights in double (or complex double, for
derivatives by the complex step), without casts, masks or fused operations. Matrices are Hugging Face's: (in,
out) in GPT-2, (out, in) elsewhere.
"""

import math

import numpy as np


def layer_norm(x, gain, bias, epsilon):
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = (centred * centred).mean(axis=-1, keepdims=True)
    return centred / np.sqrt(variance + epsilon) * gain + bias


def rms_norm(x, gain, epsilon):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + epsilon) * gain


def gelu_new(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def erf(x):
    values = np.vectorize(math.erf, otypes=[float])(x.real)
    if not np.iscomplexobj(x):
        return values
    # The complex step is so short that the first-order expansion of erf is exact.
    return values + 1j * x.imag * 2 / np.sqrt(np.pi) * np.exp(-(x.real**2))


def gelu(x):
    return 0.5 * x * (1 + erf(x / np.sqrt(2)))


def silu(x):
    return x / (1 + np.exp(-x))


def log_sum_exp(x):
    # The shift may be any number; a real one keeps the function analytic.
    shift = x.real.max(axis=-1, keepdims=True)
    return shift + np.log(np.exp(x - shift).sum(axis=-1, keepdims=True))


def attention(query, key, value, heads, is_causal):
    """Returns (length, width) from queries (length, width). Keys and values may have fewer heads, each for several."""
    length, size = query.shape[0], query.shape[1] // heads
    heads_of_key = heads // (key.shape[1] // size)
    hidden = np.triu(np.ones((length, length), dtype=bool), k=1 if is_causal else length)
    context = np.empty((length, heads * size), dtype=np.result_type(query, key, value))
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        shared = slice(head // heads_of_key * size, (head // heads_of_key + 1) * size)
        scores = np.where(hidden, -1e300, query[:, own] @ key[:, shared].T / np.sqrt(size))
        context[:, own] = np.exp(scores - log_sum_exp(scores)) @ value[:, shared]
    return context


def rotate(x, frequencies):
    """Rotates every head of x, (length, heads * size), by position * frequency (size / 2 frequencies)."""
    angles = np.arange(len(x))[:, None] * frequencies
    pairs = x.reshape(len(x), -1, 2, len(frequencies)).transpose(2, 0, 1, 3)
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    turned = np.stack([pairs[0] * cos - pairs[1] * sin, pairs[1] * cos + pairs[0] * sin])
    return turned.transpose(1, 2, 0, 3).reshape(x.shape)


def patches(image, size):
    """Cuts an image (channels, edge, edge) into (patches, channels * size * size), row by row of patches."""
    channels, edge = image.shape[:2]
    count = edge // size
    cut = image.reshape(channels, count, size, count, size).transpose(1, 3, 0, 2, 4)
    return cut.reshape(count * count, channels * size * size)


def cross_entropies(rows, targets, smoothing=0.0):
    """Returns the sum over rows. Smoothing moves a share of the target's probability to all classes equally."""
    wanted = (1 - smoothing) * rows[np.arange(len(rows)), targets] + smoothing * rows.mean(axis=-1)
    return (log_sum_exp(rows)[:, 0] - wanted).sum()


def directional_derivative(function, weights, name, direction):
    """Returns d function(weights) / d (weights[name] along direction) without cancellation (Squire and Trapp, 1998)."""
    step = 1e-40
    moved = dict(weights)
    moved[name] = weights[name] + 1j * step * direction
    return function(moved).imag / step
