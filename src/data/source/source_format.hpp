// What a file holds, told by its name and its first bytes.
#pragma once

#include <cstdint>
#include <string>

#include "data/source/input_file.hpp"
#include "trireme/data/source.hpp"

namespace trireme {

const char* name_of(SourceFormat format);  // as --format takes it
RowKind kind_of(SourceFormat format);      // of automatic: text

// What the name alone says; automatic: nothing. Throws ConfigError where a .bin file of `size` bytes cannot be
// CIFAR-10; 0: a pipe's.
SourceFormat format_of_name(const std::string& name, std::uint64_t size);

// Of a file of which nothing but a byte order mark is read: jsonl, text or squad.
SourceFormat format_of_content(InputFile& file);

}  // namespace trireme
