#include "trireme/adapt/decided_plan.hpp"

#include <algorithm>
#include <utility>

#include "trireme/adapt/straggler_check.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/regular_file.hpp"
#include "trireme/rank/twin_moves.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme {

bool stays_in_place(const Plan& from, const Plan& to) {
    return from.layout == to.layout && from.schedule == to.schedule &&
           from.micro_batches() == to.micro_batches();
}

namespace {

constexpr std::size_t most_in_flight = std::size_t{32} << 20;  // bytes: enough to keep a link busy
constexpr std::size_t least_in_flight = std::size_t{1} << 20;

// Where it was decided: in a file, or by a policy.
std::string place_of(const RunConfig& config, const Decision& decision) {
    if (config.policy.decisions.empty()) return cat("policy ", decision.policy);
    return cat("--decisions ", config.policy.decisions, ", step ", decision.step);
}

// Where steps overlap, a rank that waits for moments in an update has not yet made what others wait for, who
// let no moments go on meanwhile.
void check_move(const RunConfig& config, const Plan& plan) {
    if (config.policy.move != MoveWay::overlap || plan.training.ends_with_step()) return;
    throw ConfigError(cat("schedule ", plan.schedule,
                          " keeps micro-batches in flight across steps, so moments cannot follow during a "
                          "step; use --move stop"));
}

// The options that a run with the decision's plan would have.
RunConfig options_for(const RunConfig& config, const Plan& current, const Decision& decision) {
    RunConfig options = config;
    options.layout.layout = place_of(config, decision);  // there is one: micro-batches count in all
    options.schedule.microbatches =
        static_cast<std::size_t>(decision.micro_batches.value_or(current.micro_batches()));
    options.schedule.schedule = decision.schedule.value_or(config.schedule.schedule);
    return options;
}

void leave_out(const std::vector<double>& parts, int ranks, Plan& plan) {
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

double sum_of(const std::vector<Migration>& migrations, int from, std::size_t product) {
    double sum = 0;
    for (const Migration& each : migrations) sum += each.from == from ? each.parts[product] : 0;
    return sum;
}

void check_migration(const Migration& migration, const std::vector<Migration>& all, const Plan& plan) {
    const auto& [from, to, parts] = migration;
    const std::string between = cat("rank ", to, " cannot compute a part of rank ", from, "'s matmuls");
    if (from == to || plan.team_of(from) < 0 || plan.team_of(from) != plan.team_of(to)) {
        throw ConfigError(
            cat(between,
                ": they are not two ranks of one tensor-parallel group; name ranks that share their layers"));
    }
    const auto is_between_both = [&](const Migration& other) { return other.from == from && other.to == to; };
    if (std::ranges::count_if(all, is_between_both) > 1)
        throw ConfigError(cat(between, " in two entries; write one entry with the sum of the parts"));
    const auto lends_too = [&](const Migration& other) { return other.from == to; };
    if (std::ranges::any_of(all, lends_too))
        throw ConfigError(cat(
            between,
            ", because a part of its own matmuls goes to another rank; a rank may either give or take work"));
    for (std::size_t product = 0; product < product_count; ++product) {
        if (const double sum = sum_of(all, from, product); sum >= 1)
            throw ConfigError(cat("other ranks would compute ", sum, " of a matmul of rank ", from,
                                  ", which must keep a part of it; make the parts smaller"));
    }
}

// Helpers have to know how many channels are lent, whatever the weights are; and gradients that others send are
// not to be mistaken for a filling.
void migrate(const std::vector<Migration>& migrations, int ranks, Plan& plan) {
    for (const Migration& each : migrations) {
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

void check_hash(const std::string& known, const Plan& plan, const char* which) {
    if (known.empty() || known == hash_of(plan)) return;
    throw ConfigError(
        cat("the plan ", which, " is ", hash_of(plan), ", and was ", known,
            " when the decision was recorded; use the options of that run, or remove \"from\" and \"to\""));
}

// Of what a stage that is updated by itself leaves out, other stages know nothing.
void check_updates(const RunConfig& config, const Plan& plan) {
    if (config.run.on_nan == OnNan::stop || !plan.training.shape.updates_alone) return;
    throw ConfigError(
        cat("schedule ", plan.schedule,
            " may skip updates of single stages with --on-nan skip, and such a state cannot be moved; use "
            "--on-nan stop"));
}

// Of the values, and of what the optimizer keeps.
struct StateBytes {
    std::size_t values = 0;
    std::size_t moments = 0;  // each of them
};

StateBytes state_bytes(const SizedPlan& sized, const GradientPlan& gradients, const OptimizerConfig& optimizer,
                       int rank) {
    const RankMemory memory = plan_memory(sized, &optimizer, gradients, rank);
    const std::size_t count =
        std::max<std::size_t>(1, numbers_kept(optimizer, sized.dtype, sized.plan.training.shape.validates));
    return {.values = memory.parameters / work_of(sized, rank).copies.values,
            .moments = memory.optimizer / count};
}

// What is left of the limit for what is in flight.
std::size_t elements_within_limit(const MovingPlans& plans, const RunConfig& config, int ranks) {
    const std::size_t each = bytes_of(wide_of(plans.to.dtype));
    const std::size_t limit = config.layout.memory_limit;
    if (limit == 0) return most_in_flight / each;
    std::size_t most = 0;
    for (int rank = 0; rank < ranks; ++rank) {
        const std::size_t bytes = moving_bytes(plans, config, rank);
        if (bytes + least_in_flight > limit) {
            throw ConfigError(cat("rank ", rank, " needs ", with_commas(bytes + least_in_flight),
                                  " bytes during the change to this plan, but --memory-limit is ",
                                  with_commas(limit), "; raise it, or change to an intermediate plan first"));
        }
        most = std::max(most, bytes);
    }
    return std::min(most_in_flight, limit - most) / each;
}

// Beyond what was held against the limit when the plan was made.
void check_memory_of_help(const SizedPlan& next, const RunConfig& config) {
    const std::size_t limit = config.layout.memory_limit;
    if (limit == 0) return;
    for (const Migration& migration : next.plan.migrations) {
        for (const int rank : {migration.from, migration.to}) {
            const std::size_t bytes = plan_memory(next, &config.optimizer, gradient_plan(next), rank).total();
            if (bytes > limit)
                throw ConfigError(cat("rank ", rank, " needs ", with_commas(bytes),
                                      " bytes with these migrations, but --memory-limit is ",
                                      with_commas(limit), "; raise it, or use --straggler resize"));
        }
    }
}

DecidedPlan checked_plan(const RunConfig& config, const Setup& setup, const SizedPlan& current, int ranks,
                         const Decision& decision) {
    const RunConfig options = options_for(config, current.plan, decision);
    check_updates(config, current.plan);
    check_hash(decision.from, current.plan, "before it");
    check_schedule_name(options.schedule.schedule);
    check_layout(decision.layout, ranks, layer_facts(setup.model).size(), "its layout");
    DecidedPlan decided{.plan = plan_layout(options, setup.model, decision.layout)};
    check_change(config, decided.plan);
    check_batch_is_enough(options, decided.plan);
    decided.micro_batch_samples = samples_of_micro_batch(config, decided.plan);
    decided.largest = largest_micro_batches(setup, decided.micro_batch_samples);
    decided.plan = within_memory_limit(std::move(decided.plan), {.config = options,
                                                                 .model = setup.model,
                                                                 .ranks = ranks,
                                                                 .dtype = setup.dtype,
                                                                 .largest = decided.largest});
    migrate(decision.migrations, ranks, decided.plan);
    if (!decision.migrations.empty() && decided.plan.most_left_out > 0)
        check_resized_help(config.policy.resize);
    leave_out(decision.left_out, ranks, decided.plan);
    check_hash(decision.to, decided.plan, "after it");
    const SizedPlan next = decided.sized(setup);
    check_memory_of_help(next, config);
    const bool stays = stays_in_place(current.plan, decided.plan);
    decided.elements_in_flight =
        stays ? most_in_flight / bytes_of(next.dtype)
              : elements_within_limit({current, gradient_plan(current), next, gradient_plan(next)}, config,
                                      ranks);
    return decided;
}

}  // namespace

void check_change(const RunConfig& config, const Plan& plan) {
    check_updates(config, plan);
    check_move(config, plan);
}

DecidedPlan decided_plan(const RunConfig& config, const Setup& setup, const SizedPlan& current, int ranks,
                         const Decision& decision) {
    try {
        return checked_plan(config, setup, current, ranks, decision);
    } catch (const ConfigError& error) {
        throw ConfigError(cat(place_of(config, decision), ": ", error.what()));
    }
}

RecordedPlans recorded_plans(const RunConfig& config, const Setup& setup, int ranks) {
    RecordedPlans recorded;
    if (config.policy.decisions.empty()) return recorded;
    recorded.decisions = decisions_from_jsonl(read_regular_file(config.policy.decisions, "--decisions"),
                                              config.policy.decisions);
    for (const Decision& decision : recorded.decisions) {
        if (decision.step >= setup.steps) {
            throw ConfigError(cat(place_of(config, decision), ": the run has ", setup.steps,
                                  " steps, and none after this one; remove the line, or train longer"));
        }
        const SizedPlan current =
            recorded.plans.empty() ? SizedPlan(setup) : recorded.plans.back().sized(setup);
        recorded.plans.push_back(decided_plan(config, setup, current, ranks, decision));
    }
    return recorded;
}

void follow(DecidedPlan next, Setup& setup) {
    setup.plan = std::move(next.plan);
    setup.micro_batch_samples = next.micro_batch_samples;
    setup.largest = std::move(next.largest);
    setup.goes_on_resizing = false;  // of another plan nothing is remembered
}

// All of it is said, as what a decision leaves open is as in a plan before, of which nobody may know then.
void note_origin(Decision decision, Setup& setup) {
    setup.origin.decision.reset();
    decision.to = hash_of(setup.plan);
    if (decision.to == setup.origin.hash) return;
    decision.schedule = setup.plan.schedule;
    decision.micro_batches = setup.plan.micro_batches();
    setup.origin.decision = std::move(decision);
}

void follow_until(std::size_t step, RecordedPlans& recorded, Setup& setup) {
    while (!recorded.decisions.empty() && recorded.decisions.front().step < step) {
        follow(std::move(recorded.plans.front()), setup);
        note_origin(std::move(recorded.decisions.front()), setup);
        recorded.plans.erase(recorded.plans.begin());
        recorded.decisions.erase(recorded.decisions.begin());
    }
}

std::size_t moving_bytes(const MovingPlans& plans, const RunConfig& config, int rank) {
    const OptimizerConfig& optimizer = config.optimizer;
    const StateBytes from = state_bytes(plans.from, plans.held, optimizer, rank);
    const StateBytes to = state_bytes(plans.to, plans.to_hold, optimizer, rank);
    const std::size_t count = kept_of(optimizer, plans.to.dtype);
    if (config.policy.move == MoveWay::restart) return 0;  // either plan's memory is all that there is
    if (config.policy.move == MoveWay::overlap) {
        const std::size_t step =
            plan_memory(plans.to, &optimizer, plans.to_hold, rank, config.run.checkpoint_every > 0).total();
        return count * from.moments + std::max(from.values + to.values, step);
    }
    std::size_t most = from.values + to.values + count * to.moments;
    for (std::size_t moved = 1; moved <= count; ++moved) {
        most = std::max(most, from.values + (count - moved + 1) * from.moments + moved * to.moments);
    }
    // A twin has a part of what its ranks are to have, at most: each rank answers for its own.
    if (config.policy.move == MoveWay::twins) most += std::max(to.values, to.moments);
    return most;
}

namespace {

// A change from one recorded plan to the next, or from the setup's to the first.
struct RecordedChange {
    SizedPlan from;
    GradientPlan held;
    SizedPlan to;
    GradientPlan to_hold;
    std::size_t elements_in_flight;
};

std::vector<RecordedChange> changes_of(const Setup& setup, const RecordedPlans& recorded) {
    std::vector<RecordedChange> changes;
    GradientPlan held = gradient_plan(setup);
    for (std::size_t p = 0; p < recorded.plans.size(); ++p) {
        const SizedPlan from = p == 0 ? SizedPlan(setup) : recorded.plans[p - 1].sized(setup);
        const SizedPlan to = recorded.plans[p].sized(setup);
        GradientPlan to_hold = gradient_plan(to);
        changes.push_back(
            {from, std::exchange(held, to_hold), to, to_hold, recorded.plans[p].elements_in_flight});
    }
    return changes;
}

// Of the memory in which messages travel. By twins none do within a node, and which rank lands what comes from
// another one is not known before the nodes are.
std::size_t most_in_flight_of(const RecordedChange& change, const RunConfig& config, int rank) {
    const DType dtype = change.to.dtype;
    const MoveRules rules{.most_elements = change.elements_in_flight};
    if (config.policy.move == MoveWay::restart) return 0;
    if (config.policy.move == MoveWay::twins) return rules.most_elements * bytes_of(wide_of(dtype));
    const StateMoves moves = state_moves(change.from.plan, change.held, change.to.plan, change.to_hold, rules);
    return std::max(bytes_in_flight(moves.values, dtype, rank),
                    bytes_in_flight(moves.moments, wide_of(dtype), rank));
}

}  // namespace

std::size_t most_twin_bytes(const RunConfig& config, const Setup& setup, const RecordedPlans& recorded,
                            const Session& session) {
    std::size_t most = 0;
    if (config.policy.move != MoveWay::twins) return most;
    for (const RecordedChange& change : changes_of(setup, recorded)) {
        const TwinMoves moves =
            twin_moves(change.from.plan, change.held, change.to.plan, change.to_hold,
                       {.nodes = session.nodes(), .most_elements = change.elements_in_flight});
        most = std::max(most, moves.most_elements_at(session.node()) * bytes_of(wide_of(setup.dtype)));
    }
    return most;
}

std::size_t most_bytes(const RunConfig& config, const Setup& setup, const RecordedPlans& recorded, int rank) {
    const bool saves = config.run.checkpoint_every > 0;
    std::size_t most = plan_memory(setup, &config.optimizer, gradient_plan(setup), rank, saves).total();
    for (const RecordedChange& change : changes_of(setup, recorded)) {
        const auto& [from, held, to, to_hold, in_flight] = change;
        most = std::max(
            {most, plan_memory(to, &config.optimizer, to_hold, rank, saves).total(),
             moving_bytes({from, held, to, to_hold}, config, rank) + most_in_flight_of(change, config, rank)});
    }
    return most;
}

}  // namespace trireme
