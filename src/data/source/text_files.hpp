// Files that hold a row in every line, paragraph, or as a whole.
#pragma once

#include <string>

#include "data/source/input_file.hpp"
#include "trireme/data/source.hpp"

namespace trireme::data {

// A JSON object in every line that is not blank.
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
    // Throws ConfigError, from next(), for a row of more than `longest` bytes.
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
