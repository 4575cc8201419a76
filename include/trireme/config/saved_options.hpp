// The options of a run as its checkpoints store them, so that users need not repeat them to resume the run.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace trireme::config {

struct OptionValue {
    std::string name;   // for example "batch"
    std::string value;  // in the syntax of the command line, for example "8"
};

struct SavedOptions {
    std::vector<OptionValue> values;
    int ranks = 0;  // number of ranks of the run
    // Per rank: memory limit in bytes that the run found on its devices. Empty without --elastic length, or if
    // --memory-limit set the limit.
    std::vector<std::size_t> memory_limits = {};
};

// The options that a resumed run took from its checkpoint, and the changes that the user made.
struct ResumedOptions {
    SavedOptions saved;
    // Names of the options that the user sets again, on the command line or in a config file.
    std::set<std::string> overridden_options;
    // One text per option whose value differs from the saved one, such as "--lr was 0.001".
    std::vector<std::string> changes;
    // Describes the layout that was chosen in place of the saved layout. Empty if the run uses the saved layout
    // or a layout that the user sets.
    std::string layout = {};
};

}  // namespace trireme::config
