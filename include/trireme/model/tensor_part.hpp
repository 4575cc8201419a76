// The part of a replica's layers that a tensor-parallel rank holds: groups of heads, MLP columns and vocabulary
// rows. A group of heads is never divided among ranks.
#pragma once

#include <string>
#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/model/config.hpp"
#include "trireme/model/parameter.hpp"

namespace trireme::model {

// The channels that a tensor rank holds of one dimension of a tensor. The rank stores its ranges of channels in
// the order of `own_ranges`, without gaps.
struct Channels {
    std::size_t width = 0;  // number of channels of the whole dimension
    std::vector<layout::Range> own_ranges;

    std::size_t count() const;  // number of channels of this rank
};

// Returns the channels of a rank that holds the whole dimension.
Channels make_all_channels(std::size_t width);

// A tensor rank of a replica, and the shares by which the layers are divided among the replica's tensor ranks.
struct TensorPart {
    int rank = 0;                           // number within the replica
    std::vector<std::size_t> shares = {1};  // per tensor rank, as proportions: {2, 1} means 2/3 and 1/3

    bool is_first() const { return rank == 0; }
    bool is_whole() const { return shares.size() == 1; }

    // Return what this rank holds. Throw ConfigError if there are fewer groups, columns or rows than ranks.
    layout::Range find_head_groups(const ModelConfig& config) const;  // see ModelConfig::groups
    Channels find_query_channels(const ModelConfig& config) const;
    Channels find_key_channels(const ModelConfig& config) const;  // also the channels of the values
    Channels find_mlp_channels(const ModelConfig& config) const;
    layout::Range find_vocabulary_rows(const ModelConfig& config) const;
};

// Returns the spec of the tensor `whole` for a rank that holds only the given rows and columns.
ParameterSpec cut_parameter(ParameterSpec whole, const Channels& rows, const Channels& columns);

}  // namespace trireme::model
