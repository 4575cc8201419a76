#include <gtest/gtest.h>

#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

ProfileCommand profile_command(const std::string& options) {
    return std::get<ProfileCommand>(parse("profile --output p.json " + options));
}

TEST(ProfileOptions, SetEveryField) {
    const ProfileCommand command = profile_command(
        "--batch 4 --repeat 9 --threads 2 --seed 7 --quiet --corpus a.h5 --max-length 64 --long drop --task "
        "masked "
        "--model bert-tiny --layers 3 --optimizer sgd --length pack --dtype f64 --device reference");

    EXPECT_EQ(command.profile.output, "p.json");
    EXPECT_EQ(command.profile.repeats, 9U);
    EXPECT_TRUE(command.profile.quiet);
    EXPECT_EQ(command.run.run.batch, 4U);
    EXPECT_EQ(command.run.run.threads, 2);
    EXPECT_EQ(command.run.run.seed, 7U);
    EXPECT_EQ(command.run.data.corpus, "a.h5");
    EXPECT_EQ(command.run.data.max_length, 64U);
    EXPECT_EQ(command.run.data.long_rows, data::LongRows::drop);
    EXPECT_EQ(command.run.task.task, Task::masked);
    EXPECT_EQ(command.run.model.name, "bert-tiny");
    EXPECT_EQ(command.run.model.layers, 3U);
    EXPECT_EQ(command.run.optimizer.kind, optim::OptimizerKind::sgd);
    EXPECT_EQ(command.run.schedule.length, plan::LengthPolicy::pack);
    EXPECT_EQ(command.run.precision.dtype, config::Precision::f64);
    EXPECT_EQ(command.run.precision.device, config::DeviceKind::reference);
}

TEST(ProfileOptions, MeasureOneSampleAtATimeByDefault) {
    EXPECT_EQ(profile_command("").run.run.batch, 1U);
    EXPECT_EQ(profile_command("").profile.repeats, 7U);
    EXPECT_EQ(profile_command("").run.run.threads, 0);
}

TEST(ProfileOptions, NeedAnOutput) {
    EXPECT_EQ(complaint("profile"), "no output is given; name one with --output FILE.json");
}

// `profile` measures on one rank and trains nothing, so it has no options of layouts and of training.
TEST(ProfileOptions, RejectOptionsOfLayoutsAndOfTraining) {
    for (const std::string option :
         {"pipe", "microbatches", "steps", "lr", "epochs", "run-dir", "mask-share"}) {
        EXPECT_EQ(complaint("profile --output p.json --" + option + " 1").find("unknown option --" + option),
                  0U)
            << option;
    }
}

}  // namespace
}  // namespace trireme::app
