// What a corpus says about itself, as attributes of its file.
#pragma once

#include <filesystem>

#include "trireme/archive/hdf5.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme {

// All of `info` but its path and its count of tokens.
void write_attributes(hdf5::Id file, const CorpusInfo& info);

// Throws ConfigError, with the path, where the file is none of a corpus, of a newer schema, where an attribute
// is missing, or holds what no corpus can have.
CorpusInfo read_attributes(hdf5::Id file, const std::filesystem::path& path);

}  // namespace trireme
