#include <limits>

#include "app/options/options.hpp"
#include "app/options/values.hpp"
#include "trireme/base/error.hpp"

namespace trireme::app {
namespace {

device::TracedSteps parse_steps(const Setting& setting) {
    if (setting.value == "off") return {};
    const std::vector<std::string> bounds = split_text(setting.value, ':');
    const auto parse_step = [&](const std::string& text) {
        return parse_integer({setting.name, text, setting.source}, 1, std::numeric_limits<int>::max());
    };
    if (bounds.size() > 2) refuse(setting, "the first and the last step, such as 5:8, one step, or off");
    const device::TracedSteps steps{parse_step(bounds.front()), parse_step(bounds.back())};
    if (steps.last < steps.first) refuse(setting, "a last step that is not before the first, such as 5:8");
    return steps;
}

std::string format_steps(const device::TracedSteps& steps) {
    // `last` is 0 if no step is traced.
    return steps.last == 0 ? "off" : cat(steps.first, ':', steps.last);
}

}  // namespace

Option make_trace_option(device::TracedSteps& steps) {
    return {.description = {"trace", "FIRST:LAST|off",
                            "steps to record in trace.json, counted from 1; a single number records one step"},
            .set =
                [&steps](const Setting& setting) {
                    // Assigns the two bounds only, because `steps.shows_kernels` is the field of another
                    // option.
                    const device::TracedSteps parsed_steps = parse_steps(setting);
                    steps.first = parsed_steps.first;
                    steps.last = parsed_steps.last;
                },
            .get = [&steps] { return format_steps(steps); }};
}

}  // namespace trireme::app
