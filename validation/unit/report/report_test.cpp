#include "trireme/report/report.hpp"

#include <gtest/gtest.h>

#include "error_message.hpp"
#include "trireme/base/error.hpp"
#include "unit/report/fixture_run.hpp"

namespace trireme::report {
namespace {

using validation::catch_message;
using validation::says;

std::string report_of(const FixtureRun& run) {
    write_report(run.path(), run.file("report.html"));
    return validation::read_whole(run.file("report.html"));
}

TEST(Report, ShowsTheModelTheStartAndTheVerdict) {
    const std::string html = report_of(FinishedRun());

    EXPECT_TRUE(says(html, "<h1>gpt2 &amp; co on 2 ranks</h1>"));
    EXPECT_TRUE(says(html, "started 2026-01-31 12:00:00 UTC"));
    EXPECT_TRUE(says(html, "<b>INVALID</b> the loss did not fall: 2 &lt; 6"));
    EXPECT_FALSE(says(html, "UNFINISHED"));
}

TEST(Report, ShowsEveryFigureWithItsLimit) {
    const std::string html = report_of(FinishedRun());

    for (const char* row :
         {"<th>Validation loss</th><td>2.5</td>", "<th>Tokens/s</th><td>38</td><td>188</td>",
          "<th>Model arithmetic</th><td>60.0 GFLOP/s</td><td>300.0 GFLOP/s</td><td>FMA rate</td>",
          "<th>MFU</th><td>20.0 %</td><td>100 %</td>", "<th>Bubble</th><td>35.0 %</td><td>0.0 %</td>",
          "<th>Padding</th><td>25.0 %</td><td>0 %</td>",
          "<th>Memory of the fullest rank</th><td>7.0 MB</td><td>6.5 MB</td>"}) {
        EXPECT_TRUE(says(html, row));
    }
}

TEST(Report, ShowsTheEnergyIfItWasMeasured) {
    const FinishedRun run;
    EXPECT_FALSE(says(report_of(run), "Energy"));
    run.write("summary.json", R"({"seconds":4,"tokens":150,"energy_j":3000})");

    EXPECT_TRUE(says(report_of(run),
                     "<th>Energy</th><td>3,000 J</td><td>&ndash;</td>"
                     "<td>20 J per token; 750 W on average, for all ranks together</td>"));
}

// A run whose evaluations after steps 1 and 2 have scores: `before` and `after` are their JSON fields.
class ScoredRun : public FixtureRun {
public:
    ScoredRun(const std::string& before, const std::string& after, const std::string& summary)
        : FixtureRun(two_steps + "{\"step\":1,\"validation_loss\":3," + before +
                     "}\n{\"step\":2,\"validation_loss\":1," + after + "}\n") {
        write("summary.json", "{\"loss\":{\"validation\":1},\"validation\":{" + summary + "}}");
    }
};

TEST(Report, ShowsTheAccuracyIfTheRunHasOne) {
    const std::string html = report_of(
        ScoredRun("\"validation_accuracy\":0.25", "\"validation_accuracy\":0.75", "\"accuracy\":0.75"));

    EXPECT_TRUE(says(html, "<figcaption>Scores on the validation samples</figcaption>"));
    EXPECT_TRUE(says(html, ">accuracy, %</text>"));
    EXPECT_TRUE(says(html, "<th>Accuracy</th><td>75.0 %</td><td>100 %</td>"));
    EXPECT_FALSE(says(html, "Exact match"));
    EXPECT_FALSE(says(html, "perplexity"));  // a loss of classes has no perplexity
}

TEST(Report, ShowsExactMatchAndF1OfAnswers) {
    const std::string html = report_of(ScoredRun("\"validation_exact_match\":0.125,\"validation_f1\":0.25",
                                                 "\"validation_exact_match\":0.5,\"validation_f1\":0.625",
                                                 "\"exact_match\":0.5,\"f1\":0.625"));

    EXPECT_TRUE(says(html, "<figcaption>Scores on the validation samples</figcaption>"));
    EXPECT_TRUE(says(html, "exact match"));
    EXPECT_TRUE(says(html, "<th>Exact match</th><td>50.0 %</td><td>100 %</td>"));
    EXPECT_TRUE(says(html, "<th>F1</th><td>62.5 %</td><td>100 %</td>"));
    EXPECT_FALSE(says(html, "Accuracy"));
}

TEST(Report, ShowsPerplexityAndNoScoreForLanguageModels) {
    const std::string html = report_of(FinishedRun());

    EXPECT_FALSE(says(html, "Scores on the validation samples"));
    EXPECT_TRUE(says(html, "perplexity 12.18"));
}

// A model that sees the whole text or image skips no half of the attention scores.
TEST(Report, ShowsNoCausalMfuForBidirectionalModels) {
    const FinishedRun run;
    run.write("summary.json", "{\"mfu\":0.2}");

    const std::string html = report_of(run);

    EXPECT_TRUE(says(html, "<th>MFU</th><td>20.0 %</td>"));
    EXPECT_FALSE(says(html, "MFU, causal"));
}

TEST(Report, SplitsStepTimeIntoKernelsWaitsAndTheRest) {
    const std::string html = report_of(FinishedRun());

    EXPECT_TRUE(says(html, "in kernels <b>2.60 s (65.0 %)</b>"));
    EXPECT_TRUE(says(html, "waiting for other ranks <b>0.40 s (10.0 %)</b>"));
    EXPECT_TRUE(says(html, "other time <b>1.00 s (25.0 %)</b>"));
    EXPECT_TRUE(says(html, "padding <b>50 (25.0 %)</b>"));
}

TEST(Report, ShowsTheMachineAndTheConfiguration) {
    const std::string html = report_of(FinishedRun());

    EXPECT_TRUE(says(html, "<td>Open MPI &lt;4&gt;</td>"));
    EXPECT_TRUE(says(html, "<td>n1 (2 ranks)</td>"));
    EXPECT_TRUE(says(html, "<pre>[run]\nsteps = 2  # &lt;b&gt;\n</pre>"));
}

// Returns a layout of two stages, with `cut` of seven layers in the first one.
std::string two_stages(const std::string& cut) {
    return R"({"layers":7,"stages":[{"layers":[0,)" + cut + R"(],"replicas":[{"ranks":[0],"shares":[1]}]},)" +
           R"({"layers":[)" + cut + R"(,7],"replicas":[{"ranks":[1],"shares":[1]}]}],"idle":[]})";
}

TEST(Report, NamesLayoutScheduleBatchAndPrecision) {
    const FinishedRun run;
    run.write("manifest.json",
              R"({"model":"gpt2","ranks":2,"device":"cpu","layout":)" + two_stages("4") +
                  R"(,"schedule":"1f1b","batch":8,"microbatches":4,"dtype":"bf16","sums":"f32"})");

    EXPECT_TRUE(
        says(report_of(run),
             "2 stages x 1 replica x 1 tensor rank · schedule 1f1b · 8 samples a step in 4 micro-batches · "
             "bf16, sums and master weights in f32"));
}

TEST(Report, ShowsEveryChangeOfPlanWithItsEffect) {
    const FinishedRun run;
    run.write("manifest.json", R"({"plan":"a1","layout":)" + two_stages("4") + "}");
    run.write("decisions.jsonl",
              R"({"step":1,"policy":"uneven","from":"a1","to":"b2","layout":)" + two_stages("3") +
                  R"(,"reason":"rank 1 is <slow>",)"
                  R"("terms":{"gain_s":0.5,"moved_bytes":2000000,"predicted_step_s":3.25,"step_s":3.75},)"
                  R"("seconds":{"measured":0.25}})"
                  "\n"
                  R"({"step":2,"policy")");

    const std::string html = report_of(run);

    for (const char* part :
         {"<b>uneven: rank 1 is &lt;slow&gt;</b>",
          "before<pre>stage 0: layers 0-2.5, rank 0\nstage 1: layers 2.5-3, rank 1\n</pre>",
          "after<pre>stage 0: layers 0-1, rank 0\nstage 1: layers 2-3, rank 1\n</pre>",
          "<td>3.75 s before, 3.25 s predicted, 3 s after: 20.0 % less</td>", "<td>2.0 MB in 0.25 s</td>"})
        EXPECT_TRUE(says(html, part));
    EXPECT_TRUE(says(html, "class=\"event e1\""));
    EXPECT_TRUE(says(html, "change of plan (1)"));
    EXPECT_EQ(report_of(FinishedRun()).find("Changes of plan"), std::string::npos);
}

TEST(Report, JoinsTheChangesOfClocksByReconfiguration) {
    const FinishedRun run;
    run.write("manifest.json", R"({"plan":"a1","layout":)" + two_stages("4") + "}");
    std::string lines;
    for (int step = 1; step <= 3; ++step)
        lines += R"({"step":)" + std::to_string(step) + R"(,"policy":"reconfigure","layout":)" +
                 two_stages("4") +
                 R"(,"clocks":["4*900","4*600"],"reason":"raises 600 MHz","terms":{"moved_bytes":0}})" + "\n";
    run.write("decisions.jsonl", lines);

    const std::string html = report_of(run);

    for (const char* part :
         {"<tr><th>1 to 3</th>", "<b>reconfigure, 3 changes, the last one: raises 600 MHz</b>",
          "<div>other clocks, and perhaps another order of passes</div>"})
        EXPECT_TRUE(says(html, part));
    EXPECT_EQ(html.find("change of plan ("), std::string::npos);
}

TEST(Report, DrawsComputeAndWaitTimesOfEachRank) {
    const std::string ranks =
        R"("seconds":4,"compute_s":[3,1],"wait_pipeline_s":[0,2],"wait_tensor_s":[0,0],"wait_data_s":[0.5,0.5]})";
    const std::string html = report_of(FixtureRun(R"({"step":1,)" + ranks + "\n"));

    EXPECT_TRUE(says(html, "<figcaption>Time of each rank, summed over the steps</figcaption>"));
    EXPECT_TRUE(says(html, "<title>waiting for other stages: 2.00 s</title>"));
}

TEST(Report, CountsImagesIfTheModelReadsImages) {
    const FinishedRun run;
    run.write("manifest.json", R"({"tokens_of_image":25})");
    run.write("summary.json", R"({"tokens_per_s":50,"images_per_s":2})");

    const std::string html = report_of(run);

    EXPECT_TRUE(says(html, "<th>Images/s</th><td>2</td>"));
    EXPECT_TRUE(says(html, "<figcaption>Images per second</figcaption>"));
    EXPECT_FALSE(says(html, "Tokens per second"));
}

TEST(Report, DrawsACurveForEveryFieldOfTheSteps) {
    const std::string html = report_of(FinishedRun());

    for (const char* title : {"Loss", "Tokens per second", "Model FLOP utilisation (MFU)",
                              "Gradient norm, before clipping", "Learning rate"}) {
        EXPECT_TRUE(says(html, std::string("<figcaption>") + title + "</figcaption>"));
    }
    EXPECT_TRUE(says(html, "<title>step 2: 2.5</title>"));
}

TEST(Report, DrawsTheMemoryLimitBesideTheMemoryOfEachStep) {
    const std::string limit = "</svg> limit</span>";
    EXPECT_FALSE(says(report_of(FinishedRun()), limit));
    const std::string step = R"({"step":1,"loss":6,"seconds":1,"predicted_bytes":4000000)";

    EXPECT_TRUE(says(report_of(FixtureRun(step + R"(,"limit_bytes":6000000})" + "\n")), limit));
}

TEST(Report, DrawsTheFrozenBlocksOfEachStep) {
    const std::string title = "<figcaption>Frozen blocks</figcaption>";
    EXPECT_FALSE(says(report_of(FinishedRun()), title));
    const FixtureRun run(R"({"step":1,"seconds":4,"frozen":3})"
                         "\n"
                         R"({"step":2,"seconds":4})"
                         "\n");
    run.write("decisions.jsonl", R"({"step":1,"frozen":0,"layout":)" + two_stages("4") + "}\n");

    const std::string html = report_of(run);

    EXPECT_TRUE(says(html, title));
    EXPECT_TRUE(says(html, "<div>0 frozen blocks</div>"));
}

TEST(Report, ContainsNoReferencesToOtherFiles) {
    const std::string html = report_of(FinishedRun());

    for (const char* outside : {"http", "src=", "href=", "url(", "@import", "<script"}) {
        EXPECT_FALSE(says(html, outside));
    }
}

TEST(Report, MarksAnUnfinishedRun) {
    const std::string html = report_of(FixtureRun());

    EXPECT_TRUE(says(html, "<b>UNFINISHED</b>"));
    EXPECT_TRUE(says(html, "its 2 recorded steps"));
    EXPECT_TRUE(says(html, "<th>MFU</th><td>20.0 %</td>"));
    EXPECT_FALSE(says(html, "VALID"));
}

TEST(Report, OmitsFieldsMissingFromTheRecords) {
    const std::string html = report_of(FixtureRun("{\"step\":1,\"loss\":3,\"seconds\":2}\n"));

    EXPECT_TRUE(says(html, "<figcaption>Loss</figcaption>"));
    for (const char* absent : {"MFU", "Bubble", "Waiting", "Padding", "Memory", "Learning rate", "Tokens",
                               "<h2>Machine", "<h2>Configuration", "<h2>Time"}) {
        EXPECT_FALSE(says(html, absent));
    }
}

TEST(Report, IsWrittenForARunWithoutSteps) {
    const std::string html = report_of(FixtureRun(""));

    EXPECT_TRUE(says(html, "its 0 recorded steps"));
    EXPECT_FALSE(says(html, "<figure"));
    EXPECT_FALSE(says(html, "nan"));
}

TEST(Report, LimitsItsSizeForALongRun) {
    std::string steps;
    for (int step = 1; step <= 20000; ++step) {
        steps += "{\"step\":" + std::to_string(step) + ",\"loss\":" + std::to_string(1 + step % 7) +
                 ",\"seconds\":1}\n";
    }

    EXPECT_LT(report_of(FixtureRun(steps)).size(), 60000U);
}

TEST(Report, IsTheSameForTheSameRecords) {
    const FinishedRun run;

    EXPECT_EQ(report_of(run), report_of(run));
}

TEST(Report, NamesAnOutputThatCannotBeWritten) {
    const FixtureRun run;

    EXPECT_EQ(
        catch_message<ConfigError>([&] { write_report(run.path(), "/nowhere/a.html"); }),
        "the report /nowhere/a.html cannot be written: No such file or directory; choose another --output");
}

TEST(Report, NeverReplacesARecord) {
    const FixtureRun run;

    EXPECT_EQ(catch_message<ConfigError>([&] { write_report(run.path(), run.file("steps.jsonl")); }),
              "the report would replace " + run.file("steps.jsonl") +
                  ", a record of the run; choose another --output");
    EXPECT_EQ(validation::read_whole(run.file("steps.jsonl")), two_steps);
}

}  // namespace
}  // namespace trireme::report
