#include "checkpoint/stored_names.hpp"

#include <algorithm>
#include <array>

#include "trireme/model/family.hpp"

namespace trireme::checkpoint {
namespace {

// The two names of the bias of BERT's masked head. A file may store this bias under both names.
constexpr std::string_view prediction_bias = "cls.predictions.bias";
constexpr std::string_view decoder_bias = "cls.predictions.decoder.bias";

// True if the last dot-separated components of `name` are `end`.
bool ends_with_name(std::string_view name, std::string_view end) {
    return name.ends_with(end) && (name.size() == end.size() || name[name.size() - end.size() - 1] == '.');
}

// Adds the names with gamma and beta, which older files have for the gains and biases of norms.
void add_old_norm_names(std::vector<std::string>& names) {
    constexpr std::array<std::array<std::string_view, 2>, 2> spellings{
        {{"LayerNorm.weight", "LayerNorm.gamma"}, {"LayerNorm.bias", "LayerNorm.beta"}}};
    for (const auto& [current, old] : spellings) {
        for (std::size_t i = 0, count = names.size(); i < count; ++i) {
            if (ends_with_name(names[i], current))
                names.push_back(names[i].substr(0, names[i].size() - current.size()).append(old));
        }
    }
}

// Adds the names of head weights, under which a tied token table may be stored.
void add_head_names(std::vector<std::string>& names) {
    for (const model::FamilyTraits* family : model::families) {
        const bool is_new = std::ranges::find(names, family->vocabulary_head) == names.end();
        if (is_new && !family->vocabulary_head.empty()) names.emplace_back(family->vocabulary_head);
    }
}

}  // namespace

std::vector<std::string> list_stored_names(const std::string& name, bool is_head_tied) {
    std::vector<std::string> names{name};
    for (const model::FamilyTraits* family : model::families) {
        const std::string_view prefix = family->block.prefix.substr(0, family->block.prefix.find('.') + 1);
        // Files without a head lack the prefix of the base model.
        if (name.starts_with(prefix)) names.push_back(name.substr(prefix.size()));
    }
    add_old_norm_names(names);
    if (is_head_tied && std::ranges::find(model::families, name, &model::FamilyTraits::token_table) !=
                            std::end(model::families))
        add_head_names(names);
    if (name == prediction_bias) names.emplace_back(decoder_bias);
    if (name == decoder_bias) names.emplace_back(prediction_bias);
    return names;
}

bool is_redundant(std::string_view name, bool is_head_tied) {
    if (name == decoder_bias || (!is_head_tied && name == prediction_bias)) return true;
    return std::ranges::any_of(model::families, [&](const model::FamilyTraits* family) {
        return (is_head_tied && name == family->vocabulary_head) ||
               std::ranges::any_of(family->computed_tensors,
                                   [&](std::string_view end) { return ends_with_name(name, end); });
    });
}

}  // namespace trireme::checkpoint
