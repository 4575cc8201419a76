// Reads CIFAR-10's binary version (Krizhevsky 2009): per image one byte of label and 3 x 32 x 32 pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/source/input_file.hpp"
#include "trireme/data/corpus_info.hpp"
#include "trireme/data/source_row.hpp"

namespace trireme::data {

class CifarFile {
public:
    static constexpr ImageSize image_size = {.channels = 3, .height = 32, .width = 32};
    static constexpr std::size_t row_bytes = 1 + 3 * 32 * 32;

    static std::vector<std::string> class_names();

    explicit CifarFile(InputFile file) : file_(std::move(file)) {}

    // Reads the next image; returns false at the end. Throws ConfigError if the file ends within an image.
    bool next(SourceRow& row);
    std::uint64_t bytes_read() const { return file_.bytes_read(); }  // after decompression
    std::uint64_t position() const {
        return file_.position();
    }  // consumed bytes of the file, before decompression

private:
    InputFile file_;
    std::uint64_t image_count_ = 0;
};

}  // namespace trireme::data
