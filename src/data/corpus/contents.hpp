// The contents of a corpus file: its attributes and its datasets.
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

// Writes all of `info` except the path and the number of tokens.
void write_attributes(archive::hdf5::Id file, const CorpusInfo& info);

// Reads everything that write_attributes() writes. Throws ConfigError, which names the path, in these cases:
// the file is not a corpus, its schema is newer than this program, or an attribute is missing or invalid.
CorpusInfo read_attributes(archive::hdf5::Id file, const std::filesystem::path& path);

// The contents of an open corpus: all of its datasets, and the values of the small ones.
struct CorpusContents {
    archive::hdf5::Handle file;
    std::map<std::string, archive::hdf5::DatasetReader> datasets;
    std::vector<std::uint64_t> row_begins;          // (rows + 1): offsets in /tokens; not for images
    std::vector<std::uint32_t> labels;              // (rows), for labelled texts and images
    std::vector<std::uint32_t> question_positions;  // (rows, 3), for questions: the dataset /places
    std::vector<std::uint64_t> answer_begins;       // (rows + 1): offsets in /answers; for questions
};

// Opens the datasets of the corpus `file`, whose attributes are `info`, and sets `info.tokens`. Throws
// ConfigError, which names the path, if a dataset is missing, the checksum of the corpus does not match, or
// sizes are inconsistent.
CorpusContents open_contents(archive::hdf5::Handle file, CorpusInfo& info);

}  // namespace trireme::data
