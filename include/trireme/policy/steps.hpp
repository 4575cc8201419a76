// Forms the micro-batches of a step by their predicted times, as DynaPipe does (Jiang et al., EuroSys 2024).
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "trireme/plan/kernel_sums.hpp"
#include "trireme/plan/microbatch.hpp"
#include "trireme/plan/plan.hpp"

namespace trireme::policy {

struct StepSample {
    plan::SampleVisit visit;
    std::size_t length = 0;          // in tokens
    std::size_t predicted_rows = 0;  // tokens with a target
};

// The kernel times of all stages. Stages with equal work share an entry of `sums`.
struct StageSums {
    std::vector<plan::KernelSums> sums;
    std::vector<std::size_t> index_of_stage;  // per stage: index in `sums`
};

// The rules by which samples form a micro-batch.
struct MicrobatchRules {
    bool is_packed = false;    // samples follow each other without padding
    std::size_t max_rows = 0;  // maximum rows per micro-batch, including padding, that fit into memory
};

// Returns the smallest number of micro-batches into which the samples of a step can be cut after they have been
// sorted by length. `lengths` has the length of each sample in tokens, in any order.
std::size_t count_fewest_microbatches(std::vector<std::size_t> lengths, const MicrobatchRules& rules);

// The micro-batches of a step, in the order of the plan.
struct FormedStep {
    std::vector<std::vector<plan::SampleVisit>> microbatches;  // the samples of each; empty if it is not needed
    double nanoseconds = 0;                                    // predicted; equal on all ranks
};

class StepFormer {
public:
    StepFormer(const plan::ProvedPrograms& programs, MicrobatchRules rules, StageSums stages);
    ~StepFormer();

    // Forms the micro-batches of a step. The result depends on the samples, not on their order:
    // - The samples are sorted by length, and cut into consecutive groups, the micro-batches. With S stages,
    //   the cut minimizes (S - 1) t + f. The time of a micro-batch is the time of its slowest stage, t is the
    //   longest time of a micro-batch, and f is the sum of the times of the micro-batches of the replica with
    //   the most work. (DynaPipe takes the mean of this sum over all replicas, some of which may have no
    //   micro-batch.) The cut has no more micro-batches than the plan.
    // - The Karmarkar-Karp method distributes the micro-batches over the replicas. Replicas with more turns get
    //   more work in proportion.
    // - The micro-batches are put into at most 4 classes by their times. Of all orders of the classes, the one
    //   with the shortest predicted step is chosen.
    // Throws ConfigError if a sample has more than `max_rows` tokens, or if the step needs more micro-batches
    // than the plan has.
    FormedStep form(std::vector<StepSample> samples);
    // Returns false if form() would throw.
    bool can_form(const std::vector<StepSample>& samples) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

// A step that one of several formers has formed.
struct FastestStep {
    std::size_t former = 0;  // index
    FormedStep step;
};

// Forms a step with each of `formers` that can form it, and returns the step with the shortest predicted time.
// If several steps take the shortest time, the step of the first former is returned. If no former can form the
// step, throws as the last one does.
FastestStep form_fastest(std::deque<StepFormer>& formers, const std::vector<StepSample>& samples);

}  // namespace trireme::policy
