// A tensor rank's part of the layers of a replica: whole attention groups, MLP columns, rows of the vocabulary.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::model {

// Some channels of a width: ranges that lie side by side in the memory of a rank.
struct Channels {
    std::size_t width = 0;  // of all ranks
    std::vector<layout::Range> own;

    std::size_t count() const;
};

Channels all_channels(std::size_t width);

struct TensorPart {
    int rank = 0;
    std::vector<std::size_t> shares = {1};  // of all ranks of the replica, in proportion

    bool is_first() const { return rank == 0; }
    bool is_whole() const { return shares.size() == 1; }

    // Throw ConfigError where there are fewer units than ranks.
    layout::Range groups(const ModelConfig& config) const;  // of attention
    Channels queries(const ModelConfig& config) const;
    Channels keys(const ModelConfig& config) const;  // and values
    Channels mlp(const ModelConfig& config) const;
    layout::Range vocabulary(const ModelConfig& config) const;
};

// The part of a whole tensor that has these of its rows and columns.
ParameterSpec part_of(const ParameterSpec& whole, const Channels& rows, const Channels& columns);

}  // namespace trireme::model
