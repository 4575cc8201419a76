#include "trireme/setup/setup.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "unit/checkpoint/zero_model.hpp"
#include "unit/data/small_corpus.hpp"

namespace trireme::setup {
namespace {

using validation::bert_bytes;
using validation::catch_message;
using validation::corpus_of;
using validation::described;
using validation::question_row;
using validation::ScratchFolder;
using validation::small_corpus;
using validation::write_zero_model;

class RunSetup : public ::testing::Test {
protected:
    config::RunConfig config_of(const std::string& model) const {
        config::RunConfig config;
        config.data.corpus = folder_.file("corpus.h5");
        config.data.validation_fraction = 0;
        config.model.name = model;
        config.model.layers = 1;
        config.model.width = 4;
        config.model.heads = 1;
        config.run.steps = 1;
        return config;
    }

    // Returns a question of `before` tokens and a context of 6, whose last token is the answer.
    static data::CorpusRow question(std::size_t before) {
        data::Question places;
        places.context_begin = static_cast<std::uint32_t>(before);
        places.answer_first = places.answer_last = static_cast<std::uint32_t>(before + 5);
        places.answers = {"x"};
        return question_row(std::vector<std::uint32_t>(before + 6, 65), places);
    }

    // Returns an evaluation of the model that `config` trains, before its first step.
    config::EvaluateConfig evaluation_of(const config::RunConfig& config) const {
        const setup::Setup setup = set_up(config, 1);
        config::EvaluateConfig evaluation;
        evaluation.run = config;
        evaluation.run.model = {};
        evaluation.resume = write_zero_model(folder_.file("checkpoints"), setup.job.model).string();
        return evaluation;
    }

    ScratchFolder folder_;
};

TEST_F(RunSetup, RejectsOptionsOfADifferentTask) {
    small_corpus(folder_, {{1, 2, 3}, {4, 5}});
    config::RunConfig smoothed = config_of("gpt2-tiny");
    smoothed.task.label_smoothing = 0.5;
    config::RunConfig masked = config_of("gpt2-tiny");
    masked.task.mask_fraction = 0.5;

    EXPECT_EQ(catch_message<ConfigError>([&] { set_up(smoothed, 1); }),
              "--label-smoothing has no effect without classes to learn; set --task classify or drop "
              "--label-smoothing");
    EXPECT_EQ(catch_message<ConfigError>([&] { set_up(masked, 1); }),
              "--mask-share has no effect without masked tokens to predict; set --task masked or drop "
              "--mask-share");
}

TEST_F(RunSetup, NeedsASamplePerReplicaForTrainingOnly) {
    small_corpus(folder_, {{1, 2, 3}, {4, 5}});
    config::RunConfig config = config_of("gpt2-tiny");
    config::EvaluateConfig evaluation = evaluation_of(config);
    config.run.batch = evaluation.run.run.batch = 2;

    EXPECT_EQ(catch_message<ConfigError>([&] { set_up(config, 3); }),
              "--batch 2 is smaller than 3 micro-batches (3 replicas x --microbatches 1); raise it, because "
              "each micro-batch needs a sample");
    EXPECT_EQ(set_up_evaluation(evaluation, 3).current.microbatch_samples, 1U);
}

// There are one long row and three short ones. The long row occurs once, even if a batch may hold more samples.
TEST_F(RunSetup, CountsEachSampleOnceInAnEvaluation) {
    small_corpus(folder_, {std::vector<std::uint32_t>(100, 7), {1, 2}, {3, 4}, {5, 6}});
    config::RunConfig config = config_of("gpt2-tiny");
    config.schedule.length = plan::LengthPolicy::pack;
    config::EvaluateConfig evaluation = evaluation_of(config);
    evaluation.run.run.batch = 50;

    const setup::Setup setup = set_up_evaluation(evaluation, 1);

    ASSERT_EQ(setup.current.largest_microbatches.size(), 1U);
    EXPECT_EQ(setup.current.largest_microbatches[0].segments.size(), 4U);
    EXPECT_EQ(setup.current.largest_microbatches[0].rows, 100U + 3 * 2);
}

// A step of eight samples from an epoch of four spans two epochs, or three if it begins inside one.
TEST_F(RunSetup, AllowsForSamplesOfSeveralEpochsInAStep) {
    small_corpus(folder_, {std::vector<std::uint32_t>(100, 7), {1, 2}, {3, 4}, {5, 6}});
    config::RunConfig config = config_of("gpt2-tiny");
    config.schedule.length = plan::LengthPolicy::pack;
    config.run.batch = 8;

    const setup::Setup setup = set_up(config, 1);

    ASSERT_EQ(setup.current.largest_microbatches.size(), 1U);
    EXPECT_EQ(setup.current.largest_microbatches[0].segments.size(), 8U);
    EXPECT_EQ(setup.current.largest_microbatches[0].rows, 3 * 100U + 5 * 2);
}

TEST_F(RunSetup, CountsQuestionsThatMakeNoSample) {
    corpus_of(folder_, described(data::RowKind::question, bert_bytes()),
              {question(2), question(40), question(3)});
    config::RunConfig config = config_of("bert-tiny");
    config::EvaluateConfig evaluation = evaluation_of(config);
    evaluation.run.data.max_length = 20;

    const setup::Setup setup = set_up_evaluation(evaluation, 1);

    EXPECT_EQ(setup.job.samples.validation.size(), 2U);
    EXPECT_EQ(setup.job.samples.skipped_questions, 1U);
}

TEST_F(RunSetup, RejectsAnEvaluationWithoutAnyAnswer) {
    corpus_of(folder_, described(data::RowKind::question, bert_bytes()), {question(2), question(3)});
    config::EvaluateConfig evaluation = evaluation_of(config_of("bert-tiny"));
    evaluation.run.data.max_length = 8;

    EXPECT_EQ(catch_message<ConfigError>([&] { set_up_evaluation(evaluation, 1); }),
              cat("none of the 2 questions to evaluate in ", folder_.file("corpus.h5"),
                  " has its answer within --max-length; raise --max-length"));
}

}  // namespace
}  // namespace trireme::setup
