// What a run achieved, beside what the machine could have done.
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

// The parts of a bubble are fractions of the step.
struct BubbleParts {
    double schedule = 0;     // waiting for other stages
    double wait_tensor = 0;  // waiting for the other ranks of a team
    double wait_data = 0;    // waiting for other replicas
    double wait_other = 0;   // the rest: other waits, and work outside of kernels
};

BubbleParts parts_of_bubble(double seconds, double compute_seconds, const plan::RankWaits& waits);

// What came of a change of plan. Equal on all ranks.
struct PlanChange {
    std::string from = {}, to = {};  // hashes
    std::size_t moved_bytes = 0;     // that ranks sent to each other, or went through twins, or were read
    std::size_t kept_bytes = 0;      // that stayed with their ranks
    double seconds = 0;              // of the slowest rank
};

// Why a run ended before its last step.
struct EarlyEnd {
    std::size_t step = 0;  // so many are behind it
    std::string because;
    bool is_saved = true;  // its last checkpoint is on disk
};

// What summary.json and the last lines on the console say.
struct Figures {
    std::size_t steps = 0;
    std::size_t skipped_steps = 0;
    // Updates that ran ahead of the gradient's norm and were undone. Empty if all updates wait for the norm.
    std::optional<std::size_t> rolled_back = {};
    std::size_t earlier_steps = 0;  // of earlier starts of the run
    std::size_t judged_steps = 0;  // whose losses are known: of this start, and of earlier ones if the first is
    std::optional<double> first_loss;  // of the run, over all its starts; none where every step was skipped
    std::optional<double> last_loss;   // mean of the last tenth of the steps
    std::optional<Evaluation> validation;
    double seconds = 0;  // of all steps
    double median_step_seconds = 0;
    double last_step_seconds = 0;
    std::size_t tokens = 0;
    std::size_t padded_tokens = 0;
    double flops = 0;                    // of the model, not of the machine
    std::optional<double> causal_flops;  // none: the model is not causal
    double peak_flops = 0;               // FMA rate of all ranks together, measured
    double compute_seconds = 0;          // mean over the ranks
    plan::RankWaits waits = {};          // mean over the ranks
    int ranks = 1;
    std::vector<double> joules_of_ranks = {};  // empty where some are not measured
    std::size_t predicted_bytes = 0;           // per rank
    std::optional<std::size_t> grown_bytes =
        {};                        // per rank, of its memory; empty for ghosts, which hold nothing
    std::size_t saves = 0;         // checkpoints that were begun
    double save_seconds = 0;       // that rank 0 stood still for them
    double save_wait_seconds = 0;  // of these, for the one before to be written
    std::string complaint;         // why the run is INVALID; empty: VALID
    std::vector<std::string> approximations = {};  // why losses are not the exact ones; empty: they are
    std::vector<std::string> remarks = {};         // what else the verdict needs
    std::string slowed = {};                       // which ranks were slowed on purpose; empty: none
    std::optional<EarlyEnd> stopped = {};          // none: it took all of its steps

    std::optional<double> joules() const;  // of all ranks
    double tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
    double mfu() const { return flops / (seconds * peak_flops); }
    std::optional<double> mfu_causal() const {
        if (!causal_flops) return std::nullopt;
        return *causal_flops / (seconds * peak_flops);
    }
    double bubble_limit = 0;  // of the schedule, were all stages equal
    std::size_t plan_changes = 0;
    double change_seconds = 0;  // that they took, beside the steps
    std::size_t moved_bytes = 0;
    std::size_t looks = 0;    // at what was observed, behind which the plan stayed
    double look_seconds = 0;  // that they took, beside the steps
    double bubble() const { return 1 - compute_seconds / seconds; }
    BubbleParts bubble_parts() const { return parts_of_bubble(seconds, compute_seconds, waits); }
};

// Remarks on a growth of memory that exceeds the prediction by more than 5 % and 8 MB; otherwise empty.
std::string remark_on_memory(std::size_t grown_bytes, std::size_t predicted_bytes);

// Adds up the steps of a start of a run.
class FigureSum {
public:
    FigureSum(const setup::ModelFlops& flops, double peak_flops, int ranks, double bubble_limit = 0);
    void go_on_from(const setup::EarlierSteps& earlier);
    void add(const StepOutcome& outcome);
    // Between two steps.
    void add_change_of_plan(const PlanChange& change, double bubble_limit);
    void add_look(double seconds);
    // `parts` are the parts of the blocks' matrix products that ranks leave out from now on; empty if none do.
    void leave_out(std::vector<double> parts) { left_out_ = std::move(parts); }
    // A later measurement of the peak; the larger one counts.
    void measure_peak_again(double flops) { figures_.peak_flops = std::max(figures_.peak_flops, flops); }
    // The steps of this start and of all earlier ones.
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
    double bubble_limit_;                     // of the plan
    double idle_seconds_at_least_ = 0;        // by the plans, in all steps
    std::vector<double> left_out_ = {};       // by the plan
    std::vector<double> left_out_sums_ = {};  // over the steps
    std::vector<double> losses_;
    std::vector<double> seconds_;  // of each step
    double highest_rate_ = 0;  // flops a second of the fastest step, by the count that no kernel can go below
    std::size_t fastest_step_ = 0;
};

}  // namespace trireme::records
