// Plans for tests of the planner. The number of layers identifies a plan, and means nothing else.
#pragma once

#include <string>
#include <vector>

#include "trireme/policy/candidate.hpp"

namespace trireme::policy {

inline Candidate make_candidate(std::size_t number) { return {.layout = layout::Layout{.layers = number}}; }

// Proposes the plans with these numbers, for every candidate.
inline Proposer propose(std::vector<std::size_t> numbers) {
    return [=](const plan::Observation&, const Candidate& from) {
        std::vector<Candidate> candidates;
        for (const std::size_t number : numbers) {
            candidates.push_back(make_candidate(number));
            candidates.back().causes = from.causes;
            candidates.back().causes.push_back({.proposer = std::to_string(number)});
        }
        return candidates;
    };
}

}  // namespace trireme::policy
