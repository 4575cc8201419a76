// Checks that all ranks of a job were started with the same command and options.
#pragma once

#include <functional>
#include <vector>

#include "trireme/comm/agreement.hpp"
#include "trireme/comm/session.hpp"

namespace trireme::setup {

// Collective over all ranks. `read_facts` returns the settings with which this rank was started: the command,
// the version of trireme, the options. Throws the same ConfigError on every rank if `read_facts` throws
// ConfigError on any rank, or if the settings differ between ranks. If `read_facts` throws, all ranks get the
// message of the lowest rank on which it throws. The message names that rank, unless `read_facts` throws the
// same message on all ranks.
void agree_on_start(const comm::Session& session,
                    const std::function<std::vector<comm::CommonSetting>()>& read_facts);

}  // namespace trireme::setup
