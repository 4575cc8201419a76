#include "trireme/setup/step_planner.hpp"

#include <algorithm>
#include <cmath>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/device/clock.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/machine.hpp"
#include "trireme/setup/model_work.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/stage_work.hpp"
#include "trireme/setup/step_shapes.hpp"

namespace trireme::setup {
namespace {

constexpr std::size_t recent_steps = 8;

std::uint64_t compute_step_hash(const PlannedStep& step) {
    RandomKey hash;
    for (const plan::Microbatch& microbatch : step.microbatches) {
        hash = hash.then(microbatch.padded_length).then(microbatch.samples.size());
        for (const plan::SampleVisit& visit : microbatch.samples)
            hash = hash.then(visit.epoch).then(visit.sample);
    }
    hash = hash.then(step.fit.offloads_state ? 1 : 0);
    for (const plan::MicrobatchLevels& levels : step.fit.levels) {
        hash = hash.then(levels.size());
        for (const std::vector<plan::Recompute>& of_stage : levels)
            for (const plan::Recompute level : of_stage) hash = hash.then(static_cast<std::uint64_t>(level));
    }
    return hash.bits >> 11;
}

// Returns the recomputation of a step that has the recomputation `level`.
StepFit make_level_fit(const model::ModelConfig& model, const plan::Plan& plan, const StepLevel& level,
                       const policy::FormedStep& step) {
    StepFit fit{.recompute = level.level};
    if (level.recompute == plan.recompute) return fit;
    plan::MicrobatchLevels levels(plan.recompute.size());
    for (std::size_t stage = 0; stage < levels.size(); ++stage) {
        if (level.recompute[stage] == plan.recompute[stage]) continue;
        const std::size_t blocks = stage::list_blocks(model, plan.layout.stages[stage].layers).size();
        levels[stage].assign(blocks, level.recompute[stage]);
    }
    for (const std::vector<plan::SampleVisit>& samples : step.microbatches)
        fit.levels.push_back(samples.empty() ? plan::MicrobatchLevels{} : levels);
    return fit;
}

// Finds the kernel times of the slowest rank of each stage.
class SlowestRanks {
public:
    // `recompute` is the recomputation of each stage.
    SlowestRanks(const Job& job, const PlanState& current, const std::vector<plan::Recompute>& recompute,
                 StageWorks& works)
        : job_(job), plan_(current.plan), recompute_(recompute), works_(works) {
        shape_ = count_shape(current.largest_microbatches.front());
    }

    policy::StageSums find_sums() {
        policy::StageSums stages;
        std::vector<Candidate> slowest_ranks;  // per entry of stages.sums
        for (std::size_t stage = 0; stage < plan_.layout.stages.size(); ++stage) {
            const Candidate slowest = find_slowest(stage);
            const auto same = std::ranges::find_if(slowest_ranks, [&](const Candidate& each) {
                return each.work == slowest.work && each.device == slowest.device &&
                       each.splits_backward == slowest.splits_backward;
            });
            stages.index_of_stage.push_back(static_cast<std::size_t>(same - slowest_ranks.begin()));
            if (same != slowest_ranks.end()) continue;
            slowest_ranks.push_back(slowest);
            stages.sums.emplace_back(*slowest.work, slowest.splits_backward,
                                     adapt_kernel_seconds(make_relative_kernel_seconds(job_, slowest.rank)));
        }
        return stages;
    }

private:
    // The kind of a rank's device in the cluster, and the profiled kernels of the rank.
    using DeviceKind = std::pair<std::size_t, const ProfiledKernels*>;

    struct Candidate {
        const plan::StageWork* work = nullptr;
        int rank = 0;
        DeviceKind device;
        bool splits_backward = false;
        std::int64_t picoseconds = -1;
    };

    Candidate find_slowest(std::size_t s) {
        const layout::StageLayout& stage = plan_.layout.stages[s];
        const bool splits_backward = has_split_backward(plan_, static_cast<int>(s));
        const stage::PassVariant variant = make_pass_variant(plan_, job_.dtype);
        Candidate slowest;
        for (const layout::ReplicaLayout& replica : stage.replicas) {
            for (std::size_t r = 0; r < replica.ranks.size(); ++r) {
                const stage::StageSpec spec{.layers = stage.layers,
                                            .part = {.rank = static_cast<int>(r), .shares = replica.shares},
                                            .recompute = recompute_[s],
                                            .first_trained_layer = plan_.first_trained_layer()};
                const int rank = replica.ranks[r];
                Candidate candidate{.work = &works_.find(spec, variant),
                                    .rank = rank,
                                    .device = find_device_kind(rank),
                                    .splits_backward = splits_backward};
                candidate.picoseconds = find_time(candidate);
                if (candidate.picoseconds > slowest.picoseconds) slowest = candidate;
            }
        }
        return slowest;
    }

    DeviceKind find_device_kind(int rank) const {
        return {job_.devices ? job_.devices->find_kind(rank) : 0, job_.kernels.find_kernels(rank)};
    }

    std::int64_t find_time(const Candidate& candidate) {
        const auto [entry, is_new] = known_times_.try_emplace({candidate.work, candidate.device});
        if (is_new) {
            const plan::TrainingCosts costs = candidate.work->predict_costs(
                shape_, adapt_kernel_seconds(make_relative_kernel_seconds(job_, candidate.rank)));
            entry->second = costs.forward.kernel_picoseconds() + costs.backward.kernel_picoseconds();
        }
        return entry->second;
    }

    const Job& job_;
    const plan::Plan& plan_;
    const std::vector<plan::Recompute>& recompute_;
    StageWorks& works_;
    plan::MicrobatchShape shape_;  // of the largest micro-batch of training
    std::map<std::pair<const plan::StageWork*, DeviceKind>, std::int64_t> known_times_;
};

}  // namespace

std::size_t PlannedStep::count_filled() const {
    return microbatches.size() -
           static_cast<std::size_t>(std::ranges::count_if(
               microbatches, [](const plan::Microbatch& each) { return each.samples.empty(); }));
}

// If steps overlap, the record of a step arrives `ahead` + 1 steps later. At that time, `ahead` further steps
// have already been planned.
std::size_t count_steps_to_compare(const plan::Plan& plan) {
    const auto ahead = static_cast<std::size_t>(plan.training.look_ahead);
    return ahead == 0 ? 1 : 2 * ahead + 2;
}

// `works` is declared before `formers`, so that `formers`, which refer to `works`, are destroyed first.
struct StepPlanner::Work {
    Work(const Job& job, const PlanState& current) : works(job.model) {
        const auto add_former = [&](const std::vector<plan::Recompute>& recompute, std::size_t max_rows) {
            formers.emplace_back(current.plan.training,
                                 policy::MicrobatchRules{.is_packed = is_packed(job.config.schedule.length),
                                                         .max_rows = max_rows},
                                 SlowestRanks(job, current, recompute, works).find_sums());
        };
        if (current.step_levels.empty()) add_former(current.plan.recompute, current.max_microbatch_rows);
        for (const StepLevel& level : current.step_levels)
            add_former(level.recompute, level.largest_microbatch.rows);
    }

    StageWorks works;
    std::deque<policy::StepFormer> formers;  // one per entry of PlanState::step_levels, or only one
};

struct StepPlanner::Memory {
    Memory(const Job& job, const PlanState& current)
        : machine(choose_machine(job, static_cast<int>(job.memory_limits.size()))),
          priced(make_priced_plan(job, current)),
          costs(priced, machine),
          bytes({job, current}, predict_run_memory(job, current, static_cast<int>(job.memory_limits.size()))),
          fitter(priced, costs, bytes, job.memory_limits, list_means(job, current.plan)) {}

    static FitMeans list_means(const Job& job, const plan::Plan& plan) {
        FitMeans means{.may_recompute = may_use(job.config.policy, config::ElasticMeans::recompute)};
        if (!explain_no_offload(job, plan).empty()) return means;
        for (std::size_t rank = 0; rank < job.memory_limits.size(); ++rank)
            means.offload_seconds_per_byte.push_back(1 / find_host_link(job, static_cast<int>(rank)).bandwidth);
        return means;
    }

    Machine machine;
    PricedPlan priced;
    StepCostPredictor costs;
    StepBytes bytes;
    StepFitter fitter;
};

StepPlanner::StepPlanner(const Job& job, const PlanState& current)
    : job_(job), current_(current), sampler_(make_sampler(job)), homes_(job, current.plan) {
    if (forms_by_time(job.config.schedule.length)) work_ = std::make_unique<Work>(job, current);
    if (is_elastic_by_length(job.config.policy)) memory_ = std::make_unique<Memory>(job, current);
}

StepPlanner::~StepPlanner() = default;

const PlannedStep& StepPlanner::plan_step(std::size_t step) {
    const auto known = std::ranges::find(recent_steps_, step, &PlannedStep::step);
    if (known != recent_steps_.end()) return *known;
    const double begin = device::now_seconds();
    if (recent_steps_.size() == recent_steps) recent_steps_.pop_front();
    const plan::LengthPolicy policy = job_.config.schedule.length;
    const std::vector<data::Sample>& samples = job_.samples.train;
    const std::size_t first_visit = current_.samples.count_visits(step);
    const std::vector<plan::SampleVisit> visits = sampler_.list_visits(first_visit, current_.samples.batch);
    PlannedStep planned{.step = step, .microbatches = {}};
    for (const plan::SampleVisit& visit : visits) {
        const std::size_t length = samples[visit.sample].length;
        planned.size.tokens += length;
        planned.size.square_length_sum += std::pow(length, 2);
    }
    planned.size.targets = count_targets(job_, visits);
    planned.size.frozen_blocks = current_.plan.frozen;
    const std::size_t common_length = find_common_length(visits, samples, policy, job_.samples.max_length);
    std::vector<std::vector<plan::SampleVisit>> microbatches = form_microbatches(visits, planned.fit);
    homes_.bring_home(first_visit, microbatches);
    for (std::vector<plan::SampleVisit>& microbatch_visits : microbatches)
        planned.microbatches.push_back(
            make_microbatch(std::move(microbatch_visits), samples, policy, common_length));
    if (memory_) {
        const std::vector<plan::MicrobatchShape> shapes = count_shapes(planned);
        if (!memory_->bytes.fit(shapes, job_.memory_limits)) planned.fit = memory_->fitter.fit(shapes);
    }
    planned.hash = compute_step_hash(planned);
    planned.planning_seconds = device::now_seconds() - begin;
    return recent_steps_.emplace_back(std::move(planned));
}

std::vector<plan::MicrobatchShape> StepPlanner::count_shapes(const PlannedStep& planned) const {
    std::vector<plan::MicrobatchShape> shapes;
    for (const plan::Microbatch& microbatch : planned.microbatches)
        shapes.push_back(count_shape(make_batch_shape(job_, microbatch)));
    return shapes;
}

StepFit StepPlanner::predict_memory(std::size_t step) {
    const PlannedStep& planned = plan_step(step);
    return memory_ ? memory_->fitter.fit(count_shapes(planned)) : planned.fit;
}

std::vector<std::vector<plan::SampleVisit>> StepPlanner::form_microbatches(
    const std::vector<plan::SampleVisit>& visits, StepFit& fit) {
    if (!work_) return cut_into_microbatches(visits, static_cast<std::size_t>(current_.plan.microbatches()));
    const bool predicts_answers =
        job_.corpus && job_.model.task == Task::span;  // targets are answers, not rows
    std::vector<policy::StepSample> samples;
    for (const plan::SampleVisit& visit : visits)
        samples.push_back({.visit = visit,
                           .length = job_.samples.train[visit.sample].length,
                           .predicted_rows = predicts_answers ? 0 : count_targets(job_, {visit})});
    policy::FastestStep fastest = form_fastest(work_->formers, samples);
    if (!current_.step_levels.empty())
        fit = make_level_fit(job_.model, current_.plan, current_.step_levels[fastest.former], fastest.step);
    return std::move(fastest.step.microbatches);
}

std::uint64_t StepPlanner::find_hash(std::size_t step) {
    return step < current_.samples.count_steps() ? plan_step(step).hash : 0;
}

std::vector<stage::BatchShape> StepPlanner::list_shapes(std::size_t step) {
    std::vector<stage::BatchShape> shapes;
    for (const plan::Microbatch& microbatch : plan_step(step).microbatches)
        shapes.push_back(make_batch_shape(job_, microbatch));
    return shapes;
}

std::string explain_lack_of_microbatches(const Job& job, const PlanState& current) {
    const std::size_t max_rows = current.max_microbatch_rows;
    if (max_rows == 0) return "";
    const auto microbatches = static_cast<std::size_t>(current.plan.microbatches());
    const std::size_t batch = current.samples.batch;
    if (max_rows / job.samples.max_length * microbatches >= batch) return "";  // enough for the longest samples
    const data::Sampler sampler = make_sampler(job);
    for (std::size_t step = job.completed_steps; step < current.samples.count_steps(); ++step) {
        std::vector<std::size_t> lengths;
        for (const plan::SampleVisit& visit : sampler.list_visits(current.samples.count_visits(step), batch))
            lengths.push_back(job.samples.train[visit.sample].length);
        const std::size_t needed = policy::count_fewest_microbatches(
            std::move(lengths), {.is_packed = is_packed(job.config.schedule.length), .max_rows = max_rows});
        if (needed <= microbatches) continue;
        return cat("step ", step + 1, " needs ", needed, " micro-batches, because --memory-limit allows only ",
                   format_with_commas(max_rows), " tokens per micro-batch, but the plan has ", microbatches,
                   "; raise --microbatches");
    }
    return "";
}

void check_coming_steps(const Job& job, const PlanState& current) {
    if (may_lack_memory(job, current.plan)) return;
    const std::string lack = explain_lack_of_microbatches(job, current);
    if (!lack.empty()) throw ConfigError(lack);
}

}  // namespace trireme::setup
