#include "trireme/rank/evaluate_samples.hpp"

#include <algorithm>
#include <array>

#include "rank/answer_score.hpp"
#include "trireme/base/progress.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme::rank {
namespace {

// Sums over the micro-batches whose results this rank has (see StepResult). all_reduce_sums() makes them sums
// over all micro-batches.
struct ScoreSums {
    double loss = 0;
    double targets = 0;        // number of terms of the loss
    double correct = 0;        // number of correctly predicted targets
    double exact = 0, f1 = 0;  // scores of predicted answers, see AnswerScore
};

// Collective over `group`. Returns the sums over all ranks, with equal bits on all ranks.
ScoreSums all_reduce_sums(comm::Communicator& group, const ScoreSums& local_sums) {
    const std::array fields{local_sums.loss, local_sums.targets, local_sums.correct, local_sums.exact,
                            local_sums.f1};
    const std::vector<double> gathered = all_gather(group, fields);
    ScoreSums total;
    for (std::size_t i = 0; i < gathered.size(); i += fields.size()) {
        total.loss += gathered[i];
        total.targets += gathered[i + 1];
        total.correct += gathered[i + 2];
        total.exact += gathered[i + 3];
        total.f1 += gathered[i + 4];
    }
    return total;
}

// Returns the text of the predicted answer, which is in rows `first` to `last` (inclusive) of the sample. If
// there is no answer, `first` and `last` are -1 and the text is empty. The rows of a sample are [CLS] question
// [SEP] context [SEP]. The corpus stores only question and context, without the two special tokens that precede
// the context in the sample.
std::string decode_predicted_answer(const setup::Job& job, const data::Sample& sample, std::int32_t first,
                                    std::int32_t last) {
    constexpr std::int32_t special_tokens_before_context = 2;
    if (first < special_tokens_before_context) return {};
    std::vector<std::uint32_t> tokens;
    job.corpus->read(sample.row, static_cast<std::uint64_t>(first - special_tokens_before_context),
                     static_cast<std::uint64_t>(last - first + 1), tokens);
    return job.tokenizer->decode(tokens);
}

// Adds the scores of the predicted answers of a micro-batch to `sums`.
void add_answer_scores(const setup::Job& job, const plan::Microbatch& microbatch,
                       const model::LossState& outcome, ScoreSums& sums) {
    for (std::size_t s = 0; s < microbatch.samples.size(); ++s) {
        const data::Sample& sample = job.samples.validation[microbatch.samples[s].sample];
        const std::string text =
            decode_predicted_answer(job, sample, outcome.choices[2 * s], outcome.choices[2 * s + 1]);
        const AnswerScore score = score_answer(text, job.corpus->read_question(sample.row).answers);
        sums.exact += score.exact;
        sums.f1 += score.f1;
    }
}

void add_outcome(const setup::Job& job, const plan::Microbatch& microbatch, const data::Batch& batch,
                 const model::LossState& outcome, ScoreSums& sums) {
    sums.loss += outcome.loss;
    sums.targets += static_cast<double>(batch.target_count);
    if (job.model.task == Task::span) return add_answer_scores(job, microbatch, outcome, sums);
    for (std::size_t i = 0; i < outcome.choices.size(); ++i) {
        const auto row = static_cast<std::size_t>(batch.predicted_rows[i]);
        sums.correct += outcome.choices[i] == batch.targets[row] ? 1 : 0;
    }
}

// Evaluates micro-batches in one round, that is, one execution of the evaluation programs. Adds this rank's
// results to `sums`. `microbatch_visits` has the samples of each micro-batch. If the programs execute more
// micro-batches, the additional ones are empty.
void evaluate_round(RankModel& model, device::Stream& stream, const setup::Job& job,
                    const setup::PlanState& current,
                    std::span<const std::vector<plan::SampleVisit>> microbatch_visits, ScoreSums& sums) {
    const plan::ProvedPrograms& programs = current.plan.evaluation;
    const std::vector<data::Sample>& samples = job.samples.validation;
    std::vector<data::Batch> batches(static_cast<std::size_t>(programs.shape.microbatches));
    std::vector<plan::Microbatch> microbatches(batches.size());
    const plan::LengthPolicy policy = job.config.schedule.length;
    std::vector<plan::SampleVisit> all_visits;
    for (const std::vector<plan::SampleVisit>& visits : microbatch_visits)
        all_visits.insert(all_visits.end(), visits.begin(), visits.end());
    const std::size_t common_length = find_common_length(all_visits, samples, policy, job.samples.max_length);
    for (std::size_t m = 0; m < microbatch_visits.size(); ++m) {
        if (!model.executes_microbatch(programs.shape, static_cast<int>(m))) continue;
        microbatches[m] = make_microbatch(microbatch_visits[m], samples, policy, common_length);
        batches[m] = build_batch(*job.corpus, samples, job.validation_rules, microbatches[m]);
    }
    for (const auto& [m, outcome] : model.execute(stream, programs, batches).outcomes) {
        const auto index = static_cast<std::size_t>(m);
        add_outcome(job, microbatches[index], batches[index], outcome, sums);
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
    const auto microbatches_per_round = static_cast<std::size_t>(current.plan.evaluation.shape.microbatches);
    Progress progress("evaluation", "micro-batches", static_cast<double>(microbatch_count),
                      job.config.run.quiet || control.rank() != 0);
    ScoreSums local_sums;
    for (std::size_t begin = 0; begin < microbatch_count; begin += microbatches_per_round) {
        const auto round = std::span(microbatch_visits)
                               .subspan(begin, std::min(microbatches_per_round, microbatch_count - begin));
        evaluate_round(model, stream, job, current, round, local_sums);
        barrier(control);  // otherwise a fast rank could get far ahead, and its waits would count as stalls
        progress.advance(static_cast<double>(round.size()));
    }
    progress.finish();
    const ScoreSums total = all_reduce_sums(control, local_sums);
    records::Evaluation result{
        .samples = samples + job.samples.skipped_questions,  // skipped questions count as wrong
        .targets = static_cast<std::size_t>(total.targets),
        .loss = total.loss / total.targets,
        .has_perplexity = job.model.has_vocabulary_head()};
    const auto sample_count = static_cast<double>(result.samples);
    if (job.model.task == Task::span) {
        result.exact_match = total.exact / sample_count;
        result.f1 = total.f1 / sample_count;
    } else if (job.model.task != Task::language) {
        result.accuracy = total.correct / total.targets;
    }
    return result;
}

}  // namespace trireme::rank
