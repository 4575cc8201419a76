#include "checkpoint/names.hpp"

#include <algorithm>
#include <array>

namespace trireme {
namespace {

// Files of a base model, without a head, do without its name.
constexpr std::array<std::string_view, 4> base_prefixes{"transformer.", "model.", "bert.", "vit."};

constexpr std::array<std::string_view, 3> token_tables{"transformer.wte.weight", "model.embed_tokens.weight",
                                                       "bert.embeddings.word_embeddings.weight"};
constexpr std::array<std::string_view, 2> tied_weights{"lm_head.weight", "cls.predictions.decoder.weight"};
constexpr std::string_view prediction_bias = "cls.predictions.bias";
constexpr std::string_view decoder_bias = "cls.predictions.decoder.bias";

constexpr std::array<std::string_view, 5> computed{"attn.bias", "attn.masked_bias", "rotary_emb.inv_freq",
                                                   "embeddings.position_ids", "embeddings.token_type_ids"};

template <std::size_t size>
bool is_one_of(const std::array<std::string_view, size>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool ends_with_part(std::string_view name, std::string_view end) {
    return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
}

void add_old_norms(std::vector<std::string>& names) {
    constexpr std::array<std::array<std::string_view, 2>, 2> spellings{
        {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};
    for (const auto& [now, then] : spellings) {
        for (std::size_t i = 0, count = names.size(); i < count; ++i) {
            if (ends_with_part(names[i], now))
                names.push_back(names[i].substr(0, names[i].size() - now.size()).append(then));
        }
    }
}

}  // namespace

std::vector<std::string> stored_names_of(const std::string& name, bool tied) {
    std::vector<std::string> names{name};
    for (const std::string_view prefix : base_prefixes)
        if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
    add_old_norms(names);
    if (tied && is_one_of(token_tables, name))
        names.insert(names.end(), tied_weights.begin(), tied_weights.end());
    if (name == prediction_bias) names.emplace_back(decoder_bias);
    if (name == decoder_bias) names.emplace_back(prediction_bias);
    return names;
}

bool holds_nothing_new(std::string_view name, bool tied) {
    if (name == decoder_bias || (tied ? is_one_of(tied_weights, name) : name == prediction_bias)) return true;
    return std::any_of(computed.begin(), computed.end(),
                       [&](std::string_view end) { return ends_with_part(name, end); });
}

}  // namespace trireme
