#include "run/last_records.hpp"

#include <algorithm>
#include <array>

#include "trireme/comm/collectives.hpp"
#include "trireme/device/clock.hpp"

namespace trireme {

void add_costs(Figures& figures, const Saving& saving, const RankBytes& own, Communicator& control) {
    const auto most = [&](std::size_t bytes) {
        return static_cast<std::size_t>(
            std::ranges::max(gather_all(control, std::array{static_cast<double>(bytes)})));
    };
    figures.grown_bytes = most(own.grown);
    figures.predicted_bytes = most(own.predicted);
    const std::string remark = remark_on_memory(*figures.grown_bytes, figures.predicted_bytes);
    // Simulated ranks share the memory of one process.
    if (!remark.empty() && !time_is_simulated()) figures.remarks.push_back(remark);
    figures.saves = saving.saves();
    figures.save_seconds = saving.stall_seconds();
    for (const SaveWait& wait : saving.waits()) figures.save_wait_seconds += wait.seconds;
}

void write_last_records(Figures figures, const std::string& lost, RunDirectory& directory, Console& console) {
    if (!lost.empty()) figures.complaint = cat("the last checkpoint was not written: ", lost);
    if (figures.stopped) figures.stopped->is_saved = lost.empty();
    directory.write_summary(figures);
    if (figures.stopped && figures.stopped->is_saved) directory.write_stopped(*figures.stopped);
    console.finish(figures, directory.peak_is(), directory.path().string());
}

void note_no_change(std::size_t step, const std::string& why, RunDirectory& directory, Console& console) {
    if (why.empty()) return;
    directory.add_no_change(step, why);
    console.no_change(step, why);
}

}  // namespace trireme
