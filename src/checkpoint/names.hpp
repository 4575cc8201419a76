// Names of parameters in Hugging Face's files, which have changed over the years.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::checkpoint {

// The names that a parameter may be stored under; its own comes first. Where the head is `tied`, the token
// table may be there as the head's weight only.
std::vector<std::string> stored_names_of(const std::string& name, bool tied);

// Whether a tensor that no parameter is read from holds nothing of its own: a table that the model computes,
// one of the two names of the masked head's bias, or, where the head is `tied`, its copy of the token table.
bool holds_nothing_new(std::string_view name, bool tied);

}  // namespace trireme::checkpoint
