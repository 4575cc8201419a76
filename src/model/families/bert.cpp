// BERT: bidirectional attention, token types, and a norm after each half of a block. (Devlin et al., 2019)
#include "model/families/settings.hpp"
#include "trireme/base/error.hpp"

namespace trireme::model {
namespace {

ModelConfig read_bert(const ConfigFields& fields) {
    ModelConfig config = read_encoder(fields);
    config.positions = fields.read_size("max_position_embeddings", 512);
    config.vocabulary = fields.read_size("vocab_size", 30522);
    config.token_types = fields.read_size("type_vocab_size", 2);
    config.dropout = fields.read_fraction("hidden_dropout_prob", 0.1);
    config.attention_dropout = fields.read_fraction("attention_probs_dropout_prob", 0.1);
    if (fields.read_fraction("classifier_dropout", config.dropout) != config.dropout) {
        fields.reject("classifier_dropout", cat("it must equal hidden_dropout_prob, ", config.dropout));
    }
    fields.require_value("position_embedding_type", "absolute");
    fields.require_value("is_decoder", false);
    fields.require_value("add_cross_attention", false);
    return config;
}

void write_bert(const ModelConfig& config, ConfigSettings& settings) {
    write_encoder(config, settings);
    settings["max_position_embeddings"] = config.positions;
    settings["type_vocab_size"] = config.token_types;
}

ModelConfig make_bert(const char* name, const BlockSizes& sizes) {
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

std::vector<ModelConfig> list_bert_models() {
    ModelConfig tiny = disable_dropout(make_bert("bert-tiny", make_fourfold_mlp_sizes(2, 128, 2)));
    tiny.vocabulary = 0;
    return {tiny, make_bert("bert-base", make_fourfold_mlp_sizes(12, 768, 12)),
            make_bert("bert-large", make_fourfold_mlp_sizes(24, 1024, 16))};
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
                                   .computed_tensors = bert_computed,
                                   .has_head_transform = true,
                                   .read_config = read_bert,
                                   .write_config = write_bert,
                                   .list_models = list_bert_models};

}  // namespace trireme::model
