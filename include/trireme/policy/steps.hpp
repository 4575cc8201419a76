// Forms the micro-batches of a step by their predicted times, as DynaPipe does (Jiang et al., EuroSys 2024).
#pragma once

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

// The rules of a micro-batch.
struct MicrobatchRules {
    bool is_packed = false;    // samples follow each other without padding
    std::size_t max_rows = 0;  // what memory allows, including padding
};

// Returns the smallest number of micro-batches into which the samples of a step can be cut by length.
std::size_t count_fewest_microbatches(std::vector<std::size_t> lengths, const MicrobatchRules& rules);

class StepFormer {
public:
    StepFormer(const plan::ProvedPrograms& programs, MicrobatchRules rules, StageSums stages);
    ~StepFormer();

    // Returns the samples of each micro-batch of a step, in the order of the plan. Micro-batches that are not
    // needed are empty. The result depends on the samples, not on their order:
    // - The samples are sorted by length, and cut into consecutive groups, the micro-batches. With S stages,
    //   the cut minimizes (S - 1) t + f, where t is the time of the slowest stage for the slowest micro-batch,
    //   and f the sum of these times over the micro-batches of the replica with the most work. (DynaPipe takes
    //   the mean over all replicas, which may have no micro-batch at all.) There are no more micro-batches than
    //   in the plan.
    // - The Karmarkar-Karp method distributes the micro-batches over the replicas. Replicas with more turns get
    //   more work in proportion.
    // - The micro-batches are put into at most 4 classes by their times. Of all orders of the classes, the one
    //   with the shortest predicted step is chosen. Throws ConfigError if a sample is longer than a micro-batch
    //   may be, or if the step needs more micro-batches than the plan has.
    std::vector<std::vector<plan::SampleVisit>> form(std::vector<StepSample> samples);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace trireme::policy
