#include "report/run_records.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "report/page.hpp"
#include "trireme/base/error.hpp"
#include "unit/report/fixture_run.hpp"

namespace trireme::report {
namespace {

using validation::catch_message;

std::string complaint(const std::string& path) {
    return catch_message<ConfigError>([&] { read_run(path); });
}

// Returns the error message about a record of a run, without the run's path.
std::string complaint_about(const std::string& name, const std::string& text) {
    const FixtureRun run;
    run.write(name, text);
    const std::string message = complaint(run.path());
    const std::size_t place = message.find(name);
    return place == std::string::npos ? message : message.substr(place);
}

TEST(RunRecords, HoldEverythingOfAFinishedRun) {
    const FinishedRun run;

    const RunRecords records = read_run(run.path());

    ASSERT_EQ(records.steps.size(), 2U);
    EXPECT_EQ(records.steps[1].step, 2);
    EXPECT_EQ(records.steps[1].loss, 2);
    EXPECT_EQ(records.steps[1].mfu_causal, 0.08);
    ASSERT_EQ(records.evaluations.size(), 1U);
    EXPECT_EQ(records.evaluations[0].loss, 2.5);
    EXPECT_EQ(records.manifest->hosts, (std::vector<std::string>{"n1", "n1"}));
    EXPECT_EQ(records.manifest->corpus_checksum, "4a15");
    EXPECT_EQ(records.summary->verdict, "INVALID");
    EXPECT_EQ(records.summary->validation_loss, 2.5);
    EXPECT_EQ(records.summary->peak_flops_per_s, 3e11);
    EXPECT_EQ(records.summary->predicted_bytes, 6500000);
    EXPECT_EQ(records.config, "[run]\nsteps = 2  # <b>\n");
}

TEST(RunRecords, ContainTheScoresOfEvaluations) {
    const FixtureRun run(
        "{\"step\":1,\"validation_loss\":3,\"validation_accuracy\":0.25}\n"
        "{\"step\":2,\"validation_loss\":2,\"validation_exact_match\":0.5,\"validation_f1\":0.75}\n");
    run.write("summary.json", "{\"validation\":{\"accuracy\":0.25,\"exact_match\":0.5,\"f1\":0.75}}");

    const RunRecords records = read_run(run.path());

    ASSERT_EQ(records.evaluations.size(), 2U);
    EXPECT_EQ(records.evaluations[0].accuracy, 0.25);
    EXPECT_FALSE(records.evaluations[0].f1);
    EXPECT_EQ(records.evaluations[1].exact_match, 0.5);
    EXPECT_EQ(records.evaluations[1].f1, 0.75);
    EXPECT_EQ(records.summary->accuracy, 0.25);
    EXPECT_EQ(records.summary->exact_match, 0.5);
    EXPECT_EQ(records.summary->f1, 0.75);
}

// Returns the record of a step of four seconds on two ranks.
std::string step_of_two(int step, const std::string& slowness) {
    return "{\"step\":" + std::to_string(step) +
           R"(,"seconds":4,"compute_s":[3,1],"wait_pipeline_s":[0,2],"wait_tensor_s":[0.25,0],)"
           R"("wait_data_s":[0.5,0.5])" +
           slowness + "}\n";
}

TEST(RunRecords, AddUpTheSecondsOfEachRank) {
    const FixtureRun run(step_of_two(1, "") + step_of_two(2, ""));

    const RunRecords records = read_run(run.path());

    ASSERT_EQ(records.ranks.size(), 2U);
    EXPECT_EQ(records.ranks[0].compute, 6);
    EXPECT_EQ(records.ranks[1].stages, 4);
    EXPECT_EQ(records.ranks[0].tensor, 0.5);
    EXPECT_EQ(records.ranks[1].data, 1);
    EXPECT_EQ(records.ranks[0].rest, 0.5);
}

TEST(RunRecords, ListEventsWithTheirSteps) {
    const FixtureRun run(step_of_two(1, "") + step_of_two(2, R"(,"slowness":[1,1.5])") +
                         step_of_two(3, R"(,"slowness":[1,1.6])") + "{\"step\":3,\"validation_loss\":3}\n" +
                         step_of_two(4, ""));
    run.write("config.ini", "[run]\ncheckpoint-every = 2\n");

    const std::vector<RunEvent> events = read_run(run.path()).events;

    std::vector<std::pair<double, std::string>> found;
    for (const RunEvent& event : events) found.emplace_back(event.step, event.text);
    const std::vector<std::pair<double, std::string>> expected{{2, "rank 1 takes 1.5 times as long as others"},
                                                               {4, "rank 1 is as fast as others again"},
                                                               {3, "evaluation"},
                                                               {2, "checkpoint"},
                                                               {4, "checkpoint"}};
    EXPECT_EQ(found, expected);
}

TEST(RunRecords, DescribeEmulatedSlowRanks) {
    const FinishedRun run;
    run.write("manifest.json",
              R"({"slow":[{"rank":3,"factor":4,"first_step":100,"last_step":200},)"
              R"({"rank":0,"factor":2,"first_step":1,"on":"products"},)"
              R"({"rank":"turn","factor":2,"first_step":1,"every":5},)"
              R"({"rank":"random","factor":2,"highest_factor":4,"first_step":7},{"trace":"slow.csv"}]})");

    std::vector<std::string> slowed;
    const RunRecords records = read_run(run.path());
    for (const config::SlowRank& slow : records.manifest->slow) slowed.push_back(describe(slow));

    EXPECT_EQ(slowed, (std::vector<std::string>{
                          "rank 3 takes 4 times as long in steps 100 to 200",
                          "matmuls of rank 0 take 2 times as long from step 1 on",
                          "each rank in turn (5 steps each) takes 2 times as long from step 1 on",
                          "a random rank, redrawn every epoch, takes 2 to 4 times as long from step 7 on",
                          "ranks are slowed as slow.csv says"}));
}

TEST(RunRecords, ContainWhatAnUnfinishedRunHasWritten) {
    const FixtureRun run(two_steps + R"({"step":3,"lo)");

    const RunRecords records = read_run(run.path());

    EXPECT_EQ(records.steps.size(), 2U);
    EXPECT_FALSE(records.summary);
    EXPECT_FALSE(records.manifest);
    EXPECT_FALSE(records.config);
}

TEST(RunRecords, MayContainNoSteps) { EXPECT_TRUE(read_run(FixtureRun("").path()).steps.empty()); }

TEST(RunRecords, AcceptACompleteLastLineWithoutANewline) {
    EXPECT_EQ(read_run(FixtureRun(R"({"step":1,"seconds":2})").path()).steps.size(), 1U);
}

TEST(RunRecords, ReadAbsentAndNullFieldsAsMissing) {
    const RunRecords records = read_run(FixtureRun("{\"step\":1,\"seconds\":2,\"mfu\":null}\n").path());

    EXPECT_FALSE(records.steps[0].loss);
    EXPECT_FALSE(records.steps[0].mfu);
    EXPECT_FALSE(records.steps[0].is_skipped);
}

TEST(RunRecords, GiveTheSameNameWithOrWithoutATrailingSlash) {
    const FixtureRun run;
    const std::string path = run.path();
    ASSERT_EQ(path.back(), '/');

    EXPECT_EQ(read_run(path).name, read_run(path.substr(0, path.size() - 1)).name);
    EXPECT_EQ(read_run(path).name.rfind("trireme-test-", 0), 0U);
}

TEST(RunRecords, RejectPathsThatAreNoRunDirectory) {
    const validation::ScratchFolder empty;

    EXPECT_EQ(
        complaint("/nowhere/run"),
        "the run directory /nowhere/run does not exist; `trireme train` prints its run directory at its end");
    EXPECT_EQ(complaint(empty.file("")),
              empty.file("") +
                  " is not a run directory: it has no steps.jsonl; name the directory that `trireme "
                  "train` wrote to");
}

TEST(RunRecords, NameTheLineThatIsDamaged) {
    EXPECT_EQ(complaint_about("steps.jsonl", "{\"step\":1}\n{\"step\":\n{\"step\":3}\n"),
              "steps.jsonl, line 2 is not a JSON object; correct the line or remove it");
    EXPECT_EQ(complaint_about("steps.jsonl", "{\"step\":1}\n\n{\"step\":3}\n"),
              "steps.jsonl, line 2 is not a JSON object; correct the line or remove it");
    EXPECT_EQ(complaint_about("steps.jsonl", "7\n"),
              "steps.jsonl, line 1 is not a JSON object; correct the line or remove it");
    EXPECT_EQ(complaint_about("steps.jsonl", "{\"loss\":1}\n"),
              "steps.jsonl, line 1 has no step; correct the line or remove it");
    EXPECT_EQ(complaint_about("steps.jsonl", "{\"step\":1,\"loss\":\"low\"}\n"),
              "steps.jsonl, line 1: 'loss' is not a number; the records are damaged, or another version of "
              "trireme wrote them");
}

TEST(RunRecords, NameADamagedSummaryOrManifest) {
    EXPECT_EQ(complaint_about("summary.json", "{\"verdict\":"),
              "summary.json is damaged: it is not a JSON object; remove it to report the other records");
    EXPECT_EQ(complaint_about("summary.json", "{\"loss\":{\"last\":[]}}"),
              "summary.json: 'loss/last' is not a number; the records are damaged, or another version of "
              "trireme wrote them");
    EXPECT_EQ(complaint_about("manifest.json", "{\"model\":3}"),
              "manifest.json: 'model' is not a string; the records are damaged, or another version of trireme "
              "wrote them");
}

TEST(PartialSummary, AddsUpTheSteps) {
    const records::Summary summary = sum_up_steps(read_run(FixtureRun().path()).steps);

    EXPECT_EQ(summary.verdict, "");
    EXPECT_EQ(summary.steps, 2);
    EXPECT_EQ(summary.skipped_steps, 0);
    EXPECT_EQ(summary.seconds, 4);
    EXPECT_EQ(summary.tokens, 150);
    EXPECT_EQ(summary.tokens_per_s, 37.5);
    EXPECT_EQ(summary.padding, 0.25);
    EXPECT_DOUBLE_EQ(*summary.mfu, (0.5 * 1 + 0.1 * 3) / 4);
    EXPECT_DOUBLE_EQ(*summary.bubble, (0.2 * 1 + 0.4 * 3) / 4);
    EXPECT_EQ(summary.comm_wait_s, 0.375);
    EXPECT_EQ(summary.first_loss, 6);
    EXPECT_EQ(summary.last_loss, 2);
}

TEST(PartialSummary, AddsUpEnergyIfEveryStepHasIt) {
    const std::string metered =
        "{\"step\":1,\"seconds\":1,\"energy_j\":5}\n{\"step\":2,\"seconds\":1,\"energy_j\":2.5}\n";

    EXPECT_EQ(sum_up_steps(read_run(FixtureRun(metered).path()).steps).energy_j, 7.5);
    EXPECT_FALSE(sum_up_steps(read_run(FixtureRun(metered + two_steps).path()).steps).energy_j);
}

TEST(PartialSummary, OmitsFieldsThatAnyStepLacks) {
    const std::string silent = "{\"step\":3,\"seconds\":1,\"skipped\":true}\n";

    const records::Summary summary = sum_up_steps(read_run(FixtureRun(two_steps + silent).path()).steps);

    EXPECT_EQ(summary.skipped_steps, 1);
    EXPECT_EQ(summary.seconds, 5);
    EXPECT_FALSE(summary.tokens);
    EXPECT_FALSE(summary.tokens_per_s);
    EXPECT_FALSE(summary.mfu);
    EXPECT_FALSE(sum_up_steps({}).seconds);
}

}  // namespace
}  // namespace trireme::report
