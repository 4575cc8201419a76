// A worker without a model. Every number that it makes says which stage, micro-batch, row and column made it,
// and after how many updates in vain, so that everything that arrives can be compared; and it holds an engine
// to its contract.
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
    std::vector<std::size_t> rows;  // of each micro-batch
    std::size_t parts = 1;          // into which these are cut,
    std::size_t part = 0;           // and which of them this rank has
    std::size_t width = 3;
    bool updates_in_vain = false;  // every second update does not stand
};

class CountingWorker final : public StageWorker {
public:
    explicit CountingWorker(CountingWork work) : work_(std::move(work)) {}

    std::size_t rows(int microbatch) const override { return work_.rows[static_cast<std::size_t>(microbatch)]; }
    device::Tensor place_for(const schedule::Instruction& receive) override;
    device::ConstTensor result_for(const schedule::Instruction& send) override;
    void sent(const schedule::Instruction& send) override;
    void run(const schedule::Instruction& instruction) override;
    bool stands(const schedule::Instruction& validate) override;
    void undo(const schedule::Instruction& forward) override;

    int updates_in_vain() const { return updates_in_vain_; }
    // Expects all of the program to have been done, in its order, but for micro-batches without rows.
    void expect_all_done(const schedule::Program& program) const;

private:
    enum class Direction : std::uint8_t { forward, backward };
    using Passing = std::tuple<Direction, int, int>;  // of a stage's result: stage, micro-batch
    using Numbers = std::vector<std::int64_t>;

    void forward(const schedule::Instruction& instruction);
    void backward(const schedule::Instruction& instruction);
    void expect_own_result_sent(const schedule::Instruction& backward) const;
    void read(const Passing& passing, const schedule::Instruction& reader);
    void make(const Passing& passing);
    bool leaves(const Passing& passing) const;
    int reader_of(const Passing& passing) const;  // a team
    Numbers numbers_of(const Passing& passing) const;
    layout::Range own_rows(int microbatch) const;
    template <class View>
    View view_of(Numbers& numbers, int microbatch) const;

    static Passing result_of(const schedule::Instruction& send);
    static Passing input_of(const schedule::Instruction& receive);

    CountingWork work_;
    schedule::Program ran_;                                // in this order, each where it ran first
    schedule::Program undone_;                             // and to be run again
    std::map<Passing, Numbers> made_;                      // results, until they are sent
    std::map<Passing, Numbers> placed_;                    // for receives
    std::map<Passing, int> times_sent_;                    // that the engine said so
    std::map<Passing, int> times_asked_;                   // for a result or a place
    std::map<std::pair<int, Direction>, int> in_channel_;  // results made and not sent yet, per team that reads
    std::map<int, int> validates_;                         // per stage: VALIDATEs so far
    int validated_ = 0;                                    // steps
    int updates_in_vain_ = 0;
};

}  // namespace trireme::pipeline
