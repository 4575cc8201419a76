// Settings for the clocks of devices.
#pragma once

#include <cstdint>

namespace trireme::config {

// Clocks of the devices: `baseline` sets none; with `uniform`, each rank has the clock at which it needs the
// least energy for a step; `envelope` keeps the passes of policy::list_envelope() at the highest clock.
enum class Energy : std::uint8_t { baseline, uniform, envelope };

// Steps after which clocks are raised on the critical path, as EnvPipe does: `none`, or all steps until nothing
// can be raised, by the rule of the same name in policy::RaiseRule.
enum class Reconfigure : std::uint8_t { none, greedy, balanced };

}  // namespace trireme::config
