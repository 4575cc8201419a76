// The inputs of a corpus, checked and told apart before the first row is read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trireme/data/source.hpp"

namespace trireme {

// What is read from beginning to end before the next one is opened.
struct SourcePart {
    std::string file;                               // empty: the synthetic sample
    std::string labels;                             // of MNIST: the second file
    SourceFormat format = SourceFormat::automatic;  // automatic: a pipe, to be told by its first bytes
    ImageSize image;                                // of images
    std::uint64_t size = 0;                         // bytes on disk, or synthetic rows
};

// Throws ConfigError where they cannot be used, or not in one corpus: see RowReader.
std::vector<SourcePart> source_parts(const SourceConfig& config);

}  // namespace trireme
