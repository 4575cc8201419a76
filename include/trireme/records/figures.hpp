// The figures of merit of a run, beside the limits that machine and schedule set.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trireme/records/evaluation.hpp"
#include "trireme/records/step_outcome.hpp"
#include "trireme/setup/model_flops.hpp"
#include "trireme/setup/setup.hpp"

namespace trireme::records {

// The parts of a bubble, as fractions of the step time.
struct BubbleParts {
    double schedule = 0;     // waiting for other stages
    double wait_tensor = 0;  // waiting for the other ranks of a team
    double wait_data = 0;    // waiting for other replicas
    double wait_other = 0;   // the rest: other waits, and work outside of kernels
};

BubbleParts parts_of_bubble(double seconds, double compute_seconds, const plan::RankWaits& waits);

// The result of a change of plan. Equal on all ranks.
struct PlanChange {
    std::string from = {}, to = {};  // hashes of the plans
    std::size_t moved_bytes = 0;     // bytes that were sent, went through node memory, or were read from disk
    std::size_t kept_bytes = 0;      // bytes that stayed on their ranks
    double seconds = 0;              // duration on the slowest rank
};

// The reason why a run ended before its last step.
struct EarlyEnd {
    std::size_t step = 0;  // number of steps done
    std::string because;
    bool is_saved = true;  // the last checkpoint is on disk
};

// The figures of merit in summary.json and on the console.
struct Figures {
    std::size_t steps = 0;
    std::size_t skipped_steps = 0;
    // Speculative updates that were rolled back. Empty if all updates wait for the gradient norm.
    std::optional<std::size_t> rolled_back = {};
    std::size_t earlier_steps = 0;  // steps of earlier starts of the run
    std::size_t judged_steps = 0;   // steps of this start, and of earlier starts if their first loss is known
    std::optional<double> first_loss;  // first loss of the run, over all its starts; empty if all were skipped
    std::optional<double> last_loss;   // mean of the last tenth of the steps
    std::optional<Evaluation> validation;
    double seconds = 0;  // sum over all steps
    double median_step_seconds = 0;
    double last_step_seconds = 0;
    std::size_t tokens = 0;
    std::size_t padded_tokens = 0;
    double flops = 0;                    // FLOPs that the model needs, not those that kernels execute
    std::optional<double> causal_flops;  // the same without masked scores; empty if the model is not causal
    double peak_flops = 0;               // peak FLOP/s of all ranks together
    double compute_seconds = 0;          // mean over the ranks
    plan::RankWaits waits = {};          // mean over the ranks
    int ranks = 1;
    std::vector<double> joules_of_ranks = {};  // empty if some ranks are not measured
    std::size_t predicted_bytes = 0;           // predicted memory of the fullest rank
    // Growth of the memory of the rank that grew most; empty for ghosts, which hold no memory.
    std::optional<std::size_t> grown_bytes = {};
    std::size_t saves = 0;         // number of checkpoints that were begun
    double save_seconds = 0;       // time for which they blocked rank 0
    double save_wait_seconds = 0;  // the part of it that was spent on waiting for the previous checkpoint
    std::string complaint;         // why the run is INVALID; empty if it is VALID
    std::vector<std::string> approximations = {};  // why losses are not exact; empty if they are
    std::vector<std::string> remarks = {};         // remarks that qualify the verdict
    std::string slowed = {};                       // which ranks --slow slowed; empty if none
    std::optional<EarlyEnd> stopped = {};          // set if the run ended before its last step

    std::optional<double> joules() const;  // sum over all ranks
    double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
    double mfu() const { return flops / (seconds * peak_flops); }
    std::optional<double> mfu_causal() const {
        if (!causal_flops) return std::nullopt;
        return *causal_flops / (seconds * peak_flops);
    }
    double bubble_limit = 0;  // bubble of the schedule if all stages took equal times
    std::size_t plan_changes = 0;
    double change_seconds = 0;  // time of the changes, not part of the steps
    std::size_t moved_bytes = 0;
    std::size_t looks = 0;    // decisions of the policy after which the plan stayed
    double look_seconds = 0;  // time of these decisions, not part of the steps
    double bubble() const { return 1 - compute_seconds / seconds; }
    BubbleParts bubble_parts() const { return parts_of_bubble(seconds, compute_seconds, waits); }
};

// Returns a remark if the growth of memory exceeds the prediction by more than 5 % and 8 MB; otherwise empty.
std::string remark_on_memory(std::size_t grown_bytes, std::size_t predicted_bytes);

// Adds up the steps of a start of a run.
class FigureSum {
public:
    FigureSum(const setup::ModelFlops& flops, double peak_flops, int ranks, double bubble_limit = 0);
    void go_on_from(const setup::EarlierSteps& earlier);
    void add(const StepOutcome& outcome);
    // Called between two steps. `bubble_limit` is that of the new plan.
    void add_change_of_plan(const PlanChange& change, double bubble_limit);
    void add_look(double seconds);
    // Sets the fraction of the blocks' matmuls that each rank skips from now on; empty if no rank skips any.
    void leave_out(std::vector<double> parts) { left_out_ = std::move(parts); }
    // Adds a later measurement of the peak; the larger one counts.
    void measure_peak_again(double flops) { figures_.peak_flops = std::max(figures_.peak_flops, flops); }
    // Returns a summary of the steps of this start and of all earlier ones.
    setup::EarlierSteps so_far() const;
    Figures finish(const std::optional<Evaluation>& validation) const;
    Figures finish_invalid(const std::string& complaint) const;

private:
    void add_energy(const StepOutcome& outcome);
    void add_rate(const StepOutcome& outcome);
    std::vector<std::string> approximations() const;
    std::optional<double> first_loss() const;

    setup::ModelFlops flops_;
    Figures figures_;
    setup::EarlierSteps earlier_;
    double bubble_limit_;                     // of the current plan
    double idle_seconds_at_least_ = 0;        // sum over the steps of bubble limit times step time
    std::vector<double> left_out_ = {};       // skipped fraction per rank in the current plan
    std::vector<double> left_out_sums_ = {};  // per rank, sum over the steps
    std::vector<double> losses_;
    std::vector<double> seconds_;   // per step
    double highest_rate_ = 0;       // FLOP/s of the fastest step, from the FLOPs that no kernel can avoid
    std::size_t fastest_step_ = 0;  // counts from 1
};

}  // namespace trireme::records
