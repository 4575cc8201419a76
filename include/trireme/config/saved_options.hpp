// The options of a run as its checkpoints store them, so that users need not repeat them to resume the run.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace trireme::config {

struct OptionValue {
    std::string name;   // "batch"
    std::string value;  // "8", in the syntax of the command line
};

struct SavedOptions {
    std::vector<OptionValue> values;
    int ranks = 0;  // number of ranks of the run
};

// The options that a resumed run took from its checkpoint, and the changes that the user made.
struct ResumedOptions {
    SavedOptions saved;
    // Names of options that the command line or a config file sets again.
    std::set<std::string> overridden_options;
    // One text per option whose value differs from the saved one, such as "--lr was 0.001".
    std::vector<std::string> changes;
    // Describes the layout that replaces the saved one; empty if the run uses the saved layout, or if the
    // user sets a layout.
    std::string layout = {};
};

}  // namespace trireme::config
