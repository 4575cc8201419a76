// References for matmuls that skip channels: whole matmuls with weights that are zero for skipped channels, and
// gradients that are zero there.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "trireme/model/channel_choice.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::stage {

using Masks = std::map<std::string, std::vector<bool>>;  // whole tensors; true if skipped

// Returns lists of kept channels that skip `tiles` random tiles of each projection that has at least one more.
inline model::Resizing::ChannelLists scattered_lists(const std::vector<model::ProjectionShape>& projections,
                                                     std::size_t tiles = 1) {
    model::Resizing::ChannelLists lists;
    for (const model::ProjectionShape& projection : projections) {
        const std::size_t cut = tiles * model::channel_tile;
        if (projection.channels < cut + model::channel_tile) continue;
        const std::vector<double> any(projection.channels);
        const RandomKey key = RandomKey{projection.id.block}.then(projection.weights.front().name);
        lists[projection.id] =
            choose_channels(model::ChannelPolicy::random, any, projection.channels - cut, key);
    }
    return lists;
}

// Adds what a rank with these slices of projections skips according to these lists.
inline void add_masks(const std::vector<model::ProjectionShape>& projections,
                      const model::Resizing::ChannelLists& lists, Masks& masks) {
    for (const model::ProjectionShape& projection : projections) {
        const auto list = lists.find(projection.id);
        if (list == lists.end()) continue;
        std::vector<bool> is_kept(projection.channels);
        for (const std::int32_t c : list->second) is_kept[static_cast<std::size_t>(c)] = true;
        for (const model::ParameterSpec& weight : projection.weights) {
            std::vector<bool>& mask = masks[weight.name];
            mask.resize(weight.all_rows * weight.all_columns);
            for (const auto& [box, row, column] : weight.placements) {
                for (std::size_t e = 0; e < box.rows.count * box.columns.count; ++e) {
                    const std::size_t r = e / box.columns.count, c = e % box.columns.count;
                    const bool are_rows = projection.axes == kernels::WeightAxes::in_out;
                    if (is_kept[are_rows ? row + r : column + c]) continue;
                    mask[(box.rows.begin + r) * weight.all_columns + box.columns.begin + c] = true;
                }
            }
        }
    }
}

// Sets the skipped elements of a whole tensor to zero.
inline void apply_mask(const Masks& masks, const std::string& name, std::vector<double>& numbers) {
    const auto mask = masks.find(name);
    if (mask == masks.end()) return;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (mask->second[i]) numbers[i] = 0;
    }
}

}  // namespace trireme::stage
