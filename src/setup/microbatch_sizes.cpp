#include <algorithm>
#include <functional>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"
#include "trireme/setup/elastic_memory.hpp"
#include "trireme/setup/memory_limit.hpp"
#include "trireme/setup/planning.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::setup {
namespace {

// Returns the shape of the largest possible micro-batch of `count` samples. If samples are packed, the
// micro-batch has the longest of `samples`, each at most `max_visits` times. Otherwise every sample of the
// micro-batch has the length of the longest of `samples` or, with the policy `fixed`, of the corpus.
stage::BatchShape find_largest_microbatch(const std::vector<data::Sample>& samples, std::size_t count,
                                          std::size_t max_visits, plan::LengthPolicy policy,
                                          std::size_t longest_of_corpus) {
    std::vector<std::size_t> lengths;
    for (const data::Sample& sample : samples) lengths.push_back(sample.length);
    std::ranges::sort(lengths, std::greater{});
    stage::BatchShape shape;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t packed_length = lengths[std::min(i / max_visits, lengths.size() - 1)];
        const std::size_t padded_length =
            policy == plan::LengthPolicy::fixed ? longest_of_corpus : lengths.front();
        const std::size_t length = is_packed(policy) ? packed_length : padded_length;
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
        shapes.push_back(make_full_microbatch(state.max_microbatch_rows, job.config.run.batch));
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

// Fits the plan of one state into the memory limit.
class PlanFitter {
public:
    PlanFitter(const Job& job, const PlanRequest& request, int ranks, bool trains, PlanState& state)
        : job_(job),
          request_(request),
          ranks_(ranks),
          trains_(trains),
          state_(state),
          first_plan_(state.plan),
          max_samples_(state.microbatch_samples) {}

    void fit() {
        state_.largest_microbatches = find_largest_microbatches(job_, state_);
        if (job_.memory_limits.empty()) {
            state_.plan = fit_to_memory_limit(std::move(state_.plan), describe_run());
        } else if (const std::string lack = explain_lack_for_largest_microbatches(job_, state_);
                   !lack.empty()) {
            throw ConfigError(lack);
        }
    }

    // Finds the largest number of rows of a micro-batch with which a plan fits, or a number that is smaller by
    // at most 1 / 128. Sets the plan and the sizes for this number.
    void fit_rows() {
        std::size_t excessive_rows = max_samples_ * job_.samples.max_length;
        if (fits(excessive_rows)) return;
        const data::Sample& longest = *std::ranges::max_element(job_.samples.train, {}, &data::Sample::length);
        std::size_t fitting_rows = longest.length;
        if (!fits(fitting_rows)) throw_too_long(longest);
        while (excessive_rows - fitting_rows > 1 + fitting_rows / 128) {
            const std::size_t middle = fitting_rows + (excessive_rows - fitting_rows) / 2;
            (fits(middle) ? fitting_rows : excessive_rows) = middle;
        }
        fits(fitting_rows);  // sets the plan and the sizes
    }

private:
    PlannedRun describe_run() const {
        return {.config = job_.config,
                .model = job_.model,
                .request = request_,
                .ranks = ranks_,
                .dtype = job_.dtype,
                .largest_microbatches = state_.largest_microbatches,
                .trains = trains_};
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
        if (!plan) return false;
        state_.plan = std::move(*plan);
        return true;
    }

    [[noreturn]] void throw_too_long(const data::Sample& sample) {
        try {
            fit();
        } catch (const ConfigError& error) {
            throw ConfigError(cat("row ", sample.row, " of the corpus has a sample of ",
                                  format_with_commas(sample.length),
                                  " tokens, which exceeds the memory limit even alone: ", error.what()));
        }
        throw BugError("a plan fits only at the second attempt");
    }

    const Job& job_;
    const PlanRequest& request_;
    int ranks_;
    bool trains_;
    PlanState& state_;
    plan::Plan first_plan_;    // made without the memory limit
    std::size_t max_samples_;  // of a micro-batch of an evaluation
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
    state.microbatch_samples = count_microbatch_samples(job.config.run.batch, state.plan);
    PlanFitter fitter(job, request, ranks, trains, state);
    if (!trains || !forms_by_time(job.config.schedule.length) || job.samples.train.empty()) return fitter.fit();
    check_forming_by_time(job.config, job.model, state.plan);
    fitter.fit_rows();
}

}  // namespace trireme::setup
