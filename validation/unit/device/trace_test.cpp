#include "trireme/device/trace.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace trireme::device {
namespace {

std::vector<std::string> names_in(const Trace& trace) {
    std::vector<std::string> names;
    for (const TraceEvent& event : trace.events()) names.push_back(event.name);
    return names;
}

using Names = std::vector<std::string>;

TEST(Trace, RecordsEventsOfItsStepsOnly) {
    Trace trace({2, 3});

    for (std::size_t step = 1; step <= 4; ++step) {
        trace.begin_step(step, 0);
        const TraceSpan span(&trace, [&] { return TraceEvent{.name = std::to_string(step)}; });
    }

    EXPECT_EQ(names_in(trace), (Names{"2", "3"}));
    EXPECT_EQ(trace.events()[1].step, 3U);
}

TEST(Trace, RecordsNothingWithoutSteps) {
    Trace trace({});
    trace.begin_step(1, 0);

    { const TraceSpan span(&trace, TraceLane::compute, "0F0"); }
    { const TraceSpan span(nullptr, TraceLane::compute, "0F0"); }

    EXPECT_TRUE(trace.events().empty());
}

TEST(Trace, CountsEventsBeyondItsCapacity) {
    Trace trace({1, 1}, 2);
    trace.begin_step(1, 0);

    for (const char* name : {"a", "b", "c", "d"}) const TraceSpan span(&trace, TraceLane::compute, name);

    EXPECT_EQ(names_in(trace), (Names{"a", "b"}));
    EXPECT_EQ(trace.count_dropped(), 2U);
}

TEST(Trace, NumbersStepsByTheirPositionInTheSegment) {
    Trace trace({1, 100});

    trace.begin_step(12, 2);  // the third step of its segment

    EXPECT_EQ(trace.step(), 12U);
    EXPECT_EQ(trace.find_step_number(2), 12U);
    EXPECT_EQ(trace.find_step_number(3), 13U);
}

TEST(TraceSpan, RecordsItsBeginEndLaneAndBytes) {
    Trace trace({1, 1});
    trace.begin_step(1, 0);
    const double before = now_seconds();
    double within = 0;

    {
        TraceSpan outer(&trace, TraceLane::state, "outer");
        const TraceSpan inner(&trace, TraceLane::messages, "inner");
        outer.set_bytes(12);
        within = now_seconds();
    }

    const std::vector<TraceEvent> events = trace.events();
    ASSERT_EQ(names_in(trace), (Names{"inner", "outer"}));
    EXPECT_LE(before, events[1].begin);
    EXPECT_LE(events[1].begin, events[0].begin);
    EXPECT_LE(events[0].begin, within);
    EXPECT_LE(within, events[0].end);
    EXPECT_LE(events[0].end, events[1].end);
    EXPECT_EQ(events[1].bytes, 12U);
    EXPECT_EQ(events[1].lane, TraceLane::state);
}

// A job that is created in a traced step belongs to this step, even if it runs later.
TEST(TracedJob, BelongsToTheStepInWhichItWasCreated) {
    Trace trace({4, 4});
    int done = 0;
    trace.begin_step(4, 0);
    const auto job = make_traced_job(&trace, TraceLane::checkpoint, "write", [&] { ++done; });
    trace.begin_step(5, 0);
    const auto later = make_traced_job(&trace, TraceLane::checkpoint, "later", [&] { ++done; });

    job();
    later();

    EXPECT_EQ(done, 2);
    ASSERT_EQ(names_in(trace), Names{"write"});
    EXPECT_EQ(trace.events()[0].step, 4U);
    EXPECT_EQ(trace.events()[0].lane, TraceLane::checkpoint);
}

}  // namespace
}  // namespace trireme::device
