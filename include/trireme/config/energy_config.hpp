// Settings for the clocks of devices.
#pragma once

#include <cstdint>
#include <string>

namespace trireme::config {

// Clocks of the devices: `baseline` sets none; with `uniform`, each rank has the clock at which it needs the
// least energy for a step; `envelope` keeps the passes of policy::list_envelope() at the highest clock.
enum class Energy : std::uint8_t { baseline, uniform, envelope };

// Rule that raises clocks on the critical path after each step, as EnvPipe does: `none` raises none; the others
// are those of policy::RaiseRule.
enum class Reconfigure : std::uint8_t { none, greedy, balanced };

// True if a run raises clocks after its steps. Without clocks of --energy, none can be raised.
inline bool reconfigures(Energy energy, Reconfigure rule) {
    return energy != Energy::baseline && rule != Reconfigure::none;
}

// Values of --clock-costs that are not the name of a file.
inline constexpr const char* automatic_clock_costs = "auto";
inline constexpr const char* swept_clock_costs = "sweep";

// True if --clock-costs names a file.
inline bool is_clock_costs_file(const std::string& clock_costs) {
    return clock_costs != automatic_clock_costs && clock_costs != swept_clock_costs;
}

}  // namespace trireme::config
