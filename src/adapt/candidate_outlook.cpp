#include "adapt/candidate_outlook.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/base/random.hpp"
#include "trireme/model/model.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/step_planner.hpp"
#include "trireme/setup/step_predictor.hpp"

namespace trireme::adapt {
namespace {

constexpr std::size_t max_entries = 512;

std::uint64_t compute_layout_hash(const layout::Layout& layout) {
    RandomKey hash;
    for (const layout::StageLayout& stage : layout.stages) {
        hash = hash.then(stage.layers.begin).then(stage.replicas.size());
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            hash = hash.then(static_cast<std::uint64_t>(replica.turns));
            for (const int rank : replica.ranks) hash = hash.then(static_cast<std::uint64_t>(rank));
        }
    }
    return hash.bits;
}

// Returns the bytes that a change may move, per layer of the model. Frozen layers have no optimizer state.
std::vector<LayerBytes> count_layer_bytes(const setup::Job& job, std::size_t team_ranks, int frozen) {
    const auto kinds = static_cast<double>(count_state_values(job.config.optimizer, job.dtype));
    std::vector<LayerBytes> all;
    for (const layout::LayerFacts& layer : setup::list_layer_facts(job.model)) {
        const double parameters = static_cast<double>(layer.parameters) / static_cast<double>(team_ranks);
        const bool is_trained = all.size() >= plan::find_first_trained_layer(frozen);
        const double moments =
            is_trained ? parameters * kinds * static_cast<double>(byte_size(accumulator_type(job.dtype))) : 0;
        all.push_back({.values = parameters * static_cast<double>(byte_size(job.dtype)), .moments = moments});
    }
    return all;
}

}  // namespace

struct CandidateOutlook::Entry {
    policy::Candidate candidate;
    std::uint64_t layout_hash = 0;
    std::size_t number = 0;
    std::unique_ptr<setup::StepPredictor> predictor;            // null if the plan is impossible
    std::size_t batch = 0;                                      // samples of a step of the plan
    std::map<std::size_t, bool> executable_steps;               // true if the plan can execute the step
    std::map<std::size_t, std::optional<double>> step_seconds;  // of the next step
    std::map<StepClass, std::optional<double>> class_seconds;   // see predict_step()
    double offload_seconds = 0;                 // copies of state in a change from or to the plan
    std::optional<double> change_seconds = {};  // from the current plan; empty if impossible
    bool is_change_known = false;
};

CandidateOutlook::CandidateOutlook(const setup::Job& job, const setup::PlanState& current, int frozen)
    : job_(job),
      current_(current),
      frozen_(frozen),
      layer_bytes_(count_layer_bytes(job, current.plan.teams.front().ranks.size(), frozen)),
      machine_(choose_machine(job, job.ranks())),
      works_(std::make_shared<setup::StageWorks>(job.model)) {}

CandidateOutlook::~CandidateOutlook() = default;

void CandidateOutlook::begin_decision(std::size_t step, double scale, const std::vector<double>& slowness,
                                      ChangePredictions changes) {
    if (slowness != slowness_) {
        slowness_ = slowness;
        machine_.slowness = find_slowness_on_machine(machine_, slowness);
        entries_.clear();
        moved_bytes_.clear();
    }
    step_ = step;
    scale_ = scale;
    changes_ = std::move(changes);
    must_predict_exactly_.reset();
    length_classes_.erase(length_classes_.begin(), length_classes_.lower_bound(step));
    const bool is_plan_new =
        !(from_.layout == current_.plan.layout) || from_.microbatches != current_.plan.microbatches();
    // With --batch-policy grow, the steps of a candidate visit other samples after a change.
    if (is_plan_new && may_grow_batch(job_.config.policy)) {
        entries_.clear();
        class_steps_.clear();
        moved_bytes_.clear();
    }
    if (is_plan_new) {
        from_ = {.layout = current_.plan.layout,
                 .microbatches = current_.plan.microbatches(),
                 .schedule = current_.plan.schedule};
    }
    for (Entry& entry : entries_) {
        entry.executable_steps.erase(entry.executable_steps.begin(), entry.executable_steps.lower_bound(step));
        entry.step_seconds.erase(entry.step_seconds.begin(), entry.step_seconds.lower_bound(step));
        if (is_plan_new) entry.is_change_known = false;
    }
}

CandidateOutlook::Entry& CandidateOutlook::find_entry(const policy::Candidate& candidate) {
    const std::uint64_t hash = compute_layout_hash(candidate.layout);
    const auto known = std::ranges::find_if(entries_, [&](const Entry& entry) {
        return entry.layout_hash == hash && are_equal_plans(entry.candidate, candidate);
    });
    if (known != entries_.end()) {
        entries_.splice(entries_.begin(), entries_, known);
        return entries_.front();
    }
    if (entries_.size() == max_entries) {
        const std::size_t removed = entries_.back().number;
        std::erase_if(moved_bytes_, [&](const auto& pair) {
            return pair.first.first == removed || pair.first.second == removed;
        });
        entries_.pop_back();
    }
    Entry& entry = entries_.emplace_front();
    entry.candidate = candidate;
    entry.layout_hash = hash;
    entry.number = next_number_++;
    const auto ranks = job_.ranks();
    std::string why;
    auto state = try_make_state(job_, current_, ranks, decide(candidate), why);
    if (!state) return entry;
    const std::vector<setup::RankMemory> memories = predict_run_memory(job_, *state, ranks);
    if (!has_device_memory(*state, memories)) return entry;
    entry.batch = state->samples.batch;
    entry.offload_seconds = predict_offload_seconds(job_, *state, *state) / 2;
    entry.predictor =
        std::make_unique<setup::StepPredictor>(job_, std::move(*state), machine_, works_, memories);
    return entry;
}

// True if the plan fits into the devices of --cluster. Copies for checkpoints do not count.
bool CandidateOutlook::has_device_memory(const setup::PlanState& state,
                                         std::vector<setup::RankMemory> memories) const {
    if (!job_.devices || !job_.memory_limits.empty()) return true;
    if (job_.buckets != layout::BucketRules{})
        memories = predict_plan_memory(job_, state, static_cast<int>(memories.size()));
    for (setup::RankMemory& memory : memories) memory.copy = 0;
    return explain_lack_on_devices(job_, memories).empty();
}

std::optional<policy::StepOutlook> CandidateOutlook::predict_step(const policy::Candidate& candidate,
                                                                  const plan::StepAhead& step) {
    return predict_steps(candidate, {&step, 1}).front();
}

std::vector<std::optional<policy::StepOutlook>> CandidateOutlook::predict_steps(
    const policy::Candidate& candidate, std::span<const plan::StepAhead> steps) {
    const bool is_next_step_exact = steps.front().step == step_ && must_predict_exactly(steps.front());
    Entry& entry = find_entry(candidate);
    std::vector<std::optional<policy::StepOutlook>> outlooks;
    for (const plan::StepAhead& step : steps) {
        outlooks.push_back(is_next_step_exact && step.step == step_ ? predict_exactly(entry, step)
                                                                    : predict_class(entry, step));
    }
    return outlooks;
}

// Predicts a step like the first one of its class that was met.
std::optional<policy::StepOutlook> CandidateOutlook::predict_class(Entry& entry, const plan::StepAhead& step) {
    if (!entry.predictor) return std::nullopt;
    const StepClass step_class{find_length_class(step), entry.predictor->find_cached_shares(step.step)};
    const auto [known, is_new] = entry.class_seconds.try_emplace(step_class);
    if (is_new) {
        const std::size_t typical = class_steps_.try_emplace(step_class, step.step).first->second;
        known->second = entry.predictor->try_predict_seconds(typical);
    }
    return scale(entry, known->second);
}

bool CandidateOutlook::can_execute(Entry& entry, const plan::StepAhead& next) {
    if (!entry.predictor) return false;
    const auto [known, is_new] = entry.executable_steps.try_emplace(next.step);
    if (is_new) known->second = entry.predictor->can_execute(next.step);
    if (!known->second)
        entry.class_seconds[{find_length_class(next), entry.predictor->find_cached_shares(next.step)}].reset();
    return known->second;
}

const policy::LengthClass& CandidateOutlook::find_length_class(const plan::StepAhead& step) {
    const auto [known, is_new] = length_classes_.try_emplace(step.step);
    if (is_new) known->second = policy::find_length_class(step.lengths);
    return known->second;
}

bool CandidateOutlook::must_predict_exactly(const plan::StepAhead& next) {
    if (job_.config.policy.elastic_rule == config::ElasticRule::published) return true;
    if (!must_predict_exactly_) {
        Entry& current = find_entry(from_);
        must_predict_exactly_ = !can_execute(current, next) || !predict_class(current, next);
    }
    return *must_predict_exactly_;
}

std::optional<policy::StepOutlook> CandidateOutlook::predict_next_step(const policy::Candidate& candidate,
                                                                       const plan::StepAhead& next) {
    return predict_exactly(find_entry(candidate), next);
}

bool CandidateOutlook::is_possible(const policy::Candidate& candidate) {
    return find_entry(candidate).predictor != nullptr;
}

std::size_t CandidateOutlook::predict_bytes(const policy::Candidate& candidate) const {
    const auto ranks = job_.ranks();
    std::string why;
    const auto state =
        try_make_state(job_, current_, ranks, decide(candidate), why, /*may_exceed_memory=*/true);
    if (!state) return std::numeric_limits<std::size_t>::max();
    std::size_t bytes = 0;
    for (const setup::RankMemory& memory : predict_run_memory(job_, *state, ranks))
        bytes = std::max(bytes, memory.total());
    return bytes;
}

bool CandidateOutlook::can_execute_next_step(const policy::Candidate& candidate, const plan::StepAhead& next) {
    return can_execute(find_entry(candidate), next);
}

std::optional<policy::StepOutlook> CandidateOutlook::predict_exactly(Entry& entry,
                                                                     const plan::StepAhead& next) {
    if (!can_execute(entry, next)) return std::nullopt;
    const auto [known, is_new] = entry.step_seconds.try_emplace(next.step);
    if (is_new) known->second = entry.predictor->try_predict_seconds(next.step);
    return scale(entry, known->second);
}

// With --batch-policy grow, plans differ in the samples of a step.
std::optional<policy::StepOutlook> CandidateOutlook::scale(const Entry& entry,
                                                           const std::optional<double>& seconds) const {
    if (!seconds) return std::nullopt;
    const double steps = static_cast<double>(current_.samples.batch) / static_cast<double>(entry.batch);
    return policy::StepOutlook{.seconds = scale_ * *seconds * steps};
}

double CandidateOutlook::estimate_change_seconds(const policy::Candidate& from, const policy::Candidate& to) {
    const Entry& before = find_entry(from);
    return estimate_change(before, find_entry(to));
}

std::vector<std::vector<double>> CandidateOutlook::estimate_changes(
    std::span<const policy::Candidate* const> candidates) {
    std::vector<const Entry*> entries;
    for (const policy::Candidate* const candidate : candidates) entries.push_back(&find_entry(*candidate));
    std::vector<std::vector<double>> seconds;
    for (const Entry* const from : entries) {
        std::vector<double>& row = seconds.emplace_back();
        for (const Entry* const to : entries) row.push_back(from == to ? 0 : estimate_change(*from, *to));
    }
    return seconds;
}

double CandidateOutlook::estimate_change(const Entry& before, const Entry& after) {
    if (!changes_.estimate) return 0;
    const auto [known, is_new] = moved_bytes_.try_emplace(std::pair(before.number, after.number));
    if (is_new)
        known->second = estimate_max_moved_bytes(layer_bytes_, current_.plan.shards_optimizer,
                                                 before.candidate.layout, after.candidate.layout);
    return changes_.estimate(known->second, before.offload_seconds + after.offload_seconds);
}

std::optional<double> CandidateOutlook::predict_change_seconds(const policy::Candidate& to) {
    if (std::ranges::find(excluded_layouts_, to.layout) != excluded_layouts_.end()) return std::nullopt;
    Entry& entry = find_entry(to);
    if (!changes_.predict) return entry.predictor ? std::optional(0.0) : std::nullopt;
    if (std::exchange(entry.is_change_known, true)) return entry.change_seconds;
    std::string why;
    const auto transition = try_plan_transition(job_, current_, decide(to), why);
    entry.change_seconds.reset();
    if (!transition) return std::nullopt;
    entry.change_seconds = transition->moves_state ? changes_.predict(*transition) : 0;
    return entry.change_seconds;
}

std::size_t CandidateOutlook::predict_deficit_bytes(const policy::Candidate& candidate, std::size_t step) {
    return find_entry(candidate).predictor->predict_deficit_bytes(step);
}

std::optional<double> CandidateOutlook::predict_memory_plan_seconds(const policy::Candidate& candidate,
                                                                    std::size_t step) {
    const Entry& entry = find_entry(candidate);
    const auto seconds =
        entry.predictor ? entry.predictor->try_predict_memory_plan_seconds(step) : std::nullopt;
    return seconds ? std::optional(scale_ * *seconds) : std::nullopt;
}

std::string CandidateOutlook::explain_lack_for_longest_samples(const policy::Candidate& candidate) const {
    std::string why;
    const auto ranks = job_.ranks();
    const auto state = try_make_state(job_, current_, ranks, decide(candidate), why);
    if (!state) return why;
    if (state->max_microbatch_rows == 0) return explain_lack_for_largest_microbatches(job_, *state);
    const auto longest = std::ranges::max(job_.samples.train, {}, &data::Sample::length).length;
    if (state->max_microbatch_rows < longest)
        return cat("a sample of ", format_with_commas(longest), " tokens does not fit into memory");
    return explain_lack_of_microbatches(job_, *state);
}

plan::Decision CandidateOutlook::decide(const policy::Candidate& candidate) const {
    plan::Decision decision = make_decision(step_, candidate);
    decision.frozen = frozen_;
    return decision;
}

plan::Decision make_decision(std::size_t step, const policy::Candidate& candidate) {
    plan::Decision decision{.step = step,
                            .layout = candidate.layout,
                            .microbatches = candidate.microbatches,
                            .causes = candidate.causes};
    for (const plan::Cause& cause : candidate.causes) {
        if (decision.policy.empty()) decision.policy = cause.proposer;
        decision.reason += cat(decision.reason.empty() ? "" : "; ", cause.reason);
    }
    return decision;
}

}  // namespace trireme::adapt
