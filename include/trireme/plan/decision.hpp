// A change of plan between two steps, and why: a line of decisions.jsonl.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/layout/layout.hpp"
#include "trireme/layout/migration.hpp"

namespace trireme::plan {

struct Decision {
    std::size_t step = 0;  // behind which the plan changes
    layout::Layout layout = {};
    std::optional<int> microbatches = {};            // of a step, in all; none: as many as before
    std::optional<std::string> schedule = {};        // its name; none: as before
    std::vector<double> left_out = {};               // as Plan has it
    std::vector<layout::Migration> migrations = {};  // likewise
    std::string policy = {};                         // that decided
    std::string reason = {};                         // for people
    std::string from = {}, to = {};                  // hashes of the plans; empty: not said
    std::map<std::string, double> terms = {};        // numbers that it rests on, or led to
    std::optional<double> predicted_seconds = {};    // that the change would take
    std::optional<double> measured_seconds = {};     // and did

    friend bool operator==(const Decision&, const Decision&) = default;
};

// Describes how ranks share their matrix products: "rank 1 leaves out 25 % of its products", "ranks 0,2 compute
// 50 % of rank 1's products". The list is empty if every rank computes all of its own.
std::vector<std::string> sharing_words(const Decision& decision);

// A line of {"step": 5, "policy": "by hand", "from": "31a0...", "to": "7bcb...", "layout": {...},
// "microbatches": 4, "schedule": "1f1b", "left_out": [0, 0.75], "migrations": [{"from": 1, "to": 0, "parts":
// [0.25, 0.25, 0.25, 0.25]}], "reason": "...", "terms": {...}, "seconds":
// {"predicted": 0.2, "measured": 0.1}} each. Of a file that somebody writes, step and layout are enough. Lines
// with "no_change" are skipped. Throws ConfigError for anything else, naming line and place, and for steps that
// do not rise.
std::vector<Decision> decisions_from_jsonl(std::string_view text, const std::string& file);
std::string json_of(const Decision& decision);  // without an end of line
// {"step": 5, "no_change": "..."}: why the plan stayed after a step, without an end of line.
std::string json_of_no_change(std::size_t step, const std::string& why);

}  // namespace trireme::plan
