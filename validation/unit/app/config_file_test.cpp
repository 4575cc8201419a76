#include "app/config_file.hpp"

#include <gtest/gtest.h>

#include "app/options/options.hpp"
#include "unit/app/arguments.hpp"
#include "unit/app/temporary_file.hpp"

namespace trireme::app {
namespace {

// Returns the complaint of `train` about a config file with this content, without the file's name.
std::string file_complaint(const std::string& content) {
    const TemporaryFile file("wrong.ini", content);
    const std::string what = complaint("train --corpus a.h5 --config " + file.path());
    return what.substr(std::min(what.size(), what.find(", line") + 2));
}

std::string resolved(const std::string& options) {
    return std::get<TrainCommand>(parse("train --dump-config " + options)).config.ini_text;
}

TEST(ConfigFile, SetsOptionsWithOrWithoutTheirSection) {
    const TemporaryFile file("both.ini",
                             "; made by hand\nbatch = 16\n\n[run]\nseed=3   # of all\n"
                             "  quiet = on\n[model]\nlayers = 2\n");

    const config::RunConfig config = train_config("--config " + file.path());

    EXPECT_EQ(config.run.batch, 16U);
    EXPECT_EQ(config.run.seed, 3U);
    EXPECT_TRUE(config.run.quiet);
    EXPECT_EQ(config.model.layers, 2U);
}

TEST(ConfigFile, OverridesEarlierFilesButNotTheCommandLine) {
    const TemporaryFile first("first.ini", "batch = 16\nseed = 3\nlr = 0.1\n");
    const TemporaryFile second("second.ini", "seed = 4\nlr = 0.2\n");

    const config::RunConfig config =
        train_config("--lr 0.3 --config " + first.path() + " --config " + second.path());

    EXPECT_EQ(config.run.batch, 16U);
    EXPECT_EQ(config.run.seed, 4U);
    EXPECT_EQ(config.optimizer.rate, 0.3);
}

TEST(ConfigFile, MayRepeatAListOptionThatTheCommandLineReplaces) {
    const TemporaryFile file("slow.ini", "[emulation]\nslow = rank=1,factor=2\nslow = rank=2,factor=3\n");
    const auto ranks = [&](const std::string& options) {
        std::vector<int> named;
        for (const config::SlowRank& slow : train_config("--config " + file.path() + options).emulation.slow)
            named.push_back(slow.rank);
        return named;
    };

    EXPECT_EQ(ranks(""), (std::vector{1, 2}));
    EXPECT_EQ(ranks(" --slow rank=3,factor=2 --slow rank=4,factor=2"), (std::vector{3, 4}));
    EXPECT_EQ(ranks(" --slow off"), std::vector<int>{});
    EXPECT_EQ(
        file_complaint("slow = rank=1,factor=2\nslow = rank=1\n"),
        "line 2: slow expects settings such as rank=3,factor=4,steps=100:200, with ; between settings, not "
        "'rank=1'");
}

TEST(ConfigFile, LetsTheCommandLineTurnASwitchOff) {
    const TemporaryFile file("quiet.ini", "quiet = on\n");

    EXPECT_FALSE(train_config("--quiet=off --config " + file.path()).run.quiet);
}

TEST(ConfigFile, ReportsTheLineOfAnErrorAndTheNearestName) {
    EXPECT_EQ(file_complaint("steps = 5\nbatchs = 16\n"), "line 2: unknown option batchs; did you mean batch?");
    EXPECT_EQ(file_complaint("[runs]\n"), "line 1: unknown section [runs]; did you mean run?");
    EXPECT_EQ(file_complaint("[run\n"), "line 1: the section '[run' has no closing ']'");
    EXPECT_EQ(file_complaint("\n[model]\nbatch = 16\n"), "line 3: batch belongs to [run], not to [model]");
    EXPECT_EQ(file_complaint("batch 16\n"), "line 1: 'batch 16' has no '='; write name = value");
    EXPECT_EQ(file_complaint("batch = 8\n[run]\nbatch = 16\n"),
              "line 3: batch is already given in line 1; keep one");
    EXPECT_EQ(file_complaint("batch = many\n"),
              "line 1: batch expects a whole number of at least 1, not 'many'");
    EXPECT_EQ(file_complaint("config = other.ini\n"),
              "line 1: unknown option config; trireme train --dump-config lists all sections and options");
}

TEST(ConfigFile, MustBeReadable) {
    EXPECT_EQ(complaint("train --config /nowhere/base.ini"),
              "--config /nowhere/base.ini cannot be read: No such file or directory; check its name");
    EXPECT_EQ(complaint("train --config /tmp"),
              "--config /tmp is not a regular file (it is a directory); name a file");
}

TEST(ConfigFile, KeepsCommentCharactersAndBlanksWithinQuotes) {
    const std::string awkward = " a # b; \"c\" ";
    config::RunConfig written;
    written.run.run_dir = awkward;
    const TemporaryFile file("quotes.ini", format_config_file("quotes", make_train_options(written)));

    EXPECT_EQ(train_config("--config " + file.path()).run.run_dir, awkward);
}

TEST(ConfigFile, KeepsACommentCharacterWithinAWord) {
    const TemporaryFile file("mark.ini", "run-dir = runs/#3 # the third\n[model]\nmodel = \"gpt2\" # quoted\n");

    const config::RunConfig config = train_config("--config " + file.path());

    EXPECT_EQ(config.run.run_dir, "runs/#3");
    EXPECT_EQ(config.model.name, "gpt2");
}

TEST(DumpedConfig, IsUnchangedAfterReadingItBack) {
    const std::string first = resolved(
        "--corpus a.h5 --steps 5 --tied off --dropout 0.3 --lr 1e-3 --epsilon 1e-9 --layers 3 --length pack "
        "--seed 18446744073709551615 --validation-share 0.1 --dry-run --long refuse --document-end none "
        "--task masked --init runs/a --groups 3 --patch 2 --slow rank=1,factor=1.5,steps=3: --slow "
        "rank=0,factor=2;rank=1,factor=3,steps=4:4 --slow rank=random,factor=2:3,every=5,on=products "
        "--slow rank=turn,factor=2;trace=slow.csv");
    const TemporaryFile file("dump.ini", first);

    EXPECT_EQ(resolved("--config " + file.path()), first);
}

TEST(DumpedConfig, ListsEveryOptionWithItsValue) {
    const std::string text = resolved("--batch 16");
    config::RunConfig config;

    for (const std::string& name : list_names(make_train_options(config))) {
        EXPECT_NE(text.find("\n" + name + " ="), text.find("\n# " + name + " =")) << name << " is missing";
    }
    EXPECT_NE(text.find("[run]\n"), std::string::npos);
    EXPECT_NE(text.find("\nbatch = 16\n"), std::string::npos);
    EXPECT_NE(text.find("\nlr = 0.0006\n"), std::string::npos);
    EXPECT_NE(text.find("\n# layers =\n"), std::string::npos);
}

TEST(DumpedConfig, NeedsNoCorpusAndNoDuration) {
    const auto command = std::get<TrainCommand>(parse("train --dump-config"));

    EXPECT_TRUE(command.dump_config);
    EXPECT_FALSE(command.config.ini_text.empty());
}

}  // namespace
}  // namespace trireme::app
