#include "checkpoint/names.hpp"

#include <algorithm>
#include <array>

#include "trireme/model/family.hpp"

namespace trireme::checkpoint {
namespace {

constexpr std::string_view prediction_bias = "cls.predictions.bias";
constexpr std::string_view decoder_bias = "cls.predictions.decoder.bias";

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

// Adds the names of heads, under which a tied token table may be stored.
void add_heads(std::vector<std::string>& names) {
    for (const model::FamilyTraits* family : model::families) {
        const bool is_new = std::ranges::find(names, family->vocabulary_head) == names.end();
        if (is_new && !family->vocabulary_head.empty()) names.emplace_back(family->vocabulary_head);
    }
}

}  // namespace

std::vector<std::string> stored_names_of(const std::string& name, bool tied) {
    std::vector<std::string> names{name};
    for (const model::FamilyTraits* family : model::families) {
        const std::string_view base = family->block.prefix.substr(0, family->block.prefix.find('.') + 1);
        // Files without a head lack the prefix of the base model.
        if (name.starts_with(base)) names.push_back(name.substr(base.size()));
    }
    add_old_norms(names);
    if (tied && std::ranges::find(model::families, name, &model::FamilyTraits::token_table) !=
                    std::end(model::families))
        add_heads(names);
    if (name == prediction_bias) names.emplace_back(decoder_bias);
    if (name == decoder_bias) names.emplace_back(prediction_bias);
    return names;
}

bool holds_nothing_new(std::string_view name, bool tied) {
    if (name == decoder_bias || (!tied && name == prediction_bias)) return true;
    return std::ranges::any_of(model::families, [&](const model::FamilyTraits* family) {
        return (tied && name == family->vocabulary_head) ||
               std::ranges::any_of(family->computed,
                                   [&](std::string_view end) { return ends_with_part(name, end); });
    });
}

}  // namespace trireme::checkpoint
