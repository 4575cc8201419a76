#include "trireme/adapt/plan_transition.hpp"

#include <algorithm>
#include <utility>

#include "trireme/adapt/straggler_policy.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/plan_memory.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::adapt {
namespace {

constexpr std::size_t max_bytes_in_flight = std::size_t{32} << 20;  // enough to keep a link busy
constexpr std::size_t min_bytes_in_flight = std::size_t{1} << 20;

// Names the file or the policy that the decision comes from.
std::string describe_source(const config::RunConfig& config, const plan::Decision& decision) {
    if (config.policy.decisions.empty()) return cat("policy ", decision.policy);
    return cat("--decisions ", config.policy.decisions, ", step ", decision.step);
}

// If steps overlap, moments cannot follow during a step. A rank that waits for moments in an update has not yet
// sent what other ranks wait for, and these do not advance the moments while they wait (deadlock).
void check_move(const config::RunConfig& config, const plan::Plan& plan) {
    if (config.policy.move != config::MoveWay::overlap || plan.training.ends_with_step()) return;
    throw ConfigError(cat("schedule ", plan.schedule,
                          " keeps micro-batches in flight across steps, so moments cannot follow during a "
                          "step; use --move stop"));
}

void leave_out(const std::vector<double>& parts, int ranks, plan::Plan& plan) {
    if (parts.empty()) return;
    if (parts.size() != static_cast<std::size_t>(ranks)) {
        throw ConfigError(cat("\"left_out\" has ", parts.size(), " values, and the job has ", ranks,
                              " ranks; give one value per rank"));
    }
    double most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const double not_computed = parts[static_cast<std::size_t>(rank)];
        most = std::max(most, std::ranges::max(left_out_beside(plan.migrations, rank, not_computed)));
    }
    constexpr double rounding = 1e-5;
    if (most > plan.most_left_out + rounding) {
        throw ConfigError(cat("a rank skips ", most, " of its matmuls, and the limit is ", plan.most_left_out,
                              "; use --straggler resize or semi, and --resize-limit"));
    }
    plan.left_out = parts;
}

double sum_of(const std::vector<layout::Migration>& migrations, int from, std::size_t product) {
    double sum = 0;
    for (const layout::Migration& each : migrations) sum += each.from == from ? each.parts[product] : 0;
    return sum;
}

void check_migration(const layout::Migration& migration, const std::vector<layout::Migration>& all,
                     const plan::Plan& plan) {
    const auto& [from, to, parts] = migration;
    const std::string between = cat("rank ", to, " cannot compute a part of rank ", from, "'s matmuls");
    if (from == to || plan.team_of(from) < 0 || plan.team_of(from) != plan.team_of(to)) {
        throw ConfigError(
            cat(between,
                ": they are not two ranks of one tensor-parallel group; name ranks that share their layers"));
    }
    const auto is_between_both = [&](const layout::Migration& other) {
        return other.from == from && other.to == to;
    };
    if (std::ranges::count_if(all, is_between_both) > 1)
        throw ConfigError(cat(between, " in two entries; write one entry with the sum of the parts"));
    const auto lends_too = [&](const layout::Migration& other) { return other.from == to; };
    if (std::ranges::any_of(all, lends_too))
        throw ConfigError(cat(
            between,
            ", because a part of its own matmuls goes to another rank; a rank may either give or take work"));
    for (std::size_t product = 0; product < layout::product_count; ++product) {
        if (const double sum = sum_of(all, from, product); sum >= 1)
            throw ConfigError(cat("other ranks would compute ", sum, " of a matmul of rank ", from,
                                  ", which must keep a part of it; make the parts smaller"));
    }
}

// Checks the migrations and stores them in the plan.
void migrate(const std::vector<layout::Migration>& migrations, int ranks, plan::Plan& plan) {
    for (const layout::Migration& each : migrations) {
        if (each.from < ranks && each.to < ranks) {
            check_migration(each, migrations, plan);
            continue;
        }
        throw ConfigError(cat("rank ", std::max(each.from, each.to),
                              " is named in \"migrations\", and the job has ", ranks,
                              " ranks; name one of them"));
    }
    plan.migrations = migrations;
}

void check_hash(const std::string& known, const plan::Plan& plan, const char* which) {
    if (known.empty() || known == hash_of(plan)) return;
    throw ConfigError(
        cat("the plan ", which, " is ", hash_of(plan), ", and was ", known,
            " when the decision was recorded; use the options of that run, or remove \"from\" and \"to\""));
}

// Stages with separate updates may skip different ones; their state then belongs to different steps.
void check_updates(const config::RunConfig& config, const plan::Plan& plan) {
    if (config.run.on_nan == config::OnNan::stop || !plan.training.shape.updates_alone) return;
    throw ConfigError(
        cat("schedule ", plan.schedule,
            " may skip updates of single stages with --on-nan skip, and such a state cannot be moved; use "
            "--on-nan stop"));
}

// Bytes of a rank's state in one plan.
struct StateBytes {
    std::size_t values = 0;   // parameters
    std::size_t moments = 0;  // one of the tensors that the optimizer keeps
};

StateBytes state_bytes(const setup::Job& job, const setup::PlanState& state, int rank) {
    const setup::SizedPlan sized(job, state);
    const optim::OptimizerConfig& optimizer = job.config.optimizer;
    const setup::RankMemory memory = plan_memory(sized, &optimizer, state.gradients, rank);
    const std::size_t count =
        std::max<std::size_t>(1, numbers_kept(optimizer, job.dtype, state.plan.training.shape.validates));
    return {.values = memory.parameters / work_of(sized, rank).copies.values,
            .moments = memory.optimizer / count};
}

std::size_t plan_bytes(const setup::Job& job, const setup::PlanState& state, int rank) {
    const bool saves = job.config.run.checkpoint_every > 0;
    return setup::plan_memory({job, state}, &job.config.optimizer, state.gradients, rank, saves).total();
}

// Returns how many elements a rank may have in flight within the memory limit. Throws ConfigError if even
// `min_bytes_in_flight` do not fit.
std::size_t elements_within_limit(const PlanTransition& transition, const setup::Job& job, int ranks) {
    const std::size_t each = bytes_of(wide_of(job.dtype));
    const std::size_t limit = job.config.layout.memory_limit;
    if (limit == 0) return max_bytes_in_flight / each;
    std::size_t most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const std::size_t bytes = transition.moving_bytes(job, rank);
        if (bytes + min_bytes_in_flight > limit) {
            throw ConfigError(cat("rank ", rank, " needs ", with_commas(bytes + min_bytes_in_flight),
                                  " bytes during the change to this plan, but --memory-limit is ",
                                  with_commas(limit), "; raise it, or change to an intermediate plan first"));
        }
        most = std::max(most, bytes);
    }
    return std::min(max_bytes_in_flight, limit - most) / each;
}

// Throws ConfigError if ranks that migrate work exceed --memory-limit; the plan was checked without migrations.
void check_memory_of_help(const setup::Job& job, const setup::PlanState& next) {
    const std::size_t limit = job.config.layout.memory_limit;
    if (limit == 0) return;
    for (const layout::Migration& migration : next.plan.migrations) {
        for (const int rank : {migration.from, migration.to}) {
            const std::size_t bytes =
                setup::plan_memory({job, next}, &job.config.optimizer, next.gradients, rank).total();
            if (bytes > limit)
                throw ConfigError(cat("rank ", rank, " needs ", with_commas(bytes),
                                      " bytes with these migrations, but --memory-limit is ",
                                      with_commas(limit), "; raise it, or use --straggler resize"));
        }
    }
}

// Makes the plan of the decision. Options and the plan `before` supply what the decision leaves open.
setup::PlanState decided_state(const setup::Job& job, const plan::Plan& before, int ranks,
                               const plan::Decision& decision) {
    const config::RunConfig& config = job.config;
    const setup::PlanRequest request{
        .schedule = decision.schedule.value_or(config.schedule.schedule),
        .microbatches = static_cast<std::size_t>(decision.microbatches.value_or(before.microbatches()))};
    setup::check_schedule_name(request.schedule);
    check_layout(decision.layout, ranks, setup::layer_facts(job.model).size(), "its layout");
    setup::PlanState next{.plan = plan_layout(config, job.model, decision.layout, request)};
    check_change(config, next.plan);
    check_batch_is_enough(config.run.batch, next.plan, request);
    next.microbatch_samples = setup::samples_of_microbatch(config.run.batch, next.plan);
    next.largest = largest_microbatches(job, next.microbatch_samples);
    next.plan = setup::within_memory_limit(std::move(next.plan), {.config = config,
                                                                  .model = job.model,
                                                                  .request = request,
                                                                  .ranks = ranks,
                                                                  .dtype = job.dtype,
                                                                  .largest = next.largest});
    migrate(decision.migrations, ranks, next.plan);
    if (!decision.migrations.empty() && next.plan.most_left_out > 0) check_resized_help(config.policy.resize);
    leave_out(decision.left_out, ranks, next.plan);
    return next;
}

PlanTransition checked_transition(const setup::Job& job, const setup::PlanState& from,
                                  const std::vector<int>& nodes, const plan::Decision& decision) {
    const auto ranks = static_cast<int>(nodes.size());
    check_updates(job.config, from.plan);
    check_hash(decision.from, from.plan, "before it");
    PlanTransition transition{.from = from, .to = decided_state(job, from.plan, ranks, decision)};
    setup::PlanState& to = transition.to;
    check_hash(decision.to, to.plan, "after it");
    transition.moves_state = !stays_in_place(from.plan, to.plan);
    to.gradients = transition.moves_state ? setup::gradient_plan({job, to}, job.buckets) : from.gradients;
    check_memory_of_help(job, to);
    if (!transition.moves_state) return transition;
    transition.elements_in_flight = elements_within_limit(transition, job, ranks);
    const mover::MoveRules rules{.nodes = nodes, .most_elements = transition.elements_in_flight};
    transition.moves = rank::state_moves(from.plan, from.gradients, to.plan, to.gradients, rules);
    if (job.config.policy.move == config::MoveWay::twins)
        transition.twin_moves = rank::twin_moves(from.plan, from.gradients, to.plan, to.gradients, rules);
    return transition;
}

// Returns the bytes of a rank's message buffers. With --move twins it is not known in advance which ranks
// receive messages from other nodes into node memory, so every rank counts.
std::size_t bytes_in_flight_on(const PlanTransition& transition, const setup::Job& job, int rank) {
    const device::DType wide = wide_of(job.dtype);
    switch (job.config.policy.move) {
        case config::MoveWay::restart:
            return 0;
        case config::MoveWay::twins:
            return transition.elements_in_flight * bytes_of(wide);
        case config::MoveWay::stop:
        case config::MoveWay::overlap:
            break;
    }
    return std::max(bytes_in_flight(transition.moves.values, job.dtype, rank),
                    bytes_in_flight(transition.moves.moments, wide, rank));
}

}  // namespace

std::size_t PlanTransition::moved_bytes(const setup::Job& job) const {
    return moves.bytes(&mover::Move::elements_sent, job.config.optimizer, job.dtype);
}

std::size_t PlanTransition::kept_bytes(const setup::Job& job) const {
    return moves.bytes(&mover::Move::elements_kept, job.config.optimizer, job.dtype);
}

std::size_t PlanTransition::moving_bytes(const setup::Job& job, int rank) const {
    const StateBytes before = state_bytes(job, from, rank);
    const StateBytes after = state_bytes(job, to, rank);
    const std::size_t count = kept_of(job.config.optimizer, job.dtype);
    const config::MoveWay way = job.config.policy.move;
    if (way == config::MoveWay::restart) return 0;  // the state of the two plans is never held together
    if (way == config::MoveWay::overlap)
        return count * before.moments + std::max(before.values + after.values, plan_bytes(job, to, rank));
    std::size_t most = before.values + after.values + count * after.moments;
    for (std::size_t moved = 1; moved <= count; ++moved)
        most = std::max(most, before.values + (count - moved + 1) * before.moments + moved * after.moments);
    // Node memory holds at most the state that the node's ranks will have; each rank counts its own part.
    if (way == config::MoveWay::twins) most += std::max(after.values, after.moments);
    return most;
}

std::size_t PlanTransition::max_bytes(const setup::Job& job, int rank) const {
    const std::size_t next = plan_bytes(job, to, rank);
    if (!moves_state) return next;
    return std::max(next, moving_bytes(job, rank) + bytes_in_flight_on(*this, job, rank));
}

std::size_t PlanTransition::node_bytes(const setup::Job& job, int node) const {
    return twin_moves.most_elements_at(node) * bytes_of(wide_of(job.dtype));
}

bool stays_in_place(const plan::Plan& from, const plan::Plan& to) {
    return from.layout == to.layout && from.schedule == to.schedule && from.microbatches() == to.microbatches();
}

void check_change(const config::RunConfig& config, const plan::Plan& plan) {
    check_updates(config, plan);
    check_move(config, plan);
}

PlanTransition plan_transition(const setup::Job& job, const setup::PlanState& from,
                               const std::vector<int>& nodes, const plan::Decision& decision) {
    try {
        return checked_transition(job, from, nodes, decision);
    } catch (const ConfigError& error) {
        throw ConfigError(cat(describe_source(job.config, decision), ": ", error.what()));
    }
}

std::optional<PlanTransition> possible_transition(const setup::Job& job, const setup::PlanState& from,
                                                  const std::vector<int>& nodes, const plan::Decision& decision,
                                                  std::string& why) {
    try {
        return plan_transition(job, from, nodes, decision);
    } catch (const ConfigError& error) {
        why = error.what();
        return std::nullopt;
    }
}

void apply(PlanTransition& transition, setup::PlanState& current) {
    if (transition.moves_state) {
        current = std::move(transition.to);
        return;
    }
    current.plan.left_out = std::move(transition.to.plan.left_out);
    current.plan.migrations = std::move(transition.to.plan.migrations);
}

}  // namespace trireme::adapt
