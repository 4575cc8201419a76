// Passes every event of a run to the console, the run directory and the figures of merit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "trireme/comm/session.hpp"
#include "trireme/records/console.hpp"
#include "trireme/records/figures.hpp"
#include "trireme/records/run_directory.hpp"
#include "trireme/setup/setup.hpp"
#include "trireme/setup/step_predictor.hpp"

namespace trireme::run {

// The run and the machine that a manifest describes.
struct RunDescription {
    const setup::Job& job;
    const plan::Plan& plan;
    const comm::Session& session;
    std::vector<std::string> hosts = {};  // name of the host, per rank
    int threads = 1;                      // per rank
    std::vector<std::string> cores = {};  // usable cores per rank; empty in a simulation
    // Transport between GPUs and why it was chosen; empty if GPUs exchange no messages.
    std::string gpu_messages = {};
};

// Returns the manifest of the run, without the peak rate, which Recorder::record_begin() adds.
records::Manifest make_manifest(const RunDescription& run);

class Recorder {
public:
    // Makes a recorder that always sums up the figures of merit. If `writes` is true (on rank 0), the recorder
    // also prints to the console and writes the run directory. `job` must outlive this object.
    Recorder(const setup::Job& job, records::Manifest manifest, bool writes);

    void set_hosts(std::vector<std::string> hosts) { manifest_.hosts = std::move(hosts); }

    // Prints the head of the log: the run, its plan, and `memory`, the prediction for the rank that needs the
    // most memory.
    void print_head(const setup::PlanState& current, const setup::PlanOrigin& origin,
                    const setup::RankMemory& memory);
    // Opens the run directory if this recorder writes. Throws ConfigError if the directory cannot be used.
    void open_directory();
    // Records the beginning of the run. Called after open_directory() and before any other event. `memory` is
    // the prediction for the rank that needs the most memory.
    void record_begin(const setup::PlanState& current, const setup::PlanOrigin& origin,
                      const setup::RankMemory& memory, const setup::PeakRate& peak);

    // Records a step and the changes of rank slowness that it revealed.
    void record_step(records::StepOutcome outcome, const std::vector<policy::SlownessChange>& changes);
    // Records an evaluation after `step` steps.
    void record_evaluation(std::size_t step, const records::Evaluation& evaluation);
    // Records that the run has changed from its previous plan to the plan in `current`.
    void record_plan_change(const plan::Decision& decision, const records::PlanChange& change,
                            const setup::PlanState& current);
    // Records the seconds that ranks spent on a decision to keep the plan.
    void record_decision_time(double seconds);
    // Records why the plan was kept after `step` steps; no-op if `why` is empty.
    void record_plan_kept(std::size_t step, const std::string& why);
    // Records the end of --reconfigure after `step` steps; no-op if `figures` is empty.
    void record_settled_clocks(std::size_t step, const std::string& figures);
    // Writes the costs that a sweep of clocks has measured so far.
    void record_clock_costs(const plan::ClockCosts& costs);
    void record_save(const records::SaveOutcome& outcome);
    void record_save_wait(const records::SaveWait& wait);
    // Records that the run ends because its loss or gradients are not finite.
    void record_divergence(const std::string& complaint);
    // Adds a second measurement of the peak FLOP/s of all ranks, made after the last step. The larger
    // measurement counts.
    void add_peak_measurement(double flops) { figure_sum_->add_peak_measurement(flops); }
    // `validation` is the evaluation after the last step, if there was one.
    records::Figures compute_figures(const std::optional<records::Evaluation>& validation) const;
    // Records the end of the run. Called after the last checkpoint is on disk or has failed. If the run ended
    // early and that checkpoint is on disk, also writes the file `stopped`.
    void record_end(records::Figures figures);

    const setup::PeakRate& peak() const { return manifest_.peak; }
    setup::EarlierSteps steps_so_far() const { return figure_sum_->summarise_steps(); }
    // Returns the run directory; empty if this recorder has not opened it.
    std::filesystem::path path() const { return directory_ ? directory_->path() : std::filesystem::path(); }

private:
    void add_predictions(records::StepOutcome& outcome);

    const setup::Job& job_;
    records::Manifest manifest_;
    setup::ModelFlops flops_;
    std::optional<records::FigureSum> figure_sum_;      // empty until record_begin()
    std::optional<setup::StepPredictor> predictor_;     // empty until record_begin(), or if not writing
    std::optional<records::Console> console_;           // empty if this recorder does not write
    std::unique_ptr<records::RunDirectory> directory_;  // null until open_directory(); null if not writing
    std::string last_save_complaint_;  // why the last checkpoint could not be written; empty if it is on disk
};

}  // namespace trireme::run
