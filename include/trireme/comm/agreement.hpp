// Collectives that let all ranks of a group end with the same error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Collective over `group`. Runs `prepare` on every rank. If it throws ConfigError on any rank, every rank
// throws the one of the lowest such rank. A job that cannot start thus ends everywhere with the same message.
void agree(Communicator& group, const std::function<void()>& prepare);

// Collective over `group`. Returns the complaint of the lowest rank that has one; empty if no rank has any.
std::string first_complaint(Communicator& group, const std::string& own);

// A setting that must be equal on all ranks, in the form that messages show.
struct Fact {
    std::string name;   // "--seed", "corpus"
    std::string value;  // empty if not set
};

// Collective over `group`. Compares the facts of all ranks. If they are equal, this costs one exchange of a
// digest. Otherwise every rank throws the same ConfigError, which names the first fact that differs, its values
// and the ranks that have them.
void require_same(Communicator& group, const std::vector<Fact>& facts);

}  // namespace trireme::comm
