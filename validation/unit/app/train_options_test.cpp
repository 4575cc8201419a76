#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "unit/app/arguments.hpp"
#include "unit/app/temporary_file.hpp"

namespace trireme::app {
namespace {

std::string train_complaint(const std::string& options) {
    return complaint("train --corpus a.h5 --steps 5 " + options);
}

TEST(TrainOptions, SetTheDataAndTheModel) {
    const config::RunConfig config = train_config(
        "--max-length 64 --long drop --validation-share 0.1 --model gpt2 --tied off --dropout 0 --document-end "
        "none "
        "--layers 2 --width 32 --heads 4 --groups 2 --mlp-width 48 --positions 128 --vocabulary 300 --labels 5 "
        "--image-size 28 --patch 7 --init runs/a");

    EXPECT_EQ(config.data.corpus, "a.h5");
    EXPECT_EQ(config.data.max_length, 64U);
    EXPECT_EQ(config.data.long_rows, data::LongRows::drop);
    EXPECT_EQ(config.data.validation_fraction, 0.1);
    EXPECT_FALSE(config.data.has_document_end);
    EXPECT_EQ(config.model.name, "gpt2");
    EXPECT_EQ(config.model.tied, false);
    EXPECT_EQ(config.model.dropout, 0.0);
    EXPECT_EQ(config.model.layers, 2U);
    EXPECT_EQ(config.model.width, 32U);
    EXPECT_EQ(config.model.heads, 4U);
    EXPECT_EQ(config.model.groups, 2U);
    EXPECT_EQ(config.model.mlp_width, 48U);
    EXPECT_EQ(config.model.positions, 128U);
    EXPECT_EQ(config.model.vocabulary, 300U);
    EXPECT_EQ(config.model.labels, 5U);
    EXPECT_EQ(config.model.image_size, 28U);
    EXPECT_EQ(config.model.patch, 7U);
    EXPECT_EQ(config.model.init, "runs/a");
}

TEST(TrainOptions, SetTheTask) {
    const config::TaskConfig task = train_config("--task masked --mask-share 0.3 --label-smoothing 0.1").task;

    EXPECT_EQ(task.task, Task::masked);
    EXPECT_EQ(task.mask_fraction, 0.3);
    EXPECT_EQ(task.label_smoothing, 0.1);
    EXPECT_EQ(train_config("--task language").task.task, Task::language);
    EXPECT_EQ(train_config("--task span").task.task, Task::span);
    EXPECT_EQ(train_config("--task classify").task.task, Task::classify);
}

TEST(TrainOptions, SetTheOptimizer) {
    const optim::OptimizerConfig optimizer =
        train_config(
            "--optimizer adamw --lr 1e-3 --min-lr 1e-5 --lr-schedule wsd --warmup-steps 7 --weight-decay 0 "
            "--beta1 0.8 --beta2 0.99 --epsilon 1e-6 --clip 0")
            .optimizer;
    const optim::OptimizerConfig sgd = train_config("--optimizer sgd --momentum 0.5").optimizer;

    EXPECT_EQ(sgd.kind, optim::OptimizerKind::sgd);
    EXPECT_EQ(sgd.momentum, 0.5);
    EXPECT_EQ(optimizer.kind, optim::OptimizerKind::adamw);
    EXPECT_EQ(optimizer.rate, 1e-3);
    EXPECT_EQ(optimizer.min_rate, 1e-5);
    EXPECT_EQ(optimizer.schedule, optim::RateSchedule::wsd);
    EXPECT_EQ(optimizer.warmup_steps, 7U);
    EXPECT_EQ(optimizer.weight_decay, 0.0);
    EXPECT_EQ(optimizer.beta1, 0.8);
    EXPECT_EQ(optimizer.beta2, 0.99);
    EXPECT_EQ(optimizer.epsilon, 1e-6);
    EXPECT_EQ(optimizer.clip, 0.0);
}

TEST(TrainOptions, SetTheRun) {
    const config::RunConfig config = train_config(
        "--data 2 --microbatches 4 --length pack --dtype f64 --device reference --batch 16 --seed "
        "18446744073709551615 --run-dir=runs/a --eval-every 10 --log-every 5 --stall-timeout 2.5 --on-nan skip "
        "--dry-run --quiet --verbose=off --threads 3");

    EXPECT_EQ(config.layout.data, 2);
    EXPECT_EQ(config.schedule.microbatches, 4U);
    EXPECT_EQ(config.schedule.length, plan::LengthPolicy::pack);
    EXPECT_EQ(config.precision.dtype, config::Precision::f64);
    EXPECT_EQ(config.precision.device, config::DeviceKind::reference);
    EXPECT_EQ(config.run.steps, 5U);
    EXPECT_EQ(config.run.batch, 16U);
    EXPECT_EQ(config.run.seed, 18446744073709551615U);
    EXPECT_EQ(config.run.run_dir, "runs/a");
    EXPECT_EQ(config.run.eval_every, 10U);
    EXPECT_EQ(config.run.log_every, 5U);
    EXPECT_EQ(config.run.stall_timeout, 2.5);
    EXPECT_EQ(config.run.on_nan, config::OnNan::skip);
    EXPECT_TRUE(config.run.dry_run);
    EXPECT_TRUE(config.run.quiet);
    EXPECT_FALSE(config.run.verbose);
    EXPECT_EQ(config.run.threads, 3);
}

TEST(TrainOptions, SetTheLayoutAndTheSchedule) {
    const config::RunConfig config = train_config(
        "--pipe 4 --data 2 --tensor 3 --partition 4,3,3,4 --sequence-parallel on --shard-optimizer off "
        "--recompute "
        "none,selective,full,full --schedule interleaved --chunks 2 --layout a.json");

    EXPECT_EQ(config.layout.pipe, 4);
    EXPECT_EQ(config.layout.data, 2);
    EXPECT_EQ(config.layout.tensor, 3);
    EXPECT_EQ(config.layout.layout, "a.json");
    EXPECT_EQ(config.layout.partition, "4,3,3,4");
    EXPECT_TRUE(config.layout.sequence_parallel);
    EXPECT_FALSE(config.layout.shard_optimizer);
    EXPECT_EQ(config.layout.recompute,
              (std::vector<plan::Recompute>{plan::Recompute::none, plan::Recompute::selective,
                                            plan::Recompute::full, plan::Recompute::full}));
    EXPECT_EQ(config.schedule.schedule, "interleaved");
    EXPECT_EQ(config.schedule.chunks, 2);
    EXPECT_EQ(train_config("--recompute full").layout.recompute,
              std::vector<plan::Recompute>{plan::Recompute::full});
    EXPECT_NE(config.ini_text.find("recompute = none,selective,full,full\n"), std::string::npos);
}

TEST(TrainOptions, SetTheProfileAndMemoryLimitOfThePartition) {
    const config::RunConfig config = train_config("--partition measured --profile p.json --memory-limit 5GB");

    EXPECT_EQ(config.layout.partition, "measured");
    EXPECT_EQ(config.costs.profiles, std::vector{config::ProfileFile{"p.json"}});
    EXPECT_EQ(config.layout.memory_limit, 5'000'000'000U);
    EXPECT_EQ(train_config("--memory-limit 0").layout.memory_limit, 0U);
    EXPECT_NE(train_config("").ini_text.find("memory-limit = 0\n"), std::string::npos);
    EXPECT_EQ(train_complaint("--memory-limit much"),
              "--memory-limit expects a number of bytes, such as 80GiB, 5GB, 500MB or 20000, not 'much'");
}

TEST(TrainOptions, ReadBackTheCostsThatTheyPrint) {
    const config::RunConfig config = train_config("--cost F=2,send=0.25;W=3,step=0.5");
    const TemporaryFile file("costs.ini", config.ini_text);

    const config::RunConfig again = train_config("--config " + file.path());

    EXPECT_EQ(again.ini_text, config.ini_text);
    ASSERT_EQ(again.costs.stages.size(), 2U);
    EXPECT_EQ(again.costs.stages[0].send, 0.25);
    EXPECT_EQ(again.costs.stages[1].backward_weight, 3);
    EXPECT_EQ(again.costs.stages[1].step, 0.5);
    EXPECT_TRUE(train_config("").costs.stages.empty());
}

TEST(TrainOptions, RejectUnknownRecomputeModes) {
    const std::string expected = "--recompute expects one of none, selective, full, not ";

    EXPECT_EQ(train_complaint("--recompute none,fully"), expected + "'fully'; did you mean full?");
    EXPECT_EQ(train_complaint("--recompute none,,full"), expected + "''");
    EXPECT_EQ(train_complaint("--recompute full,"), expected + "''");
}

TEST(TrainOptions, KeepDefaultsIfNotGiven) {
    const config::RunConfig config = train_config("");

    EXPECT_EQ(config.model.name, "");  // the model of --init, or gpt2-tiny
    EXPECT_EQ(config.model.init, "random");
    EXPECT_EQ(config.model.layers, std::nullopt);
    EXPECT_EQ(config.model.groups, std::nullopt);
    EXPECT_EQ(config.task.task, std::nullopt);
    EXPECT_EQ(config.model.tied, std::nullopt);
    EXPECT_EQ(config.run.batch, config::RunOptions{}.batch);
    EXPECT_EQ(config.precision.device, config::DeviceKind::automatic);
    EXPECT_EQ(train_config("--device auto").precision.device, config::DeviceKind::automatic);
}

TEST(TrainOptions, SuggestTheNearestNameForAnUnknownOption) {
    EXPECT_EQ(train_complaint("--batchs 16"), "unknown option --batchs; did you mean --batch?");
    EXPECT_EQ(train_complaint("--batchs=16"), "unknown option --batchs; did you mean --batch?");
    EXPECT_EQ(train_complaint("-batch 16"), "unknown option -batch; did you mean --batch?");
    EXPECT_EQ(train_complaint("--dryrun"), "unknown option --dryrun; did you mean --dry-run?");
    EXPECT_EQ(train_complaint("--xyzzy 1"),
              "unknown option --xyzzy; trireme help train --all lists all options");
}

TEST(TrainOptions, RejectAbbreviatedNames) {
    EXPECT_EQ(train_complaint("--eval 10"), "unknown option --eval; did you mean --eval-every?");
}

TEST(TrainOptions, RejectAnOptionGivenTwice) {
    EXPECT_EQ(train_complaint("--batch 8 --batch 16"), "--batch is given twice ('8' and '16'); keep one");
}

TEST(TrainOptions, RejectMissingAndStrayValues) {
    EXPECT_EQ(train_complaint("--batch"), "--batch needs a value; see trireme help train --all");
    EXPECT_EQ(train_complaint("--batch --quiet"), "--batch needs a value; see trireme help train --all");
    EXPECT_EQ(train_complaint("--batch="), "--batch needs a value; see trireme help train --all");
    EXPECT_EQ(train_complaint("8"),
              "train takes options only, but '8' is neither an option nor the value of one; see trireme train --help");
    EXPECT_EQ(train_complaint("--quiet 8"),
              "train takes options only, but '8' is neither an option nor the value of one; see trireme train --help");
}

TEST(TrainOptions, RejectInvalidWholeNumbers) {
    EXPECT_EQ(train_complaint("--batch x"), "--batch expects a whole number of at least 1, not 'x'");
    EXPECT_EQ(train_complaint("--batch 0"), "--batch expects a whole number of at least 1, not '0'");
    EXPECT_EQ(train_complaint("--batch -3"), "--batch expects a whole number of at least 1, not '-3'");
    EXPECT_EQ(train_complaint("--batch 1.5"), "--batch expects a whole number of at least 1, not '1.5'");
    EXPECT_EQ(train_complaint("--seed -1"), "--seed expects a whole number of at least 0, not '-1'");
    EXPECT_EQ(train_complaint("--threads 2147483648"),
              "--threads expects a whole number from 0 to 2147483647, not '2147483648'");
    EXPECT_EQ(train_complaint("--seed 18446744073709551616"),
              "--seed expects a whole number from 0 to 18446744073709551615, not '18446744073709551616'");
}

TEST(TrainOptions, RejectInvalidRealNumbers) {
    EXPECT_EQ(train_complaint("--dropout 1"),
              "--dropout expects a number from 0 up to, but not including, 1, not '1'");
    EXPECT_EQ(train_complaint("--dropout -0.1"),
              "--dropout expects a number from 0 up to, but not including, 1, not '-0.1'");
    EXPECT_EQ(train_complaint("--lr 0"), "--lr expects a number above 0, not '0'");
    EXPECT_EQ(train_complaint("--lr fast"), "--lr expects a number above 0, not 'fast'");
    EXPECT_EQ(train_complaint("--clip -1"), "--clip expects a number of at least 0, not '-1'");
    EXPECT_EQ(train_complaint("--clip nan"), "--clip expects a number of at least 0, not 'nan'");
    EXPECT_EQ(train_complaint("--clip inf"), "--clip expects a number of at least 0, not 'inf'");
    EXPECT_EQ(train_complaint("--lr 1e-3x"), "--lr expects a number above 0, not '1e-3x'");
    EXPECT_EQ(train_complaint("--mask-share 0"), "--mask-share expects a number above 0 and below 1, not '0'");
    EXPECT_EQ(train_complaint("--label-smoothing 1"),
              "--label-smoothing expects a number from 0 up to, but not including, 1, not '1'");
}

TEST(TrainOptions, RejectInvalidWordsAndListTheValidOnes) {
    EXPECT_EQ(train_complaint("--length packed"),
              "--length expects one of fixed, pad, step, pack, dynapipe, balanced, not 'packed'; did you mean pack?");
    EXPECT_EQ(train_complaint("--task mask"),
              "--task expects one of language, masked, span, classify, not 'mask'; did you mean masked?");
    EXPECT_EQ(train_complaint("--tied yes"), "--tied expects one of on, off, not 'yes'");
    EXPECT_EQ(train_complaint("--dry-run=maybe"), "--dry-run expects one of on, off, not 'maybe'");
}

TEST(TrainOptions, NeedACorpus) {
    EXPECT_EQ(complaint("train --steps 5"),
              "no corpus is given; name one with --corpus FILE.h5 (`trireme prepare` makes it)");
}

TEST(TrainOptions, NeedExactlyOneDuration) {
    EXPECT_EQ(complaint("train --corpus a.h5"), "nothing says how long to train; give --steps N or --epochs E");
    EXPECT_EQ(train_complaint("--epochs 2"),
              "--steps 5 and --epochs 2 both say how long to train; drop one, or set it to 0");
    EXPECT_EQ(complaint("train --corpus a.h5 --epochs 0.5"), "");
    EXPECT_EQ(complaint("train --corpus a.h5 --epochs 1 --steps 0"), "");
}

TEST(TrainOptions, CannotBeQuietAndVerbose) {
    EXPECT_EQ(train_complaint("--quiet --verbose"),
              "--quiet and --verbose contradict each other; drop one, or switch it off (--quiet=off)");
}

TEST(TrainOptions, SetTheMethodThatMovesState) {
    EXPECT_EQ(train_config("").policy.move, config::MoveMethod::stop);
    const auto move = [](const std::string& way) {
        return train_config("--straggler uneven --move " + way).policy.move;
    };
    EXPECT_EQ(move("overlap"), config::MoveMethod::overlap);
    EXPECT_EQ(move("twins"), config::MoveMethod::twins);
    EXPECT_EQ(move("restart"), config::MoveMethod::restart);
}

TEST(TrainOptions, SelectTheStepsToTrace) {
    const auto steps = [](const std::string& options) { return train_config(options).run.trace; };
    EXPECT_EQ(steps("").last, 0U);
    EXPECT_EQ(steps("--trace off").last, 0U);
    EXPECT_EQ(steps("--trace 3:12").first, 3U);
    EXPECT_EQ(steps("--trace 3:12").last, 12U);
    EXPECT_EQ(steps("--trace 7").first, 7U);
    EXPECT_EQ(steps("--trace 7").last, 7U);
    EXPECT_NE(train_config("--trace 7").ini_text.find("\ntrace = 7:7\n"), std::string::npos);
    EXPECT_NE(train_config("").ini_text.find("\ntrace = off\n"), std::string::npos);
}

TEST(TrainOptions, RejectInvalidStepsToTrace) {
    EXPECT_EQ(train_complaint("--trace 0"), "--trace expects a whole number of at least 1, not '0'");
    EXPECT_EQ(train_complaint("--trace 3:"), "--trace expects a whole number of at least 1, not ''");
    EXPECT_EQ(train_complaint("--trace 5:3"),
              "--trace expects a last step that is not before the first, such as 5:8, not '5:3'");
    EXPECT_EQ(train_complaint("--trace 1:2:3"),
              "--trace expects the first and the last step, such as 5:8, one step, or off, not '1:2:3'");
}

TEST(TrainOptions, SetTheDecisionsFile) {
    EXPECT_EQ(train_config("--decisions d.jsonl").policy.decisions, "d.jsonl");
    EXPECT_EQ(train_config("").policy.decisions, "");
}

}  // namespace
}  // namespace trireme::app
