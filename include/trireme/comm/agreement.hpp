// Collectives by which the ranks of a group agree whether to continue: all continue, or all report the same
// error.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "trireme/comm/communicator.hpp"

namespace trireme::comm {

// Collective over `group`. Runs `prepare` on every rank. If `prepare` throws ConfigError on some ranks, every
// rank throws the error of the lowest such rank. A job that cannot start thus ends on all ranks with the same
// message.
void run_or_fail_together(Communicator& group, const std::function<void()>& prepare);

// Collective over `group`. `own_complaint` is the error message of this rank, or empty. Returns the message of
// the lowest rank that has a message; empty if no rank has one.
std::string find_first_complaint(Communicator& group, const std::string& own_complaint);

// A setting that must be equal on all ranks, in the form that error messages show.
struct CommonSetting {
    std::string name;   // for example "--seed" or "corpus"
    std::string value;  // empty if not set
};

// Collective over `group`. Compares the settings of all ranks. If they are equal, this costs one all-gather of
// a digest. Otherwise every rank throws the same ConfigError, which names the first setting that differs, its
// values, and the ranks that have each value.
void require_same(Communicator& group, const std::vector<CommonSetting>& settings);

}  // namespace trireme::comm
