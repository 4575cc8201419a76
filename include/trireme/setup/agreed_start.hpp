// The check that all ranks of a job were started alike.
#pragma once

#include <functional>
#include <vector>

#include "trireme/comm/agreement.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::setup {

// Collective over all ranks. `read_facts` returns what this rank was started with: its command, its version,
// its options. Throws the same ConfigError on every rank if `read_facts` throws one on any rank (the lowest
// such rank is named unless all have the same complaint), or if the ranks' facts differ.
void agree_on_start(const comm::Session& session, const std::function<std::vector<comm::Fact>()>& read_facts);

}  // namespace trireme::setup
