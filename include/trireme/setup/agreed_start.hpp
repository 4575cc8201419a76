// Checks that all ranks of a job were started with the same command and options.
#pragma once

#include <functional>
#include <vector>

#include "trireme/comm/agreement.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::setup {

// Collective over all ranks. `read_facts` returns what this rank was started with: its command, its version,
// its options. Throws the same ConfigError on every rank if `read_facts` throws one on any rank, or if the
// ranks' facts differ. The message names the lowest rank that complains, unless all have the same complaint.
void agree_on_start(const comm::Session& session, const std::function<std::vector<comm::Fact>()>& read_facts);

}  // namespace trireme::setup
