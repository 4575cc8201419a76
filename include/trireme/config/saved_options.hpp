// The options of a run as its checkpoints store them, so that it can be resumed without repeating them.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace trireme::config {

struct OptionValue {
    std::string name;   // "batch"
    std::string value;  // "8", as the command line reads it
};

struct SavedOptions {
    std::vector<OptionValue> values;
    int ranks = 0;  // number of ranks of the run
};

// The options that a resumed run took from its checkpoint, and its changes to them.
struct ResumedOptions {
    SavedOptions saved;
    std::set<std::string> given;       // names of options that the command line or a config file sets again
    std::vector<std::string> changes;  // options whose value differs from the saved one: "--lr was 0.001"
    std::string layout = {};           // describes a newly chosen layout; empty if it is the saved or given one
};

}  // namespace trireme::config
