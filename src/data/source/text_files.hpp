// Reads files that hold one row per line or paragraph, or one row in total.
#pragma once

#include <string>

#include "data/source/input_file.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {

// Reads one JSON object per line; skips blank lines.
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
    // next() throws ConfigError for a row of more than `longest` bytes.
    PlainText(InputFile file, RowUnit unit, std::uint64_t longest = InputFile::longest_row)
        : file_(std::move(file)), unit_(unit), longest_(longest) {
        file_.skip_byte_order_mark();
    }

    bool next(SourceRow& row);
    std::uint64_t bytes_read() const { return file_.bytes_read(); }
    std::uint64_t position() const { return file_.position(); }

private:
    bool next_line(SourceRow& row);
    bool next_paragraph(SourceRow& row);
    bool whole_file(SourceRow& row);

    InputFile file_;
    RowUnit unit_;
    std::uint64_t longest_;
    std::string line_;
};

}  // namespace trireme::data
