// The messages of `train` about decisions that it cannot follow. It refuses them before it writes anything.
#include "messages/workplace.hpp"

namespace trireme::messages {
namespace {

// A layout for 2 ranks and a model of one block.
constexpr const char* in_a_row = R"({"layers": 5, "stages": [{"layers": [0, 2], "replicas": [{"ranks": [1]}]},)"
                                 R"( {"layers": [2, 5], "replicas": [{"ranks": [0]}]}]})";

class Decisions : public Workplace {
protected:
    void SetUp() override { make_corpus(); }

    void decide(const std::string& step, const std::string& layout) const {
        write("d.jsonl",
              R"({"step": )" + step + R"(, "layout": )" + layout + R"(, "reason": "to see"})" + "\n");
    }
};

TEST_F(Decisions, AreAppliedAndRecorded) {
    decide("1", in_a_row);

    const Outcome outcome = train("--decisions d.jsonl --run-dir run", 2);

    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_NE(read("run/decisions.jsonl").find(R"("reason":"to see")"), std::string::npos);
    EXPECT_NE(read("run/summary.json").find(R"("plan_changes")"), std::string::npos);
}

TEST_F(Decisions, AreRejectedIfTheirFileIsMissing) {
    expect_train_refusal("--decisions none.jsonl",
                         {"--decisions none.jsonl cannot be read: No such file or directory; check its name"},
                         2);
}

TEST_F(Decisions, AreRejectedIfTheyNeedMoreRanksThanTheJobHas) {
    decide("1", in_a_row);

    expect_train_refusal("--decisions d.jsonl", {"--decisions d.jsonl, step 1: the new layout"});
}

TEST_F(Decisions, AreRejectedAfterTheLastStep) {
    decide("2", in_a_row);

    expect_train_refusal("--decisions d.jsonl",
                         {"--decisions d.jsonl changes the plan after step 2, but the run ends after step 2"},
                         2);
}

}  // namespace
}  // namespace trireme::messages
