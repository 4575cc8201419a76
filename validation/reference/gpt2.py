"""GPT-2: learned positions, norms before each half of a block, (in, out) matrices."""

import numpy as np
import transformers

import formula
from cases import POSITIONS, VOCABULARY, LanguageCase


class Gpt2(LanguageCase):
    rate = 1e-2

    def __init__(self, name, tied):
        super().__init__(name, transformers.GPT2Config(
            n_layer=2, n_embd=16, n_head=2, n_inner=64, n_positions=POSITIONS, vocab_size=VOCABULARY,
            activation_function="gelu_new", layer_norm_epsilon=1e-5, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
            tie_word_embeddings=tied, use_cache=False, bos_token_id=0, eos_token_id=0,
        ))  # fmt: skip

    def build(self):
        return transformers.GPT2LMHeadModel(self.config)

    def sample_logits(self, weights, tokens):
        def linear(name, y):
            return y @ weights[name + ".weight"] + weights[name + ".bias"]

        def norm(name, y):
            gain, bias = weights[name + ".weight"], weights[name + ".bias"]
            return formula.layer_norm(y, gain, bias, self.config.layer_norm_epsilon)

        x = weights["transformer.wte.weight"][tokens] + weights["transformer.wpe.weight"][: len(tokens)]
        for block in range(self.config.n_layer):
            prefix = f"transformer.h.{block}."
            qkv = np.split(linear(prefix + "attn.c_attn", norm(prefix + "ln_1", x)), 3, axis=1)
            x = x + linear(prefix + "attn.c_proj", formula.attention(*qkv, self.config.n_head, is_causal=True))
            hidden = formula.gelu_new(linear(prefix + "mlp.c_fc", norm(prefix + "ln_2", x)))
            x = x + linear(prefix + "mlp.c_proj", hidden)
        head = "transformer.wte.weight" if self.config.tie_word_embeddings else "lm_head.weight"
        return norm("transformer.ln_f", x) @ weights[head].T


CASES = [Gpt2("gpt2_tied", True), Gpt2("gpt2_untied", False)]
