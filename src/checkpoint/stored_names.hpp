// The names that parameters have in Hugging Face's files, which differ between versions of transformers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trireme::checkpoint {

// Returns the names under which the parameter `name` may be stored; the first one is `name`. If `is_head_tied`,
// the names of the token table include those of the head's weight: some files store the table only under such a
// name.
std::vector<std::string> list_stored_names(const std::string& name, bool is_head_tied);

// True if a stored tensor that is not a parameter of the model can be ignored: a table that the model computes,
// or the second copy of the bias of BERT's masked head. If `is_head_tied`, this also applies to a copy of the
// token table as the head's weight.
bool is_redundant(std::string_view name, bool is_head_tied);

}  // namespace trireme::checkpoint
