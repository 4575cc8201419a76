#include "trireme/setup/microbatch_sizes.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/schedule/search.hpp"
#include "trireme/setup/elastic_layout.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/memory_prediction.hpp"
#include "trireme/setup/planning.hpp"

namespace trireme::setup {
namespace {

// Returns the shape of the largest possible micro-batch of `count` samples. If samples are packed, the
// micro-batch has the longest of `samples`, each at most `max_visits` times. Otherwise every sample of the
// micro-batch has the length of the longest of `samples` or, with the policy `fixed`, of the corpus.
stage::BatchShape find_largest_microbatch(const std::vector<data::Sample>& samples, std::size_t count,
                                          std::size_t max_visits, plan::LengthPolicy policy,
                                          std::size_t longest_of_corpus) {
    std::vector<std::size_t> lengths;  // descending; only the longest one unless samples are packed
    if (is_packed(policy)) {
        for (const data::Sample& sample : samples) lengths.push_back(sample.length);
        std::ranges::sort(lengths, std::greater{});
    } else if (policy == plan::LengthPolicy::fixed) {
        lengths = {longest_of_corpus};
    } else {
        lengths = {std::ranges::max(samples, {}, &data::Sample::length).length};
    }
    stage::BatchShape shape;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t length = lengths[std::min(i / max_visits, lengths.size() - 1)];
        shape.segments.push_back({.begin = shape.rows, .length = length});
        shape.rows += length;
    }
    return shape;
}

// Returns the shape of a micro-batch with `rows` rows and the largest possible number of samples.
stage::BatchShape make_full_microbatch(std::size_t rows, std::size_t max_samples) {
    const std::size_t samples = std::min(rows, max_samples);
    stage::BatchShape shape{.segments = {}, .rows = rows};
    for (std::size_t s = 0; s < samples; ++s) {
        const std::size_t begin = rows * s / samples;
        shape.segments.push_back({.begin = begin, .length = rows * (s + 1) / samples - begin});
    }
    return shape;
}

// Returns the largest micro-batches of training and evaluation. A shape is missing if the job has no samples
// for it. A training micro-batch may span several epochs, and contains a sample at most once per epoch. An
// evaluation visits every validation sample once.
std::vector<stage::BatchShape> find_largest_microbatches(const Job& job, const PlanState& state) {
    const data::SampleIndex& index = job.samples;
    const plan::LengthPolicy policy = job.config.schedule.length;
    const std::size_t count = state.microbatch_samples;
    std::vector<stage::BatchShape> shapes;
    if (state.max_microbatch_rows > 0) {
        shapes.push_back(make_full_microbatch(state.max_microbatch_rows, state.samples.batch));
    } else if (!index.train.empty()) {
        const std::size_t max_epochs = 1 + (count + index.train.size() - 2) / index.train.size();
        shapes.push_back(find_largest_microbatch(index.train, count, max_epochs, policy, index.max_length));
    }
    if (!index.validation.empty()) {
        const std::size_t max_samples = std::min(count, index.validation.size());
        shapes.push_back(find_largest_microbatch(index.validation, max_samples, 1, policy, index.max_length));
    }
    return shapes;
}

// Returns the recomputations that a step may have with a plan, ascending, and begins with that of the plan.
std::vector<StepLevel> list_step_levels(const plan::Plan& plan) {
    std::vector<StepLevel> levels{
        {.level = *std::ranges::min_element(plan.recompute), .recompute = plan.recompute}};
    for (const plan::Recompute level : {plan::Recompute::selective, plan::Recompute::full}) {
        std::vector<plan::Recompute> recompute = raise_recomputation(plan, level).recompute;
        if (recompute != levels.back().recompute)
            levels.push_back({.level = level, .recompute = std::move(recompute)});
    }
    return levels;
}

// Returns the largest number of rows for which `fits` returns true, or a number that is smaller by at most 1 /
// 128. `fitting_rows` fit, and `excessive_rows` do not.
std::size_t find_most_rows(std::size_t fitting_rows, std::size_t excessive_rows,
                           const std::function<bool(std::size_t)>& fits) {
    while (excessive_rows - fitting_rows > 1 + fitting_rows / 128) {
        const std::size_t middle = fitting_rows + (excessive_rows - fitting_rows) / 2;
        (fits(middle) ? fitting_rows : excessive_rows) = middle;
    }
    return fitting_rows;
}

// Fits the plan of one state into the memory limit.
class PlanFitter {
public:
    PlanFitter(const Job& job, const PlanRequest& request, int ranks, bool trains, PlanState& state)
        : job_(job),
          config_(job.config),
          request_(request),
          ranks_(ranks),
          trains_(trains),
          state_(state),
          first_plan_(state.plan),
          recompute_(state.plan.recompute),
          max_samples_(state.microbatch_samples) {}

    void fit() {
        state_.largest_microbatches = find_largest_microbatches(job_, state_);
        if (request_.may_exceed_memory) return;
        if (job_.memory_limits.empty()) {
            state_.plan = fit_to_memory_limit(std::move(state_.plan), describe_run());
        } else if (const std::string lack = explain_lack(); !lack.empty()) {
            throw ConfigError(lack);
        }
    }

    // Finds the largest number of rows of a micro-batch with which a plan fits. Sets the plan and the sizes for
    // this number. If steps may choose their recomputation, the plan has the lowest one with which the longest
    // sample fits, and larger micro-batches may fit with higher ones.
    void fit_rows() {
        const std::size_t all_rows = max_samples_ * job_.samples.max_length;
        if (fits(all_rows)) return;
        const auto [shortest, longest] =
            std::ranges::minmax_element(job_.samples.train, {}, &data::Sample::length);
        const data::Sample& needed = may_lack_memory(job_, first_plan_) ? *shortest : *longest;
        if (!fits_with_any_level(needed.length)) throw_too_long(needed);
        fits(find_most_rows(needed.length, all_rows, [&](std::size_t rows) { return fits(rows); }));
        state_.plan.recompute = recompute_;
        if (may_choose_level(state_.plan)) add_levels(longest->length, all_rows);
    }

private:
    // Returns why a rank exceeds its limit. If the plan changes with the lengths of samples, its micro-batches
    // of training may be as small as a step requires.
    std::string explain_lack() const {
        if (!may_lack_memory(job_, first_plan_)) return explain_lack_for_largest_microbatches(job_, state_);
        PlanState least = state_;
        if (!job_.samples.train.empty() && state_.max_microbatch_rows == 0)
            least.largest_microbatches.front() = make_full_microbatch(1, 1);
        return explain_lack_for_largest_microbatches(job_, least);
    }

    PlannedRun describe_run() const {
        return {.config = config_,
                .model = job_.model,
                .request = request_,
                .ranks = ranks_,
                .dtype = job_.dtype,
                .largest_microbatches = state_.largest_microbatches,
                .trains = trains_};
    }

    // True if each step chooses its recomputation, as DynaPipe does. Steps with common buffers cannot choose
    // it.
    bool may_choose_level(const plan::Plan& plan) const {
        return job_.config.schedule.length == plan::LengthPolicy::dynapipe && job_.memory_limits.empty() &&
               !plan.training.have_common_buffers;
    }

    // Sets the sizes for micro-batches of at most `rows` rows. If a plan fits, sets it and returns true.
    // Micro-batches of an evaluation get no more rows than those of training.
    bool fits(std::size_t rows) {
        state_.max_microbatch_rows = rows;
        state_.microbatch_samples =
            std::min(max_samples_, std::max<std::size_t>(1, rows / job_.samples.max_length));
        state_.largest_microbatches = find_largest_microbatches(job_, state_);
        if (!job_.memory_limits.empty()) {
            state_.plan = first_plan_;
            return explain_lack_for_largest_microbatches(job_, state_).empty();
        }
        std::optional<plan::Plan> plan = find_plan_within_limit(first_plan_, describe_run());
        const bool is_raised = first_plan_.recompute != recompute_;
        if (!plan || (is_raised && !may_choose_level(*plan))) return false;
        state_.plan = std::move(*plan);
        return true;
    }

    // Raises the recomputation of the plan, if steps may choose it, until a plan fits.
    bool fits_with_any_level(std::size_t rows) {
        if (fits(rows)) return true;
        for (const plan::Recompute level : {plan::Recompute::selective, plan::Recompute::full}) {
            if (!may_choose_level(first_plan_)) return false;
            if (level <= *std::ranges::min_element(recompute_)) continue;
            for (plan::Recompute& each : config_.layout.recompute) each = std::max(each, level);
            first_plan_ = first_plan_.schedule == schedule::searched_schedule_name
                              ? plan_layout(config_, job_.model, first_plan_.layout, request_)
                              : raise_recomputation(std::move(first_plan_), level);
            if (fits(rows)) return true;
        }
        return false;
    }

    // Sets the recomputations among which steps choose, each with the largest micro-batches that fit. Buffers
    // for input have the size of the largest ones. Therefore the highest recomputation comes first.
    void add_levels(std::size_t longest, std::size_t all_rows) {
        const PlanState fitted = state_;
        const stage::GradientPlan gradients = make_gradient_plan({job_, state_});
        std::vector<StepLevel>& levels = state_.step_levels;
        const std::vector<StepLevel> candidates = list_step_levels(state_.plan);
        for (auto candidate = candidates.rbegin(); candidate != candidates.rend(); ++candidate) {
            levels.insert(levels.begin(), *candidate);
            const auto fits_level = [&](std::size_t rows) { return fits_lowest_level(rows, gradients); };
            if (!fits_level(longest)) {
                levels.erase(levels.begin());
            } else if (!fits_level(all_rows)) {
                fits_level(find_most_rows(longest, all_rows, fits_level));
            }
        }
        std::vector<StepLevel> useful;
        for (StepLevel& level : levels)
            if (useful.empty() || level.largest_microbatch.rows > useful.back().largest_microbatch.rows)
                useful.push_back(std::move(level));
        if (useful.size() == 1 && useful.front().recompute == state_.plan.recompute) {
            state_ = fitted;
            return;
        }
        levels = std::move(useful);
        set_largest_rows(levels);
    }

    // Sets the sizes for micro-batches of at most `rows` rows with the lowest of the recomputations in
    // `state_`. Returns true if the plan fits with all of these.
    bool fits_lowest_level(std::size_t rows, const stage::GradientPlan& gradients) {
        state_.step_levels.front().largest_microbatch = make_full_microbatch(rows, state_.samples.batch);
        set_largest_rows(state_.step_levels);
        const auto fits_rank = [&](const RankMemory& memory) {
            return memory.total() <= job_.config.layout.memory_limit;
        };
        return std::ranges::all_of(predict_memory_of_ranks({job_, state_}, &job_.config.optimizer, gradients,
                                                           ranks_, job_.config.run.checkpoint_every > 0),
                                   fits_rank);
    }

    void set_largest_rows(const std::vector<StepLevel>& levels) {
        state_.max_microbatch_rows = 0;
        for (const StepLevel& level : levels)
            state_.max_microbatch_rows = std::max(state_.max_microbatch_rows, level.largest_microbatch.rows);
        state_.largest_microbatches = find_largest_microbatches(job_, state_);
    }

    [[noreturn]] void throw_too_long(const data::Sample& sample) {
        state_.plan = first_plan_;
        try {
            fit();
        } catch (const ConfigError& error) {
            throw ConfigError(cat(
                "row ", sample.row, " of the corpus has a sample of ", format_with_commas(sample.length),
                " tokens, which exceeds the memory limit even alone",
                may_choose_level(first_plan_) ? ", with all possible recomputation: " : ": ", error.what()));
        }
        throw BugError("a plan fits only at the second attempt");
    }

    const Job& job_;
    config::RunConfig config_;  // with the recomputation of `first_plan_`
    const PlanRequest& request_;
    int ranks_;
    bool trains_;
    PlanState& state_;
    plan::Plan first_plan_;                   // made without the memory limit
    std::vector<plan::Recompute> recompute_;  // per stage, of the options
    std::size_t max_samples_;                 // of a micro-batch of an evaluation
};

}  // namespace

void check_forming_by_time(const config::RunConfig& config, const model::ModelConfig& model,
                           const plan::Plan& plan) {
    if (!forms_by_time(config.schedule.length)) return;
    const std::string policy = config.schedule.length == plan::LengthPolicy::dynapipe ? "dynapipe" : "balanced";
    if (model.reads_images())
        throw ConfigError(
            cat("--length ", policy, " is for texts of different lengths; images have equal lengths"));
    if (find_max_weight_versions(plan) > 1)
        throw ConfigError(
            cat("--length ", policy,
                " needs a schedule that computes all micro-batches of a step with the same weights; ",
                plan.schedule, " does not"));
}

void size_microbatches(const Job& job, const PlanRequest& request, int ranks, bool trains, PlanState& state) {
    state.microbatch_samples = count_microbatch_samples(state.samples.batch, state.plan);
    PlanFitter fitter(job, request, ranks, trains, state);
    if (!trains || !forms_by_time(job.config.schedule.length) || job.samples.train.empty()) return fitter.fit();
    check_forming_by_time(job.config, job.model, state.plan);
    fitter.fit_rows();
}

}  // namespace trireme::setup
