"""ViT: bidirectional over the patches of an image and a class token before them."""

import numpy as np
import torch
import transformers
from transformers.models.vit import modeling_vit

import formula
from cases import SEED, Case, mean_cross_entropy

IMAGES, CLASSES = 4, 5


class Vit(Case):
    casting_modules = (modeling_vit,)  # the softmax of eager attention
    smoothing = 0.1

    def __init__(self, name):
        super().__init__(name, transformers.ViTConfig(
            num_hidden_layers=2, hidden_size=16, num_attention_heads=2, intermediate_size=40, image_size=12,
            patch_size=4, num_channels=3, hidden_act="gelu", layer_norm_eps=1e-12, hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0, num_labels=CLASSES,
        ))  # fmt: skip
        shape = (IMAGES, self.config.num_channels, self.config.image_size, self.config.image_size)
        rows = (self.config.image_size // self.config.patch_size) ** 2 + 1
        draw = np.random.Generator(np.random.PCG64(SEED))
        self.pixels = draw.uniform(-1, 1, shape).astype(np.float32)
        self.batch = {
            "lengths": np.full(IMAGES, rows),
            "pixels": self.pixels,
            "predicted": rows * np.arange(IMAGES),
            "targets": np.array([2, 4, 0, 2]),
        }

    def build(self):
        return transformers.ViTForImageClassification(self.config)

    def run(self, model, smoothing=0.0):
        logits = model(pixel_values=torch.from_numpy(self.pixels).to(model.dtype)).logits
        return mean_cross_entropy(logits, torch.from_numpy(self.batch["targets"]), smoothing), logits

    def formula_logits(self, weights):
        x = np.stack([self.class_row(weights, image.astype(np.float64)) for image in self.pixels])
        return x @ weights["classifier.weight"].T + weights["classifier.bias"]

    def class_row(self, weights, image):
        """Returns the last hidden state of an image's class token."""

        def linear(name, y):
            matrix = weights[name + ".weight"]
            return y @ matrix.reshape(len(matrix), -1).T + weights[name + ".bias"]

        def norm(name, y):
            gain, bias = weights[name + ".weight"], weights[name + ".bias"]
            return formula.layer_norm(y, gain, bias, self.config.layer_norm_eps)

        patches = formula.patches(image, self.config.patch_size)
        x = linear("vit.embeddings.patch_embeddings.projection", patches)
        x = np.concatenate([weights["vit.embeddings.cls_token"][0], x])
        x = x + weights["vit.embeddings.position_embeddings"][0]
        for block in range(self.config.num_hidden_layers):
            prefix = f"vit.layers.{block}."
            normed = norm(prefix + "layernorm_before", x)
            qkv = (linear(f"{prefix}attention.{part}_proj", normed) for part in "qkv")
            context = formula.attention(*qkv, self.config.num_attention_heads, is_causal=False)
            x = x + linear(prefix + "attention.o_proj", context)
            inner = formula.gelu(linear(prefix + "mlp.fc1", norm(prefix + "layernorm_after", x)))
            x = x + linear(prefix + "mlp.fc2", inner)
        return norm("vit.layernorm", x)[0]


CASES = [Vit("vit")]
