// A tensor rank's part of the layers of a replica: whole attention groups, MLP columns and vocabulary rows.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::model {

// A rank's channels among all channels of a dimension. Its ranges lie side by side in its memory.
struct Channels {
    std::size_t width = 0;  // channels of all ranks
    std::vector<layout::Range> own;

    std::size_t count() const;
};

Channels all_channels(std::size_t width);

struct TensorPart {
    int rank = 0;
    std::vector<std::size_t> shares = {1};  // of the ranks of the replica, as proportions

    bool is_first() const { return rank == 0; }
    bool is_whole() const { return shares.size() == 1; }

    // Throw ConfigError if there are fewer units than ranks.
    layout::Range groups(const ModelConfig& config) const;  // attention groups
    Channels queries(const ModelConfig& config) const;
    Channels keys(const ModelConfig& config) const;  // also those of values
    Channels mlp(const ModelConfig& config) const;
    layout::Range vocabulary(const ModelConfig& config) const;
};

// Returns the spec of the part of a whole tensor with the given rows and columns.
ParameterSpec part_of(const ParameterSpec& whole, const Channels& rows, const Channels& columns);

}  // namespace trireme::model
