// The options of a run as its checkpoints keep them, so that it can be resumed without repeating them.
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
    int ranks = 0;  // that the run had
};

// The use that a resumed run made of the options in its checkpoint.
struct ResumedOptions {
    SavedOptions saved;
    std::set<std::string> given;       // names of options that the command line or a config file gives anew
    std::vector<std::string> changes;  // options with another value than the saved one: "--lr was 0.001"
    std::string layout = {};           // the layout chosen anew, in words; empty: the saved or the given one
};

}  // namespace trireme::config
