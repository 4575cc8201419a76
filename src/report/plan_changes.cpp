#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "report/html.hpp"
#include "report/page.hpp"
#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::report {
namespace {

constexpr const char* unknown_value = "&ndash;";

std::string format_seconds(records::Figure seconds) {
    return seconds ? cat(format_significant(*seconds), " s") : unknown_value;
}

records::Figure find_term(const plan::Decision& decision, const char* name) {
    const auto found = decision.terms.find(name);
    return found == decision.terms.end() ? records::Figure() : found->second;
}

// Returns the median time of at most the first ten steps between decision `index` and the next decision.
records::Figure compute_median_step_after(const RunRecords& records, std::size_t index) {
    constexpr double max_steps = 10;  // after more steps, the speed of devices may have changed
    const auto begin = static_cast<double>(records.decisions[index].step);
    double end = begin + max_steps;
    if (index + 1 < records.decisions.size())
        end = std::min(end, static_cast<double>(records.decisions[index + 1].step));
    std::vector<double> seconds;
    for (const records::StepLine& step : records.steps) {
        if (step.step > begin && step.step <= end && step.seconds) seconds.push_back(*step.seconds);
    }
    return seconds.empty() ? records::Figure() : compute_median(seconds);
}

// Describes the seconds per step before and after the decision, and the prediction at the decision. Returns,
// for example, "0.42 s before, 0.31 s predicted, 0.30 s after: 28.6 % less".
std::string describe_step_times(const plan::Decision& decision, records::Figure after) {
    const records::Figure before = find_term(decision, "step_s");
    std::vector<std::string> words;
    if (before) words.push_back(format_seconds(before) + " before");
    if (const records::Figure predicted = find_term(decision, "predicted_step_s"))
        words.push_back(format_seconds(predicted) + " predicted");
    if (after) words.push_back(format_seconds(after) + " after");
    std::string text = fmt::format("{}", fmt::join(words, ", "));
    if (before && after && *before > 0)
        text += cat(": ", format_percent(std::abs(*before - *after) / *before),
                    *after <= *before ? " less" : " more");
    return words.empty() ? unknown_value : text;
}

std::string describe_moved_bytes(const plan::Decision& decision) {
    const records::Figure bytes = find_term(decision, "moved_bytes");
    if (bytes.value_or(0) == 0) return "nothing";
    return cat(format_megabytes(*bytes),
               decision.measured_seconds ? " in " + format_seconds(decision.measured_seconds) : "");
}

// The plan before a decision. Members that the records lack are empty.
struct PlanBefore {
    const layout::Layout* layout = nullptr;
    OptionalText schedule;
    std::optional<int> microbatches;
    int frozen = 0;
};

PlanBefore find_plan_before(const RunRecords& records, std::size_t index) {
    if (index > 0) {
        const plan::Decision& previous = records.decisions[index - 1];
        return {&previous.layout, previous.schedule, previous.microbatches, previous.frozen.value_or(0)};
    }
    const bool is_known = records.layout && !records.manifest->plan.empty() &&
                          records.manifest->plan == records.decisions.front().from;
    PlanBefore plan;
    if (!records.steps.empty()) plan.frozen = static_cast<int>(records.steps.front().frozen.value_or(0));
    if (!is_known) return plan;
    const records::Manifest& manifest = *records.manifest;
    plan.layout = &*records.layout;
    plan.schedule = manifest.schedule;
    if (manifest.microbatches > 0) plan.microbatches = static_cast<int>(manifest.microbatches);
    return plan;
}

// Describes the new values of the changed members of the plan, as HTML. Also shows the old layout if it is
// known and differs. If no member changed and no rank skips channels or offloads work, the decision ended
// the skipping or offloading. Then the text says that no rank skips channels or offloads work.
std::string describe_plan_change(const plan::Decision& decision, const PlanBefore& before) {
    std::string html;
    const auto add = [&](const std::string& text) { html += make_element("div", escape_html(text)); };
    const auto add_layout = [&](const char* when, const layout::Layout& layout) {
        html +=
            make_element("div", cat(when, make_element("pre", escape_html(describe_stages(layout)))), "layout");
    };
    if (before.layout == nullptr || *before.layout != decision.layout) {
        if (before.layout != nullptr) add_layout("before", *before.layout);
        add_layout("after", decision.layout);
    }
    if (decision.schedule && decision.schedule != before.schedule) add("schedule " + *decision.schedule);
    if (decision.microbatches && decision.microbatches != before.microbatches)
        add(format_count(static_cast<std::size_t>(*decision.microbatches), "micro-batch"));
    if (decision.frozen && *decision.frozen != before.frozen)
        add(format_count(static_cast<std::size_t>(*decision.frozen), "frozen block"));
    for (const std::string& words : describe_sharing(decision)) add(words);
    if (!html.empty()) return html;
    return make_element("div", decision.clocks.empty() ? "no rank skips channels or offloads work"
                                                       : "other clocks, and perhaps another order of passes");
}

// Returns the index of the last decision of the series that continues with decision `index`. If the decision is
// no part of a series, returns `index`.
std::size_t find_end_of_series(const std::vector<plan::Decision>& decisions, std::size_t index) {
    if (!is_part_of_series(decisions[index])) return index;
    while (index + 1 < decisions.size() && decisions[index + 1].policy == decisions[index].policy) ++index;
    return index;
}

}  // namespace

std::string make_plan_changes_table(const RunRecords& records) {
    if (records.decisions.empty()) return "";
    std::vector<std::vector<std::string>> rows{{"After step", "Change", "Time per step", "State moved"}};
    for (std::size_t index = 0; index < records.decisions.size(); ++index) {
        const std::size_t first = index;
        index = find_end_of_series(records.decisions, index);
        const plan::Decision& decision = records.decisions[index];
        const std::string first_step = format_with_commas(static_cast<double>(records.decisions[first].step));
        const std::string last_step = format_with_commas(static_cast<double>(decision.step));
        const std::string changes =
            index == first ? "" : cat(", ", format_count(index - first + 1, "change"), ", the last one");
        const std::string why =
            cat(decision.policy, changes, decision.reason.empty() ? "" : ": ", decision.reason);
        rows.push_back({index == first ? last_step : cat(first_step, " to ", last_step),
                        make_element("b", escape_html(why)) +
                            describe_plan_change(decision, find_plan_before(records, index)),
                        describe_step_times(decision, compute_median_step_after(records, index)),
                        describe_moved_bytes(decision)});
    }
    return make_table(rows, true) +
           make_element(
               "p",
               "In this table a layer is an item of --partition: the embedding, a whole block or the head; "
               ".5 is half a block.",
               "facts");
}

}  // namespace trireme::report
