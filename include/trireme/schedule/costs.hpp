// Costs of the instructions of a step, at one clock of the devices or at several.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "trireme/schedule/instruction.hpp"

namespace trireme::schedule {

// Joules of all devices of a team for one pass or one STEP, in addition to those that idle devices would need
// in the same time; 0 if they are not known.
struct StageJoules {
    double forward = 0;
    double backward_input = 0;
    double backward_weight = 0;
    double step = 0;

    friend bool operator==(const StageJoules&, const StageJoules&) = default;
};

// Costs of one stage, in seconds or any other unit of time. `reduce` and `step` are costs per step; the other
// costs are per micro-batch. A backward that is not split takes backward_input + backward_weight, and its
// gradient is sent after both.
struct StageCost {
    double forward = 1;
    double backward_input = 1;
    double backward_weight = 1;
    // Duration of a message, from the start of its send or of its receive, whichever is later, to the arrival.
    double send = 0;
    double reduce = 0;  // from the latest REDUCE of all teams to the end of the reduction
    double step = 0;    // duration of a STEP
    StageJoules joules = {};
    double clocked = 1;  // fraction of the passes that follows the clock: see at_speed()

    // Returns the costs, without joules, at a clock with this fraction of the speed of the highest clock.
    // Messages, reductions and STEPs do not follow the clock.
    StageCost at_speed(double speed) const;

    double compute_pass_time() const { return forward + backward_input + backward_weight; }

    // Return the time for which an instruction keeps its team busy, and its joules. Both are 0 for sends,
    // receives, reductions, validations and CLOCKs, although a team may have to wait at them.
    double find_time(Op op) const;
    double find_joules(Op op) const;

    friend bool operator==(const StageCost&, const StageCost&) = default;
};

// The clocks of the devices of a team.
struct TeamClocks {
    std::vector<int> mhz = {};            // highest first
    std::vector<double> idle_watts = {};  // per clock: of all devices of the team together

    // Returns the index of a clock in `mhz`. Throws BugError if it is not listed.
    std::size_t find_index(int clock) const;

    friend bool operator==(const TeamClocks&, const TeamClocks&) = default;
};

// The costs of one step, or of several consecutive steps.
class StepCosts {
public:
    // All micro-batches of a stage have equal costs. `stages` has one entry per stage.
    StepCosts(const std::vector<StageCost>& stages);
    // `costs` is indexed by [stage][micro-batch]. Its micro-batches are those of all steps, or those of one
    // step if all steps have equal costs. In each stage and step, the REDUCE and the STEP of a team
    // have the costs of the last micro-batch that the team executes. `empty_microbatches` has one entry per
    // micro-batch, which is true if the micro-batch has no samples. No team executes or sends such a
    // micro-batch, so it costs nothing. `empty_microbatches` may be omitted if all micro-batches have samples.
    explicit StepCosts(std::vector<std::vector<StageCost>> costs, std::vector<bool> empty_microbatches = {});
    // The costs of consecutive steps, each with `microbatches` micro-batches, which are numbered over all
    // steps. Either all steps have the same clocks, or none has any.
    StepCosts(const std::vector<StepCosts>& steps, int microbatches);

    // Adds the clocks of each team, of which there is at least one. The object has the costs at the highest
    // clocks. `make_costs(k)` returns the costs at clock k of the team that executes a micro-batch, or at its
    // lowest clock if it has fewer.
    void add_clocks(std::vector<TeamClocks> teams,
                    const std::function<StepCosts(std::size_t clock)>& make_costs);

    std::size_t stages() const { return costs_.size(); }
    bool are_equal_for_all_microbatches() const;
    // True if every stage has equal costs for all micro-batches, or one cost per micro-batch of one step or of
    // `steps` steps. `empty_microbatches`, if given, must have one entry per micro-batch of one step or of
    // `steps` steps.
    bool fit_microbatches(int microbatches, int steps) const;
    bool has_empty_microbatches() const;
    // Micro-batches are numbered over all steps.
    bool is_empty(int microbatch) const;
    // `clock` is an index into TeamClocks::mhz of the team that executes the micro-batch.
    const StageCost& find(int stage, int microbatch, std::size_t clock = 0) const;

    const std::vector<TeamClocks>& clocks() const { return clocks_; }  // per team; empty if they are not known

private:
    // Indexed by [stage][micro-batch]; each stage has one entry if its costs are equal for all micro-batches.
    std::vector<std::vector<StageCost>> costs_;
    std::vector<bool> empty_microbatches_;  // no entries if all micro-batches have samples
    std::vector<TeamClocks> clocks_ = {};
    std::vector<StepCosts> lower_clocks_ = {};
};

}  // namespace trireme::schedule
