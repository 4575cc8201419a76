#include "trireme/rank/evaluate_samples.hpp"

#include <algorithm>
#include <array>

#include "rank/answer_score.hpp"
#include "trireme/base/progress.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::rank {
namespace {

// Sums over the micro-batches that ended on one rank, later over all ranks.
struct Sums {
    double loss = 0, targets = 0, right = 0, exact = 0, f1 = 0;
};

Sums added_up(comm::Communicator& group, const Sums& own) {
    const std::array numbers{own.loss, own.targets, own.right, own.exact, own.f1};
    const std::vector<double> all = gather_all(group, numbers);
    Sums total;
    for (std::size_t i = 0; i < all.size(); i += numbers.size()) {
        total.loss += all[i];
        total.targets += all[i + 1];
        total.right += all[i + 2];
        total.exact += all[i + 3];
        total.f1 += all[i + 4];
    }
    return total;
}

// Returns the text of the chosen rows of a sample, which lie after [CLS], the question and [SEP].
std::string chosen_text(const setup::Job& job, const data::Sample& sample, std::int32_t first,
                        std::int32_t last) {
    constexpr std::int32_t specials_before = 2;
    if (first < specials_before) return {};
    std::vector<std::uint32_t> tokens;
    job.corpus->read(sample.row, static_cast<std::uint64_t>(first - specials_before),
                     static_cast<std::uint64_t>(last - first + 1), tokens);
    return job.tokenizer->decode(tokens);
}

void score_answers(const setup::Job& job, const plan::Microbatch& microbatch, const model::LossState& outcome,
                   Sums& sums) {
    for (std::size_t s = 0; s < microbatch.samples.size(); ++s) {
        const data::Sample& sample = job.samples.validation[microbatch.samples[s].sample];
        const std::string text = chosen_text(job, sample, outcome.choices[2 * s], outcome.choices[2 * s + 1]);
        const AnswerScore score = score_answer(text, job.corpus->question(sample.row).answers);
        sums.exact += score.exact;
        sums.f1 += score.f1;
    }
}

void add(const setup::Job& job, const plan::Microbatch& microbatch, const data::Batch& batch,
         const model::LossState& outcome, Sums& sums) {
    sums.loss += outcome.loss;
    sums.targets += static_cast<double>(batch.target_count);
    if (job.model.task == Task::span) return score_answers(job, microbatch, outcome, sums);
    for (std::size_t i = 0; i < outcome.choices.size(); ++i) {
        const auto row = static_cast<std::size_t>(batch.predicted[i]);
        sums.right += outcome.choices[i] == batch.targets[row] ? 1 : 0;
    }
}

// Evaluates at most as many micro-batches as the programs execute at once; empty ones fill the rest.
void evaluate_round(RankModel& model, device::Stream& stream, const setup::Job& job,
                    const setup::PlanState& current, std::span<const std::vector<plan::SampleVisit>> cut,
                    Sums& sums) {
    const plan::ProvedPrograms& programs = current.plan.evaluation;
    const std::vector<data::Sample>& samples = job.samples.validation;
    std::vector<data::Batch> batches(static_cast<std::size_t>(programs.shape.microbatches));
    std::vector<plan::Microbatch> microbatches(batches.size());
    for (std::size_t m = 0; m < cut.size(); ++m) {
        if (!model.needs(programs.shape, static_cast<int>(m))) continue;
        microbatches[m] = make_microbatch(cut[m], samples, job.config.schedule.length, job.samples.longest);
        batches[m] = build_batch(*job.corpus, samples, job.validation_rules, microbatches[m]);
    }
    for (const auto& [m, outcome] : model.execute(stream, programs, batches).outcomes) {
        const auto number = static_cast<std::size_t>(m);
        add(job, microbatches[number], batches[number], outcome, sums);
    }
}

std::vector<plan::SampleVisit> every_sample(std::size_t count) {
    std::vector<plan::SampleVisit> visits(count);
    for (std::size_t s = 0; s < count; ++s) visits[s].sample = s;
    return visits;
}

}  // namespace

records::Evaluation evaluate_samples(RankModel& model, device::Stream& stream, const setup::Job& job,
                                     const setup::PlanState& current, comm::Communicator& control) {
    const std::size_t samples = job.samples.validation.size();
    const std::size_t parts = (samples + current.microbatch_samples - 1) / current.microbatch_samples;
    const auto cut = cut_evenly(every_sample(samples), parts);
    const auto most = static_cast<std::size_t>(current.plan.evaluation.shape.microbatches);
    Progress progress("evaluation", "micro-batches", static_cast<double>(parts),
                      job.config.run.quiet || control.rank() != 0);
    Sums own;
    for (std::size_t begin = 0; begin < parts; begin += most) {
        const auto round = std::span(cut).subspan(begin, std::min(most, parts - begin));
        evaluate_round(model, stream, job, current, round, own);
        barrier(control);  // otherwise a fast rank could take slower ones for dead
        progress.advance(static_cast<double>(round.size()));
    }
    progress.finish();
    const Sums total = added_up(control, own);
    records::Evaluation result{.samples = samples + job.samples.left_out,
                               .targets = static_cast<std::size_t>(total.targets),
                               .loss = total.loss / total.targets,
                               .has_perplexity = job.model.has_vocabulary_head()};
    const auto count = static_cast<double>(result.samples);
    if (job.model.task == Task::span) {
        result.exact_match = total.exact / count;
        result.f1 = total.f1 / count;
    } else if (job.model.task != Task::language) {
        result.accuracy = total.right / total.targets;
    }
    return result;
}

}  // namespace trireme::rank
