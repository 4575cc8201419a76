// Prints the progress of a run for its user. Only rank 0 prints.
#pragma once

#include <iosfwd>
#include <string>

#include "trireme/policy/slowness_watch.hpp"
#include "trireme/records/figures.hpp"
#include "trireme/records/run_directory.hpp"
#include "trireme/records/save_outcome.hpp"
#include "trireme/setup/rank_memory.hpp"

namespace trireme::records {

class Console {
public:
    // `out` and `job` must outlive the console.
    Console(std::ostream& out, const setup::Job& job);

    // Sets the number of steps of the run, which changes of plan may change.
    void set_steps(std::size_t steps) { steps_ = steps; }

    // Prints the head of the log: model, corpus, layout, memory and so on. `origin` says which plan a resumed
    // run begins with, and why; it may be empty. `memory` is the predicted memory of the rank that needs the
    // most memory.
    void print_header(const Manifest& manifest, const plan::Plan& plan, const std::string& origin,
                      const setup::RankMemory& memory, const std::string& run_dir);
    // Prints RunDirectory::remarks(), even with --quiet.
    void print_remarks(const std::vector<std::string>& remarks);
    // Called after every step. Prints every step whose number, counted from 1, is a multiple of --log-every,
    // and the last step. With --on-nan skip, also prints each step that has a non-finite value. `step` counts
    // from 0. `peak_flops` is the peak rate of all ranks together, in FLOP/s.
    void print_step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops,
                    double peak_flops);
    // Prints the result of an evaluation after `step` steps.
    void print_evaluation(std::size_t step, const Evaluation& evaluation);
    // Reports a failed checkpoint, and with --verbose also a completed one.
    void report_save(const SaveOutcome& outcome);
    // Reports the first wait of at least 0.1 s for the previous checkpoint; later waits are not reported.
    void report_save_wait(const SaveWait& wait);
    // Reports that the slowness of one rank changed, as measured in step `step` (from 0). Ranks that --slow
    // slows are measured and reported like any other rank.
    void report_slowness(std::size_t step, const policy::SlownessChange& change, const Manifest& manifest);
    // Prints once that the node of a rank lacks memory for entries of its cache, as seen in step `step` (from
    // 0).
    void report_full_cache(std::size_t step, int rank, const Manifest& manifest);
    // Prints that the plan was kept after `step` steps, and the reason `why`.
    void report_plan_kept(std::size_t step, const std::string& why);
    // Prints that --reconfigure has ended after `step` steps, and the figures of a step.
    void report_settled_clocks(std::size_t step, const std::string& figures);
    // Reports a change of plan. `decision` has the step and the reason of the change, and `change` has its
    // measured cost.
    void report_plan_change(const plan::Decision& decision, const PlanChange& change);
    // Prints the figures of merit, even with --quiet. `peak_description` says how the peak rate was found.
    void print_summary(const Figures& figures, const std::string& peak_description, const std::string& run_dir);

private:
    void flush();

    std::ostream& out_;
    const setup::Job& job_;
    std::size_t steps_;
    double step_seconds_ = 0;     // total duration of the steps since the run was started or resumed
    std::size_t step_count_ = 0;  // number of these steps, printed or not
    bool has_reported_wait_ = false;
    bool has_reported_full_cache_ = false;
    bool has_reported_lost_output_ = false;
};

}  // namespace trireme::records
