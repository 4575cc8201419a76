#include "app/command.hpp"

#include <gtest/gtest.h>

#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

std::string shown(const std::string& line) { return std::get<ShowText>(parse(line)).text; }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Command, NamesTheNearestKnownOne) {
    EXPECT_EQ(complaint("trian"), "unknown command 'trian'; did you mean train?");
    EXPECT_EQ(complaint("help prepair"), "unknown command 'prepair'; did you mean prepare?");
    EXPECT_EQ(complaint("dance"), "unknown command 'dance'; see trireme --help");
    EXPECT_EQ(complaint(""), "no command is given; see trireme --help");
}

TEST(Command, NeedsASessionForWhatAllRanksDo) {
    const std::vector<const char*> train{"train", "--steps", "5"};
    const std::vector<const char*> evaluate{"evaluate", "--resume", "run"};
    const std::vector<const char*> help{"evaluate", "--help"};
    const std::vector<const char*> prepare{"prepare", "train"};
    const std::vector<const char*> plan{"plan", "--pipe", "2"};
    const std::vector<const char*> profile{"profile", "--output", "p.json"};
    const std::vector<const char*> doctor{"doctor"};

    EXPECT_TRUE(needs_session(train));
    EXPECT_TRUE(needs_session(evaluate));
    EXPECT_TRUE(needs_session(profile));
    EXPECT_TRUE(needs_session(doctor));
    EXPECT_FALSE(needs_session(help));
    EXPECT_FALSE(needs_session(prepare));
    EXPECT_FALSE(needs_session(plan));
    EXPECT_FALSE(needs_session({}));
}

TEST(Help, ListsTheCommands) {
    for (const std::string command :
         {"train", "evaluate", "plan", "profile", "prepare", "report", "inspect", "doctor"}) {
        EXPECT_TRUE(has(shown("--help"), "\n  " + command + " ")) << command;
    }
    EXPECT_EQ(shown("help"), shown("--help"));
}

TEST(Help, IsTheSameHoweverItIsAskedFor) {
    for (const std::string command :
         {"train", "evaluate", "plan", "profile", "prepare", "report", "inspect", "doctor"}) {
        EXPECT_EQ(shown(command + " --help"), shown("help " + command));
        EXPECT_EQ(shown(command + " --batchs --help"), shown("help " + command));
        EXPECT_TRUE(has(shown("help " + command), "Usage: trireme " + command));
    }
}

TEST(Help, GroupsTheOptionsAndSaysTheirDefaults) {
    const std::string text = shown("train --help");

    for (const std::string group : {"data", "task", "model", "optimizer", "layout", "schedule", "flexible",
                                    "costs", "precision", "run", "config"}) {
        EXPECT_TRUE(has(text, "\n" + group + ":\n")) << group;
    }
    EXPECT_TRUE(has(text, "--log-every K (=1)"));
    EXPECT_TRUE(has(text, "--long split|truncate|drop|refuse (=split)"));
    EXPECT_TRUE(has(text, "samples in a step, over all replicas"));
}

TEST(Help, FitsIntoAWindow) {
    for (const std::string command : {"train", "evaluate", "plan", "profile", "prepare", "doctor"}) {
        std::istringstream text(shown(command + " --help"));

        for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 112U) << line;
    }
}

TEST(Version, NamesWhatTheProgramIsBuiltOn) {
    const std::string text = shown("--version");

    for (const std::string part :
         {"trireme ", "compiler ", "MPI        openmpi\n", "HDF5       1.", "matrices "}) {
        EXPECT_TRUE(has(text, part)) << text;
    }
}

TEST(Prepare, TakesInputsAndOptionsInAnyOrder) {
    const auto config =
        std::get<PrepareConfig>(parse("prepare a.jsonl --output c.h5 --where repo~apache/spark --skip-bad "
                                      "b.jsonl.gz --tokenizer train:4096"));

    EXPECT_EQ(config.inputs, (std::vector<std::string>{"a.jsonl", "b.jsonl.gz"}));
    EXPECT_EQ(config.output, "c.h5");
    EXPECT_EQ(config.where, "repo~apache/spark");
    EXPECT_EQ(config.tokenizer, "train:4096");
    EXPECT_TRUE(config.skip_bad);
    EXPECT_FALSE(config.quiet);
}

TEST(Prepare, TakesWhatTheRowsAre) {
    const auto config = std::get<PrepareConfig>(
        parse("prepare a.json --output c.h5 --format squad --label kind --special-tokens "
              "bert"));

    EXPECT_EQ(config.format, "squad");
    EXPECT_EQ(config.label, "kind");
    EXPECT_EQ(config.special_tokens, "bert");
    EXPECT_EQ(std::get<PrepareConfig>(parse("prepare a.json --output c.h5")).format, "auto");
    EXPECT_EQ(
        complaint("prepare a.json --output c.h5 --format squat"),
        "--format expects one of auto, jsonl, text, squad, cifar10, mnist, not 'squat'; did you mean squad?");
}

TEST(Prepare, SaysWhatIsMissingOrTooMuch) {
    EXPECT_EQ(complaint("prepare --output c.h5"),
              "no input is given; name files (JSONL, text, ids, SQuAD, CIFAR-10 or MNIST, gzipped or not), or "
              "--synthetic csn");
    EXPECT_EQ(complaint("prepare a.jsonl"), "no output is given; name one with --output FILE.h5");
    EXPECT_EQ(complaint("prepare a.jsonl --synthetic csn --output c.h5"),
              "--synthetic csn takes no input, but 'a.jsonl' is given; leave out one of them");
    EXPECT_EQ(complaint("prepare a.txt --rows lines --output c.h5"),
              "--rows expects one of line, paragraph, file, not 'lines'; did you mean line?");
    EXPECT_EQ(complaint("prepare --synthetic csm --output c.h5"),
              "--synthetic expects csn, not 'csm'; did you mean csn?");
}

TEST(Inspect, TakesOneFile) {
    const auto config = std::get<InspectConfig>(parse("inspect c.h5 --verify"));

    EXPECT_EQ(config.file, "c.h5");
    EXPECT_TRUE(config.verify);
    EXPECT_EQ(complaint("inspect"), "inspect takes one file, not 0; see trireme inspect --help");
    EXPECT_EQ(complaint("inspect a.h5 b.h5"), "inspect takes one file, not 2; see trireme inspect --help");
}

TEST(Doctor, LooksHereUnlessTold) {
    const auto plain = std::get<DoctorConfig>(parse("doctor"));
    const auto told = std::get<DoctorConfig>(parse("doctor --json --scratch /scratch/me"));

    EXPECT_EQ(plain.scratch, ".");
    EXPECT_FALSE(plain.is_json);
    EXPECT_EQ(told.scratch, "/scratch/me");
    EXPECT_TRUE(told.is_json);
}

TEST(Doctor, TakesNothingElse) {
    EXPECT_EQ(complaint("doctor --scatch a"), "unknown option --scatch; did you mean --scratch?");
    EXPECT_EQ(complaint("doctor here"),
              "doctor takes options only, but 'here' belongs to none; see trireme doctor --help");
}

TEST(ReportCommand, WritesIntoTheRunDirectoryUnlessTold) {
    const auto config = std::get<ReportConfig>(parse("report runs/a"));

    EXPECT_EQ(config.run_directory, "runs/a");
    EXPECT_EQ(config.output, "runs/a/report.html");
    EXPECT_EQ(std::get<ReportConfig>(parse("report runs/a/")).output, "runs/a/report.html");
    EXPECT_EQ(std::get<ReportConfig>(parse("report runs/a --output b.html")).output, "b.html");
}

TEST(ReportCommand, TakesOneRunDirectory) {
    EXPECT_EQ(complaint("report"), "report takes one run directory, not 0; see trireme report --help");
    EXPECT_EQ(complaint("report a b"), "report takes one run directory, not 2; see trireme report --help");
    EXPECT_EQ(complaint("report a --outputs b"), "unknown option --outputs; did you mean --output?");
}

}  // namespace
}  // namespace trireme::app
