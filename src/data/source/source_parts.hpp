// Determines the files of a source and their formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/input_file.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {

inline const char* name_of(SourceFormat format) { return word_of(source_formats, format); }
RowKind kind_of(SourceFormat format);  // text for `automatic`

// Returns the format that the name alone implies, or `automatic` if there is none. `size` is the size of the
// file, 0 for a pipe. Throws ConfigError if a .bin file of this size cannot be CIFAR-10.
SourceFormat format_of_name(const std::string& name, std::uint64_t size);

// Detects jsonl, text or squad from the first bytes of a file. Reads nothing of it except a byte order mark.
SourceFormat format_of_content(InputFile& file);

// A unit of input that is read completely before the next one is opened.
struct SourcePart {
    std::string file;                               // empty for the synthetic sample
    std::string labels;                             // for MNIST: the second file
    SourceFormat format = SourceFormat::automatic;  // `automatic` for a pipe, detected later
    ImageSize image;                                // for images
    std::uint64_t size = 0;                         // bytes on disk, or synthetic rows
};

// Throws ConfigError if inputs cannot be used, or not in one corpus: see RowReader.
std::vector<SourcePart> source_parts(const SourceConfig& config);

}  // namespace trireme::data
