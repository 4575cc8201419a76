#include "trireme/adapt/plan_transition.hpp"

#include <algorithm>
#include <utility>

#include "adapt/decided_migrations.hpp"
#include "trireme/adapt/straggler_rules.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/setup/clocks.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/ghosts.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/microbatch_sizes.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/step_planner.hpp"

namespace trireme::adapt {
namespace {

constexpr std::size_t max_bytes_in_flight = std::size_t{32} << 20;  // enough to keep a link busy
constexpr std::size_t min_bytes_in_flight = std::size_t{1} << 20;

// Returns the file or the policy from which the decision comes, for messages.
std::string describe_source(const config::RunConfig& config, const plan::Decision& decision) {
    if (config.policy.decisions.empty()) return cat("policy ", decision.policy);
    return cat("--decisions ", config.policy.decisions, ", step ", decision.step);
}

// Names the source of the decision in errors of `call`.
template <class Call>
auto name_source(const setup::Job& job, const plan::Decision& decision, const Call& call) {
    try {
        return call();
    } catch (const ConfigError& error) {
        throw ConfigError(cat(describe_source(job.config, decision), ": ", error.what()));
    }
}

// Writes the message of a ConfigError to `why`.
template <class Call>
auto try_call(const Call& call, std::string& why) -> std::optional<decltype(call())> {
    try {
        return call();
    } catch (const ConfigError& error) {
        why = error.what();
        return std::nullopt;
    }
}

// If steps overlap, ranks could deadlock while moments move during a step. A rank that waits for moments in an
// update may not have sent all activations yet. The ranks that wait for these activations do not send moments.
void check_move(const config::RunConfig& config, const plan::Plan& plan) {
    if (config.policy.move != config::MoveMethod::overlap || plan.training.are_steps_independent()) return;
    throw ConfigError(cat("schedule ", plan.schedule,
                          " keeps micro-batches in flight across steps, so --move overlap cannot move the "
                          "optimizer state during a step; use --move stop"));
}

// Throws ConfigError if `plan` does not have `recorded_hash`; an empty hash is not checked. `which` is
// "before" or "after" and names the plan in the message: the plan before or after the change.
void check_hash(const std::string& recorded_hash, const plan::Plan& plan, const char* which) {
    if (recorded_hash.empty() || recorded_hash == compute_hash(plan)) return;
    throw ConfigError(cat("the plan ", which, " the change is ", compute_hash(plan), ", but was ",
                          recorded_hash,
                          " in the recorded run; use the options of that run, or remove \"from\" and \"to\""));
}

// With --on-nan skip, stages that update independently may skip different updates. Their states then belong to
// different steps.
void check_updates(const config::RunConfig& config, const plan::Plan& plan) {
    if (config.run.on_nan == config::OnNan::stop || !plan.training.shape.updates_stages_independently) return;
    throw ConfigError(
        cat("with --on-nan skip, schedule ", plan.schedule,
            " may skip updates of single stages, so the state cannot be moved to another plan; use "
            "--on-nan stop"));
}

// Bytes of a rank's state in one plan.
struct StateBytes {
    std::size_t values = 0;    // parameters
    std::size_t moments = 0;   // one kind of optimizer state: a moment, or the master weights
    std::size_t constant = 0;  // all memory except the buffers of a step
    bool may_be_offloaded = false;
};

StateBytes compute_state_bytes(const setup::Job& job, const setup::PlanState& state, int rank) {
    const setup::SizedPlan sized_plan(job, state);
    const optim::OptimizerConfig& optimizer = job.config.optimizer;
    const setup::RankMemory memory = predict_rank_memory(sized_plan, &optimizer, state.gradients, rank);
    const std::size_t count = std::max<std::size_t>(
        1, count_stored_values(optimizer, job.dtype, state.plan.training.shape.has_speculative_updates));
    return {.values = memory.parameters / make_local_work(sized_plan, rank).copies.values,
            .moments = memory.optimizer / count,
            .constant = memory.total() - memory.step_buffers,
            .may_be_offloaded = memory.offloadable > 0 && !state.step_limits.empty() &&
                                state.step_limits[static_cast<std::size_t>(rank)].offloadable_bytes > 0};
}

std::size_t predict_plan_bytes(const setup::Job& job, const setup::PlanState& state, int rank) {
    const bool saves_checkpoints = job.config.run.checkpoint_every > 0;
    return setup::predict_rank_memory({job, state}, &job.config.optimizer, state.gradients, rank,
                                      saves_checkpoints)
        .total();
}

// Returns the largest number of elements that every rank may have in messages at a time. With these messages,
// no rank exceeds the memory limit.
// Throws ConfigError if a rank exceeds the limit even with messages of only `min_bytes_in_flight`.
std::size_t compute_elements_in_flight(const PlanTransition& transition, const setup::Job& job, int ranks) {
    const std::size_t element_bytes = byte_size(accumulator_type(job.dtype));
    const std::size_t limit = job.config.layout.memory_limit;
    // With --auto-pipe, blocks freeze at their step even if a rank holds moments twice for a moment.
    if (limit == 0 || (transition.keeps_layout() && may_follow_depth(job.config.policy)))
        return max_bytes_in_flight / element_bytes;
    std::size_t max_moving_bytes = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const std::size_t bytes = transition.predict_moving_bytes(job, rank);
        if (bytes + min_bytes_in_flight > limit) {
            throw ConfigError(cat("rank ", rank, " needs ", format_with_commas(bytes + min_bytes_in_flight),
                                  " bytes during the change to this plan, but --memory-limit is ",
                                  format_with_commas(limit),
                                  " bytes; raise the limit, or change to an intermediate plan first"));
        }
        max_moving_bytes = std::max(max_moving_bytes, bytes);
    }
    return std::min(max_bytes_in_flight, limit - max_moving_bytes) / element_bytes;
}

// With --batch-policy grow, each pipeline keeps its samples per step, unless the decision has the batch.
setup::StepSamples change_samples(const setup::Job& job, const setup::PlanState& from,
                                  const plan::Decision& decision) {
    setup::StepSamples samples = from.samples;
    if (decision.batch)
        samples = samples.change_batch(decision.step, *decision.batch);
    else if (may_grow_batch(job.config.policy))
        samples = samples.change_batch(decision.step, samples.grow_batch(count_pipelines(decision.layout)));
    const int frozen = decision.frozen.value_or(from.plan.frozen);
    if (frozen != from.plan.frozen)
        samples.cached = samples.cached.change_depth(
            samples.count_visits(std::max(decision.step, samples.first_step)), from.plan.frozen, frozen);
    return samples;
}

// Makes the plan of the decision. If the decision sets no schedule, the plan has the schedule of the options.
// If the decision sets no number of micro-batches, the plan has the number of the plan `from`.
setup::PlanState make_decided_state(const setup::Job& job, const setup::PlanState& from, int ranks,
                                    const plan::Decision& decision, bool may_exceed_memory = false,
                                    std::optional<setup::StepFigures>* baseline = nullptr) {
    const config::RunConfig& config = job.config;
    const setup::PlanRequest request{
        .schedule = decision.schedule.value_or(config.schedule.schedule),
        .microbatches = static_cast<std::size_t>(decision.microbatches.value_or(from.plan.microbatches())),
        .frozen = decision.frozen.value_or(from.plan.frozen),
        .may_exceed_memory = may_exceed_memory};
    setup::check_schedule_name(request.schedule);
    check_layout(decision.layout, ranks, setup::list_layer_facts(job.model).size(), "the new layout");
    setup::PlanState next{.plan = plan_layout(config, job.model, decision.layout, request),
                          .samples = change_samples(job, from, decision)};
    setup::check_elastic(config, job.model, next.plan);
    setup::check_ghost_plan(config, next.plan);
    check_change(config, next.plan);
    check_batch_is_enough(config, next.plan, request, next.samples.batch);
    size_microbatches(job, request, ranks, /*trains=*/true, next);
    check_coming_steps(job, next);
    set_migrations(decision.migrations, ranks, next.plan);
    if (!decision.migrations.empty() && setup::is_elastic(config))
        throw ConfigError("--elastic length cannot be combined with migrations");
    if (!decision.migrations.empty() && next.plan.max_skipped_fraction > 0)
        check_resized_migration(config.policy.resize);
    set_skipped_fractions(decision.skipped, ranks, next.plan);
    next.gradients = have_equal_placement(from.plan, next.plan)
                         ? from.gradients
                         : setup::make_gradient_plan({job, next}, job.buckets);
    setup::limit_steps(job, next);
    check_memory_of_migrations(job, next);
    const std::optional<setup::StepFigures> before_clocks = choose_clocks(job, ranks, next, decision);
    if (baseline != nullptr) *baseline = before_clocks;
    return next;
}

setup::PlanState make_checked_state(const setup::Job& job, const setup::PlanState& from, int ranks,
                                    const plan::Decision& decision,
                                    std::optional<setup::StepFigures>* baseline = nullptr) {
    check_hash(decision.from, from.plan, "before");
    setup::PlanState to = make_decided_state(job, from, ranks, decision, /*may_exceed_memory=*/false, baseline);
    check_hash(decision.to, to.plan, "after");
    return to;
}

PlanTransition plan_checked_transition(const setup::Job& job, const setup::PlanState& from,
                                       const plan::Decision& decision) {
    const auto ranks = job.ranks();
    check_updates(job.config, from.plan);
    PlanTransition transition{.from = from, .to = make_checked_state(job, from, ranks, decision)};
    const setup::PlanState& to = transition.to;
    transition.moves_state = !have_equal_placement(from.plan, to.plan);
    if (!transition.moves_state) return transition;
    transition.max_elements_in_flight = compute_elements_in_flight(transition, job, ranks);
    const mover::MoveRules rules{.nodes = job.nodes,
                                 .max_elements_per_round = transition.max_elements_in_flight};
    const rank::PlanTensors before{from.plan, from.gradients};
    const rank::PlanTensors after{to.plan, to.gradients};
    transition.moves = rank::plan_state_moves(before, after, rules);
    if (job.config.policy.move == config::MoveMethod::twins)
        transition.staged_moves = rank::plan_staged_moves(before, after, rules);
    return transition;
}

// Returns the bytes of a rank's message buffers. With `--move twins` it is not known in advance which ranks
// exchange messages with other nodes, so the maximum is assumed for every rank.
std::size_t count_bytes_in_flight(const PlanTransition& transition, const setup::Job& job, int rank) {
    const device::DType accumulator_dtype = accumulator_type(job.dtype);
    switch (job.config.policy.move) {
        case config::MoveMethod::restart:
            return 0;
        case config::MoveMethod::twins:
            return transition.max_elements_in_flight * byte_size(accumulator_dtype);
        case config::MoveMethod::stop:
        case config::MoveMethod::overlap:
            break;
    }
    return std::max(count_message_buffer_bytes(transition.moves.values, job.dtype, rank),
                    count_message_buffer_bytes(transition.moves.moments, accumulator_dtype, rank));
}

}  // namespace

std::size_t PlanTransition::count_moved_bytes(const setup::Job& job) const {
    return moves.compute_bytes(&mover::Move::count_sent_elements, job.config.optimizer, job.dtype);
}

std::size_t PlanTransition::count_kept_bytes(const setup::Job& job) const {
    return moves.compute_bytes(&mover::Move::count_local_elements, job.config.optimizer, job.dtype) +
           count_bytes_in_place(job);
}

std::size_t PlanTransition::count_bytes_in_place(const setup::Job& job) const {
    if (!moves_state || !keeps_layout()) return 0;
    return rank::count_held_elements(to.gradients.tensors) * byte_size(job.dtype);
}

std::size_t PlanTransition::predict_moving_bytes(const setup::Job& job, int rank) const {
    const StateBytes before = compute_state_bytes(job, from, rank);
    const StateBytes after = compute_state_bytes(job, to, rank);
    const std::size_t kind_count = count_state_values(job.config.optimizer, job.dtype);
    const config::MoveMethod method = job.config.policy.move;
    if (method == config::MoveMethod::restart) return 0;  // the state of the two plans is never held together
    const std::size_t new_values = keeps_layout() ? 0 : after.values;
    // The values move before the next step. The moments move during that step: the old moments and the memory
    // of the new plan then exist together.
    if (method == config::MoveMethod::overlap)
        return kind_count * before.moments +
               std::max(before.values + new_values, predict_plan_bytes(job, to, rank));
    // The kinds of optimizer state move one after the other, and the values move last. While a kind moves, its
    // old and its new memory exist together. State that may be offloaded is in one buffer, which is freed when
    // all kinds have moved. Host memory takes space only where it has been written; GPU memory does at once.
    std::size_t max_bytes = before.values + new_values + kind_count * after.moments;
    for (std::size_t moved_kinds = 1; moved_kinds <= kind_count; ++moved_kinds) {
        const std::size_t freed_kinds = before.may_be_offloaded ? 0 : moved_kinds - 1;
        max_bytes = std::max(max_bytes, before.values + (kind_count - freed_kinds) * before.moments +
                                            moved_kinds * after.moments);
    }
    if (job.memory_space == device::MemorySpace::gpu)
        max_bytes = before.values + kind_count * before.moments + after.constant - (after.values - new_values);
    // Node memory holds either the values or one kind of optimizer state, for all ranks of the node. Each rank
    // accounts for the part that it will own.
    if (method == config::MoveMethod::twins) max_bytes += std::max(new_values, after.moments);
    return max_bytes;
}

std::size_t PlanTransition::predict_max_bytes(const setup::Job& job, int rank) const {
    const std::size_t next = predict_plan_bytes(job, to, rank);
    if (!moves_state) return next;
    return std::max(next, predict_moving_bytes(job, rank) + count_bytes_in_flight(*this, job, rank));
}

// Each way takes a copy to the offload store and a copy back.
double predict_offload_seconds(const setup::Job& job, const setup::PlanState& from,
                               const setup::PlanState& to) {
    const std::size_t kind_count = count_state_values(job.config.optimizer, job.dtype);
    double max_seconds = 0;
    for (std::size_t rank = 0; rank < job.memory_limits.size(); ++rank) {
        std::size_t bytes = 0;
        for (const setup::PlanState* const state : {&from, &to}) {
            const StateBytes own = compute_state_bytes(job, *state, static_cast<int>(rank));
            if (own.may_be_offloaded) bytes += kind_count * own.moments;
        }
        const double bandwidth = setup::find_host_link(job, static_cast<int>(rank)).bandwidth;
        max_seconds = std::max(max_seconds, 2 * static_cast<double>(bytes) / bandwidth);
    }
    return max_seconds;
}

std::size_t PlanTransition::predict_node_bytes(const setup::Job& job, int node) const {
    return staged_moves.max_node_elements(node) * byte_size(accumulator_type(job.dtype));
}

bool have_equal_placement(const plan::Plan& from, const plan::Plan& to) {
    const schedule::PipelineShape& old_shape = from.training.shape;
    const schedule::PipelineShape& new_shape = to.training.shape;
    return from.layout == to.layout && from.schedule == to.schedule && from.frozen == to.frozen &&
           old_shape.microbatches == new_shape.microbatches &&
           old_shape.extra_forwards == new_shape.extra_forwards;
}

void check_change(const config::RunConfig& config, const plan::Plan& plan) {
    check_updates(config, plan);
    check_move(config, plan);
}

PlanTransition plan_transition(const setup::Job& job, const setup::PlanState& from,
                               const plan::Decision& decision) {
    return name_source(job, decision, [&] { return plan_checked_transition(job, from, decision); });
}

setup::PlanState make_state(const setup::Job& job, const setup::PlanState& from, int ranks,
                            const plan::Decision& decision, std::optional<setup::StepFigures>* baseline) {
    return name_source(job, decision, [&] { return make_checked_state(job, from, ranks, decision, baseline); });
}

std::optional<PlanTransition> try_plan_transition(const setup::Job& job, const setup::PlanState& from,
                                                  const plan::Decision& decision, std::string& why) {
    return try_call([&] { return plan_transition(job, from, decision); }, why);
}

std::optional<setup::PlanState> try_make_state(const setup::Job& job, const setup::PlanState& from, int ranks,
                                               const plan::Decision& decision, std::string& why,
                                               bool may_exceed_memory) {
    return try_call([&] { return make_decided_state(job, from, ranks, decision, may_exceed_memory); }, why);
}

}  // namespace trireme::adapt
