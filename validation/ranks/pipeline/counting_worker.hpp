// A worker without a model, which checks that an engine keeps its contract. Every number encodes the stage,
// micro-batch, row and column that made it, and the number of rolled back updates, so that all received data
// can be verified.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/layout/box.hpp"
#include "trireme/pipeline/stage_worker.hpp"
#include "trireme/schedule/pipeline_shape.hpp"

namespace trireme::pipeline {

struct CountingWork {
    const schedule::PipelineShape& shape;
    int team = 0;
    std::vector<std::size_t> rows;  // per micro-batch
    std::size_t parts = 1;          // number of ranks among which these are divided
    std::size_t part = 0;           // this rank's index among them
    std::size_t width = 3;
    bool rollbacks = false;  // every second update is rolled back
};

class CountingWorker final : public StageWorker {
public:
    explicit CountingWorker(CountingWork work) : work_(std::move(work)) {}

    std::size_t count_rows(int microbatch) const override {
        return work_.rows[static_cast<std::size_t>(microbatch)];
    }
    device::Tensor provide_receive_buffer(const schedule::Instruction& receive) override;
    device::ConstTensor find_send_buffer(const schedule::Instruction& send) override;
    void finish_send(const schedule::Instruction& send) override;
    void set_clock(int) override {}
    void run(const schedule::Instruction& instruction) override;
    bool validate_update(const schedule::Instruction& validate) override;
    void discard_forward(const schedule::Instruction& forward) override;

    int rollbacks() const { return rolled_back_updates_; }
    // Expects all instructions of the program to have run in order, except those of empty micro-batches.
    void expect_all_done(const schedule::Program& program) const;

private:
    enum class Direction : std::uint8_t { forward, backward };
    using Passing = std::tuple<Direction, int, int>;  // a stage's result: direction, stage, micro-batch
    using Numbers = std::vector<std::int64_t>;

    void forward(const schedule::Instruction& instruction);
    void backward(const schedule::Instruction& instruction);
    void expect_own_result_sent(const schedule::Instruction& backward) const;
    void read(const Passing& passing, const schedule::Instruction& reader);
    void make(const Passing& passing);
    bool leaves(const Passing& passing) const;
    int reader_of(const Passing& passing) const;  // the team that reads it; -1 if none
    Numbers numbers_of(const Passing& passing) const;
    layout::Range own_rows(int microbatch) const;
    template <class View>
    View make_view(Numbers& numbers, int microbatch) const;

    static Passing result_of(const schedule::Instruction& send);
    static Passing find_input(const schedule::Instruction& receive);

    CountingWork work_;
    schedule::Program ran_;               // executed instructions, in the order of their first run
    schedule::Program undone_;            // instructions that must run again
    std::map<Passing, Numbers> made_;     // results that are not sent yet
    std::map<Passing, Numbers> placed_;   // memory of receives
    std::map<Passing, int> times_sent_;   // calls of finish_send()
    std::map<Passing, int> times_asked_;  // calls of find_send_buffer() and provide_receive_buffer()
    std::map<std::pair<int, Direction>, int> in_channel_;  // unsent results per reading team
    std::map<int, int> validates_;                         // number of VALIDATEs so far, per stage
    int validated_ = 0;                                    // number of validated steps
    int rolled_back_updates_ = 0;
};

}  // namespace trireme::pipeline
