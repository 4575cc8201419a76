// Checks that all ranks of a job were started with the same command and options.
#pragma once

#include <functional>
#include <vector>

#include "trireme/comm/agreement.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::setup {

// Collective over all ranks. `read_facts` returns what this rank was started with: its command, its version,
// its options. Throws the same ConfigError on every rank if `read_facts` throws one on any rank, or if the
// facts differ between ranks. The message names the lowest rank whose `read_facts` threw, unless it threw the
// same message on all ranks.
void agree_on_start(const comm::Session& session,
                    const std::function<std::vector<comm::CommonSetting>()>& read_facts);

}  // namespace trireme::setup
