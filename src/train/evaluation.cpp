#include "train/evaluation.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "train/answer_score.hpp"
#include "train/batch_view.hpp"
#include "trireme/comm/collectives.hpp"

namespace trireme {
namespace {

// Ranks whose samples are unlike drift apart; they meet now and then, so that none waits long enough for the
// others to take them for dead.
constexpr std::size_t rounds_between_meetings = 8;

// Sums over the micro-batches of one rank, and then over the ranks.
struct Sums {
    double loss = 0, targets = 0, right = 0, exact = 0, f1 = 0;
};

Sums added_up(Communicator& group, const Sums& own) {
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

// The text between the chosen rows of a sample: behind [CLS], the question and [SEP].
std::string chosen_text(const Setup& setup, const Sample& sample, std::int32_t first, std::int32_t last) {
    constexpr std::int32_t specials_before = 2;
    if (first < specials_before) return {};
    std::vector<std::uint32_t> tokens;
    setup.corpus.read(sample.row, static_cast<std::uint64_t>(first - specials_before),
                      static_cast<std::uint64_t>(last - first + 1), tokens);
    return setup.tokenizer->decode(tokens);
}

void score_answers(const Setup& setup, const MicroBatch& micro_batch, const LossState& outcome, Sums& sums) {
    for (std::size_t s = 0; s < micro_batch.samples.size(); ++s) {
        const Sample& sample = setup.samples.validation[micro_batch.samples[s].sample];
        const std::string text = chosen_text(setup, sample, outcome.choices[2 * s], outcome.choices[2 * s + 1]);
        const AnswerScore score = score_answer(text, setup.corpus.question(sample.row).answers);
        sums.exact += score.exact;
        sums.f1 += score.f1;
    }
}

void add(const Setup& setup, const MicroBatch& micro_batch, Stage& stage, Stream& stream, Sums& sums) {
    const Batch batch =
        build_batch(setup.corpus, setup.samples.validation, setup.validation_rules, micro_batch);
    const BatchView view(batch);
    const LossState outcome = stage.evaluate(stream, view.tokens());
    sums.loss += outcome.loss;
    sums.targets += static_cast<double>(batch.target_count);
    if (setup.model.task == Task::span) return score_answers(setup, micro_batch, outcome, sums);
    for (std::size_t i = 0; i < outcome.choices.size(); ++i) {
        sums.right += outcome.choices[i] == view.targets()[i] ? 1 : 0;
    }
}

std::vector<SampleVisit> every_sample(std::size_t count) {
    std::vector<SampleVisit> visits(count);
    for (std::size_t s = 0; s < count; ++s) visits[s].sample = s;
    return visits;
}

}  // namespace

std::string describe(const Evaluation& e) {
    std::string text = fmt::format("loss {:.4f}", e.loss);
    if (e.has_perplexity) text += fmt::format("  perplexity {:.2f}", e.perplexity());
    if (e.accuracy) text += fmt::format("  accuracy {:.1f} %", 100 * *e.accuracy);
    if (e.exact_match) text += fmt::format("  exact match {:.1f} %", 100 * *e.exact_match);
    if (e.f1) text += fmt::format("  F1 {:.1f} %", 100 * *e.f1);
    return text;
}

double Evaluation::perplexity() const { return std::exp(loss); }

Evaluation evaluate_samples(Stage& stage, Stream& stream, const Setup& setup, Communicator& group) {
    const std::size_t samples = setup.samples.validation.size();
    const std::size_t parts = (samples + setup.micro_batch_samples - 1) / setup.micro_batch_samples;
    const auto cut = cut_evenly(every_sample(samples), parts);
    Sums own;
    for (std::size_t m = 0; m < parts; ++m) {
        if (m % (setup.replicas * rounds_between_meetings) == 0) barrier(group);
        if (m % setup.replicas != static_cast<std::size_t>(group.rank())) continue;
        add(setup, make_micro_batch(cut[m], setup.samples.validation, setup.length, setup.samples.longest),
            stage, stream, own);
    }
    const Sums total = added_up(group, own);
    Evaluation result{.samples = samples + setup.samples.left_out,
                      .targets = static_cast<std::size_t>(total.targets),
                      .loss = total.loss / total.targets,
                      .has_perplexity = setup.model.has_vocabulary_head()};
    const auto count = static_cast<double>(result.samples);
    if (setup.model.task == Task::span) {
        result.exact_match = total.exact / count;
        result.f1 = total.f1 / count;
    } else if (setup.model.task != Task::language) {
        result.accuracy = total.right / total.targets;
    }
    return result;
}

}  // namespace trireme
