#include "data/source/text_files.hpp"

#include <string_view>

#include "trireme/base/error.hpp"

namespace trireme::data {
namespace {

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r\n\f\v") == std::string_view::npos; }

void drop_carriage_return(std::string& line) {
    if (line.ends_with('\r')) line.pop_back();
}

[[noreturn]] void refuse_length(const SourceRow& row, std::uint64_t max_bytes) {
    throw ConfigError(cat("the paragraph at ", row.location, " has more than ", max_bytes,
                          " bytes without a blank line; split it, or prepare it with --rows line"));
}

}  // namespace

bool JsonLines::next(SourceRow& row) {
    do {
        if (!file_.next_line(line_)) return false;
    } while (is_blank(line_));
    parse_json_row(line_, row);
    row.location = cat(file_.path(), ':', file_.line_number());
    return true;
}

bool PlainText::next(SourceRow& row) {
    row = SourceRow{};
    switch (unit_) {
        case RowUnit::line:
            return next_line(row);
        case RowUnit::paragraph:
            return next_paragraph(row);
        case RowUnit::file:
            return read_whole_file(row);
    }
    throw BugError("this unit of rows has no reader");
}

bool PlainText::next_line(SourceRow& row) {
    do {
        if (!file_.next_line(row.plain_text, max_row_bytes_)) return false;
        drop_carriage_return(row.plain_text);
    } while (row.plain_text.empty());
    row.location = cat(file_.path(), ':', file_.line_number());
    return true;
}

bool PlainText::next_paragraph(SourceRow& row) {
    do {
        if (!file_.next_line(line_, max_row_bytes_)) return false;
    } while (is_blank(line_));
    row.location = cat(file_.path(), ':', file_.line_number());
    do {
        drop_carriage_return(line_);
        if (!row.plain_text.empty()) row.plain_text += '\n';
        row.plain_text += line_;
        if (row.plain_text.size() > max_row_bytes_) refuse_length(row, max_row_bytes_);
    } while (file_.next_line(line_, max_row_bytes_) && !is_blank(line_));
    return true;
}

bool PlainText::read_whole_file(SourceRow& row) {
    row.location = cat(file_.path(), ":1");
    row.plain_text = file_.read_rest(max_row_bytes_);
    return !row.plain_text.empty();
}

}  // namespace trireme::data
