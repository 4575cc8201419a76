// Names of parameters in Hugging Face's files, which have changed over the years.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::checkpoint {

// Returns the names under which a parameter may be stored, its own first. If the head is `tied`, the token
// table may be stored only as the head's weight.
std::vector<std::string> stored_names_of(const std::string& name, bool tied);

// True if a tensor that matches no parameter can be ignored: a table that the model computes, or one of the two
// names of the masked head's bias. If the head is `tied`, this also applies to its copy of the token table.
bool holds_nothing_new(std::string_view name, bool tied);

}  // namespace trireme::checkpoint
