// What a user sees while a run goes on. Rank 0 alone prints.
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
    // Both outlive it.
    Console(std::ostream& out, const setup::Job& job);

    // `origin` says which plan a resumed run begins in, and why; it may be empty.
    void introduce(const Manifest& manifest, const plan::Plan& plan, const std::string& origin,
                   const setup::RankMemory& memory, const std::string& run_dir);
    // Prints the remarks of the run directory about its records; also with --quiet.
    void remarks(const std::vector<std::string>& remarks);
    void step(std::size_t step, const StepOutcome& outcome, const setup::ModelFlops& flops, double peak_flops);
    void evaluation(std::size_t step, const Evaluation& evaluation);
    void saved(const SaveOutcome& outcome);
    // The first time that is worth a line.
    void waited_to_save(const SaveWait& wait);
    // Seen in what ranks took, whatever --slow makes of them.
    void slowness(std::size_t step, const policy::SlownessChange& change, const Manifest& manifest);
    void no_change(std::size_t step, const std::string& why);
    void change_of_plan(const plan::Decision& decision, const PlanChange& change);
    void finish(const Figures& figures, const std::string& peak_is, const std::string& run_dir);

private:
    void flush();

    std::ostream& out_;
    const setup::Job& job_;
    double seconds_ = 0;  // of the steps so far
    std::size_t steps_ = 0;
    bool has_said_wait_ = false;
    bool has_said_loss_ = false;
};

}  // namespace trireme::records
