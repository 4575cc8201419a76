// Settings of the rule that changes the number of frozen blocks during a run, of the layouts that follow it,
// and of the cache of their outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "trireme/base/named_values.hpp"

namespace trireme::config {

// Rule for the number of frozen blocks: see policy/freeze.hpp.
enum class FreezeRule : std::uint8_t { off, schedule, gradient };
inline constexpr NamedValue<FreezeRule> freeze_rules[] = {
    {"off", FreezeRule::off, "the number stays as --frozen says"},
    {"schedule", FreezeRule::schedule,
     "after T periods, ceil(L (1 - (1 - alpha)^T)) of L blocks are frozen (PipeTransformer)"},
    {"gradient", FreezeRule::gradient,
     "each period freezes the blocks up to the one with the smallest gradient norm: from f frozen blocks up to "
     "ceil(f + alpha (L - f)), and not more than `schedule`"}};

// The way in which the layout follows the number of frozen blocks.
enum class AutoPipe : std::uint8_t { off, on, published };
inline constexpr NamedValue<AutoPipe> auto_pipe_choices[] = {
    {"off", AutoPipe::off, "the layout stays"},
    {"on", AutoPipe::on,
     "the planner chooses the stages, their replicas and the micro-batches with the shortest steps"},
    {"published", AutoPipe::published,
     "the rule of PipeTransformer: halves the pipeline while the parameters of its largest stage allow it"}};

// The number of samples of a step.
//   fixed   --batch
//   grow    each pipeline keeps its samples, so that more pipelines have a larger batch (PipeTransformer)
enum class BatchPolicy : std::uint8_t { fixed, grow };

struct FreezeConfig {
    FreezeRule rule = FreezeRule::off;
    double alpha = 0.333;   // fraction of the trained blocks that may be frozen after a period
    std::size_t every = 0;  // steps of a period; 0: a period is an epoch
    bool thaws = false;     // blocks thaw if the validation loss rises
    AutoPipe auto_pipe = AutoPipe::off;
    std::optional<bool> auto_dp = {};  // ranks that become free hold replicas; if unset, true with auto_pipe
    BatchPolicy batch_policy = BatchPolicy::fixed;
};

// Use of a cache of the outputs of frozen layers: see cache/sample_cache.hpp.
enum class CacheMode : std::uint8_t { off, on };
inline constexpr NamedValue<CacheMode> cache_modes[] = {
    {"off", CacheMode::off, "frozen layers compute every sample in every epoch"},
    {"on", CacheMode::on, "samples are read that an earlier epoch has computed"}};

struct CacheConfig {
    CacheMode mode = CacheMode::off;
    std::size_t memory_bytes = 0;  // limit per node; 0: half of the memory that the node has left
    std::size_t sample_homes = 1;  // see data::Sampler; also without a cache
};

}  // namespace trireme::config
