// Settings for the clocks of devices.
#pragma once

#include <cstdint>

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

}  // namespace trireme::config
