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

constexpr const char* not_said = "&ndash;";

std::string seconds_text(records::Figure seconds) {
    return seconds ? cat(significant(*seconds), " s") : not_said;
}

records::Figure term(const plan::Decision& decision, const char* name) {
    const auto found = decision.terms.find(name);
    return found == decision.terms.end() ? records::Figure() : found->second;
}

// Returns the median time of the first steps with the plan of a decision, up to the next decision.
records::Figure step_behind(const RunRecords& records, std::size_t number) {
    constexpr double most = 10;  // steps; later, the speed of devices may change
    const auto begin = static_cast<double>(records.decisions[number].step);
    double end = begin + most;
    if (number + 1 < records.decisions.size())
        end = std::min(end, static_cast<double>(records.decisions[number + 1].step));
    std::vector<double> seconds;
    for (const records::StepLine& step : records.steps) {
        if (step.step > begin && step.step <= end && step.seconds) seconds.push_back(*step.seconds);
    }
    return seconds.empty() ? records::Figure() : median_of(seconds);
}

// Returns "0.42 s before, 0.31 s predicted, 0.30 s after: 28.6 % less".
std::string seconds_of_steps(const plan::Decision& decision, records::Figure after) {
    const records::Figure before = term(decision, "step_s");
    std::vector<std::string> words;
    if (before) words.push_back(seconds_text(before) + " before");
    if (const records::Figure predicted = term(decision, "predicted_step_s"))
        words.push_back(seconds_text(predicted) + " predicted");
    if (after) words.push_back(seconds_text(after) + " after");
    std::string text = fmt::format("{}", fmt::join(words, ", "));
    if (before && after && *before > 0)
        text += cat(": ", percent(std::abs(*before - *after) / *before), *after <= *before ? " less" : " more");
    return words.empty() ? not_said : text;
}

std::string moved(const plan::Decision& decision) {
    const records::Figure bytes = term(decision, "moved_bytes");
    if (bytes.value_or(0) == 0) return "nothing";
    return cat(megabytes(*bytes),
               decision.measured_seconds ? " in " + seconds_text(decision.measured_seconds) : "");
}

// The plan before a decision, as far as the records have it.
struct Before {
    const layout::Layout* layout = nullptr;
    Words schedule;
    std::optional<int> microbatches;
};

Before before(const RunRecords& records, std::size_t number) {
    if (number > 0) {
        const plan::Decision& last = records.decisions[number - 1];
        return {&last.layout, last.schedule, last.microbatches};
    }
    const bool is_known = records.layout && !records.manifest->plan.empty() &&
                          records.manifest->plan == records.decisions.front().from;
    if (!is_known) return {};
    const records::Manifest& manifest = *records.manifest;
    Before plan{.layout = &*records.layout, .schedule = manifest.schedule, .microbatches = {}};
    if (manifest.microbatches > 0) plan.microbatches = static_cast<int>(manifest.microbatches);
    return plan;
}

// Describes what changes in the plan, before and after, as HTML.
std::string change(const plan::Decision& decision, const Before& before) {
    std::string html;
    const auto add = [&](const std::string& text) { html += element("div", escaped(text)); };
    const auto add_layout = [&](const char* when, const layout::Layout& layout) {
        html += element("div", cat(when, element("pre", escaped(stages_text(layout)))), "layout");
    };
    if (before.layout == nullptr || *before.layout != decision.layout) {
        if (before.layout != nullptr) add_layout("before", *before.layout);
        add_layout("after", decision.layout);
    }
    if (decision.schedule && decision.schedule != before.schedule) add("schedule " + *decision.schedule);
    if (decision.microbatches && decision.microbatches != before.microbatches)
        add(counted(static_cast<std::size_t>(*decision.microbatches), "micro-batch"));
    for (const std::string& words : sharing_words(decision)) add(words);
    return html.empty() ? element("div", "every rank computes all of its products again") : html;
}

}  // namespace

std::string changes_table(const RunRecords& records) {
    if (records.decisions.empty()) return "";
    std::vector<std::vector<std::string>> rows{{"After step", "Change", "Seconds of a step", "Moved"}};
    for (std::size_t number = 0; number < records.decisions.size(); ++number) {
        const plan::Decision& decision = records.decisions[number];
        const std::string why = cat(decision.policy, decision.reason.empty() ? "" : ": ", decision.reason);
        rows.push_back({with_commas(static_cast<double>(decision.step)),
                        element("b", escaped(why)) + change(decision, before(records, number)),
                        seconds_of_steps(decision, step_behind(records, number)), moved(decision)});
    }
    return table(rows, true) +
           element("p", "Layers are the embedding, each block and the head, as --partition counts them.",
                   "facts");
}

}  // namespace trireme::report
