#include "trireme/setup/step_shapes.hpp"

namespace trireme::setup {

data::Sampler make_sampler(const Job& job) {
    return {job.samples.train.size(), job.config.run.seed, job.config.data.order,
            job.config.policy.cache.sample_homes};
}

std::size_t count_targets(const Job& job, const std::vector<plan::SampleVisit>& visits) {
    if (job.corpus) return count_targets(*job.corpus, job.samples.train, job.train_rules, visits);
    std::size_t rows = 0;
    for (const plan::SampleVisit& visit : visits) rows += job.samples.train[visit.sample].length;
    return rows;
}

std::vector<std::uint32_t> list_sample_lengths(const Job& job, const StepSamples& step_samples,
                                               std::size_t step) {
    const data::Sampler sampler = make_sampler(job);
    std::vector<std::uint32_t> lengths;
    const std::size_t visits = step_samples.count_visits(step);
    for (const plan::SampleVisit& visit : sampler.list_visits(visits, step_samples.batch))
        lengths.push_back(static_cast<std::uint32_t>(job.samples.train[visit.sample].length));
    return lengths;
}

stage::BatchShape make_batch_shape(const Job& job, const plan::Microbatch& microbatch) {
    stage::BatchShape shape;
    for (const plan::SampleVisit& visit : microbatch.samples) {
        const bool is_packed = microbatch.padded_length == 0;
        const std::size_t length = job.samples.train[visit.sample].length;
        const std::size_t number = visit.epoch * job.samples.train.size() + visit.sample;
        shape.segments.push_back(
            {.begin = shape.rows, .length = length, .sample = static_cast<std::int64_t>(number)});
        shape.rows += is_packed ? length : microbatch.padded_length;
    }
    const bool predicts_answers = job.corpus && job.model.task == Task::span;  // targets are answers, not rows
    shape.predicted_rows = predicts_answers ? 0 : count_targets(job, microbatch.samples);
    return shape;
}

}  // namespace trireme::setup
