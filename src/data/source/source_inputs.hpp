// Lists the inputs of a source and determines their formats.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/input_file.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {

inline const char* to_string(SourceFormat format) { return find_name(source_formats, format); }
RowKind find_kind(SourceFormat format);  // RowKind::text for `automatic`

// Returns the format that the name of a file implies, or `automatic` if the name implies none. `size` is the
// size of the file in bytes, 0 for a pipe. Throws ConfigError if a .bin file has a size that CIFAR-10 files
// cannot have.
SourceFormat find_format_of_name(const std::string& name, std::uint64_t size);

// Detects the format jsonl, text or squad by the first bytes and the name of a file. Skips a byte order mark;
// the other bytes remain unread.
SourceFormat detect_format(InputFile& file);

// One input: a file, a pair of MNIST files, or the synthetic sample (generated rows). Inputs are read one after
// another.
struct SourceInput {
    std::string file;    // empty for the synthetic sample
    std::string labels;  // for MNIST: the file of labels
    // `automatic` for the synthetic sample, and for a pipe whose format is detected when the pipe is opened.
    SourceFormat format = SourceFormat::automatic;
    ImageSize image;         // size of each image, for inputs of images
    std::uint64_t size = 0;  // bytes on disk (0 for a pipe), or number of rows of the synthetic sample
};

// Lists the inputs of `config`. Throws ConfigError in the cases in which the constructor of RowReader does.
std::vector<SourceInput> list_source_inputs(const SourceConfig& config);

}  // namespace trireme::data
