// The page that `report` writes, and its messages about directories without usable records.
#include <cstdlib>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using Report = Workplace;

TEST_F(Report, IsWrittenIntoTheRunDirectory) {
    make_corpus();
    ASSERT_EQ(train("--run-dir run").code, 0);

    const Outcome outcome = run("report run");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(outcome.out, "the report is run/report.html\n");
    EXPECT_EQ(outcome.err, "");
    EXPECT_EQ(read("run/report.html").rfind("<!doctype html>", 0), 0U);
    EXPECT_NE(read("run/report.html").find("<h1>gpt2-tiny on 1 rank</h1>"), std::string::npos);
}

TEST_F(Report, IsWrittenToTheGivenOutput) {
    write("run/steps.jsonl", "{\"step\":1,\"loss\":3,\"seconds\":2}\n");

    const Outcome outcome = run("report run --output page.html");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(read("page.html").find("UNFINISHED"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(path("run/report.html")));
}

TEST_F(Report, RejectsADirectoryWithoutRecords) {
    write("empty/notes.txt", "nothing\n");

    expect_refusal("report none", {"none", "does not exist"});
    expect_refusal("report empty", {"empty", "has no steps.jsonl"});
    expect_refusal("report empty/notes.txt", {"empty/notes.txt", "has no steps.jsonl"});
}

TEST_F(Report, ReportsALineThatIsNotJson) {
    write("run/steps.jsonl", "{\"step\":1}\n{\"step\":\n{\"step\":3}\n");

    expect_refusal("report run", {"run/steps.jsonl, line 2", "is not a JSON object"});
}

TEST_F(Report, RejectsAnOutputThatCannotBeWritten) {
    write("run/steps.jsonl", "{\"step\":1}\n");

    expect_refusal("report run --output none/page.html", {"none/page.html", "--output"});
    expect_refusal("report run --output run/steps.jsonl", {"run/steps.jsonl", "--output"});
}

std::size_t count_of(const std::string& part, const std::string& text) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
    return count;
}

TEST_F(Report, OpensInABrowser) {
    if (std::system("command -v chromium-headless-shell > /dev/null") != 0)
        GTEST_SKIP()
            << "there is no chromium-headless-shell; jobs/install.sh --validation installs it on Debian";
    make_corpus();
    ASSERT_EQ(train("--run-dir run").code, 0);
    ASSERT_EQ(run("report run").code, 0);

    const std::string browser =
        "timeout 60 chromium-headless-shell --no-sandbox --disable-gpu --enable-logging=stderr --dump-dom ";
    const std::string folder = std::filesystem::absolute(path("run")).string();
    ASSERT_EQ(std::system((browser + "'file://" + folder + "/report.html' > '" + folder + "/shown' 2> '" +
                           folder + "/complaints'")
                              .c_str()),
              0);

    EXPECT_EQ(count_of("CONSOLE", read("run/complaints")), 0U) << read("run/complaints");
    const std::string page = read("run/report.html"), shown = read("run/shown");
    EXPECT_TRUE(has(shown, "Figures of merit"));
    EXPECT_TRUE(has(shown, "Tokens/s"));
    EXPECT_EQ(count_of("<svg", shown), count_of("<svg", page));
    EXPECT_GT(count_of("<svg", shown), 3U);
}

TEST_F(Report, RequiresARunDirectory) { expect_refusal("report", {"one run directory, not 0"}); }

}  // namespace
}  // namespace trireme::messages
