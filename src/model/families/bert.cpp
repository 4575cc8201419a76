// BERT: bidirectional, with token types and a norm after each half of a block. (Devlin et al., 2019)
#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

ModelConfig read_bert(const ConfigFields& fields) {
    ModelConfig config = read_encoder(fields);
    config.positions = fields.size("max_position_embeddings", 512);
    config.vocabulary = fields.size("vocab_size", 30522);
    config.token_types = fields.size("type_vocab_size", 2);
    config.dropout = fields.share("hidden_dropout_prob", 0.1);
    config.attention_dropout = fields.share("attention_probs_dropout_prob", 0.1);
    if (fields.share("classifier_dropout", config.dropout) != config.dropout) {
        fields.refuse("classifier_dropout",
                      cat("Trireme drops as much everywhere, and hidden_dropout_prob is ", config.dropout));
    }
    fields.require("position_embedding_type", "absolute");
    fields.require("is_decoder", false);
    fields.require("add_cross_attention", false);
    return config;
}

void write_bert(const ModelConfig& config, ConfigSettings& file) {
    write_encoder(config, file);
    file["max_position_embeddings"] = config.positions;
    file["type_vocab_size"] = config.token_types;
}

ModelConfig bert(const char* name, const BlockSizes& sizes) {
    ModelConfig model = make_model(name, sizes);
    model.family = Family::bert;
    model.task = Task::masked;
    model.positions = 512;
    model.vocabulary = 30522;
    model.token_types = 2;
    model.activation = kernels::ActivationKind::gelu;
    model.norm_epsilon = 1e-12;
    return model;
}

std::vector<ModelConfig> bert_models() {
    ModelConfig tiny = disable_dropout(bert("bert-tiny", with_fourfold_mlp(2, 128, 2)));
    tiny.vocabulary = 0;
    return {tiny, bert("bert-base", with_fourfold_mlp(12, 768, 12)),
            bert("bert-large", with_fourfold_mlp(24, 1024, 16))};
}

constexpr Architecture bert_architectures[] = {
    {"BertForMaskedLM", Family::bert, Task::masked, true},
    {"BertForPreTraining", Family::bert, Task::masked, true},
    {"BertModel", Family::bert, Task::masked, false},
    {"BertForQuestionAnswering", Family::bert, Task::span, true},
    {"BertForSequenceClassification", Family::bert, Task::classify, true}};
constexpr std::string_view bert_attention_in[] = {"attention.self.query", "attention.self.key",
                                                  "attention.self.value"};
constexpr std::string_view bert_mlp_in[] = {"intermediate.dense"};
constexpr std::string_view bert_computed[] = {"embeddings.position_ids", "embeddings.token_type_ids"};

}  // namespace

constexpr FamilyTraits bert_family{.family = Family::bert,
                                   .name = "bert",
                                   .architectures = bert_architectures,
                                   .block = {.prefix = "bert.encoder.layer.",
                                             .attention_norm = "attention.output.LayerNorm",
                                             .attention_in = bert_attention_in,
                                             .attention_out = "attention.output.dense",
                                             .mlp_norm = "output.LayerNorm",
                                             .mlp_in = bert_mlp_in,
                                             .mlp_out = "output.dense"},
                                   .token_table = "bert.embeddings.word_embeddings.weight",
                                   .position_table = "bert.embeddings.position_embeddings.weight",
                                   .final_norm = "",
                                   .vocabulary_head = "cls.predictions.decoder.weight",
                                   .has_post_norm = true,
                                   .token_type_table = "bert.embeddings.token_type_embeddings.weight",
                                   .embedding_norm = "bert.embeddings.LayerNorm",
                                   .computed = bert_computed,
                                   .has_head_transform = true,
                                   .read = read_bert,
                                   .write = write_bert,
                                   .models = bert_models};

}  // namespace trireme::model
