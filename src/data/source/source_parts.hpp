// The format of a source and the files that it is made of.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/input_file.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {

inline const char* name_of(SourceFormat format) { return word_of(source_formats, format); }
RowKind kind_of(SourceFormat format);  // of automatic: text

// What the name alone says; automatic: nothing. Throws ConfigError where a .bin file of `size` bytes cannot be
// CIFAR-10; 0: a pipe's.
SourceFormat format_of_name(const std::string& name, std::uint64_t size);

// Of a file of which nothing but a byte order mark is read: jsonl, text or squad.
SourceFormat format_of_content(InputFile& file);

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

}  // namespace trireme::data
