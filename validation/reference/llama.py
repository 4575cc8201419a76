"""Llama: rotary positions, RMS norms, gated MLP, heads in groups, no biases."""

import numpy as np
import transformers
from transformers import modeling_rope_utils
from transformers.models.llama import modeling_llama

import formula
from cases import POSITIONS, VOCABULARY, LanguageCase


def frequencies(config):
    """Returns a frequency per pair of channels of a head. Llama 3.1 divides those of long waves by `factor`."""
    rope = config.rope_parameters
    plain = rope["rope_theta"] ** (-np.arange(0, config.head_dim, 2) / config.head_dim)
    if rope["rope_type"] == "default":
        return plain
    waves = rope["original_max_position_embeddings"] * plain / (2 * np.pi)  # waves within the original length
    low, high = rope["low_freq_factor"], rope["high_freq_factor"]
    kept = np.clip((waves - low) / (high - low), 0, 1)
    return kept * plain + (1 - kept) * plain / rope["factor"]


class Llama(LanguageCase):
    # RMSNorm, rotary tables and the softmax of eager attention are in the first module; frequencies are in
    # both.
    casting_modules = (modeling_llama, modeling_rope_utils)
    rate = 1e-3  # at 3e-3 rounding in any program grows to 2e-5 of the tenth gradient norm

    def __init__(self, name, tied, width, groups, rope):
        super().__init__(name, transformers.LlamaConfig(
            num_hidden_layers=2, hidden_size=width, num_attention_heads=4, num_key_value_heads=groups,
            intermediate_size=40, max_position_embeddings=POSITIONS, vocab_size=VOCABULARY, rms_norm_eps=1e-5,
            rope_parameters=rope, attention_dropout=0.0, tie_word_embeddings=tied, use_cache=False,
            bos_token_id=0, eos_token_id=0,
        ))  # fmt: skip

    def build(self):
        return transformers.LlamaForCausalLM(self.config)

    def sample_logits(self, weights, tokens):
        def linear(name, y):
            return y @ weights[name + ".weight"].T

        def norm(name, y):
            return formula.rms_norm(y, weights[name + ".weight"], self.config.rms_norm_eps)

        turns = frequencies(self.config)
        x = weights["model.embed_tokens.weight"][tokens]
        for block in range(self.config.num_hidden_layers):
            prefix = f"model.layers.{block}."
            normed = norm(prefix + "input_layernorm", x)
            query, key = (formula.rotate(linear(f"{prefix}self_attn.{part}_proj", normed), turns) for part in "qk")
            value = linear(prefix + "self_attn.v_proj", normed)
            context = formula.attention(query, key, value, self.config.num_attention_heads, is_causal=True)
            x = x + linear(prefix + "self_attn.o_proj", context)
            normed = norm(prefix + "post_attention_layernorm", x)
            gate = formula.silu(linear(prefix + "mlp.gate_proj", normed))
            x = x + linear(prefix + "mlp.down_proj", gate * linear(prefix + "mlp.up_proj", normed))
        head = "model.embed_tokens" if self.config.tie_word_embeddings else "lm_head"
        return linear(head, norm("model.norm", x))


PLAIN = {"rope_type": "default", "rope_theta": 10000.0}
# The three frequencies are 1, 1/2 and 1/4. The first is fast enough to stay, the last is slow enough to be
# divided by the factor, and the middle one is in between.
STRETCHED = {"rope_type": "llama3", "rope_theta": 8.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 2.4,
             "original_max_position_embeddings": 16}  # fmt: skip
CASES = [
    Llama("llama_grouped_untied", tied=False, width=16, groups=2, rope=PLAIN),
    Llama("llama_stretched_tied", tied=True, width=24, groups=4, rope=STRETCHED),
]
