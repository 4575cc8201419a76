// How ranks give up together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Collective over `group`. Runs `prepare` on every rank. If it throws a ConfigError on any, every rank throws
// the one of the lowest such rank: a job that cannot start ends everywhere with the same sentence.
void agree(Communicator& group, const std::function<void()>& prepare);

// Collective over `group`. The complaint of the lowest rank that has one; empty if no rank has any.
std::string first_complaint(Communicator& group, const std::string& own);

// Something that must be equal on all ranks, as a message shows it.
struct Fact {
    std::string name;   // "--seed", "corpus"
    std::string value;  // empty: not set
};

// Collective over `group`. Compares the facts of all ranks: one exchange of a digest where they are equal.
// Otherwise throws the same ConfigError on every rank, which names the first fact that differs, its values and
// the ranks that have them.
void require_same(Communicator& group, const std::vector<Fact>& facts);

}  // namespace trireme::comm
