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

    // Prints the head of the log. `origin` says which plan a resumed run begins with, and why; it may be empty.
    void introduce(const Manifest& manifest, const plan::Plan& plan, const std::string& origin,
                   const setup::RankMemory& memory, const std::string& run_dir);
    // Prints the remarks of the run directory about its records, even with --quiet.
    void remarks(const std::vector<std::string>& remarks);
    void step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops, double peak_flops);
    void evaluation(std::size_t step, const Evaluation& evaluation);
    void saved(const SaveOutcome& outcome);
    // Reports the first wait that is long enough to matter.
    void waited_to_save(const SaveWait& wait);
    // Reports a measured change of slowness, which is independent of --slow.
    void slowness(std::size_t step, const policy::SlownessChange& change, const Manifest& manifest);
    void no_change(std::size_t step, const std::string& why);
    void change_of_plan(const plan::Decision& decision, const PlanChange& change);
    void finish(const Figures& figures, const std::string& peak_is, const std::string& run_dir);

private:
    void flush();

    std::ostream& out_;
    const setup::Job& job_;
    double seconds_ = 0;  // sum over the steps so far
    std::size_t steps_ = 0;
    bool has_said_wait_ = false;
    bool has_said_loss_ = false;
};

}  // namespace trireme::records
