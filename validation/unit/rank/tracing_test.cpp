#include "trireme/rank/tracing.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "error_message.hpp"
#include "scratch_folder.hpp"
#include "trireme/base/error.hpp"

namespace trireme::rank {
namespace {

using nlohmann::json;
using validation::catch_message;
using validation::read_whole;

TEST(ClockLine, CountsFromAnOriginOnTheFirstRanksClock) {
    const ClockLine line{.first = {.at = 100, .ahead = 40}, .last = {.at = 100, .ahead = 40}, .origin = 50};

    EXPECT_EQ(line(100), 10);
    EXPECT_EQ(line(102.5), 12.5);
}

// The clock gains four seconds between the beginning and the end.
TEST(ClockLine, AssumesThatClocksDriftLinearly) {
    const ClockLine line{.first = {.at = 100, .ahead = 40}, .last = {.at = 200, .ahead = 44}, .origin = 60};

    EXPECT_EQ(line(100), 0);
    EXPECT_EQ(line(150), 48);
    EXPECT_EQ(line(200), 96);
}

TEST(TraceJson, DescribesEveryEvent) {
    device::Trace trace({1, 9}, 2);
    trace.add({.lane = device::TraceLane::compute,
               .name = "1F0",
               .begin = 5,
               .end = 5.25,
               .step = 3,
               .stage = 1,
               .microbatch = 0});
    trace.add({.lane = device::TraceLane::state,
               .name = "moments",
               .begin = 5.5,
               .end = 6,
               .step = 3,
               .bytes = 4096});
    trace.add({.name = "no room"});

    const std::string text =
        to_json(trace, 2, 0, "node \"a\"", {.first = {.ahead = 1}, .last = {.ahead = 1}, .origin = 4});

    const json events = json::parse("[" + text + "]");
    ASSERT_EQ(events.size(), 2 + 2 * device::trace_lanes + 2);
    EXPECT_EQ(events[0]["name"], "process_name");
    EXPECT_EQ(events[0]["pid"], 2);
    EXPECT_EQ(events[0]["args"]["name"], "rank 2 (node \"a\")");
    EXPECT_EQ(events[0]["args"]["left_out"], 1);
    EXPECT_EQ(events[4]["args"]["name"], "compute");
    EXPECT_EQ(events[4]["tid"], 1);
    const std::size_t first = text.find("{\"name\":\"1F0\"");
    EXPECT_EQ(text.substr(first),
              R"({"name":"1F0","cat":"compute","ph":"X","ts":0.000,"dur":250000.000,"pid":2,"tid":1,)"
              R"("cname":"thread_state_running","args":{"step":3,"stage":1,"microbatch":0}},)"
              "\n"
              R"({"name":"moments","cat":"state on its way","ph":"X","ts":500000.000,"dur":500000.000,"pid":2,)"
              R"("tid":3,"cname":"generic_work","args":{"step":3,"bytes":4096}})");
}

class SingleRankTracing : public ::testing::Test {
protected:
    void trace(std::size_t from, std::size_t to) {
        Tracing tracing({5, 6}, *control_);
        for (std::size_t step = from; step <= to; ++step) {
            tracing.begin_step(step, 0);
            tracing.set_plan(plan_);
            const device::TraceSpan span(tracing.trace(), device::TraceLane::step, "step");
        }
        tracing.write(folder_.file(""), "here");
    }
    json file(const std::string& name) const { return json::parse(read_whole(folder_.file(name))); }
    bool has(const std::string& name) const { return std::filesystem::exists(folder_.file(name)); }

    std::unique_ptr<comm::Communicator> control_ = comm::make_single_rank_group("control");
    validation::ScratchFolder folder_;
    plan::Plan plan_ = plan::make_plan(
        {.layout = {.layers = 5, .stages = {{.layers = {0, 5}, .replicas = {{{0}, {1}}}}}}, .microbatches = 2});
};

TEST_F(SingleRankTracing, WritesTheTracedSteps) {
    trace(4, 9);

    const json all = file("trace.json");
    EXPECT_EQ(all["otherData"]["first_step"], 5);
    EXPECT_EQ(all["otherData"]["last_step"], 6);
    EXPECT_EQ(all["otherData"]["clock"], "wall");
    ASSERT_EQ(all["otherData"]["plans"].size(), 1U);
    const json& plan = all["otherData"]["plans"][0];
    EXPECT_EQ(plan["step"], 5);
    EXPECT_EQ(plan["plan"], compute_hash(plan_));
    EXPECT_EQ(plan["programs"], "0F0,0B0,0F1,0B1,REDUCE0,STEP0\n");
    EXPECT_EQ(all["traceEvents"].back()["name"], "step");
    EXPECT_EQ(all["traceEvents"].back()["args"]["step"], 6);
}

TEST_F(SingleRankTracing, DoesNotOverwriteAnEarlierTrace) {
    trace(1, 5);
    const std::string first = read_whole(folder_.file("trace.json"));

    trace(6, 9);

    EXPECT_EQ(read_whole(folder_.file("trace.json")), first);
    EXPECT_EQ(file("trace-6.json")["otherData"]["first_step"], 6);
}

TEST_F(SingleRankTracing, WritesNothingIfNothingWasTraced) {
    trace(7, 9);

    EXPECT_FALSE(has("trace.json"));
}

TEST(TracedSteps, MustBeStepsOfTheRun) {
    EXPECT_EQ(catch_message<ConfigError>([] {
                  check_traced_steps({9, 12}, 8);
              }),
              "--trace 9:12 begins after the last of 8 steps; trace earlier steps");
    EXPECT_NO_THROW(check_traced_steps({8, 12}, 8));
    EXPECT_NO_THROW(check_traced_steps({}, 8));
}

}  // namespace
}  // namespace trireme::rank
