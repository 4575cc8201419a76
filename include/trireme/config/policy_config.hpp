// When a run changes its plan, how, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "trireme/base/named_values.hpp"
#include "trireme/layout/circle.hpp"
#include "trireme/model/channel_choice.hpp"
#include "trireme/model/resizing.hpp"

namespace trireme::config {

// How the state gets from one plan to the next.
//   stop      all of it between two steps
//   overlap   parameters between two steps, what the optimizer keeps of them beside the second one
//   twins     all of it between two steps, by way of memory that the ranks of a node share
//   restart   through a checkpoint
enum class MoveWay : std::uint8_t { stop, overlap, twins, restart };

// What is done about slow ranks.
//   resize   they leave out a part of their products, and losses are others
//   migrate  others of their team compute a part of it for them
//   semi     both: they leave out what others cannot compute for them in time
//   uneven   they get smaller shares
enum class StragglerPolicy : std::uint8_t { off, resize, migrate, semi, uneven };
inline constexpr NamedValue<StragglerPolicy> straggler_policies[] = {
    {"off", StragglerPolicy::off, "exact: slow ranks are reported only"},
    {"resize", StragglerPolicy::resize,
     "approximate: a slow rank skips channels of its matmuls (ZERO-resizing)"},
    {"migrate", StragglerPolicy::migrate, "exact: other tensor-parallel ranks compute a part of its matmuls"},
    {"semi", StragglerPolicy::semi,
     "approximate: as migrate, and what the others cannot compute in time is skipped"},
    {"uneven", StragglerPolicy::uneven,
     "exact: re-shard in proportion to the speed of the ranks: tensor shares, micro-batches per replica, and "
     "layers per stage"}};

inline constexpr NamedValue<model::ChannelPolicy> channel_policies[] = {
    {"priority", model::ChannelPolicy::priority, "those whose weights have changed most"},
    {"random", model::ChannelPolicy::random, "those drawn anew at each decision"},
    {"window", model::ChannelPolicy::window, "contiguous ones whose weights have changed most together"}};

inline bool may_leave_out(StragglerPolicy policy) {
    return policy == StragglerPolicy::resize || policy == StragglerPolicy::semi;
}

// What slow ranks leave out.
struct ResizeConfig {
    double limit = 0.9;  // of a product
    model::ChannelPolicy select = model::ChannelPolicy::priority;
    model::Filling fill = model::Filling::zero;
    bool by_variation = false;  // layers that vary more leave out less
    bool decays_all = true;     // weights that were left out decay like the others
};

// When the plan changes, and to what.
struct PolicyConfig {
    std::string decisions;  // a file of them; empty: none
    MoveWay move = MoveWay::stop;
    StragglerPolicy straggler = StragglerPolicy::off;
    ResizeConfig resize = {};
    layout::Spread spread = layout::Spread::tree;  // how a slow rank speaks to its helpers
    double semi_slack = 0.03;  // of the shortest step: so much longer may one be in which less is left out
    std::size_t bridge = 0;  // steps that a rank is slow before it gets smaller shares; others help until then
    std::size_t look_every = 10;  // steps between two looks at what was observed
    std::size_t horizon = 0;      // steps in which a change has to repay; 0: all that are left
};

// True if ranks may compute a part of another rank's products by --straggler.
inline bool may_migrate(const PolicyConfig& policy) {
    return policy.straggler == StragglerPolicy::migrate || policy.straggler == StragglerPolicy::semi ||
           (policy.straggler == StragglerPolicy::uneven && policy.bridge > 0);
}

// True if parameters may move to other ranks during a run.
inline bool may_change_layout(const PolicyConfig& policy) {
    return policy.straggler == StragglerPolicy::uneven || !policy.decisions.empty();
}

// True if a policy weighs what messages between ranks take.
inline bool needs_links(const PolicyConfig& policy) {
    return may_migrate(policy) || policy.straggler == StragglerPolicy::uneven;
}

}  // namespace trireme::config
