#include "trireme/model/tensor_part.hpp"

#include <utility>

#include "trireme/layout/shares.hpp"

namespace trireme::model {
namespace {

// Converts a range of units, such as head groups, to the range of their elements.
layout::Range convert_to_elements(layout::Range units, std::size_t unit_elements) {
    return {units.begin * unit_elements, units.count * unit_elements};
}

// Merges successive ranges of the list that have no gap between them.
std::vector<layout::Range> merge_ranges(const std::vector<layout::Range>& ranges) {
    std::vector<layout::Range> merged;
    for (const layout::Range& range : ranges) {
        if (!merged.empty() && merged.back().end() == range.begin) {
            merged.back().count += range.count;
        } else {
            merged.push_back(range);
        }
    }
    return merged;
}

}  // namespace

std::size_t Channels::count() const {
    std::size_t sum = 0;
    for (const layout::Range& range : own_ranges) sum += range.count;
    return sum;
}

Channels make_all_channels(std::size_t width) { return {.width = width, .own_ranges = {{0, width}}}; }

layout::Range TensorPart::find_head_groups(const ModelConfig& config) const {
    const char* const unit = config.key_value_heads() == config.heads ? "heads" : "groups of heads";
    return layout::cut_by_weights(config.key_value_heads(), shares, unit)[static_cast<std::size_t>(rank)];
}

Channels TensorPart::find_query_channels(const ModelConfig& config) const {
    return {
        .width = config.width,
        .own_ranges = {convert_to_elements(find_head_groups(config), config.width / config.key_value_heads())}};
}

Channels TensorPart::find_key_channels(const ModelConfig& config) const {
    return {.width = config.key_value_heads() * config.head_size(),
            .own_ranges = {convert_to_elements(find_head_groups(config), config.head_size())}};
}

Channels TensorPart::find_mlp_channels(const ModelConfig& config) const {
    return {.width = config.mlp_width,
            .own_ranges = {layout::cut_by_weights(config.mlp_width, shares,
                                                  "MLP columns")[static_cast<std::size_t>(rank)]}};
}

layout::Range TensorPart::find_vocabulary_rows(const ModelConfig& config) const {
    return layout::cut_by_weights(config.vocabulary, shares, "vocabulary rows")[static_cast<std::size_t>(rank)];
}

ParameterSpec cut_parameter(ParameterSpec whole, const Channels& rows, const Channels& columns) {
    ParameterSpec part = std::move(whole);
    part.rows = rows.count();
    part.columns = columns.count();
    part.placements.clear();
    std::size_t stored_row = 0;  // in the tensor of this rank
    for (const layout::Range& own_rows : merge_ranges(rows.own_ranges)) {
        std::size_t stored_column = 0;
        for (const layout::Range& own_columns : merge_ranges(columns.own_ranges)) {
            part.placements.push_back(
                {.box = {own_rows, own_columns}, .row = stored_row, .column = stored_column});
            stored_column += own_columns.count;
        }
        stored_row += own_rows.count;
    }
    return part;
}

}  // namespace trireme::model
