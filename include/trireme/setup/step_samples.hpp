// The samples that training steps visit.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/optim/config.hpp"
#include "trireme/setup/cached_visits.hpp"

namespace trireme::setup {

// The numbers of samples of the steps of a plan. With --batch-policy grow, they differ between plans.
struct StepSamples {
    std::size_t batch = 0;            // samples per step, from `first_step` on
    std::size_t first_step = 0;       // first step of the plan, or of the resumed run
    std::size_t first_sample = 0;     // samples that the run has visited before this step
    std::size_t first_batch = 0;      // samples per step with the plan of the options: --batch
    std::size_t first_pipelines = 1;  // pipelines of this plan: see layout::count_pipelines()
    CachedVisits cached = {};         // valid entries of the cache of frozen outputs
    std::size_t all = 0;              // samples that the whole run visits, unless its last step visits more

    // Returns the number of samples that the run has visited before `step`. Also valid for the step before
    // `first_step`, as if it had `batch` samples.
    std::size_t count_visits(std::size_t step) const { return first_sample + (step - first_step) * batch; }
    // Returns the smallest number of steps after which the run has visited `visits` samples or more.
    std::size_t find_step(std::size_t visits) const {
        const std::size_t missing = std::max(visits, first_sample) - first_sample;
        return first_step + (missing + batch - 1) / batch;
    }
    // Returns the number of steps of the run if it keeps its plan.
    std::size_t count_steps() const { return find_step(all); }

    // Returns the learning rate of `step`. The schedule follows the visited samples, as if all steps had
    // `first_batch` samples, and the rate is linear in the samples of the step.
    double find_rate(const optim::OptimizerConfig& config, std::size_t step) const {
        const auto base = static_cast<double>(first_batch);
        return static_cast<double>(batch) / base *
               optim::compute_learning_rate(config, static_cast<double>(count_visits(step)) / base,
                                            all / first_batch);
    }

    // Returns the samples per step of `pipelines` pipelines if each pipeline has those of the first plan.
    std::size_t grow_batch(std::size_t pipelines) const {
        return std::max<std::size_t>(1, first_batch * pipelines / first_pipelines);
    }
    // Returns the samples of steps that have `new_batch` samples from `step` on, but not before `first_step`.
    StepSamples change_batch(std::size_t step, std::size_t new_batch) const {
        StepSamples changed = *this;
        changed.batch = new_batch;
        changed.first_step = std::max(step, first_step);
        changed.first_sample = count_visits(changed.first_step);
        return changed;
    }
};

}  // namespace trireme::setup
