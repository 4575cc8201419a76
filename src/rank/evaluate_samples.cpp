#include "trireme/rank/evaluate_samples.hpp"

#include <algorithm>
#include <array>

#include "rank/answer_score.hpp"
#include "trireme/base/progress.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::rank {
namespace {

// Sums over the micro-batches whose last stage this rank executed; after sum_over_ranks(), over all
// micro-batches.
struct ScoreSums {
    double loss = 0, targets = 0;
    double correct = 0;        // number of correctly predicted targets
    double exact = 0, f1 = 0;  // scores of predicted answers, see AnswerScore
};

ScoreSums sum_over_ranks(comm::Communicator& group, const ScoreSums& local_sums) {
    const std::array fields{local_sums.loss, local_sums.targets, local_sums.correct, local_sums.exact,
                            local_sums.f1};
    const std::vector<double> all = all_gather(group, fields);
    ScoreSums total;
    for (std::size_t i = 0; i < all.size(); i += fields.size()) {
        total.loss += all[i];
        total.targets += all[i + 1];
        total.correct += all[i + 2];
        total.exact += all[i + 3];
        total.f1 += all[i + 4];
    }
    return total;
}

// Returns the text of the predicted answer: of the rows `first` to `last` of the sample, which has the form
// [CLS] question [SEP] context [SEP]. The corpus stores the question and the context without these special
// tokens, two of which precede the context.
std::string decode_predicted_answer(const setup::Job& job, const data::Sample& sample, std::int32_t first,
                                    std::int32_t last) {
    constexpr std::int32_t special_tokens_before = 2;
    if (first < special_tokens_before) return {};
    std::vector<std::uint32_t> tokens;
    job.corpus->read(sample.row, static_cast<std::uint64_t>(first - special_tokens_before),
                     static_cast<std::uint64_t>(last - first + 1), tokens);
    return job.tokenizer->decode(tokens);
}

void score_answers(const setup::Job& job, const plan::Microbatch& microbatch, const model::LossState& outcome,
                   ScoreSums& sums) {
    for (std::size_t s = 0; s < microbatch.samples.size(); ++s) {
        const data::Sample& sample = job.samples.validation[microbatch.samples[s].sample];
        const std::string text =
            decode_predicted_answer(job, sample, outcome.choices[2 * s], outcome.choices[2 * s + 1]);
        const AnswerScore score = score_answer(text, job.corpus->read_question(sample.row).answers);
        sums.exact += score.exact;
        sums.f1 += score.f1;
    }
}

void add(const setup::Job& job, const plan::Microbatch& microbatch, const data::Batch& batch,
         const model::LossState& outcome, ScoreSums& sums) {
    sums.loss += outcome.loss;
    sums.targets += static_cast<double>(batch.target_count);
    if (job.model.task == Task::span) return score_answers(job, microbatch, outcome, sums);
    for (std::size_t i = 0; i < outcome.choices.size(); ++i) {
        const auto row = static_cast<std::size_t>(batch.predicted_rows[i]);
        sums.correct += outcome.choices[i] == batch.targets[row] ? 1 : 0;
    }
}

// Evaluates the given micro-batches in one execution of the evaluation programs. If the programs execute more
// micro-batches than that, the remaining ones are empty.
void evaluate_round(RankModel& model, device::Stream& stream, const setup::Job& job,
                    const setup::PlanState& current,
                    std::span<const std::vector<plan::SampleVisit>> microbatch_visits, ScoreSums& sums) {
    const plan::ProvedPrograms& programs = current.plan.evaluation;
    const std::vector<data::Sample>& samples = job.samples.validation;
    std::vector<data::Batch> batches(static_cast<std::size_t>(programs.shape.microbatches));
    std::vector<plan::Microbatch> microbatches(batches.size());
    for (std::size_t m = 0; m < microbatch_visits.size(); ++m) {
        if (!model.executes_microbatch(programs.shape, static_cast<int>(m))) continue;
        microbatches[m] =
            make_microbatch(microbatch_visits[m], samples, job.config.schedule.length, job.samples.max_length);
        batches[m] = build_batch(*job.corpus, samples, job.validation_rules, microbatches[m]);
    }
    for (const auto& [m, outcome] : model.execute(stream, programs, batches).outcomes) {
        const auto index = static_cast<std::size_t>(m);
        add(job, microbatches[index], batches[index], outcome, sums);
    }
}

std::vector<plan::SampleVisit> list_sample_visits(std::size_t count) {
    std::vector<plan::SampleVisit> visits(count);
    for (std::size_t s = 0; s < count; ++s) visits[s].sample = s;
    return visits;
}

}  // namespace

records::Evaluation evaluate_samples(RankModel& model, device::Stream& stream, const setup::Job& job,
                                     const setup::PlanState& current, comm::Communicator& control) {
    const std::size_t samples = job.samples.validation.size();
    const std::size_t microbatch_count =
        (samples + current.microbatch_samples - 1) / current.microbatch_samples;
    const auto microbatch_visits = cut_into_microbatches(list_sample_visits(samples), microbatch_count);
    const auto max_round_size = static_cast<std::size_t>(current.plan.evaluation.shape.microbatches);
    Progress progress("evaluation", "micro-batches", static_cast<double>(microbatch_count),
                      job.config.run.quiet || control.rank() != 0);
    ScoreSums local_sums;
    for (std::size_t begin = 0; begin < microbatch_count; begin += max_round_size) {
        const auto round =
            std::span(microbatch_visits).subspan(begin, std::min(max_round_size, microbatch_count - begin));
        evaluate_round(model, stream, job, current, round, local_sums);
        barrier(control);  // otherwise a fast rank could believe that slower ranks are dead
        progress.advance(static_cast<double>(round.size()));
    }
    progress.finish();
    const ScoreSums total = sum_over_ranks(control, local_sums);
    records::Evaluation result{
        .samples = samples + job.samples.skipped_questions,  // skipped ones count as wrong
        .targets = static_cast<std::size_t>(total.targets),
        .loss = total.loss / total.targets,
        .has_perplexity = job.model.has_vocabulary_head()};
    const auto count = static_cast<double>(result.samples);
    if (job.model.task == Task::span) {
        result.exact_match = total.exact / count;
        result.f1 = total.f1 / count;
    } else if (job.model.task != Task::language) {
        result.accuracy = total.correct / total.targets;
    }
    return result;
}

}  // namespace trireme::rank
