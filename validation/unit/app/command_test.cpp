#include "app/command.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

#include "app/commands.hpp"
#include "unit/app/arguments.hpp"

namespace trireme::app {
namespace {

std::string shown(const std::string& line) { return std::get<ShowText>(parse(line)).text; }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Command, SuggestsTheNearestNameForAnUnknownCommand) {
    EXPECT_EQ(complaint("trian"), "unknown command 'trian'; did you mean train?");
    EXPECT_EQ(complaint("help prepair"), "unknown command 'prepair'; did you mean prepare?");
    EXPECT_EQ(complaint("dance"), "unknown command 'dance'; see trireme --help");
    EXPECT_EQ(complaint(""), "no command is given; see trireme --help");
}

TEST(Command, NeedsAnMpiSessionOnlyIfAllRanksRunIt) {
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
    for (const std::string& command : list_command_names())
        EXPECT_TRUE(has(shown("--help"), "\n  " + command + " ")) << command;
    EXPECT_EQ(shown("help"), shown("--help"));
}

TEST(Help, IsTheSameHoweverItIsRequested) {
    for (const std::string& command : list_command_names()) {
        EXPECT_EQ(shown(command + " --help"), shown("help " + command));
        EXPECT_EQ(shown(command + " --batchs --help"), shown("help " + command));
        EXPECT_EQ(shown(command + " --help --all"), shown("help " + command + " --all"));
        EXPECT_TRUE(has(shown("help " + command), "Usage: trireme " + command));
    }
}

TEST(Help, GroupsTheOptionsAndStatesTheirDefaults) {
    const std::string text = shown("help train --all");

    for (const std::string group : {"data", "task", "model", "optimizer", "layout", "schedule", "flexible",
                                    "costs", "precision", "run", "config"}) {
        EXPECT_TRUE(has(text, "\n" + group + ":\n")) << group;
    }
    EXPECT_TRUE(has(text, "  --log-every K            steps between progress lines (default 1)\n")) << text;
    EXPECT_TRUE(has(text, "  --long split|truncate|drop|refuse\n")) << text;
    EXPECT_TRUE(has(text, "what to do with rows longer than --max-length (default split)\n")) << text;
    EXPECT_TRUE(has(text, "                             drop      skip them\n")) << text;
}

TEST(Help, ShowsOnlyCommonOptionsUnlessAllAreRequested) {
    const std::string common = shown("help train");
    const std::string all = shown("help train --all");

    EXPECT_TRUE(has(common, "--pipe P"));
    EXPECT_FALSE(has(common, "--resize-fill"));
    EXPECT_TRUE(has(common, "trireme help train --all"));
    EXPECT_TRUE(has(all, "--resize-fill"));
    EXPECT_FALSE(has(all, "These are the options"));
    EXPECT_LE(std::ranges::count(common, '\n'), 150);
}

TEST(Help, ShowsOnlyTheRequestedGroup) {
    const std::string text = shown("help train layout");

    EXPECT_TRUE(has(text, "--tensor T"));
    EXPECT_FALSE(has(text, "--corpus FILE.h5\n"));
    EXPECT_FALSE(has(text, "\nmodel:\n"));
    EXPECT_TRUE(complaint("help train layuot")
                    .starts_with("train has no group of options 'layuot' (its groups are data, task, model"));
    EXPECT_TRUE(complaint("help train layuot").ends_with("); did you mean layout?"));
    EXPECT_EQ(complaint("help help layout"), "help has no group of options 'layout' (it has no options)");
    EXPECT_EQ(
        complaint("help train layout model"),
        "help takes one command and one group of options, but 'model' follows them; see trireme help help");
}

TEST(Help, ShowsSimulationOptionsOnlyForCommandsThatUseThem) {
    EXPECT_FALSE(has(shown("help train --all"), "--cluster"));
    EXPECT_TRUE(has(shown("help plan"), "--cluster FILE.json"));
    EXPECT_FALSE(has(shown("help plan --all"), "--charge"));
    EXPECT_TRUE(has(shown("help simulate"), "--charge auto|kernels|passes"));
    EXPECT_TRUE(has(shown("help simulate"), "--pipe P"));
}

TEST(Help, ExplainsEveryValueOfAChoiceInItsOrder) {
    for (const CommandHelp& command : describe_commands()) {
        for (const GroupHelp& group : command.groups) {
            for (const OptionHelp& option : group.options) {
                const std::string form =
                    option.description.value_format.substr(0, option.description.value_format.find('['));
                const bool has_other_values =
                    std::ranges::any_of(form, [](unsigned char c) { return std::isupper(c) != 0; });
                const bool is_switch = form == "on|off" && option.description.values.empty();
                if (!has(form, "|") || has_other_values || is_switch) continue;

                std::string explained;
                for (const auto& [word, meaning] : option.description.values) {
                    explained += (explained.empty() ? "" : "|") + word;
                    EXPECT_FALSE(meaning.empty()) << option.description.name << " " << word;
                }
                EXPECT_EQ(explained, form) << command.name << " --" << option.description.name;
            }
        }
    }
}

TEST(Help, FitsInto100Columns) {
    for (const std::string& command : list_command_names()) {
        std::istringstream text(shown(command + " --help --all"));

        for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), 100U) << line;
    }
}

TEST(Reference, MatchesTheCommittedPage) {
    std::ifstream page(TRIREME_SOURCE_DIR "/docs/reference/options.md");
    std::ostringstream committed;
    committed << page.rdbuf();

    EXPECT_EQ(committed.str(), shown("help --markdown"))
        << "run: trireme help --markdown > docs/reference/options.md";
}

TEST(Reference, ListsEveryOptionInTheManPage) {
    const std::string page = shown("help --man");

    EXPECT_TRUE(page.starts_with(".TH TRIREME 1"));
    for (const CommandHelp& command : describe_commands())
        for (const GroupHelp& group : command.groups)
            for (const OptionHelp& option : group.options) {
                std::string name = "\n.B \\-\\-" + option.description.name;
                for (std::size_t at = 8; (at = name.find('-', at)) != std::string::npos; at += 2)
                    name.insert(at, "\\");
                EXPECT_TRUE(has(page, name)) << name;
            }
}

TEST(Version, NamesTheCompilerAndTheLibraries) {
    const std::string text = shown("--version");

    for (const std::string part :
         {"trireme ", "compiler ", "MPI        openmpi\n", "HDF5       1.", "matmuls "}) {
        EXPECT_TRUE(has(text, part)) << text;
    }
}

TEST(Prepare, TakesInputsAndOptionsInAnyOrder) {
    const auto config = std::get<tools::PrepareConfig>(
        parse("prepare a.jsonl --output c.h5 --where repo~apache/spark --skip-bad "
              "b.jsonl.gz --tokenizer train:4096"));

    EXPECT_EQ(config.inputs, (std::vector<std::string>{"a.jsonl", "b.jsonl.gz"}));
    EXPECT_EQ(config.output, "c.h5");
    EXPECT_EQ(config.row_filter, "repo~apache/spark");
    EXPECT_EQ(config.tokenizer, "train:4096");
    EXPECT_TRUE(config.skip_bad);
    EXPECT_FALSE(config.quiet);
}

TEST(Prepare, ReadsTheFormatTheLabelAndTheSpecialTokens) {
    const auto config = std::get<tools::PrepareConfig>(
        parse("prepare a.json --output c.h5 --format squad --label kind --special-tokens "
              "bert"));

    EXPECT_EQ(config.format, data::SourceFormat::squad);
    EXPECT_EQ(config.label, "kind");
    EXPECT_EQ(config.special_tokens, "bert");
    EXPECT_EQ(std::get<tools::PrepareConfig>(parse("prepare a.json --output c.h5")).format,
              data::SourceFormat::automatic);
    EXPECT_EQ(
        complaint("prepare a.json --output c.h5 --format squat"),
        "--format expects one of auto, jsonl, text, squad, cifar10, mnist, not 'squat'; did you mean squad?");
}

TEST(Prepare, RejectsMissingAndContradictoryArguments) {
    EXPECT_EQ(complaint("prepare --output c.h5"),
              "no input is given; name files (JSONL, text, ids, SQuAD, CIFAR-10 or MNIST, gzipped or not), or "
              "set --synthetic csn");
    EXPECT_EQ(complaint("prepare a.jsonl"), "no output is given; name one with --output FILE.h5");
    EXPECT_EQ(complaint("prepare a.jsonl --synthetic csn --output c.h5"),
              "--synthetic csn takes no input, but 'a.jsonl' is given; drop one of them");
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

TEST(Doctor, UsesTheWorkingDirectoryByDefault) {
    const auto plain = std::get<tools::DoctorConfig>(parse("doctor"));
    const auto doctor = std::get<tools::DoctorConfig>(parse("doctor --json --scratch /scratch/me"));

    EXPECT_EQ(plain.scratch, ".");
    EXPECT_FALSE(plain.is_json);
    EXPECT_EQ(doctor.scratch, "/scratch/me");
    EXPECT_TRUE(doctor.is_json);
}

TEST(Doctor, RejectsUnknownOptionsAndArguments) {
    EXPECT_EQ(complaint("doctor --scatch a"), "unknown option --scatch; did you mean --scratch?");
    EXPECT_EQ(complaint("doctor here"),
              "doctor takes options only, but 'here' is neither an option nor the value of one; see trireme doctor --help");
}

TEST(ReportCommand, WritesIntoTheRunDirectoryByDefault) {
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
