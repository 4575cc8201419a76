#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

config::EvaluateConfig evaluate_config(const std::string& options) {
    return std::get<config::EvaluateConfig>(parse("evaluate --resume runs/a --corpus a.h5 " + options));
}

std::string evaluate_complaint(const std::string& options) {
    return complaint("evaluate --resume runs/a --corpus a.h5 " + options);
}

TEST(EvaluateOptions, SetEveryField) {
    const config::EvaluateConfig config = evaluate_config(
        "--rows validation --output figures.json --batch 16 --stall-timeout 2.5 --threads 3 --max-length 64 "
        "--long "
        "drop --validation-share 0.1 --document-end none --task masked --mask-share 0.3 --pipe 3 --data 2 "
        "--tensor 4 --partition 2,2,2 --sequence-parallel on --schedule gpipe "
        "--microbatches 5 --length pack --dtype f64 --device reference");

    EXPECT_EQ(config.resume, "runs/a");
    EXPECT_TRUE(config.only_validation);
    EXPECT_EQ(config.output, "figures.json");
    EXPECT_EQ(config.run.data.corpus, "a.h5");
    EXPECT_EQ(config.run.data.max_length, 64U);
    EXPECT_EQ(config.run.data.long_rows, data::LongRows::drop);
    EXPECT_EQ(config.run.data.validation_fraction, 0.1);
    EXPECT_FALSE(config.run.data.has_document_end);
    EXPECT_EQ(config.run.task.task, Task::masked);
    EXPECT_EQ(config.run.task.mask_fraction, 0.3);
    EXPECT_EQ(config.run.layout.pipe, 3);
    EXPECT_EQ(config.run.layout.data, 2);
    EXPECT_EQ(config.run.layout.tensor, 4);
    EXPECT_EQ(config.run.layout.partition, "2,2,2");
    EXPECT_TRUE(config.run.layout.sequence_parallel);
    EXPECT_EQ(config.run.schedule.schedule, "gpipe");
    EXPECT_EQ(config.run.schedule.microbatches, 5U);
    EXPECT_EQ(config.run.schedule.length, plan::LengthPolicy::pack);
    EXPECT_EQ(config.run.precision.dtype, config::Precision::f64);
    EXPECT_EQ(config.run.precision.device, config::DeviceKind::reference);
    EXPECT_EQ(config.run.run.batch, 16U);
    EXPECT_EQ(config.run.run.stall_timeout, 2.5);
    EXPECT_EQ(config.run.run.threads, 3);
}

TEST(EvaluateOptions, KeepDefaultsIfNotGiven) {
    const config::EvaluateConfig config = evaluate_config("");

    EXPECT_FALSE(config.only_validation);
    EXPECT_EQ(config.output, "");
    EXPECT_EQ(config.run.task.task, std::nullopt);
    EXPECT_EQ(config.run.run.batch, config::RunOptions{}.batch);
}

TEST(EvaluateOptions, NeedAModelAndACorpus) {
    EXPECT_EQ(complaint("evaluate --corpus a.h5"),
              "no model is given; name a checkpoint or a run directory with --resume PATH");
    EXPECT_EQ(complaint("evaluate --resume runs/a"),
              "no corpus is given; name one with --corpus FILE.h5 (`trireme prepare` makes it)");
}

// Options that say how to train have no meaning for `evaluate`.
TEST(EvaluateOptions, RejectOptionsThatOnlyTrainingNeeds) {
    for (const std::string option :
         {"steps", "epochs", "lr", "model", "label-smoothing", "recompute", "shard-optimizer", "seed"}) {
        EXPECT_EQ(evaluate_complaint("--" + option + " 1").find("unknown option --" + option), 0U) << option;
    }
}

TEST(EvaluateOptions, SuggestTheNearestNameAndListTheValidValues) {
    EXPECT_EQ(evaluate_complaint("--outputs a.json"), "unknown option --outputs; did you mean --output?");
    EXPECT_EQ(evaluate_complaint("--rows validate"),
              "--rows expects one of all, validation, not 'validate'; did you mean validation?");
    EXPECT_EQ(evaluate_complaint("a.h5"),
              "evaluate takes options only, but 'a.h5' is neither an option nor the value of one; see trireme evaluate --help");
}

}  // namespace
}  // namespace trireme::app
