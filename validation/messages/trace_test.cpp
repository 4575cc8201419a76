// The trace of a run under every MPI library, and the messages about steps that cannot be traced.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

using nlohmann::json;

constexpr double rounding = 0.002;  // microseconds; start times and durations have three decimals
constexpr const char* as_planned =
    "--pipe 2 --microbatches 2 --decisions d.jsonl --move overlap --checkpoint-every 1 --run-dir run "
    "--trace 1:2";

struct Event {
    std::string lane, name;
    double begin = 0, end = 0;
    int rank = 0, step = 0;
};

bool is_instruction(const Event& event) {
    return event.lane == "compute" && event.name.find_first_of("0123456789") != std::string::npos;
}

class Trace : public Workplace {
protected:
    // After the first step the two ranks exchange their stages.
    void SetUp() override {
        make_corpus();
        write(
            "d.jsonl",
            R"({"step": 1, "layout": {"layers": 5, "stages": [{"layers": [0, 2], "replicas": [{"ranks": [1]}]},)"
            R"( {"layers": [2, 5], "replicas": [{"ranks": [0]}]}]}})"
            "\n");
    }

    // Returns the events of the last run in the order of their start.
    std::vector<Event> events(const std::string& file = "run/trace.json") const {
        const json trace = json::parse(read(file));
        std::vector<Event> found;
        for (const json& each : trace.at("traceEvents")) {
            if (each.at("ph") != "X") continue;
            found.push_back({.lane = each.at("cat"),
                             .name = each.at("name"),
                             .begin = each.at("ts"),
                             .end = each.at("ts").get<double>() + each.at("dur").get<double>(),
                             .rank = each.at("pid"),
                             .step = each.at("args").at("step")});
        }
        std::ranges::stable_sort(found, {}, &Event::begin);
        return found;
    }
};

template <class Which>
std::vector<Event> only(std::vector<Event> events, const Which& which) {
    std::erase_if(events, [&](const Event& event) { return !which(event); });
    return events;
}

// Returns the names of the selected events in their order, separated by blanks.
template <class Which>
std::string names_of(const std::vector<Event>& events, const Which& which) {
    std::string names;
    for (const Event& event : only(events, which)) names += (names.empty() ? "" : " ") + event.name;
    return names;
}

std::string instructions(const std::vector<Event>& events, int rank, int step) {
    return names_of(events,
                    [&](const Event& e) { return is_instruction(e) && e.rank == rank && e.step == step; });
}

std::string sends_and_receives(const std::vector<Event>& events, int rank, int step) {
    return names_of(events, [&](const Event& e) {
        return e.lane == "messages" && e.name[0] != 'w' && e.rank == rank && e.step == step;
    });
}

void expect_one_after_the_other(const std::vector<Event>& lane) {
    for (std::size_t e = 1; e < lane.size(); ++e) {
        EXPECT_LE(lane[e - 1].end, lane[e].begin + rounding) << lane[e - 1].name << " and " << lane[e].name;
    }
}

// Expects that moments of the rank were sent while it executed instructions.
void expect_moments_during_computation(const std::vector<Event>& all, int rank) {
    const auto moments = only(all, [&](const Event& e) { return e.name == "moments" && e.rank == rank; });
    ASSERT_EQ(moments.size(), 1U);
    EXPECT_EQ(moments[0].lane, "state on its way");
    EXPECT_EQ(moments[0].step, 2);
    const std::string overlapping = names_of(all, [&](const Event& e) {
        return is_instruction(e) && e.rank == rank && e.begin <= moments[0].end + rounding &&
               moments[0].begin <= e.end;
    });
    EXPECT_NE(overlapping, "") << "rank " << rank;
}

// Returns true if the rank had its moments before its update, which would have waited for them.
bool arrived_during_computation(const std::vector<Event>& all, int rank) {
    const auto of_rank = [&](const std::string& part) {
        return only(all,
                    [&](const Event& e) { return e.rank == rank && e.step == 2 && e.name.starts_with(part); });
    };
    return of_rank("moments").front().end <= of_rank("STEP").front().begin + rounding;
}

TEST_F(Trace, ShowsThatRanksDecideAboutTheNextStepBeforeTheirLastForwardPass) {
    const Outcome outcome =
        train("--pipe 2 --microbatches 2 --elastic length --memory-limit 1GB --run-dir run --trace 1:2", 2);
    ASSERT_EQ(outcome.code, 0) << outcome.err;

    const std::vector<Event> all = events();

    for (int rank = 0; rank < 2; ++rank) {
        const auto of_step = only(all, [&](const Event& e) { return e.rank == rank && e.step == 1; });
        const auto decisions = only(of_step, [](const Event& e) { return e.name == "decision"; });
        const auto forward_passes = only(
            of_step, [](const Event& e) { return is_instruction(e) && e.name.find('F') != std::string::npos; });
        ASSERT_EQ(decisions.size(), 1U);
        ASSERT_FALSE(forward_passes.empty());
        EXPECT_LE(decisions[0].end, forward_passes.back().begin + rounding) << "rank " << rank;
    }
}

TEST_F(Trace, ShowsWhatEveryRankDid) {
    const std::string front = "0F0 0F1 0B0 0B1 REDUCE0 STEP0";
    const std::string back = "1F0 1B0 1F1 1B1 REDUCE1 STEP1";
    for (std::size_t mpi = 0; mpi < programs(); ++mpi) {
        std::filesystem::remove_all(path("run"));
        const Outcome outcome = train(as_planned, 2, mpi);
        ASSERT_EQ(outcome.code, 0) << outcome.err;

        const std::vector<Event> all = events();

        EXPECT_EQ(instructions(all, 0, 1), front);
        EXPECT_EQ(instructions(all, 1, 1), back);
        EXPECT_EQ(instructions(all, 0, 2), back);
        EXPECT_EQ(instructions(all, 1, 2), front);
        EXPECT_EQ(sends_and_receives(all, 0, 1), "0RECV_B0 0SEND_F0 0SEND_F1 0RECV_B1");
        for (int rank = 0; rank < 2; ++rank) {
            expect_one_after_the_other(
                only(all, [&](const Event& e) { return e.lane == "compute" && e.rank == rank; }));
            expect_moments_during_computation(all, rank);
            const auto in_checkpoint = [&](const Event& e) {
                return e.lane == "checkpoint" && e.rank == rank && e.name != "complete";
            };
            EXPECT_EQ(names_of(all, in_checkpoint), "copy write write");  // the last one needs no copy
        }
        EXPECT_EQ(names_of(all, [](const Event& e) { return e.name == "complete"; }), "complete complete");
        EXPECT_TRUE(arrived_during_computation(all, 0) || arrived_during_computation(all, 1));
    }
}

TEST_F(Trace, IsWrittenToASecondFileAfterResuming) {
    ASSERT_EQ(train("--run-dir run --trace 1:2 --checkpoint-every 1").code, 0);
    const std::string first = read("run/trace.json");
    std::filesystem::remove_all(path("run/checkpoints/step-2"));
    write("run/checkpoints/latest", "step-1\n");

    const Outcome outcome = train("--run-dir run --trace 1:2 --resume auto");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(read("run/trace.json"), first);
    EXPECT_EQ(instructions(events("run/trace-2.json"), 0, 2), instructions(events(), 0, 2));
}

// The trace has the format of Chrome and Perfetto, with an arrow from every message to the pass that reads it.
TEST_F(Trace, FollowsItsSchema) {
    const Outcome outcome = train("--pipe 2 --microbatches 2 --run-dir run --trace 1:2 --trace-kernels on", 2);
    ASSERT_EQ(outcome.code, 0) << outcome.err;

    std::map<std::string, json> begins, ends;
    std::set<std::string> kernels, colours;
    const json trace = json::parse(read("run/trace.json"));
    for (const json& event : trace.at("traceEvents")) {
        const std::string kind = event.at("ph");
        EXPECT_TRUE(event.at("name").is_string() && event.at("pid").is_number_unsigned()) << event;
        if (kind == "M") continue;
        EXPECT_GE(event.at("ts"), 0) << event;
        if (kind == "X") {
            EXPECT_TRUE(event.at("dur") >= 0 && event.at("tid").is_number_unsigned()) << event;
            if (event.at("cat") == "kernels") kernels.insert(event.at("name").get<std::string>());
            if (event.at("name") == "0F0" || event.at("name") == "0B0") colours.insert(event.at("cname"));
        } else if (kind == "C") {
            EXPECT_GT(event.at("args").at("MB"), 1) << event;
        } else {
            EXPECT_TRUE(kind == "s" || kind == "f") << event;
            EXPECT_TRUE((kind == "s" ? begins : ends).emplace(event.at("id"), event).second) << event;
        }
    }
    EXPECT_EQ(begins.size(), 8U);  // two steps of two micro-batches, forward and backward
    EXPECT_EQ(ends.size(), 8U);
    for (const auto& [id, end] : ends) {
        ASSERT_TRUE(begins.contains(id)) << id;
        EXPECT_NE(begins.at(id).at("pid"), end.at("pid"));
        EXPECT_LE(begins.at(id).at("ts").get<double>(), end.at("ts").get<double>() + rounding);
    }
    EXPECT_TRUE(kernels.contains("linear"));
    EXPECT_EQ(colours.size(), 2U);
}

TEST_F(Trace, IsDrawnInTheReport) {
    ASSERT_EQ(train(as_planned, 2).code, 0);

    const Outcome outcome = run("report run");

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    const std::string page = read("run/report.html");
    EXPECT_NE(page.find("step 2 as measured"), std::string::npos);
    EXPECT_NE(page.find("<rect class=\"state\""), std::string::npos);
    EXPECT_NE(page.find("https://ui.perfetto.dev"), std::string::npos);
}

TEST_F(Trace, IsNotWrittenUnlessAskedFor) {
    ASSERT_EQ(train("--run-dir run").code, 0);

    EXPECT_FALSE(std::filesystem::exists(path("run/trace.json")));
}

TEST_F(Trace, IsRejectedForStepsThatDoNotExist) {
    expect_train_refusal("--trace 3:4", {"--trace 3:4 begins after the last of 2 steps"}, 2);
    expect_train_refusal("--trace 4:3", {"--trace expects a last step that is not before the first"});
}

}  // namespace
}  // namespace trireme::messages
