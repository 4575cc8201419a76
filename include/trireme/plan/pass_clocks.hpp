// The clocks of passes, as decisions record them.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/plan/plan.hpp"

namespace trireme::plan {

// Consecutive passes with the same clock.
struct ClockRun {
    std::size_t passes = 1;
    int mhz = 0;

    friend bool operator==(const ClockRun&, const ClockRun&) = default;
};

// The clocks of the passes of a stage that one replica executes in a step, in program order. Passes of the
// prologue come first.
using ReplicaClocks = std::vector<ClockRun>;
// Per stage: one entry per replica of the stage, or one entry for all replicas.
using PassClocks = std::vector<std::vector<ReplicaClocks>>;

// Parses a text such as "1530 14*900 1530": one pass at 1530 MHz, 14 passes at 900 MHz and one at 1530 MHz. An
// empty text means no passes. Returns nothing if the text does not have this form.
std::optional<ReplicaClocks> parse_replica_clocks(std::string_view text);
std::string to_string(const ReplicaClocks& clocks);

// Returns the clocks of the training programs; empty if these programs set no clocks.
PassClocks list_pass_clocks(const Plan& plan);
// Sets the clocks of the training programs and removes all earlier clocks. Throws ConfigError if the numbers of
// stages, replicas or passes differ from those of the plan.
void set_pass_clocks(const PassClocks& clocks, Plan& plan);
// Sets the clocks of the training programs to those that `find_mhz` returns: see schedule::set_clocks().
void set_pass_clocks(const std::function<int(int team, const schedule::Instruction& pass)>& find_mhz,
                     Plan& plan);

}  // namespace trireme::plan
