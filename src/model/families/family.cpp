#include "model/families/family.hpp"

#include "trireme/base/error.hpp"

namespace trireme {
namespace {

FamilyTraits gpt2_traits() {
    return {.block = {.prefix = "transformer.h.",
                      .attention_norm = "ln_1",
                      .attention_in = {"attn.c_attn"},
                      .attention_out = "attn.c_proj",
                      .mlp_norm = "ln_2",
                      .mlp_in = {"mlp.c_fc"},
                      .mlp_out = "mlp.c_proj"},
            .token_table = "transformer.wte.weight",
            .position_table = "transformer.wpe.weight",
            .final_norm = "transformer.ln_f",
            .vocabulary_head = "lm_head.weight",
            .axes = WeightAxes::in_out,
            .has_small_last = true};
}

FamilyTraits llama_traits() {
    return {.block = {.prefix = "model.layers.",
                      .attention_norm = "input_layernorm",
                      .attention_in = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"},
                      .attention_out = "self_attn.o_proj",
                      .mlp_norm = "post_attention_layernorm",
                      .mlp_in = {"mlp.gate_proj", "mlp.up_proj"},
                      .mlp_out = "mlp.down_proj"},
            .token_table = "model.embed_tokens.weight",
            .position_table = "",
            .final_norm = "model.norm",
            .vocabulary_head = "lm_head.weight",
            .has_bias = false};
}

FamilyTraits bert_traits() {
    return {.block = {.prefix = "bert.encoder.layer.",
                      .attention_norm = "attention.output.LayerNorm",
                      .attention_in = {"attention.self.query", "attention.self.key", "attention.self.value"},
                      .attention_out = "attention.output.dense",
                      .mlp_norm = "output.LayerNorm",
                      .mlp_in = {"intermediate.dense"},
                      .mlp_out = "output.dense"},
            .token_table = "bert.embeddings.word_embeddings.weight",
            .position_table = "bert.embeddings.position_embeddings.weight",
            .final_norm = "",
            .vocabulary_head = "cls.predictions.decoder.weight",
            .is_norm_behind = true};
}

FamilyTraits vit_traits() {
    return {.block = {.prefix = "vit.encoder.layer.",
                      .attention_norm = "layernorm_before",
                      .attention_in = {"attention.attention.query", "attention.attention.key",
                                       "attention.attention.value"},
                      .attention_out = "attention.output.dense",
                      .mlp_norm = "layernorm_after",
                      .mlp_in = {"intermediate.dense"},
                      .mlp_out = "output.dense"},
            .token_table = "",
            .position_table = "vit.embeddings.position_embeddings",
            .final_norm = "vit.layernorm",
            .vocabulary_head = ""};
}

}  // namespace

FamilyTraits traits_of(Family family) {
    switch (family) {
        case Family::gpt2:
            return gpt2_traits();
        case Family::llama:
            return llama_traits();
        case Family::bert:
            return bert_traits();
        case Family::vit:
            return vit_traits();
    }
    throw BugError("unknown family");
}

}  // namespace trireme
