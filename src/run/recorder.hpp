// The records of a run: every event reaches the console, the run directory and the figures of merit through
// here.
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

struct RunPlace {
    const setup::Job& job;
    const plan::Plan& plan;
    const comm::Session& session;
    std::vector<std::string> hosts = {};  // of each rank
    int threads = 1;                      // per rank
    std::vector<std::string> cores = {};  // that each may run on; empty: no rank is a process
    std::string gpu_messages = {};        // which way they take, and why; empty: there are none
};

// Describes the run for its records, except for the measured peak.
records::Manifest make_manifest(const RunPlace& run);

class Recorder {
public:
    // Only a recorder that `writes` prints and keeps a run directory; every recorder adds up the figures. `job`
    // outlives it.
    Recorder(const setup::Job& job, records::Manifest manifest, bool writes);

    void set_hosts(std::vector<std::string> hosts) { manifest_.hosts = std::move(hosts); }

    // Prints what the run is about.
    void introduce(const setup::PlanState& current, const setup::PlanOrigin& origin,
                   const setup::RankMemory& memory);
    // Opens the run directory if it writes. Throws ConfigError.
    void open_directory();
    // The first event: the arithmetic of `ranks` ranks is compared with `peak` from here on.
    void begin(const setup::PlanState& current, const setup::PlanOrigin& origin,
               const setup::RankMemory& memory, const setup::PeakRate& peak);

    void step(const records::StepOutcome& outcome, const std::vector<policy::SlownessChange>& changes);
    void evaluation(std::size_t step, const records::Evaluation& evaluation);
    void change_plan(const plan::Decision& decision, const records::PlanChange& change, const plan::Plan& plan);
    // A policy looked at what was observed, and the plan stayed.
    void look(double seconds);
    // The reason why the plan stayed after `step` steps; an empty one is not recorded.
    void no_change(std::size_t step, const std::string& why);
    void saved(const records::SaveOutcome& outcome);
    void waited_to_save(const records::SaveWait& wait);
    // The run ends because its numbers are not finite.
    void diverged(const std::string& complaint);
    // The peak was measured again after the last step; the larger measurement counts.
    void measured_peak_again(double flops) { sum_->measure_peak_again(flops); }
    records::Figures figures(const std::optional<records::Evaluation>& validation) const;
    // The last event, once the last checkpoint is on disk or lost. A run that stopped early and can be resumed
    // also leaves a file `stopped`.
    void finish(records::Figures figures);

    const setup::PeakRate& peak() const { return manifest_.peak; }
    setup::EarlierSteps steps_so_far() const { return sum_->so_far(); }
    std::filesystem::path path() const { return directory_ ? directory_->path() : std::filesystem::path(); }

private:
    const setup::Job& job_;
    records::Manifest manifest_;
    setup::ModelFlops flops_;
    std::optional<records::FigureSum> sum_;
    std::optional<records::Console> console_;           // if it writes
    std::unique_ptr<records::RunDirectory> directory_;  // likewise
    std::string lost_;  // why the newest checkpoint that ended is not on disk; empty if it is
};

}  // namespace trireme::run
