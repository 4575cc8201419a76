// Settings of the policy for slow ranks.
#pragma once

#include <cstdint>

#include "trireme/base/named_values.hpp"
#include "trireme/model/channel_choice.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::config {

// Policy for slow ranks.
//   off      only reports slow ranks
//   resize   slow ranks skip channels of their matmuls; the losses change
//   migrate  helper ranks of the same tensor group compute a fraction of the matmuls of slow ranks
//   semi     as migrate; in addition, slow ranks skip the channels that helper ranks cannot compute in time
//   uneven   slow ranks get smaller tensor shares, fewer micro-batches or fewer layers
enum class StragglerPolicy : std::uint8_t { off, resize, migrate, semi, uneven };
inline constexpr NamedValue<StragglerPolicy> straggler_policies[] = {
    {"off", StragglerPolicy::off, "exact: slow ranks are reported only"},
    {"resize", StragglerPolicy::resize,
     "approximate: a slow rank skips channels of its matmuls (ZERO-resizing)"},
    {"migrate", StragglerPolicy::migrate,
     "exact: other tensor-parallel ranks compute part of a slow rank's matmuls"},
    {"semi", StragglerPolicy::semi,
     "approximate: as migrate, and channels that the others cannot compute in time are skipped"},
    {"uneven", StragglerPolicy::uneven,
     "exact: re-shard in proportion to the speed of the ranks: tensor shares, micro-batches per replica, and "
     "layers per stage"}};

// Policies by which a slow rank selects the channels that it computes.
inline constexpr NamedValue<model::ChannelPolicy> channel_policies[] = {
    {"priority", model::ChannelPolicy::priority, "those whose weights have changed most"},
    {"random", model::ChannelPolicy::random, "those drawn anew at each decision"},
    {"window", model::ChannelPolicy::window, "contiguous ones whose weights have changed most together"}};

// True if the policy may make ranks skip channels.
inline bool may_skip_channels(StragglerPolicy policy) {
    return policy == StragglerPolicy::resize || policy == StragglerPolicy::semi;
}

// Settings for slow ranks that skip channels.
struct ResizeConfig {
    double limit = 0.9;  // maximum skipped fraction of a matmul
    model::ChannelPolicy channel_policy =
        model::ChannelPolicy::priority;             // selects the channels that are computed
    model::Filling filling = model::Filling::zero;  // selects the gradients of skipped channels' weights
    bool adapts_to_variation = false;               // matmuls whose weights change more skip fewer channels
    bool decays_skipped_weights = true;  // weight decay also applies to the weights of skipped channels
};

}  // namespace trireme::config
