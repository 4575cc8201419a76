// Decisions about the plans of steps, with --elastic length.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>

#include "trireme/base/error.hpp"
#include "trireme/base/numbers.hpp"

namespace trireme::records {

// The decision about the plan of a step. Equal on all ranks, except for `decision_seconds`. The outcomes are:
//   keep       the plan stays, and the step fits into memory
//   memory     the plan stays, and the step fits with recomputation or offload
//   grow       the plan changes to more stages
//   shrink     the plan changes to fewer stages
//   rearrange  the plan changes, and the number of stages stays
struct ElasticDecision {
    std::string outcome = {};
    // Seconds with the current plan, and with the best other plan including its changes. The decision compares
    // them: over the steps ahead, or over one step with --elastic-rule published. Empty if no other
    // plan was compared.
    std::optional<double> current_seconds = {}, new_seconds = {};
    std::optional<double> change_seconds = {};    // of the change to the other plan
    std::optional<double> decision_seconds = {};  // time in which this rank decided; empty in simulations
    // With --elastic-rule published: see policy::PublishedVerdict. The last two conditions are only computed if
    // the step does not fit.
    std::optional<double> memory_seconds = {};
    std::optional<bool> fits = {}, change_takes_longer = {}, memory_plan_fits = {}, memory_plan_is_faster = {};
    std::optional<double> peak_bytes = {}, pooled_bytes = {};
    std::optional<double> refused_candidates = {};
};

// Number of decisions by outcome.
using ElasticOutcomes = std::map<std::string, std::size_t>;

// Returns for example "940 keep, 2 shrink".
inline std::string describe_outcomes(const ElasticOutcomes& counts) {
    std::string text;
    for (const auto& [outcome, count] : counts)
        text += cat(text.empty() ? "" : ", ", format_with_commas(count), ' ', outcome);
    return text;
}

}  // namespace trireme::records
