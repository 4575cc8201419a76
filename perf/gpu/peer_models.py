"""GPT-2 and Llama for perf/gpu/peer.py: the models that Trireme knows by these names, in as few lines of PyTorch."""
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional as F


@dataclass
class Sizes:
    family: str
    layers: int
    width: int
    heads: int
    groups: int
    mlp_width: int
    vocabulary: int
    positions: int = 1024


SIZES = {
    "gpt2": Sizes("gpt2", 12, 768, 12, 12, 3072, 50257),
    "gpt2-medium": Sizes("gpt2", 24, 1024, 16, 16, 4096, 50257),
    "llama-1b": Sizes("llama", 16, 2048, 32, 8, 8192, 128256),
}
TINY = {
    "gpt2": Sizes("gpt2", 2, 64, 4, 4, 256, 257, 64),
    "gpt2-medium": Sizes("gpt2", 3, 64, 4, 4, 256, 257, 64),
    "llama-1b": Sizes("llama", 2, 64, 4, 2, 128, 257, 64),
}


def split_heads(x, heads):
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)  # (samples, heads, tokens, head size)


def attend(q, k, v, groups):
    heads = q.shape[1]
    y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=groups != heads)
    return y.transpose(1, 2).flatten(2)


class Gpt2Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.heads = s.heads
        self.first_norm, self.second_norm = nn.LayerNorm(s.width), nn.LayerNorm(s.width)
        self.qkv, self.out = nn.Linear(s.width, 3 * s.width), nn.Linear(s.width, s.width)
        self.up, self.down = nn.Linear(s.width, s.mlp_width), nn.Linear(s.mlp_width, s.width)

    def forward(self, x, _rotation):
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(self.first_norm(x)).chunk(3, dim=-1))
        x = x + self.out(attend(q, k, v, self.heads))
        return x + self.down(F.gelu(self.up(self.second_norm(x)), approximate="tanh"))


def rotation_of(s, length):
    """Cosines and sines of Llama 3.2's positions, (tokens, half a head) each."""
    half = s.width // s.heads // 2
    rates = 500000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    turns = 8192 * rates / (2 * math.pi)  # within the positions that it was first trained on
    blend = ((turns - 1) / 3).clamp(0, 1)  # few turns: slowed down 32 times; more than four: as they are
    angles = torch.outer(torch.arange(length, dtype=torch.float64), rates * (blend + (1 - blend) / 32))
    return angles.cos().float(), angles.sin().float()


def rotate(x, rotation):
    cos, sin = rotation
    first, second = x.float().chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(x.dtype)


class LlamaBlock(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.heads, self.groups = s.heads, s.groups
        shared = s.groups * (s.width // s.heads)
        self.sizes = [s.width, shared, shared]
        self.first_norm, self.second_norm = nn.RMSNorm(s.width, eps=1e-5), nn.RMSNorm(s.width, eps=1e-5)
        self.qkv = nn.Linear(s.width, sum(self.sizes), bias=False)
        self.out = nn.Linear(s.width, s.width, bias=False)
        self.gate_up = nn.Linear(s.width, 2 * s.mlp_width, bias=False)
        self.down = nn.Linear(s.mlp_width, s.width, bias=False)

    def forward(self, x, rotation):
        q, k, v = self.qkv(self.first_norm(x)).split(self.sizes, dim=-1)
        q, k = rotate(split_heads(q, self.heads), rotation), rotate(split_heads(k, self.groups), rotation)
        x = x + self.out(attend(q, k, split_heads(v, self.groups), self.groups))
        gate, up = self.gate_up(self.second_norm(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate) * up)


class Model(nn.Module):
    """Gives the mean loss. What travels from block to block is of type `between_blocks`. The head shares the token
    table, which is filled up to a multiple of 128 rows, as PyTorch's users do for the tensor cores' sake."""

    def __init__(self, s, length, between_blocks):
        super().__init__()
        self.between_blocks = between_blocks
        self.is_gpt2 = s.family == "gpt2"
        self.tokens = nn.Embedding((s.vocabulary + 127) // 128 * 128, s.width)
        if self.is_gpt2:
            self.positions = nn.Embedding(s.positions, s.width)
        else:
            cos, sin = rotation_of(s, length)
            self.register_buffer("cos", cos, persistent=False)
            self.register_buffer("sin", sin, persistent=False)
        self.blocks = nn.ModuleList((Gpt2Block if self.is_gpt2 else LlamaBlock)(s) for _ in range(s.layers))
        self.norm = nn.LayerNorm(s.width) if self.is_gpt2 else nn.RMSNorm(s.width, eps=1e-5)
        self.apply(first_values)

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        if self.is_gpt2:
            x = x + self.positions.weight[:tokens.shape[1]]
        x = x.to(self.between_blocks)
        rotation = None if self.is_gpt2 else (self.cos, self.sin)
        for block in self.blocks:
            x = block(x, rotation)
        logits = F.linear(self.norm(x), self.tokens.weight)
        return F.cross_entropy(logits.flatten(0, 1).float(), targets.flatten())


def first_values(module):
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)


def flops_per_token(s, length):
    """6 N + 12 L h s, as Trireme counts: N parameters that multiply, of the vocabulary as it is."""
    shared = s.groups * (s.width // s.heads)
    mlp = (2 if s.family == "gpt2" else 3) * s.width * s.mlp_width
    multiplied = s.layers * (s.width * (2 * s.width + 2 * shared) + mlp) + s.vocabulary * s.width
    return 6 * multiplied + 12 * s.layers * s.width * length
