// Reads text files: JSON lines, and plain text with one row per line, paragraph or file.
#pragma once

#include <string>

#include "data/source/input_file.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {

// Reads a file with one JSON object per line; skips blank lines.
class JsonLines {
public:
    explicit JsonLines(InputFile file) : file_(std::move(file)) { file_.skip_byte_order_mark(); }

    bool next(SourceRow& row);
    std::uint64_t bytes_read() const { return file_.bytes_read(); }
    std::uint64_t position() const { return file_.position(); }

private:
    InputFile file_;
    std::string line_;
};

class PlainText {
public:
    // next() throws ConfigError for a row of more than `max_bytes` bytes.
    PlainText(InputFile file, RowUnit unit, std::uint64_t max_bytes = InputFile::max_row_bytes)
        : file_(std::move(file)), unit_(unit), max_row_bytes_(max_bytes) {
        file_.skip_byte_order_mark();
    }

    bool next(SourceRow& row);
    std::uint64_t bytes_read() const { return file_.bytes_read(); }
    std::uint64_t position() const { return file_.position(); }

private:
    bool next_line(SourceRow& row);
    bool next_paragraph(SourceRow& row);
    bool read_whole_file(SourceRow& row);

    InputFile file_;
    RowUnit unit_;
    std::uint64_t max_row_bytes_;
    std::string line_;
};

}  // namespace trireme::data
