#include "trireme/pipeline/engine.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "trireme/schedule/schedule_text.hpp"

namespace trireme::pipeline {
namespace {

// A worker that records its calls, and the position that the engine reports meanwhile.
class RecordingWorker final : public StageWorker {
public:
    std::size_t count_rows(int microbatch) const override {
        return rows_[static_cast<std::size_t>(microbatch)];
    }
    device::Tensor provide_receive_buffer(const schedule::Instruction& receive) override {
        note("place", receive);
        return {&number_, device::DType::f32, 1, 1, 1};
    }
    device::ConstTensor find_send_buffer(const schedule::Instruction& send) override {
        note("result", send);
        return {&number_, device::DType::f32, 1, 1, 1};
    }
    void finish_send(const schedule::Instruction& send) override { note("sent", send); }
    void set_clock(int mhz) override { note("set", {.op = schedule::Op::set_clock, .mhz = mhz}); }
    void run(const schedule::Instruction& instruction) override {
        note("run", instruction);
        positions_.push_back(engine_->describe_position());
    }

    bool validate_update(const schedule::Instruction& validate) override {
        note("judge", validate);
        return std::exchange(is_next_valid_, true);
    }
    void discard_forward(const schedule::Instruction& forward) override { note("undo", forward); }

    void watch(const Engine& engine) { engine_ = &engine; }
    void reject_next_update() { is_next_valid_ = false; }
    void empty(int microbatch) { rows_[static_cast<std::size_t>(microbatch)] = 0; }
    const std::string& notes() const { return notes_; }
    const std::vector<std::string>& positions() const { return positions_; }

private:
    void note(const char* what, const schedule::Instruction& instruction) {
        notes_ += cat(notes_.empty() ? "" : ", ", what, ' ', to_string(instruction));
    }

    const Engine* engine_ = nullptr;
    std::vector<std::size_t> rows_{1, 1, 1, 1};
    float number_ = 0;
    bool is_next_valid_ = true;
    std::string notes_;
    std::vector<std::string> positions_;
};

// The second of three stages, without neighbours: messages of a ghost group complete at once.
class SingleEngine : public ::testing::Test {
protected:
    SingleEngine() { worker_.watch(engine_); }

    void execute(const std::string& program) {
        engine_.execute(schedule::parse_phases_csv(program, "the test").body.front(), worker_);
    }

    schedule::PipelineShape shape_ = schedule::make_grid_shape(3, 1, 1, 3);
    std::vector<layout::Team> teams_{{{0}, {0}}, {{1}, {1}}, {{2}, {2}}};
    std::vector<int> ranks_{0, 1, 2};
    std::unique_ptr<comm::Communicator> activations_ = comm::make_ghost_group("activations", 1, 3);
    std::unique_ptr<comm::Communicator> gradients_ = comm::make_ghost_group("gradients", 1, 3);
    device::Trace trace_{{1, 9}};
    Engine engine_{{.rank = 1,
                    .teams = teams_,
                    .shape = shape_,
                    .activations = *activations_,
                    .gradients = *gradients_,
                    .group_ranks = ranks_,
                    .trace = &trace_}};
    RecordingWorker worker_;
};

TEST_F(SingleEngine, RunsTheInstructionsOfTheProgram) {
    execute("1RECV_F0,1F0,1SEND_F0,1RECV_B0,1B0,1SEND_B0,REDUCE1,STEP1");

    EXPECT_EQ(
        worker_.notes(),
        "place 1RECV_F0, run 1F0, result 1SEND_F0, place 1RECV_B0, sent 1SEND_F0, run 1B0, result 1SEND_B0, "
        "run REDUCE1, run STEP1, sent 1SEND_B0");
}

TEST_F(SingleEngine, CompletesASendBeforeItReusesTheBuffer) {
    execute("1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1");

    EXPECT_EQ(
        worker_.notes(),
        "place 1RECV_F0, run 1F0, result 1SEND_F0, place 1RECV_F1, sent 1SEND_F0, run 1F1, result 1SEND_F1, "
        "sent 1SEND_F1");
}

TEST_F(SingleEngine, KeepsOneResultPerSlotOfAChannel) {
    shape_.slots = 2;

    execute("1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1");

    EXPECT_EQ(worker_.notes(),
              "place 1RECV_F0, run 1F0, result 1SEND_F0, place 1RECV_F1, run 1F1, result 1SEND_F1, "
              "sent 1SEND_F0, sent 1SEND_F1");
}

TEST_F(SingleEngine, SkipsMicrobatchesWithoutRows) {
    worker_.empty(1);

    execute("1RECV_F0,1F0,1SEND_F0,1RECV_F1,1F1,1SEND_F1");

    EXPECT_EQ(worker_.notes(), "place 1RECV_F0, run 1F0, result 1SEND_F0, sent 1SEND_F0");
}

TEST_F(SingleEngine, ContinuesAfterAValidUpdate) {
    execute("STEP1,1RECV_F1,1F1,1SEND_F1,VALIDATE1,1RECV_F2,1F2");

    EXPECT_EQ(worker_.notes(),
              "run STEP1, place 1RECV_F1, run 1F1, result 1SEND_F1, judge VALIDATE1, place 1RECV_F2, "
              "sent 1SEND_F1, run 1F2");
}

// All forwards after the update are run again, once their messages are complete. 1F0 is older and stays.
TEST_F(SingleEngine, RepeatsForwardsThatUsedARolledBackUpdate) {
    worker_.reject_next_update();
    shape_.slots = 2;

    execute("1RECV_F0,1F0,1SEND_F0,STEP1,1RECV_F1,1F1,1SEND_F1,VALIDATE1,1RECV_F2,1F2");

    EXPECT_EQ(worker_.notes(),
              "place 1RECV_F0, run 1F0, result 1SEND_F0, run STEP1, place 1RECV_F1, run 1F1, result 1SEND_F1, "
              "judge VALIDATE1, sent 1SEND_F0, sent 1SEND_F1, undo 1F1, place 1RECV_F1, run 1F1, "
              "result 1SEND_F1, place 1RECV_F2, run 1F2, sent 1SEND_F1");
}

TEST_F(SingleEngine, DoesNotUndoMicrobatchesWithoutRows) {
    worker_.reject_next_update();
    worker_.empty(2);

    execute("STEP1,1RECV_F1,1F1,1RECV_F2,1F2,VALIDATE1");

    EXPECT_EQ(worker_.notes(),
              "run STEP1, place 1RECV_F1, run 1F1, judge VALIDATE1, undo 1F1, place 1RECV_F1, run 1F1");
}

TEST_F(SingleEngine, ReportsItsPosition) {
    EXPECT_EQ(engine_.describe_position(), "is between programs");
    EXPECT_FALSE(engine_.is_executing());

    execute("1RECV_F2,1F2,1SEND_F2,STEP1");

    EXPECT_EQ(worker_.positions(), (std::vector<std::string>{"stands at 1F2, instruction 2 of 4",
                                                             "stands at STEP1, instruction 4 of 4"}));
    EXPECT_EQ(engine_.describe_position(), "is between programs");
}

// Returns a description per event, such as "compute 1F0 of step 7, 0 bytes".
std::vector<std::string> describe_events(const std::vector<device::TraceEvent>& events) {
    std::vector<std::string> words;
    for (const device::TraceEvent& event : events) {
        words.push_back(
            cat(to_string(event.lane), ' ', event.name, " of step ", event.step, ", ", event.bytes, " bytes"));
    }
    return words;
}

// Micro-batches 3 to 5 belong to the second step of a segment.
TEST_F(SingleEngine, TracesInstructionsMessagesAndWaits) {
    trace_.begin_step(6, 0);

    execute("1RECV_F1,1F1,1SEND_F1,1RECV_B1,1I1,1SEND_B1,1W1,REDUCE1,STEP1,1RECV_F3,1F3,VALIDATE1");

    EXPECT_EQ(describe_events(trace_.events()),
              (std::vector<std::string>{
                  "messages 1RECV_F1 of step 6, 4 bytes", "messages wait for 1RECV_F1 of step 6, 0 bytes",
                  "compute 1F1 of step 6, 0 bytes", "messages 1SEND_F1 of step 6, 4 bytes",
                  "messages 1RECV_B1 of step 6, 4 bytes", "messages wait for 1RECV_B1 of step 6, 0 bytes",
                  "compute 1I1 of step 6, 0 bytes", "messages 1SEND_B1 of step 6, 4 bytes",
                  "messages wait for 1SEND_F1 of step 6, 0 bytes", "compute 1W1 of step 6, 0 bytes",
                  "compute REDUCE1 of step 6, 0 bytes", "compute STEP1 of step 6, 0 bytes",
                  "messages 1RECV_F0 of step 7, 4 bytes", "messages wait for 1RECV_F0 of step 7, 0 bytes",
                  "compute 1F0 of step 7, 0 bytes", "compute VALIDATE1 of step 6, 0 bytes",
                  "messages wait for 1SEND_B1 of step 6, 0 bytes"}));
    const device::TraceEvent forward = trace_.events()[14];
    EXPECT_EQ(forward.stage, 1);
    EXPECT_EQ(forward.microbatch, 0);
}

// Repeated forwards come after the VALIDATE that rejected the update, not within it.
TEST_F(SingleEngine, TracesRepeatedForwardsAfterTheValidation) {
    trace_.begin_step(1, 0);
    worker_.reject_next_update();

    execute("STEP1,1F1,VALIDATE1");

    std::vector<std::string> names;
    for (const device::TraceEvent& event : trace_.events()) names.push_back(event.name);
    EXPECT_EQ(names, (std::vector<std::string>{"STEP1", "1F1", "VALIDATE1", "1F1"}));
    EXPECT_LE(trace_.events()[2].end, trace_.events()[3].begin);
}

TEST_F(SingleEngine, TracesNothingOutsideTheTracedSteps) {
    trace_.begin_step(10, 0);

    execute("1RECV_F0,1F0,1SEND_F0");

    EXPECT_TRUE(trace_.events().empty());
}

}  // namespace
}  // namespace trireme::pipeline
