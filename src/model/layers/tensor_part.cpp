#include "trireme/model/tensor_part.hpp"

#include "trireme/layout/shares.hpp"

namespace trireme::model {
namespace {

layout::Range scaled(layout::Range units, std::size_t size) { return {units.begin * size, units.count * size}; }

// Merges ranges without a gap between them.
std::vector<layout::Range> joined(const std::vector<layout::Range>& ranges) {
    std::vector<layout::Range> all;
    for (const layout::Range& range : ranges) {
        if (!all.empty() && all.back().end() == range.begin) {
            all.back().count += range.count;
        } else {
            all.push_back(range);
        }
    }
    return all;
}

}  // namespace

std::size_t Channels::count() const {
    std::size_t sum = 0;
    for (const layout::Range& range : own) sum += range.count;
    return sum;
}

Channels all_channels(std::size_t width) { return {.width = width, .own = {{0, width}}}; }

layout::Range TensorPart::groups(const ModelConfig& config) const {
    const char* const unit = config.key_groups() == config.heads ? "heads" : "groups of heads";
    return layout::cut_in_shares(config.key_groups(), shares, unit)[static_cast<std::size_t>(rank)];
}

Channels TensorPart::queries(const ModelConfig& config) const {
    return {.width = config.width, .own = {scaled(groups(config), config.width / config.key_groups())}};
}

Channels TensorPart::keys(const ModelConfig& config) const {
    return {.width = config.key_groups() * config.head_size(),
            .own = {scaled(groups(config), config.head_size())}};
}

Channels TensorPart::mlp(const ModelConfig& config) const {
    return {.width = config.mlp_width,
            .own = {layout::cut_in_shares(config.mlp_width, shares,
                                          "MLP columns")[static_cast<std::size_t>(rank)]}};
}

layout::Range TensorPart::vocabulary(const ModelConfig& config) const {
    return layout::cut_in_shares(config.vocabulary, shares, "vocabulary rows")[static_cast<std::size_t>(rank)];
}

ParameterSpec part_of(const ParameterSpec& whole, const Channels& rows, const Channels& columns) {
    ParameterSpec part = whole;
    part.rows = rows.count();
    part.columns = columns.count();
    part.placements.clear();
    std::size_t row = 0;
    for (const layout::Range& own_rows : joined(rows.own)) {
        std::size_t column = 0;
        for (const layout::Range& own_columns : joined(columns.own)) {
            part.placements.push_back({.box = {own_rows, own_columns}, .row = row, .column = column});
            column += own_columns.count;
        }
        row += own_rows.count;
    }
    return part;
}

}  // namespace trireme::model
