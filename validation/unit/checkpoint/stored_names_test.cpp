#include "checkpoint/stored_names.hpp"

#include <gtest/gtest.h>

namespace trireme::checkpoint {
namespace {

using Names = std::vector<std::string>;

TEST(StoredNames, IncludeThoseWithoutTheModelPrefix) {
    EXPECT_EQ(list_stored_names("transformer.h.0.ln_1.bias", false),
              (Names{"transformer.h.0.ln_1.bias", "h.0.ln_1.bias"}));
    EXPECT_EQ(list_stored_names("lm_head.weight", false), Names{"lm_head.weight"});
}

TEST(StoredNames, IncludeGammaAndBetaOfOldNorms) {
    EXPECT_EQ(list_stored_names("bert.embeddings.LayerNorm.weight", false),
              (Names{"bert.embeddings.LayerNorm.weight", "embeddings.LayerNorm.weight",
                     "bert.embeddings.LayerNorm.gamma", "embeddings.LayerNorm.gamma"}));
    EXPECT_EQ(list_stored_names("cls.predictions.transform.LayerNorm.bias", false),
              (Names{"cls.predictions.transform.LayerNorm.bias", "cls.predictions.transform.LayerNorm.beta"}));
}

TEST(StoredNames, IncludeTheHeadForATiedEmbedding) {
    EXPECT_EQ(list_stored_names("model.embed_tokens.weight", true),
              (Names{"model.embed_tokens.weight", "embed_tokens.weight", "lm_head.weight",
                     "cls.predictions.decoder.weight"}));
}

TEST(StoredNames, IncludeBothNamesOfTheMaskedHeadBias) {
    EXPECT_EQ(list_stored_names("cls.predictions.decoder.bias", false),
              (Names{"cls.predictions.decoder.bias", "cls.predictions.bias"}));
    EXPECT_EQ(list_stored_names("cls.predictions.bias", true),
              (Names{"cls.predictions.bias", "cls.predictions.decoder.bias"}));
}

TEST(StoredNames, AreRedundantForCopiesAndComputedTables) {
    for (const char* name : {"h.0.attn.bias", "transformer.h.11.attn.masked_bias", "embeddings.position_ids",
                             "model.layers.0.self_attn.rotary_emb.inv_freq", "cls.predictions.decoder.bias"})
        EXPECT_TRUE(is_redundant(name, false)) << name;
    EXPECT_TRUE(is_redundant("lm_head.weight", true));
    EXPECT_TRUE(is_redundant("cls.predictions.bias", false));
    EXPECT_FALSE(is_redundant("cls.predictions.bias", true));
    EXPECT_FALSE(is_redundant("lm_head.weight", false));
    EXPECT_FALSE(is_redundant("h.0.attn.c_attn.bias", true));
    EXPECT_FALSE(is_redundant("h.0.crossattn.bias", true));
}

}  // namespace
}  // namespace trireme::checkpoint
