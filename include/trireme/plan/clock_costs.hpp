// The costs of passes by clock, as a run measures them and writes them to clock_costs.json.
//
//   {"schema": 1, "stages": 4, "parameters": 124439808, "dtype": "f32", "tokens": 1024, "recompute": "none",
//    "replicas": [
//     {"layers": [[0, 6]], "ranks": 1, "device": "V100", "clocks": [1530, 1522, 1515],
//      "measured": [{"mhz": 1530, "seconds": {"forward": 0.01, "backward": 0.02, "update": 0.001, "step": 0.3},
//                    "watts": {"idle": 70, "busy": 300}, "joules": 60}]}]}
//
// "layers" has the first layer and the number of layers of each stage that a replica holds. "recompute" has one
// word per stage, or one for all. "frozen", the number of frozen blocks, is omitted if it is 0.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/layout.hpp"

namespace trireme::plan {

// The costs of the ranks that hold a replica together, at one clock of their devices.
struct ClockCost {
    int mhz = 0;
    // Seconds of a pass of a micro-batch, and of the update of the parameters.
    double forward = 0, backward = 0, update = 0;
    double idle_watts = 0;    // of all devices of the replica, while they execute no pass
    double busy_watts = 0;    // of the same devices, while they execute a pass or the update
    double joules = 0;        // of the same devices, in a whole step
    double step_seconds = 0;  // of a step in which all ranks had equally low clocks

    friend bool operator==(const ClockCost&, const ClockCost&) = default;
};

// The costs of all replicas of the same stages on equal devices.
struct ReplicaCosts {
    std::vector<layout::Range> layers = {};  // per stage of a replica
    std::size_t ranks = 1;                   // that hold a replica together
    std::string device = {};                 // name of the device of a rank
    std::vector<int> clocks = {};            // of the device in MHz, highest first
    std::vector<ClockCost> measured = {};    // highest clock first

    // True if the other costs are those of the same replicas. They may be measured at other clocks.
    bool is_of_same_replicas(const ReplicaCosts& other) const {
        return layers == other.layers && ranks == other.ranks && device == other.device &&
               clocks == other.clocks;
    }
};

struct ClockCosts {
    std::size_t stages = 0;      // of the pipeline
    std::size_t parameters = 0;  // of the whole model
    std::string dtype = {};      // for example "f32"
    std::size_t tokens = 0;      // of the largest micro-batch, with padding
    std::string recompute = {};  // for example "none"
    int frozen = 0;              // see Plan
    std::vector<ReplicaCosts> replicas = {};
    std::string file = {};  // name of the file from which they come; empty if the run has measured them

    // True if the costs of all replicas are measured at one clock at least.
    bool are_measured() const {
        return !replicas.empty() && std::ranges::none_of(replicas, [](const ReplicaCosts& replica) {
            return replica.measured.empty();
        });
    }
};

// Returns the costs at all clocks of the device, from the highest one to the lowest measured one. Between
// measured clocks, seconds are interpolated over the length of a clock cycle, and watts over the clock.
std::vector<ClockCost> interpolate_clocks(const ReplicaCosts& costs);

std::string to_json(const ClockCosts& costs);
// Parses the text of the file `file_name`. Throws ConfigError, naming the JSON key, if it is not valid, or if a
// value that must be above 0 is not.
ClockCosts parse_clock_costs(std::string_view text, const std::string& file_name);

}  // namespace trireme::plan
