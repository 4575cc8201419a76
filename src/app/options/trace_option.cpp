#include <limits>

#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

device::TracedSteps read_steps(const Setting& setting) {
    if (setting.value == "off") return {};
    const std::vector<std::string> ends = parts_of(setting.value, ':');
    const auto number = [&](const std::string& text) {
        return read_whole_number({setting.name, text, setting.place}, 1, std::numeric_limits<int>::max());
    };
    if (ends.size() > 2) refuse(setting, "the first and the last step, such as 5:8, one step, or off");
    const device::TracedSteps steps{number(ends.front()), number(ends.back())};
    if (steps.last < steps.first) refuse(setting, "a last step that is not before the first, such as 5:8");
    return steps;
}

std::string print_steps(const device::TracedSteps& steps) {
    return steps.last == 0 ? "off" : cat(steps.first, ':', steps.last);
}

}  // namespace

Option trace_option(device::TracedSteps& steps) {
    return {.words = {"trace", "FIRST:LAST|off",
                      "steps to record in trace.json, counted from 1; a single number records one step"},
            .set =
                [&steps](const Setting& setting) {
                    const device::TracedSteps read = read_steps(setting);
                    steps.first = read.first;
                    steps.last = read.last;
                },
            .get = [&steps] { return print_steps(steps); }};
}

}  // namespace trireme::app
