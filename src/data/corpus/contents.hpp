// What the file of a corpus holds: its attributes and its arrays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "trireme/archive/hdf5.hpp"
#include "trireme/archive/hdf5_dataset.hpp"
#include "trireme/data/corpus_info.hpp"

namespace trireme::data {

// All of `info` but its path and its count of tokens.
void write_attributes(archive::hdf5::Id file, const CorpusInfo& info);

// Throws ConfigError, with the path, where the file is none of a corpus, of a newer schema, where an attribute
// is missing, or holds what no corpus can have.
CorpusInfo read_attributes(archive::hdf5::Id file, const std::filesystem::path& path);

// What an open corpus holds: its datasets, and in memory all of a row that is small.
struct CorpusContents {
    archive::hdf5::Handle file;
    std::map<std::string, archive::hdf5::DatasetReader> datasets;
    std::vector<std::uint64_t> row_begins;     // (rows + 1), in /tokens; not of images
    std::vector<std::uint32_t> labels;         // (rows), of labelled texts and images
    std::vector<std::uint32_t> places;         // (rows, 3), of questions
    std::vector<std::uint64_t> answer_begins;  // (rows + 1), in /answers; of questions
};

// Opens the datasets of a corpus with these attributes, and counts its tokens into them. Throws ConfigError,
// with the path, where one is missing, where attributes and sums do not give the corpus's checksum, or where
// sizes do not fit each other.
CorpusContents open_contents(archive::hdf5::Handle file, CorpusInfo& info);

}  // namespace trireme::data
