#include "report/plan_changes.hpp"

#include <algorithm>

#include "report/html.hpp"
#include "report/number_text.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/median.hpp"

namespace trireme::report {
namespace {

constexpr const char* not_said = "&ndash;";

std::string seconds_text(Figure seconds) { return seconds ? cat(significant(*seconds), " s") : not_said; }

Figure term(const Decision& decision, const char* name) {
    const auto found = decision.terms.find(name);
    return found == decision.terms.end() ? Figure() : found->second;
}

// Of the first steps by its plan, until the next one.
Figure step_behind(const RunRecords& records, std::size_t number) {
    constexpr double most = 10;  // steps: devices may change, too
    const auto begin = static_cast<double>(records.decisions[number].step);
    double end = begin + most;
    if (number + 1 < records.decisions.size())
        end = std::min(end, static_cast<double>(records.decisions[number + 1].step));
    std::vector<double> seconds;
    for (const StepRecord& step : records.steps) {
        if (step.step > begin && step.step <= end && step.seconds) seconds.push_back(*step.seconds);
    }
    return seconds.empty() ? Figure() : median_of(seconds);
}

std::string moved(const Decision& decision) {
    const Figure bytes = term(decision, "moved_bytes");
    if (bytes.value_or(0) == 0) return "nothing";
    return cat(megabytes(*bytes),
               decision.measured_seconds ? " in " + seconds_text(decision.measured_seconds) : "");
}

}  // namespace

std::string changes_table(const RunRecords& records) {
    if (records.decisions.empty()) return "";
    std::vector<std::vector<std::string>> rows{
        {"Behind step", "Decided by", "Because", "A step took", "was to take", "and took", "Moved"}};
    for (std::size_t number = 0; number < records.decisions.size(); ++number) {
        const Decision& decision = records.decisions[number];
        rows.push_back({with_commas(static_cast<double>(decision.step)), escaped(decision.policy),
                        escaped(decision.reason), seconds_text(term(decision, "step_s")),
                        seconds_text(term(decision, "predicted_step_s")),
                        seconds_text(step_behind(records, number)), moved(decision)});
    }
    return table(rows, true);
}

}  // namespace trireme::report
