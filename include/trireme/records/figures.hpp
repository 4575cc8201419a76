// The figures of merit of a run, and the limits that the machine and the schedule set for them.
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

// The bubble is the fraction of the step time in which a rank executes no kernels, as the mean over the ranks.
// Each field is the fraction of the step time that one cause takes. The fields add up to the bubble.
struct BubbleBreakdown {
    double schedule = 0;     // waiting for other stages
    double wait_tensor = 0;  // waiting for the other ranks of a team
    double wait_data = 0;    // waiting for other data-parallel replicas
    double wait_other = 0;   // the rest: other waits, and work outside of kernels
};

// Splits the bubble of steps that took `seconds`. The other arguments are means over the ranks.
BubbleBreakdown split_bubble(double seconds, double compute_seconds, const plan::RankWaits& waits);

// The measured cost of a change of plan. Equal on all ranks.
struct PlanChange {
    std::string from = {}, to = {};  // hashes of the plans before and after the change
    // Bytes of training state, summed over the ranks.
    std::size_t moved_bytes = 0;  // sent, copied through node memory, or read from disk
    std::size_t kept_bytes = 0;   // stayed on their ranks
    double seconds = 0;           // duration on the slowest rank
};

// The reason why a run ended before its last step.
struct EarlyEnd {
    std::size_t step = 0;  // number of completed steps
    std::string reason;    // for users
    bool is_saved = true;  // true if the last checkpoint is on disk
};

// The figures of merit in summary.json and on the console.
struct Figures {
    std::size_t steps = 0;          // steps of this start of the run
    std::size_t skipped_steps = 0;  // steps without an update, because a value was not finite
    // Number of speculative updates that were rolled back. Empty if all updates wait for the gradient norm.
    std::optional<std::size_t> rolled_back_updates = {};
    std::optional<std::size_t> steps_fitted_to_memory = {};  // see StepOutcome::deficit_bytes
    ElasticOutcomes elastic_outcomes = {};                   // empty unless the layout follows lengths
    std::size_t earlier_steps = 0;                           // steps of earlier starts of the run
    // Number of steps over which the verdict compares losses. Steps of earlier starts are included if the first
    // loss of these starts is known.
    std::size_t judged_steps = 0;
    // Finite losses of the steps that were not skipped. Both are empty if this start has no such loss.
    std::optional<double> first_loss;  // first loss over all starts of the run
    std::optional<double> last_loss;   // mean of the last tenth of this start's losses
    std::optional<Evaluation> validation;
    double seconds = 0;  // sum over the steps of this start
    double median_step_seconds = 0, last_step_seconds = 0;
    std::optional<double> median_step_joules = {}, last_step_joules = {};  // of all ranks; see energy_of_ranks
    // PlanOrigin::baseline, and medians over the last tenth of the steps.
    std::optional<setup::StepFigures> before_clocks = {}, late_step = {};
    std::size_t tokens = 0, padded_tokens = 0;  // without and with padding
    double flops = 0;                           // FLOPs that the model needs, not those that kernels execute
    std::optional<double> causal_flops;  // without the masked half of attention scores, if the model is causal
    double peak_flops = 0;               // peak FLOP/s of all ranks together
    double compute_seconds = 0;          // in kernels; mean over the ranks
    plan::RankWaits waits = {};          // mean over the ranks
    int ranks = 1;
    std::vector<EnergyPhases> energy_of_ranks = {};  // empty if some ranks are not measured
    std::size_t predicted_bytes = 0;                 // predicted memory of the rank that needs the most memory
    // Memory growth of the rank whose memory grew most; empty for ghosts, which hold no memory.
    std::optional<std::size_t> growth_bytes = {};
    std::size_t saves = 0;         // number of checkpoints that were begun
    double save_seconds = 0;       // time for which checkpoints blocked rank 0
    double save_wait_seconds = 0;  // included in save_seconds: waiting for the previous checkpoint
    std::string complaint;         // why the run is INVALID; empty if it is VALID
    std::vector<std::string> approximations = {};  // why the losses are not exact; empty if they are exact
    std::vector<std::string> remarks = {};         // remarks that qualify the verdict
    std::string emulated_slowness = {};            // describes the ranks that --slow slows; empty if none
    std::optional<EarlyEnd> early_end = {};        // set if the run ended before its last step

    double compute_tokens_per_second() const { return static_cast<double>(tokens) / seconds; }
    double compute_mfu() const { return flops / (seconds * peak_flops); }
    std::optional<double> compute_causal_mfu() const {
        if (!causal_flops) return std::nullopt;
        return *causal_flops / (seconds * peak_flops);
    }
    double bubble_limit = 0;  // bubble that the schedule would have if all stages took equal times
    std::size_t plan_changes = 0;
    double plan_change_seconds = 0;  // time of the plan changes, not included in `seconds`
    std::size_t moved_bytes = 0;
    std::size_t looks = 0;    // number of times that the policy read the observations and kept the plan
    double look_seconds = 0;  // time of these looks, not included in `seconds`
    double compute_bubble() const { return 1 - compute_seconds / seconds; }
    BubbleBreakdown break_down_bubble() const { return split_bubble(seconds, compute_seconds, waits); }
};

// Returns a remark if the memory of a rank grew by more than predicted. The excess must be over 5 % of the
// prediction and over 8 MB. Otherwise returns an empty text.
std::string make_memory_remark(std::size_t growth_bytes, std::size_t predicted_bytes);

// Adds up the steps of one start of a run. Every rank has a FigureSum with equal values.
class FigureSum {
public:
    FigureSum(const setup::ModelFlops& flops, double peak_flops, int ranks, double bubble_limit = 0);
    // Takes over the summary of earlier starts that a checkpoint contains. Called before the first step.
    void resume_from(const setup::EarlierSteps& earlier);
    void add(const StepOutcome& outcome);
    // Called between two steps. `bubble_limit` is the bubble limit of the new plan.
    void add_plan_change(const PlanChange& change, double bubble_limit);
    // Adds the time of a look: the policy read the observations and kept the plan.
    void add_look(double seconds);
    // Sets the fraction of its block matmuls that each rank skips from now on. `fractions` has one entry per
    // rank, or none if no rank skips matmuls.
    void set_skipped_fractions(std::vector<double> fractions) { skipped_fractions_ = std::move(fractions); }
    // Adds a later measurement of the peak FLOP/s of all ranks. The largest measurement so far counts.
    void add_peak_measurement(double flops) { figures_.peak_flops = std::max(figures_.peak_flops, flops); }
    // Returns the summary of this start and all earlier starts, for a checkpoint.
    setup::EarlierSteps summarise_steps() const;
    Figures finish(const std::optional<Evaluation>& validation) const;
    // Returns the figures of an INVALID run; `complaint` says why it is invalid.
    Figures finish_invalid(const std::string& complaint) const;

private:
    void add_energy(const StepOutcome& outcome);
    void track_fastest_step(const StepOutcome& outcome);
    std::vector<std::string> list_approximations() const;
    std::optional<double> find_first_loss() const;

    setup::ModelFlops flops_;
    Figures figures_;
    setup::EarlierSteps earlier_;
    double bubble_limit_;                             // of the current plan
    double min_idle_seconds_ = 0;                     // sum over the steps of (bubble limit * step time)
    std::vector<double> skipped_fractions_ = {};      // per rank, in the current plan
    std::vector<double> skipped_fraction_sums_ = {};  // per rank, sum over the steps
    std::vector<double> losses_;
    std::vector<double> step_seconds_;  // per step
    std::vector<double> step_joules_;   // per measured step
    // FLOP/s of the fastest step. FLOPs of masked scores, which kernels may skip, do not count.
    double max_flop_rate_ = 0;
    std::size_t fastest_step_ = 0;  // counts from 1
};

}  // namespace trireme::records
