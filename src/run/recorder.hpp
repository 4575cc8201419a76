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

namespace trireme::run {

// The run and the machine that a manifest describes.
struct RunPlace {
    const setup::Job& job;
    const plan::Plan& plan;
    const comm::Session& session;
    std::vector<std::string> hosts = {};  // per rank
    int threads = 1;                      // per rank
    std::vector<std::string> cores = {};  // usable cores per rank; empty for ghosts
    std::string gpu_messages = {};        // transport between GPUs, and why; empty if GPUs exchange no messages
};

// Describes the run for its records, except for the measured peak.
records::Manifest make_manifest(const RunPlace& run);

class Recorder {
public:
    // Only a recorder with `writes` prints and writes a run directory; every recorder sums up the figures.
    // `job` must outlive it.
    Recorder(const setup::Job& job, records::Manifest manifest, bool writes);

    void set_hosts(std::vector<std::string> hosts) { manifest_.hosts = std::move(hosts); }

    // Prints the head of the log.
    void introduce(const setup::PlanState& current, const setup::PlanOrigin& origin,
                   const setup::RankMemory& memory);
    // Opens the run directory if this recorder writes. Throws ConfigError.
    void open_directory();
    // Records the begin of the run. Must be the first event. `peak` is the limit of the run's arithmetic.
    void begin(const setup::PlanState& current, const setup::PlanOrigin& origin,
               const setup::RankMemory& memory, const setup::PeakRate& peak);

    void step(const records::StepOutcome& outcome, const std::vector<policy::SlownessChange>& changes);
    void evaluation(std::size_t step, const records::Evaluation& evaluation);
    void change_plan(const plan::Decision& decision, const records::PlanChange& change, const plan::Plan& plan);
    // Records a decision of the policy, after which the plan stayed.
    void look(double seconds);
    // Records the reason why the plan stayed after `step` steps, unless it is empty.
    void no_change(std::size_t step, const std::string& why);
    void saved(const records::SaveOutcome& outcome);
    void waited_to_save(const records::SaveWait& wait);
    // Records that the run ends because its loss or gradients are not finite.
    void diverged(const std::string& complaint);
    // Adds a second measurement of the peak, after the last step; the larger one counts.
    void measured_peak_again(double flops) { sum_->measure_peak_again(flops); }
    records::Figures figures(const std::optional<records::Evaluation>& validation) const;
    // Records the end of the run, after the last checkpoint is on disk or lost. If the run stopped early and
    // can be resumed, also writes the file `stopped`.
    void finish(records::Figures figures);

    const setup::PeakRate& peak() const { return manifest_.peak; }
    setup::EarlierSteps steps_so_far() const { return sum_->so_far(); }
    std::filesystem::path path() const { return directory_ ? directory_->path() : std::filesystem::path(); }

private:
    const setup::Job& job_;
    records::Manifest manifest_;
    setup::ModelFlops flops_;
    std::optional<records::FigureSum> sum_;
    std::optional<records::Console> console_;           // empty if this recorder does not write
    std::unique_ptr<records::RunDirectory> directory_;  // null if this recorder does not write
    std::string lost_;  // why the newest completed checkpoint is not on disk; empty if it is
};

}  // namespace trireme::run
