// EnvPipe's reconfiguration (Choi et al., 2023): raises the clocks of passes on the critical path of a step
// until the critical path has only passes at their highest clocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "trireme/plan/observation.hpp"
#include "trireme/schedule/instruction.hpp"
#include "trireme/schedule/pipeline_shape.hpp"
#include "trireme/schedule/predict.hpp"

namespace trireme::policy {

// A team, the passes that it executes in a step, and their clocks.
struct ClockedTeam {
    std::vector<schedule::Instruction> passes;  // in program order; not split
    std::vector<int> mhz;                       // clock of each pass
    std::vector<int> clocks;                    // of the team's devices, highest first
    std::size_t group = 0;                      // teams of a group have equal clocks
};

// Returns the waits of each team in a predicted step. Passes of empty micro-batches wait for 0 seconds. The
// means of the passes are not set.
std::vector<plan::MeasuredPasses> list_waits(const schedule::Prediction& prediction,
                                             const std::vector<ClockedTeam>& teams);

// A pass of a team: an index into ClockedTeam::passes.
struct PassOfTeam {
    std::size_t team = 0;
    std::size_t pass = 0;

    friend bool operator==(const PassOfTeam&, const PassOfTeam&) = default;
};

// Returns the critical path, from the backward of the first trained stage that ends last back to a first
// forward. After a pass that waited for more than `threshold` seconds, the path continues at the pass that
// computed its input, otherwise at the preceding pass of the team. Teams of a group use the mean of their
// waits. `teams` and `times` have one entry per team of the shape. Every trained stage has forwards and
// backwards that are not split.
std::vector<PassOfTeam> find_critical_path(const schedule::PipelineShape& shape,
                                           const std::vector<ClockedTeam>& teams,
                                           const std::vector<plan::MeasuredPasses>& times, double threshold);

enum class RaiseRule : std::uint8_t {
    greedy,   // raises the last pass that is below its highest clock, by 90 MHz
    balanced  // raises all passes that have the lowest of the clocks that can be raised, by 30 MHz
};

// Raises clocks of passes on `path`, the result of find_critical_path(), to the next clocks of their devices
// that are at least as high as the rule demands. The same passes of the other teams of the group get the same
// clocks. Returns the lowest of the clocks that it has replaced; nothing if no clock on the path can be raised.
std::optional<int> raise_clocks(RaiseRule rule, const std::vector<PassOfTeam>& path,
                                std::vector<ClockedTeam>& teams);

// The loop ends after more than this number of steps in a row in which no clock was raised.
inline constexpr std::size_t max_quiet_steps = 10;

}  // namespace trireme::policy
