// The places in a model where dropout happens, and the names that two layers share.
#pragma once

#include "trireme/kernels/attention.hpp"
#include "trireme/kernels/dropout.hpp"
#include "trireme/model/layer.hpp"

namespace trireme {

inline constexpr const char* token_table_name = "transformer.wte.weight";

enum class Site : std::uint64_t { embedding, attention, attention_residual, mlp_residual };

inline RandomKey site_key(const Pass& pass, std::size_t block, Site site) {
    return pass.dropout_key.then(block).then(static_cast<std::uint64_t>(site));
}

inline Dropout dropout_at(const Pass& pass, double rate, std::size_t block, Site site) {
    return {.rate = pass.is_training ? rate : 0,
            .key = site_key(pass, block, site),
            .samples = pass.batch.visits,
            .positions = pass.batch.positions};
}

}  // namespace trireme
