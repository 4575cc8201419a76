// perf/study runs a grid of runs, and makes a table and charts.
#include <sys/wait.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

class Study : public Workplace {
protected:
    void SetUp() override {
        make_corpus();
        write("small.json", R"({"schema": 1, "name": "small", "source": "a test", "command": "train",
            "options": {"corpus": "corpus.h5", "width": 16, "heads": 2, "device": "reference", "threads": 1,
                        "batch": 4},
            "axes": [[{"layers": 1}, {"layers": 2}], [{"steps": 2}, {"steps": 4}, {"steps": 0}]],
            "figures": ["clock", "tokens", "memory_bytes/predicted"],
            "beside": {"options": {"steps": 1}, "saved": {"later_tokens": "tokens"}},
            "charts": [{"title": "Tokens", "x": "steps", "y": "tokens", "lines": ["layers"]},
                       {"title": "Saved", "x": "steps", "y": "later_tokens"}]})");
    }

    // Runs perf_study with these arguments and returns its exit code. Its output goes to the file `said`.
    int study(const std::string& words) const {
        const std::string program = std::filesystem::path(program_path()).parent_path() / "perf_study";
        const int status = std::system(("cd " + path("").string() + " && " + program + " " + words +
                                        " --program " + program_path() + " > said 2>&1")
                                           .c_str());
        return WEXITSTATUS(status);
    }

    std::vector<std::string> table() const {
        std::istringstream text(read("out/small.csv"));
        std::vector<std::string> lines;
        for (std::string line; std::getline(text, line);) lines.push_back(line);
        return lines;
    }
};

TEST_F(Study, MakesATableAndChartsOfAllRuns) {
    ASSERT_EQ(study("small.json out"), 0) << read("said");

    const std::vector<std::string> lines = table();
    const std::string program = run("--version").out.substr(std::string("trireme ").size());
    const std::string version = program.substr(0, program.find('\n'));
    ASSERT_EQ(lines.size(), 8U);
    EXPECT_EQ(lines[0], "# command: perf/study small.json");
    EXPECT_EQ(lines[1], "layers,steps,clock,tokens,memory_bytes/predicted,later_tokens,clock,program,failure");
    EXPECT_TRUE(lines[2].starts_with("1,2,wall,")) << lines[2];
    EXPECT_TRUE(lines[2].ends_with(",wall," + version + ",")) << lines[2];
    EXPECT_TRUE(lines[7].starts_with("2,0,,,,,,,exit code 2: nothing says how long to train")) << lines[7];
    EXPECT_NE(read("out/small-tokens.svg").find(">2</text>"), std::string::npos);
    EXPECT_NE(read("out/small-later_tokens.svg").find("Saved (wall)"), std::string::npos);
}

TEST_F(Study, DescribesItsFileFormatInItsHelp) {
    EXPECT_EQ(study("--help"), 0);

    for (const char* word : {"\"axes\"", "\"figures\"", "\"beside\"", "--join FILE"})
        EXPECT_NE(read("said").find(word), std::string::npos) << word;
}

TEST_F(Study, DoesNotRepeatFinishedRuns) {
    ASSERT_EQ(study("small.json out"), 0) << read("said");
    const std::vector<std::string> first = table();
    const std::string kept = read("out/small/layers-1.steps-2/manifest.json");
    std::filesystem::remove(path("out/small/layers-2.steps-4/summary.json"));

    ASSERT_EQ(study("small.json out"), 0) << read("said");

    EXPECT_EQ(table(), first);
    EXPECT_EQ(read("out/small/layers-1.steps-2/manifest.json"), kept);
    EXPECT_FALSE(read("out/small/layers-2.steps-4/summary.json").empty());
}

// The points keep their names.
TEST_F(Study, RepeatsRunsWhoseOptionsChanged) {
    ASSERT_EQ(study("small.json out"), 0) << read("said");
    const std::vector<std::string> first = table();
    std::string text = read("small.json");
    text.replace(text.find("\"batch\": 4"), 10, "\"batch\": 2");
    write("small.json", text);

    ASSERT_EQ(study("small.json out"), 0) << read("said");

    EXPECT_NE(table().at(2), first.at(2));
    EXPECT_NE(read("out/small/layers-1.steps-2/config.ini").find("batch = 2\n"), std::string::npos);
}

// --min-lr is refused with a constant rate.
TEST_F(Study, OmitsAnOptionThatAPointRemoves) {
    write("rates.json", R"({"schema": 1, "name": "rates", "source": "a test", "command": "train",
        "options": {"corpus": "corpus.h5", "width": 16, "heads": 2, "layers": 1, "device": "reference", "threads": 1,
                    "batch": 4, "steps": 2, "min-lr": 1e-5},
        "axes": [[{"lr-schedule": "cosine"}, {"lr-schedule": "constant", "min-lr": null}]], "figures": ["tokens"]})");

    ASSERT_EQ(study("rates.json out"), 0) << read("said");

    EXPECT_NE(read("out/rates.csv").find("\nlr-schedule,tokens,"), std::string::npos) << read("out/rates.csv");
    EXPECT_EQ(read("out/rates.csv").find("exit code"), std::string::npos) << read("out/rates.csv");
}

TEST_F(Study, SubstitutesOptionValuesIntoOtherOptions) {
    write("slow.json", R"({"schema": 1, "name": "slow", "source": "a test", "command": "train",
        "options": {"corpus": "corpus.h5", "width": 16, "heads": 2, "layers": 1, "device": "reference", "threads": 1,
                    "batch": 4, "steps": 2, "slow": "rank=0,factor={factor}"},
        "axes": [[{"factor": 1}, {"factor": 3}]], "figures": ["step_s/last"],
        "charts": [{"title": "Slow", "x": "factor", "y": "step_s/last"}]})");

    ASSERT_EQ(study("slow.json out"), 0) << read("said");

    EXPECT_NE(read("out/slow/factor-3/manifest.json").find("\"factor\": 3"), std::string::npos);
    EXPECT_NE(read("out/slow.csv").find("\nfactor,"), std::string::npos);
    EXPECT_NE(read("out/slow-step_s-last.svg").find("factor"), std::string::npos);
}

TEST_F(Study, GivesTheSameTableIfRunPointByPoint) {
    ASSERT_EQ(study("small.json whole"), 0) << read("said");
    ASSERT_EQ(study("--points small.json"), 0) << read("said");
    ASSERT_EQ(read("said"), "6\n");

    for (const int number : {4, 1, 0, 3}) {
        EXPECT_EQ(study("--point " + std::to_string(number) + " small.json out"), 0) << read("said");
    }
    EXPECT_EQ(study("--point 2 small.json out"), 3);
    EXPECT_TRUE(read("said").starts_with(
        "perf_study: layers-1.steps-0 failed: exit code 2: nothing says how long to train"))
        << read("said");
    EXPECT_EQ(study("--join small.json out"), 3);
    EXPECT_EQ(read("said"),
              "perf_study: study small lacks the results of 1 of its 6 points; run each of these with --point "
              "NUMBER, then run --join again:\n"
              "  5  layers-2.steps-0\n");
    EXPECT_EQ(table().size(), 7U);
    EXPECT_EQ(study("--point 5 small.json out"), 3);
    EXPECT_EQ(study("--join small.json out"), 0);

    EXPECT_EQ(read("said"), "out/small.csv  points: 6\n");
    for (const char* const file : {"small.csv", "small-tokens.svg", "small-later_tokens.svg"}) {
        EXPECT_FALSE(read(std::string("out/") + file).empty()) << file;
        EXPECT_EQ(read(std::string("out/") + file), read(std::string("whole/") + file)) << file;
    }
}

TEST_F(Study, RunsItsPointsInConcurrentJobs) {
    const std::string program = std::filesystem::path(program_path()).parent_path() / "perf_study";
    const std::string line = "cd " + path("").string() + "; for number in 0 1 3 4; do " + program +
                             " --point $number small.json out --program " + program_path() +
                             " > said-$number 2>&1 & done; wait";
    ASSERT_EQ(std::system(line.c_str()), 0);

    EXPECT_EQ(study("--join small.json out"), 3);

    EXPECT_EQ(table().size(), 6U) << read("said");
    for (const auto& entry : std::filesystem::directory_iterator(path("out/small")))
        EXPECT_EQ(entry.path().string().find(".partial"), std::string::npos) << entry.path();
}

// The row of point 0 was made before the options of the study changed.
TEST_F(Study, DoesNotJoinRowsOfOtherOptions) {
    ASSERT_EQ(study("--point 0 small.json out"), 0) << read("said");
    std::string text = read("small.json");
    text.replace(text.find("\"batch\": 4"), 10, "\"batch\": 2");
    write("small.json", text);

    EXPECT_EQ(study("--join small.json out"), 3);

    EXPECT_TRUE(read("said").starts_with("perf_study: study small lacks the results of 6 of its 6 points"))
        << read("said");
    EXPECT_FALSE(std::filesystem::exists(path("out/small.csv")));
}

TEST_F(Study, RejectsInvalidArguments) {
    const std::string usage = "; usage: perf/study [--points | --point NUMBER | --join] FILE [OUTPUT]\n";
    for (const auto& [words, sentence] : std::map<std::string, std::string>{
             {"", "the study file, such as perf/studies/stragglers.json, is missing" + usage},
             {"--point small.json", "the study file, such as perf/studies/stragglers.json, is missing" + usage},
             {"--point '' small.json", "the value of --point is missing" + usage},
             {"--points --join small.json", "--points, --point and --join exclude each other" + usage},
             {"small.json out more", "unexpected argument more" + usage},
             {"--points small.json out", "unexpected argument out" + usage},
             {"--best small.json", "unknown option --best" + usage},
             {"--point 6 small.json out", "study small has no point 6; its points are numbered from 0 to 5\n"},
             {"--point -1 small.json out",
              "study small has no point -1; its points are numbered from 0 to 5\n"}}) {
        EXPECT_EQ(study(words), 2) << words;
        EXPECT_EQ(read("said"), "perf_study: " + sentence) << words;
        EXPECT_FALSE(std::filesystem::exists(path("out"))) << words;
    }
}

TEST_F(Study, ReportsTheLocationOfErrorsInItsFile) {
    for (const auto& [text, sentence] : std::map<std::string, std::string>{
             {"[]", "bad.json must be a JSON object; perf/study --help describes a study file"},
             {R"({"schema": 2})", "bad.json: schema must be 1 for this program"},
             {R"({"schema": 1, "name": "x", "source": "y", "command": "train", "axes": 3})",
              "bad.json: axes must be a list of lists of points"},
             {R"({"schema": 1, "name": "x", "source": "y", "command": "train", "axes": []})",
              "bad.json: figures must be a list of at least one figure of summary.json"},
             {R"({"schema": 1, "name": "x", "source": "y", "command": "train", "figures": ["mfu"],
                  "axes": [[{"seed": 1}, {"seed": 1}]]})",
              "two points of study x have the name seed-1; give each point different options"}}) {
        write("bad.json", text);
        EXPECT_EQ(study("bad.json out"), 2);
        EXPECT_EQ(read("said"), "perf_study: " + sentence + "\n");
    }
}

}  // namespace
}  // namespace trireme::messages
