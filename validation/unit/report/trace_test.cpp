#include <gtest/gtest.h>

#include "error_message.hpp"
#include "report/page.hpp"
#include "trireme/base/error.hpp"
#include "unit/report/fixture_run.hpp"

namespace trireme::report {
namespace {

using nlohmann::json;
using validation::catch_message;

json name_of_rank(int rank, int skipped = 0) {
    return {{"ph", "M"}, {"name", "process_name"}, {"pid", rank}, {"args", {{"left_out", skipped}}}};
}

// Returns an event of a trace. Times are in milliseconds.
json event(int rank, const char* lane, const char* name, double begin, double end, int step, int stage = -1) {
    json arguments{{"step", step}};
    if (stage >= 0) arguments["stage"] = stage;
    return {{"ph", "X"},        {"pid", rank},        {"cat", lane},
            {"name", name},     {"ts", 1000 * begin}, {"dur", 1000 * (end - begin)},
            {"args", arguments}};
}

// Returns the trace of two ranks, with the first stage on rank 1: a change of plan, and step 7 after it.
json two_ranks() {
    const json plan{
        {"step", 7},
        {"schedule", "gpipe"},
        {"microbatches", 1},
        {"teams", {{1}, {0}}},
        {"programs", "0F0,0SEND_F0,0RECV_B0,0B0,REDUCE0,STEP0\n1RECV_F0,1F0,1B0,1SEND_B0,REDUCE1,STEP1\n"},
        {"holders", {{0}, {1}}},
        {"executor", {{0}, {1}}},
        {"slots", 1},
        {"ties_ends", false}};
    json events{name_of_rank(0), name_of_rank(1, 3)};
    for (const int rank : {0, 1}) events.push_back(event(rank, "compute", "change of plan", 100, 110, 7));
    events.push_back(event(0, "messages", "wait for 1RECV_F0", 110, 124, 7, 1));
    events.push_back(event(0, "compute", "1F0", 124, 126, 7, 1));
    events.push_back(event(0, "compute", "1B0", 126, 130, 7, 1));
    events.push_back(event(0, "messages", "1SEND_B0", 130, 130.5, 7, 1));
    events.push_back(event(0, "compute", "STEP1", 132, 140, 7, 1));
    events.push_back(event(0, "messages", "wait for norms", 133, 139, 7));
    events.push_back(event(1, "compute", "0F0", 110, 120, 7, 0));
    events.push_back(event(1, "compute", "0B0", 131, 139, 7, 0));
    events.push_back(event(1, "compute", "STEP0", 139, 140, 7, 0));
    events.push_back(event(1, "state on its way", "moments", 108, 118, 7));
    events.push_back(event(1, "checkpoint", "write", 90, 105, 6));
    return {{"otherData", {{"first_step", 6}, {"last_step", 8}, {"plans", {plan}}}}, {"traceEvents", events}};
}

RunTrace trace_of(const json& text) { return parse_trace(text, "run/trace.json"); }

std::string complaint(const json& text) {
    return catch_message<ConfigError>([&] { trace_of(text); });
}

TEST(TraceDrawing, ShowsTheMostEventfulStep) {
    json text = two_ranks();
    EXPECT_EQ(choose_drawn_step(trace_of(text)), 7U);

    for (json& each : text["traceEvents"]) {
        if (each["name"] == "change of plan") each["name"] = "evaluation";
    }
    EXPECT_EQ(choose_drawn_step(trace_of(text)), 8U);

    text["traceEvents"].push_back(event(0, "checkpoint", "copy", 90, 95, 6));
    EXPECT_EQ(choose_drawn_step(trace_of(text)), 7U);  // the step during which the checkpoint is copied
}

TEST(TraceDrawing, OrdersRanksByStage) {
    const Timeline drawn = make_measured_timeline(trace_of(two_ranks()), 7);

    EXPECT_EQ(drawn.row_names, (std::vector<std::string>{"rank 1", "rank 0"}));
    EXPECT_EQ(drawn.prediction.makespan, 40);
    ASSERT_EQ(drawn.prediction.spans[0].size(), 3U);
    EXPECT_EQ(drawn.prediction.spans[0][0].begin, 10);
    EXPECT_EQ(drawn.prediction.spans[0][0].end, 20);
    EXPECT_EQ(drawn.prediction.busy_times, (std::vector<double>{19, 8}));  // without the wait within STEP1
}

TEST(TraceDrawing, ShowsPausesStateTransfersAndCheckpoints) {
    const Timeline drawn = make_measured_timeline(trace_of(two_ranks()), 7);

    ASSERT_EQ(drawn.extra_spans[0].size(), 3U);
    EXPECT_EQ(drawn.extra_spans[0][0].kind, ExtraSpanKind::pause);
    EXPECT_EQ(drawn.extra_spans[0][1].kind, ExtraSpanKind::state);
    EXPECT_EQ(drawn.extra_spans[0][1].begin, 8);
    EXPECT_EQ(drawn.extra_spans[0][1].end, 18);
    EXPECT_EQ(drawn.extra_spans[0][2].kind, ExtraSpanKind::checkpoint);
    EXPECT_EQ(drawn.extra_spans[0][2].begin, 0);  // the beginning of the picture
    EXPECT_EQ(drawn.extra_spans[1].size(), 3U);   // the start of a message is no wait
}

// The passes take 10 + 2 + 4 + 8, and the longer update takes 2: STEP1 without its wait.
TEST(TraceDrawing, ShowsClocks) {
    json trace = two_ranks();
    for (const auto& [time, mhz] : {std::pair(123.0, 1530), std::pair(126.0, 900)})
        trace["traceEvents"].push_back(
            {{"ph", "C"}, {"name", "clock_mhz"}, {"pid", 0}, {"ts", 1000 * time}, {"args", {{"MHz", mhz}}}});

    const Timeline measured = make_measured_timeline(trace_of(trace), 7);

    const std::vector<schedule::Span>& spans = measured.prediction.spans[1];  // of rank 0
    ASSERT_EQ(spans.size(), 3U);
    EXPECT_EQ(spans[0].mhz, 1530);
    EXPECT_EQ(spans[1].mhz, 900);
    EXPECT_EQ(measured.prediction.spans[0][0].mhz, 0);
}

TEST(TraceDrawing, PredictsTheTimeFromMeasuredInstructions) {
    const RunTrace trace = trace_of(two_ranks());

    const Timeline forecast = make_predicted_timeline(trace.plans[0], make_measured_timeline(trace, 7));

    EXPECT_EQ(forecast.row_names, (std::vector<std::string>{"rank 1", "rank 0"}));
    EXPECT_EQ(forecast.prediction.makespan, 26);
}

TEST(TraceDrawing, IsPartOfTheReport) {
    const FinishedRun run;
    run.write("trace.json", two_ranks().dump());

    const std::string html = make_page(read_run(run.path()));

    EXPECT_NE(html.find("step 7 as measured, in milliseconds: time 40"), std::string::npos);
    EXPECT_NE(html.find("gpipe: predicted from the measured compute and update times, without waits, in "
                        "milliseconds: time 26, bubble"),
              std::string::npos);
    EXPECT_NE(html.find("trace.json shows steps 6 to 8"), std::string::npos);
    EXPECT_NE(html.find("3 events are missing, because each rank keeps a limited"), std::string::npos);
    EXPECT_NE(html.find("<rect class=\"state\""), std::string::npos);
}

TEST(TraceDrawing, IsOmittedIfTheRunWasNotTraced) {
    EXPECT_EQ(make_page(read_run(FinishedRun().path())).find("Timeline of the ranks"), std::string::npos);
}

TEST(TraceRecords, AreRejectedIfDamaged) {
    json lacking = two_ranks();
    lacking["traceEvents"][3].erase("ts");
    json foreign = two_ranks();
    foreign["traceEvents"][3]["pid"] = 2;

    EXPECT_NE(complaint(lacking).find("run/trace.json is not a trace of this program"), std::string::npos);
    EXPECT_EQ(complaint(foreign),
              "run/trace.json is damaged: it names rank 2 but has 2 ranks; remove it to report the other "
              "records");
}

}  // namespace
}  // namespace trireme::report
